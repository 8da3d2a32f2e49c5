//! A configuration that cannot be rendered → what runs of it, kept as the ApplicationRevision of what was applied last says.
//!
//! A configuration that people write has no revisions of its own in KubeVela. Here each content that was applied completely is
//! recorded like an Application's, with its components and the definitions it was rendered by: when one of those breaks, what
//! was changed or deleted by hand comes back, nothing is deleted, and the condition says what is wrong.

use std::sync::Arc;

use kube::api::{ApiResource, DynamicObject};
use serde_json::Value;
use vela_crds::{ApplicationRevision, labels};
use vela_engine::application_configuration::render::{Rendered, RenderedObject};
use vela_engine::application_configuration::{ApplyOnce, graph, kept, references, render, status};
use vela_engine::{Definition, Document, Secrets, Snapshot};
use vela_runtime::{Failure, Key};

use super::apply::{self, Order};
use super::lap::Look;
use super::phase::{Phase, Stopped, Wrong};
use super::{Hands, data, fetch};
use crate::application::kept as recorded;
use crate::application::reader::{Reader, Trouble};
use crate::application::revisions::{Revisions, Writing, belongs};
use crate::author::{self, Acting};
use crate::context::Context;

/// Records that are remembered.
const REMEMBERED_AT_MOST: usize = 1000;
/// What the name of a record has after the configuration's: an Application of the same name has revisions, too.
const SUFFIX: &str = ".configuration";

/// The records of configurations.
#[derive(Clone)]
pub(super) struct Books {
    revisions: Revisions,
    read: Reader<Option<Arc<Record>>>,
}

/// What a configuration was rendered from when it was applied last.
pub(super) struct Record {
    spec: Value,
    definitions: Vec<(String, Arc<Definition>)>,
}

impl Books {
    pub(super) fn new(context: &Context) -> Self {
        let resource = ApiResource::erase::<ApplicationRevision>(&());
        Self { revisions: Revisions::new(context), read: Reader::new(context, resource, REMEMBERED_AT_MOST) }
    }

    /// The newest record of this very configuration, metadata only.
    fn newest(&self, key: &Key, configuration: &DynamicObject) -> Option<(u64, Arc<DynamicObject>)> {
        self.revisions.newest(&of(key)).filter(|(_, record)| belongs(record, configuration))
    }
}

impl Record {
    /// Tell the snapshot what was there then. `then` is the configuration as it asked then.
    pub(super) fn tell(&self, then: &Document, snapshot: &mut Snapshot) {
        for (_, definition) in &self.definitions {
            snapshot.insert_definition(definition.clone());
        }
        kept::tell(then, &self.spec, snapshot);
    }
}

/// The name that the records of a configuration begin with.
fn of(key: &Key) -> Key {
    Key::new(key.namespace.clone(), format!("{}{SUFFIX}", key.name))
}

/// Record what was applied completely. A failure costs only the care for what runs while something is wrong, so the lap
/// goes on; it is to be tried again all the same, for nothing else may wake us.
pub(super) async fn record(
    hands: &Hands,
    key: &Key,
    configuration: &DynamicObject,
    spec: Value,
) -> Result<(), Failure> {
    let hash = kept::hash(&spec);
    if let Some((_, newest)) = hands.books.newest(key, configuration)
        && newest.metadata.labels.as_ref().and_then(|all| all.get(labels::APP_REVISION_HASH)) == Some(&hash)
    {
        return Ok(());
    }
    let records = of(key);
    let number = hands.books.revisions.newest(&records).map_or(1, |(number, _)| number.saturating_add(1));
    let name = format!("{}-v{number}", records.name);
    let writing = Writing { owner: configuration, of: &records, name: &name, hash: &hash, spec };
    hands.books.revisions.write(writing).await.map_err(Failure::retry)?;
    hands.books.revisions.limit(&records, &[&name]).await;
    Ok(())
}

/// Keep what runs of a configuration that cannot be rendered; tells the same failure, and what was done.
pub(super) async fn keep(
    hands: &Hands,
    look: &Look<'_>,
    acting: &Acting,
    mode: ApplyOnce,
    wrong: Wrong,
    secrets: &mut Secrets,
) -> Wrong {
    let (name, record) = match read(hands, look).await {
        Ok(Some(found)) => found,
        Ok(None) => return wrong,
        Err(trouble) => return wrong.and(&format!("what runs is not looked after: {trouble}")),
    };
    let Some(rendered) = rendered(hands, look, acting, &record, secrets).await else { return wrong };
    rendered.components().iter().flat_map(|component| component.objects()).for_each(|rendered| {
        secrets.add(&rendered.object);
    });
    let templating = rendered.templates();
    let Ok(graph) = graph::graph(rendered) else { return wrong };
    let uid = look.configuration.metadata.uid.clone().unwrap_or_default();
    let status = look.configuration.data.get("status");
    let order = Order { acting, graph: &graph, uid: &uid, mode, status, remaking: None, look };
    let kept = apply::apply(hands, &order).await;
    let wrong = wrong.and(&format!("what runs is kept as revision {name} has it")).templating(templating);
    match kept {
        Ok(_) => wrong,
        Err(failed) => wrong.and(&failed.message),
    }
}

/// Tell where a definition is gone by which the configuration was applied, and without which it would mean something else.
pub(super) async fn confirm(hands: &Hands, look: &Look<'_>, snapshot: &Snapshot) -> Result<(), Stopped> {
    let asked = references(look.document, snapshot).definitions;
    if !asked.iter().any(|(kind, name)| snapshot.definition(*kind, name).is_none()) {
        return Ok(());
    }
    let record = read(hands, look).await.map_err(|trouble| Stopped::Trouble(Failure::retry(trouble)))?;
    let gone = record.and_then(|(_, record)| kept::gone(look.document, snapshot, &record.spec));
    gone.map_or(Ok(()), |gone| {
        Err(Wrong::new(Phase::Render, status::message(&gone.into())).refused(true).into())
    })
}

/// What was recorded last; nothing where the controllers did not do it themselves.
async fn read(hands: &Hands, look: &Look<'_>) -> Result<Option<(String, Arc<Record>)>, Trouble> {
    let Some((_, newest)) = hands.books.newest(look.key, look.configuration) else { return Ok(None) };
    let (stored, namespace) = (Key::of(&newest), &look.key.namespace);
    let read = |found: DynamicObject| async move {
        let own = author::is_own_record(&hands.context, &found).await;
        if !own.map_err(|error| vela_runtime::apply::explain(&error))? {
            return Ok::<_, Trouble>(None);
        }
        let definitions = recorded::definitions(&hands.world, &found, namespace).await?;
        Ok(Some(Arc::new(Record { spec: found.data["spec"].clone(), definitions })))
    };
    let record = hands.books.read.get(&stored, Some(&newest), "", read).await?.flatten();
    Ok(record.map(|record| (stored.name, record)))
}

/// What the record still renders of what runs; what the configuration's status does not know is left alone.
async fn rendered(
    hands: &Hands,
    look: &Look<'_>,
    acting: &Acting,
    record: &Record,
    secrets: &mut Secrets,
) -> Option<Rendered> {
    let then = kept::asked_then(look.document, &record.spec)?;
    let snapshot = fetch::fetch(hands, look.key, &then, Some(record)).await.ok()?;
    let parsed = kept::resolvable(&then, &snapshot)?;
    let mut rendered = render::render(&parsed, &snapshot).ok()?;
    data::fill(hands, look.key, acting, &mut rendered, secrets).await.ok()?;
    let status = &look.configuration.data["status"];
    for component in rendered.components_mut() {
        for object in component.objects_mut() {
            object.left |= !is_made(status, object);
        }
    }
    Some(rendered)
}

/// Does the status know the object as one that was made?
fn is_made(status: &Value, object: &RenderedObject) -> bool {
    let wanted = object.reference();
    let same = |reference: &Value| {
        ["apiVersion", "kind", "name"].iter().all(|field| reference[*field] == wanted[*field])
    };
    let entries = status["workloads"].as_array().into_iter().flatten();
    let mut references = entries.flat_map(|entry| {
        let traits = entry["traits"].as_array().into_iter().flatten();
        traits.map(|entry| &entry["traitRef"]).chain([&entry["workloadRef"]])
    });
    references.any(same)
}
