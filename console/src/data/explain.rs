//! Where each value comes from: a stored application in, its objects out, each value with its place in a definition and the
//! field of the application that gave it. Rendered anew of the definitions of today; writes nothing.

use std::collections::BTreeMap;

use kube::Client;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::OwnedSemaphorePermit;
use vela_engine::render::{Rendered, RenderedObject, Role, State, ValueOrigin};
use vela_engine::{Diagnostics, Document, Place, Snapshot, Templates, dry_run, manifest};
use vela_runtime::Discovery;
use vela_snapshot::Namespaces;

use crate::data::dry_run::{Finding, finding, reader, unread};
use crate::data::secrets;
use crate::error::Error;

/// Objects that are shown.
const OBJECTS_AT_MOST: usize = 200;

/// The objects of an application with the origins of their values.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Explanation {
    /// Errors and warnings; with an error there are no objects.
    pub(crate) diagnostics: Vec<Finding>,
    /// The objects.
    pub(crate) objects: Vec<ExplainedObject>,
    /// What is known only when other objects are there.
    pub(crate) waits: Vec<String>,
    /// There are more objects than are shown.
    pub(crate) truncated: bool,
}

/// An object and where its values come from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ExplainedObject {
    /// The component that it belongs to; empty where a policy of the application made it.
    pub(crate) component: String,
    /// The trait that made it; empty where the component did.
    pub(crate) trait_type: String,
    /// The cluster that it goes to; empty for the one of the application.
    pub(crate) cluster: String,
    /// The object, without what is confidential.
    pub(crate) object: Value,
    /// Where its values come from. What no definition wrote, such as the labels of every object, is absent.
    pub(crate) origins: Vec<Origin>,
}

/// Where a value comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Origin {
    /// The field of the object, such as `spec.replicas`.
    pub(crate) path: String,
    /// The field of the application that gave the value; empty where the definition alone made it.
    pub(crate) given: String,
    /// The definition that wrote it last.
    pub(crate) definition: String,
    /// The line in the template of the definition, from 1; 0 where no line is known.
    pub(crate) line: u32,
    /// The column, from 1; 0 where no line is known.
    pub(crate) column: u32,
}

/// Explains a stored application. `place` is given back when the processor is free.
pub(crate) async fn explain(
    (client, discovery): (&Client, &Discovery),
    namespaces: Namespaces,
    mut application: Value,
    place: OwnedSemaphorePermit,
) -> Result<Explanation, Error> {
    if let Some(fields) = application.as_object_mut() {
        fields.remove("status");
    }
    // Values are traced by their places in a text, so the object becomes one. It is never shown.
    let text = serde_saphyr::to_string(&application)
        .map_err(|error| Error::Unreadable(format!("the application cannot be written as YAML: {error}")))?;
    let documents = match manifest::read("application", &text) {
        Ok(documents) => documents,
        Err(found) => return Ok(failed(&found)),
    };
    let Some(document) = documents.iter().next().cloned() else { return Ok(Explanation::default()) };
    let reader = match reader(client, discovery, namespaces, Vec::new()) {
        Ok(reader) => reader,
        Err(found) => return Ok(failed(&found)),
    };
    let snapshot = match reader.application(document.namespace(), &document).await {
        Ok(snapshot) => snapshot,
        Err(vela_snapshot::Error::Definition { found, .. }) => return Ok(failed(&found)),
        Err(error) => return Err(unread(error)),
    };
    let explained = tokio::task::spawn_blocking(move || {
        let explained = render(&document, &snapshot);
        drop(place);
        explained
    });
    explained.await.map_err(|error| Error::Unreadable(format!("the explanation broke off: {error}")))
}

fn render(document: &Document, snapshot: &Snapshot) -> Explanation {
    let rendered = match dry_run::explain(document, snapshot, &Templates::default()) {
        Ok(rendered) => rendered,
        Err(found) => return failed(&found),
    };
    let mut explanation = failed(rendered.warnings());
    let fields: BTreeMap<(u32, u32), String> =
        document.places().below("").into_iter().map(|(path, place)| (at(&place), path)).collect();
    for policy in rendered.policies() {
        explanation.objects.extend(policy.objects.iter().map(|object| explained(object, "", &fields)));
    }
    for component in rendered.components() {
        let name = &rendered.app_file().components()[component.index].name;
        match &component.state {
            State::Pending(missing) => explanation.waits.extend(missing.iter().cloned()),
            State::Ready(objects) => {
                explanation.objects.extend(objects.iter().map(|object| explained(object, name, &fields)));
            }
        }
    }
    explanation.waits.extend(deferred(&rendered));
    explanation.truncated = explanation.objects.len() > OBJECTS_AT_MOST;
    explanation.objects.truncate(OBJECTS_AT_MOST);
    explanation
}

/// The traits whose objects are made later.
fn deferred(rendered: &Rendered) -> Vec<String> {
    let all = rendered.components().iter().flat_map(|component| &component.deferred);
    all.map(|deferred| deferred.why.clone()).collect()
}

fn explained(
    object: &RenderedObject,
    component: &str,
    fields: &BTreeMap<(u32, u32), String>,
) -> ExplainedObject {
    let origin = |origin: &ValueOrigin| Origin {
        path: origin.path.clone(),
        given: origin.given.as_ref().and_then(|place| fields.get(&at(place))).cloned().unwrap_or_default(),
        definition: origin.definition.definition.clone(),
        line: origin.definition.line,
        column: origin.definition.column,
    };
    let mut shown = object.object.clone();
    secrets::hide(&mut shown);
    ExplainedObject {
        component: component.to_owned(),
        trait_type: match &object.role {
            Role::Trait { type_, .. } => type_.clone(),
            Role::Workload | Role::Auxiliary { .. } | Role::Policy { .. } => String::new(),
        },
        cluster: object.cluster.clone(),
        object: shown,
        origins: dry_run::origins(object).map(origin).collect(),
    }
}

fn at(place: &Place) -> (u32, u32) {
    (place.line, place.column)
}

/// Findings alone. Their lines count in a text that is not shown; their fields say the same.
fn failed(found: &Diagnostics) -> Explanation {
    let findings = found.iter().map(|found| Finding { line: 0, column: 0, ..finding(found) });
    Explanation { diagnostics: findings.collect(), ..Explanation::default() }
}
