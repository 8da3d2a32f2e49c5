//! Rollouts as people run them, on both targets: from revision to revision in batches, with every moment of the pods held to a bound.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use vela_e2e::Result;
use vela_e2e::expected::documents;
use vela_e2e::objects::{Cluster, until};

use crate::foreign::accepted;

mod clone_sets;
mod deployments;
mod faults;
mod figures;
mod person;
mod sets;

const OAM: &str = "core.oam.dev/v1beta1";
const APPS: &str = "apps/v1";
/// A batch takes a second or two where the machine is not busy.
const STEP_DEADLINE: Duration = Duration::from_secs(60);
/// What waits must go on waiting so long; a reconcile of the controller takes a small part of it.
const STILL_LASTS: Duration = Duration::from_secs(2);

/// A folder of the examples.
fn examples(name: &str) -> PathBuf {
    vela_testkit::cases::folder("examples/rollout").join(name)
}

/// Applies a file as a person with kubectl would; `change` is what the person changes in it before.
async fn applied(cluster: &Cluster, file: PathBuf, change: impl Fn(&mut Value)) -> Result<()> {
    for mut object in documents(&std::fs::read_to_string(&file)?)? {
        // A definition counts where it stands; the scenario has a namespace of its own.
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.remove("namespace");
        }
        change(&mut object);
        accepted(cluster, &object).await.map_err(|error| format!("{}: {error}", file.display()))?;
    }
    Ok(())
}

/// A rollout to `target`, from `source` where there is one.
fn rollout(name: &str, source: Option<&str>, target: &str, plan: Value) -> Value {
    let mut spec = json!({"targetAppRevisionName": target, "rolloutPlan": plan});
    if let Some(source) = source {
        spec["sourceAppRevisionName"] = json!(source);
    }
    json!({"apiVersion": OAM, "kind": "AppRollout", "metadata": {"name": name}, "spec": spec})
}

/// Batches of these sizes.
fn batches(sizes: &[i64]) -> Value {
    json!({"rolloutBatches": sizes.iter().map(|size| json!({"replicas": size})).collect::<Vec<_>>()})
}

/// Merges into the plan of a rollout.
async fn applied_plan(cluster: &Cluster, name: &str, plan: Value) -> Result<()> {
    let change = json!({"spec": {"rolloutPlan": plan}});
    cluster.patch(OAM, "AppRollout", name, &change).await.map(|_| ())
}

/// Merges into the plan of an application.
async fn applied_plan_of(cluster: &Cluster, application: &str, plan: Value) -> Result<()> {
    let change = json!({"spec": {"rolloutPlan": plan}});
    cluster.patch(OAM, "Application", application, &change).await.map(|_| ())
}

/// Waits for a revision of the application.
async fn recorded(cluster: &Cluster, revision: &str) -> Result<()> {
    until(&format!("{revision} is recorded"), STEP_DEADLINE, async || {
        let found = cluster.get(OAM, "ApplicationRevision", revision).await;
        found.map_err(|error| error.to_string())?.map(|_| ()).ok_or_else(|| "it is not".to_owned())
    })
    .await
}

/// Waits until the rollout is as `holds` says.
async fn becomes(cluster: &Cluster, name: &str, what: &str, holds: impl Fn(&Value) -> bool) -> Result<Value> {
    until(&format!("{name}: {what}"), STEP_DEADLINE, async || {
        let found = cluster.get(OAM, "AppRollout", name).await.map_err(|error| error.to_string())?;
        let found = found.ok_or("there is no such rollout")?;
        if holds(&found) { Ok(found) } else { Err(format!("its status is {}", found["status"])) }
    })
    .await
}

/// Waits until it has ended well, at `target`.
async fn succeeds(cluster: &Cluster, name: &str, target: &str) -> Result<Value> {
    becomes(cluster, name, &format!("{target} is reached"), |found| {
        found["status"]["rollingState"] == "rolloutSucceed"
            && found["status"]["lastTargetAppRevision"] == target
    })
    .await
}

/// Waits until so many batches are done, counted from 0.
async fn batch_is_ready(cluster: &Cluster, name: &str, batch: i64) -> Result<Value> {
    becomes(cluster, name, &format!("batch {batch} is done, and it waits"), |found| {
        found["status"]["batchRollingState"] == "batchReady"
            && found["status"]["rollingState"] == "rollingInBatches"
            && found["status"]["currentBatch"] == batch
    })
    .await
}

/// Waits until a workload has `wanted` pods, all of them ready.
async fn has(cluster: &Cluster, api_version: &str, kind: &str, name: &str, wanted: i64) -> Result<Value> {
    until(&format!("{name} has {wanted} pods"), STEP_DEADLINE, async || {
        let found = cluster.get(api_version, kind, name).await.map_err(|error| error.to_string())?;
        let found = found.ok_or("it is not there")?;
        let ready = found["status"]["readyReplicas"].as_i64().unwrap_or(0);
        let is_so = found["spec"]["replicas"].as_i64() == Some(wanted) && ready == wanted;
        if is_so { Ok(found) } else { Err(format!("{} wanted, {ready} ready", found["spec"]["replicas"])) }
    })
    .await
}

/// Is a rollout named among its owners?
fn is_held(workload: &Value) -> bool {
    let owners = workload["metadata"]["ownerReferences"].as_array();
    owners.into_iter().flatten().any(|owner| owner["kind"] == "AppRollout")
}

/// The controller does not write to the rollout and its workloads while nothing changes.
async fn is_still(cluster: &Cluster, objects: &[(&str, &str, &str)]) -> Result<()> {
    let versions = async || {
        let mut found = Vec::new();
        for (api_version, kind, name) in objects {
            let object = cluster.get(api_version, kind, name).await?.unwrap_or_default();
            found.push(object["metadata"]["resourceVersion"].clone());
        }
        Ok::<_, vela_e2e::Failure>(found)
    };
    let mut before = versions().await?;
    until("nothing is written any more", STEP_DEADLINE, async || {
        tokio::time::sleep(STILL_LASTS).await;
        let now = versions().await.map_err(|error| error.to_string())?;
        if now == before {
            return Ok(());
        }
        let message = format!("{objects:?} went from {before:?} to {now:?}");
        before = now;
        Err(message)
    })
    .await
}

/// Deletes the rollout and waits until it has let go.
async fn deleted(cluster: &Cluster, name: &str) -> Result<()> {
    cluster.delete(OAM, "AppRollout", name).await?;
    until(&format!("{name} is gone"), STEP_DEADLINE, async || {
        match cluster.get(OAM, "AppRollout", name).await.map_err(|error| error.to_string())? {
            None => Ok(()),
            Some(found) => Err(format!("it is still there: {}", found["status"])),
        }
    })
    .await
}
