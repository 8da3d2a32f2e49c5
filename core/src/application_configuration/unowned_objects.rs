//! Objects that no owner reference reaches, of kinds without namespaces or in another namespace → found again by the mark
//! they carry, and deleted with their configuration.

use std::collections::BTreeSet;

use kube::api::{DynamicObject, ListParams};
use serde_json::Value;
use vela_crds::{annotations, finalizers};
use vela_engine::application_configuration::Graph;
use vela_engine::application_configuration::garbage::{Garbage, is_marked, mark};
use vela_engine::application_configuration::render::RenderedObject;
use vela_runtime::Api;
use vela_runtime::apply::{self as runtime_apply, explain};
use vela_runtime::confirm::Seen;
use vela_runtime::controller::controller_owner;
use vela_runtime::owner::controlled_by;
use vela_runtime::{Action, Failure, Key, Kind, discovery};

use super::error::Error;
use super::reconciler::ApplicationConfigurationReconciler;
use crate::application::fetch::json;
use crate::author::Actor;
use crate::prune::{self, Decision, Pruned};

/// The configuration that an object belongs to, for its watch to wake.
pub(super) fn owner_of(object: &DynamicObject) -> Option<Key> {
    let controller = controller_owner(object, vela_crds::GROUP, "ApplicationConfiguration");
    let marked = || {
        // This check runs for each change of each object, and few have the mark.
        let is_annotated = object.metadata.annotations.as_ref()?.contains_key(annotations::CONFIGURATION);
        let object = is_annotated.then(|| json(object))?;
        mark(&object).map(|(namespace, name, _)| Key::new(namespace, name))
    };
    controller.or_else(marked)
}

/// Whether the configuration has, or had, objects elsewhere.
pub(super) fn holds(configuration: &DynamicObject) -> bool {
    configuration.metadata.finalizers.iter().flatten().any(|held| held == finalizers::ELSEWHERE)
}

/// Puts the finalizer on before the first object elsewhere is made: no other controller would delete it.
pub(super) async fn hold(
    reconciler: &ApplicationConfigurationReconciler,
    configuration: &DynamicObject,
    graph: &Graph,
) -> Result<(), Error> {
    if graph.elsewhere().next().is_none() || holds(configuration) {
        return Ok(());
    }
    let mut held = configuration.metadata.finalizers.clone().unwrap_or_default();
    held.push(finalizers::ELSEWHERE.to_owned());
    match reconciler.set_finalizers(configuration, &held).await? {
        // The write wakes us again.
        Action::Done => Err(Error::Pending),
        Action::RequeueAfter(_) => Err(Failure::retry("the copy of the configuration is behind").into()),
    }
}

/// The objects elsewhere that the status records, and that are not wanted there.
pub(super) async fn garbage(
    reconciler: &ApplicationConfigurationReconciler,
    configuration: &DynamicObject,
    graph: &Graph,
) -> Result<Vec<Garbage>, runtime_apply::Error> {
    let mut found = Vec::new();
    if !holds(configuration) {
        return Ok(found);
    }
    let uid = configuration.metadata.uid.clone().unwrap_or_default();
    for (api_version, kind) in recorded(configuration).into_iter().map(|(version, kind, _)| (version, kind)) {
        let object = format!("{kind} of {api_version}");
        let kind = match reconciler.context.discovery.resolve(&api_version, &kind).await {
            Ok(kind) => kind,
            Err(discovery::Error::Unknown { .. }) => continue,
            Err(source) => return Err(runtime_apply::Error::Kind { object, source }),
        };
        let Ok(ours) = reconciler.owned.owned_by(&kind, &Key::of(configuration)).await else { continue };
        let ours = ours.iter().map(|object| json(object)).filter(|object| is_marked(object, &uid));
        for live in ours.filter_map(|live| graph.left_elsewhere(&live)) {
            if !found.contains(&live) {
                found.push(live);
            }
        }
    }
    found.extend(moved(reconciler, graph, &uid).await);
    found.sort();
    found.dedup();
    Ok(found)
}

/// The objects that the configuration controls in its own namespace under the name and the kind of an object that is
/// wanted elsewhere now.
async fn moved(reconciler: &ApplicationConfigurationReconciler, graph: &Graph, uid: &str) -> Vec<Garbage> {
    let mut found = Vec::new();
    for key in graph.elsewhere().map(RenderedObject::key).filter(|key| !key.namespace.is_empty()) {
        // A kind that cannot be asked for now was not applied by this reconcile, so nothing is collected.
        let Ok(kind) = reconciler.context.discovery.resolve(&key.api_version, &key.kind).await else {
            continue;
        };
        let Ok(informer) = reconciler.owned.informer(&kind).await else { continue };
        let live = informer.get(&Key::new(graph.rendered().namespace(), key.name));
        let live = live.filter(|live| controlled_by(live, uid).is_ok());
        found.extend(live.and_then(|live| graph.left_elsewhere(&json(&live))));
    }
    found
}

/// Kind and name of everything the status records.
fn recorded(configuration: &DynamicObject) -> BTreeSet<(String, String, String)> {
    let status = &configuration.data["status"];
    let list = |value: &Value, field: &str| value[field].as_array().cloned().unwrap_or_default();
    let mut references = Vec::new();
    for entry in list(status, "workloads") {
        references.push(entry["workloadRef"].clone());
        references.extend(list(&entry, "traits").iter().map(|entry| entry["traitRef"].clone()));
    }
    references.extend(list(status, "historyWorkloads").iter().map(|entry| entry["workloadRef"].clone()));
    let part = |reference: &Value, field: &str| reference[field].as_str().unwrap_or_default().to_owned();
    let parts = references
        .iter()
        .map(|reference| (part(reference, "apiVersion"), part(reference, "kind"), part(reference, "name")));
    parts.filter(|(_, kind, name)| !kind.is_empty() && !name.is_empty()).collect()
}

/// Delete everything elsewhere that carries the mark of a configuration which is being deleted; true when all of it is
/// gone. An object that is still going away wakes the configuration again.
pub(super) async fn delete_all(
    reconciler: &ApplicationConfigurationReconciler,
    acting: &Actor,
    configuration: &DynamicObject,
) -> Result<bool, Failure> {
    let uid = configuration.metadata.uid.clone().unwrap_or_default();
    let resource = &reconciler.configurations.watch().resource;
    let seen = vec![Seen { resource, object: configuration }];
    let decision = Decision { context: &reconciler.context, acting, seen };
    let mut all_gone = true;
    for (api_version, kind, name) in recorded(configuration) {
        let resolved = match reconciler.context.discovery.resolve(&api_version, &kind).await {
            Ok(kind) => kind,
            Err(discovery::Error::Unknown { .. }) => continue,
            Err(error) => return Err(Failure::retry(error)),
        };
        // From now on its end wakes us.
        let informer = reconciler.owned.informer(&resolved).await.map_err(Failure::retry)?;
        for object in named(reconciler, &resolved, &name).await? {
            if !is_marked(&json(&object), &uid) {
                continue;
            }
            let key = Key::of(&object);
            let guard = |live: &DynamicObject| match is_marked(&json(live), &uid) {
                true => Ok(()),
                false => Err("it is not this configuration's any more".to_owned()),
            };
            let identity = (api_version.as_str(), kind.as_str(), &key);
            match prune::delete_with_owner(&decision, identity, &guard)
                .await
                .map_err(|error| Failure::retry(acting.explain_apply(&error)))?
            {
                Pruned::Gone => informer.forget(&key),
                Pruned::Foreign(_) => {}
                Pruned::Going => all_gone = false,
                Pruned::Changed => return Err(Failure::retry(format!("{kind} {key} changed meanwhile"))),
            }
        }
    }
    Ok(all_gone)
}

/// The objects of that name in all namespaces, past every cache.
async fn named(
    reconciler: &ApplicationConfigurationReconciler,
    kind: &Kind,
    name: &str,
) -> Result<Vec<DynamicObject>, Failure> {
    let api: Api<DynamicObject> = Api::all_with(reconciler.context.client.clone(), &kind.resource);
    let params = ListParams::default().fields(&format!("metadata.name={name}"));
    let found = api.list(&params).await.map_err(|error| Failure::retry(explain(&error)))?;
    Ok(found.items)
}
