//! Writes and reads the `spec` of the ApplicationRevision that keeps a configuration with everything it was rendered
//! from.

use std::sync::Arc;

use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};
use vela_crds::labels;

use super::parse::{component_key, definition_name, references, resolve};
use super::revision::latest;
use super::{API_VERSION, KIND, Parsed, items, text};
use crate::definition::{Definition, DefinitionKind};
use crate::diagnostic::{Code, Diagnostic};
use crate::manifest::Document;
use crate::revision::{field, frozen};
use crate::snapshot::Snapshot;

/// The definitions that the configuration is rendered by.
pub fn definitions(document: &Document, snapshot: &Snapshot) -> Vec<Arc<Definition>> {
    let asked = references(document, snapshot).definitions;
    asked.iter().filter_map(|(kind, name)| snapshot.definition(*kind, name).cloned()).collect()
}

/// The `spec` of its ApplicationRevision: what it asks for, its components in their order, and every definition used.
pub fn spec(document: &Document, snapshot: &Snapshot) -> Json {
    let configuration = document.value();
    let entries = items(configuration, &["spec", "components"]);
    let components = entries.iter().map(|entry| {
        let found = component_key(entry, document.namespace()).and_then(|key| snapshot.object(&key));
        json!({"raw": component(found.unwrap_or(&Json::Null), text(entry, &["componentName"]))})
    });
    let mut spec = json!({
        // The field is required, and no Application asked for this.
        "application": {},
        "applicationConfiguration": {
            "apiVersion": API_VERSION,
            "kind": KIND,
            "metadata": {"name": document.name(), "namespace": document.namespace()},
            "spec": configuration.get("spec"),
        },
        "components": components.collect::<Vec<_>>(),
    });
    for definition in definitions(document, snapshot) {
        spec[field(definition.kind())][definition.name()] = frozen(&definition);
    }
    spec
}

/// Which content it is: 16 hexadecimal digits.
pub fn hash(spec: &Json) -> String {
    // Keys of JSON objects are sorted, so equal content has equal text.
    hex::encode(&Sha256::digest(spec.to_string())[..8])
}

/// A component as far as anything is made of it: neither its labels nor its annotations are.
fn component(found: &Json, name: &str) -> Json {
    let component = found.get("data").unwrap_or(found);
    let named = text(component, &["metadata", "name"]);
    let metadata = json!({"name": if named.is_empty() { name } else { named }});
    let mut kept = json!({
        "apiVersion": API_VERSION,
        "kind": "Component",
        "metadata": metadata,
        "spec": component.get("spec"),
    });
    if let Some((name, revision)) = latest(component) {
        kept["status"] = json!({"latestRevision": {"name": name, "revision": revision}});
    }
    kept
}

/// The configuration as it is now, but for what it asks for; nothing where none is recorded.
pub fn as_applied(document: &Document, spec: &Json) -> Option<Document> {
    let asked = spec.pointer("/applicationConfiguration/spec").filter(|asked| asked.is_object())?;
    let mut value = document.value().clone();
    value["spec"] = asked.clone();
    Some(Document::from_object(value))
}

/// Put the components as they were into the snapshot. `then` is what [`as_applied`] gives.
pub fn insert_into(then: &Document, spec: &Json, snapshot: &mut Snapshot) {
    let entries = items(then.value(), &["spec", "components"]);
    for (entry, kept) in entries.iter().zip(items(spec, &["components"])) {
        let (Some(key), Some(raw)) = (component_key(entry, then.namespace()), kept.get("raw")) else {
            continue;
        };
        let mut object = match text(entry, &["revisionName"]) {
            "" => raw.clone(),
            _ => json!({"data": raw}),
        };
        object["apiVersion"] = json!(key.api_version);
        object["kind"] = json!(key.kind);
        if !object.get("metadata").is_some_and(Json::is_object) {
            object["metadata"] = json!({});
        }
        object["metadata"]["name"] = json!(key.name);
        object["metadata"]["namespace"] = json!(key.namespace);
        snapshot.insert_object(object);
    }
}

/// The trait definition that the recorded configuration used and that is not there any more, although one of the traits still
/// goes by it: without the definition, the trait would not find its workload, or the workload would lose its name.
pub fn gone(document: &Document, snapshot: &Snapshot, spec: &Json) -> Option<Diagnostic> {
    let asked = references(document, snapshot).definitions;
    let mut missing = asked
        .iter()
        .filter(|(kind, name)| *kind == DefinitionKind::Trait && snapshot.definition(*kind, name).is_none());
    let said = |name: &str| spec.get(field(DefinitionKind::Trait))?.get(name)?.get("spec");
    let (_, name) = missing.find(|(_, name)| {
        said(name).is_some_and(|said| {
            !text(said, &["workloadRefPath"]).is_empty()
                || said.get("revisionEnabled") == Some(&Json::Bool(true))
        })
    })?;
    let is_by_it = |entry: &Json| {
        let trait_ = entry.get("trait").unwrap_or(&Json::Null);
        definition_name(snapshot, labels::TRAIT_TYPE, trait_).as_deref() == Some(name)
    };
    let place =
        items(document.value(), &["spec", "components"]).iter().enumerate().find_map(|(at, entry)| {
            let position = items(entry, &["traits"]).iter().position(is_by_it)?;
            Some(format!("spec.components[{at}].traits[{position}].trait"))
        });
    let message = format!("trait definition {name:?}, by which it was applied, is not there any more");
    let hint = "make it again, or take its traits out";
    let found = Diagnostic::error(Code::UnknownDefinition, message).at(document, place.unwrap_or_default());
    Some(found.hint(hint))
}

/// The parts of a configuration that still resolve: the controller deletes no running object because of the rest.
pub fn resolvable(then: &Document, snapshot: &Snapshot) -> Option<Parsed> {
    resolve(then, snapshot).ok().map(|(parsed, _)| parsed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ClusterVersion;
    use crate::application_configuration::{parse, render};

    fn snapshot(objects: &[Json]) -> Snapshot {
        let mut snapshot = Snapshot::new(ClusterVersion::default());
        objects.iter().cloned().for_each(|object| snapshot.insert_object(object));
        snapshot
    }

    fn web(name: &str, image: &str) -> Json {
        json!({
            "apiVersion": API_VERSION, "kind": "Component",
            "metadata": {"name": name, "namespace": "ns", "uid": "u", "resourceVersion": "7"},
            "spec": {"workload": {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"image": image}}},
            "status": {"observedGeneration": 3, "latestRevision": {"name": format!("{name}-v2"), "revision": 2}},
        })
    }

    fn pinned(name: &str, image: &str) -> Json {
        json!({"apiVersion": "apps/v1", "kind": "ControllerRevision",
            "metadata": {"name": format!("{name}-v1"), "namespace": "ns"}, "data": web(name, image)})
    }

    #[test]
    fn a_recorded_revision_renders_alike_whatever_the_components() {
        let document = Document::from_object(json!({"apiVersion": API_VERSION, "kind": KIND,
            "metadata": {"name": "shop", "namespace": "ns", "uid": "c", "labels": {"team": "a"}},
            "spec": {"components": [{"componentName": "front"}, {"revisionName": "back-v1"}]}}));
        let live = snapshot(&[web("front", "nginx:1"), pinned("back", "nginx:0")]);
        let rendered = |document: &Document, snapshot: &Snapshot| {
            let parsed = parse(document, snapshot).unwrap();
            let rendered = render(&parsed, snapshot).unwrap();
            rendered.components().iter().map(|each| each.workload.object.clone()).collect::<Vec<_>>()
        };
        let kept = spec(&document, &live);
        let mut changed = document.value().clone();
        changed["spec"] = json!({"components": [{"componentName": "gone"}]});
        let then = as_applied(&Document::from_object(changed), &kept).unwrap();
        let mut broken = snapshot(&[web("front", "nginx:broken")]);
        insert_into(&then, &kept, &mut broken);
        assert_eq!(rendered(&then, &broken), rendered(&document, &live));
        // Foreign fields on a component are no other content.
        let mut touched = web("front", "nginx:1");
        touched["metadata"]["resourceVersion"] = json!("8");
        touched["metadata"]["annotations"] = json!({"touched": "yes"});
        let again = spec(&document, &snapshot(&[touched, pinned("back", "nginx:0")]));
        assert_eq!(hash(&again), hash(&kept));
    }
}
