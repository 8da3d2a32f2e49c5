//! Data flow: reads the objects that values come from and wakes whoever waits for them; writes the stores between.
//!
//! What flows where is decided in `engine`. Here a source, a store or a target is *watched* from the first look on, by
//! metadata only, whatever its kind and whoever made it; its content is the copy that the applier keeps, or is read
//! once for each version of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use vela_crds::annotations::LAST_APPLIED_CONFIGURATION;
use vela_engine::application_configuration::data::{self as flow, StorePlan, World};
use vela_engine::application_configuration::render::{Rendered, annotate_last_applied};
use vela_engine::application_configuration::status::message;
use vela_engine::{Code, Diagnostic, Diagnostics, ObjectKey, Secrets};
use vela_runtime::Api;
use vela_runtime::cache::version_of;
use vela_runtime::interest::{Error, Interests, Look};
use vela_runtime::queue::Queue;
use vela_runtime::{Failure, Key, Kind};

use super::Hands;
use super::apply::Order;
use super::phase::{Phase, Stopped, Wrong};
use crate::application::fetch::json as to_json;
use crate::author::Acting;
use crate::context::{Context, FIELD_MANAGER};
use crate::status::difference;

/// What configurations wait for, and the contents they read for it.
#[derive(Clone)]
pub(super) struct Flows {
    interests: Interests,
    queue: Arc<Mutex<Option<Arc<Queue<Key>>>>>,
    memories: Arc<Mutex<BTreeMap<Key, Memory>>>,
}

/// What one configuration's last lap read and wrote; the next lap's takes its place.
#[derive(Default, Clone)]
struct Memory {
    /// On whose behalf it was read.
    author: Option<String>,
    read: BTreeMap<ObjectKey, Arc<DynamicObject>>,
    /// What was written into a store, and the version that made: the server may keep it in another spelling.
    written: BTreeMap<ObjectKey, (Value, Option<String>)>,
}

impl Flows {
    pub(super) fn new(context: &Context) -> Self {
        let interests = Interests::new(context.client.clone(), &context.cache, &context.discovery, &[]);
        Self { interests: interests.metadata_only(), queue: Arc::default(), memories: Arc::default() }
    }

    /// Wake configurations through this queue.
    pub(super) fn wake(&self, queue: Arc<Queue<Key>>) {
        self.interests.wake(queue.clone());
        *self.queue.lock().unwrap_or_else(PoisonError::into_inner) = Some(queue);
    }

    /// Nobody waits on behalf of this configuration any more.
    pub(super) fn forget(&self, configuration: &Key) {
        self.interests.forget(configuration);
        self.memories().remove(configuration);
    }

    fn memories(&self) -> MutexGuard<'_, BTreeMap<Key, Memory>> {
        self.memories.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes the values that are there into the rendered objects and marks those that must wait. The plans say what
/// [`keep`] puts into stores once everything is applied.
pub(super) async fn fill(
    hands: &Hands,
    configuration: &Key,
    acting: &Acting,
    rendered: &mut Rendered,
    secrets: &mut Secrets,
) -> Result<Vec<StorePlan>, Stopped> {
    let wanted = flow::wanted(rendered);
    if wanted.is_empty() {
        hands.data.forget(configuration);
        return Ok(Vec::new());
    }
    let own: BTreeSet<ObjectKey> =
        rendered.components().iter().flat_map(|component| component.objects()).map(|o| o.key()).collect();
    let before = hands.data.memories().get(configuration).cloned().unwrap_or_default();
    // What another author was shown is not shown to this one.
    let before = if before.author.as_deref() == acting.user() { before } else { Memory::default() };
    let author = acting.user().map(str::to_owned);
    let mut memory = Memory { author, read: BTreeMap::new(), written: before.written };
    let mut world = World::new();
    let look = hands.data.interests.look(configuration);
    for key in wanted {
        let known = before.read.get(&key).cloned();
        let found = read(hands, &look, acting, &key, own.contains(&key), known).await;
        let object = match found {
            Ok(object) => object,
            // Nothing of that kind can exist; its CRD wakes us.
            Err(Error::Missing { again, .. }) => {
                let queue = hands.data.queue.lock().unwrap_or_else(PoisonError::into_inner).clone();
                if let (Some(again), Some(queue)) = (again, queue) {
                    queue.add_after(configuration.clone(), again);
                }
                None
            }
            Err(Error::Client { object, source }) => return Err(refused(acting, "read", &object, source)),
            Err(error) => return Err(Stopped::Trouble(Failure::retry(error))),
        };
        if let Some(object) = object {
            let content = to_json(&object);
            secrets.add(&content);
            world.insert(key.clone(), content);
            memory.read.insert(key, object);
        }
    }
    memory.written.retain(|store, _| memory.read.contains_key(store));
    hands.data.memories().insert(configuration.clone(), memory);
    flow::fill(rendered, &world).map_err(|found| Wrong::new(Phase::Render, message(&found)).into())
}

/// The object as it is: a watch says which version that is, and only a version that no copy has is asked for.
async fn read(
    hands: &Hands,
    look: &Look,
    acting: &Acting,
    key: &ObjectKey,
    own: bool,
    known: Option<Arc<DynamicObject>>,
) -> Result<Option<Arc<DynamicObject>>, Error> {
    let name = Key::new(key.namespace.clone(), key.name.clone());
    let (kind, seen) = look.metadata(&key.api_version, &key.kind, &name).await?;
    let Some(seen) = seen else { return Ok(None) };
    // A copy that was made for everybody is nothing that an author was shown.
    let copied = own && acting.user().is_none();
    let applied = if copied { applied(hands, &kind, &name).await } else { None };
    let fresh = |object: &Arc<DynamicObject>| {
        version_of(object) >= version_of(&seen) && object.metadata.uid == seen.metadata.uid
    };
    if let Some(object) = applied.filter(fresh).or_else(|| known.filter(fresh)) {
        return Ok(Some(object));
    }
    let api = kind.api(acting.client(), &key.namespace);
    let found = api.get_opt(&key.name).await;
    Ok(found.map_err(|source| Error::Client { object: key.to_string(), source })?.map(Arc::new))
}

/// The copy of an object that the configuration applies.
async fn applied(hands: &Hands, kind: &Kind, key: &Key) -> Option<Arc<DynamicObject>> {
    let namespace = if kind.namespaced { key.namespace.clone() } else { String::new() };
    hands.owned.informer(kind).await.ok()?.get(&Key::new(namespace, key.name.clone()))
}

/// Puts what the applied objects give into their stores; says how many were written.
pub(super) async fn keep(
    hands: &Hands,
    configuration: &Key,
    order: &Order<'_>,
    plans: &[StorePlan],
) -> Result<usize, Stopped> {
    let mut written = 0;
    for plan in plans {
        let mut sources = World::new();
        for source in plan.sources() {
            let kind = hands.context.discovery.resolve(&source.api_version, &source.kind).await;
            let key = Key::new(source.namespace.clone(), source.name.clone());
            if let Some(object) = applied(hands, &kind.map_err(retry)?, &key).await {
                sources.insert(source.clone(), to_json(&object));
            }
        }
        written += usize::from(keep_one(hands, configuration, order, plan, &sources).await?);
    }
    Ok(written)
}

async fn keep_one(
    hands: &Hands,
    configuration: &Key,
    order: &Order<'_>,
    plan: &StorePlan,
    sources: &World,
) -> Result<bool, Stopped> {
    let (store, document) = (plan.key(), order.graph.rendered().document());
    let wrong = |found: Diagnostics| {
        let templating = order.graph.rendered().templates();
        Stopped::from(Wrong::new(Phase::Apply, message(&found)).templating(templating))
    };
    let (live, last) = {
        let memories = hands.data.memories();
        let memory = memories.get(configuration);
        let live = memory.and_then(|memory| memory.read.get(store)).cloned();
        (live, memory.and_then(|memory| memory.written.get(store)).cloned())
    };
    let base = live.as_ref().map(|live| without_base(to_json(live)));
    let content = plan.content(document, base.as_ref(), |source| sources.get(source));
    let Some(content) = content.map_err(|error| wrong(error.into()))? else { return Ok(false) };
    let version = |live: &DynamicObject| live.metadata.resource_version.clone();
    if let (Some(live), Some((wanted, made))) = (&live, &last)
        && *wanted == content
        && *made == version(live)
    {
        return Ok(false);
    }
    let kind = hands.context.discovery.resolve(&store.api_version, &store.kind).await;
    let api = kind.map_err(retry)?.api(order.acting.client(), &store.namespace);
    let stored = match &live {
        None => create(&api, &content).await,
        Some(live) => {
            may_write(live, store, order.uid)
                .map_err(|message| wrong(Diagnostic::error(Code::Collision, message).into()))?;
            update(&api, live, &content).await
        }
    };
    let stored = stored.map_err(|failure| match failure {
        Unkept::Asked(error) => refused(order.acting, "write", &store.to_string(), error),
        Unkept::Malformed(failure) => Stopped::Trouble(failure),
    })?;
    let mut memories = hands.data.memories();
    let memory = memories.entry(configuration.clone()).or_default();
    memory.written.insert(store.clone(), (content, version(&stored)));
    memory.read.insert(store.clone(), Arc::new(stored));
    Ok(true)
}

fn retry(error: vela_runtime::discovery::Error) -> Stopped {
    Stopped::Trouble(Failure::retry(error))
}

/// What the author may not do is told; anything else is tried again.
fn refused(acting: &Acting, verb: &str, object: &str, error: kube::Error) -> Stopped {
    match &error {
        kube::Error::Api(status) if status.code == 403 => {
            Wrong::new(Phase::Apply, format!("cannot {verb} {object}: {}", acting.told_of(&error))).into()
        }
        _ => Stopped::Trouble(Failure::from(error)),
    }
}

/// Why a store was not written.
enum Unkept {
    Malformed(Failure),
    Asked(kube::Error),
}

impl From<kube::Error> for Unkept {
    fn from(error: kube::Error) -> Self {
        Self::Asked(error)
    }
}

async fn create(api: &Api<DynamicObject>, content: &Value) -> Result<DynamicObject, Unkept> {
    let object = serde_json::from_value(with_base(content))
        .map_err(|error| Unkept::Malformed(Failure::terminal(error)))?;
    let params = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
    Ok(api.create(&params, &object).await?)
}

/// Only what differs is sent, bound to the version that was read: others may write into a store too.
async fn update(
    api: &Api<DynamicObject>,
    live: &DynamicObject,
    content: &Value,
) -> Result<DynamicObject, Unkept> {
    let mut patch = difference(&to_json(live), &with_base(content)).unwrap_or_else(|| json!({}));
    patch["metadata"]["resourceVersion"] = json!(live.metadata.resource_version);
    patch["metadata"]["uid"] = json!(live.metadata.uid);
    let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
    let name = live.metadata.name.clone().unwrap_or_default();
    Ok(api.patch(&name, &params, &Patch::Merge(&patch)).await?)
}

/// A store that nobody controls may be anybody's to write into, as this era's stores always were.
fn may_write(live: &DynamicObject, store: &ObjectKey, uid: &str) -> Result<(), String> {
    match vela_runtime::owner::controller_of(live) {
        Some(owner) if owner.uid != uid => Err(format!(
            "the store {store} is controlled by {} {}; give this configuration a store of its own",
            owner.kind, owner.name
        )),
        _ => Ok(()),
    }
}

/// The object without the base of three-way merges: it is bookkeeping, not content.
fn without_base(mut object: Value) -> Value {
    if let Some(all) = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        all.remove(LAST_APPLIED_CONFIGURATION);
    }
    object
}

/// The object with that base, which tells what was written and not what the server keeps about it.
fn with_base(content: &Value) -> Value {
    let mut base = content.clone();
    if let Some(metadata) = base["metadata"].as_object_mut() {
        for field in
            ["uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink"]
        {
            metadata.remove(field);
        }
    }
    if let Some(object) = base.as_object_mut() {
        object.remove("status");
    }
    annotate_last_applied(&mut base);
    let mut object = content.clone();
    object["metadata"]["annotations"] = base["metadata"]["annotations"].clone();
    object
}
