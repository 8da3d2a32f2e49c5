//! Definition objects (ComponentDefinition, TraitDefinition, …), read into what the engine needs to know of them.

pub mod cue_file;
mod immutable;
pub mod record;
mod secret_parameters;
pub mod stage;
pub mod version;

use std::fmt;
use std::sync::Arc;

use serde_json::Value as Json;
use sha2::{Digest, Sha256};
use vela_crds::annotations;
use vela_cue::Era;

use crate::diagnostic::{Code, DefinitionPlace, Diagnostic};
use crate::kube_packages::{self, KubePackage};
use crate::manifest::{Document, Lines};
pub use secret_parameters::SecretParameter;
#[cfg(test)]
pub(crate) use secret_parameters::TAKEN;
pub(crate) use secret_parameters::{MARKER, secret_parameters};

/// Larger templates are refused.
const TEMPLATE_LIMIT: usize = 1 << 20;

/// The release of CUE for templates that do not say theirs: it accepts all that an older release accepts, for
/// definitions outlive releases, and a text of the newest one means the same.
pub const DEFAULT_ERA: Era = Era::V0_9;

/// Where templates in CUE stand.
const TEMPLATES: [&[&str]; 2] =
    [&["spec", "schematic", "cue", "template"], &["spec", "extension", "template"]];

/// The era that the annotation names.
fn era(object: &Json) -> Result<Era, String> {
    let given =
        object.pointer("/metadata/annotations").and_then(|all| all.get(annotations::DEFINITION_CUE_ERA));
    match given.and_then(Json::as_str) {
        None => Ok(DEFAULT_ERA),
        Some(text) => text.parse().map_err(|e| format!("{}: {e}", annotations::DEFINITION_CUE_ERA)),
    }
}

/// Which kind of definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DefinitionKind {
    /// `ComponentDefinition` (v1beta1).
    Component,
    /// `TraitDefinition`.
    Trait,
    /// `WorkloadDefinition`: a component type too, and the v1alpha2 registration of a workload kind.
    Workload,
    /// `ScopeDefinition`.
    Scope,
    /// `PolicyDefinition`.
    Policy,
    /// `WorkflowStepDefinition`.
    WorkflowStep,
}

/// Is it a definition, or a revision of one?
pub fn is_definition(document: &Document) -> bool {
    document.api_version().starts_with("core.oam.dev/")
        && (DefinitionKind::from_kind(document.kind()).is_some() || document.kind() == "DefinitionRevision")
}

impl DefinitionKind {
    /// The Kubernetes kind.
    pub fn kind(self) -> &'static str {
        match self {
            Self::Component => "ComponentDefinition",
            Self::Trait => "TraitDefinition",
            Self::Workload => "WorkloadDefinition",
            Self::Scope => "ScopeDefinition",
            Self::Policy => "PolicyDefinition",
            Self::WorkflowStep => "WorkflowStepDefinition",
        }
    }

    /// The kind with this Kubernetes name.
    pub fn from_kind(kind: &str) -> Option<Self> {
        [Self::Component, Self::Trait, Self::Workload, Self::Scope, Self::Policy, Self::WorkflowStep]
            .into_iter()
            .find(|candidate| candidate.kind() == kind)
    }

    /// The word of users for this kind.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Component => "component",
            Self::Trait => "trait",
            Self::Workload => "workload",
            Self::Scope => "scope",
            Self::Policy => "policy",
            Self::WorkflowStep => "workflow step",
        }
    }
}

/// How a definition makes objects.
#[derive(Debug, Clone, PartialEq)]
pub enum Language {
    /// A CUE template.
    Cue(Arc<str>),
    /// A handlebars template whose result is YAML: the first document is the workload, the others go along.
    Handlebars(Arc<str>),
    /// A raw object with parameters that are written at field paths.
    Kube {
        /// The object.
        template: Json,
        /// The fields that may be set in it.
        parameters: Vec<KubeParameter>,
    },
    /// A terraform configuration: the schematic.
    Terraform(Json),
    /// A Helm chart, as Flux objects.
    Helm {
        /// Spec of the HelmRelease.
        release: Json,
        /// Spec of the HelmRepository.
        repository: Json,
    },
    /// Another schematic, which vela does not render.
    Other(String),
    /// None: a kind is registered, nothing is rendered.
    None,
}

/// One parameter of a `kube` schematic.
#[derive(Debug, Clone, PartialEq)]
pub struct KubeParameter {
    /// Name in the properties.
    pub name: String,
    /// `string`, `number` or `boolean`.
    pub value_type: String,
    /// Where it is written.
    pub field_paths: Vec<String>,
    /// Must it be given?
    pub required: bool,
}

/// A definition, as the engine reads it.
#[derive(Debug, Clone)]
pub struct Definition {
    kind: DefinitionKind,
    name: String,
    object: Arc<Json>,
    hash: String,
    language: Language,
    era: Era,
    packages: Vec<Arc<KubePackage>>,
    /// The file that holds the template, and where its lines stand there.
    written: Option<(Arc<str>, Lines)>,
}

/// Two are equal that have the same name and content, wherever they were read.
impl PartialEq for Definition {
    fn eq(&self, other: &Self) -> bool {
        (self.kind, &self.name, &self.hash) == (other.kind, &other.name, &other.hash)
    }
}

impl Definition {
    /// Reads a definition object, v1alpha2 or v1beta1.
    ///
    /// # Errors
    /// It is no definition, or its schematic or annotations cannot be read.
    pub fn from_document(document: &Document) -> Result<Self, Diagnostic> {
        let bad =
            |code, message: String, path: &str| Err(Diagnostic::error(code, message).at(document, path));
        let Some(kind) = DefinitionKind::from_kind(document.kind()) else {
            return bad(Code::WrongKind, format!("{} is not a definition", document.kind()), "kind");
        };
        if document.name().is_empty() {
            return bad(Code::MissingField, "a definition needs a name".to_owned(), "metadata.name");
        }
        let spec = document.value().get("spec").unwrap_or(&Json::Null);
        let language = match language(spec) {
            Ok(language) => language,
            Err((path, message)) => return bad(Code::BadDefinition, message, path),
        };
        let era = match era(document.value()) {
            Ok(era) => era,
            Err(message) => return bad(Code::BadDefinition, message, "metadata.annotations"),
        };
        let mut hasher = Sha256::new();
        hasher.update(kind.kind());
        hasher.update([0]);
        hasher.update(document.name());
        hasher.update([0]);
        hasher.update(spec.to_string());
        // Without the annotation the hash is that of the definition alone.
        if era != DEFAULT_ERA {
            hasher.update(era.name());
        }
        Ok(Self {
            kind,
            name: document.name().to_owned(),
            object: Arc::new(document.value().clone()),
            hash: hex::encode(hasher.finalize()),
            language,
            era,
            packages: Vec::new(),
            written: TEMPLATES.iter().find_map(|path| document.places().lines(path)),
        })
    }

    /// Reads a definition object that did not come from a text.
    ///
    /// # Errors
    /// Those of [`Definition::from_document`], without a place.
    pub fn from_object(object: Json) -> Result<Self, Diagnostic> {
        Self::from_document(&Document::from_object(object))
    }

    /// Import paths of the cluster's kinds that its template uses: `kube/apps/v1`.
    pub fn imports(&self) -> Vec<String> {
        match &self.language {
            Language::Cue(text) => kube_packages::imported(text),
            _ => Vec::new(),
        }
    }

    /// The same with the packages that [`Definition::imports`] names. They belong to its content: when kinds change,
    /// so does the hash.
    #[must_use]
    pub fn with_packages(mut self, packages: Vec<Arc<KubePackage>>) -> Self {
        if !packages.is_empty() {
            let mut hasher = Sha256::new();
            hasher.update(&self.hash);
            packages.iter().for_each(|package| hasher.update(package.hash()));
            self.hash = hex::encode(hasher.finalize());
        }
        self.packages = packages;
        self
    }

    /// The parameters that name a Secret whose content its template sees.
    ///
    /// # Errors
    /// A marker that cannot be followed: what is wrong with it, in words.
    pub fn secret_parameters(&self) -> Result<Vec<SecretParameter>, String> {
        match &self.language {
            Language::Cue(template) => secret_parameters(template, self.era),
            _ => Ok(Vec::new()),
        }
    }

    /// Paths of the parameters that never change once they are given.
    pub fn immutable_parameters(&self) -> Vec<Vec<String>> {
        match &self.language {
            Language::Cue(template) => immutable::immutable_parameters(template, self.era),
            _ => Vec::new(),
        }
    }

    /// The packages it was given.
    pub fn packages(&self) -> &[Arc<KubePackage>] {
        &self.packages
    }

    /// The release of CUE its template was written for.
    pub fn era(&self) -> Era {
        self.era
    }

    /// Which kind.
    pub fn kind(&self) -> DefinitionKind {
        self.kind
    }

    /// `metadata.name`: the type people write.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole object.
    pub fn object(&self) -> &Json {
        &self.object
    }

    /// `spec`.
    pub fn spec(&self) -> &Json {
        self.object.get("spec").unwrap_or(&Json::Null)
    }

    /// Hash of kind, name and spec: equal hashes render equally.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// The template.
    pub fn language(&self) -> &Language {
        &self.language
    }

    /// Text at a dotted path of `spec`, or "".
    pub(crate) fn text(&self, path: &[&str]) -> &str {
        path.iter().try_fold(self.spec(), |value, key| value.get(key)).and_then(Json::as_str).unwrap_or("")
    }

    /// CUE text that says whether the live workload (or trait) is healthy; "" for the built-in rule.
    pub fn health_policy(&self) -> &str {
        self.text(&["status", "healthPolicy"])
    }

    /// CUE text that makes the status message.
    pub fn custom_status(&self) -> &str {
        self.text(&["status", "customStatus"])
    }

    /// CUE text whose fields are shown in the status; those that begin with `$` only help the policy and the message.
    pub fn status_details(&self) -> &str {
        self.text(&["status", "details"])
    }

    /// Workloads a trait applies to: `*`, `deployments.apps`, `*.apps` or names of component types. Empty: all.
    pub fn applies_to(&self) -> Vec<&str> {
        let list = self.spec().get("appliesToWorkloads").and_then(Json::as_array);
        list.into_iter().flatten().filter_map(Json::as_str).collect()
    }

    /// The workload kind: (`apps/v1`, `Deployment`), where the definition says it.
    pub fn workload_kind(&self) -> Option<(&str, &str)> {
        let definition = self.spec().get("workload")?.get("definition")?;
        Some((definition.get("apiVersion")?.as_str()?, definition.get("kind")?.as_str()?))
    }

    /// The workload's resource name, `deployments.apps`, where the definition says it.
    pub fn workload_type(&self) -> Option<&str> {
        [self.text(&["workload", "type"]), self.text(&["definitionRef", "name"])]
            .into_iter()
            .find(|t| !t.is_empty())
    }

    /// A place in the template as one in the file that holds it, where that is known.
    pub fn in_file(&self, place: &mut DefinitionPlace) {
        if let Some((file, lines)) = self.written.as_ref().filter(|_| place.line > 0 && place.file.is_none())
        {
            place.file = Some(Arc::clone(file));
            place.line += lines.before;
            place.column += lines.indent;
        }
    }

    /// `trait definition "scaler"`.
    pub fn title(&self) -> String {
        format!("{} definition {:?}", self.kind.noun(), self.name)
    }
}

impl fmt::Display for Definition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.title())
    }
}

/// The schematic first, then the v1alpha2 `extension.template`.
fn language(spec: &Json) -> Result<Language, (&'static str, String)> {
    let text = |value: &Json, path: &'static str| match value.get("template") {
        Some(Json::String(text)) if text.len() > TEMPLATE_LIMIT => {
            Err((path, format!("the template has {} bytes; the limit is {TEMPLATE_LIMIT}", text.len())))
        }
        Some(Json::String(text)) => Ok(Arc::from(text.as_str())),
        _ => Err((path, "the template must be a text".to_owned())),
    };
    let Some(schematic) = spec.get("schematic").filter(|schematic| !schematic.is_null()) else {
        return match spec.get("extension").filter(|extension| extension.get("template").is_some()) {
            Some(extension) => Ok(Language::Cue(text(extension, "spec.extension.template")?)),
            None => Ok(Language::None),
        };
    };
    if let Some(cue) = schematic.get("cue") {
        return Ok(Language::Cue(text(cue, "spec.schematic.cue.template")?));
    }
    if let Some(handlebars) = schematic.get("handlebars") {
        return Ok(Language::Handlebars(text(handlebars, "spec.schematic.handlebars.template")?));
    }
    if let Some(kube) = schematic.get("kube") {
        return kube_language(kube);
    }
    if let Some(terraform) = schematic.get("terraform").filter(|terraform| terraform.is_object()) {
        return Ok(Language::Terraform(terraform.clone()));
    }
    if let Some(helm) = schematic.get("helm") {
        return helm_language(helm);
    }
    let names = schematic.as_object().map(|object| object.keys().cloned().collect::<Vec<_>>().join(", "));
    Ok(names.filter(|names| !names.is_empty()).map_or(Language::None, Language::Other))
}

fn helm_language(helm: &Json) -> Result<Language, (&'static str, String)> {
    let part = |name: &str, path: &'static str| match helm.get(name).filter(|part| part.is_object()) {
        Some(part) => Ok(part.clone()),
        None => Err((path, "must be an object, a spec as Flux wants it".to_owned())),
    };
    Ok(Language::Helm {
        release: part("release", "spec.schematic.helm.release")?,
        repository: part("repository", "spec.schematic.helm.repository")?,
    })
}

fn kube_language(kube: &Json) -> Result<Language, (&'static str, String)> {
    let Some(template) = kube.get("template").filter(|template| template.is_object()) else {
        return Err(("spec.schematic.kube.template", "the template must be an object".to_owned()));
    };
    let mut parameters = Vec::new();
    for parameter in kube.get("parameters").and_then(Json::as_array).into_iter().flatten() {
        let text = |key: &str| parameter.get(key).and_then(Json::as_str).unwrap_or("").to_owned();
        let paths = parameter.get("fieldPaths").and_then(Json::as_array);
        parameters.push(KubeParameter {
            name: text("name"),
            value_type: text("type"),
            field_paths: paths.into_iter().flatten().filter_map(Json::as_str).map(str::to_owned).collect(),
            required: parameter.get("required").and_then(Json::as_bool).unwrap_or(false),
        });
    }
    Ok(Language::Kube { template: template.clone(), parameters })
}
