//! Runs the end-to-end scenarios on the sandbox, or on a real control plane built with Go.

use crate::command;

/// What `with.sh` ends with where there is no Go: the scenarios were not run, and that is said aloud.
const SKIPPED: i32 = 77;

const SCENARIOS: [&str; 2] = ["--nocapture", "--test-threads=2"];

/// What a real control plane has beside them: the scenarios that need one, without those about the sandbox, those that take
/// figures, and the one that runs alone.
const ALSO_REAL: [&str; 7] =
    ["--include-ignored", "--skip", "sandbox::", "--skip", "figures::", "--skip", CUT_OFF];

/// Where each request takes a second, a controller reconciles the applications of its own scenario in good time, but not
/// those of the others beside them.
const CUT_OFF: &str = "cut_off::";
const ALONE: [&str; 3] = ["--nocapture", "--include-ignored", CUT_OFF];

/// One scenario each of start, application, workflow, rollout, webhooks, faults and garbage collection: what the gate has time for.
const SAMPLE: [&str; 7] = [
    "replicas::one_leads_and_the_other_takes_over",
    "examples::first_app",
    "stories::examples_come_to_their_end",
    "deployments::deployments_are_rolled_out_as_in_the_example",
    "webhooks::a_broken_application_is_refused_where_it_is_broken",
    "faulty::a_faulty_api_server_is_survived",
    "changes::an_update_prunes_exactly_what_was_removed",
];

/// The one of two builds that take turns.
const VERSIONS: [&str; 3] = ["--nocapture", "--include-ignored", "versions::two_versions"];

/// The scenarios on the embedded API server.
pub(crate) fn on_the_sandbox() -> Result<(), String> {
    build_programs()?;
    let tests = scenarios()?;
    let status = command::status(&tests, &SCENARIOS, &[])?;
    if status.success() { Ok(()) } else { Err(format!("the scenarios on the sandbox failed: {status}")) }
}

/// The same scenarios on etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kwok.
pub(crate) fn on_a_control_plane() -> Result<(), String> {
    build_programs()?;
    let together = real(&[&SCENARIOS[..], &ALSO_REAL[..]].concat(), &[]);
    real(&ALONE, &[]).and(together)
}

/// One scenario of each kind there.
pub(crate) fn sample_on_a_control_plane() -> Result<(), String> {
    build_programs()?;
    real(&[&SCENARIOS[..], &["--include-ignored"], &SAMPLE[..]].concat(), &[])
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
    real(&VERSIONS, &[("E2E_OTHER_CORE", &core.to_string_lossy())])
}

fn succeeds(program: &str, words: &[&str]) -> Result<(), String> {
    let status = command::status(program, words, &[])?;
    if status.success() { Ok(()) } else { Err(format!("`{program} {}` failed: {status}", words.join(" "))) }
}

fn real(scenarios: &[&str], environment: &[(&str, &str)]) -> Result<(), String> {
    let tests = self::scenarios()?;
    let mut words = vec!["e2e/controlplane/with.sh", tests.as_str()];
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
    let packages = ["vela-cli", "vela-core", "vela-dapr", "vela-harbor"].map(|name| ["--package", name]);
    command::build(&[packages.as_flattened(), &["--bins", "--examples"]].concat())
}

/// The program with the scenarios, beside the programs that it starts.
fn scenarios() -> Result<String, String> {
    Ok(command::tests_of("vela-e2e", "e2e")?.to_string_lossy().into_owned())
}
