//! A kubeconfig in → a running `vela-core`, what it says of its queues, and what it takes of the machine.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use vela_testkit::Process;

use crate::command;

/// How often it is looked at.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(200);
/// Longer than a stop may take.
const ENDS_WITHIN: Duration = Duration::from_secs(45);
/// The figures come at once.
const ANSWERS_WITHIN: Duration = Duration::from_secs(10);
/// Figures of all controllers, and room to spare.
const FIGURES_AT_MOST: u64 = 4 * 1024 * 1024;
/// Lines of the log that are shown after a failure.
const LINES: usize = 40;
/// Figures that are 0 when nothing is to do.
const IDLE: [&str; 2] = ["workqueue_depth{", "controller_runtime_active_workers{"];

/// The resources of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    /// Resident kibibytes.
    pub(super) resident: usize,
    /// Open files and connections, those of watches among them.
    pub(super) descriptors: usize,
    pub(super) threads: usize,
}

/// The process; it ends with this.
pub(super) struct Core {
    child: Process,
    metrics: SocketAddr,
    log: PathBuf,
}

impl Core {
    /// Starts the program of the dev profile.
    pub(super) fn start(kubeconfig: &str) -> Result<Self, String> {
        let target = std::env::var_os("CARGO_TARGET_DIR")
            .map_or_else(|| command::root().join("target"), PathBuf::from);
        let program = target.join("debug").join(format!("vela-core{}", std::env::consts::EXE_SUFFIX));
        let home = target.join("soak");
        let message = |error: std::io::Error| format!("{}: {error}", home.display());
        std::fs::create_dir_all(&home).map_err(message)?;
        let (config, log) = (home.join("kubeconfig"), home.join("vela-core.log"));
        std::fs::write(&config, kubeconfig).map_err(message)?;
        // A port that is free now: a process that takes it meanwhile makes the start fail aloud.
        let metrics =
            TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).map_err(message)?;
        let child = Command::new(&program)
            .env_remove("KUBECONFIG")
            .env_remove("KUBERNETES_SERVICE_HOST")
            .env("HOME", &home)
            .arg("--kubeconfig")
            .arg(&config)
            .args(["--health-addr=0", &format!("--metrics-addr={metrics}"), "--log-level=warn"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(&log).map_err(message)?)
            .spawn()
            .map_err(|error| format!("cannot start {}: {error}", program.display()))?;
        Ok(Self { child: child.into(), metrics, log })
    }

    /// An error if it ended.
    pub(super) fn runs(&mut self) -> Result<(), String> {
        match self.child.try_wait().map_err(|error| error.to_string())? {
            None => Ok(()),
            Some(status) => Err(format!("vela-core ended: {status}")),
        }
    }

    /// Asks it to end, and waits for that.
    pub(super) async fn stop(mut self) -> Result<(), String> {
        let asked = Command::new("kill").arg(self.child.id().to_string()).status();
        asked.map_err(|error| format!("kill: {error}"))?;
        let end = Instant::now() + ENDS_WITHIN;
        loop {
            match self.child.try_wait().map_err(|error| error.to_string())? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => return Err(format!("asked to stop, it ended with {status}\n{}", self.log())),
                None if Instant::now() > end => return Err(format!("it does not end\n{}", self.log())),
                None => tokio::time::sleep(LOOK_EVERY).await,
            }
        }
    }

    /// What it takes now.
    pub(super) fn size(&self) -> Result<Size, String> {
        let place = format!("/proc/{}", self.child.id());
        let message = |error: std::io::Error| format!("{place}: {error}");
        let status = std::fs::read_to_string(format!("{place}/status")).map_err(message)?;
        let figure = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
            let number = line.split_whitespace().next().and_then(|number| number.parse().ok());
            number.ok_or_else(|| format!("{place}/status does not tell {name}"))
        };
        let descriptors = std::fs::read_dir(format!("{place}/fd")).map_err(message)?.count();
        Ok(Size { resident: figure("VmRSS:")?, descriptors, threads: figure("Threads:")? })
    }

    /// Which of its controllers have work.
    pub(super) fn busy(&self) -> Result<Vec<String>, String> {
        let figures = self.figures().map_err(|error| format!("cannot read the figures: {error}"))?;
        let idle: Vec<&str> =
            figures.lines().filter(|line| IDLE.iter().any(|name| line.starts_with(name))).collect();
        if idle.is_empty() {
            return Ok(vec!["it tells nothing of its queues".to_owned()]);
        }
        Ok(idle.into_iter().filter(|line| !line.ends_with(" 0")).map(str::to_owned).collect())
    }

    fn figures(&self) -> std::io::Result<String> {
        let mut stream = TcpStream::connect_timeout(&self.metrics, ANSWERS_WITHIN)?;
        stream.set_read_timeout(Some(ANSWERS_WITHIN))?;
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.take(FIGURES_AT_MOST).read_to_string(&mut answer)?;
        Ok(answer)
    }

    /// The end of what it said.
    pub(super) fn log(&self) -> String {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(LINES)..].join("\n")
    }
}
