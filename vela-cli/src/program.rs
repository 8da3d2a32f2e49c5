//! A program of the user → what it writes, bounded in time and size; a short text may be typed into it.

use std::io::{Read, Write as _};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Bytes that are shown of what a program says about its failure.
const MOST_WORDS: usize = 16 * 1024;
/// How often a program that has closed its output is asked whether it has ended.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Why there is no output.
#[derive(Debug)]
pub(crate) enum Stopped {
    /// No program has this name.
    NotThere,
    Failed(String),
}

/// Runs a program to its end; one that writes or takes too much is ended.
pub(crate) fn run(
    command: Command,
    at_most: usize,
    patience: Duration,
) -> std::result::Result<Vec<u8>, Stopped> {
    run_with(command, "", at_most, patience)
}

/// The same for a program that reads this text.
pub(crate) fn run_with(
    mut command: Command,
    input: &str,
    at_most: usize,
    patience: Duration,
) -> std::result::Result<Vec<u8>, Stopped> {
    let deadline = Instant::now() + patience;
    let stdin = if input.is_empty() { Stdio::null() } else { Stdio::piped() };
    let started = command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = started.map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Stopped::NotThere,
        _ => Stopped::Failed(format!("it does not start: {error}")),
    })?;
    if let Some(mut typed) = child.stdin.take() {
        let input = input.to_owned();
        // A program that ends without reading says by its code what it thinks; one that goes on is ended in time.
        std::thread::spawn(move || typed.write_all(input.as_bytes()));
    }
    let out = child.stdout.take().map(|out| drained(out, at_most + 1));
    let said = child.stderr.take().map(|said| drained(said, MOST_WORDS));
    let late = || format!("it does not end within {} s", patience.as_secs());
    let mut all = || {
        let bytes = received(out.as_ref(), deadline).unwrap_or_else(|| Err(late()))?;
        if bytes.len() > at_most {
            return Err(format!("what it writes is larger than {} MiB", at_most >> 20));
        }
        let words = received(said.as_ref(), deadline).unwrap_or_else(|| Err(late()))?;
        let status = ended(&mut child, deadline)?.ok_or_else(late)?;
        match status.success() {
            true => Ok(bytes),
            false => {
                // Some programs say on standard output why they fail.
                let words = if words.is_empty() { &bytes[..bytes.len().min(MOST_WORDS)] } else { &words };
                Err(format!("{}\n{}", status, String::from_utf8_lossy(words).trim()))
            }
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

/// What was read; nothing where it takes too long.
fn received(
    from: Option<&Receiver<std::io::Result<Vec<u8>>>>,
    deadline: Instant,
) -> Option<std::result::Result<Vec<u8>, String>> {
    let Some(from) = from else { return Some(Ok(Vec::new())) };
    let read = from.recv_timeout(deadline.saturating_duration_since(Instant::now())).ok()?;
    Some(read.map_err(|error| format!("its output cannot be read: {error}")))
}

/// How it ended; nothing where it takes too long.
fn ended(
    child: &mut std::process::Child,
    deadline: Instant,
) -> std::result::Result<Option<ExitStatus>, String> {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(Some(status)),
            Ok(None) if Instant::now() >= deadline => return Ok(None),
            Ok(None) => std::thread::sleep(LOOK_EVERY),
            Err(error) => return Err(format!("it cannot be waited for: {error}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(60);

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
        let late = "it does not end within 0 s";
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
