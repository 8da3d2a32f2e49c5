//! Runs the end-to-end scenarios on the sandbox, or on a real control plane built with Go.

use crate::command;

/// What `with.sh` ends with where there is no Go: the scenarios were not run, and that is said aloud.
const SKIPPED: i32 = 77;

const SCENARIOS: [&str; 6] = ["test", "--package", "vela-e2e", "--", "--nocapture", "--test-threads=2"];

/// What a real control plane has beside them: the scenarios that need one, without those about the sandbox, those that take
/// figures, and the one that runs alone.
const ALSO_REAL: [&str; 7] =
    ["--include-ignored", "--skip", "sandbox::", "--skip", "figures::", "--skip", CUT_OFF];

/// Where each request takes a second, a controller reconciles the applications of its own scenario in good time, but not
/// those of the others beside them.
const CUT_OFF: &str = "cut_off::";
const ALONE: [&str; 7] = ["test", "--package", "vela-e2e", "--", "--nocapture", "--include-ignored", CUT_OFF];

/// The one of two builds that take turns.
const VERSIONS: [&str; 6] =
    ["test", "--package", "vela-e2e", "--", "--include-ignored", "versions::two_versions"];

/// The scenarios on the embedded API server.
pub(crate) fn on_the_sandbox() -> Result<(), String> {
    build_programs()?;
    command::cargo(&SCENARIOS)
}

/// The same scenarios on etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kwok.
pub(crate) fn on_a_control_plane() -> Result<(), String> {
    build_programs()?;
    let together = real(&[&SCENARIOS[..], &ALSO_REAL[..]].concat(), &[]);
    real(&ALONE, &[]).and(together)
}

/// The scenario of two versions, with `vela-core` of another commit as one of them.
pub(crate) fn with_another_version(commit: &str) -> Result<(), String> {
    build_programs()?;
    let tree = command::root().join("target/other-version");
    let place = tree.to_string_lossy();
    if tree.exists() {
        succeeds("git", &["-C", &place, "checkout", "--detach", commit])?;
    } else {
        succeeds("git", &["worktree", "add", "--detach", &place, commit])?;
    }
    let (manifest, built) = (tree.join("Cargo.toml"), command::root().join("target/other-version-built"));
    let (manifest, folder) = (manifest.to_string_lossy(), built.to_string_lossy());
    command::cargo(&[
        "build",
        "--package",
        "vela-core",
        "--manifest-path",
        &manifest,
        "--target-dir",
        &folder,
    ])?;
    let core = built.join("debug").join(format!("vela-core{}", std::env::consts::EXE_SUFFIX));
    let words = [&VERSIONS[..], &["--nocapture"]].concat();
    real(&words, &[("E2E_OTHER_CORE", &core.to_string_lossy())])
}

fn succeeds(program: &str, words: &[&str]) -> Result<(), String> {
    let status = command::status(program, words, &[])?;
    if status.success() { Ok(()) } else { Err(format!("`{program} {}` failed: {status}", words.join(" "))) }
}

fn real(scenarios: &[&str], environment: &[(&str, &str)]) -> Result<(), String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let mut words = vec!["e2e/controlplane/with.sh", cargo.as_str()];
    words.extend(scenarios);
    let status = command::status("bash", &words, environment)?;
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
fn build_programs() -> Result<(), String> {
    command::cargo(&["build", "--package", "vela-cli", "--package", "vela-core"])
}
