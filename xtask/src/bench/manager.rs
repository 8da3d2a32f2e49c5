//! Measures the manager and its webhooks: reviews, queue, stores and hand-over, with one build that is fast to make.

use std::fs::read_to_string;

use crate::command;

/// Optimised, and no minutes of linking: ratios are those of a release build.
pub(super) const PROFILE: &str = "simulate";
/// What `with.sh` ends with where there is no Go.
pub(super) const SKIPPED: i32 = 77;

/// Package, test binary and filter of everything that is measured in one process.
const MEASURED: [[&str; 3]; 2] =
    [["vela-webhooks", "webhooks", "latency_of"], ["vela-runtime", "runtime", "figures_of"]];

/// Prints every figure, and what the machine did meanwhile.
pub(super) fn run() -> Result<(), String> {
    machine("before");
    for [package, test, filter] in MEASURED {
        let words =
            ["test", "--quiet", "--profile", PROFILE, "--package", package, "--test", test, "--", filter];
        command::cargo(&[&words[..], &["--ignored", "--nocapture"]].concat())?;
    }
    hand_over()?;
    machine("after");
    Ok(())
}

/// Hand-over is a matter of seconds and of the lease's, so the debug binaries will do; it needs a real control plane.
fn hand_over() -> Result<(), String> {
    command::cargo(&["build", "--package", "vela-cli", "--package", "vela-core"])?;
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let test = ["test", "--quiet", "--package", "vela-e2e", "--", "one_leads", "takes_turns", "--nocapture"];
    let words = [&["e2e/controlplane/with.sh", &cargo][..], &test].concat();
    match command::status("bash", &words, &[])?.code() {
        Some(0) => Ok(()),
        Some(SKIPPED) => {
            println!("skipped: hand-over times need a real control plane, and Go is not installed");
            Ok(())
        }
        code => Err(format!("the hand-over on the real control plane failed: {code:?}")),
    }
}

/// Others take their part of a machine: a figure without this says little.
pub(super) fn machine(when: &str) {
    let processors = std::thread::available_parallelism().map_or(0, usize::from);
    let load = read_to_string("/proc/loadavg").unwrap_or_else(|_| "unknown".to_owned());
    let load: Vec<&str> = load.split_whitespace().take(3).collect();
    println!("{when}: {processors} processors, load of the last 1, 5 and 15 minutes {}", load.join(" "));
}
