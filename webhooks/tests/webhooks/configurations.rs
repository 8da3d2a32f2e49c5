//! ApplicationConfigurations: traits by name get their kind; every rule refuses with its place, all at once.

use json_patch::patch;
use serde_json::{Value, json};
use vela_engine::snapshot::Resource;
use vela_engine::{Snapshot, application_configuration as ac};
use vela_webhooks::{Verdict, configuration};

use crate::review;

/// A snapshot with a Deployment component `web`, its workload definition, and these trait definitions.
fn snapshot_with(traits: &[Value]) -> Snapshot {
    let mut snapshot = Snapshot::default();
    let resource = |plural: &str| Resource { plural: plural.to_owned(), namespaced: true };
    snapshot.insert_resource("apps/v1", "Deployment", resource("deployments"));
    snapshot.insert_resource("v1", "Service", resource("services"));
    for kind in ["A", "B", "C"] {
        snapshot.insert_resource("x.io/v1", kind, resource(&format!("{}s", kind.to_lowercase())));
    }
    let workload = json!({
        "apiVersion": "core.oam.dev/v1alpha2", "kind": "WorkloadDefinition", "metadata": {"name": "deployments.apps"},
        "spec": {"definitionRef": {"name": "deployments.apps"}},
    });
    snapshot.insert_definition_object(workload).unwrap();
    for definition in traits {
        snapshot.insert_definition_object(definition.clone()).unwrap();
    }
    for (name, workload) in [
        ("web", json!({"apiVersion": "apps/v1", "kind": "Deployment"})),
        ("named", json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "mine"}})),
        ("other", json!({"apiVersion": "v1", "kind": "Service"})),
    ] {
        snapshot.insert_object(json!({
            "apiVersion": "core.oam.dev/v1alpha2", "kind": "Component",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"workload": workload, "parameters": [
                {"name": "name", "fieldPaths": ["metadata.name"]}, {"name": "size", "fieldPaths": ["spec.replicas"]}]},
        }));
    }
    snapshot
}

/// The definition of trait kind A, B or C, with a spec.
fn definition(name: &str, spec: Value) -> Value {
    let mut object = json!({
        "apiVersion": "core.oam.dev/v1alpha2", "kind": "TraitDefinition",
        "metadata": {"name": name, "labels": {"role": name}}, "spec": spec,
    });
    if object["spec"]["definitionRef"].is_null() {
        object["spec"]["definitionRef"] = json!({"name": name});
    }
    object
}

fn a_trait(kind: &str) -> Value {
    json!({"trait": {"apiVersion": "x.io/v1", "kind": kind, "spec": {}}})
}

fn configuration(components: Value) -> Value {
    json!({
        "apiVersion": ac::API_VERSION, "kind": ac::KIND, "metadata": {"name": "shop", "namespace": "default"},
        "spec": {"components": components},
    })
}

fn judge(snapshot: &Snapshot, components: Value) -> Verdict {
    configuration::validate(&review("CREATE", configuration(components), Value::Null), snapshot)
}

fn with_traits(snapshot: &Snapshot, component: &str, traits: &[Value]) -> Verdict {
    judge(snapshot, json!([{"componentName": component, "traits": traits}]))
}

#[track_caller]
fn refused(verdict: &Verdict, field: &str, words: &str) {
    let found = verdict.causes.iter().any(|c| c.field == field && c.message.contains(words));
    assert!(found, "no cause at {field} with {words:?}: {:#?}", verdict.causes);
}

#[test]
fn a_configuration_of_known_parts_enters() {
    let snapshot = snapshot_with(&[definition("as.x.io", json!({}))]);
    let verdict = with_traits(&snapshot, "web", &[a_trait("A"), a_trait("B")]);
    assert!(verdict.is_allowed(), "{verdict:#?}");
}

#[test]
fn missing_components_and_workload_definitions_are_refused() {
    let verdict = judge(&snapshot_with(&[]), json!([{"componentName": "gone"}, {"componentName": "other"}]));
    refused(&verdict, "spec.components[0].componentName", "\"gone\" not found");
    refused(&verdict, "spec.components[1].componentName", "workload definition \"services.\" not found");
}

#[test]
fn component_and_revision_exclude_each_other() {
    let mut snapshot = snapshot_with(&[]);
    snapshot.insert_object(json!({
        "apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {"name": "web-v1", "namespace": "default"},
        "data": {"metadata": {"name": "web"}, "spec": {"workload": {"apiVersion": "apps/v1", "kind": "Deployment"}}},
    }));
    let verdict = judge(&snapshot, json!([{"componentName": "web", "revisionName": "web-v1"}]));
    refused(
        &verdict,
        "spec.components[0].revisionName",
        "componentName \"web\" and revisionName \"web-v1\" are mutually exclusive, you can only specify one of them",
    );
    assert!(judge(&snapshot, json!([{"revisionName": "web-v1"}])).is_allowed());
    assert!(!judge(&snapshot, json!([{}])).is_allowed());
}

#[test]
fn traits_without_kind_or_still_written_by_name_are_refused() {
    let verdict = with_traits(
        &snapshot_with(&[]),
        "web",
        &[
            json!({"trait": {"spec": {}}}),
            json!({"trait": {"apiVersion": "x.io/v1", "kind": "A", "name": "a", "properties": {}}}),
        ],
    );
    refused(&verdict, "spec.components[0].traits[0].trait", "apiVersion and kind");
    refused(&verdict, "spec.components[0].traits[1].trait.name", "contains `name`");
    refused(&verdict, "spec.components[0].traits[1].trait.properties", "contains `properties`");
}

#[test]
fn a_versioned_component_leaves_the_name_of_its_workload_empty() {
    let snapshot = snapshot_with(&[definition("as.x.io", json!({"revisionEnabled": true}))]);
    assert!(with_traits(&snapshot, "web", &[a_trait("A")]).is_allowed());
    assert!(with_traits(&snapshot, "named", &[a_trait("B")]).is_allowed());
    refused(
        &with_traits(&snapshot, "named", &[a_trait("A")]),
        "spec.components[0].traits",
        "non-empty name \"mine\"",
    );
    let entry = |name: &str, value: Value| json!([{"componentName": "web", "traits": [a_trait("A")], "parameterValues": [{"name": name, "value": value}]}]);
    refused(
        &judge(&snapshot, entry("name", json!("mine"))),
        "spec.components[0].parameterValues[0]",
        "non-empty name",
    );
    assert!(judge(&snapshot, entry("size", json!(2))).is_allowed());
}

#[test]
fn a_trait_applies_to_what_its_definition_says() {
    for (entry, applies) in [
        ("*", true),
        ("*.apps", true),
        ("deployments.apps", true),
        ("*.apps.kruise.io", false),
        ("*.s", false),
        ("statefulsets.apps", false),
    ] {
        let snapshot = snapshot_with(&[definition("as.x.io", json!({"appliesToWorkloads": [entry]}))]);
        let verdict = with_traits(&snapshot, "web", &[a_trait("A")]);
        assert_eq!(verdict.is_allowed(), applies, "{entry}: {verdict:#?}");
        if !applies {
            let words = format!(
                "the trait \"as.x.io\" cannot apply to workload \"deployments.apps\" of component \"web\" (appliable: [{entry}])"
            );
            refused(&verdict, "spec.components[0].traits[0]", &words);
        }
    }
    let snapshot = snapshot_with(&[definition("as.x.io", json!({"appliesToWorkloads": []}))]);
    assert!(with_traits(&snapshot, "web", &[a_trait("A")]).is_allowed());
}

/// Checklist 8: a group is compared as a whole.
#[test]
fn a_group_does_not_mean_groups_that_end_alike() {
    let mut snapshot = snapshot_with(&[definition("as.x.io", json!({"appliesToWorkloads": ["*.apps"]}))]);
    let foo = json!({
        "apiVersion": "core.oam.dev/v1alpha2", "kind": "WorkloadDefinition", "metadata": {"name": "deployments.apps"},
        "spec": {"definitionRef": {"name": "foo.apps.kruise.io"}},
    });
    snapshot.insert_definition_object(foo).unwrap();
    refused(&with_traits(&snapshot, "web", &[a_trait("A")]), "spec.components[0].traits[0]", "cannot apply");
}

#[test]
fn conflicts_in_every_form() {
    for (rule, conflicts) in [
        ("*", true),
        ("*.x.io", true),
        ("*.io", false),
        ("bs.x.io", true),
        ("as.x.io", false),
        ("labelSelector:role=bs.x.io", true),
        ("labelSelector:role in (cs.x.io)", false),
        ("labelSelector:!role", false),
    ] {
        let snapshot = snapshot_with(&[
            definition("as.x.io", json!({"conflictsWith": [rule]})),
            definition("bs.x.io", json!({})),
        ]);
        let verdict = with_traits(&snapshot, "web", &[a_trait("B"), a_trait("A")]);
        assert_eq!(!verdict.is_allowed(), conflicts, "{rule}: {verdict:#?}");
        if conflicts && rule != "*" {
            let words = format!(
                "conflict(rule: {rule:?}) between traits (\"as.x.io\" and \"bs.x.io\") of component \"web\" is detected"
            );
            refused(&verdict, "spec.components[0].traits[1]", &words);
        }
    }
}

/// Checklist 9, and that two traits of one definition conflict only under `*`.
#[test]
fn a_trait_does_not_conflict_with_itself() {
    let snapshot = snapshot_with(&[definition("as.x.io", json!({"conflictsWith": ["*"]}))]);
    assert!(with_traits(&snapshot, "web", &[a_trait("A")]).is_allowed());
    let two = [a_trait("A"), a_trait("A")];
    refused(
        &with_traits(&snapshot, "web", &two),
        "spec.components[0].traits[0]",
        "conflicts with all other traits",
    );
    let snapshot = snapshot_with(&[definition(
        "as.x.io",
        json!({"conflictsWith": ["as.x.io", "*.x.io", "labelSelector:role"]}),
    )]);
    assert!(with_traits(&snapshot, "web", &two).is_allowed());
}

#[test]
fn a_bad_selector_is_told() {
    let snapshot =
        snapshot_with(&[definition("as.x.io", json!({"conflictsWith": ["labelSelector:a in b"]}))]);
    refused(
        &with_traits(&snapshot, "web", &[a_trait("A")]),
        "spec.components[0].traits[0]",
        "is no selector",
    );
}

#[test]
fn all_components_are_judged_at_once_and_deletions_pass() {
    let snapshot = snapshot_with(&[definition(
        "as.x.io",
        json!({"appliesToWorkloads": ["jobs.batch"], "conflictsWith": ["*"]}),
    )]);
    let components = json!([
        {"componentName": "gone"},
        {"componentName": "web", "traits": [a_trait("A"), a_trait("B")]},
        {"componentName": "web", "revisionName": "web-v9"},
    ]);
    let verdict = judge(&snapshot, components.clone());
    for field in [
        "spec.components[0].componentName",
        "spec.components[1].traits[0]",
        "spec.components[2].revisionName",
    ] {
        assert!(verdict.causes.iter().any(|cause| cause.field == field), "{field}: {:#?}", verdict.causes);
    }
    let mut going = configuration(components);
    going["metadata"]["deletionTimestamp"] = json!("2021-03-01T00:00:00Z");
    let old = configuration(json!([]));
    assert!(configuration::validate(&review("UPDATE", going.clone(), old), &snapshot).is_allowed());
    assert!(configuration::validate(&review("DELETE", Value::Null, going), &snapshot).is_allowed());
}

/// Checklist 15: the first version that is listed.
#[test]
fn a_trait_by_name_gets_its_kind_its_label_and_its_spec() {
    let mut snapshot =
        snapshot_with(&[definition("scaler", json!({"definitionRef": {"name": "scalers.x.io"}}))]);
    snapshot.insert_registered("scalers.x.io", "", ("x.io/v1beta1".to_owned(), "Scaler".to_owned()));
    let written = configuration(json!([{"componentName": "web", "traits": [
        {"trait": {"name": "scaler", "properties": {"replicas": 2}, "spec": {"lost": true}}},
        a_trait("A"),
    ]}]));
    let review = review("CREATE", written.clone(), Value::Null);
    let verdict = configuration::mutate(&review, &snapshot);
    let mut patched = written;
    patch(&mut patched, &verdict.patch).unwrap();
    assert_eq!(
        patched["spec"]["components"][0]["traits"],
        json!([
            {"trait": {"apiVersion": "x.io/v1beta1", "kind": "Scaler", "spec": {"replicas": 2},
                "metadata": {"labels": {"trait.oam.dev/type": "scaler"}}}},
            a_trait("A"),
        ])
    );
    let again = crate::review("CREATE", patched, Value::Null);
    assert_eq!(configuration::mutate(&again, &snapshot), Verdict::allowed(), "a second time changes nothing");
    let reply = verdict.reply(&review);
    assert_eq!(reply["response"]["patchType"], "JSONPatch");
    let sent = crate::sent_patch(&reply);
    assert_eq!(json!(verdict.patch), sent);
}

#[test]
fn a_trait_by_a_wrong_or_unknown_name_is_a_bad_request() {
    let traits = json!([{"trait": {"name": 3}}, {"trait": {"name": "gone"}}]);
    let review =
        review("CREATE", configuration(json!([{"componentName": "web", "traits": traits}])), Value::Null);
    let verdict = configuration::mutate(&review, &snapshot_with(&[]));
    refused(&verdict, "spec.components[0].traits[0].trait.name", "must be a string");
    refused(&verdict, "spec.components[0].traits[1].trait.name", "\"gone\" not found");
    assert_eq!(verdict.reply(&review)["response"]["status"]["code"], 400);
}
