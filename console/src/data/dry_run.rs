//! A dry run: a manifest in, what is wrong with it and the objects that it would make out. Writes nothing anywhere.

use kube::Client;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::OwnedSemaphorePermit;
use vela_engine::definition::is_definition;
use vela_engine::preview::Made;
use vela_engine::render::State;
use vela_engine::{Bounds, Code, Diagnostic, Diagnostics, Document, Snapshot, Templates, dry_run, manifest};
use vela_runtime::Discovery;
use vela_snapshot::{Files, Live, Namespaces, Reader};

use crate::data::secrets;
use crate::error::Error;

/// Applications of one manifest.
const APPLICATIONS_AT_MOST: usize = 50;
/// Findings that are shown.
const FINDINGS_AT_MOST: usize = 500;
/// Objects that are shown.
const OBJECTS_AT_MOST: usize = 2_000;

/// The result of a dry run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DryRun {
    /// Nothing is wrong that would keep the applications from running.
    pub(crate) valid: bool,
    /// Errors and warnings, in the order of their places.
    pub(crate) diagnostics: Vec<Finding>,
    /// The objects, without what is confidential.
    pub(crate) objects: Vec<Value>,
    /// What is known only when other objects are there.
    pub(crate) waits: Vec<String>,
    /// Documents that are neither applications nor definitions.
    pub(crate) passed_over: Vec<String>,
    /// There are more findings or objects than are shown.
    pub(crate) truncated: bool,
}

/// One finding.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Finding {
    /// `error` or `warning`.
    pub(crate) severity: &'static str,
    /// Its code, by which the page of troubleshooting explains it.
    pub(crate) code: &'static str,
    /// The sentence.
    pub(crate) message: String,
    /// The object concerned.
    pub(crate) object: String,
    /// The field of the object.
    pub(crate) path: String,
    /// The line of the manifest, from 1; 0 where no line is to blame.
    pub(crate) line: u32,
    /// The column, from 1; 0 where no line is to blame.
    pub(crate) column: u32,
    /// The place in a definition, where one takes part.
    pub(crate) definition: String,
    /// What to do.
    pub(crate) hint: String,
}

/// The outcome of one application: what is doubtful about it, and what it makes; or what is wrong with it.
pub(super) struct Outcome {
    findings: Diagnostics,
    pub(super) made: Option<Made>,
    waits: Vec<String>,
    runs: bool,
}

/// Renders the applications of a text as they would be in a namespace. `place` is given back when the processor is free.
pub(crate) async fn run(
    (client, discovery): (&Client, &Discovery),
    namespaces: Namespaces,
    namespace: &str,
    text: &str,
    place: OwnedSemaphorePermit,
) -> Result<DryRun, Error> {
    let mut result = DryRun { valid: true, ..DryRun::default() };
    let documents = match manifest::read("manifest", text) {
        Ok(documents) => documents,
        Err(found) => return Ok(result.with(&found)),
    };
    let (definitions, others): (Vec<_>, Vec<_>) = documents.iter().cloned().partition(is_definition);
    let (applications, others): (Vec<_>, Vec<_>) = others.into_iter().partition(is_application);
    result.passed_over = others.iter().map(Document::title).collect();
    if applications.is_empty() {
        let error = Diagnostic::error(Code::WrongKind, "there is no Application in the manifest");
        return Ok(result.with(&[error].into_iter().collect()));
    }
    if applications.len() > APPLICATIONS_AT_MOST {
        let message = format!(
            "the manifest has {} Applications, at most {APPLICATIONS_AT_MOST} are rendered",
            applications.len()
        );
        return Ok(result.with(&[Diagnostic::error(Code::Limit, message)].into_iter().collect()));
    }
    let reader = match reader(client, discovery, namespaces, definitions) {
        Ok(reader) => reader,
        Err(found) => return Ok(result.with(&found)),
    };
    let mut read = Vec::with_capacity(applications.len());
    for application in applications {
        let application = application.in_namespace(namespace);
        match reader.application(application.namespace(), &application).await {
            Ok(snapshot) => read.push((application, snapshot)),
            Err(vela_snapshot::Error::Definition { found, .. }) => {
                result = result.with(&found);
            }
            Err(error) => return Err(unread(error)),
        }
    }
    let rendered = tokio::task::spawn_blocking(move || {
        let templates = Templates::default();
        let all: Vec<Outcome> = read
            .iter()
            .map(|(application, snapshot)| render(application, snapshot, &templates, &Value::Null))
            .collect();
        drop(place);
        all
    });
    let rendered =
        rendered.await.map_err(|error| Error::Unreadable(format!("the dry run broke off: {error}")))?;
    Ok(rendered.iter().fold(result, DryRun::and))
}

/// Reads what applications need of the cluster, and of these definitions before those of the cluster.
pub(super) fn reader(
    client: &Client,
    discovery: &Discovery,
    namespaces: Namespaces,
    definitions: Vec<Document>,
) -> Result<Reader<Files<Live>>, Diagnostics> {
    let live = Live::new(client.clone(), discovery.clone());
    let files = Files::new(live, namespaces.clone(), definitions)?;
    Ok(Reader::new(files, namespaces).within(Bounds::SAFE))
}

impl DryRun {
    pub(super) fn with(mut self, found: &Diagnostics) -> Self {
        self.valid &= !found.has_errors();
        self.diagnostics.extend(found.iter().map(finding));
        self.truncated |= self.diagnostics.len() > FINDINGS_AT_MOST;
        self.diagnostics.truncate(FINDINGS_AT_MOST);
        self.diagnostics.sort_by_key(|finding| (finding.line, finding.column));
        self
    }

    pub(super) fn and(self, outcome: &Outcome) -> Self {
        let Outcome { findings, made, waits, runs } = outcome;
        let mut whole = self.with(findings);
        whole.valid &= runs;
        let hidden = |object: &Value| {
            let mut object = object.clone();
            secrets::hide(&mut object);
            object
        };
        whole.objects.extend(made.iter().flat_map(|made| &made.objects).map(hidden));
        whole.truncated |= whole.objects.len() > OBJECTS_AT_MOST;
        whole.objects.truncate(OBJECTS_AT_MOST);
        whole.waits.extend(waits.iter().cloned());
        whole
    }
}

/// What an application makes, against the one that is stored; `live` is null where it does not matter.
pub(super) fn render(
    application: &Document,
    snapshot: &Snapshot,
    templates: &Templates,
    live: &Value,
) -> Outcome {
    let rendered = match dry_run::render(application, snapshot, templates) {
        Ok(rendered) => rendered,
        Err(first) => {
            // A render stops at the phase that fails; people want to hear of the mistakes of later phases, too.
            let all = vela_engine::check(application, snapshot, templates);
            let findings = if all.has_errors() { all } else { first };
            return Outcome { findings, made: None, waits: Vec::new(), runs: false };
        }
    };
    let made = Some(Made::new(&rendered, live));
    let mut waits = Vec::new();
    for component in rendered.components() {
        if let State::Pending(missing) = &component.state {
            waits.extend(missing.iter().cloned());
        }
    }
    let left_out = rendered.plan().left_out();
    let mut findings = rendered.warnings().clone();
    findings.extend_new(left_out.clone());
    Outcome { findings, made, waits, runs: left_out.is_empty() }
}

pub(super) fn finding(found: &Diagnostic) -> Finding {
    let (line, column) = found.manifest.as_ref().map_or((0, 0), |place| (place.line, place.column));
    Finding {
        severity: if found.is_error() { "error" } else { "warning" },
        code: found.code.as_str(),
        message: found.message.clone(),
        object: found.object.clone(),
        path: found.path.clone(),
        line,
        column,
        definition: found.definition.as_ref().map(ToString::to_string).unwrap_or_default(),
        hint: found.hint.clone().unwrap_or_default(),
    }
}

pub(super) fn is_application(document: &Document) -> bool {
    document.api_version().starts_with("core.oam.dev/") && document.kind() == "Application"
}

pub(super) fn unread(error: vela_snapshot::Error) -> Error {
    match error {
        vela_snapshot::Error::Api { source, .. } => {
            Error::Cluster { what: "what the manifest names", source }
        }
        error => Error::Unreadable(format!("the cluster could not give what the manifest names: {error}")),
    }
}
