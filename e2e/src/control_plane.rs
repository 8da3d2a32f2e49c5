//! A real control plane for one scenario alone, which can be backed up and restored from its backup.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Result;
use crate::output::ProgramOutput;

/// Runs until it is dropped.
pub(crate) struct ControlPlane {
    scripts: PathBuf,
    /// The state folder, in a temporary one.
    run: PathBuf,
    _home: tempfile::TempDir,
}

impl ControlPlane {
    /// Starts one from the binaries that the scripts of `e2e/controlplane` have built.
    pub(crate) fn start() -> Result<Self> {
        let home = tempfile::tempdir()?;
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("controlplane");
        let plane = Self { scripts, run: home.path().join("plane"), _home: home };
        script(plane.call("up.sh"))?;
        Ok(plane)
    }

    /// A way in with every right.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.run.join("kubeconfig")
    }

    /// Copies what etcd has now.
    pub(crate) async fn back_up(&self) -> Result<()> {
        self.meanwhile("backup.sh").await
    }

    /// Sets etcd back to the copy, and starts everything of the control plane anew.
    pub(crate) async fn restore(&self) -> Result<()> {
        self.meanwhile("restore.sh").await
    }

    /// The proxies of the scenario go on: one that stood still would carry requests from before a restore to after it.
    async fn meanwhile(&self, name: &'static str) -> Result<()> {
        let call = self.call(name);
        tokio::task::spawn_blocking(|| script(call)).await?
    }

    fn call(&self, name: &str) -> Command {
        let mut command = Command::new("bash");
        command.arg(self.scripts.join(name)).env("KP_RUN", &self.run).env("KP_PORT", "random");
        command
    }
}

fn script(mut call: Command) -> Result<()> {
    // What a script has started keeps no pipe of ours open: each has a log file.
    let output = call.stdin(Stdio::null()).output()?;
    ProgramOutput::of(&output).ok().map(|_| ()).map_err(|error| format!("{call:?}: {error}").into())
}

impl Drop for ControlPlane {
    fn drop(&mut self) {
        // No caller is left for the error.
        let _ = script(self.call("down.sh"));
    }
}
