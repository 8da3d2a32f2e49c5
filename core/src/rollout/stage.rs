//! The target of a rollout → its objects in the cluster: the workload waiting for its turn, and what stands beside it.
//!
//! Everything is written into the record of the application before it is made, so that it goes with the application.

use std::sync::Arc;

use kube::api::DynamicObject;
use serde_json::Value;
use vela_engine::rollout::template::{self, Template};
use vela_engine::rollout::workload;
use vela_engine::{Graph, ObjectKey};
use vela_runtime::Key;
use vela_runtime::apply::{self as runtime_apply, Conflicts};
use vela_runtime::interest::Look;
use vela_runtime::owner::controller_of;

use super::Hands;
use crate::application::fetch::json;
use crate::application::owned::{Application, may_change};
use crate::application::record::{Entry, Owned};
use crate::author::Acting;

/// What is to be made of one revision.
pub(super) struct Stage<'a> {
    /// The uid of the rollout.
    pub(super) rollout: &'a str,
    pub(super) application: &'a Application<'a>,
    pub(super) acting: &'a Acting,
    pub(super) graph: &'a Graph,
    pub(super) component: &'a str,
    pub(super) template: &'a Template,
}

/// Why not everything is there.
pub(super) enum Unready {
    /// A copy was behind: look again in a moment, and tell nobody.
    Behind,
    /// Something is wrong, in words.
    Wrong(String),
}

impl From<String> for Unready {
    fn from(why: String) -> Self {
        Self::Wrong(why)
    }
}

/// What is written, and under which condition.
enum Wish {
    /// It is as the revision says.
    Whole(Value),
    /// The same, unless it is there: until the rollout has succeeded, what is there belongs to the source.
    IfMissing(Value),
}

impl Wish {
    fn object(&self) -> &Value {
        match self {
            Self::Whole(object) | Self::IfMissing(object) => object,
        }
    }
}

/// Before the rollout: the target's workload waits, the other components are as the revision says, and of what stands
/// beside the workload only what is missing is made.
pub(super) async fn prepare(hands: &Hands, look: &Look, stage: &Stage<'_>) -> Result<(), Unready> {
    let live = read(look, &stage.template.key()).await?;
    if let Some(holder) =
        live.as_ref().and_then(|live| controller_of(live)).filter(|holder| holder.uid != stage.rollout)
    {
        return Err(Unready::Wrong(format!(
            "{} is held by {} {}: wait until that is over, or delete it",
            stage.template.key(),
            holder.kind,
            holder.name
        )));
    }
    let mut waiting = stage.template.workload.clone();
    workload::hold(&mut waiting, live.map(|live| json(&live)).as_ref())?;
    let mut wishes = vec![Wish::Whole(waiting)];
    wishes.extend(template::others(stage.graph, stage.component).cloned().map(Wish::Whole));
    wishes.extend(stage.template.traits.iter().cloned().map(Wish::IfMissing));
    write(hands, look, stage, wishes).await
}

/// After the rollout: what stands beside the workload belongs to the target now.
pub(super) async fn finish(hands: &Hands, look: &Look, stage: &Stage<'_>) -> Result<(), Unready> {
    let wishes = stage.template.traits.iter().cloned().map(Wish::Whole).collect();
    write(hands, look, stage, wishes).await
}

/// The live object; nothing when it is not there.
pub(super) async fn read(look: &Look, key: &ObjectKey) -> Result<Option<Arc<DynamicObject>>, String> {
    let name = Key::new(key.namespace.clone(), key.name.clone());
    look.get(&key.api_version, &key.kind, &name).await.map_err(|error| error.to_string())
}

async fn write(hands: &Hands, look: &Look, stage: &Stage<'_>, wishes: Vec<Wish>) -> Result<(), Unready> {
    let mut objects = Vec::with_capacity(wishes.len());
    for wish in wishes {
        let mut object: DynamicObject = serde_json::from_value(wish.object().clone())
            .map_err(|error| Unready::Wrong(error.to_string()))?;
        // An unknown kind is told of when its object is applied.
        if hands.context.discovery.resolve_object(&object).await.is_ok_and(|kind| !kind.namespaced) {
            object.metadata.namespace = None;
        }
        objects.push((wish, object));
    }
    let known = record(hands, stage, objects.iter().map(|(_, object)| Owned::of(object))).await?;
    let mut made = Vec::new();
    for (wish, object) in objects {
        let owned = Owned::of(&object);
        let live = read(look, &ObjectKey::of(&json(&object))).await?;
        if matches!(wish, Wish::IfMissing(_)) && live.is_some() {
            continue;
        }
        let uid = known.iter().find(|(known, _)| *known == owned).and_then(|(_, uid)| uid.clone());
        let guard = |live: &DynamicObject| may_change(stage.application, uid.as_deref(), &object, live);
        let applied = stage.acting.applier().apply(&object, live, false, Conflicts::Force, &guard).await;
        let applied = applied.map_err(|error| match &error {
            runtime_apply::Error::Client { source, .. } if is_behind(source) => Unready::Behind,
            error => Unready::Wrong(stage.acting.told(error)),
        })?;
        if applied.outcome != runtime_apply::Outcome::Unchanged {
            look.observe(&applied.object);
        }
        made.push((owned, applied.object.metadata.uid.clone()));
    }
    note(hands, stage, made).await
}

/// Write down what is about to be made; answers with the uids that are known.
async fn record(
    hands: &Hands,
    stage: &Stage<'_>,
    wanted: impl Iterator<Item = Owned>,
) -> Result<Vec<(Owned, Option<String>)>, Unready> {
    let application = &stage.application.key;
    let (mut record, stored) =
        hands.records.read(application).map_err(|error| Unready::Wrong(error.to_string()))?;
    // An application that only records has no record yet.
    record.generation = record.generation.or(stage.application.object.metadata.generation);
    let mut known = Vec::new();
    for owned in wanted {
        let entry = record
            .entries
            .entry(owned.clone())
            .or_insert_with(|| Entry { component: Some(stage.component.to_owned()), ..Entry::default() });
        entry.unwanted = false;
        known.push((owned, entry.uid.clone()));
    }
    let written = hands.records.write(application, &record, stored).await;
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

/// Write down which objects they are.
async fn note(hands: &Hands, stage: &Stage<'_>, made: Vec<(Owned, Option<String>)>) -> Result<(), Unready> {
    let application = &stage.application.key;
    let (mut record, stored) =
        hands.records.read(application).map_err(|error| Unready::Wrong(error.to_string()))?;
    for (owned, uid) in made {
        if let Some(entry) = record.entries.get_mut(&owned) {
            entry.uid = uid;
        }
    }
    let written = hands.records.write(application, &record, stored).await;
    written.map_err(|error| unwritten(&error))?;
    Ok(())
}
