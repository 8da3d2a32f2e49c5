//! Measures what a batch costs, and a hundred rollouts at once, on the sandbox and on a real control plane.

use super::manager::{PROFILE, SKIPPED, machine};
use crate::command;

/// The scenario that prints; it runs on the sandbox, or on the cluster of `E2E_KUBECONFIG`.
const FIGURES: [&str; 9] = [
    "test",
    "--quiet",
    "--profile",
    PROFILE,
    "--package",
    "vela-e2e",
    "--",
    "figures_of_rollouts",
    "--ignored",
];

/// Prints every figure, and what the machine did meanwhile.
pub(super) fn run() -> Result<(), String> {
    machine("before");
    command::cargo(&[
        "test",
        "--quiet",
        "--package",
        "vela-core",
        "--test",
        "core",
        "--",
        "rollout_counts",
        "--nocapture",
    ])?;
    command::cargo(&["build", "--profile", PROFILE, "--package", "vela-cli", "--package", "vela-core"])?;
    let figures = [&FIGURES[..], &["--nocapture"]].concat();
    command::cargo(&figures)?;
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let words = [&["e2e/controlplane/with.sh", &cargo][..], &figures].concat();
    match command::status("bash", &words, &[])?.code() {
        Some(0) => {}
        Some(SKIPPED) => {
            println!("skipped: figures of rollouts on a real control plane, because Go is not installed")
        }
        code => return Err(format!("the rollouts on the real control plane failed: {code:?}")),
    }
    machine("after");
    Ok(())
}
