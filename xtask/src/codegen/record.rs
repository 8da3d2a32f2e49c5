//! A control plane and Go's modules of the same release in, the archive of facts out.

use std::path::Path;
use std::process::Command;

use serde_json::{Map, Value};

use super::facts::{Column, Facts, RELEASE, Resource};
use super::golang;

const JSON: &str = "application/json";
const DISCOVERY: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const TABLE: &str = "application/json;as=Table;g=meta.k8s.io;v=v1";

/// Records what the control plane behind `proxy` says and what the sources in `modules` (the folder `k8s.io` of Go's module
/// cache) say.
pub(super) fn run(modules: &Path, proxy: &str) -> Result<(), String> {
    // Go's modules count the same releases from 0.
    let release = RELEASE.split_once('.').map_or(RELEASE, |(_, rest)| rest);
    let structs = golang::structs(modules, &format!("0.{release}"))?;
    let (schemas, resources) = published(proxy)?;
    Facts { schemas, resources, structs }.write()
}

fn published(proxy: &str) -> Result<(Map<String, Value>, Vec<Resource>), String> {
    let version = get(proxy, "/version", JSON)?;
    if version["gitVersion"] != format!("v{RELEASE}") {
        return Err(format!("the control plane is {}; expected v{RELEASE}", version["gitVersion"]));
    }
    let mut schemas = Map::new();
    let index = get(proxy, "/openapi/v3", JSON)?;
    for (_, document) in index["paths"].as_object().into_iter().flatten() {
        let url = document["serverRelativeURL"].as_str().unwrap_or_default();
        let mut document = get(proxy, url, JSON)?;
        if let Some(found) = document.pointer_mut("/components/schemas").and_then(Value::as_object_mut) {
            found.values_mut().for_each(without_descriptions);
            schemas.append(found);
        }
    }
    let mut resources = Vec::new();
    for root in ["/api", "/apis"] {
        let groups = get(proxy, root, DISCOVERY)?;
        for group in groups["items"].as_array().into_iter().flatten() {
            for version in group["versions"].as_array().into_iter().flatten() {
                let group = group["metadata"]["name"].as_str().unwrap_or_default();
                resources.extend(of_version(proxy, root, group, version)?);
            }
        }
    }
    resources.sort_by(|a, b| (&a.api_version, &a.kind).cmp(&(&b.api_version, &b.kind)));
    Ok((schemas, resources))
}

/// The resources of one version of a group that can be listed.
fn of_version(proxy: &str, root: &str, group: &str, version: &Value) -> Result<Vec<Resource>, String> {
    let name = version["version"].as_str().unwrap_or_default();
    let api_version = if group.is_empty() { name.to_owned() } else { format!("{group}/{name}") };
    let mut out = Vec::new();
    for resource in version["resources"].as_array().into_iter().flatten() {
        let mut verbs = words(&resource["verbs"]);
        if !verbs.iter().any(|verb| verb == "list") {
            continue;
        }
        verbs.sort();
        let text = |pointer| resource.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let plural = text("/resource");
        let table = get(proxy, &format!("{root}/{api_version}/{plural}?limit=1"), TABLE)?;
        let subresources = resource["subresources"].as_array().into_iter().flatten();
        let mut subresources: Vec<String> =
            subresources.filter_map(|sub| sub["subresource"].as_str()).map(str::to_owned).collect();
        subresources.sort();
        out.push(Resource {
            api_version: api_version.clone(),
            kind: text("/responseKind/kind"),
            singular: text("/singularResource"),
            namespaced: resource["scope"] == "Namespaced",
            short_names: words(&resource["shortNames"]),
            categories: words(&resource["categories"]),
            columns: columns(&table),
            plural,
            verbs,
            subresources,
        });
    }
    Ok(out)
}

fn columns(table: &Value) -> Vec<Column> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let columns = table["columnDefinitions"].as_array().into_iter().flatten();
    columns
        .map(|column| Column {
            name: text(&column["name"]),
            type_: text(&column["type"]),
            format: text(&column["format"]),
            priority: column["priority"].as_i64().unwrap_or_default(),
        })
        .collect()
}

fn words(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Facts are kept, texts of others are not.
fn without_descriptions(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|name, value| !(name == "description" && value.is_string()));
            map.values_mut().for_each(without_descriptions);
        }
        Value::Array(list) => list.iter_mut().for_each(without_descriptions),
        _ => {}
    }
}

fn get(proxy: &str, path: &str, accept: &str) -> Result<Value, String> {
    let url = format!("{proxy}{path}");
    let answer = Command::new("curl")
        .args(["--silent", "--show-error", "--fail", "--header", &format!("Accept: {accept}"), &url])
        .output()
        .map_err(|error| format!("cannot start curl: {error}"))?;
    if !answer.status.success() {
        return Err(format!("{url}: {}", String::from_utf8_lossy(&answer.stderr).trim()));
    }
    serde_json::from_slice(&answer.stdout).map_err(|error| format!("{url}: {error}"))
}
