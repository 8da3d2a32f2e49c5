//! A target in; the end-to-end scenarios run on it out: the sandbox, or a real control plane built with Go.

use crate::command;

/// What `with.sh` ends with where there is no Go: the scenarios were not run, and that is said aloud.
const SKIPPED: i32 = 77;

const SCENARIOS: [&str; 6] = ["test", "--package", "vela-e2e", "--", "--nocapture", "--test-threads=2"];

/// The scenarios on the embedded API server.
pub(crate) fn on_the_sandbox() -> Result<(), String> {
    doors()?;
    command::cargo(&SCENARIOS)
}

/// The same scenarios on etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kwok.
pub(crate) fn on_a_control_plane() -> Result<(), String> {
    doors()?;
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let mut words = vec!["e2e/controlplane/with.sh", cargo.as_str()];
    words.extend(SCENARIOS);
    let status = command::status("bash", &words, &[])?;
    match status.code() {
        Some(0) => Ok(()),
        Some(SKIPPED) => {
            println!("skipped: no scenario was run on a real control plane, because Go is not installed");
            Ok(())
        }
        _ => Err(format!("the scenarios on the real control plane failed: {status}")),
    }
}

/// The scenarios use binaries only; they must be those of this source.
fn doors() -> Result<(), String> {
    command::cargo(&["build", "--package", "vela-cli", "--package", "vela-core"])
}
