//! Data flow into objects: the reconciler reads the sources of values, and a change of a source wakes the objects that
//! wait for it.
//!
//! `engine` decides which value flows where. Here a source, a store or a target is *watched* from the first look on, by
//! metadata only, regardless of its kind and owner; its content is the copy that the applier keeps, or is read once for
//! each version of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kube::api::DynamicObject;
use vela_engine::application_configuration::data::{self as flow, Objects, StorePlan};
use vela_engine::application_configuration::render::Rendered;
use vela_engine::application_configuration::status::message;
use vela_engine::{ObjectKey, Secrets};
use vela_runtime::cache::version_of;
use vela_runtime::dynamic_watch::{Error as LookError, TrackedReads};
use vela_runtime::{Failure, Key, Kind};

use super::data_watches::Memory;
use super::error::{Error, Failed, PhaseError};
use super::reconciler::ApplicationConfigurationReconciler;
use crate::application::fetch::json as to_json;
use crate::author::Actor;

/// Writes the values that are there into the rendered objects and marks those that must wait. The plans say what
/// [`super::stores::write`] puts into stores once everything is applied.
pub(super) async fn fill(
    reconciler: &ApplicationConfigurationReconciler,
    configuration: &Key,
    acting: &Actor,
    rendered: &mut Rendered,
    secrets: &mut Secrets,
) -> Result<Vec<StorePlan>, Error> {
    let wanted = flow::wanted(rendered);
    if wanted.is_empty() {
        reconciler.flows.forget(configuration);
        return Ok(Vec::new());
    }
    let own: BTreeSet<ObjectKey> =
        rendered.components().iter().flat_map(|component| component.objects()).map(|o| o.key()).collect();
    let before = reconciler.flows.memories().get(configuration).cloned().unwrap_or_default();
    // A value that the reader showed to another author is not shown to this one.
    let before = if before.author.as_deref() == acting.user() { before } else { Memory::default() };
    let author = acting.user().map(str::to_owned);
    let mut memory = Memory { author, read: BTreeMap::new(), written: before.written };
    let mut objects = Objects::new();
    let look = reconciler.flows.interests.track(configuration);
    for key in wanted {
        let known = before.read.get(&key).cloned();
        let found = read(reconciler, &look, acting, &key, own.contains(&key), known).await;
        let object = match found {
            Ok(object) => object,
            // No object of that kind can exist; its CRD wakes us.
            Err(LookError::Missing { again, .. }) => {
                again.into_iter().for_each(|again| reconciler.flows.wake_after(configuration, again));
                None
            }
            Err(LookError::Client { object, source }) => {
                return Err(refused(acting, "read", &object, source));
            }
            Err(error) => return Err(Error::Unavailable(Failure::retry(error))),
        };
        if let Some(object) = object {
            let content = to_json(&object);
            secrets.add(&content);
            objects.insert(key.clone(), content);
            memory.read.insert(key, object);
        }
    }
    memory.written.retain(|store, _| memory.read.contains_key(store));
    reconciler.flows.memories().insert(configuration.clone(), memory);
    flow::fill(rendered, &objects)
        .map_err(|found| PhaseError::Render(Failed::passing(message(&found))).into())
}

/// The object as it is: a watch says which version that is, and only a version that no copy has is asked for.
async fn read(
    reconciler: &ApplicationConfigurationReconciler,
    look: &TrackedReads,
    acting: &Actor,
    key: &ObjectKey,
    own: bool,
    known: Option<Arc<DynamicObject>>,
) -> Result<Option<Arc<DynamicObject>>, LookError> {
    let name = Key::new(key.namespace.clone(), key.name.clone());
    let (kind, seen) = look.metadata(&key.api_version, &key.kind, &name).await?;
    let Some(seen) = seen else { return Ok(None) };
    // A copy that was made for everybody is nothing that an author was shown.
    let copied = own && acting.user().is_none();
    let applied = if copied { applied(reconciler, &kind, &name).await } else { None };
    let fresh = |object: &Arc<DynamicObject>| {
        version_of(object) >= version_of(&seen) && object.metadata.uid == seen.metadata.uid
    };
    if let Some(object) = applied.filter(fresh).or_else(|| known.filter(fresh)) {
        return Ok(Some(object));
    }
    let api = kind.api(acting.client(), &key.namespace);
    let found = api.get_opt(&key.name).await;
    Ok(found.map_err(|source| LookError::Client { object: key.to_string(), source })?.map(Arc::new))
}

/// The copy of an object that the configuration applies.
pub(super) async fn applied(
    reconciler: &ApplicationConfigurationReconciler,
    kind: &Kind,
    key: &Key,
) -> Option<Arc<DynamicObject>> {
    let namespace = if kind.namespaced { key.namespace.clone() } else { String::new() };
    reconciler.owned.informer(kind).await.ok()?.get(&Key::new(namespace, key.name.clone()))
}

/// A missing right of the author is reported; any other error is retried.
pub(super) fn refused(acting: &Actor, verb: &str, object: &str, error: kube::Error) -> Error {
    match &error {
        kube::Error::Api(status) if status.code == 403 => {
            let message = format!("cannot {verb} {object}: {}", acting.explain(&error));
            PhaseError::Apply(Failed::passing(message)).into()
        }
        _ => Error::Unavailable(Failure::from(error)),
    }
}
