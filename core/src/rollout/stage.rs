//! The target of a rollout → its objects in the cluster: the workload waiting for its turn, and what stands beside it.
//!
//! Everything is written into the record of the application before it is made, so that it goes with the application.

use std::sync::Arc;

use kube::api::DynamicObject;
use serde_json::Value;
use vela_engine::rollout::template;
use vela_engine::rollout::workload;
use vela_engine::{Graph, ObjectKey};
use vela_runtime::Key;
use vela_runtime::apply::{self as runtime_apply, Conflicts};
use vela_runtime::dynamic_watch::TrackedReads;
use vela_runtime::owner::controller_of;

use super::reconcile_inputs::{Part, Side};
use super::reconciler::RolloutReconciler;
use crate::application::fetch::json;
use crate::application::inventory::{Entry, Owned};
use crate::application::owned_kinds::{Application, may_change};
use crate::author::Actor;

/// The order for one revision.
pub(super) struct Stage<'a> {
    /// The uid of the rollout.
    pub(super) rollout: &'a str,
    pub(super) application: &'a Application<'a>,
    pub(super) acting: &'a Actor,
    pub(super) graph: &'a Graph,
    /// The components that are rolled out.
    pub(super) parts: &'a [Part],
    /// Those that stay as they are.
    pub(super) unchanged: &'a [Part],
}

/// Why not everything is there.
pub(super) enum Unready {
    /// A copy was behind: the controller looks again in a moment, and reports nothing.
    Behind,
    /// Something is wrong, in words.
    Wrong(String),
}

impl From<String> for Unready {
    fn from(why: String) -> Self {
        Self::Wrong(why)
    }
}

/// The objects to write, and the condition of the write.
enum Desired {
    /// It is as the revision says.
    Always(Value),
    /// The same, unless it is there: until the rollout has succeeded, what is there belongs to the source.
    IfMissing(Value),
}

impl Desired {
    fn object(&self) -> &Value {
        match self {
            Self::Always(object) | Self::IfMissing(object) => object,
        }
    }
}

/// Before the rollout: the workloads of the target wait, the other components are as the revision says, and of what
/// stands beside the workloads only what is missing is made.
pub(super) async fn prepare(
    reconciler: &RolloutReconciler,
    look: &TrackedReads,
    stage: &Stage<'_>,
) -> Result<(), Unready> {
    let mut desired = Vec::new();
    for Part { component, target: Side { template, .. }, .. } in stage.parts {
        let live = read(look, &template.key()).await?;
        let holder = live.as_ref().and_then(|live| controller_of(live));
        if let Some(holder) = holder.filter(|holder| holder.uid != stage.rollout) {
            return Err(Unready::Wrong(format!(
                "{} is held by {} {}: wait until that is over, or delete it",
                template.key(),
                holder.kind,
                holder.name
            )));
        }
        let mut waiting = template.workload.clone();
        workload::hold(&mut waiting, live.map(|live| json(&live)).as_ref())?;
        desired.push((component.as_str(), Desired::Always(waiting)));
    }
    let is_rolled = |name: &str| stage.parts.iter().chain(stage.unchanged).any(|part| part.component == name);
    let others = template::others(stage.graph, is_rolled);
    desired.extend(others.map(|(component, object)| (component, Desired::Always(object.clone()))));
    desired.extend(traits(stage).map(|(component, each)| (component, Desired::IfMissing(each.clone()))));
    write(reconciler, look, stage, desired).await
}

/// After the rollout: what stands beside the workloads belongs to the target now.
pub(super) async fn finish(
    reconciler: &RolloutReconciler,
    look: &TrackedReads,
    stage: &Stage<'_>,
) -> Result<(), Unready> {
    let desired = traits(stage).map(|(component, each)| (component, Desired::Always(each.clone()))).collect();
    write(reconciler, look, stage, desired).await
}

/// The objects beside the workloads of the target, each with its component.
fn traits<'a>(stage: &Stage<'a>) -> impl Iterator<Item = (&'a str, &'a Value)> + use<'a> {
    let of = |part: &'a Part| part.target.template.traits.iter().map(|each| (part.component.as_str(), each));
    stage.parts.iter().flat_map(of)
}

/// The live object; nothing when it is not there.
pub(super) async fn read(look: &TrackedReads, key: &ObjectKey) -> Result<Option<Arc<DynamicObject>>, String> {
    let name = Key::new(key.namespace.clone(), key.name.clone());
    look.get(&key.api_version, &key.kind, &name).await.map_err(|error| error.to_string())
}

/// Write what is desired, each with the component it belongs to.
async fn write(
    reconciler: &RolloutReconciler,
    look: &TrackedReads,
    stage: &Stage<'_>,
    desired: Vec<(&str, Desired)>,
) -> Result<(), Unready> {
    let mut objects = Vec::with_capacity(desired.len());
    for (component, each) in desired {
        let mut object: DynamicObject = serde_json::from_value(each.object().clone())
            .map_err(|error| Unready::Wrong(error.to_string()))?;
        // An unknown kind is told of when its object is applied.
        if reconciler.context.discovery.resolve_object(&object).await.is_ok_and(|kind| !kind.namespaced) {
            object.metadata.namespace = None;
        }
        objects.push((component, each, object));
    }
    let wanted = objects.iter().map(|(component, _, object)| (*component, Owned::of(object)));
    let known = record(reconciler, stage, wanted).await?;
    let mut made = Vec::new();
    for (_, each, object) in objects {
        let owned = Owned::of(&object);
        let live = read(look, &ObjectKey::of(&json(&object))).await?;
        if matches!(each, Desired::IfMissing(_)) && live.is_some() {
            continue;
        }
        let uid = known.iter().find(|(known, _)| *known == owned).and_then(|(_, uid)| uid.clone());
        let guard = |live: &DynamicObject| may_change(stage.application, uid.as_deref(), &object, live);
        // The application may have gone meanwhile with all that its record named: no controller would delete an object
        // made now.
        if !is_recorded(reconciler, stage, &owned)? {
            return Err(Unready::Behind);
        }
        let applied = stage.acting.applier().apply(&object, live, false, Conflicts::Force, &guard).await;
        let applied = applied.map_err(|error| match &error {
            runtime_apply::Error::Client { source, .. } if is_behind(source) => Unready::Behind,
            error => Unready::Wrong(stage.acting.explain_apply(error)),
        })?;
        if applied.outcome != runtime_apply::Outcome::Unchanged {
            look.observe(&applied.object);
        }
        made.push((owned, applied.object.metadata.uid.clone()));
    }
    note(reconciler, stage, made).await
}

/// Write down what is about to be made; answers with the uids that are known.
async fn record(
    reconciler: &RolloutReconciler,
    stage: &Stage<'_>,
    wanted: impl Iterator<Item = (&str, Owned)>,
) -> Result<Vec<(Owned, Option<String>)>, Unready> {
    let application = &stage.application.key;
    let (mut record, stored) =
        reconciler.records.read(application).map_err(|error| Unready::Wrong(error.to_string()))?;
    // An application that only records has no record yet.
    record.generation = record.generation.or(stage.application.object.metadata.generation);
    let mut known = Vec::new();
    for (component, owned) in wanted {
        let entry = record
            .entries
            .entry(owned.clone())
            .or_insert_with(|| Entry { component: Some(component.to_owned()), ..Entry::default() });
        entry.unwanted = false;
        known.push((owned, entry.uid.clone()));
    }
    let written = reconciler.records.write(application, &record, stored).await;
    written.map_err(|error| unwritten(&error))?;
    Ok(known)
}

fn is_behind(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 409)
}

fn unwritten(error: &kube::Error) -> Unready {
    if is_behind(error) {
        return Unready::Behind;
    }
    Unready::Wrong(format!("cannot write the record of owned objects: {}", runtime_apply::explain(error)))
}

/// Does the record name this object (still)?
fn is_recorded(reconciler: &RolloutReconciler, stage: &Stage<'_>, owned: &Owned) -> Result<bool, Unready> {
    let record = reconciler.records.read(&stage.application.key);
    let (record, _) = record.map_err(|error| Unready::Wrong(error.to_string()))?;
    Ok(record.entries.get(owned).is_some_and(|entry| !entry.unwanted))
}

/// Write down which objects they are.
async fn note(
    reconciler: &RolloutReconciler,
    stage: &Stage<'_>,
    made: Vec<(Owned, Option<String>)>,
) -> Result<(), Unready> {
    let application = &stage.application.key;
    let (mut record, stored) =
        reconciler.records.read(application).map_err(|error| Unready::Wrong(error.to_string()))?;
    for (owned, uid) in made {
        if let Some(entry) = record.entries.get_mut(&owned) {
            entry.uid = uid;
        }
    }
    let written = reconciler.records.write(application, &record, stored).await;
    written.map_err(|error| unwritten(&error))?;
    Ok(())
}
