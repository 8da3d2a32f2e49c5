//! Requests in, one JSON object a line; answers out, one JSON object a line: many commands in one process.
//!
//! A request is `{"directory": …, "arguments": […]}`, an answer `{"code": …, "stdout": …, "stderr": …}`. A panic is answered
//! with the code a panicking process ends with.

use std::io::{BufRead as _, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The result of a command.
pub(crate) struct Outcome {
    /// Exit code.
    pub(crate) code: u8,
    /// Standard output.
    pub(crate) stdout: String,
    /// Standard error.
    pub(crate) stderr: String,
}

/// The exit code of a process that panicked.
const PANICKED: u8 = 101;

/// Answers requests until the input ends; the error says why it could not go on.
pub(crate) fn serve(run: fn(Vec<String>) -> Outcome) -> Result<(), String> {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(|e| format!("cannot read a request: {e}"))?;
        let outcome = answer(&line, run)?;
        let reply = serde_json::json!({
            "code": outcome.code, "stdout": outcome.stdout, "stderr": outcome.stderr,
        });
        writeln!(out, "{reply}").and_then(|()| out.flush()).map_err(|e| format!("cannot answer: {e}"))?;
    }
    Ok(())
}

fn answer(line: &str, run: fn(Vec<String>) -> Outcome) -> Result<Outcome, String> {
    let request: serde_json::Value =
        serde_json::from_str(line).map_err(|e| format!("a request is not JSON: {e}"))?;
    let directory = request["directory"].as_str().ok_or("a request names no directory")?;
    let arguments = request["arguments"].as_array().ok_or("a request has no arguments")?;
    let arguments = arguments.iter().filter_map(|a| a.as_str().map(str::to_owned)).collect();
    std::env::set_current_dir(directory).map_err(|e| format!("{directory}: {e}"))?;
    Ok(catch_unwind(AssertUnwindSafe(|| run(arguments))).unwrap_or_else(|_| Outcome {
        code: PANICKED,
        stdout: String::new(),
        stderr: "panicked".into(),
    }))
}
