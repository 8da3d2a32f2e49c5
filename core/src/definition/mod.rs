//! A changed definition of a component, trait, policy or workflow step → its revision, the schema of its parameters and its workload kind
//! as objects, and a status that names them; an unchanged one writes nothing.

mod error;
mod limit;
mod reconciler;
mod revision;
mod workload;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ApiResource, DynamicObject};
use serde_json::{Value, json};
use vela_crds::{
    Application, ComponentDefinition, DefinitionRevision, PolicyDefinition, TraitDefinition,
    WorkflowStepDefinition, WorkloadDefinition, labels,
};
use vela_engine::definition::record;
use vela_engine::{Definition, DefinitionKind, Templates};
use vela_runtime::Api;
use vela_runtime::cache::{Change, Watch};
use vela_runtime::conditions::{self, Condition};
use vela_runtime::events::reference;
use vela_runtime::{Action, Controller, Failure, Informer, Key, Reconciler};
use vela_snapshot::{Live, with_imports};
use vela_webhooks::Cause;

use self::error::Error;
use self::reconciler::DefinitionReconciler;
use self::revision::RecordedRevision;
use crate::application::fetch::json as to_json;
use crate::context::Context;

/// Mistakes named of one definition: a status is read by people, and one mistake often causes the others.
const FAULTS_AT_MOST: usize = 10;

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
    let (definitions, revisions) = (reconciler.definitions.clone(), reconciler.revisions.clone());
    let known = definitions.clone();
    Controller::new(kind.kind().to_lowercase(), reconciler)
        .for_kind(&definitions)
        .watches(&revisions, move |change| overtaken(change, kind, &known).into_iter().collect())
        .workers(workers)
}

/// The definition whose status does not know this new revision: a request of a process that was killed meanwhile may have
/// made it after the present one had looked. Without another look the next change of anything would find it.
fn overtaken(change: &Change, kind: DefinitionKind, definitions: &Informer) -> Option<Key> {
    let made = change.new.as_ref().filter(|_| change.old.is_none() && !change.initial)?;
    let name = made.metadata.labels.as_ref()?.get(record::name_label(kind)?)?;
    let key = Key::new(made.metadata.namespace.clone().unwrap_or_default(), name.clone());
    let definition = definitions.get(&key)?;
    let latest = definition.data["status"]["latestRevision"]["revision"].as_u64();
    (made.data["spec"]["revision"].as_u64() > latest).then_some(key)
}

impl Reconciler for DefinitionReconciler {
    async fn reconcile(&self, key: Key) -> Result<Action, Failure> {
        let Some(object) = self.definitions.get(&key) else { return Ok(Action::Done) };
        if object.metadata.deletion_timestamp.is_some() {
            return Ok(Action::Done);
        }
        let mut status = object.data.get("status").cloned().unwrap_or_else(|| json!({}));
        let outcome = match Definition::from_object(to_json(&object)) {
            Ok(definition) => self.record(&key, &definition, &mut status).await,
            Err(error) => Err(Error::Unreadable(error.to_string())),
        };
        let condition = match &outcome {
            Ok(()) => Condition::yes("Synced", "ReconcileSuccess"),
            Err(error) => Condition::no("Synced", "ReconcileError", error.to_string()),
        };
        let mut list = status["conditions"].as_array().cloned().unwrap_or_default();
        conditions::set(&mut list, std::slice::from_ref(&condition), &conditions::now());
        status["conditions"] = Value::Array(list);
        let resource = &self.definitions.watch().resource;
        let api = Api::namespaced_with(self.context.client.clone(), &key.namespace, resource);
        let written = crate::status::write(&api, &self.definitions, &object, &status).await?;
        if written && !condition.status {
            self.context.events.warning(&reference(&object), "FailedReconcile", &condition.message).await;
        }
        outcome.map_or_else(Error::end, |()| Ok(Action::Done))
    }
}

impl DefinitionReconciler {
    /// Records the definition in objects and in the status that names them; what is wrong with it is said all the same.
    async fn record(&self, key: &Key, definition: &Definition, status: &mut Value) -> Result<(), Error> {
        let RecordedRevision { revision, conflict } = self.revision(key, definition, status).await?;
        let data = &revision.data["spec"];
        let judged = status["latestRevision"]["revisionHash"] == data["revisionHash"] && is_synced(status);
        status["latestRevision"] = json!({
            "name": revision.metadata.name,
            "revision": data["revision"],
            "revisionHash": data["revisionHash"],
        });
        self.write_schemas(definition, &revision, status).await?;
        self.write_workloads(key, definition).await?;
        limit::limit(self, key, definition, revision.metadata.name.as_deref().unwrap_or_default()).await;
        match conflict {
            Some(conflict) => Err(Error::Conflict(conflict)),
            // Compiling every definition at every start would cost more than all the rest of it.
            None if judged => Ok(()),
            None => self.validate(definition).await,
        }
    }

    /// Writes the schema of the parameters for the definition, and where it is one of a component for its revision.
    async fn write_schemas(
        &self,
        definition: &Definition,
        revision: &DynamicObject,
        status: &mut Value,
    ) -> Result<(), Error> {
        let Some(schema) = record::schema(definition) else { return Ok(()) };
        let named = self.apply(&self.schemas, record::schema_object(definition.object(), &schema)).await?;
        if let Some(name) = named {
            status["configMapRef"] = json!(name);
        }
        if self.kind == DefinitionKind::Component {
            self.apply(&self.schemas, record::schema_object(&to_json(revision), &schema)).await?;
        }
        Ok(())
    }

    /// The controller reports in the words of admission what admission refuses: perhaps admission was not asked.
    async fn validate(&self, definition: &Definition) -> Result<(), Error> {
        let live = Live::new(self.context.client.clone(), self.context.discovery.clone());
        let definition = with_imports(&live, definition.clone()).await?;
        let causes = vela_webhooks::definition::faults(&definition, &Templates::new()).causes;
        if causes.is_empty() {
            return Ok(());
        }
        let lines: Vec<String> = causes.iter().take(FAULTS_AT_MOST).map(Cause::line).collect();
        let more = causes.len().saturating_sub(FAULTS_AT_MOST);
        let more = if more > 0 { format!("; and {more} more") } else { String::new() };
        Err(Error::Faulty(lines.join("; ") + &more))
    }
}

/// Was the content that the status names found good?
fn is_synced(status: &Value) -> bool {
    let conditions = status["conditions"].as_array();
    conditions.into_iter().flatten().any(|one| one["type"] == "Synced" && one["status"] == "True")
}
