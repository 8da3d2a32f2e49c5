//! Applications: they enter if they render; every mistake is told at once, with its field.

use serde_json::{Value, json};
use vela_engine::bounds::Bounds;
use vela_engine::{Snapshot, Templates};
use vela_webhooks::application::ApiVersion;
use vela_webhooks::{Strictness, Verdict, application};

use crate::{definition, review};

const TEMPLATE: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"{{context.name}}\"}\ndata: {text: \"{{parameter.text}}\"}\n";

fn app(components: Value) -> Value {
    json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": "Application",
        "metadata": {"name": "a", "namespace": "default"},
        "spec": {"components": components},
    })
}

fn judge(operation: &str, object: Value, old_object: Value) -> Verdict {
    let mut snapshot = Snapshot::default();
    snapshot.insert_definition_object(definition("note", TEMPLATE)).unwrap();
    application::validate(
        &review(operation, object, old_object),
        ApiVersion::V1beta1,
        &snapshot,
        &Templates::new(),
    )
}

#[test]
fn what_renders_enters() {
    let app = app(json!([{"name": "one", "type": "note", "properties": {"text": "hello"}}]));
    let verdict = judge("CREATE", app, Value::Null);
    assert!(verdict.is_allowed(), "{verdict:?}");
}

#[test]
fn all_mistakes_are_told_with_their_fields() {
    let app = app(json!([
        {"name": "one", "type": "nope"},
        {"name": "two", "type": "note", "traits": [{"type": "missing"}]},
    ]));
    let verdict = judge("CREATE", app.clone(), Value::Null);
    let fields: Vec<&str> = verdict.causes.iter().map(|c| c.field.as_str()).collect();
    for field in ["spec.components[0].type", "spec.components[1].traits[0].type"] {
        assert!(fields.contains(&field), "{field} is not in {fields:?}");
    }
    let reply = verdict.reply(&review("CREATE", app, Value::Null));
    assert_eq!(reply["response"]["uid"], "7f0b");
    assert_eq!(reply["response"]["allowed"], false);
    assert_eq!(reply["response"]["status"]["code"], 422);
    let causes = reply["response"]["status"]["details"]["causes"].as_array().unwrap();
    assert_eq!(causes.len(), verdict.causes.len());
}

#[test]
fn a_dependency_on_an_unknown_component_is_reported() {
    let component =
        json!({"name": "one", "type": "note", "properties": {"text": "x"}, "dependsOn": ["unknown"]});
    let verdict = judge("CREATE", app(json!([component])), Value::Null);
    assert_eq!(verdict.causes[0].field, "spec.components[0].dependsOn[0]");
}

#[test]
fn a_placement_enters_where_the_operator_allows_it() {
    let mut placed = app(json!([{"name": "one", "type": "note", "properties": {"text": "hello"}}]));
    placed["spec"]["policies"] =
        json!([{"name": "where", "type": "topology", "properties": {"namespace": "prod"}}]);
    let judge = |bounds: Bounds| {
        let mut snapshot = Snapshot::default();
        snapshot.insert_definition_object(definition("note", TEMPLATE)).unwrap();
        let review = review("CREATE", placed.clone(), Value::Null);
        application::validate(&review, ApiVersion::V1beta1, &snapshot.within(bounds), &Templates::new())
    };
    let verdict = judge(Bounds::NONE);
    assert!(verdict.is_allowed(), "{verdict:?}");
    let verdict = judge(Bounds::SAFE);
    assert_eq!(verdict.causes[0].field, "spec.policies[0].properties.namespace", "{verdict:?}");
    assert!(verdict.causes[0].message.contains("its own namespace"), "{verdict:?}");
}

#[test]
fn updates_that_keep_the_spec_and_deletions_pass() {
    let broken = app(json!([{"name": "one", "type": "nope"}]));
    let mut labelled = broken.clone();
    labelled["metadata"]["labels"] = json!({"x": "y"});
    assert!(judge("UPDATE", labelled, broken.clone()).is_allowed());
    assert!(judge("DELETE", Value::Null, broken.clone()).is_allowed());
    let mut going = broken.clone();
    going["metadata"]["deletionTimestamp"] = json!("2021-03-01T00:00:00Z");
    let old = app(json!([]));
    assert!(judge("UPDATE", going, old.clone()).is_allowed());
    assert!(!judge("UPDATE", broken, old).is_allowed());
}

fn judge_as(version: ApiVersion, operation: &str, object: Value, old_object: Value) -> Verdict {
    let mut snapshot = Snapshot::default();
    let component = json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": "ComponentDefinition", "metadata": {"name": "web"},
        "spec": {"workload": {"definition": {"apiVersion": "v1", "kind": "ConfigMap"}}, "schematic": {"cue": {"template":
            "output: {apiVersion: \"v1\", kind: \"ConfigMap\"}\noutputs: extra: {apiVersion: \"v1\", kind: \"Secret\"}\nparameter: {image: string, port?: int}"}}},
    });
    let trait_ = json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": "TraitDefinition", "metadata": {"name": "extra"},
        "spec": {"schematic": {"cue": {"template": "outputs: extra: {apiVersion: \"v1\", kind: \"Service\"}\nparameter: {}"}}},
    });
    snapshot.insert_definition_object(component).unwrap();
    snapshot.insert_definition_object(trait_).unwrap();
    application::validate(&review(operation, object, old_object), version, &snapshot, &Templates::new())
}

fn web(properties: Value) -> Value {
    app(json!([{"name": "one", "type": "web", "properties": properties}]))
}

fn with_rollout(value: Value) -> Value {
    let mut object = web(json!({"image": "nginx"}));
    object["metadata"]["annotations"] = json!({"app.oam.dev/rollout-template": value});
    object
}

#[test]
fn the_seed_lets_a_rollout_be_asked_for_at_the_begin_only() {
    let plain = web(json!({"image": "nginx"}));
    let asked = with_rollout(json!("true"));
    let seed = |operation: &str, new: &Value, old: Value| {
        judge_as(ApiVersion::V1alpha2, operation, new.clone(), old)
    };
    assert!(seed("CREATE", &asked, Value::Null).is_allowed());
    assert!(seed("UPDATE", &plain, asked.clone()).is_allowed(), "it may be removed");
    assert!(seed("UPDATE", &asked, asked.clone()).is_allowed());
    let verdict = seed("UPDATE", &asked, plain.clone());
    assert_eq!(verdict.causes[0].field, "metadata.annotations[\"app.oam.dev/rollout-template\"]");
    assert!(
        judge_as(ApiVersion::V1beta1, "UPDATE", asked, plain).is_allowed(),
        "a later release lets it be added"
    );
}

#[test]
fn a_later_release_takes_true_or_nothing_as_rollout_template() {
    for (value, allowed) in [("true", true), ("", true), ("false", false), ("yes", false)] {
        let verdict = judge_as(ApiVersion::V1beta1, "CREATE", with_rollout(json!(value)), Value::Null);
        assert_eq!(verdict.is_allowed(), allowed, "{value}: {verdict:?}");
    }
}

#[test]
fn a_plan_of_an_application_is_checked_and_needs_its_batches() {
    let mut object = web(json!({"image": "nginx"}));
    object["spec"]["rolloutPlan"] = json!({"rolloutStrategy": "Slowly", "targetSize": 3});
    let verdict = judge_as(ApiVersion::V1beta1, "CREATE", object.clone(), Value::Null);
    let fields: Vec<&str> = verdict.causes.iter().map(|cause| cause.field.as_str()).collect();
    for field in ["spec.rolloutPlan.rolloutStrategy", "spec.rolloutPlan.rolloutBatches"] {
        assert!(fields.contains(&field), "{field}: {verdict:?}");
    }
    object["spec"]["rolloutPlan"] =
        json!({"rolloutStrategy": "IncreaseFirst", "rolloutBatches": [{"replicas": 3}]});
    let verdict = judge_as(ApiVersion::V1beta1, "CREATE", object, Value::Null);
    assert!(verdict.is_allowed(), "{verdict:?}");
}

#[test]
fn a_misspelt_parameter_is_refused_and_a_foreign_one_warned_of() {
    let verdict =
        judge_as(ApiVersion::V1beta1, "CREATE", web(json!({"image": "nginx", "prot": 80})), Value::Null);
    assert_eq!(verdict.causes[0].field, "spec.components[0].properties.prot", "{verdict:?}");
    assert!(verdict.causes[0].message.contains("did you mean \"port\"?"), "{verdict:?}");
    let verdict =
        judge_as(ApiVersion::V1beta1, "CREATE", web(json!({"image": "nginx", "zebra": 80})), Value::Null);
    assert!(verdict.is_allowed(), "{verdict:?}");
    assert!(verdict.warnings.iter().any(|warning| warning.contains("\"zebra\"")), "{verdict:?}");
}

#[test]
fn two_outputs_of_one_name_in_a_component_are_refused() {
    let component = json!({"name": "one", "type": "web", "properties": {"image": "nginx"}, "traits": [{"type": "extra"}]});
    let verdict = judge_as(ApiVersion::V1beta1, "CREATE", app(json!([component])), Value::Null);
    let said = verdict.causes.iter().any(|cause| {
        cause.field == "spec.components[0]"
            && cause.message.starts_with("outputs items name must be unique: \"extra\"")
    });
    assert!(said, "{verdict:#?}");
}

#[test]
fn an_old_version_is_warned_of() {
    let mut object = app(json!([{"name": "one", "type": "web", "settings": {"image": "nginx"}}]));
    object["apiVersion"] = json!("core.oam.dev/v1alpha2");
    let verdict = judge_as(ApiVersion::V1alpha2, "CREATE", object, Value::Null);
    assert!(verdict.is_allowed(), "{verdict:?}");
    assert!(verdict.warnings.iter().any(|warning| warning.contains("deprecated")), "{verdict:?}");
}

fn judge_marked(operation: &str, object: Value, old_object: Value, strictness: Strictness) -> Verdict {
    let mut snapshot = Snapshot::default();
    let template = "output: {apiVersion: \"v1\", kind: \"ConfigMap\", data: region: parameter.region}\n\
                    parameter: {\n\t// +immutable\n\tregion: string\n}\n";
    let component = json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": "ComponentDefinition", "metadata": {"name": "store"},
        "spec": {"workload": {"definition": {"apiVersion": "v1", "kind": "ConfigMap"}}, "schematic": {"cue": {"template": template}}},
    });
    snapshot.insert_definition_object(component).unwrap();
    let review = review(operation, object, old_object);
    let templates = Templates::new();
    application::validate_strictly(&review, ApiVersion::V1beta1, (&snapshot, &templates), strictness)
}

#[test]
fn a_parameter_that_never_changes_is_kept_by_updates() {
    let store = |region: &str| app(json!([{"name": "s", "type": "store", "properties": {"region": region}}]));
    let judge = |object: Value| judge_marked("UPDATE", object, store("eu"), Strictness::default());
    let verdict = judge(store("us"));
    let path = "spec.components[0].properties.region";
    let cause = verdict.causes.iter().find(|cause| cause.field == path).unwrap();
    let said = "immutable field cannot be changed (current: \"eu\", new: \"us\")";
    assert!(cause.message.starts_with(said), "{verdict:?}");
    let mut forced = store("us");
    forced["metadata"]["annotations"] = json!({"app.oam.dev/force-param-mutations": "true"});
    assert!(judge(forced).is_allowed());
    let made = judge_marked("CREATE", store("us"), Value::Null, Strictness::default());
    assert!(made.is_allowed(), "{made:?}");
}

#[test]
fn a_strict_operator_refuses_every_undeclared_parameter() {
    let properties = json!({"region": "eu", "zzzzzzzz": 1});
    let object = app(json!([{"name": "s", "type": "store", "properties": properties}]));
    let judge = |undeclared_parameters: bool| {
        let strictness = Strictness { undeclared_parameters, ..Strictness::default() };
        judge_marked("CREATE", object.clone(), Value::Null, strictness)
    };
    let lenient = judge(false);
    assert!(lenient.is_allowed() && !lenient.warnings.is_empty(), "{lenient:?}");
    let strict = judge(true);
    assert_eq!(strict.causes[0].field, "spec.components[0].properties.zzzzzzzz", "{strict:?}");
}

#[test]
fn an_application_follows_definitions_or_is_published() {
    let annotated = |annotations: Value| {
        let mut object = web(json!({"image": "nginx"}));
        object["metadata"]["annotations"] = annotations;
        object
    };
    let follows = annotated(json!({"app.oam.dev/autoUpdate": "true"}));
    let both = annotated(json!({"app.oam.dev/autoUpdate": "true", "app.oam.dev/publishVersion": "v1"}));
    let judge =
        |operation: &str, new: &Value, old: Value| judge_as(ApiVersion::V1beta1, operation, new.clone(), old);
    assert!(judge("CREATE", &follows, Value::Null).is_allowed());
    let path = "metadata.annotations[\"app.oam.dev/autoUpdate\"]";
    for verdict in [judge("CREATE", &both, Value::Null), judge("UPDATE", &both, follows.clone())] {
        assert!(verdict.causes.iter().any(|cause| cause.field == path), "{verdict:?}");
    }
    assert!(judge("UPDATE", &both, both.clone()).is_allowed(), "what is there must be let go");
}
