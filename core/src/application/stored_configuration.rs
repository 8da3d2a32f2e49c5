//! The ApplicationConfiguration that is stored for an Application → what it says of itself, and what may go because of that.

use kube::api::DynamicObject;
use serde_json::json;
use vela_engine::application_configuration::{API_VERSION, KIND};
use vela_engine::status::REFUSED;
use vela_runtime::Key;

use super::apply::Applied;
use super::desired::{Desired, Form};
use super::inventory::Owned;
use super::reconciler::ApplicationReconciler;

/// The fate of an object that the application no longer names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PruneDecision {
    /// It may be deleted.
    Delete,
    /// The configuration first has to do what it is asked now; its status wakes us.
    Wait,
    /// The configuration looks after it: it leaves our record, and stays.
    Release,
}

/// Until the stored configuration has done what it is asked now, nothing goes: it may still run what a dropped
/// component describes, and it may not have taken over yet what this application applied itself in the other form.
pub(super) fn decide_pruning(
    reconciler: &ApplicationReconciler,
    desired: &Desired,
    applied: &Applied,
    owned: &Owned,
) -> PruneDecision {
    if desired.form == Form::Applied {
        return PruneDecision::Delete;
    }
    let piece = desired.nodes.last().and_then(|node| node.pieces.first());
    let Some(live) = piece.and_then(|piece| applied.live().get(&piece.name)) else {
        return PruneDecision::Wait;
    };
    let Some(copy) = reconciler.configurations.get(&Key::of(live)) else { return PruneDecision::Wait };
    let same = copy.metadata.uid == live.metadata.uid && copy.metadata.generation == live.metadata.generation;
    if !same || synced(&copy) != Some(Ok(())) {
        return PruneDecision::Wait;
    }
    let entries = copy.data["status"]["workloads"].as_array();
    let mut entries = entries.into_iter().flatten();
    if owned.api_version == API_VERSION && owned.kind == KIND {
        return PruneDecision::Delete;
    }
    if owned.api_version == API_VERSION && owned.kind == "Component" {
        let runs = entries.any(|entry| entry["componentName"] == owned.key.name.as_str());
        return if runs { PruneDecision::Wait } else { PruneDecision::Delete };
    }
    let reference = json!({"apiVersion": owned.api_version, "kind": owned.kind, "name": owned.key.name});
    let named = entries.any(|entry| {
        let traits = entry["traits"].as_array().into_iter().flatten();
        let mut all = traits.map(|entry| &entry["traitRef"]).chain([&entry["workloadRef"]]);
        all.any(|found| ["apiVersion", "kind", "name"].iter().all(|field| found[*field] == reference[*field]))
    });
    if named { PruneDecision::Release } else { PruneDecision::Delete }
}

/// Why a configuration is not as it is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unsynced {
    pub(super) message: String,
    /// It cannot get better before a user changes something.
    pub(super) refused: bool,
}

/// The report of the configuration on its present generation; nothing while it has not looked at it.
pub(super) fn synced(configuration: &DynamicObject) -> Option<Result<(), Unsynced>> {
    let status = configuration.data.get("status")?;
    if status["observedGeneration"].as_i64() != configuration.metadata.generation {
        return None;
    }
    let condition =
        status["conditions"].as_array()?.iter().find(|condition| condition["type"] == "Synced")?;
    Some(match condition["status"].as_str() {
        Some("True") => Ok(()),
        _ => Err(Unsynced {
            message: condition["message"].as_str().unwrap_or("not synced").to_owned(),
            refused: condition["reason"] == REFUSED,
        }),
    })
}
