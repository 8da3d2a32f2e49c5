//! A changed definition of a component, trait, policy or workflow step → its revision, the schema of its parameters and its workload kind
//! as objects, and a status that names them; an unchanged one writes nothing.

mod limit;
mod reconciler;

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ApiResource, DynamicObject, PostParams};
use serde_json::{Value, json};
use vela_crds::{
    Application, ComponentDefinition, DefinitionRevision, PolicyDefinition, TraitDefinition,
    WorkflowStepDefinition, WorkloadDefinition, labels,
};
use vela_engine::definition::record;
use vela_engine::revision::Previous;
use vela_engine::{Definition, DefinitionKind, Templates};
use vela_runtime::Api;
use vela_runtime::apply::{self as runtime_apply, Conflicts, Outcome};
use vela_runtime::cache::{Informer, Watch};
use vela_runtime::conditions::{self, Condition};
use vela_runtime::events::reference;
use vela_runtime::{Action, Controller, Failure, Key, Kind, Reconciler, discovery, owner};
use vela_snapshot::{Live, with_imports};
use vela_webhooks::Cause;

use self::reconciler::DefinitionReconciler;
use crate::application::fetch::json as to_json;
use crate::context::{Context, FIELD_MANAGER};

/// Mistakes told of one definition: a status is read by people, and one mistake often causes the others.
const FAULTS_AT_MOST: usize = 10;
/// Numbers tried in one reconcile when revisions of that number exist with other content.
const TRIES: usize = 100;

/// A revision, and why it does not hold the present content if it does not.
struct RecordedRevision {
    revision: Arc<DynamicObject>,
    conflict: Option<String>,
}

/// Why an object for a definition could not be written.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    Apply(#[from] runtime_apply::Error),
    #[error("cannot record the revision {name}: {}", runtime_apply::explain(source))]
    Revision { name: String, source: kube::Error },
    #[error("cannot make the WorkloadDefinition {name}: {}", runtime_apply::explain(source))]
    Workload { name: String, source: kube::Error },
    #[error("the next {TRIES} revision names are all taken")]
    Taken,
    #[error(transparent)]
    Discovery(#[from] discovery::Error),
    #[error("cannot write an object: {0}")]
    Malformed(#[from] serde_json::Error),
    #[error("cannot read the schemas that the template imports: {0}")]
    Schemas(#[from] vela_snapshot::Error),
}

/// The controllers of all kinds that have revisions.
pub(crate) fn controllers(context: &Context, workers: usize) -> [Controller; 4] {
    [
        (DefinitionKind::Component, ApiResource::erase::<ComponentDefinition>(&())),
        (DefinitionKind::Trait, ApiResource::erase::<TraitDefinition>(&())),
        (DefinitionKind::Policy, ApiResource::erase::<PolicyDefinition>(&())),
        (DefinitionKind::WorkflowStep, ApiResource::erase::<WorkflowStepDefinition>(&())),
    ]
    .map(|(kind, resource)| controller(context, workers, kind, resource))
}

fn controller(context: &Context, workers: usize, kind: DefinitionKind, resource: ApiResource) -> Controller {
    let watch = |resource| context.cache.informer(Watch::full(resource));
    let schemas = Watch::full(ApiResource::erase::<ConfigMap>(&()));
    let reconciler = DefinitionReconciler {
        context: context.clone(),
        kind,
        definitions: watch(resource),
        revisions: watch(ApiResource::erase::<DefinitionRevision>(&())),
        schemas: context.cache.informer(schemas.labelled(format!("{}=schema", labels::DEFINITION))),
        workloads: watch(ApiResource::erase::<WorkloadDefinition>(&())),
        applications: watch(ApiResource::erase::<Application>(&())),
    };
    let definitions = reconciler.definitions.clone();
    Controller::new(kind.kind().to_lowercase(), reconciler).for_kind(&definitions).workers(workers)
}

impl Reconciler for DefinitionReconciler {
    async fn reconcile(&self, key: Key) -> Result<Action, Failure> {
        let Some(object) = self.definitions.get(&key) else { return Ok(Action::Done) };
        if object.metadata.deletion_timestamp.is_some() {
            return Ok(Action::Done);
        }
        let mut status = object.data.get("status").cloned().unwrap_or_else(|| json!({}));
        let (outcome, failure) = match Definition::from_object(to_json(&object)) {
            Ok(definition) => match self.record(&key, &definition, &mut status).await {
                Ok(None) => (Condition::yes("Synced", "ReconcileSuccess"), None),
                // Admission refuses this one; where nobody was asked, it is told here.
                Ok(Some(faults)) => (Condition::no("Synced", "ReconcileError", faults), None),
                Err(error) => {
                    let condition = Condition::no("Synced", "ReconcileError", error.to_string());
                    (condition, Some(Failure::retry(error)))
                }
            },
            // Only a change of the definition mends it, and that wakes us.
            Err(error) => (Condition::no("Synced", "ReconcileError", error.to_string()), None),
        };
        let mut list = status["conditions"].as_array().cloned().unwrap_or_default();
        conditions::set(&mut list, std::slice::from_ref(&outcome), &conditions::now());
        status["conditions"] = Value::Array(list);
        let resource = &self.definitions.watch().resource;
        let api = Api::namespaced_with(self.context.client.clone(), &key.namespace, resource);
        let written = crate::status::write(&api, &self.definitions, &object, &status).await?;
        if written && !outcome.status {
            self.context.events.warning(&reference(&object), "FailedReconcile", &outcome.message).await;
        }
        failure.map_or(Ok(Action::Done), Err)
    }
}

impl DefinitionReconciler {
    /// The objects, the status that names them, and what is wrong with the definition all the same.
    async fn record(
        &self,
        key: &Key,
        definition: &Definition,
        status: &mut Value,
    ) -> Result<Option<String>, Error> {
        let RecordedRevision { revision, conflict } = self.revision(key, definition, status).await?;
        let data = &revision.data["spec"];
        let judged = status["latestRevision"]["revisionHash"] == data["revisionHash"] && is_synced(status);
        status["latestRevision"] = json!({
            "name": revision.metadata.name,
            "revision": data["revision"],
            "revisionHash": data["revisionHash"],
        });
        if let Some(schema) = record::schema(definition) {
            let mut owners = vec![definition.object().clone()];
            if self.kind == DefinitionKind::Component {
                owners.push(to_json(&revision));
            }
            for (index, owned_by) in owners.iter().enumerate() {
                let applied = self.apply(&self.schemas, record::schema_object(owned_by, &schema)).await?;
                if index == 0
                    && let Some(name) = applied
                {
                    status["configMapRef"] = json!(name);
                }
            }
        }
        if let Some((api_version, kind)) = definition.workload_kind()
            && self.kind == DefinitionKind::Component
            && let Some(known) = self.installed(api_version, kind).await?
        {
            let name = known.resource_name();
            let object = record::workload_object(definition, &name, &known.resource.version);
            self.apply(&self.workloads, object).await?;
            self.shared_workload(key, &name, &known.resource.version).await?;
        }
        limit::limit(self, key, definition, revision.metadata.name.as_deref().unwrap_or_default()).await;
        if conflict.is_some() {
            return Ok(conflict);
        }
        // Compiling every definition at every start would cost more than all the rest of it.
        if judged { Ok(None) } else { self.faults(definition).await }
    }

    /// The WorkloadDefinition of the resource itself, which `spec.workload.type` names. All types of that workload share
    /// it, so it is made where nobody has made one and belongs to none of them.
    async fn shared_workload(&self, key: &Key, resource: &str, version: &str) -> Result<(), Error> {
        if self.workloads.get(&Key::new(key.namespace.clone(), resource)).is_some() {
            return Ok(());
        }
        let object =
            serde_json::from_value(record::shared_workload_object(&key.namespace, resource, version))?;
        let api: Api<DynamicObject> = Api::namespaced_with(
            self.context.client.clone(),
            &key.namespace,
            &self.workloads.watch().resource,
        );
        let params = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
        match api.create(&params, &object).await {
            Ok(created) => {
                self.workloads.observe(created);
                Ok(())
            }
            // Any other conflict says nothing of the object, and the next reconcile asks again.
            Err(kube::Error::Api(status)) if status.reason == "AlreadyExists" => Ok(()),
            Err(source) => Err(Error::Workload { name: resource.to_owned(), source }),
        }
    }

    /// What admission would refuse, in its words.
    async fn faults(&self, definition: &Definition) -> Result<Option<String>, Error> {
        let live = Live::new(self.context.client.clone(), self.context.discovery.clone());
        let definition = with_imports(&live, definition.clone()).await?;
        let causes = vela_webhooks::definition::faults(&definition, &Templates::new()).causes;
        let lines: Vec<String> = causes.iter().take(FAULTS_AT_MOST).map(Cause::line).collect();
        let more = causes.len().saturating_sub(FAULTS_AT_MOST);
        let more = if more > 0 { format!("; and {more} more") } else { String::new() };
        Ok((!lines.is_empty()).then(|| lines.join("; ") + &more))
    }

    /// The kind, or nothing where it is not installed and so has no resource name yet.
    async fn installed(&self, api_version: &str, kind: &str) -> Result<Option<Kind>, Error> {
        match self.context.discovery.resolve(api_version, kind).await {
            Ok(known) => Ok(Some(known)),
            Err(discovery::Error::Unknown { .. }) => Ok(None),
            // A server that did not answer says nothing about the kind.
            Err(error) => Err(error.into()),
        }
    }

    /// The revision that holds the present content; made where it is not there yet. The name of a version is given once:
    /// where another content has it, that one stays what the version means.
    async fn revision(
        &self,
        key: &Key,
        definition: &Definition,
        status: &Value,
    ) -> Result<RecordedRevision, Error> {
        let mut latest = self.latest(key, status);
        let resource = &self.revisions.watch().resource;
        let api: Api<DynamicObject> =
            Api::namespaced_with(self.context.client.clone(), &key.namespace, resource);
        let params = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
        for _ in 0..TRIES {
            let next = record::revision(definition, latest.as_ref());
            let failed = |source| Error::Revision { name: next.name.clone(), source };
            let keeps = |stored: &DynamicObject| {
                record::keeps(&next.name, &stored.data["spec"], definition, &next.hash)
            };
            if let Some(known) = self.revisions.get(&Key::new(key.namespace.clone(), next.name.clone()))
                && keeps(&known)
            {
                return Ok(RecordedRevision { revision: known, conflict: None });
            }
            let object = serde_json::from_value(record::revision_object(definition, &next))?;
            match api.create(&params, &object).await {
                Ok(created) => {
                    self.revisions.observe(created.clone());
                    return Ok(RecordedRevision { revision: Arc::new(created), conflict: None });
                }
                Err(kube::Error::Api(status)) if status.code == 409 => {}
                Err(source) => return Err(failed(source)),
            }
            // A reconcile that was cut off may have made it; a name that something else took is passed over.
            let stored = api.get(&next.name).await.map_err(failed)?;
            if keeps(&stored) {
                return Ok(RecordedRevision { revision: Arc::new(stored), conflict: None });
            }
            if let Some(version) = record::named_version(definition) {
                let conflict = record::conflict(version, &next.name);
                return Ok(RecordedRevision { revision: Arc::new(stored), conflict: Some(conflict) });
            }
            latest = Some(Previous { number: next.number, hash: String::new() });
        }
        Err(Error::Taken)
    }

    /// The newest revision: the status may have missed one when a reconcile was cut off.
    fn latest(&self, key: &Key, status: &Value) -> Option<Previous> {
        let previous = |name: &Value, hash: &Value| {
            Some(Previous { number: name.as_u64()?, hash: hash.as_str()?.to_owned() })
        };
        let told = &status["latestRevision"];
        let told = previous(&told["revision"], &told["revisionHash"]);
        let stored = self.of(key).into_iter().next_back().and_then(|object| {
            let spec = &object.data["spec"];
            previous(&spec["revision"], &spec["revisionHash"])
        });
        match (told, stored) {
            (Some(told), Some(stored)) if stored.number > told.number => Some(stored),
            (told, stored) => told.or(stored),
        }
    }

    /// The revisions of a definition, oldest first.
    pub(super) fn of(&self, key: &Key) -> Vec<Arc<DynamicObject>> {
        let Some(label) = record::name_label(self.kind) else { return Vec::new() };
        let belongs = |object: &DynamicObject| {
            object.metadata.namespace.as_deref() == Some(&key.namespace)
                && object.metadata.labels.as_ref().and_then(|labels| labels.get(label)) == Some(&key.name)
        };
        let mut found = self.revisions.list_where(belongs);
        found.sort_by_key(|object| object.data["spec"]["revision"].as_u64());
        found
    }

    /// Write one object; its name, or nothing where somebody else has an object of that name.
    async fn apply(&self, informer: &Informer, object: Value) -> Result<Option<String>, Error> {
        let uid = object.pointer("/metadata/ownerReferences/0/uid").and_then(Value::as_str);
        let uid = uid.unwrap_or_default().to_owned();
        let desired: DynamicObject = serde_json::from_value(object)?;
        let live = informer.get(&Key::of(&desired));
        let guard = |live: &DynamicObject| owner::controlled_by(live, &uid);
        // All its fields are ours and always the same ones, so an object that has all we want needs no write.
        let applied = self.context.applier.apply(&desired, live, true, Conflicts::Refuse, &guard).await;
        match applied {
            Ok(applied) => {
                if applied.outcome != Outcome::Unchanged {
                    informer.observe((*applied.object).clone());
                }
                Ok(desired.metadata.name)
            }
            Err(runtime_apply::Error::Foreign { object, reason }) => {
                tracing::info!(object, reason, "left alone");
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// Was the content that the status names found good?
fn is_synced(status: &Value) -> bool {
    let conditions = status["conditions"].as_array();
    conditions.into_iter().flatten().any(|one| one["type"] == "Synced" && one["status"] == "True")
}
