//! Components that are Helm charts: what traits refer to.

use serde_json::{Value as Json, json};
use vela_engine::application_configuration as ac;
use vela_engine::render::{Inputs, State};
use vela_engine::snapshot::Resource;
use vela_engine::{Document, Snapshot, Templates, parse, plan, render, revision};

fn snapshot() -> Snapshot {
    let mut snapshot = Snapshot::default();
    let chart = json!({"chart": {"spec": {"chart": "podinfo"}}});
    let template = "outputs: scaler: {apiVersion: \"x/v1\", kind: \"Scaler\", spec: {}}\nparameter: {}\n";
    for (kind, name, spec) in [
        (
            "ComponentDefinition",
            "chart",
            json!({
                "workload": {"definition": {"apiVersion": "apps/v1", "kind": "Deployment"}},
                "schematic": {"helm": {"release": chart, "repository": {"url": "https://charts"}}},
            }),
        ),
        (
            "TraitDefinition",
            "scaler",
            json!({"workloadRefPath": "spec.workloadRef", "schematic": {"cue": {"template": template}}}),
        ),
    ] {
        let definition = json!({"apiVersion": "core.oam.dev/v1beta1", "kind": kind, "metadata": {"name": name}, "spec": spec});
        snapshot.insert_definition_object(definition).unwrap();
    }
    snapshot
}

fn charted() -> Json {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "shop-demo-podinfo"})
}

#[test]
fn a_trait_refers_to_the_charts_workload_not_to_its_release() {
    let application = Document::from_object(json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": "Application", "metadata": {"name": "shop"},
        "spec": {"components": [{"name": "demo", "type": "chart", "properties": {}, "traits": [{"type": "scaler"}]}]},
    }));
    let app_file = parse::parse(&application, &snapshot()).unwrap();
    let plan = plan::plan(revision::revision(app_file, None)).unwrap();
    let rendered = render::render(&plan, &Templates::new(), &Inputs::default()).unwrap();
    let State::Ready(objects) = &rendered.components()[0].state else { panic!("waits") };
    assert_eq!(objects[0].object["kind"], "HelmRelease");
    let scaler = objects.iter().find(|object| object.object["kind"] == "Scaler").unwrap();
    assert_eq!(scaler.object["spec"]["workloadRef"], charted());
}

#[test]
fn a_configuration_keeps_what_the_trait_of_a_release_refers_to() {
    let mut snapshot = snapshot();
    snapshot.insert_resource("x/v1", "Scaler", Resource { plural: "scalers".to_owned(), namespaced: true });
    let release = json!({"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease", "metadata": {"name": "shop-demo"}});
    snapshot.insert_object(json!({
        "apiVersion": ac::API_VERSION, "kind": "Component", "metadata": {"name": "demo", "namespace": "ns"},
        "spec": {"workload": release},
    }));
    let scaler = |spec: Json| {
        let labels = json!({"trait.oam.dev/type": "scaler"});
        json!({"trait": {"apiVersion": "x/v1", "kind": "Scaler", "metadata": {"name": "s", "labels": labels}, "spec": spec}})
    };
    let referred = |spec: Json| {
        let configuration = Document::from_object(json!({
            "apiVersion": ac::API_VERSION, "kind": ac::KIND, "metadata": {"name": "shop", "namespace": "ns"},
            "spec": {"components": [{"componentName": "demo", "traits": [scaler(spec)]}]},
        }));
        let rendered = ac::render(&ac::parse(&configuration, &snapshot).unwrap(), &snapshot).unwrap();
        rendered.components()[0].traits[0].object["spec"]["workloadRef"].clone()
    };
    assert_eq!(referred(json!({"workloadRef": charted()})), charted());
    assert_eq!(referred(json!({}))["kind"], "HelmRelease", "its chart is unknown");
}

/// An application with one component of the built-in type.
fn built_in(properties: &Json) -> Result<Vec<Json>, String> {
    let mut snapshot = Snapshot::default();
    let definition = vela_definitions::builtin().iter().find(|one| one.name == "helmchart").unwrap();
    snapshot.insert_definition_object(definition.manifest("vela-system")).unwrap();
    let application = Document::from_object(json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": "Application", "metadata": {"name": "shop", "namespace": "dev"},
        "spec": {"components": [{"name": "demo", "type": "helmchart", "properties": properties}]},
    }));
    let rendered = vela_engine::dry_run::render(&application, &snapshot, &Templates::new());
    let rendered = rendered.map_err(|found| found.to_string())?;
    let State::Ready(objects) = &rendered.components()[0].state else { return Err("waits".to_owned()) };
    Ok(objects.iter().map(|object| object.object.clone()).collect())
}

#[test]
fn a_built_in_chart_is_a_release_of_flux() {
    let made = built_in(&json!({
        "chart": {"source": "podinfo", "repoURL": "https://charts.example.com/podinfo", "version": "6.11.1"},
        "release": {"name": "info", "namespace": "default"},
        "values": {"replicaCount": 2, "resources": {"limits": {"cpu": "100m"}}},
        "valuesFrom": [{"kind": "Secret", "name": "more"}],
        "options": {"createNamespace": true, "includeCRDs": false, "skipTests": false},
    }))
    .unwrap();
    assert_eq!(made[0]["metadata"]["name"], "demo");
    assert_eq!(
        made[0]["spec"],
        json!({
            "interval": "5m", "releaseName": "info", "targetNamespace": "default",
            "chart": {"spec": {
                "chart": "podinfo", "version": "6.11.1", "sourceRef": {"kind": "HelmRepository", "name": "demo"},
            }},
            "install": {"createNamespace": true, "crds": "Skip"}, "upgrade": {"crds": "Skip"}, "test": {"enable": true},
            "values": {"replicaCount": 2, "resources": {"limits": {"cpu": "100m"}}},
            "valuesFrom": [{"kind": "Secret", "name": "more", "valuesKey": "values.yaml", "optional": false}],
        })
    );
    assert_eq!(made[1]["kind"], "HelmRepository");
    assert_eq!(made[1]["spec"], json!({"interval": "5m", "url": "https://charts.example.com/podinfo"}));
}

#[test]
fn a_chart_of_a_registry_is_split_into_address_and_name() {
    let made = built_in(
        &json!({"chart": {"source": "oci://registry.example.com/charts/podinfo", "secret": "login"}}),
    );
    let made = made.unwrap();
    assert_eq!(made[0]["spec"]["chart"]["spec"]["chart"], "podinfo");
    assert_eq!(
        (&made[0]["spec"]["releaseName"], &made[0]["spec"]["install"]["crds"]),
        (&json!("demo"), &json!("Create"))
    );
    let expected = json!({
        "interval": "5m", "url": "oci://registry.example.com/charts", "type": "oci", "secretRef": {"name": "login"},
    });
    assert_eq!(made[1]["spec"], expected);
}

#[test]
fn a_chart_that_flux_cannot_take_is_refused() {
    for (chart, expected) in [
        (json!({"source": "podinfo"}), "chart.repoURL must be given"),
        (json!({"source": "https://example.com/podinfo-6.tgz"}), "Flux takes no archive by its address"),
        (json!({"source": "./podinfo"}), "the cluster sees no files of yours"),
    ] {
        let report = built_in(&json!({"chart": chart})).unwrap_err();
        assert!(report.contains(expected), "{chart}: {report}");
    }
}
