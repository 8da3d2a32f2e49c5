//! Renders a parsed configuration: workloads and traits with names, labels, owners and references to each other.

use serde_json::{Value as Json, json};
use vela_crds::application_configuration::UnsatisfiedDependency;
use vela_crds::{annotations, labels};

use super::data::Flow;
use super::metadata::Source;
use super::parse::{Component, Parsed, Scope};
use super::rolling::Rolling;
use super::{resource_names, text};
use crate::bounds::Bounds;
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::field_path;
use crate::manifest::Document;
use crate::observed::ObjectKey;
use crate::snapshot::Snapshot;
use crate::successor;

/// A configuration's objects.
#[derive(Debug, Clone)]
pub struct Rendered {
    pub(super) document: Document,
    pub(super) components: Vec<RenderedComponent>,
    pub(super) warnings: Diagnostics,
    pub(super) unsatisfied: Vec<UnsatisfiedDependency>,
    pub(super) namespace: String,
    pub(super) bounds: Bounds,
    /// Was the template of a rollout rendered?
    pub(super) templated: bool,
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
    /// The values that it takes from other objects and gives to them.
    pub flow: Flow,
    /// An input is not there yet: the object is wanted, but may not be applied in this reconcile.
    pub unsatisfied: bool,
    /// A rollout owns it: the object is wanted, but applied by the rollout.
    pub left: bool,
    /// It is applied so that it waits for its rollout.
    pub held: bool,
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

    /// Was the template of a rollout rendered?
    pub fn templates(&self) -> bool {
        self.templated
    }

    /// The namespace of the configuration.
    pub fn namespace(&self) -> &str {
        &self.namespace
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

    /// The warnings.
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
///
/// # Errors
/// The errors of components and traits, each with its field.
pub fn render(parsed: &Parsed, snapshot: &Snapshot) -> Result<Rendered, Diagnostics> {
    let mut found = parsed.warnings.clone();
    let source = Source { parsed, snapshot };
    let rolling = Rolling::of(parsed.document.value());
    let mut components = Vec::with_capacity(parsed.components.len());
    for component in &parsed.components {
        match component_objects(&source, component, &rolling) {
            Ok(rendered) => components.push(rendered),
            Err((path, message)) => {
                found.push(Diagnostic::error(Code::Template, message).at(&parsed.document, path));
            }
        }
    }
    let templated = parsed.components.iter().any(|component| rolling.templates(&component.name));
    let (components, warnings) = found.or(components)?;
    let (document, namespace) = (parsed.document.clone(), parsed.namespace.clone());
    let bounds = snapshot.bounds();
    Ok(Rendered { document, components, warnings, unsatisfied: Vec::new(), namespace, bounds, templated })
}

type Failure = (String, String);

fn component_objects(
    source: &Source<'_>,
    component: &Component,
    rolling: &Rolling,
) -> Result<RenderedComponent, Failure> {
    let Source { parsed, snapshot } = source;
    let at = |message| (component.path.clone(), message);
    let revision_enabled = component
        .traits
        .iter()
        .filter_map(|trait_| trait_.definition.as_ref())
        .any(|definition| definition.spec().get("revisionEnabled") == Some(&Json::Bool(true)));
    let mut workload = component.workload.clone();
    successor::succeed(std::iter::once(&mut workload), snapshot.not_served());
    source.write(&mut workload, component, labels::RESOURCE_TYPE_WORKLOAD);
    let name = resource_names::workload_name(parsed, component, &workload, revision_enabled, snapshot)
        .map_err(at)?;
    workload["metadata"]["name"] = json!(name);
    rolling.prepare(&component.name, &mut workload).map_err(at)?;
    let workload = RenderedObject {
        object: workload,
        path: component.path.clone(),
        defined: true,
        flow: component.flow.clone(),
        unsatisfied: false,
        left: rolling.leaves(&component.name),
        held: rolling.holds(&component.name),
    };
    let mut traits = Vec::with_capacity(component.traits.len());
    for (trait_, name) in component.traits.iter().zip(resource_names::trait_names(parsed, component)) {
        let mut object = trait_.object.clone();
        successor::succeed(std::iter::once(&mut object), snapshot.not_served());
        source.write(&mut object, component, labels::RESOURCE_TYPE_TRAIT);
        object["metadata"]["name"] = json!(name);
        let path = trait_.definition.as_ref().map_or("", |definition| definition.text(&["workloadRefPath"]));
        if !path.is_empty() && !refers_into_chart(&workload.object, &object, path) {
            field_path::set(&mut object, path, workload.reference()).map_err(|error| {
                (trait_.path.clone(), format!("workloadRefPath {path:?} cannot be written: {error}"))
            })?;
        }
        traits.push(RenderedObject {
            object,
            path: trait_.path.clone(),
            defined: trait_.definition.is_some(),
            flow: trait_.flow.clone(),
            unsatisfied: false,
            left: rolling.leaves_traits(&component.name),
            held: false,
        });
    }
    let scopes = component
        .scopes
        .iter()
        .map(|Scope { key, workload_refs_path }| (key.clone(), workload_refs_path.clone()));
    Ok(RenderedComponent {
        name: component.name.clone(),
        revision: component.revision.clone(),
        revision_enabled,
        workload,
        traits,
        scopes: scopes.collect(),
    })
}

/// Does a trait of a Helm release refer to a workload that its chart makes? The renderer of the trait knew which.
fn refers_into_chart(workload: &Json, trait_: &Json, path: &str) -> bool {
    let named = field_path::find(trait_, path).ok().flatten();
    resource_names::is_release(workload) && named.is_some_and(|named| !text(named, &["name"]).is_empty())
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
