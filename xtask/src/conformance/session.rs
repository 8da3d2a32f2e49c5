//! Runs many commands in one process of a program.
//!
//! Starting a process costs more than most cases. The process is started again after a crash or an endless loop, so
//! that each of them still is one failed case and not the end of the run.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};

use vela_testkit::Process;

use super::process::{Finished, LIMIT, OUTPUT};

/// A program started with the one argument `batch`.
pub(crate) struct Session {
    program: PathBuf,
    running: Option<Running>,
}

struct Running {
    child: Process,
    requests: ChildStdin,
    answers: Receiver<String>,
}

#[derive(serde::Deserialize)]
struct Answer {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Session {
    /// A session that starts its process with the first command.
    pub(crate) fn new(program: &Path) -> Self {
        Self { program: program.to_path_buf(), running: None }
    }

    /// Runs one command in `directory`.
    pub(crate) fn run(&mut self, arguments: &[&str], directory: &Path) -> Result<Finished, String> {
        let mut running = match self.running.take() {
            Some(running) => running,
            None => Running::start(&self.program)?,
        };
        let request = serde_json::json!({ "directory": directory, "arguments": arguments });
        // A process that died since its last answer shows in the answer that does not come.
        let _ = writeln!(running.requests, "{request}").and_then(|()| running.requests.flush());
        match running.answers.recv_timeout(LIMIT) {
            Ok(line) => {
                self.running = Some(running);
                let answer: Answer = serde_json::from_str(&line).map_err(|e| format!("no answer: {e}"))?;
                Ok(Finished { code: Some(answer.code), stdout: answer.stdout, stderr: answer.stderr })
            }
            Err(reason) => {
                let stderr = match reason {
                    RecvTimeoutError::Timeout => format!("no answer in {} s", LIMIT.as_secs()),
                    RecvTimeoutError::Disconnected => format!("ended: {}", running.end()),
                };
                Ok(Finished { code: None, stdout: String::new(), stderr })
            }
        }
    }
}

impl Running {
    fn start(program: &Path) -> Result<Self, String> {
        let mut child = Command::new(program)
            .arg("batch")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| format!("cannot start {}: {e}", program.display()))?;
        let (Some(requests), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(format!("{} has no pipes", program.display()));
        };
        // One answer is under way at a time.
        let (sender, answers) = sync_channel(1);
        std::thread::spawn(move || {
            let mut output = BufReader::new(output);
            loop {
                let mut line = String::new();
                let read = output.by_ref().take(OUTPUT).read_line(&mut line);
                if !matches!(read, Ok(n) if n > 0) || sender.send(line).is_err() {
                    return;
                }
            }
        });
        Ok(Self { child: child.into(), requests, answers })
    }

    fn end(&mut self) -> String {
        self.child.wait().map_or_else(|e| e.to_string(), |status| status.to_string())
    }
}
