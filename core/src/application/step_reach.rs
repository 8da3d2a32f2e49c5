//! The reach of workflow steps beyond the objects of their application: lists, configs, servers outside, and the application
//! itself. The rights are those of its author, and the bounds those of every object that it makes.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DynamicObject, LogParams, Patch, PatchParams};
use serde_json::{Value, json};
use vela_crds::ResourceTracker;
use vela_engine::definition::Language;
use vela_engine::parse::Component;
use vela_engine::{AppFile, ObjectKey, policy};
use vela_runtime::apply::{Conflicts, Deletion};
use vela_runtime::{Api, Key, Kind};

use super::fetch;
use super::inventory::{Marks, Record};
use super::resource_tracker::{self, Trackers};
use super::tracker_store::Records;
use crate::author::Actor;
use crate::context::{Context, FIELD_MANAGER};
use crate::reading::{OBJECTS_AT_MOST, Reading, Selection, Unread};
use crate::status::difference;
use crate::workflow::{MayWrite, OwnedObject};

/// The reach of the steps of one application.
pub(crate) struct StepReach<'a> {
    pub(crate) context: &'a Context,
    pub(crate) records: &'a Records,
    pub(crate) acting: &'a Actor,
    pub(crate) app: &'a AppFile,
}

impl StepReach<'_> {
    /// Objects as they are in the cluster, or why they cannot be read.
    pub(crate) async fn list(&self, selection: &Selection) -> Result<Vec<Value>, String> {
        let reading = self.reading();
        let kind = reading.kind(&selection.api_version, &selection.kind).await;
        let kind = kind.map_err(|why| self.explained(why))?;
        let namespace = self.namespace(selection, &kind)?;
        let found = reading.list(&kind, selection, &namespace).await;
        found.map_err(|why| self.explained(why))
    }

    /// An object as it is in the cluster, where the application may read it; nothing where there is none.
    pub(crate) async fn object(&self, key: &ObjectKey) -> Result<Option<Value>, String> {
        if let Some((message, hint)) = self.app.bounds().refusal_of_reading(key, self.app.namespace()) {
            return Err(format!("{message}; {hint}"));
        }
        self.reading().object(key).await.map_err(|why| self.explained(why))
    }

    /// Does the cluster know a kind?
    pub(crate) async fn is_served(&self, api_version: &str, kind: &str) -> bool {
        self.reading().is_served(api_version, kind).await
    }

    /// The ConfigMaps with a label in the namespace of the system, which are there for everybody.
    pub(crate) async fn list_shared(&self, label: &str) -> Result<Vec<Value>, String> {
        let context = self.context;
        let reading = Reading { client: context.client.clone(), discovery: &context.discovery };
        let kind = reading.kind("v1", "ConfigMap").await.map_err(|why| self.explained(why))?;
        let found = reading.labelled(&kind, label, &context.options.system_namespace).await;
        found.map_err(|why| self.explained(why))
    }

    /// The log of a container, or why it cannot be read.
    pub(crate) async fn log(&self, namespace: &str, pod: &str, params: LogParams) -> Result<String, String> {
        let (own, bounds) = (self.app.namespace(), self.app.bounds());
        let namespace = if namespace.is_empty() { own } else { namespace };
        if let Some((message, hint)) =
            bounds.refusal_of_reading(&ObjectKey::local("v1", "Pod", namespace, pod), own)
        {
            return Err(format!("{message}; {hint}"));
        }
        let log = self.reading().log(namespace, pod, params).await;
        log.map_err(|why| self.explained(why))
    }

    fn reading(&self) -> Reading<'_> {
        Reading { client: self.acting.client(), discovery: &self.context.discovery }
    }

    fn explained(&self, why: Unread) -> String {
        why.explained(|error| self.acting.explain(error))
    }

    /// Where a selection looks, where the application may read there.
    fn namespace(&self, selection: &Selection, kind: &Kind) -> Result<String, String> {
        let (own, bounds) = (self.app.namespace(), self.app.bounds());
        let namespace = match (kind.namespaced, selection.namespace.as_str()) {
            (false, _) => "",
            (true, "") if bounds.own_namespace => own,
            (true, namespace) => namespace,
        };
        let Selection { api_version, kind, .. } = selection;
        let key = ObjectKey::local(api_version, kind, namespace, "");
        match bounds.refusal_of_reading(&key, own) {
            Some((message, hint)) => Err(format!("{}; {hint}", message.trim_start())),
            None => Ok(namespace.to_owned()),
        }
    }

    /// A ConfigMap that is there for everybody: in the namespace of the system where none is named.
    pub(crate) async fn read_shared(&self, namespace: &str, name: &str) -> Result<Option<Value>, String> {
        let system = self.context.options.system_namespace.as_str();
        let (own, bounds) = (self.app.namespace(), self.app.bounds());
        let namespace = if namespace.is_empty() { system } else { namespace };
        let client = match namespace == system {
            // As definitions, which everybody may use.
            true => self.context.client.clone(),
            false => self.acting.client(),
        };
        let key = ObjectKey::local("v1", "ConfigMap", namespace, name);
        if namespace != system
            && let Some((message, hint)) = bounds.refusal_of_reading(&key, own)
        {
            return Err(format!("{message}; {hint}"));
        }
        let api: Api<ConfigMap> = Api::namespaced(client, namespace);
        let found = api.get_opt(name).await.map_err(|error| self.acting.explain(&error))?;
        found.map(|found| serde_json::to_value(found).map_err(|error| error.to_string())).transpose()
    }

    /// Writes an object without an owner, where it may be written.
    pub(crate) async fn put(&self, object: Value, may_write: MayWrite) -> Result<(), String> {
        if let Some(refusal) = self.refusal(&object).await {
            return Err(refusal);
        }
        let key = ObjectKey::of(&object);
        let object: DynamicObject =
            serde_json::from_value(object).map_err(|error| format!("{key}: {error}"))?;
        let guard = |live: &DynamicObject| may_write(&fetch::json(live));
        let applied = self.acting.applier().apply(&object, None, false, Conflicts::Force, &guard).await;
        applied.map(drop).map_err(|error| self.acting.explain_apply(&error))
    }

    /// Deletes an object without an owner, where it may be deleted.
    pub(crate) async fn remove(&self, object: &Value, may_write: MayWrite) -> Result<(), String> {
        if let Some(refusal) = self.refusal(object).await {
            return Err(refusal);
        }
        let ObjectKey { api_version, kind, namespace, name, .. } = ObjectKey::of(object);
        let guard = |live: &DynamicObject| may_write(&fetch::json(live));
        let key = Key::new(namespace, name);
        let deleted = self.acting.applier().delete(&api_version, &kind, &key, None, &guard).await;
        let _: Deletion = deleted.map_err(|error| self.acting.explain_apply(&error))?;
        Ok(())
    }

    /// Writes what differs between an object that may be written as it was read and as it is wanted; a conflict where another
    /// client wrote it meanwhile.
    pub(crate) async fn change(
        &self,
        live: &Value,
        wanted: &Value,
        may_write: &(dyn Fn(&DynamicObject) -> Result<(), String> + Send + Sync),
    ) -> Result<Value, String> {
        if let Some(refusal) = self.refusal(wanted).await {
            return Err(refusal);
        }
        let key = ObjectKey::of(live);
        let read: DynamicObject =
            serde_json::from_value(live.clone()).map_err(|error| format!("{key}: {error}"))?;
        if ObjectKey::of(wanted) != key {
            return Err(format!("{key}: a patch cannot make another object of it"));
        }
        may_write(&read).map_err(|why| format!("{key}: {why}"))?;
        let Some(mut patch) = difference(live, wanted) else { return Ok(live.clone()) };
        for field in ["uid", "resourceVersion"] {
            patch["metadata"][field] = live["metadata"][field].clone();
        }
        let kind = self.context.discovery.resolve(&key.api_version, &key.kind).await;
        let api = kind.map_err(|error| error.to_string())?.api(self.acting.client(), &key.namespace);
        let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        let written = api.patch(&key.name, &params, &Patch::Merge(patch)).await;
        written.map(|written| fetch::json(&written)).map_err(|error| self.acting.explain(&error))
    }

    /// Why the application may not make or delete the object.
    pub(crate) async fn refusal(&self, object: &Value) -> Option<String> {
        let (own, bounds) = (self.app.namespace(), self.app.bounds());
        if let Some((message, hint)) = bounds.refusal(object, own) {
            return Some(format!("{message}; {hint}"));
        }
        let key = ObjectKey::of(object);
        let kind = self.context.discovery.resolve(&key.api_version, &key.kind).await;
        if kind.is_ok_and(|kind| !kind.namespaced) {
            return bounds.refusal_of_cluster(&key).map(|(message, hint)| format!("{message}; {hint}"));
        }
        None
    }

    /// The objects of an application, as its record names them; of another one where the application may look there.
    pub(crate) fn owned(&self, namespace: &str, name: &str) -> Result<Vec<OwnedObject>, String> {
        let namespace = if namespace.is_empty() { self.app.namespace() } else { namespace };
        let key = ObjectKey::local("core.oam.dev/v1beta1", "Application", namespace, name);
        if let Some((message, hint)) = self.app.bounds().refusal_of_reading(&key, self.app.namespace()) {
            return Err(format!("{message}; {hint}"));
        }
        let read = self.records.read(&Key::new(namespace, name));
        let (record, _) = read.map_err(|error| format!("the record of {key} cannot be read: {error}"))?;
        Ok(owned_of(record))
    }

    /// A list of the application's spec as it is written.
    pub(crate) fn written(&self, list: &str) -> Vec<Value> {
        self.app.document().value()["spec"][list].as_array().cloned().unwrap_or_default()
    }

    /// The components as they are written whose definition is carried out by Terraform.
    pub(crate) fn terraform_components(&self) -> Vec<Value> {
        let of_terraform =
            |component: &Component| matches!(component.definition.language(), Language::Terraform(_));
        let made = self.app.components().iter().filter(|component| of_terraform(component));
        let names: BTreeSet<&str> = made.map(|component| component.name.as_str()).collect();
        let written = self.written("components").into_iter();
        written.filter(|one| one["name"].as_str().is_some_and(|name| names.contains(name))).collect()
    }

    /// Cluster and namespace of each place that these policies name.
    pub(crate) fn placements(&self, policies: &[String]) -> Result<Vec<(String, String)>, String> {
        let places = policy::placements(self.app, policies)?.into_iter();
        Ok(places.map(|place| (place.cluster, place.namespace)).collect())
    }
}

/// The objects that a record names and that are in reach.
fn owned_of(record: Record) -> Vec<OwnedObject> {
    let wanted = record.entries.into_iter().filter(|(owned, entry)| {
        // Other clusters are out of reach.
        !entry.unwanted && owned.cluster.is_empty()
    });
    let named = wanted.take(OBJECTS_AT_MOST).map(|(owned, entry)| OwnedObject {
        object: json!({
            "apiVersion": owned.api_version,
            "kind": owned.kind,
            "metadata": {"namespace": owned.key.namespace, "name": owned.key.name},
        }),
        component: entry.component.unwrap_or_default(),
        trait_type: entry.trait_type.unwrap_or_default(),
    });
    named.collect()
}

/// By which labels the trackers of an application are found.
pub(crate) fn tracker_selector(application: &Key) -> String {
    let labels = resource_tracker::labels_of(application, &Marks::default());
    let terms: Vec<String> = labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
    terms.join(",")
}

/// The objects that the trackers of one application record, or why they cannot be read.
pub(crate) fn recorded(trackers: Vec<ResourceTracker>) -> Result<Vec<OwnedObject>, String> {
    let record = Trackers::of(trackers).record().map_err(|error| error.to_string())?;
    Ok(owned_of(record))
}
