//! Deletes the Deployments of deleted revisions once a rollout has succeeded, where they have no pods and no holder.
//!
//! A rollout leaves its source without pods as the way back. No rollout can go back to a revision that is not recorded any more.
//! A Deployment that cannot be deleted now is looked at again after the next rollout: no rollout fails by it.

use kube::api::DynamicObject;
use vela_crds::labels;
use vela_engine::rollout::workload;
use vela_runtime::Api;
use vela_runtime::Key;
use vela_runtime::apply as runtime_apply;
use vela_runtime::confirm::Seen;
use vela_runtime::dynamic_watch::TrackedReads;
use vela_runtime::owner::controller_of;

use super::reconcile_inputs::{Part, Side};
use super::reconciler::RolloutReconciler;
use super::stage::{self, Stage};
use crate::application::fetch::json;
use crate::application::inventory::{Entry, Owned, Record};
use crate::application::owned_kinds::{application_of, may_delete};
use crate::prune::{self, Pruned};

/// So many are deleted after one rollout; the next one deletes more.
const DELETES_AT_MOST: usize = 16;

/// Delete what the rollouts of these components have left of revisions that are gone.
pub(super) async fn remove(reconciler: &RolloutReconciler, look: &TrackedReads, stage: &Stage<'_>) {
    if let Err(why) = remove_all(reconciler, look, stage).await {
        tracing::warn!(application = %stage.application.key, why, "Deployments of revisions that are gone are left for now");
    }
}

async fn remove_all(
    reconciler: &RolloutReconciler,
    look: &TrackedReads,
    stage: &Stage<'_>,
) -> Result<(), String> {
    let application = &stage.application.key;
    let (mut record, stored) = reconciler.records.read(application).map_err(|error| error.to_string())?;
    let retired = retired(reconciler, look, stage, &record).await?;
    if retired.is_empty() {
        return Ok(());
    }
    for owned in &retired {
        if let Some(entry) = record.entries.get_mut(owned) {
            entry.unwanted = true;
        }
    }
    let unwritten = |error: kube::Error| runtime_apply::explain(&error);
    let stored = reconciler.records.write(application, &record, stored).await.map_err(unwritten)?;
    for owned in retired {
        let uid = record.entries.get(&owned).and_then(|entry| entry.uid.clone());
        if delete(reconciler, stage, &owned, uid.as_deref()).await? == Pruned::Gone {
            look.forget(&owned.api_version, &owned.kind, &owned.key);
            record.entries.remove(&owned);
        }
    }
    reconciler.records.write(application, &record, stored).await.map_err(unwritten)?;
    Ok(())
}

/// Those of the record that may go.
async fn retired(
    reconciler: &RolloutReconciler,
    look: &TrackedReads,
    stage: &Stage<'_>,
    record: &Record,
) -> Result<Vec<Owned>, String> {
    let mut found = Vec::new();
    for (owned, entry) in &record.entries {
        let Some(number) = stage.parts.iter().find_map(|part| former(part, owned, entry)) else { continue };
        let Some(live) = stage::read(look, &owned.object_key()).await? else { continue };
        if !is_left(stage, &live) {
            continue;
        }
        let label = live.metadata.labels.as_ref().and_then(|all| all.get(labels::APP_REVISION)).cloned();
        let own = format!("{}-v{number}", stage.application.key.name);
        if is_gone(reconciler, stage, &own).await?
            && is_gone(reconciler, stage, &label.unwrap_or(own)).await?
        {
            found.push(owned.clone());
        }
        if found.len() == DELETES_AT_MOST {
            break;
        }
    }
    Ok(found)
}

/// The number of the revision for which rollouts of this component made that Deployment, where it is none that this rollout goes
/// between.
fn former(part: &Part, owned: &Owned, entry: &Entry) -> Option<u64> {
    let target = part.target.template.key();
    let base = &part.target.template.base;
    let is_of_part = entry.component.as_ref() == Some(&part.component)
        && target.kind == "Deployment"
        && (&owned.api_version, &owned.kind) == (&target.api_version, &target.kind)
        && owned.key.namespace == target.namespace
        && owned.out_of_reach().is_none();
    let number = owned.key.name.strip_prefix(base)?.strip_prefix("-v")?.parse().ok()?;
    let is_its_name = workload::name(&owned.api_version, &owned.kind, base, number) == owned.key.name;
    let is_used = |side: &Side| side.template.key().name == owned.key.name;
    let in_use = is_used(&part.target) || part.source.as_ref().is_some_and(is_used);
    (is_of_part && is_its_name && !in_use).then_some(number)
}

/// Has it no pods and no holder?
fn is_left(stage: &Stage<'_>, live: &DynamicObject) -> bool {
    application_of(live).as_ref() == Some(&stage.application.key) && holds_nothing(live)
}

fn holds_nothing(live: &DynamicObject) -> bool {
    let document = json(live);
    let pods = |pointer: &str, absent: i64| {
        document.pointer(pointer).and_then(serde_json::Value::as_i64).unwrap_or(absent)
    };
    controller_of(live).is_none()
        && pods("/spec/replicas", 1) == 0
        && pods("/status/replicas", 0) == 0
        && live.metadata.deletion_timestamp.is_none()
}

/// Is the revision not recorded any more? A copy may be behind, so the server is asked before that is believed.
async fn is_gone(reconciler: &RolloutReconciler, stage: &Stage<'_>, revision: &str) -> Result<bool, String> {
    let revisions = reconciler.revisions.stored();
    let namespace = &stage.application.key.namespace;
    if revisions.get(&Key::new(namespace.clone(), revision)).is_some() {
        return Ok(false);
    }
    let resource = &revisions.watch().resource;
    let api: Api<DynamicObject> =
        Api::namespaced_with(reconciler.context.client.clone(), namespace, resource);
    let found = api.get_opt(revision).await.map_err(|error| runtime_apply::explain(&error))?;
    Ok(found.is_none())
}

/// Delete one of them, as anything is deleted that its application does not name any more.
async fn delete(
    reconciler: &RolloutReconciler,
    stage: &Stage<'_>,
    owned: &Owned,
    uid: Option<&str>,
) -> Result<Pruned, String> {
    let guard = |live: &DynamicObject| {
        may_delete(stage.application, uid, live)?;
        match holds_nothing(live) {
            true => Ok(()),
            false => Err("it has pods or a holder".to_owned()),
        }
    };
    let application =
        Seen { resource: &reconciler.applications.watch().resource, object: stage.application.object };
    let decision =
        prune::Decision { context: &reconciler.context, acting: stage.acting, seen: vec![application] };
    let identity = (owned.api_version.as_str(), owned.kind.as_str(), &owned.key);
    let deleted = prune::delete(&decision, identity, &guard).await;
    deleted.map_err(|error| stage.acting.explain_apply(&error))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn only_what_has_no_pods_and_no_controller_may_go() {
        let holds_nothing = |spec: i64, status: i64, owner: bool| {
            let owners = match owner {
                true => {
                    json!([{"apiVersion": "core.oam.dev/v1beta1", "kind": "AppRollout", "name": "release", "uid": "1",
                    "controller": true}])
                }
                false => json!([]),
            };
            let live = json!({
                "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "front-v1", "ownerReferences": owners},
                "spec": {"replicas": spec}, "status": {"replicas": status},
            });
            super::holds_nothing(&serde_json::from_value(live).unwrap())
        };
        assert!(holds_nothing(0, 0, false));
        assert!(!holds_nothing(1, 0, false) && !holds_nothing(0, 1, false) && !holds_nothing(0, 0, true));
    }
}
