//! Plays what a cluster does between two objects: defaults, versions, readiness; nothing is judged here.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use vela_harbor::mutation::{Context, Mutations};
use vela_harbor::owner::Owner;
use vela_harbor::parts::{self, Content, Found, Generated, Node, Settings};

/// The documents of a file of a recorded case.
pub(crate) fn documents(case: &str, file: &str) -> Vec<Value> {
    split(&vela_testkit::cases::folder("conformance/harbor").join("cases").join(case).join(file))
}

/// The documents of a file.
pub(crate) fn split(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    let documents = text.split("\n---\n").filter(|document| !document.trim().is_empty());
    documents.map(|document| serde_saphyr::from_str(document).unwrap()).collect()
}

/// Fills in what the schema of the kind says.
pub(crate) fn with_defaults(mut object: Value) -> Value {
    let crds = vela_crds::harbor_crds().unwrap();
    let crd = crds.iter().find(|crd| object["kind"] == crd.spec.names.kind.as_str()).unwrap();
    let version = crd.spec.versions.iter().find(|version| version.storage).unwrap();
    let schema = serde_json::to_value(&version.schema).unwrap();
    fill(&schema["openAPIV3Schema"], &mut object);
    object
}

fn fill(schema: &Value, value: &mut Value) {
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        if value.is_object() && value[name].is_null() && !field["default"].is_null() {
            value[name] = field["default"].clone();
        }
        if let Some(inner) = value.get_mut(name) {
            fill(field, inner);
        }
    }
    if let Some(items) = value.as_array_mut() {
        items.iter_mut().for_each(|item| fill(&schema["items"], item));
    }
}

/// Everything that an object and its children ask for, where whatever is asked for is there and ready.
pub(crate) fn play(case: &str) -> Vec<Value> {
    let mut found = Found::new();
    let mut waiting = Vec::new();
    for mut object in documents(case, "input.yaml") {
        object["metadata"]["namespace"] = json!(case);
        object["metadata"]["resourceVersion"] = json!("1");
        let ours = object["apiVersion"].as_str().unwrap().starts_with("goharbor.io/");
        if ours {
            object["metadata"]["generation"] = json!(1);
            object = with_defaults(object);
            waiting.push(object.clone());
        }
        found.add(object);
    }
    let mut made = Vec::new();
    let settings = Settings { version: "dev".to_owned(), ..Settings::default() };
    // A Harbor's RegistryController stands before its Registry is looked at.
    while let Some(object) = waiting.pop() {
        let owner = Owner::new(object).unwrap();
        let nodes = parts::children(&owner, &found, &settings).unwrap_or_else(|error| panic!("{error}"));
        for (node, object) in complete(&owner, &nodes, &found, &settings) {
            found.add(object.clone());
            made.push(object.clone());
            if node.id.api_version.starts_with("goharbor.io/") {
                waiting.push(object);
            }
        }
    }
    made
}

fn complete<'a>(
    owner: &Owner,
    nodes: &'a [Node],
    found: &Found,
    settings: &Settings,
) -> Vec<(&'a Node, Value)> {
    let mut live = BTreeMap::new();
    let mut made = Vec::new();
    for node in nodes {
        let mut object = match &node.content {
            Content::Required(_) => {
                live.insert(node.id.clone(), found.get(node.id.kind, &node.id.name).unwrap().clone());
                continue;
            }
            Content::Object(object) | Content::Copied(object, _) => object.clone(),
            Content::Awaited => continue,
            Content::Secret(object, keys) => with_keys(object.clone(), keys),
        };
        for id in &node.needs {
            assert!(live.contains_key(id), "{} waits for {id}, which does not stand before it", node.id);
        }
        let context = Context { owner, node, needs: &live, settings };
        Mutations::of_children().apply(&mut object, &context).unwrap();
        vela_kinds::apply_defaults(node.id.api_version, node.id.kind, &mut object);
        if node.id.api_version.starts_with("goharbor.io/") {
            object["metadata"]["generation"] = json!(1);
            object = with_defaults(object);
        }
        object["metadata"]["resourceVersion"] = json!("1");
        object["metadata"]["uid"] = json!(format!("UID({}/{})", node.id.kind, node.id.name));
        live.insert(node.id.clone(), object.clone());
        made.push((node, object));
    }
    made
}

/// Words for what is made by chance, as the recording has them.
fn with_keys(mut object: Value, keys: &[(&'static str, Generated)]) -> Value {
    for (key, how) in keys {
        object["stringData"][key] = match how {
            Generated::Fixed(text) => json!(text),
            Generated::Same(other) => object["stringData"][other].clone(),
            Generated::Password(p) if p.specials == 0 => {
                json!(format!("<generated: length {}; lower, upper, {} digits>", p.length, p.digits))
            }
            Generated::Password(p) => json!(format!(
                "<generated: length {}; lower, upper, {} digits, {} specials>",
                p.length, p.digits, p.specials
            )),
            // How long these are depends on chance.
            Generated::Yaml(_) | Generated::Htpasswd { .. } => json!("<generated>"),
        };
    }
    object
}
