//! Builds the HelmRelease and HelmRepository for a helm schematic; Flux carries them out.
//!
//! The workload itself is made by the chart. Traits patch a bare one of its kind, and their changes go along with the
//! release as a patch: Flux applies it to the rendered chart, so only Flux writes to objects that Helm owns.

use serde_json::{Map, Value as Json, json};

/// How often Flux looks at the chart and its repository, where the definition does not say.
const INTERVAL: &str = "5m";
/// Helm cuts names to what a DNS label may have.
const NAME_LIMIT: usize = 63;

/// The two objects.
pub(super) struct Objects {
    /// The release.
    pub(super) release: Json,
    /// Where the chart comes from.
    pub(super) repository: Json,
}

/// Makes the objects; fails with what is wrong with the schematic.
pub(super) fn render(
    release: &Json,
    repository: &Json,
    values: &Json,
    context: &Json,
) -> Result<Objects, String> {
    if chart(release).is_empty() {
        return Err("schematic.helm.release must name a chart at chart.spec.chart".to_owned());
    }
    let text = |key: &str| context.get(key).and_then(Json::as_str).unwrap_or_default();
    let (name, namespace) = (format!("{}-{}", text("appName"), text("name")), text("namespace"));
    let metadata = json!({ "name": name, "namespace": namespace });
    let mut release = release.clone();
    default_to(&mut release, "interval", json!(INTERVAL));
    let source = json!({ "kind": "HelmRepository", "name": name, "namespace": namespace });
    default_to(&mut release["chart"]["spec"], "sourceRef", source);
    if values.as_object().is_some_and(|values| !values.is_empty()) {
        default_to(&mut release, "values", json!({}));
        merge(&mut release["values"], values);
    }
    let mut repository = repository.clone();
    default_to(&mut repository, "interval", json!(INTERVAL));
    Ok(Objects {
        release: json!({
            "apiVersion": "helm.toolkit.fluxcd.io/v2",
            "kind": "HelmRelease",
            "metadata": metadata,
            "spec": release,
        }),
        repository: json!({
            "apiVersion": "source.toolkit.fluxcd.io/v1",
            "kind": "HelmRepository",
            "metadata": metadata,
            "spec": repository,
        }),
    })
}

/// Has Flux write into the chart's workload what traits wrote into the bare one; fails where that has no kind.
pub(super) fn patch(release: &mut Json, workload: &Json) -> Result<(), String> {
    let text = |key: &str| workload.get(key).and_then(Json::as_str).unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    if api_version.is_empty() || kind.is_empty() {
        return Err(
            "spec.workload.definition must say which kind of the chart's objects traits patch".to_owned()
        );
    }
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let name = workload_name(release);
    let mut target = Map::new();
    if !group.is_empty() {
        target.insert("group".to_owned(), json!(group));
    }
    target.extend([
        ("version".to_owned(), json!(version)),
        ("kind".to_owned(), json!(kind)),
        ("name".to_owned(), json!(name)),
    ]);
    let mut patch = workload.clone();
    // A patch must have a name; the target says which object it is for.
    patch["metadata"]["name"] = json!(name);
    let renderer = json!({ "kustomize": { "patches": [{ "target": target, "patch": patch.to_string() }] } });
    match release.pointer_mut("/spec/postRenderers").and_then(Json::as_array_mut) {
        Some(renderers) => renderers.push(renderer),
        None => release["spec"]["postRenderers"] = json!([renderer]),
    }
    Ok(())
}

/// The name that charts by convention give their workload: the release's name, with the chart's where it does not
/// contain it.
pub(super) fn workload_name(release: &Json) -> String {
    let text = |pointer: &str| release.pointer(pointer).and_then(Json::as_str).filter(|t| !t.is_empty());
    let name = text("/spec/releaseName").or(text("/metadata/name")).unwrap_or_default();
    let chart = release.get("spec").map(chart).unwrap_or_default();
    if name.contains(chart) {
        return name.to_owned();
    }
    let full: String = format!("{name}-{chart}").chars().take(NAME_LIMIT).collect();
    full.strip_suffix('-').unwrap_or(&full).to_owned()
}

/// Name of the chart in the spec of a release.
fn chart(release: &Json) -> &str {
    release.pointer("/chart/spec/chart").and_then(Json::as_str).unwrap_or_default()
}

fn default_to(object: &mut Json, field: &str, value: Json) {
    if let Some(map) = object.as_object_mut() {
        map.entry(field).or_insert(value);
    }
}

/// Writes values over those of the definition, field by field.
fn merge(base: &mut Json, over: &Json) {
    match (base, over) {
        (Json::Object(base), Json::Object(over)) => {
            for (name, value) in over {
                merge(base.entry(name).or_insert(Json::Null), value);
            }
        }
        (base, over) => *base = over.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{patch, render};

    #[test]
    fn values_lie_over_those_of_the_definition() {
        let release = json!({"interval": "1h", "chart": {"spec": {"chart": "podinfo", "version": "5.1.4"}},
            "values": {"image": {"tag": "1", "name": "x"}, "list": [1, 2]}});
        let values = json!({"image": {"tag": "2"}, "list": [3]});
        let context = json!({"appName": "shop", "name": "web", "namespace": "prod"});
        let made = render(&release, &json!({"url": "https://example.com"}), &values, &context).unwrap();
        assert_eq!(made.release["spec"]["values"], json!({"image": {"tag": "2", "name": "x"}, "list": [3]}));
        assert_eq!(made.release["spec"]["interval"], "1h");
        assert_eq!(made.release["metadata"]["name"], "shop-web");
        assert_eq!(made.release["spec"]["chart"]["spec"]["sourceRef"]["name"], "shop-web");
        assert_eq!(made.repository["spec"], json!({"url": "https://example.com", "interval": "5m"}));
        assert!(render(&json!({"chart": {}}), &json!({}), &values, &context).is_err());
    }

    #[test]
    fn a_patch_names_the_workload_as_charts_do() {
        let release = |name: &str| json!({"metadata": {"name": name}, "spec": {"chart": {"spec": {"chart": "podinfo"}}}});
        let workload = json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": 2}});
        for (name, full) in [("a-podinfo", "a-podinfo"), ("a-web", "a-web-podinfo")] {
            let mut release = release(name);
            patch(&mut release, &workload).unwrap();
            let target = &release["spec"]["postRenderers"][0]["kustomize"]["patches"][0]["target"];
            assert_eq!(
                *target,
                json!({"group": "apps", "version": "v1", "kind": "Deployment", "name": full})
            );
        }
        assert!(patch(&mut release("a"), &json!({"spec": {}})).is_err());
    }
}
