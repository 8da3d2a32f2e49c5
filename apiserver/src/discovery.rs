//! The catalog in, discovery documents (legacy and aggregated) out.

use serde_json::{Value, json};

use crate::catalog::{Catalog, Resource, Served};
use crate::http::Target;

/// The Kubernetes version whose behaviour this server shows; clients check their own against it.
const MAJOR: &str = "1";
const MINOR: &str = "36";

/// Documents that do not depend on the catalog.
pub(crate) fn other(path: &str) -> Option<Value> {
    match path {
        "/version" => Some(json!({
            "major": MAJOR, "minor": MINOR, "gitVersion": format!("v{MAJOR}.{MINOR}.0+vela-sandbox"),
            "gitCommit": "", "gitTreeState": "clean", "buildDate": "1970-01-01T00:00:00Z",
            "goVersion": "", "compiler": "rustc",
            "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
        })),
        "" => Some(
            json!({ "paths": ["/api", "/api/v1", "/apis", "/healthz", "/livez", "/openapi/v3", "/readyz", "/version"] }),
        ),
        _ => None,
    }
}

pub(crate) fn document(catalog: &Catalog, target: &Target, aggregated: bool) -> Option<Value> {
    match target {
        Target::LegacyVersions if aggregated => Some(aggregate(catalog, |group| group.is_empty())),
        Target::Groups if aggregated => Some(aggregate(catalog, |group| !group.is_empty())),
        Target::LegacyVersions => Some(json!({ "kind": "APIVersions", "versions": ["v1"],
            "serverAddressByClientCIDRs": [{ "clientCIDR": "0.0.0.0/0", "serverAddress": "" }] })),
        Target::Groups => {
            let groups: Vec<Value> = catalog
                .groups
                .iter()
                .filter(|(group, _)| !group.is_empty())
                .map(|(group, versions)| {
                    let mut shown = describe_group(group, versions);
                    if let Some(map) = shown.as_object_mut() {
                        map.remove("kind");
                        map.remove("apiVersion");
                    }
                    shown
                })
                .collect();
            Some(json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": groups }))
        }
        Target::Group(group) => catalog.groups.get(group).map(|versions| describe_group(group, versions)),
        Target::Version { group, version } => {
            let (_, resources) = catalog.groups.get(group)?.iter().find(|(v, _)| v == version)?;
            let shown: Vec<Value> = resources.iter().flat_map(|r| describe_resource(r)).collect();
            let group_version = if group.is_empty() { version.clone() } else { format!("{group}/{version}") };
            Some(
                json!({ "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": shown }),
            )
        }
        Target::Other(_) | Target::Resource(_) => None,
    }
}

fn describe_group(group: &str, versions: &[Served]) -> Value {
    let shown: Vec<Value> = versions
        .iter()
        .map(|(v, _)| json!({ "groupVersion": format!("{group}/{v}"), "version": v }))
        .collect();
    let preferred = shown.first().cloned().unwrap_or(Value::Null);
    json!({ "kind": "APIGroup", "apiVersion": "v1", "name": group, "versions": shown, "preferredVersion": preferred })
}

fn describe_resource(resource: &Resource) -> Vec<Value> {
    let mut shown = json!({
        "name": resource.plural, "singularName": resource.singular, "namespaced": resource.namespaced,
        "kind": resource.kind, "verbs": resource.verbs,
    });
    if !resource.short_names.is_empty() {
        shown["shortNames"] = resource.short_names.clone().into();
    }
    if !resource.categories.is_empty() {
        shown["categories"] = resource.categories.clone().into();
    }
    let mut all = vec![shown];
    for (sub, group, version, kind) in subresources(resource) {
        let mut shown = json!({
            "name": format!("{}/{sub}", resource.plural), "singularName": "", "namespaced": resource.namespaced,
            "kind": kind, "verbs": ["get", "patch", "update"],
        });
        if group != resource.group || version != resource.version {
            shown["group"] = group.into();
            shown["version"] = version.into();
        }
        all.push(shown);
    }
    all
}

fn subresources(resource: &Resource) -> Vec<(&str, &str, &str, &str)> {
    let mut all = Vec::new();
    if resource.scale.is_some() {
        all.push(("scale", "autoscaling", "v1", "Scale"));
    }
    if resource.status {
        all.push(("status", resource.group.as_str(), resource.version.as_str(), resource.kind.as_str()));
    }
    all
}

fn aggregate(catalog: &Catalog, wanted: impl Fn(&str) -> bool) -> Value {
    let items: Vec<Value> = catalog
        .groups
        .iter()
        .filter(|(group, _)| wanted(group))
        .map(|(group, versions)| {
            let versions: Vec<Value> = versions
                .iter()
                .map(|(version, resources)| {
                    let resources: Vec<Value> = resources.iter().map(|r| aggregate_resource(r)).collect();
                    json!({ "version": version, "resources": resources, "freshness": "Current" })
                })
                .collect();
            let metadata = if group.is_empty() {
                json!({ "creationTimestamp": null })
            } else {
                json!({ "name": group, "creationTimestamp": null })
            };
            json!({ "metadata": metadata, "versions": versions })
        })
        .collect();
    json!({ "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items })
}

fn aggregate_resource(resource: &Resource) -> Value {
    let kind =
        |group: &str, version: &str, kind: &str| json!({ "group": group, "version": version, "kind": kind });
    let mut shown = json!({
        "resource": resource.plural,
        "responseKind": kind(&resource.group, &resource.version, &resource.kind),
        "scope": if resource.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": resource.singular,
        "verbs": resource.verbs,
    });
    if !resource.short_names.is_empty() {
        shown["shortNames"] = resource.short_names.clone().into();
    }
    if !resource.categories.is_empty() {
        shown["categories"] = resource.categories.clone().into();
    }
    let subs: Vec<Value> = subresources(resource)
        .into_iter()
        .map(|(sub, group, version, name)| {
            json!({ "subresource": sub, "responseKind": kind(group, version, name), "verbs": ["get", "patch", "update"] })
        })
        .collect();
    if !subs.is_empty() {
        shown["subresources"] = subs.into();
    }
    shown
}
