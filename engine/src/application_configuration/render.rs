//! Parsed → Rendered: workloads and traits with their names, labels, owner and references to each other.

use serde_json::{Map, Value as Json, json};
use vela_crds::application_configuration::UnsatisfiedDependency;
use vela_crds::{annotations, labels};

use super::compose::owner_reference;
use super::data::Flow;
use super::parse::{Component, Parsed, Scope, Trait};
use super::{items, text};
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::field_path;
use crate::manifest::Document;
use crate::observed::ObjectKey;
use crate::render::short_hash;
use crate::snapshot::Snapshot;

/// Annotations of a configuration that are its own business.
const NOT_PASSED: &[&str] = &[
    annotations::ROLLOUT_TEMPLATE,
    annotations::ROLLING_COMPONENTS,
    annotations::INPLACE_UPGRADE,
    annotations::LAST_APPLIED_CONFIGURATION,
    "kubectl.kubernetes.io/last-applied-configuration",
];

/// A configuration's objects.
#[derive(Debug, Clone)]
pub struct Rendered {
    pub(super) document: Document,
    pub(super) components: Vec<RenderedComponent>,
    pub(super) warnings: Diagnostics,
    pub(super) unsatisfied: Vec<UnsatisfiedDependency>,
}

/// One component's objects.
#[derive(Debug, Clone)]
pub struct RenderedComponent {
    /// Name of the component.
    pub name: String,
    /// Name of the revision used; "" while none was cut.
    pub revision: String,
    /// Does a trait ask for one workload per revision?
    pub revision_enabled: bool,
    /// The workload.
    pub workload: RenderedObject,
    /// The traits in order.
    pub traits: Vec<RenderedObject>,
    /// The scopes to be a member of: the scope, and the path of its list of workloads ("" for none).
    pub scopes: Vec<(ObjectKey, String)>,
}

/// A workload or a trait on its way to the cluster.
#[derive(Debug, Clone)]
pub struct RenderedObject {
    /// The object; data flow writes its inputs into it.
    pub object: Json,
    /// Field path of its entry in the configuration, for diagnostics: `spec.components[0].traits[1]`.
    pub path: String,
    /// Is a definition of it known? (Of a workload always said to be.)
    pub defined: bool,
    /// What it takes from other objects and gives to them.
    pub flow: Flow,
    /// An input is not there yet: the object is wanted, but may not be applied in this lap.
    pub unsatisfied: bool,
}

impl RenderedObject {
    /// Identity of the object.
    pub fn key(&self) -> ObjectKey {
        ObjectKey::of(&self.object)
    }

    /// `{apiVersion, kind, name}`.
    pub fn reference(&self) -> Json {
        reference(&self.object)
    }
}

impl RenderedComponent {
    /// Reference to the workload as scopes and traits hold it.
    pub fn workload_reference(&self) -> Json {
        self.workload.reference()
    }

    /// The workload and its traits, in the order of applying.
    pub fn objects(&self) -> impl Iterator<Item = &RenderedObject> {
        std::iter::once(&self.workload).chain(&self.traits)
    }

    /// [`Self::objects`], to write inputs into them.
    pub fn objects_mut(&mut self) -> impl Iterator<Item = &mut RenderedObject> {
        std::iter::once(&mut self.workload).chain(&mut self.traits)
    }
}

impl Rendered {
    /// The components in order.
    pub fn components(&self) -> &[RenderedComponent] {
        &self.components
    }

    /// The configuration they were made from.
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// The components, for data flow to write inputs into.
    pub fn components_mut(&mut self) -> &mut [RenderedComponent] {
        &mut self.components
    }

    /// The inputs that are not there yet, as the status tells them.
    pub fn unsatisfied(&self) -> &[UnsatisfiedDependency] {
        &self.unsatisfied
    }

    /// Says which inputs are not there yet; their objects must be marked as well.
    pub fn set_unsatisfied(&mut self, unsatisfied: Vec<UnsatisfiedDependency>) {
        self.unsatisfied = unsatisfied;
    }

    /// What is doubtful.
    pub fn warnings(&self) -> &Diagnostics {
        &self.warnings
    }
}

fn reference(object: &Json) -> Json {
    json!({
        "apiVersion": text(object, &["apiVersion"]),
        "kind": text(object, &["kind"]),
        "name": text(object, &["metadata", "name"]),
    })
}

/// Names, labels and connects the objects. The snapshot holds workloads of revision-enabled components.
pub fn render(parsed: &Parsed, snapshot: &Snapshot) -> Result<Rendered, Diagnostics> {
    let mut found = parsed.warnings.clone();
    let mut components = Vec::with_capacity(parsed.components.len());
    for component in &parsed.components {
        let document = &parsed.document;
        match component_objects(parsed, component, snapshot) {
            Ok(rendered) => components.push(rendered),
            Err((path, message)) => {
                found.push(Diagnostic::error(Code::Template, message).at(document, path));
            }
        }
    }
    let (components, warnings) = found.or(components)?;
    Ok(Rendered { document: parsed.document.clone(), components, warnings, unsatisfied: Vec::new() })
}

type Failure = (String, String);

fn component_objects(
    parsed: &Parsed,
    component: &Component,
    snapshot: &Snapshot,
) -> Result<RenderedComponent, Failure> {
    let revision_enabled = component
        .traits
        .iter()
        .filter_map(|trait_| trait_.definition.as_ref())
        .any(|definition| definition.spec().get("revisionEnabled") == Some(&Json::Bool(true)));
    let mut workload = component.workload.clone();
    label(&mut workload, parsed, component, labels::RESOURCE_TYPE_WORKLOAD);
    if text(&workload, &["metadata", "name"]).is_empty() {
        let name = workload_name(parsed, component, &workload, revision_enabled, snapshot)?;
        workload["metadata"]["name"] = json!(name);
    }
    let workload_reference = reference(&workload);
    let mut traits = Vec::with_capacity(component.traits.len());
    for trait_ in &component.traits {
        let mut object = trait_.object.clone();
        label(&mut object, parsed, component, labels::RESOURCE_TYPE_TRAIT);
        if text(&object, &["metadata", "name"]).is_empty() {
            object["metadata"]["name"] = json!(trait_name(parsed, component, trait_));
        }
        let path = trait_.definition.as_ref().map_or("", |definition| definition.text(&["workloadRefPath"]));
        if !path.is_empty() {
            field_path::set(&mut object, path, workload_reference.clone()).map_err(|error| {
                (trait_.path.clone(), format!("workloadRefPath {path:?} cannot be written: {error}"))
            })?;
        }
        let flow = trait_.flow.clone();
        let (path, defined) = (trait_.path.clone(), trait_.definition.is_some());
        traits.push(RenderedObject { object, path, defined, flow, unsatisfied: false });
    }
    let scopes = component
        .scopes
        .iter()
        .map(|Scope { key, workload_refs_path }| (key.clone(), workload_refs_path.clone()));
    Ok(RenderedComponent {
        name: component.name.clone(),
        revision: component.revision.clone(),
        revision_enabled,
        workload: RenderedObject {
            object: workload,
            path: component.path.clone(),
            defined: true,
            flow: component.flow.clone(),
            unsatisfied: false,
        },
        traits,
        scopes: scopes.collect(),
    })
}

/// Own labels first, then the configuration's: those win.
fn label(object: &mut Json, parsed: &Parsed, component: &Component, resource_type: &str) {
    let configuration = parsed.document.value();
    let source = configuration.get("metadata");
    let passed = |field: &str| {
        source.and_then(|m| m.get(field)).and_then(Json::as_object).cloned().unwrap_or_default()
    };
    if !object.get("metadata").is_some_and(Json::is_object) {
        object["metadata"] = json!({});
    }
    let metadata = &mut object["metadata"];
    let own = |metadata: &Json, field: &str| {
        metadata.get(field).and_then(Json::as_object).cloned().unwrap_or_default()
    };
    let mut all_labels: Map<String, Json> = own(metadata, "labels");
    for (key, value) in [
        (labels::APP_NAME, parsed.document.name()),
        (labels::APP_COMPONENT, &component.name),
        (labels::APP_COMPONENT_REVISION, &component.revision),
        (labels::RESOURCE_TYPE, resource_type),
    ] {
        all_labels.insert(key.to_owned(), json!(value));
    }
    all_labels.extend(passed("labels"));
    metadata["labels"] = Json::Object(all_labels);
    let generation = source.and_then(|m| m.get("generation")).and_then(Json::as_i64).unwrap_or(0);
    let mut all_annotations = own(metadata, "annotations");
    all_annotations.insert(annotations::APP_GENERATION.to_owned(), json!(generation.to_string()));
    all_annotations
        .extend(passed("annotations").into_iter().filter(|(key, _)| !NOT_PASSED.contains(&key.as_str())));
    metadata["annotations"] = Json::Object(all_annotations);
    if text(metadata, &["namespace"]).is_empty() {
        metadata["namespace"] = json!(parsed.namespace);
    }
    // An owner in another namespace would make the garbage collector delete the object.
    if text(metadata, &["namespace"]) == parsed.namespace
        && let Some(owner) = owner_reference(configuration)
    {
        metadata["ownerReferences"] = json!([owner]);
    }
}

/// The component's name; with a revision-enabled trait the revision's, unless the workload recorded in the
/// status already is of that revision.
fn workload_name(
    parsed: &Parsed,
    component: &Component,
    workload: &Json,
    revision_enabled: bool,
    snapshot: &Snapshot,
) -> Result<String, Failure> {
    if !revision_enabled {
        return Ok(component.name.clone());
    }
    if component.revision.is_empty() {
        let message = format!(
            "component {:?} has no revision yet, and a trait asks for one workload per revision",
            component.name
        );
        return Err((component.path.clone(), message));
    }
    let recorded = items(parsed.document.value(), &["status", "workloads"])
        .iter()
        .rfind(|entry| text(entry, &["componentName"]) == component.name)
        .and_then(|entry| entry.get("workloadRef"));
    if let Some(recorded) = recorded {
        let key = ObjectKey {
            api_version: text(workload, &["apiVersion"]).to_owned(),
            kind: text(workload, &["kind"]).to_owned(),
            namespace: parsed.namespace.clone(),
            name: text(recorded, &["name"]).to_owned(),
        };
        let live = snapshot.object(&key).and_then(|live| live.get("metadata")).and_then(|m| m.get("labels"));
        let revision =
            live.and_then(|labels| labels.get(labels::APP_COMPONENT_REVISION)).and_then(Json::as_str);
        if revision == Some(&component.revision) {
            return Ok(key.name);
        }
    }
    Ok(component.revision.clone())
}

/// The name used before for a trait of this kind; else one made from the entry.
fn trait_name(parsed: &Parsed, component: &Component, trait_: &Trait) -> String {
    let (api_version, kind) = (text(&trait_.object, &["apiVersion"]), text(&trait_.object, &["kind"]));
    let recorded = items(parsed.document.value(), &["status", "workloads"])
        .iter()
        .filter(|entry| text(entry, &["componentName"]) == component.name)
        .flat_map(|entry| items(entry, &["traits"]))
        .filter_map(|entry| entry.get("traitRef"))
        .rfind(|reference| {
            text(reference, &["apiVersion"]) == api_version && text(reference, &["kind"]) == kind
        });
    match recorded.map(|reference| text(reference, &["name"])) {
        Some(name) if !name.is_empty() => name.to_owned(),
        _ => {
            let middle =
                trait_.definition.as_ref().map_or("trait", |d| d.name().split('.').next().unwrap_or("trait"));
            format!(
                "{}-{}-{}",
                component.name,
                middle.to_lowercase(),
                short_hash(&[&trait_.entry.to_string()])
            )
        }
    }
}

/// Writes the annotation that a three-way apply needs: the object as it is applied now.
pub fn annotate_last_applied(object: &mut Json) {
    if let Some(all) = object.pointer_mut("/metadata/annotations").and_then(Json::as_object_mut) {
        all.remove(annotations::LAST_APPLIED_CONFIGURATION);
        if all.is_empty()
            && let Some(metadata) = object.get_mut("metadata").and_then(Json::as_object_mut)
        {
            metadata.remove("annotations");
        }
    }
    let text = object.to_string();
    if object.get("metadata").is_some_and(Json::is_object) {
        object["metadata"]["annotations"][annotations::LAST_APPLIED_CONFIGURATION] = json!(text);
    }
}
