//! Checks and renders applications before anything is written.

pub(crate) mod findings;
mod no_cluster;
mod workflows;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use vela_engine::definition::Language;
pub(crate) use vela_engine::definition::is_definition;
use vela_engine::render::Rendered;
use vela_engine::{
    ClusterVersion, Definition, DefinitionKind, Diagnostic, Diagnostics, Document, Snapshot, Templates,
    dry_run,
};
use vela_runtime::egress::EgressPolicy;
use vela_runtime::{Discovery, discovery};
use vela_snapshot::{Files, Live, Namespaces, Reader, Source};
use vela_webhooks::definition as webhooks;

use crate::appfile::{self, Origins, Resolved};
use crate::args::Global;
use crate::cluster::Cluster;
use crate::error::{Error, Failure, Result};
use crate::screen::Screen;
use crate::system_namespace::USUAL;
use crate::{environment, installation, order};
pub(crate) use no_cluster::NoCluster;
pub(crate) use workflows::{JudgedWorkflows, workflows};

/// The kinds of definitions that people name.
pub(crate) const DEFINITION_KINDS: [DefinitionKind; 5] = [
    DefinitionKind::Component,
    DefinitionKind::Trait,
    DefinitionKind::Workload,
    DefinitionKind::Policy,
    DefinitionKind::WorkflowStep,
];
/// What keeps a version of a definition.
const DEFINITION_REVISION: &str = "DefinitionRevision";

/// Reads what the built-in definitions and `more` allow, without any cluster, as one of this version would.
pub(crate) fn built_in(version: ClusterVersion, more: &[&Document]) -> Result<Reader<Files<NoCluster>>> {
    let built_in = installation::definitions(USUAL).into_iter().map(Document::from_object);
    let all = built_in.chain(more.iter().map(|document| (*document).clone()));
    let namespaces = Namespaces::default();
    Ok(Reader::new(Files::new(NoCluster::of_version(version), namespaces.clone(), all)?, namespaces))
}

/// Reads what the definitions of the cluster and `more` allow; those given win.
pub(crate) async fn of_cluster(cluster: &Cluster, more: &[&Document]) -> Result<Reader<Files<Live>>> {
    // Where none is installed, that is the answer, and not that one of them is missing.
    cluster.kind("core.oam.dev/v1beta1", DefinitionKind::Component.kind()).await?;
    let client = cluster.client().clone();
    let live = Live::new(client.clone(), Discovery::new(client));
    let system = cluster.system_namespace().await?.to_owned();
    let namespaces = Namespaces { system, ..Namespaces::default() };
    let more = more.iter().map(|document| (*document).clone());
    let reader = Reader::new(Files::new(live, namespaces.clone(), more)?, namespaces);
    // The person at this machine asks, and may well serve the file there.
    Ok(reader.reading_urls(EgressPolicy::ServicesAndLoopback))
}

/// The documents with Appfiles as Applications, by the types of the cluster and of the documents.
pub(crate) async fn without_appfiles(cluster: &Cluster, documents: Vec<Document>) -> Result<Resolved> {
    if !documents.iter().any(appfile::is_appfile) {
        return Ok(Resolved { documents, ..Resolved::default() });
    }
    let definitions: Vec<Document> = documents.iter().filter(|one| is_definition(one)).cloned().collect();
    let definitions: Vec<&Document> = definitions.iter().collect();
    let reader = of_cluster(cluster, &definitions).await?;
    let unread = |error| self::unread(Some(cluster), error);
    appfile::resolve(&reader, cluster.namespace(), documents, unread).await
}

/// The namespace of what names none: the one given, else that of the current environment, which no cluster is asked about.
pub(crate) fn namespace(global: &Global, screen: &mut Screen) -> Result<String> {
    if let Some(current) = environment::chosen(global)? {
        screen.say(&current.title());
        return Ok(current.namespace);
    }
    Ok(global.namespace.clone().unwrap_or_else(|| "default".to_owned()))
}

/// Why the cluster could not be read, as an error of ours.
pub(crate) fn unread(cluster: Option<&Cluster>, error: vela_snapshot::Error) -> Failure {
    use vela_snapshot::Error::{Api, Definition, Kind};
    match (error, cluster) {
        (Definition { found, .. }, _) => found.into(),
        (Api { what, source }, Some(cluster)) => cluster.failure(&format!("give {what}"), &source),
        (Kind(discovery::Error::Client { source, .. }), Some(cluster)) => {
            cluster.failure("say which kinds it has", &source)
        }
        (error, Some(_)) => Error::cluster(error.to_string()).into(),
        (error, None) => Error::internal(error.to_string()).into(),
    }
}

/// Applications, each with the snapshot that it sees, and the definitions given beside them.
pub(crate) struct RenderInputs {
    applications: Vec<(Document, Result<Snapshot>)>,
    judged: Vec<(Document, Arc<Definition>)>,
    /// Of the applications that were written as Appfiles.
    origins: Origins,
}

impl RenderInputs {
    /// Reads what the applications and the definitions name.
    pub(crate) async fn read<S: Source>(
        reader: &Reader<S>,
        applications: Vec<Document>,
        definitions: &[&Document],
        unread: impl Fn(vela_snapshot::Error) -> Failure,
    ) -> Result<Self> {
        let mut judged = Vec::new();
        for document in definitions.iter().filter(|document| document.kind() != DEFINITION_REVISION) {
            let definition = reader.definition(document).await.map_err(&unread)?;
            judged.push(((*document).clone(), definition));
        }
        let mut read = Vec::with_capacity(applications.len());
        for application in applications {
            let snapshot = reader.application(application.namespace(), &application).await;
            read.push((application, snapshot.map_err(&unread)));
        }
        Ok(Self { applications: read, judged, origins: Origins::default() })
    }

    /// The same, where some of the applications were written as Appfiles.
    pub(crate) fn written(self, origins: &Origins) -> Self {
        Self { origins: origins.clone(), ..self }
    }

    /// What is wrong with the definitions given, as admission would judge them.
    pub(crate) fn faults(&self, templates: &Templates) -> Diagnostics {
        let mut faults = Diagnostics::new();
        for (document, definition) in &self.judged {
            faults.extend(findings_of_definition(document, definition, templates));
        }
        faults
    }
}

/// What is wrong with one definition, each finding at its place in the document.
fn findings_of_definition(
    document: &Document,
    definition: &Definition,
    templates: &Templates,
) -> Diagnostics {
    let placed = |finding: Diagnostic| {
        let path = match finding.path.as_str() {
            "" if matches!(definition.language(), Language::Cue(_)) => "spec.schematic.cue.template",
            "" => "spec.schematic",
            path => path,
        };
        if finding.manifest.is_some() { finding } else { finding.clone().at(document, path.to_owned()) }
    };
    webhooks::findings(definition, templates).into_iter().map(placed).collect()
}

/// Is it an Application of any version?
pub(crate) fn is_application(document: &Document) -> bool {
    order::is_application(document) && document.kind() == "Application"
}

/// Renders every application, with the definitions that were given beside them; all errors of all of them come together.
/// When `strict`, what is written and would come to nothing is an error, too.
pub(crate) fn render(inputs: RenderInputs, strict: bool) -> Result<Vec<Rendered>> {
    let templates = Templates::default();
    let faults = inputs.faults(&templates);
    let broken: HashSet<String> = faults.iter().filter_map(definition_of).collect();
    let mut failures = Vec::new();
    if faults.has_errors() {
        failures.push(Failure::from(faults));
    }
    let mut rendered = Vec::new();
    for (application, snapshot) in inputs.applications {
        let snapshot = match snapshot {
            Ok(snapshot) => snapshot,
            Err(failure) => {
                failures.push(failure);
                continue;
            }
        };
        let one = dry_run::render(&application, &snapshot, &templates);
        match one.and_then(|one| if strict { one.strictly() } else { Ok(one) }) {
            Ok(one) => rendered.push(one),
            Err(first) => {
                let all = everything(&application, &snapshot, first);
                let all = if strict { all.strictly() } else { all }.into_iter();
                // A broken definition was told already: each of its users would tell the same again.
                let new = all.filter(|one| definition_of(one).is_none_or(|title| !broken.contains(&title)));
                let new: Diagnostics = new.collect();
                if !new.is_empty() {
                    failures.push(Failure::from(inputs.origins.place(new)));
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
pub(crate) fn warnings(rendered: &[Rendered], origins: &Origins) -> (Vec<String>, Option<Failure>) {
    let mut failures = Vec::new();
    let mut warnings = Vec::new();
    for one in rendered {
        let left_out = one.plan().left_out();
        if !left_out.is_empty() {
            let parts = origins.place(left_out.clone());
            failures.push(Failure::will_not_run(&one.app_file().document().title(), parts));
        }
        let is_new = |warning: &&Diagnostic| !left_out.iter().any(|part| part == *warning);
        let new = one.warnings().iter().filter(is_new);
        warnings.extend(new.map(|warning| origins.place_one(warning.clone()).to_string()));
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
pub(crate) async fn check(
    cluster: &Cluster,
    documents: &[Document],
    origins: &Origins,
    strict: bool,
) -> Result<Vec<String>> {
    let mut failures = Vec::new();
    failures.extend(collisions(documents, cluster.namespace()).map(Failure::from));
    let definitions: Vec<&Document> = documents.iter().filter(|document| is_definition(document)).collect();
    let applications: Vec<Document> = documents
        .iter()
        .filter(|document| is_application(document))
        .map(|document| document.in_namespace(cluster.namespace()))
        .collect();
    let mut warnings = Vec::new();
    if !applications.is_empty() || !definitions.is_empty() {
        let reader = of_cluster(cluster, &definitions).await?;
        let inputs =
            RenderInputs::read(&reader, applications, &definitions, |error| unread(Some(cluster), error))
                .await?
                .written(origins);
        let rendered = match render(inputs, strict) {
            Ok(rendered) => succeeded(cluster, rendered).await,
            Err(failure) => Err(failure),
        };
        match rendered {
            Ok(rendered) => {
                let (found, will_not_run) = self::warnings(&rendered, origins);
                warnings = found;
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

    /// The author of applications in one namespace reads the types there, and those of the system namespace.
    #[test]
    fn the_roles_of_an_installation_let_types_be_read() {
        for kind in DEFINITION_KINDS {
            let plural = format!("{}s", kind.kind().to_lowercase());
            let may = |rules: &[vela_core::access::Rule], resource: &str| {
                rules.iter().any(|rule| rule.allows("list", "core.oam.dev", resource))
            };
            assert!(may(EVERYBODY, &plural) && may(AUTHOR, &plural) && may(VIEWER, "*"), "{plural}");
        }
    }
}
