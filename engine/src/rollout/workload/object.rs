//! Reads sizes and controller of a live workload, and builds the patches that claim and release it.

use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};

use super::{Owner, Record, View, WorkloadStep, Write};
use crate::observed::ObjectKey;

/// The kinds of the objects that hold workloads while they roll them out.
const ROLLOUT_KINDS: [&str; 3] = ["AppRollout", "ApplicationDeployment", "RolloutTrait"];
/// So many digits of a hash tell templates apart.
const HASH_BYTES: usize = 8;

/// Kinds whose pods are replaced in one object, as far as a partition lets them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InPlaceKind {
    /// OpenKruise's set of like pods.
    CloneSet,
    /// OpenKruise's set of numbered pods.
    AdvancedStatefulSet,
    /// Kubernetes' set of numbered pods.
    StatefulSet,
    /// OpenKruise's pod on every node.
    AdvancedDaemonSet,
}

impl InPlaceKind {
    /// The kind of a group and kind.
    pub fn of(group: &str, kind: &str) -> Option<Self> {
        match (group, kind) {
            ("apps.kruise.io", "CloneSet") => Some(Self::CloneSet),
            ("apps.kruise.io", "StatefulSet") => Some(Self::AdvancedStatefulSet),
            ("apps", "StatefulSet") => Some(Self::StatefulSet),
            ("apps.kruise.io", "DaemonSet") => Some(Self::AdvancedDaemonSet),
            _ => None,
        }
    }

    /// The field that holds back all changes, where there is one.
    pub(super) fn paused(self) -> Option<&'static str> {
        match self {
            Self::CloneSet => Some("/spec/updateStrategy/paused"),
            Self::AdvancedStatefulSet | Self::AdvancedDaemonSet => {
                Some("/spec/updateStrategy/rollingUpdate/paused")
            }
            Self::StatefulSet => None,
        }
    }

    /// The field that says how many pods stay old.
    pub(super) fn partition(self) -> &'static str {
        match self {
            Self::CloneSet => "/spec/updateStrategy/partition",
            _ => "/spec/updateStrategy/rollingUpdate/partition",
        }
    }
}

/// A number at a place; 0 where there is none.
pub(super) fn number(object: &Json, pointer: &str) -> i64 {
    object.pointer(pointer).and_then(Json::as_i64).unwrap_or(0)
}

/// `spec.replicas`, one where it is absent.
pub(super) fn size(object: &Json) -> i64 {
    object["spec"]["replicas"].as_i64().unwrap_or(1)
}

/// Kind and name, for people.
pub(super) fn named(object: &Json) -> String {
    ObjectKey::of(object).to_string()
}

/// Identifies the pod template of a workload.
pub(super) fn template_hash(object: &Json) -> String {
    let text = object["spec"]["template"].to_string();
    hex::encode(&Sha256::digest(text.as_bytes())[..HASH_BYTES])
}

fn owners(object: &Json) -> &[Json] {
    object["metadata"]["ownerReferences"].as_array().map_or(&[][..], Vec::as_slice)
}

fn is_controller(reference: &Json, uid: &str) -> bool {
    reference["controller"] == true && reference["uid"] == uid
}

/// Does the lender of the workload control it?
fn is_lent(object: &Json, owner: &Owner) -> bool {
    owner.lenders.iter().any(|lender| owners(object).iter().any(|each| is_controller(each, lender)))
}

/// Is the workload claimed by this rollout? One that is lent keeps its controller, and the rollout is an owner beside it.
pub fn is_controlled_by(object: &Json, owner: &Owner) -> bool {
    let is_lent = is_lent(object, owner);
    owners(object)
        .iter()
        .any(|each| each["uid"] == owner.uid.as_str() && (is_lent || each["controller"] == true))
}

/// A foreign controller forbids the rollout, and so does another rollout of a workload that is lent.
pub(super) fn foreign_controller(object: &Json, owner: &Owner) -> Option<String> {
    let is_lender = |each: &&Json| owner.lenders.iter().any(|lender| is_controller(each, lender));
    let holds = |each: &&Json| {
        each["controller"] == true
            || ROLLOUT_KINDS.iter().any(|kind| each["kind"] == *kind)
                && (each["kind"] != owner.kind.as_str() || each["name"] != owner.name.as_str())
    };
    let others = owners(object).iter().filter(|each| each["uid"] != owner.uid.as_str() && !is_lender(each));
    let other = match is_lent(object, owner) {
        true => others.into_iter().find(holds)?,
        false => others.into_iter().find(|each| each["controller"] == true)?,
    };
    let text = |field: &str| other[field].as_str().unwrap_or("?").to_owned();
    Some(format!("{} has a controller owner: {} {}", named(object), text("kind"), text("name")))
}

/// A patch of one object, bound to the version that was read.
pub(super) fn patch(object: &Json, mut patch: Json) -> Write {
    patch["metadata"]["resourceVersion"] = object["metadata"]["resourceVersion"].clone();
    Write::Patch { object: ObjectKey::of(object), patch }
}

/// The patch that sets one field.
pub(super) fn field(pointer: &str, value: Json) -> Json {
    pointer.rsplit('/').filter(|name| !name.is_empty()).fold(value, |value, name| json!({ name: value }))
}

/// Adds fields to a patch, level by level.
pub(super) fn merge(into: &mut Json, from: Json) {
    match (into.as_object_mut(), from) {
        (Some(fields), Json::Object(from)) => {
            for (name, value) in from {
                merge(fields.entry(name).or_insert(Json::Null), value);
            }
        }
        (_, from) => *into = from,
    }
}

/// The patch that claims a workload and changes `fields`; nothing when it is ours already.
pub(super) fn claim(object: &Json, owner: &Owner, fields: Json) -> Result<Option<Write>, WorkloadStep> {
    if is_controlled_by(object, owner) {
        return Ok(None);
    }
    if let Some(why) = foreign_controller(object, owner) {
        return Err(WorkloadStep::fail(why));
    }
    let mut list: Vec<Json> =
        owners(object).iter().filter(|each| each["uid"] != owner.uid.as_str()).cloned().collect();
    let controls = !is_lent(object, owner);
    list.push(json!({
        "apiVersion": owner.api_version, "kind": owner.kind, "name": owner.name, "uid": owner.uid,
        "controller": controls, "blockOwnerDeletion": controls,
    }));
    let mut changes = json!({"metadata": {"ownerReferences": list}});
    merge(&mut changes, fields);
    Ok(Some(patch(object, changes)))
}

/// The step that claims a workload and changes `fields`; one that is ours already needs none.
pub(super) fn begin(object: &Json, owner: &Owner, fields: Json, reason: &'static str) -> WorkloadStep {
    match claim(object, owner, fields) {
        Err(step) => step,
        Ok(None) => WorkloadStep::done(),
        Ok(write) => {
            let message = format!("{} belongs to the rollout", named(object));
            WorkloadStep::done().write(write).note(reason, message)
        }
    }
}

/// The last step of a workload whose pods were replaced: it is let go, `fields` are changed, and its template is known.
pub(super) fn end(view: &View<'_>, object: &Json, fields: Json, succeeded: bool) -> WorkloadStep {
    let record = Record { last_applied: view.status.target_generation.clone(), ..Record::default() };
    let message = format!("{} is released, succeeded: {succeeded}", named(object));
    let write = release(object, view.owner, fields);
    WorkloadStep::done().write(write).note("Rollout Finalized", message).record(record)
}

/// The patch that lets a workload go and changes `fields`; nothing when it is not ours.
///
/// A rollout of the same name that is gone left its mark too; those of other rollouts stay.
pub(super) fn release(object: &Json, owner: &Owner, fields: Json) -> Option<Write> {
    let is_ours = |each: &Json| {
        each["uid"] == owner.uid.as_str()
            || (ROLLOUT_KINDS.contains(&owner.kind.as_str())
                && each["kind"] == owner.kind.as_str()
                && each["apiVersion"] == owner.api_version.as_str()
                && each["name"] == owner.name.as_str())
    };
    let (ours, others): (Vec<&Json>, Vec<&Json>) = owners(object).iter().partition(|each| is_ours(each));
    if ours.is_empty() {
        return None;
    }
    let mut changes = json!({"metadata": {"ownerReferences": others}});
    merge(&mut changes, fields);
    Some(patch(object, changes))
}
