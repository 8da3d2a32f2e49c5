//! One step of the gate or of the night: a command with a limit of time in, its outcome, its time and its log out.

mod failure;

use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::command;

/// How often a running step is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// A step that prints without end must not fill the disk.
const LOG_LIMIT: u64 = 64 << 20;

/// A command, how long it may take, and what it says when it has done something.
pub(crate) struct Step {
    pub(crate) name: String,
    program: String,
    words: Vec<String>,
    variable: Option<(&'static str, String)>,
    at_most: Duration,
    proof: &'static str,
}

/// How a step ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Passed,
    /// It cannot run on this machine; the reason.
    Skipped(String),
    /// Why.
    Failed(String),
}

/// The report of one step.
pub(crate) struct Outcome {
    pub(crate) name: String,
    pub(crate) verdict: Verdict,
    pub(crate) took: Duration,
    /// The line that proves that it did something.
    pub(crate) figure: String,
    /// How to run it again.
    pub(crate) command: String,
    log: PathBuf,
}

impl Step {
    /// A program with its words. The step fails when no line of its output contains `proof`: what found nothing did not pass.
    pub(crate) fn new(name: &str, program: &str, words: &[&str], minutes: u64, proof: &'static str) -> Self {
        Self {
            name: name.to_owned(),
            program: program.to_owned(),
            words: words.iter().map(|&word| word.to_owned()).collect(),
            variable: None,
            at_most: Duration::from_secs(minutes * 60),
            proof,
        }
    }

    /// With this variable in its environment, unless the caller has set it.
    pub(crate) fn with(mut self, name: &'static str, value: String) -> Self {
        self.variable = std::env::var_os(name).is_none().then_some((name, value));
        self
    }

    /// A chore of this program.
    pub(crate) fn chore(name: &str, words: &str, minutes: u64, proof: &'static str) -> Result<Self, String> {
        let me = std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
        let words: Vec<&str> = words.split_whitespace().collect();
        Ok(Self::new(name, &me.to_string_lossy(), &words, minutes, proof))
    }

    /// `cargo` with words.
    pub(crate) fn cargo(name: &str, words: &[&str], minutes: u64, proof: &'static str) -> Self {
        Self::new(name, &command::cargo_program(), words, minutes, proof)
    }

    /// Runs it; what it prints goes to standard output and into a log.
    pub(crate) fn run(&self, logs: &Path) -> Outcome {
        let began = Instant::now();
        let log = logs.join(format!("{}.log", self.name));
        println!("=== {}: {}", self.name, self.command());
        let (verdict, figure) = match self.carry_out(&log) {
            Ok(outcome) => outcome,
            Err(why) => (Verdict::Failed(why), String::new()),
        };
        let took = began.elapsed();
        let seconds = took.as_secs();
        match &verdict {
            Verdict::Passed => println!("=== {}: ok ({seconds} s)", self.name),
            Verdict::Skipped(why) => println!("=== {}: skipped ({why})", self.name),
            Verdict::Failed(why) => println!("=== {}: FAILED ({seconds} s): {why}", self.name),
        }
        Outcome { name: self.name.clone(), verdict, took, figure, command: self.command(), log }
    }

    fn carry_out(&self, log: &Path) -> Result<(Verdict, String), String> {
        let cannot = |what: &str, error: std::io::Error| format!("cannot {what} {}: {error}", log.display());
        // Into a file and not a pipe: a process that outlives its step would hold the pipe open.
        let output = File::create(log).map_err(|error| cannot("write", error))?;
        let errors = output.try_clone().map_err(|error| cannot("write", error))?;
        let mut command = Command::new(&self.program);
        command.args(&self.words).current_dir(command::root()).stdin(Stdio::null());
        command.envs(self.variable.iter().map(|(name, value)| (name, value)));
        command.stdout(output).stderr(errors).process_group(0);
        let mut child = command.spawn().map_err(|error| format!("cannot start {}: {error}", self.program))?;
        let ended = self.watch(&mut child, log).map_err(|error| cannot("follow", error));
        // The step is over for whatever it started, too.
        if let Ok(Some(group)) = i32::try_from(child.id()).map(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let text = std::fs::read(log).map_err(|error| cannot("read", error))?;
        Ok(match ended? {
            Ok(status) => judge(&String::from_utf8_lossy(&text), status, self.proof),
            Err(why) => (Verdict::Failed(why), String::new()),
        })
    }

    /// Prints what the log gets until the process ends, or has used up its time or its log.
    fn watch(&self, child: &mut Child, log: &Path) -> std::io::Result<Result<ExitStatus, String>> {
        let (began, mut printed) = (Instant::now(), 0_u64);
        let mut reader = File::open(log)?;
        loop {
            let status = child.try_wait()?;
            printed += std::io::copy(&mut reader, &mut std::io::stdout().lock())?;
            if let Some(status) = status {
                return Ok(Ok(status));
            }
            if began.elapsed() > self.at_most {
                return Ok(Err(format!("it was stopped after {} minutes", self.at_most.as_secs() / 60)));
            }
            if printed > LOG_LIMIT {
                return Ok(Err(format!("it was stopped after it had printed {LOG_LIMIT} bytes")));
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    pub(crate) fn command(&self) -> String {
        let program = Path::new(&self.program).file_name().map(|name| name.to_string_lossy().into_owned());
        let program = program.unwrap_or_else(|| self.program.clone());
        let program = if program.starts_with("xtask") { "cargo xtask".to_owned() } else { program };
        format!("{program} {}", self.words.join(" "))
    }
}

fn judge(text: &str, status: ExitStatus, proof: &str) -> (Verdict, String) {
    if !status.success() {
        return (Verdict::Failed(status.to_string()), String::new());
    }
    if let Some(line) = text.lines().rfind(|line| line.contains(proof)) {
        return (Verdict::Passed, sum_of_tests(text).unwrap_or_else(|| line.trim().to_owned()));
    }
    match text.lines().find_map(|line| line.strip_prefix("skipped: ")) {
        Some(reason) => (Verdict::Skipped(reason.to_owned()), String::new()),
        None => (Verdict::Failed(format!("it did nothing: no line says `{proof}`")), String::new()),
    }
}

/// How many tests passed in all programs of a step, where it ran several.
fn sum_of_tests(text: &str) -> Option<String> {
    let results = text.lines().filter_map(|line| line.strip_prefix("test result: "));
    let counts = results.map(|result| {
        let of = |word: &str| {
            let number = result.split([';', '.']).find_map(|part| part.trim().strip_suffix(word));
            number.and_then(|number| number.trim().parse::<u64>().ok()).unwrap_or_default()
        };
        (of("passed"), of("ignored"))
    });
    let counts: Vec<(u64, u64)> = counts.collect();
    let (passed, ignored) = counts.iter().fold((0, 0), |sum, each| (sum.0 + each.0, sum.1 + each.1));
    (counts.len() > 1)
        .then(|| format!("{passed} tests passed in {} programs, {ignored} ignored", counts.len()))
}

impl Outcome {
    pub(crate) fn failed(&self) -> bool {
        matches!(self.verdict, Verdict::Failed(_))
    }

    /// The failures, in at most [`failure::LINES`] lines of its log.
    pub(crate) fn excerpt(&self) -> Vec<String> {
        let text = std::fs::read(&self.log).unwrap_or_default();
        failure::excerpt(&String::from_utf8_lossy(&text))
    }
}

/// A line for each step, with the sum: the order in which they ran.
pub(crate) fn table(outcomes: &[Outcome]) -> String {
    let mut text = "| step | result | seconds | figure |\n|---|---|---|---|\n".to_owned();
    let mut sum = Duration::ZERO;
    for outcome in outcomes {
        let result = match &outcome.verdict {
            Verdict::Passed => "ok".to_owned(),
            Verdict::Skipped(why) => format!("skipped: {why}"),
            Verdict::Failed(why) => format!("FAILED: {why}"),
        };
        let (name, seconds) = (&outcome.name, outcome.took.as_secs());
        let figure = outcome.figure.replace('|', "/");
        text.push_str(&format!("| {name} | {} | {seconds} | {figure} |\n", result.replace('|', "/")));
        sum += outcome.took;
    }
    text.push_str(&format!("| sum | | {} | |\n", sum.as_secs()));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logs() -> PathBuf {
        let folder = std::env::temp_dir().join(format!("xtask-step-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn verdict(name: &str, script: &str) -> Verdict {
        Step::new(name, "sh", &["-c", script], 1, "cases").run(&logs()).verdict
    }

    #[test]
    fn a_step_that_found_nothing_fails() {
        assert_eq!(verdict("found", "echo 7 cases passed"), Verdict::Passed);
        let Verdict::Failed(why) = verdict("empty", "echo done") else { panic!("it passed") };
        assert!(why.contains("did nothing"), "{why}");
        assert_eq!(verdict("skip", "echo 'skipped: no Go'"), Verdict::Skipped("no Go".to_owned()));
        assert_eq!(verdict("both", "echo 'skipped: a part'; echo 7 cases passed"), Verdict::Passed);
        assert!(matches!(verdict("exit", "echo 7 cases; exit 3"), Verdict::Failed(_)));
    }

    #[test]
    fn a_step_without_end_is_stopped() {
        let mut step = Step::new("slow", "sleep", &["60"], 1, "");
        step.at_most = Duration::from_millis(300);
        let outcome = step.run(&logs());
        assert!(outcome.failed() && outcome.took < Duration::from_secs(30), "{:?}", outcome.verdict);
    }

    #[test]
    fn the_table_sums_the_times() {
        let outcome = |name: &str, seconds| Outcome {
            name: name.to_owned(),
            verdict: Verdict::Passed,
            took: Duration::from_secs(seconds),
            figure: "a | b".to_owned(),
            command: String::new(),
            log: PathBuf::new(),
        };
        let table = table(&[outcome("one", 3), outcome("two", 4)]);
        assert!(table.contains("| one | ok | 3 | a / b |"), "{table}");
        assert!(table.ends_with("| sum | | 7 | |\n"), "{table}");
    }

    #[test]
    fn the_figure_of_several_test_programs_is_their_sum() {
        let two = "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.1s\n\
                   test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.0s\n";
        assert_eq!(sum_of_tests(two).as_deref(), Some("12 tests passed in 2 programs, 1 ignored"));
        assert_eq!(sum_of_tests("61 of 61 passed"), None);
    }
}
