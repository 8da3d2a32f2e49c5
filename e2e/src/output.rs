//! The output of a program, and whether it succeeded.

use std::process::Output;

use crate::Result;

/// The output of a program and its end.
#[derive(Debug)]
pub struct ProgramOutput {
    /// Exit code; -1 when a signal ended it.
    pub code: i32,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl ProgramOutput {
    /// What a program said that has ended.
    pub fn of(output: &Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// The run, if it succeeded; else an error that tells everything.
    pub fn ok(self) -> Result<Self> {
        if self.code == 0 {
            return Ok(self);
        }
        Err(format!("exit code {}\n--- out\n{}\n--- err\n{}", self.code, self.out, self.err).into())
    }
}
