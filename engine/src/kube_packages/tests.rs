//! Tests of schemas, paths and imports.

use serde_json::{Value as Json, json};
use vela_cue::{Source, Template};

use super::*;

fn document() -> Json {
    json!({"openapi": "3.0.0", "components": {"schemas": {
        "io.example.v1.Box": {
            "type": "object",
            "required": ["spec"],
            "properties": {
                "apiVersion": {"type": "string"},
                "kind": {"type": "string"},
                "spec": {"default": {}, "allOf": [{"$ref": "#/components/schemas/io.example.v1.BoxSpec"}]},
            },
            "x-kubernetes-group-version-kind": [{"group": "example.io", "version": "v1", "kind": "Box"}],
        },
        "io.example.v1.BoxSpec": {
            "type": "object",
            "required": ["name"],
            "properties": {
                "name": {"type": "string"},
                "size": {"type": "integer", "format": "int32"},
                "port": {"$ref": "#/components/schemas/io.example.IntOrString"},
                "inner": {"$ref": "#/components/schemas/io.example.v1.BoxSpec"},
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                "policy": {"type": "string", "enum": ["Always", "Never"]},
                "lists": {"type": "array", "items": {"type": "array", "items": {"type": "boolean"}}},
                "any-thing": {"x-kubernetes-preserve-unknown-fields": true},
                "maybe": {"type": "string", "nullable": true},
                "lost": {"$ref": "#/components/schemas/io.example.Lost"},
            },
        },
        "io.example.IntOrString": {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
        "io.example.Unused": {"type": "object"},
        "io.example.Options": {"type": "object", "x-kubernetes-group-version-kind": [
            {"group": "example.io", "version": "v1", "kind": "Options"}, {"group": "", "version": "v1", "kind": "Options"},
        ]},
    }}})
}

fn rendered(template: &str) -> Result<Json, vela_cue::Diagnostics> {
    let package = KubePackage::new("kube/example.io/v1", "example.io/v1", &document()).unwrap();
    let source = Source::new("template", format!("import b \"kube/example.io/v1\"\n{template}"));
    Template::compile_with(&[source], &[&package])?.instantiate(&[]).root().lookup("output").to_json()
}

#[test]
fn a_kind_brings_its_version_and_checks_types() {
    let box_ = rendered(
        "output: b.#Box & {spec: {name: \"n\", size: 3, port: \"http\", inner: name: \"m\", \"any-thing\": [1]}}",
    );
    assert_eq!(
        box_.unwrap(),
        json!({"apiVersion": "example.io/v1", "kind": "Box",
               "spec": {"name": "n", "size": 3, "port": "http", "inner": {"name": "m"}, "any-thing": [1]}})
    );
    for (wrong, at) in [
        ("size: \"3\"", "spec.size"),
        ("port: true", "spec.port"),
        ("inner: {name: 1}", "spec.inner.name"),
        ("labels: a: 1", "spec.labels.a"),
        ("policy: \"Sometimes\"", "spec.policy"),
        ("lists: [[1]]", "spec.lists.0.0"),
    ] {
        let error = rendered(&format!("output: b.#Box & {{spec: {{name: \"n\", {wrong}}}}}")).unwrap_err();
        assert!(error.to_string().contains(at), "{wrong}: {error}");
    }
    assert!(rendered("output: b.#Box").unwrap_err().to_string().contains("spec.name"));
}

#[test]
fn the_old_name_open_fields_and_nulls_are_accepted() {
    let made =
        rendered("output: b.Box & {spec: {name: \"n\", unknown: 1, maybe: null, lost: {a: 1}}}").unwrap();
    assert_eq!(made["spec"]["unknown"], 1);
    assert_eq!(made["kind"], "Box");
}

#[test]
fn only_what_kinds_need_is_written() {
    let package = KubePackage::new("kube/example.io/v1", "example.io/v1", &document()).unwrap();
    assert!(!package.text().contains("Unused") && !package.text().contains("Options"), "{}", package.text());
    let error = KubePackage::new("kube/v1", "v1", &json!({})).unwrap_err();
    assert_eq!(error, Error::NoSchemas { api_version: "v1".into() });
}

#[test]
fn paths_name_group_versions() {
    let expected: [(&str, &[&str]); 10] = [
        ("kube/v1", &["v1"]),
        ("kube/apps/v1", &["apps/v1"]),
        ("kube/networking.k8s.io/v1beta1", &["networking.k8s.io/v1beta1"]),
        ("k8s.io/core/v1", &["v1"]),
        ("k8s.io/networking/v1", &["networking/v1", "networking.k8s.io/v1"]),
        ("oam.dev/core/v1alpha2", &["core.oam.dev/v1alpha2"]),
        ("core.oam.dev/v1beta1", &["core.oam.dev/v1beta1"]),
        ("vela/kube", &[]),
        ("encoding/json", &[]),
        ("kube/apps/v1x", &[]),
    ];
    for (path, versions) in expected {
        assert_eq!(api_versions(path), versions, "{path}");
    }
}

#[test]
fn imports_are_found_in_the_text() {
    let text = "import (\n\tapps \"kube/apps/v1\"\n\t\"strings\"\n\t\"k8s.io/core/v1\"\n)\nimport \"kube/apps/v1\"\na: \"kube/batch/v1\"\n";
    assert_eq!(imported(text), ["kube/apps/v1", "k8s.io/core/v1"]);
    assert!(imported("output: {}").is_empty());
}

#[test]
fn kinds_that_kubernetes_has_withdrawn_keep_their_names() {
    let package = KubePackage::withdrawn("k8s.io/networking/v1beta1").unwrap();
    assert_eq!(package.api_version(), "networking.k8s.io/v1beta1");
    let text = "import net \"k8s.io/networking/v1beta1\"\noutput: net.#Ingress\noutput: {metadata: name: \"n\", spec: rules: [{host: \"a\"}]}\nold: net.IngressClass\n";
    let template = Template::compile_with(&[Source::new("template", text)], &[&package]).unwrap();
    let root = template.instantiate(&[]).root();
    assert_eq!(
        root.lookup("output").to_json().unwrap(),
        json!({"apiVersion": "networking.k8s.io/v1beta1", "kind": "Ingress", "metadata": {"name": "n"},
               "spec": {"rules": [{"host": "a"}]}})
    );
    assert_eq!(root.lookup("old").to_json().unwrap()["kind"], "IngressClass");
    // These were never withdrawn, or never existed.
    assert!(
        ["kube/apps/v1", "kube/apps/v7", "vela/kube"]
            .iter()
            .all(|path| KubePackage::withdrawn(path).is_none())
    );
}
