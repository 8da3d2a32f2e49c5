//! Runs a command line with a time limit.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A case that takes longer has failed. The peers need milliseconds; this is a debug build on a machine that may be busy.
pub(crate) const LIMIT: Duration = Duration::from_secs(30);

/// More output than this is not a result (a runaway would fill the memory).
pub(crate) const OUTPUT: u64 = 64 << 20;

/// The output and the end of a finished program.
pub(crate) struct Finished {
    /// Exit code; `None` when a signal ended it or it ran out of time.
    pub(crate) code: Option<i32>,
    /// Standard output.
    pub(crate) stdout: String,
    /// Standard error.
    pub(crate) stderr: String,
}

impl Finished {
    /// Whether the program itself refused its input: a crash or a time-out is not a refusal.
    pub(crate) fn refused(&self) -> bool {
        // 101 is the exit code of a Rust panic.
        self.code.is_some_and(|code| code != 0 && code != 101)
    }
}

/// Runs `program` in `directory`.
pub(crate) fn run(program: &Path, arguments: &[&str], directory: &Path) -> Result<Finished, String> {
    let mut child = Command::new(program)
        .args(arguments)
        .current_dir(directory)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| format!("cannot start {}: {e}", program.display()))?;
    let stdout = reader(child.stdout.take());
    let stderr = reader(child.stderr.take());
    let started = Instant::now();
    let mut pause = Duration::from_micros(500);
    let code = loop {
        match child.try_wait().map_err(|e| e.to_string())? {
            Some(status) => break status.code(),
            None if started.elapsed() > LIMIT => {
                // The process may end between the look and the kill; either way it is gone afterwards.
                let _ = child.kill();
                let _ = child.wait();
                break None;
            }
            None => {
                std::thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_millis(10));
            }
        }
    };
    Ok(Finished {
        code,
        stdout: stdout.join().unwrap_or_default(),
        stderr: stderr.join().unwrap_or_default(),
    })
}

fn reader(pipe: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(pipe) = pipe {
            // The bytes read before an error are still output of the program.
            let _ = pipe.take(OUTPUT).read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}
