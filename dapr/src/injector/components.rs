//! Containers of pluggable components: those that the pod names, and those that Components of the namespace bring.

use std::collections::BTreeSet;

use json_patch::PatchError;
use kube::api::DynamicObject;
use serde_json::{Value, json};

use super::asked::Asked;
use super::container::{COMPONENT_SOCKETS_FOLDER, variable};
use super::patch::{Additions, list};
use super::reader::Reader;
use super::volumes::{self, COMPONENT_VOLUME};

/// On a Component: the container that serves it, as JSON.
const CONTAINER: &str = "dapr.io/component-container";
const PLUGGABLE: &str = "dapr.io/pluggable-components";

/// The containers that Components bring, one for each image, in the order of the Components.
pub(super) fn brought(components: &[DynamicObject], reader: &mut Reader<'_>) -> Vec<Value> {
    let (mut images, mut containers) = (BTreeSet::new(), Vec::new());
    for component in components {
        let annotations = component.metadata.annotations.as_ref();
        let Some(text) = annotations.and_then(|annotations| annotations.get(CONTAINER)) else { continue };
        let name = component.metadata.name.as_deref().unwrap_or_default();
        let Ok(mut container @ Value::Object(_)) = serde_json::from_str::<Value>(text) else {
            reader.warn(CONTAINER, format!("of Component {name:?} is no JSON object; it is passed over"));
            continue;
        };
        let image = container["image"].as_str().unwrap_or_default().to_owned();
        if !images.insert(image) {
            continue;
        }
        if container["name"].as_str().is_none_or(str::is_empty) {
            container["name"] = json!(name);
        }
        if container["resources"].is_null() {
            container["resources"] = json!({});
        }
        containers.push(container);
    }
    containers
}

/// Adds the containers and gives all components the folder of their sockets.
pub(super) fn add(
    additions: &mut Additions,
    asked: &Asked,
    brought: Vec<Value>,
    reader: &mut Reader<'_>,
) -> Result<(), PatchError> {
    let path = ["spec", "containers"];
    let mut all = vec![volumes::empty(COMPONENT_VOLUME)];
    let mounts = brought.iter().flat_map(|container| list(&container["volumeMounts"]));
    let mut seen = BTreeSet::new();
    let new = mounts.filter_map(|mount| mount["name"].as_str()).filter(|name| seen.insert(*name));
    all.extend(new.map(volumes::empty));
    additions.append_named(&["spec", "volumes"], all)?;
    let taken = |additions: &Additions, name: &Value| {
        let containers = list(&additions.pod()["spec"]["containers"]).iter();
        containers.chain(list(&additions.pod()["spec"]["initContainers"])).any(|other| other["name"] == *name)
    };
    let mut names = asked.component_containers.clone();
    for container in brought {
        let name = &container["name"];
        if taken(additions, name) {
            reader.warn(CONTAINER, format!("the pod has a container {name} already; it is passed over"));
            continue;
        }
        names.extend(name.as_str().map(str::to_owned));
        additions.append(&path, vec![container])?;
    }
    for name in names {
        let containers = list(&additions.pod()["spec"]["containers"]);
        let Some(index) = containers.iter().position(|container| container["name"] == name) else {
            reader.warn(PLUGGABLE, format!("the pod has no container {name:?}"));
            continue;
        };
        let environment = ["spec", "containers", &index.to_string(), "env"];
        let folder = variable(COMPONENT_SOCKETS_FOLDER, &asked.component_sockets);
        additions.append_named(&environment, vec![folder])?;
        additions.mount(index, COMPONENT_VOLUME, &asked.component_sockets)?;
    }
    Ok(())
}
