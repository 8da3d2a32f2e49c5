//! One `vela-core` behind a proxy, which can be asked to stop, killed and waited for.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use kube::Client;

use crate::Result;
use crate::objects::until;
use crate::programs::programs;
use crate::proxy::{Proxy, Record};

/// Longer than a stop may take.
const END_DEADLINE: Duration = Duration::from_secs(45);

/// A running process.
pub struct Replica {
    /// The proxy between it and the API server.
    pub proxy: Proxy,
    child: Child,
    home: tempfile::TempDir,
}

impl Replica {
    /// Starts `vela-core` with these flags; the record calls it `who`. `faulty` prepares the proxy before the start.
    pub async fn start(
        who: &str,
        client: Client,
        record: &Record,
        flags: &[&str],
        faulty: impl FnOnce(&Proxy),
    ) -> Result<Self> {
        Self::start_of(&programs()?.core, who, client, record, flags, faulty).await
    }

    /// The same of another build.
    pub async fn start_of(
        program: &Path,
        who: &str,
        client: Client,
        record: &Record,
        flags: &[&str],
        faulty: impl FnOnce(&Proxy),
    ) -> Result<Self> {
        let proxy = Proxy::open(who, client, record).await?;
        faulty(&proxy);
        let home = tempfile::tempdir()?;
        let kubeconfig = home.path().join("kubeconfig");
        proxy.kubeconfig(&kubeconfig)?;
        let log = std::fs::File::create(home.path().join("vela-core.log"))?;
        let child = Command::new(program)
            .env_remove("KUBECONFIG")
            .env_remove("KUBERNETES_SERVICE_HOST")
            .env("HOME", home.path())
            .env("NO_COLOR", "1")
            .arg("--kubeconfig")
            .arg(&kubeconfig)
            .args(["--metrics-addr=0", "--health-addr=0"])
            .args(flags)
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()?;
        Ok(Self { proxy, child, home })
    }

    /// Asks it to stop, as a cluster does before it kills.
    pub fn terminate(&self) -> Result<()> {
        let sent = Command::new("kill").arg(self.child.id().to_string()).status()?;
        if sent.success() { Ok(()) } else { Err(format!("kill: {sent}").into()) }
    }

    /// Ends it at once.
    pub fn kill(&mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Is it still there?
    pub fn runs(&mut self) -> Result<bool> {
        Ok(self.child.try_wait()?.is_none())
    }

    /// Its number among the processes of this machine.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Waits for its end: the exit code, and when it was seen.
    pub async fn ended(&mut self) -> Result<(i32, Instant)> {
        let child = &mut self.child;
        until("the process ends", END_DEADLINE, async || {
            match child.try_wait().map_err(|error| error.to_string())? {
                Some(status) => Ok((status.code().unwrap_or(-1), Instant::now())),
                None => Err("it still runs".to_owned()),
            }
        })
        .await
    }

    /// Its output.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.home.path().join("vela-core.log")).unwrap_or_default()
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("--- log of a vela-core\n{}", self.log());
        }
    }
}
