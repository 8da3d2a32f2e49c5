//! The end-to-end scenarios: each opens a target, uses the programs and looks at objects.
//!
//! Without `E2E_KUBECONFIG` the target is the sandbox, one for each scenario; with it, that cluster.

#[path = "scenarios/applications/mod.rs"]
mod applications;
#[path = "scenarios/authors.rs"]
mod authors;
#[path = "scenarios/bad_input.rs"]
mod bad_input;
#[path = "scenarios/candidates.rs"]
mod candidates;
#[path = "scenarios/changes.rs"]
mod changes;
#[path = "scenarios/cut_off.rs"]
mod cut_off;
#[path = "scenarios/dapr_on_a_sandbox.rs"]
mod dapr_on_a_sandbox;
#[path = "scenarios/examples.rs"]
mod examples;
#[path = "scenarios/faulty.rs"]
mod faulty;
#[path = "scenarios/foreign.rs"]
mod foreign;
#[path = "scenarios/foreign_kinds.rs"]
mod foreign_kinds;
#[path = "scenarios/guarded/mod.rs"]
mod guarded;
#[path = "scenarios/killed.rs"]
mod killed;
#[path = "scenarios/operators/mod.rs"]
mod operators;
#[path = "scenarios/replay/mod.rs"]
mod replay;
#[path = "scenarios/replicas.rs"]
mod replicas;
#[path = "scenarios/restored.rs"]
mod restored;
#[path = "scenarios/roles.rs"]
mod roles;
#[path = "scenarios/rollouts/mod.rs"]
mod rollouts;
#[path = "scenarios/sandbox.rs"]
mod sandbox;
#[path = "scenarios/stories.rs"]
mod stories;
#[path = "scenarios/there_and_back.rs"]
mod there_and_back;
#[path = "scenarios/versions.rs"]
mod versions;
#[path = "scenarios/webhooks/mod.rs"]
mod webhooks;

use std::future::Future;
use std::path::PathBuf;
use std::time::Duration;

use vela_e2e::Result;
use vela_e2e::objects::until;
use vela_e2e::target::{Target, is_real};

/// Long enough for a busy machine; a real garbage collector looks at fresh kinds only every 40 seconds.
const GONE_DEADLINE: Duration = Duration::from_secs(120);
/// Long enough for a controller that was killed to be back and done.
const CONVERGE_DEADLINE: Duration = Duration::from_secs(120);

/// Runs a scenario; its error is the test's failure.
fn scenario(work: impl Future<Output = Result<()>>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let outcome = runtime.map_err(Into::into).and_then(|runtime| runtime.block_on(work));
    let error = outcome.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(error.is_empty(), "{error}");
}

/// The same where it needs a real control plane. Such a scenario is ignored elsewhere, and asked for there it fails.
fn on_a_control_plane(work: impl Future<Output = Result<()>>) {
    assert!(is_real(), "E2E_KUBECONFIG names no control plane: cargo xtask e2e --real");
    scenario(work);
}

/// A folder of this repository.
fn repository(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

/// Waits until the namespace holds nothing that was not there at the beginning.
async fn nothing_is_left(target: &Target) -> Result<()> {
    until("the namespace is empty again", GONE_DEADLINE, async || {
        let mut left = target.cluster().everything().await.map_err(|error| error.to_string())?;
        // What describes a kind of workload is shared by all definitions of it, and stays.
        left.retain(|one| !one.starts_with("WorkloadDefinition/"));
        if left.is_empty() { Ok(()) } else { Err(format!("there is still {left:?}")) }
    })
    .await
}

/// Waits until an Application reports `running` for the spec that it has now.
async fn runs(target: &Target, name: &str) -> Result<()> {
    until("the application runs", CONVERGE_DEADLINE, async || {
        let found = target.cluster().get("core.oam.dev/v1beta1", "Application", name).await;
        let object = found.map_err(|error| error.to_string())?.ok_or("it does not exist")?;
        let generation = object["metadata"]["generation"].as_i64();
        let running = object["status"]["status"] == "running";
        let current = object["status"]["observedGeneration"].as_i64() >= generation;
        if running && current { Ok(()) } else { Err(format!("its status is {}", object["status"])) }
    })
    .await
}
