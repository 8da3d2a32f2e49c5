//! Computes the revision of an AppFile: the content hash of the application with its definitions, and the name
//! `<app>-vN`.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};
use vela_crds::annotations;

use crate::definition::{Definition, DefinitionKind};
use crate::manifest::Document;
use crate::parse::AppFile;
pub use crate::previous::Previous;

/// Which application content this is: the one identity that revision, record of owned resources and
/// workflow run carry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    application: String,
    namespace: String,
    name: String,
    number: u64,
    hash: String,
}

impl Identity {
    /// Name of the application.
    pub fn application(&self) -> &str {
        &self.application
    }

    /// Namespace of the application.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// `<app>-vN`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// N.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// 16 hexadecimal digits over spec and used definitions.
    pub fn hash(&self) -> &str {
        &self.hash
    }
}

/// An AppFile that knows which revision it is.
#[derive(Debug, Clone)]
pub struct Revision {
    app_file: Arc<AppFile>,
    identity: Arc<Identity>,
    is_new: bool,
}

impl Revision {
    /// The application.
    pub fn app_file(&self) -> &Arc<AppFile> {
        &self.app_file
    }

    /// Hash and name.
    pub fn identity(&self) -> &Arc<Identity> {
        &self.identity
    }

    /// Does the content differ from the previous revision's?
    pub fn is_new(&self) -> bool {
        self.is_new
    }

    /// The `spec` of the ApplicationRevision object: the application and every definition used.
    pub fn spec(&self) -> Json {
        let application = self.app_file.written().value();
        let metadata = application.get("metadata");
        let kept = ["name", "namespace", "labels", "annotations"].into_iter().filter_map(|key| {
            metadata.and_then(|metadata| metadata.get(key)).map(|value| (key.to_owned(), value.clone()))
        });
        let mut spec = json!({"application": {
            "apiVersion": application.get("apiVersion"),
            "kind": application.get("kind"),
            "metadata": Json::Object(kept.collect()),
            "spec": application.get("spec"),
        }});
        for (key, definition) in self.keyed_definitions() {
            spec[field(definition.kind())][key] = frozen(definition);
        }
        spec
    }

    /// Every definition used, under its name; of several versions of one, each under the name it was asked for by
    /// (`name@vN`), so that none takes the place of another.
    fn keyed_definitions(&self) -> Vec<(String, &Arc<Definition>)> {
        let all = self.app_file.definitions();
        let is_only_one = |definition: &Definition| {
            let same = |other: &&&Arc<Definition>| {
                other.kind() == definition.kind() && other.name() == definition.name()
            };
            all.iter().filter(same).count() == 1
        };
        let asked_as = |definition: &Arc<Definition>| -> BTreeSet<String> {
            let components = self.app_file.components().iter();
            let uses = components.flat_map(|component| {
                let traits = component.traits.iter().map(|t| (&t.definition, &t.type_));
                traits.chain([(&component.definition, &component.type_)])
            });
            let steps = self.app_file.workflow().into_iter().flat_map(|workflow| &workflow.steps);
            let steps = steps.filter_map(|step| Some((step.definition.as_ref()?, &step.type_)));
            let policies = self.app_file.transformed().into_iter().flat_map(|one| &one.definitions);
            let policies = policies.map(|(type_, definition)| (definition, type_));
            let makers = self.app_file.policies().iter();
            let makers = makers.filter_map(|policy| Some((policy.object_definition()?, &policy.type_)));
            let uses = uses.chain(steps).chain(policies).chain(makers);
            let used = |(used, _): &(&Arc<Definition>, &String)| {
                used.kind() == definition.kind() && used.hash() == definition.hash()
            };
            uses.filter(used).map(|(_, type_)| type_.clone()).collect()
        };
        let keys = |definition: &Arc<Definition>| match is_only_one(definition) {
            true => BTreeSet::from([definition.name().to_owned()]),
            false => asked_as(definition),
        };
        let keyed = all.iter().flat_map(|definition| {
            let definition = *definition;
            keys(definition).into_iter().map(move |key| (key, definition))
        });
        keyed.collect()
    }
}

/// Names the content: the previous revision's name if nothing changed, the next number otherwise.
pub fn revision(app_file: AppFile, previous: Option<&Previous>) -> Revision {
    revision_among(app_file, previous.map_or(&[], std::slice::from_ref))
}

/// The same where several revisions are known: what the status says first, then what is stored. A content that the
/// status names keeps that name, although a newer revision of another content was recorded by a reconcile that was cut off.
pub fn revision_among(app_file: AppFile, known: &[Previous]) -> Revision {
    let hash = hash(&app_file);
    let newest = known.iter().map(|known| known.number).max();
    let (number, is_new) = match (known.iter().find(|known| known.hash == hash), newest) {
        (Some(same), _) => (same.number, false),
        (None, Some(newest)) => (newest.saturating_add(1), true),
        (None, None) => (1, true),
    };
    let identity = Identity {
        application: app_file.name().to_owned(),
        namespace: app_file.namespace().to_owned(),
        name: format!("{}-v{number}", app_file.name()),
        number,
        hash,
    };
    Revision { app_file: Arc::new(app_file), identity: Arc::new(identity), is_new }
}

/// Names the content by the number under which it was recorded.
pub fn recorded(app_file: AppFile, number: u64) -> Revision {
    let previous = Previous { number, hash: hash(&app_file) };
    revision(app_file, Some(&previous))
}

/// The content of a revision: the spec without the rollout plan, and the version that the author publishes it as.
/// Labels, other annotations and the plan do not count: they do not change what is deployed.
pub fn asked(application: &Document) -> (Json, Option<&str>) {
    let mut spec = application.value().get("spec").cloned().unwrap_or(Json::Null);
    if let Some(spec) = spec.as_object_mut() {
        spec.remove("rolloutPlan");
    }
    let annotations = application.value().pointer("/metadata/annotations");
    let published = annotations.and_then(|all| all.get(annotations::PUBLISH_VERSION)?.as_str());
    (spec, published.filter(|version| !version.is_empty()))
}

/// The content hash of what the author asks for, whatever the definitions are.
pub fn asked_hash(application: &Document) -> String {
    let mut hasher = Sha256::new();
    add_asked(application, &mut hasher);
    hex::encode(&hasher.finalize()[..8])
}

/// The content hash of what the author asks for and the definitions used.
pub fn hash(app_file: &AppFile) -> String {
    let mut hasher = Sha256::new();
    add_asked(app_file.written(), &mut hasher);
    for definition in app_file.definitions() {
        hasher.update([0]);
        hasher.update(definition.hash());
    }
    hex::encode(&hasher.finalize()[..8])
}

fn add_asked(application: &Document, hasher: &mut Sha256) {
    let (spec, published) = asked(application);
    // Keys of JSON objects are sorted, so equal content has equal text.
    hasher.update(spec.to_string());
    if let Some(version) = published {
        hasher.update([1]);
        hasher.update(version);
    }
}

/// Where an ApplicationRevision records the definitions of a kind.
pub(crate) fn field(kind: DefinitionKind) -> &'static str {
    match kind {
        DefinitionKind::Component => "componentDefinitions",
        DefinitionKind::Trait => "traitDefinitions",
        DefinitionKind::Workload => "workloadDefinitions",
        DefinitionKind::Scope => "scopeDefinitions",
        DefinitionKind::Policy => "policyDefinitions",
        DefinitionKind::WorkflowStep => "workflowStepDefinitions",
    }
}

/// A definition as a revision records it.
pub(crate) fn frozen(definition: &Definition) -> Json {
    let metadata = definition.object().get("metadata");
    let mut frozen = json!({
        "apiVersion": definition.object().get("apiVersion"),
        "kind": definition.kind().kind(),
        "metadata": {"name": definition.name()},
        "spec": definition.spec(),
    });
    if let Some(namespace) = metadata.and_then(|metadata| metadata.get("namespace")) {
        frozen["metadata"]["namespace"] = namespace.clone();
    }
    // Without it the template would be read by another release.
    let era = annotations::DEFINITION_CUE_ERA;
    if let Some(named) = metadata.and_then(|metadata| metadata.get("annotations")?.get(era)) {
        frozen["metadata"]["annotations"] = json!({era: named});
    }
    frozen
}
