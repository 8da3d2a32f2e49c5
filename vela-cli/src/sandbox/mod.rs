//! The sandbox of one person: an API server with simulated workloads and our controllers, its data in a folder.
//!
//! There is no daemon. A command takes the folder's lock, opens the store, runs the API server and the controllers
//! inside itself and closes both when it ends; the data stay. `vela sandbox run` keeps the lock and serves on a
//! loopback port; while it does, other commands find its kubeconfig in the folder and work through it.

mod home;
mod local;

pub(crate) use home::{Home, Lock, LockAttempt, base};
pub(crate) use local::Local;

use crate::error::{Error, Result};

/// Asks a process to end in good order. The caller knows from the lock that it is a sandbox that runs.
pub(crate) fn stop_process(pid: u32) -> Result<()> {
    let cannot = |why: String| Error::config(format!("process {pid} cannot be stopped: {why}"));
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    let pid = pid.ok_or_else(|| cannot("it is no process id".to_owned()))?;
    rustix::process::kill_process(pid, rustix::process::Signal::TERM)
        .map_err(|error| cannot(error.to_string()).into())
}
