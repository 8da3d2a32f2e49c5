//! A plan: the manifest of one application in, what is wrong with it and what deploying it would do out. The cluster judges
//! each object by a server-side apply as a dry run, as for `vela diff`; nothing is stored.

use futures::future::BoxFuture;
use futures::{FutureExt as _, StreamExt as _, stream};
use kube::Client;
use kube::api::DynamicObject;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::OwnedSemaphorePermit;
use vela_engine::diff::by_name;
use vela_engine::preview::{CONTROLLER, Made, Reference, as_controller_writes, written_fields};
use vela_engine::{Code, Diagnostic, Diagnostics, Document, Templates, manifest};
use vela_runtime::{Api, Discovery, Trial, trial};
use vela_snapshot::Namespaces;

use crate::data::applications::{resource, to_json};
use crate::data::deploy::content_hash;
use crate::data::dry_run::{self, DryRun, is_application, reader, unread};
use crate::data::revisions::Field;
use crate::data::secrets;
use crate::error::Error;
use crate::find::is_name;

/// The API version of what is planned.
const API_VERSION: &str = "core.oam.dev/v1beta1";
/// Objects that are compared with those of the cluster.
const OBJECTS_AT_MOST: usize = 200;
/// Fields of one object that are shown.
const FIELDS_AT_MOST: usize = 200;
/// Objects that the cluster judges at once.
const AT_ONCE: usize = 8;

/// What is wrong with a manifest, the objects that it would make, and what deploying it would do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Plan {
    /// The dry run.
    #[serde(flatten)]
    pub(crate) dry_run: DryRun,
    /// What deploying would do; absent where the application would not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) changes: Option<Changes>,
}

/// What deploying would do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Changes {
    /// The version of the application that was compared; empty where there is none yet. A deployment carries it.
    pub(crate) resource_version: String,
    /// A hash of what people wrote of it: with it a deployment is also right over a later version in which only the status
    /// differs. Empty where there is none yet.
    pub(crate) content_hash: String,
    /// The application.
    pub(crate) application: Planned,
    /// Its objects, also those that it would make no more.
    pub(crate) objects: Vec<Planned>,
    /// Components that wait for values of others: what they make then is not compared.
    pub(crate) open: Vec<String>,
    /// There are more objects than are compared.
    pub(crate) truncated: bool,
}

/// What would become of an object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Planned {
    /// Its API version.
    pub(crate) api_version: String,
    /// Its kind.
    pub(crate) kind: String,
    /// Its namespace; empty where it has none.
    pub(crate) namespace: String,
    /// Its name.
    pub(crate) name: String,
    /// What becomes of it.
    pub(crate) change: Change,
    /// The fields that differ, without what Secrets contain.
    pub(crate) fields: Vec<Field>,
    /// More fields differ than are shown.
    pub(crate) truncated: bool,
    /// Why it would be refused, or why the cluster does not tell what becomes of it; otherwise empty.
    pub(crate) why: String,
}

/// What becomes of an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Change {
    /// It is made.
    Created,
    /// Some of its fields change.
    Changed,
    /// It stays as it is.
    Unchanged,
    /// Nothing describes it any more: it goes, unless a policy of the application lets it stay.
    LeftOut,
    /// The cluster would not take it.
    Refused,
    /// The cluster does not tell.
    #[default]
    Unknown,
}

/// Plans over one cluster.
pub(crate) struct Planner<'a> {
    pub(crate) client: &'a Client,
    pub(crate) discovery: &'a Discovery,
    /// Where types are looked for.
    pub(crate) namespaces: Namespaces,
    /// The field manager by which an application would be written.
    pub(crate) manager: &'a str,
    /// The secret of the hash of what was compared.
    pub(crate) key: &'a str,
}

/// The one Application of a text.
pub(crate) fn single(text: &str) -> Result<Document, Diagnostics> {
    let documents = manifest::read("manifest", text)?;
    let mut found = Diagnostics::new();
    for (index, document) in documents.iter().enumerate() {
        let wrong = match (is_application(document), document.api_version()) {
            (true, API_VERSION) if index == 0 => continue,
            (true, API_VERSION) => "a plan takes one Application, and this is another".to_owned(),
            (true, version) => {
                format!("a plan takes an Application of {API_VERSION}, and this one is of {version}")
            }
            _ => {
                format!("a plan takes an Application of {API_VERSION} alone, and this is {}", title(document))
            }
        };
        let hint = "leave it out here; `vela up` applies files with several objects";
        found.push(Diagnostic::error(Code::WrongKind, wrong).at(document, "kind").hint(hint));
    }
    let Some(document) = documents.iter().next() else {
        let error = Diagnostic::error(Code::WrongKind, "there is no Application in the manifest");
        return Err([error].into_iter().collect());
    };
    if let Some(path) = secrets::masked(document.value()) {
        let message = "this value of a Secret is what the console shows in its place, not the value itself";
        let error = Diagnostic::error(Code::InvalidObject, message).at(document, path);
        found.push(error.hint("write the value, or deploy the file that has it with `vela up`"));
    }
    if found.has_errors() { Err(found) } else { Ok(document.clone()) }
}

fn title(document: &Document) -> String {
    Some(document.title()).filter(|title| !title.is_empty()).unwrap_or_else(|| "no object".to_owned())
}

impl Plan {
    /// A manifest with these mistakes.
    pub(crate) fn failed(found: &Diagnostics) -> Self {
        let dry_run = DryRun { valid: true, ..DryRun::default() }.with(found);
        Self { dry_run, changes: None }
    }
}

impl Planner<'_> {
    /// What is wrong with the application, and what deploying it would do. `place` is given back when the processor is free.
    pub(crate) async fn plan(
        &self,
        application: &Document,
        place: OwnedSemaphorePermit,
    ) -> Result<Plan, Error> {
        let live = self.live(application.namespace(), application.name()).await?;
        let (dry_run, made) = self.judge(application, live.clone(), place).await?;
        let Some(made) = made.filter(|_| dry_run.valid) else { return Ok(Plan { dry_run, changes: None }) };
        let changes = self.changes(application, &live, &made).await;
        Ok(Plan { dry_run, changes: Some(changes) })
    }

    /// The stored application of this name, or null.
    pub(crate) async fn live(&self, namespace: &str, name: &str) -> Result<Value, Error> {
        if !is_name(namespace) || !is_name(name) {
            return Ok(Value::Null);
        }
        let api: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), namespace, &resource());
        let found = api.get_opt(name).await.map_err(Error::cluster("the application"))?;
        Ok(found.as_ref().map(to_json).unwrap_or_default())
    }

    /// What is wrong with the application, and what it would make.
    pub(crate) async fn judge(
        &self,
        application: &Document,
        live: Value,
        place: OwnedSemaphorePermit,
    ) -> Result<(DryRun, Option<Made>), Error> {
        let valid = DryRun { valid: true, ..DryRun::default() };
        let reader = match reader(self.client, self.discovery, self.namespaces.clone(), Vec::new()) {
            Ok(reader) => reader,
            Err(found) => return Ok((valid.with(&found), None)),
        };
        let snapshot = match reader.application(application.namespace(), application).await {
            Ok(snapshot) => snapshot,
            Err(vela_snapshot::Error::Definition { found, .. }) => return Ok((valid.with(&found), None)),
            Err(error) => return Err(unread(error)),
        };
        let application = application.clone();
        let judged = tokio::task::spawn_blocking(move || {
            let outcome = dry_run::render(&application, &snapshot, &Templates::default(), &live);
            drop(place);
            (valid.and(&outcome), outcome.made)
        });
        judged.await.map_err(|error| Error::Unreadable(format!("the plan broke off: {error}")))
    }

    async fn changes(&self, application: &Document, live: &Value, made: &Made) -> Changes {
        let own = self.compare(application.value().clone(), self.manager);
        let objects: Vec<BoxFuture<'_, Planned>> = (made.objects.iter().take(OBJECTS_AT_MOST))
            .map(|one| self.compare(one.clone(), CONTROLLER).boxed())
            .collect();
        let gone: Vec<BoxFuture<'_, Option<Planned>>> = (made.left_out.iter().take(OBJECTS_AT_MOST))
            .map(|one| self.left_out(made, one).boxed())
            .collect();
        let (application, mut objects, gone) = futures::join!(
            own,
            stream::iter(objects).buffered(AT_ONCE).collect::<Vec<_>>(),
            stream::iter(gone).buffered(AT_ONCE).collect::<Vec<_>>(),
        );
        objects.extend(gone.into_iter().flatten());
        let version = live["metadata"]["resourceVersion"].as_str().unwrap_or_default();
        Changes {
            resource_version: version.to_owned(),
            content_hash: if live.is_null() { String::new() } else { content_hash(self.key, live) },
            application,
            objects,
            open: made.open.iter().cloned().collect(),
            truncated: made.objects.len().max(made.left_out.len()) > OBJECTS_AT_MOST,
        }
    }

    /// Asks the cluster what the object would become.
    async fn compare(&self, mut object: Value, manager: &str) -> Planned {
        let planned = Planned::of(&object);
        let api = match self.discovery.resolve(&planned.api_version, &planned.kind).await {
            Ok(kind) => kind.api(self.client.clone(), &planned.namespace),
            Err(error) => return Planned { change: Change::Refused, why: error.to_string(), ..planned },
        };
        let live = match api.get_opt(&planned.name).await {
            Ok(Some(live)) => json!(live),
            Ok(None) => return Planned { change: Change::Created, ..planned },
            Err(error) => return planned.unknown(&error),
        };
        let is_controller = manager == CONTROLLER;
        if is_controller {
            as_controller_writes(&mut object, &live);
        }
        match trial(&api, &planned.name, &object, manager, is_controller).await {
            Ok(Trial::Taken(after)) => planned.compared(&live, &json!(after)),
            Ok(Trial::Refused(why)) => Planned { change: Change::Refused, why, ..planned },
            Err(error) => planned.unknown(&error),
        }
    }

    /// What becomes of an object that the application made before.
    async fn left_out(&self, made: &Made, of: &Reference) -> Option<Planned> {
        let planned = Planned {
            api_version: of.api_version.clone(),
            kind: of.kind.clone(),
            namespace: of.namespace.clone(),
            name: of.name.clone(),
            change: Change::LeftOut,
            ..Planned::default()
        };
        let Ok(kind) = self.discovery.resolve(&of.api_version, &of.kind).await else { return None };
        match kind.api(self.client.clone(), &of.namespace).get_metadata_opt(&of.name).await {
            Ok(None) => None,
            Ok(Some(found)) => made.is_left_out(&json!({"metadata": found.metadata})).then_some(planned),
            Err(error) => Some(planned.unknown(&error)),
        }
    }
}

impl Planned {
    fn of(object: &Value) -> Self {
        let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
        Self {
            api_version: text("/apiVersion"),
            kind: text("/kind"),
            namespace: text("/metadata/namespace"),
            name: text("/metadata/name"),
            ..Self::default()
        }
    }

    fn unknown(self, error: &kube::Error) -> Self {
        let why = match error {
            kube::Error::Api(status) => status.message.clone(),
            error => error.to_string(),
        };
        Self { change: Change::Unknown, why, ..self }
    }

    fn compared(self, live: &Value, after: &Value) -> Self {
        let mut mask = secrets::numbered();
        let mut shown = |object: &Value| {
            let mut shown = written_fields(object);
            // The kind may be left out of what was read, and tells what is hidden.
            shown["apiVersion"] = json!(self.api_version);
            shown["kind"] = json!(self.kind);
            secrets::hide_as(&mut shown, &mut mask);
            shown
        };
        let (live, after) = (shown(live), shown(after));
        let mut fields: Vec<Field> = by_name(&live, &after)
            .into_iter()
            .map(|difference| Field { path: difference.path, from: difference.old, to: difference.new })
            .collect();
        let truncated = fields.len() > FIELDS_AT_MOST;
        fields.truncate(FIELDS_AT_MOST);
        let change = if fields.is_empty() { Change::Unchanged } else { Change::Changed };
        Self { change, fields, truncated, ..self }
    }
}
