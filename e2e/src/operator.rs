//! An operator beside a target: a program of its own, with the rights of the account that `vela install` makes for it.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::Result;

/// Runs until it is dropped.
pub struct Operator {
    child: Child,
    log: PathBuf,
}

impl Operator {
    /// Starts `program` with this kubeconfig and these flags; its log lies in `home`.
    pub fn start(program: &Path, kubeconfig: &Path, home: &Path, flags: &[&str]) -> Result<Self> {
        let name = program.file_name().ok_or("a program has a name")?.to_string_lossy();
        let log = home.join(format!("{name}.log"));
        let child = Command::new(program)
            .env_remove("KUBECONFIG")
            .env_remove("KUBERNETES_SERVICE_HOST")
            .env_remove("NAMESPACE")
            .env("HOME", home)
            .env("NO_COLOR", "1")
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .args(flags)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(&log)?)
            .spawn()?;
        Ok(Self { child, log })
    }

    /// Kills it, without a chance to tidy up.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Adds its log to the error of a scenario, and makes the log itself an error where a right was missing.
    pub fn judge(&self, outcome: Result<()>) -> Result<()> {
        let log = std::fs::read_to_string(&self.log)?;
        outcome.map_err(|error| format!("{error}\n--- {}\n{log}", self.log.display()))?;
        match log.lines().find(|line| line.contains("forbidden")) {
            Some(line) => Err(format!("the account lacks a right: {line}").into()),
            None => Ok(()),
        }
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        self.kill();
    }
}
