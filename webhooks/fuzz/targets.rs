//! Fuzz targets: each hands any bytes to one part of the room, which may refuse them and do nothing else.
//!
//! A panic, an endless loop, memory without bound and a stack that overflows are the mistakes to be found, and patches
//! that do not apply or change something a second time. Shared by the runner (`cargo xtask fuzz`) and the tests that
//! replay what was found.

use std::sync::{Arc, LazyLock};

use serde_json::{Value, json};
use vela_engine::snapshot::Resource;
use vela_engine::{Snapshot, Templates};
use vela_webhooks::application::{self, ApiVersion};
use vela_webhooks::{
    Review, Verdict, component, configuration, conversion, definition, identity, rollout, service_binding,
    standard,
};

/// The parts that take input from outside.
pub(crate) const TARGETS: [&str; 2] = ["admission", "conversion"];

/// Hands the bytes to a target; an unknown one takes nothing.
pub(crate) fn run(target: &str, input: &[u8]) {
    match target {
        "admission" => admission(input),
        "conversion" => converted(input),
        _ => {}
    }
}

/// A cluster in which something of everything is there.
static FIXTURE: LazyLock<(Snapshot, Arc<Templates>, Vec<Value>)> = LazyLock::new(|| {
    let mut snapshot = Snapshot::default();
    let definitions = [
        json!({"kind": "ComponentDefinition", "metadata": {"name": "web"}, "spec": {
            "workload": {"definition": {"apiVersion": "apps/v1", "kind": "Deployment"}},
            "schematic": {"cue": {"template": "output: {apiVersion: \"apps/v1\", kind: \"Deployment\", \
                spec: image: parameter.image}\nparameter: {image: string, port?: int}"}}}}),
        json!({"kind": "TraitDefinition", "metadata": {"name": "scaler", "labels": {"a": "b"}}, "spec": {
            "definitionRef": {"name": "scalers.x.io"}, "conflictsWith": ["*.y.io", "labelSelector:a=c"],
            "schematic": {"cue": {"template": "patch: spec: replicas: parameter.replicas\nparameter: replicas: int"}}}}),
        json!({"kind": "WorkloadDefinition", "metadata": {"name": "deployments.apps"},
            "spec": {"definitionRef": {"name": "deployments.apps"}}}),
    ];
    for mut definition in definitions {
        definition["apiVersion"] = json!("core.oam.dev/v1beta1");
        let _ = snapshot.insert_definition_object(definition);
    }
    for (api_version, kind, plural) in
        [("apps/v1", "Deployment", "deployments"), ("x.io/v1", "Scaler", "scalers")]
    {
        snapshot.insert_resource(api_version, kind, Resource { plural: plural.to_owned(), namespaced: true });
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        let kind = (api_version.to_owned(), kind.to_owned());
        snapshot.insert_registered(&format!("{plural}.{group}"), "", kind);
    }
    snapshot.insert_object(json!({
        "apiVersion": "core.oam.dev/v1alpha2", "kind": "Component", "metadata": {"name": "web", "namespace": "default"},
        "spec": {"workload": {"apiVersion": "apps/v1", "kind": "Deployment"},
            "parameters": [{"name": "n", "fieldPaths": ["spec.template.containers[0].image"]}]},
    }));
    snapshot.insert_object(json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": "ApplicationRevision",
        "metadata": {"name": "a-v1", "namespace": "default"}, "spec": {"application": {"spec": {"components": [{"name": "web"}]}}},
    }));
    let bindings = vec![json!({"spec": {
        "workloadRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
        "bindings": [{"from": {"secret": {"name": "db"}}, "to": {"env": true, "filePath": "/etc/db"}}],
    }})];
    (snapshot, Arc::new(Templates::new()), bindings)
});

fn admission(input: &[u8]) {
    let Ok(review) = Review::read(input) else { return };
    let (snapshot, templates, bindings) = &*FIXTURE;
    let judges: [&dyn Fn(&Review) -> Verdict; 8] = [
        &|review| application::validate(review, ApiVersion::V1alpha2, snapshot, templates),
        &|review| application::validate(review, ApiVersion::V1beta1, snapshot, templates),
        &|review| configuration::validate(review, snapshot),
        &|review| component::validate(review, snapshot),
        &|review| {
            definition::validate(
                review,
                definition::read(review),
                &definition::DefinitionFacts::default(),
                templates,
            )
        },
        &|review| rollout::validate(review, snapshot),
        &standard::validate_metrics,
        &standard::validate_pod_spec,
    ];
    for judge in judges {
        let _ = judge(&review).reply(&review).to_string();
    }
    let _ = (configuration::trait_names(&review.object), rollout::references(&review));
    let mutators: [&dyn Fn(&Review) -> Verdict; 8] = [
        &|review| configuration::mutate(review, snapshot),
        &|review| component::mutate(review, snapshot),
        &|review| rollout::mutate(review, ApiVersion::V1alpha2),
        &|review| rollout::mutate(review, ApiVersion::V1beta1),
        &standard::mutate_metrics,
        &standard::mutate_pod_spec,
        &identity::mutate,
        &|review| bind(review, bindings),
    ];
    if review.object.is_object() {
        for mutate in mutators {
            changes_once(&review, mutate);
        }
    }
}

fn bind(review: &Review, bindings: &[Value]) -> Verdict {
    let injection = service_binding::injection(review, bindings);
    let verdict = injection.map(|injection| injection.mutate(review, None));
    verdict.and_then(Result::ok).unwrap_or_default()
}

/// The patch applies, and what it makes is left alone.
fn changes_once(review: &Review, mutate: &dyn Fn(&Review) -> Verdict) {
    let verdict = mutate(review);
    let _ = verdict.reply(review).to_string();
    if !verdict.is_allowed() || verdict.patch.0.is_empty() {
        return;
    }
    let mut changed = review.clone();
    let applied = json_patch::patch(&mut changed.object, &verdict.patch);
    assert!(applied.is_ok(), "{applied:?}: {:?} to {}", verdict.patch, review.object);
    let again = mutate(&changed);
    assert!(again.patch.0.is_empty(), "a second time {:?} after {:?}", again.patch, verdict.patch);
}

fn converted(input: &[u8]) {
    const VERSIONS: [&str; 2] = ["core.oam.dev/v1alpha2", "core.oam.dev/v1beta1"];
    let Ok(answer) = conversion::answer(input) else { return };
    let _ = answer.to_string();
    let Ok(review) = serde_json::from_slice::<Value>(input) else { return };
    for object in review["request"]["objects"].as_array().into_iter().flatten() {
        let annotations = &object["metadata"]["annotations"];
        let is_usual = object["metadata"].is_object()
            && object["metadata"]
                .get("annotations")
                .is_none_or(|a| a.as_object().is_some_and(|a| !a.is_empty()))
            && annotations["app.oam.dev/conversion"].is_null();
        let Some(other) = VERSIONS.into_iter().find(|version| object["apiVersion"] != *version) else {
            continue;
        };
        let Ok(there) = vela_crds::application::convert(object.clone(), other) else { continue };
        let back = vela_crds::application::convert(there, object["apiVersion"].as_str().unwrap_or_default());
        if is_usual {
            assert_eq!(back.as_ref(), Ok(object), "it does not come back as it was");
        }
    }
}
