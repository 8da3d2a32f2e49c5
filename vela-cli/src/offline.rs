//! Definitions and documents in, a verdict about every application out, before anything is written.

mod versions;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::{Value, json};
use vela_apiserver::ApiServer;
use vela_engine::definition::Language;
use vela_engine::render::Rendered;
use vela_engine::{
    ClusterVersion, Definition, DefinitionKind, Diagnostic, Diagnostics, Document, Snapshot, Templates,
    dry_run,
};
use vela_webhooks::definition::findings;
use vela_webhooks::kinds::with_kinds;

use crate::cluster::Cluster;
use crate::error::{Error, Failure, Result};
use crate::installation::{self, SYSTEM_NAMESPACE};
use crate::order;
use versions::Recorded;

/// The kinds of definitions that a rendering may need.
const DEFINITION_KINDS: [&str; 5] = [
    "ComponentDefinition",
    "TraitDefinition",
    "WorkloadDefinition",
    "PolicyDefinition",
    "WorkflowStepDefinition",
];

/// What the built-in definitions and `more` allow, without any cluster.
pub(crate) async fn built_in_snapshot(more: &[&Document]) -> Result<Snapshot> {
    let mut snapshot = Snapshot::new(ClusterVersion::default());
    for object in installation::definitions() {
        let broken = |error| Error::internal(format!("a built-in definition is broken: {error}"));
        snapshot.insert_definition_object(object).map_err(broken)?;
    }
    let recorded = add_definitions(&mut snapshot, more, Recorded::default())?;
    // In a new cluster each is the first version of itself.
    for definition in snapshot.definitions().cloned().collect::<Vec<_>>() {
        recorded.expect(&mut snapshot, &definition);
    }
    if snapshot.definitions().any(|definition| imports(definition)) {
        // Without a cluster the sandbox's own kinds are the kinds there are.
        let server = ApiServer::builder().build();
        let server = server.map_err(|e| Error::internal(format!("the sandbox does not start: {e}")))?;
        let client = kube::Client::new(server.service(), "default");
        add_kinds(&client, &mut snapshot).await.map_err(|e| Error::internal(e.to_string()))?;
    }
    Ok(snapshot)
}

/// Does the template import kinds of the cluster that it was not given yet?
fn imports(definition: &Definition) -> bool {
    definition.packages().is_empty() && !definition.imports().is_empty()
}

/// Gives every definition the kinds that it imports.
async fn add_kinds(client: &kube::Client, snapshot: &mut Snapshot) -> std::result::Result<(), kube::Error> {
    let importing: Vec<Definition> =
        snapshot.definitions().filter(|one| imports(one)).map(|one| Definition::clone(one)).collect();
    for definition in importing {
        snapshot.insert_definition(Arc::new(with_kinds(client, definition).await?));
    }
    let versions = snapshot.revisions().filter(|(_, one)| imports(one));
    let importing: Vec<(String, Definition)> =
        versions.map(|(version, one)| (version.to_owned(), Definition::clone(one))).collect();
    for (version, definition) in importing {
        snapshot.insert_revision(&version, Arc::new(with_kinds(client, definition).await?));
    }
    Ok(())
}

/// What the definitions of the cluster and `more` allow, with their versions where one of the applications asks for one.
/// Those of the namespace win over those of the system.
pub(crate) async fn cluster_snapshot(
    cluster: &Cluster,
    more: &[&Document],
    namespaces: &[&str],
    applications: &[Document],
) -> Result<Snapshot> {
    let version = cluster.client().apiserver_version().await;
    let version = version.map_err(|error| cluster.failure("say its version", &error))?;
    let mut snapshot = Snapshot::new(ClusterVersion::from_version(&json!({
        "major": version.major, "minor": version.minor, "gitVersion": version.git_version, "platform": version.platform,
    })));
    for namespace in std::iter::once(&SYSTEM_NAMESPACE).chain(namespaces) {
        for kind in DEFINITION_KINDS {
            for object in cluster.list("core.oam.dev/v1beta1", kind, Some(namespace)).await? {
                let mut object = json!(object);
                object["apiVersion"] = json!("core.oam.dev/v1beta1");
                object["kind"] = json!(kind);
                // A definition of the cluster that cannot be read is the matter of those applications that use it.
                let _ = snapshot.insert_definition_object(object);
            }
        }
    }
    let mut recorded = Recorded::default();
    if versions::are_asked(applications) {
        for namespace in std::iter::once(&SYSTEM_NAMESPACE).chain(namespaces) {
            for object in cluster.list("core.oam.dev/v1beta1", versions::KIND, Some(namespace)).await? {
                let _ = recorded.keep(&mut snapshot, &json!(object));
            }
        }
    }
    add_definitions(&mut snapshot, more, recorded)?;
    let added = add_kinds(cluster.client(), &mut snapshot).await;
    added.map_err(|error| cluster.failure("tell the schemas that definitions import", &error))?;
    Ok(snapshot)
}

/// Adds definitions and recorded versions of definitions as they are given.
fn add_definitions(
    snapshot: &mut Snapshot,
    documents: &[&Document],
    mut recorded: Recorded,
) -> Result<Recorded> {
    let mut wrong = Diagnostics::new();
    let (kept, given): (Vec<&Document>, Vec<&Document>) =
        documents.iter().copied().partition(|document| document.kind() == versions::KIND);
    for revision in kept {
        if let Err(diagnostic) = recorded.keep(snapshot, revision.value()) {
            wrong.push(diagnostic);
        }
    }
    for document in given {
        match Definition::from_document(document).map(Arc::new) {
            Ok(definition) => {
                recorded.expect(snapshot, &definition);
                snapshot.insert_definition(definition);
            }
            Err(diagnostic) => wrong.push(diagnostic),
        }
    }
    if wrong.has_errors() { Err(wrong.into()) } else { Ok(recorded) }
}

/// What is wrong with the definitions given, as admission would judge them.
pub(crate) fn faults(definitions: &[&Document], snapshot: &Snapshot, templates: &Templates) -> Diagnostics {
    let mut faults = Diagnostics::new();
    for document in definitions {
        let kind = DefinitionKind::from_kind(document.kind());
        let Some(definition) = kind.and_then(|kind| snapshot.definition(kind, document.name())) else {
            continue;
        };
        for finding in findings(definition, templates) {
            let path = match finding.path.as_str() {
                "" if matches!(definition.language(), Language::Cue(_)) => "spec.schematic.cue.template",
                "" => "spec.schematic",
                path => path,
            };
            let placed = finding.clone().at(document, path.to_owned());
            faults.push(if finding.manifest.is_some() { finding } else { placed });
        }
    }
    faults
}

/// Is it a definition that can be put into a snapshot?
pub(crate) fn is_definition(document: &Document) -> bool {
    document.api_version().starts_with("core.oam.dev/")
        && (DefinitionKind::from_kind(document.kind()).is_some() || document.kind() == versions::KIND)
}

/// Is it an Application of any version?
pub(crate) fn is_application(document: &Document) -> bool {
    order::is_application(document) && document.kind() == "Application"
}

/// The document in `namespace` unless it names one itself; the places of its fields stay.
pub(crate) fn in_namespace(document: &Document, namespace: &str) -> Document {
    if !document.namespace().is_empty() {
        return document.clone();
    }
    let mut value = document.value().clone();
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("namespace".to_owned(), json!(namespace));
    }
    document.with_value(value)
}

/// Renders every application, with the definitions that were given beside them; all errors of all of them come together.
/// When `strict`, what is written and would come to nothing is an error, too.
pub(crate) fn render(
    applications: &[Document],
    definitions: &[&Document],
    snapshot: &Snapshot,
    strict: bool,
) -> Result<Vec<Rendered>> {
    let templates = Templates::default();
    let faults = faults(definitions, snapshot, &templates);
    let broken: HashSet<String> = faults.iter().filter_map(definition_of).collect();
    let mut failures = Vec::new();
    if faults.has_errors() {
        failures.push(Failure::from(faults));
    }
    let mut rendered = Vec::new();
    for application in applications {
        let one = dry_run::render(application, snapshot, &templates);
        match one.and_then(|one| if strict { one.strictly() } else { Ok(one) }) {
            Ok(one) => rendered.push(one),
            Err(first) => {
                let all = everything(application, snapshot, first);
                let all = if strict { all.strictly() } else { all }.into_iter();
                // A broken definition was told already: each of its users would tell the same again.
                let new = all.filter(|one| definition_of(one).is_none_or(|title| !broken.contains(&title)));
                let new: Diagnostics = new.collect();
                if !new.is_empty() {
                    failures.push(Failure::from(new));
                }
            }
        }
    }
    Failure::all(failures).map_or(Ok(rendered), Err)
}

fn definition_of(finding: &Diagnostic) -> Option<String> {
    finding.definition.as_ref().map(|place| place.definition.clone())
}

/// The warnings about applications that would run, and an error of those that need what is not supported yet.
pub(crate) fn doubts(rendered: &[Rendered]) -> (Vec<String>, Option<Failure>) {
    let mut failures = Vec::new();
    let mut warnings = Vec::new();
    for one in rendered {
        let left_out = one.plan().left_out();
        if !left_out.is_empty() {
            failures.push(Failure::will_not_run(&one.app_file().document().title(), left_out.clone()));
        }
        let is_new = |warning: &&Diagnostic| !left_out.iter().any(|part| part == *warning);
        warnings.extend(one.warnings().iter().filter(is_new).map(ToString::to_string));
    }
    (warnings, Failure::all(failures))
}

/// The same as the cluster's controller applies it: objects of versions that the cluster does not serve any more are in
/// the versions that followed.
pub(crate) async fn succeeded(cluster: &Cluster, rendered: Vec<Rendered>) -> Result<Vec<Rendered>> {
    let mut succeeded = Vec::with_capacity(rendered.len());
    let mut failures = Vec::new();
    for one in rendered {
        let not_served = cluster.not_served(one.withdrawn()).await;
        match one.with_successors(&not_served) {
            Ok(one) => succeeded.push(one),
            Err(diagnostics) => failures.push(Failure::from(diagnostics)),
        }
    }
    Failure::all(failures).map_or(Ok(succeeded), Err)
}

/// A render stops at the phase that fails; people want to hear of the mistakes of later phases in the same run.
fn everything(application: &Document, snapshot: &Snapshot, first: Diagnostics) -> Diagnostics {
    let all = vela_engine::check(application, snapshot, &Templates::default());
    if all.has_errors() { all } else { first }
}

/// Looks for everything that can be known to be wrong before the first write; gives warnings.
pub(crate) async fn check(cluster: &Cluster, documents: &[Document], strict: bool) -> Result<Vec<String>> {
    let mut failures = Vec::new();
    failures.extend(collisions(documents, cluster.namespace()).map(Failure::from));
    let definitions: Vec<&Document> = documents.iter().filter(|document| is_definition(document)).collect();
    let applications: Vec<Document> = documents
        .iter()
        .filter(|document| is_application(document))
        .map(|document| in_namespace(document, cluster.namespace()))
        .collect();
    let mut warnings = Vec::new();
    if !applications.is_empty() || !definitions.is_empty() {
        let mut namespaces: Vec<&str> = applications.iter().map(Document::namespace).collect();
        namespaces.sort_unstable();
        namespaces.dedup();
        let snapshot = cluster_snapshot(cluster, &definitions, &namespaces, &applications).await?;
        let rendered = match render(&applications, &definitions, &snapshot, strict) {
            Ok(rendered) => succeeded(cluster, rendered).await,
            Err(failure) => Err(failure),
        };
        match rendered {
            Ok(rendered) => {
                let (doubts, will_not_run) = doubts(&rendered);
                warnings = doubts;
                failures
                    .extend(will_not_run.map(|failure| failure.closing("Nothing was written.".to_owned())));
            }
            Err(failure) => failures.push(failure),
        }
    }
    Failure::all(failures).map_or(Ok(warnings), Err)
}

/// Two documents that describe one object: the later would silently win over the earlier.
fn collisions(documents: &[Document], namespace: &str) -> Option<Error> {
    let mut seen: HashMap<(String, &str, String, &str), &Document> = HashMap::new();
    for document in documents {
        let group = document.api_version().rsplit_once('/').map_or("", |(group, _)| group).to_owned();
        let place = if document.namespace().is_empty() { namespace } else { document.namespace() };
        let key = (group, document.kind(), place.to_owned(), document.name());
        if let Some(first) = seen.insert(key, document) {
            let place = |document: &Document| {
                document
                    .places()
                    .value("metadata.name")
                    .map_or_else(|| document.title(), |place| place.to_string())
            };
            let message = format!("{}: {} is described twice", place(document), document.title());
            return Some(Error::user(message).hint(format!("the other one is at {}", place(first))));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use vela_core::access::{AUTHOR, EVERYBODY, VIEWER};

    use super::*;

    /// Whoever writes applications in one namespace reads the types there, and those of the system namespace.
    #[test]
    fn the_roles_of_an_installation_let_types_be_read() {
        for kind in DEFINITION_KINDS {
            let plural = format!("{}s", kind.to_lowercase());
            let may = |rules: &[vela_core::access::Rule], resource: &str| {
                rules.iter().any(|rule| rule.allows("list", "core.oam.dev", resource))
            };
            assert!(may(EVERYBODY, &plural) && may(AUTHOR, &plural) && may(VIEWER, "*"), "{kind}");
        }
    }
}
