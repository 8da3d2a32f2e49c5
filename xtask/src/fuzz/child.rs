//! One input in; how the process that took it fared out: fine, a panic, a crash, or no answer in time.
//!
//! Inputs go to the process as a length and bytes, a line comes back for each: empty, or the words of a panic.

use std::any::Any;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use vela_testkit::Process;

use super::targets;

/// The budgets of the targets end any evaluation long before, also in a debug build on a busy machine.
const LIMIT: Duration = Duration::from_secs(20);
/// Address space of the process. The largest result a budget allows is far below.
const MEMORY_KIB: u64 = 3 << 20;
/// A usual stack of a main thread: what recurses deeper has to ask for more by itself.
const STACK: usize = 8 << 20;
/// The longest input.
const INPUT: usize = 16 << 20;

/// Where the last panic was.
static PLACE: std::sync::Mutex<String> = std::sync::Mutex::new(String::new());

/// How an input fared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Taken or refused.
    Fine,
    /// It panicked with these words.
    Panic(String),
    /// The process ended: a stack overflow, or memory beyond the limit.
    Crash(String),
    /// No answer in time.
    Hang,
}

impl Verdict {
    /// For people.
    pub(crate) fn words(&self) -> String {
        match self {
            Self::Fine => "fine".to_owned(),
            Self::Panic(words) => format!("panicked: {words}"),
            Self::Crash(status) => format!("crashed ({status}): the stack or the memory ran out"),
            Self::Hang => format!("gave no answer in {} s", LIMIT.as_secs()),
        }
    }

    /// Whether it is the same mistake, as far as that can be seen from outside: a panic has a place.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Panic(a), Self::Panic(b)) => a.split(' ').next() == b.split(' ').next(),
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }
}

/// A process of one target, started again when it is gone.
pub(crate) struct Child {
    target: &'static str,
    running: Option<Running>,
}

struct Running {
    process: Process,
    input: ChildStdin,
    answers: Receiver<String>,
}

impl Child {
    /// A process that is started with the first input.
    pub(crate) fn new(target: &'static str) -> Self {
        Self { target, running: None }
    }

    /// Hands over one input and waits.
    pub(crate) fn run(&mut self, input: &[u8]) -> Result<Verdict, String> {
        let mut running = match self.running.take() {
            Some(running) => running,
            None => Running::start(self.target)?,
        };
        let length = u32::try_from(input.len()).map_err(|_| "an input is too long".to_owned())?;
        // A process that is gone shows in the answer that does not come.
        let sent =
            running.input.write_all(&length.to_le_bytes()).and_then(|()| running.input.write_all(input));
        let _ = sent.and_then(|()| running.input.flush());
        match running.answers.recv_timeout(LIMIT) {
            Ok(line) => {
                self.running = Some(running);
                Ok(if line.is_empty() { Verdict::Fine } else { Verdict::Panic(line) })
            }
            Err(RecvTimeoutError::Timeout) => Ok(Verdict::Hang),
            Err(RecvTimeoutError::Disconnected) => {
                let status = running.process.wait().map_err(|e| e.to_string())?;
                Ok(Verdict::Crash(status.to_string()))
            }
        }
    }
}

impl Running {
    fn start(target: &str) -> Result<Self, String> {
        let me = std::env::current_exe().map_err(|e| e.to_string())?;
        let mut command = if cfg!(unix) {
            // The shell sets the limit and becomes the process.
            let mut command = Command::new("sh");
            let script = format!("ulimit -v {MEMORY_KIB} && exec \"$0\" fuzz-child \"$1\"");
            command.args(["-c", &script]).arg(me).arg(target);
            command
        } else {
            let mut command = Command::new(me);
            command.args(["fuzz-child", target]);
            command
        };
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| format!("cannot start the process of {target}: {e}"))?;
        let (Some(input), Some(output)) = (process.stdin.take(), process.stdout.take()) else {
            return Err("the process has no pipes".to_owned());
        };
        // One answer is under way at a time.
        let (sender, answers) = sync_channel(1);
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Ok(Self { process: process.into(), input, answers })
    }
}

/// The other side: takes inputs until there are no more.
pub(crate) fn serve(target: &str) -> Result<(), String> {
    let target = target.to_owned();
    let worker = std::thread::Builder::new().stack_size(STACK).spawn(move || answer_all(&target));
    worker.map_err(|e| e.to_string())?.join().map_err(|_| "the runner panicked".to_owned())?
}

fn answer_all(target: &str) -> Result<(), String> {
    std::panic::set_hook(Box::new(|panic| {
        if let Some(place) = panic.location() {
            let place = format!("{}:{}", place.file(), place.line());
            *PLACE.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = place;
        }
    }));
    let mut input = std::io::stdin().lock();
    let mut output = std::io::stdout().lock();
    let mut length = [0; 4];
    while input.read_exact(&mut length).is_ok() {
        let length = usize::try_from(u32::from_le_bytes(length)).unwrap_or(usize::MAX);
        if length > INPUT {
            return Err(format!("an input of {length} bytes; at most {INPUT} are taken"));
        }
        let mut bytes = vec![0; length];
        input.read_exact(&mut bytes).map_err(|e| e.to_string())?;
        let answer = match catch_unwind(AssertUnwindSafe(|| targets::run(target, &bytes))) {
            Ok(()) => String::new(),
            Err(payload) => words(&*payload),
        };
        writeln!(output, "{answer}").and_then(|()| output.flush()).map_err(|e| e.to_string())?;
    }
    Ok(())
}

/// The words of a panic on one line, never empty.
fn words(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("no words");
    let place = PLACE.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
    format!(
        "{place} {}",
        text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(300).collect::<String>()
    )
}
