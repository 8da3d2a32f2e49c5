//! A folder with a kustomization → the manifests that kustomize builds of it, by the program that the user has.
//!
//! What a kustomization names, other folders and URLs too, that program reads with the rights of the user.

use std::io::Read;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use crate::download;
use crate::error::{Error, Result};

/// The programs that build, in the order they are tried, and the word before the folder.
const PROGRAMS: [(&str, &str); 2] = [("kubectl", "kustomize"), ("kustomize", "build")];
/// The names of the file that says what is built.
const FILES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];
/// How long a program may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// Bytes that are shown of what a program says about its failure.
const MOST_WORDS: usize = 16 * 1024;
/// How often a program that has closed its output is asked whether it has ended.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Builds the folder, to at most so many bytes.
pub(crate) fn build(folder: &Path, at_most: usize) -> Result<Vec<u8>> {
    let name = folder.display();
    if let Some(url) = folder.to_str().filter(|text| download::is_url(text)) {
        let error = Error::user(format!("{} is no folder of this machine", download::without_query(url)));
        return Err(error.hint("download it and give its folder with -k").into());
    }
    if !FILES.iter().any(|file| folder.join(file).is_file()) {
        let error = Error::user(format!("{name} is no folder with a {}", FILES[0]));
        return Err(error
            .hint("-f takes folders of plain manifests; -k takes those that kustomize builds")
            .into());
    }
    for (program, word) in PROGRAMS {
        let mut command = Command::new(program);
        // A folder whose name begins with a dash is no flag.
        command.arg(word).arg("--").arg(folder);
        match run(command, at_most, PATIENCE) {
            Err(Stopped::NotThere) => {}
            Err(Stopped::Failed(why)) => {
                let error = Error::user(format!("{program} {word} cannot build {name}: {why}"));
                return Err(error.hint(format!("`{program} {word} {name}` shows it alone")).into());
            }
            Ok(bytes) => return Ok(bytes),
        }
    }
    let error = Error::config(format!("{name} cannot be built: neither kubectl nor kustomize is installed"));
    Err(error.hint("install kubectl or kustomize, or give what they build: -f - takes standard input").into())
}

/// Why there is no output.
#[derive(Debug)]
enum Stopped {
    /// No program has this name.
    NotThere,
    Failed(String),
}

/// Runs a program to its end; one that writes or takes too much is ended.
fn run(mut command: Command, at_most: usize, patience: Duration) -> std::result::Result<Vec<u8>, Stopped> {
    let deadline = Instant::now() + patience;
    let started = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = started.map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Stopped::NotThere,
        _ => Stopped::Failed(format!("it does not start: {error}")),
    })?;
    let out = child.stdout.take().map(|out| drained(out, at_most + 1));
    let said = child.stderr.take().map(|said| drained(said, MOST_WORDS));
    let mut all = || {
        let bytes = received(out.as_ref(), deadline)?;
        if bytes.len() > at_most {
            return Err(format!("what it builds is larger than {} MiB", at_most >> 20));
        }
        let words = received(said.as_ref(), deadline)?;
        let status = ended(&mut child, deadline)?;
        match status.success() {
            true => Ok(bytes),
            false => Err(format!("{}\n{}", status, String::from_utf8_lossy(&words).trim())),
        }
    };
    let outcome = all().map_err(Stopped::Failed);
    if outcome.is_err() {
        // One that has ended already cannot be ended, which is as well.
        let _ = child.kill();
        let _ = child.wait();
    }
    outcome
}

/// Reads so many bytes, and lets the rest go, so that the writer never waits for a reader.
fn drained(mut from: impl Read + Send + 'static, at_most: usize) -> Receiver<std::io::Result<Vec<u8>>> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = from.by_ref().take(at_most as u64).read_to_end(&mut bytes);
        // The receiver may have given up.
        let _ = sender.send(read.map(|_| bytes));
        let _ = std::io::copy(&mut from, &mut std::io::sink());
    });
    receiver
}

fn received(
    from: Option<&Receiver<std::io::Result<Vec<u8>>>>,
    deadline: Instant,
) -> std::result::Result<Vec<u8>, String> {
    let Some(from) = from else { return Ok(Vec::new()) };
    match from.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        Ok(bytes) => bytes.map_err(|error| format!("its output cannot be read: {error}")),
        Err(_) => Err(late()),
    }
}

fn ended(child: &mut std::process::Child, deadline: Instant) -> std::result::Result<ExitStatus, String> {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Ok(None) if Instant::now() >= deadline => return Err(late()),
            Ok(None) => std::thread::sleep(LOOK_EVERY),
            Err(error) => return Err(format!("it cannot be waited for: {error}")),
        }
    }
}

fn late() -> String {
    format!("it does not end within {} s", PATIENCE.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, at_most: usize, patience: Duration) -> std::result::Result<Vec<u8>, String> {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        run(command, at_most, patience).map_err(|stopped| format!("{stopped:?}"))
    }

    #[test]
    fn a_program_is_bounded_in_time_and_size() {
        assert_eq!(shell("printf ab", 2, PATIENCE).as_deref(), Ok(&b"ab"[..]));
        assert!(shell("printf abc", 2, PATIENCE).unwrap_err().contains("is larger than"));
        assert!(shell("yes", 1 << 20, PATIENCE).unwrap_err().contains("is larger than 1 MiB"));
        let late = "it does not end within 60 s";
        for script in ["exec sleep 600", "exec >&- 2>&-; exec sleep 600"] {
            assert!(shell(script, 2, Duration::from_millis(50)).unwrap_err().contains(late), "{script}");
        }
    }

    #[test]
    fn what_a_program_says_of_its_failure_is_told_in_part() {
        let said = shell("yes | head -c 1000000 >&2; exit 3", 2, PATIENCE);
        assert!(said.unwrap_err().len() < MOST_WORDS * 4);
        let said = shell("echo why >&2; exit 3", 2, PATIENCE).unwrap_err();
        assert!(said.contains("exit status: 3") && said.contains("why"), "{said}");
    }
}
