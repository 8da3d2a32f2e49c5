//! What policies say of components and objects: rules with selectors, overrides, and what is wrong with them.

use serde_json::{Value as Json, json};
use vela_engine::policy::{self, ObjectRules, Retention};
use vela_engine::{
    Diagnostics, Document, Graph, Templates, dry_run, field_path, graph, manifest, parse, plan, render,
    revision,
};

use crate::snapshots;

const DEFINITIONS: &str = r#"
apiVersion: core.oam.dev/v1beta1
kind: ComponentDefinition
metadata: {name: web}
spec:
  workload: {definition: {apiVersion: v1, kind: ConfigMap}}
  schematic:
    cue:
      template: |
        output: {apiVersion: "v1", kind: "ConfigMap", data: image: parameter.image}
        outputs: door: {apiVersion: "v1", kind: "Service", metadata: name: context.name + "-door"}
        parameter: {image: *"none" | string, port?: _, new?: _}
---
apiVersion: core.oam.dev/v1beta1
kind: ComponentDefinition
metadata: {name: job}
spec:
  workload: {definition: {apiVersion: v1, kind: ConfigMap}}
  schematic:
    cue:
      template: |
        output: {apiVersion: "v1", kind: "ConfigMap", data: job: "yes"}
        parameter: {}
---
apiVersion: core.oam.dev/v1beta1
kind: TraitDefinition
metadata: {name: note}
spec:
  schematic:
    cue:
      template: |
        outputs: note: {
            apiVersion: "v1", kind: "Secret", metadata: name: context.name + "-note"
            stringData: text: parameter.text
        }
        parameter: text: *"none" | string
---
apiVersion: core.oam.dev/v1beta1
kind: PolicyDefinition
metadata: {name: quota}
spec: {schematic: {cue: {template: "parameter: {}"}}}
"#;

/// An application of two components with these policies, and more in its spec.
fn app(policies: &Json, more: &Json) -> Document {
    let mut object = json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": "Application", "metadata": {"name": "shop", "namespace": "dev"},
        "spec": {
            "components": [
                {"name": "front", "type": "web", "properties": {"image": "a", "port": 80}, "traits": [{"type": "note"}]},
                {"name": "back", "type": "web", "properties": {"image": "b"}},
            ],
            "policies": policies,
        },
    });
    for (field, value) in more.as_object().into_iter().flatten() {
        object["spec"][field] = value.clone();
    }
    manifest::read("app.json", &object.to_string()).unwrap().as_slice()[0].clone()
}

fn meant(application: &Document) -> Result<Graph, Diagnostics> {
    let app_file = parse::parse(application, &snapshots::of(DEFINITIONS))?;
    let revision = revision::revision(app_file, None);
    let rendered = render::render(&plan::plan(revision)?, &Templates::default(), &render::Inputs::default())?;
    graph::graph(rendered)
}

/// What these policies say of each object, by kind and name.
fn said(policies: &Json) -> Vec<(String, ObjectRules)> {
    let graph = meant(&app(policies, &Json::Null)).unwrap();
    let rules = graph.rendered().plan().rules();
    graph.objects().map(|object| (object.key().to_string(), rules.of(&object.object))).collect()
}

fn named(policies: &Json, is_meant: impl Fn(&ObjectRules) -> bool) -> Vec<String> {
    let mut names: Vec<String> =
        said(policies).into_iter().filter(|(_, rules)| is_meant(rules)).map(|(name, _)| name).collect();
    names.sort();
    names
}

fn read_only(selector: &Json) -> Json {
    json!([{"name": "p", "type": "read-only", "properties": {"rules": [{"selector": selector}]}}])
}

#[test]
fn a_selector_names_objects_by_what_they_are() {
    let all = [
        "ConfigMap dev/back",
        "ConfigMap dev/front",
        "Secret dev/front-note",
        "Service dev/back-door",
        "Service dev/front-door",
    ];
    let doors = ["Service dev/back-door", "Service dev/front-door"];
    let cases: [(Json, &[&str]); 10] = [
        (
            json!({"componentNames": ["front"]}),
            &["ConfigMap dev/front", "Secret dev/front-note", "Service dev/front-door"],
        ),
        (json!({"componentTypes": ["web"]}), &["ConfigMap dev/back", "ConfigMap dev/front"]),
        (json!({"oamTypes": ["WORKLOAD"]}), &["ConfigMap dev/back", "ConfigMap dev/front"]),
        (json!({"oamTypes": ["WORKLOAD", "TRAIT"]}), &all),
        (json!({"traitTypes": ["note"]}), &["Secret dev/front-note"]),
        (json!({"resourceTypes": ["Service", "Job"]}), &doors),
        (json!({"resourceNames": ["front-note"], "resourceTypes": ["Secret"]}), &["Secret dev/front-note"]),
        // Each list narrows.
        (json!({"resourceNames": ["front-note"], "resourceTypes": ["Service"]}), &[]),
        (json!({"resourceTypes": []}), &[]),
        (json!({}), &[]),
    ];
    for (selector, expected) in cases {
        assert_eq!(named(&read_only(&selector), |rules| rules.read_only), expected, "{selector}");
    }
    let unmeant = meant(&app(&read_only(&json!({})), &Json::Null)).unwrap();
    let warning = unmeant.warnings().iter().next().unwrap();
    assert_eq!(warning.path, "spec.policies[0].properties.rules[0].selector", "{warning}");
    assert!(warning.to_string().contains("is for no object"), "{warning}");
}

#[test]
fn policies_of_one_type_count_together_and_the_first_rule_wins() {
    let service = json!({"resourceTypes": ["Service"]});
    let rule = |selector: &Json, strategy: &str| json!({"selector": selector, "strategy": strategy});
    let policies = json!([
        {"name": "a", "type": "garbage-collect", "properties": {"keepLegacyResource": true, "rules": [rule(&service, "never")]}},
        {"name": "b", "type": "garbage-collect", "properties": {"order": "dependency", "applicationRevisionLimit": 3, "rules": [
            rule(&json!({"componentNames": ["front"]}), "onAppDelete"),
            {"selector": {"resourceTypes": ["Service", "ConfigMap"]}, "propagation": "orphan"},
        ]}},
        {"name": "c", "type": "take-over", "properties": {"rules": [{"selector": service}]}},
        {"name": "d", "type": "shared-resource", "properties": {"rules": [{"selector": service}]}},
        {"name": "e", "type": "garbage-collect"},
    ]);
    let of: std::collections::BTreeMap<String, ObjectRules> = said(&policies).into_iter().collect();
    let door = &of["Service dev/front-door"];
    assert_eq!(
        (door.retention, door.released),
        (Retention::Forever, true),
        "what stays for ever is not deleted"
    );
    assert!(door.take_over && door.shared && !door.read_only && door.needs_live());
    let front = &of["ConfigMap dev/front"];
    assert_eq!((front.retention, front.released), (Retention::WithApplication, false));
    let back = &of["ConfigMap dev/back"];
    assert_eq!(
        (back.retention, back.released),
        (Retention::WhileNamed, true),
        "it is let go instead of deleted"
    );
    let application = app(&policies, &Json::Null);
    let graph = meant(&application).unwrap();
    let collects = graph.rendered().plan().rules().garbage_collect();
    assert!(collects.keeps_legacy() && collects.is_in_order() && !collects.continues_on_failure());
    // The deletion of an application reads nothing else of it.
    assert_eq!(policy::revision_limit(application.value()), Some(3));
    assert!(policy::is_deleted_in_order(application.value()));
    let none = app(&json!([]), &Json::Null);
    assert_eq!(policy::revision_limit(none.value()), None);
    assert!(!policy::is_deleted_in_order(none.value()));
    assert!(said(&json!([])).iter().all(|(_, rules)| *rules == ObjectRules::default()));
}

#[test]
fn apply_once_leaves_what_is_in_the_cluster() {
    let once = |properties: &Json| json!([{"name": "p", "type": "apply-once", "properties": properties}]);
    let rule = |strategy: Json| {
        once(
            &json!({"enable": true, "rules": [{"selector": {"resourceTypes": ["ConfigMap"]}, "strategy": strategy}]}),
        )
    };
    let of = |policies: &Json| {
        said(policies).into_iter().find(|(name, _)| name == "ConfigMap dev/front").unwrap().1
    };
    assert_eq!(of(&once(&json!({"enable": false}))).apply_once, None);
    let all = of(&once(&json!({"enable": true}))).apply_once.unwrap();
    assert!(all.is_whole() && all.acts(true) && !all.acts(false), "a new revision is written");
    let whole = of(&rule(json!({"path": ["*"]}))).apply_once.unwrap();
    assert!(whole.is_whole() && whole.acts(true) && whole.acts(false));
    for (affect, on_update, on_state_keep) in
        [("onUpdate", true, false), ("onStateKeep", false, true), ("always", true, true), ("", true, true)]
    {
        let said = of(&rule(json!({"affect": affect, "path": ["spec.replicas"]}))).apply_once.unwrap();
        assert_eq!((said.acts(false), said.acts(true)), (on_update, on_state_keep), "{affect}");
        assert!(!said.is_whole());
    }
    let paths = json!([
        "spec.replicas",
        "spec.list[1].image",
        "metadata.annotations[\"a.b/c\"]",
        "spec.gone",
        "spec.text.deeper"
    ]);
    let said = of(&rule(json!({"path": paths}))).apply_once.unwrap();
    let desired = json!({
        "metadata": {"name": "x"},
        "spec": {"replicas": 1, "gone": {"a": 1}, "list": [{"image": "a"}, {"image": "b"}], "text": "t", "other": 1},
    });
    let live = json!({
        "metadata": {"name": "x", "annotations": {"a.b/c": "seen"}},
        "spec": {"replicas": 5, "list": [{"image": "x"}, {"image": "y"}], "text": "u", "other": 2},
    });
    let merged = said.merged(&desired, &live);
    assert_eq!(
        merged,
        json!({
            "metadata": {"name": "x", "annotations": {"a.b/c": "seen"}},
            "spec": {"replicas": 5, "list": [{"image": "a"}, {"image": "y"}], "text": "t", "other": 1},
        })
    );
    // A list that the application does not write is not made up.
    assert_eq!(said.merged(&json!({"spec": {}}), &live)["spec"]["list"], Json::Null);
}

#[test]
fn what_an_addon_made_is_left_alone_by_default() {
    let mut addon = app(&json!([]), &Json::Null).value().clone();
    addon["metadata"]["labels"] = json!({"addons.oam.dev/name": "fluxcd"});
    let graph = meant(&Document::from_object(addon)).unwrap();
    let rules = graph.rendered().plan().rules();
    assert!(
        graph.objects().all(|object| rules.of(&object.object).apply_once.is_some_and(|once| once.is_whole()))
    );
}

#[test]
fn an_update_replaces_or_makes_again() {
    let strategy = json!({"op": "replace", "recreateFields": ["spec.storage", "spec.absent"]});
    let policies = json!([{"name": "p", "type": "resource-update", "properties": {"rules": [
        {"selector": {"resourceTypes": ["ConfigMap"]}, "strategy": strategy},
    ]}}]);
    let said = said(&policies);
    let update = &said.iter().find(|(name, _)| name == "ConfigMap dev/front").unwrap().1.update;
    assert!(update.replaces());
    let door = &said.iter().find(|(name, _)| name == "Service dev/front-door").unwrap().1;
    assert!(!door.update.replaces() && !door.needs_live());
    let same = |live: &Json, wanted: &Json| live == wanted;
    let desired = json!({"spec": {"storage": "2Gi", "other": 1}});
    assert_eq!(
        update.differing(&desired, &json!({"spec": {"storage": "1Gi", "absent": 1}}), same),
        ["spec.storage"]
    );
    assert!(update.differing(&desired, &json!({"spec": {"storage": "2Gi"}}), same).is_empty());

    let live = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "name": "x", "uid": "u", "finalizers": ["f"], "ownerReferences": [],
            "labels": {"ours": "a", "theirs": "b"}, "annotations": {"app.oam.dev/shared-by": "dev/shop", "theirs": "c"},
        },
        "data": {"a": "1", "b": "2"}, "immutable": true, "status": {"x": 1},
    });
    let desired = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "labels": {"ours": "a"}}, "data": {"a": "3"},
    });
    assert_eq!(
        policy::replacement(&desired, &live),
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "x", "labels": {"ours": "a", "theirs": null}, "annotations": {"theirs": null}},
            "data": {"a": "3", "b": null}, "immutable": null,
        })
    );
}

fn overriding(properties: &Json) -> Json {
    json!([{"name": "more", "type": "override", "properties": properties}])
}

#[test]
fn an_override_changes_properties_and_traits() {
    let entry = json!({
        "name": "front",
        "properties": {"image": "c", "port": null, "new": 0},
        "traits": [{"type": "note", "properties": {"text": "hello"}}],
    });
    let graph = meant(&app(&overriding(&json!({"components": [entry]})), &Json::Null)).unwrap();
    let front = &graph.app_file().components()[0];
    assert_eq!(front.properties, json!({"image": "c", "port": null, "new": 0}));
    assert_eq!((front.traits.len(), &front.traits[0].properties), (1, &json!({"text": "hello"})));
    assert_eq!(graph.app_file().components()[1].properties, json!({"image": "b"}));
    let step = &graph.rendered().plan().steps()[0];
    assert_eq!(
        (step.name.as_str(), step.type_, step.policies.as_slice()),
        ("deploy", "deploy", &["more".to_owned()][..])
    );
    assert_eq!(step.nodes, [0, 1]);
    let application = app(&overriding(&json!({"components": [entry]})), &Json::Null);
    let shown = dry_run::render(&application, &snapshots::of(DEFINITIONS), &Templates::default()).unwrap();
    let head = "# Application(shop only with override policies) -- Component(front)";
    assert!(dry_run::text(&shown).contains(head), "{}", dry_run::text(&shown));
}

#[test]
fn an_override_chooses_components_by_name_pattern_and_type() {
    let images = |properties: &Json| {
        let graph = meant(&app(&overriding(properties), &Json::Null)).unwrap();
        let of =
            |component: &parse::Component| format!("{}={}", component.name, component.properties["image"]);
        graph.app_file().components().iter().map(of).collect::<Vec<_>>().join(" ")
    };
    let c = json!({"image": "c"});
    for (entry, expected) in [
        (json!({"properties": c}), r#"front="c" back="c""#),
        (json!({"type": "web", "properties": c}), r#"front="c" back="c""#),
        (json!({"type": "job", "properties": c}), r#"front="a" back="b""#),
        (json!({"name": "f*", "properties": c}), r#"front="c" back="b""#),
        (json!({"name": "(front|back)", "properties": c}), r#"front="c" back="c""#),
        // A pattern is for whole names.
        (json!({"name": "[a-z]ron", "properties": c}), r#"front="a" back="b""#),
        (json!({"name": "more", "type": "web", "properties": c}), r#"front="a" back="b" more="c""#),
        // Of another type it is another component.
        (json!({"name": "back", "type": "job"}), r#"front="a" back=null"#),
    ] {
        assert_eq!(images(&json!({"components": [entry]})), expected, "{entry}");
    }
    assert_eq!(images(&json!({"selector": ["back"]})), r#"back="b""#);
    assert_eq!(images(&json!({"selector": []})), "");
    let disabled = json!({"components": [{"name": "front", "traits": [{"type": "note", "disable": true}]}]});
    let graph = meant(&app(&overriding(&disabled), &Json::Null)).unwrap();
    assert!(graph.app_file().components()[0].traits.is_empty());
}

#[test]
fn an_override_asks_for_the_definitions_that_it_brings() {
    let entry = json!({"name": "back", "traits": [{"type": "note"}]});
    let application =
        app(&overriding(&json!({"components": [entry, {"name": "last", "type": "job"}]})), &Json::Null);
    let references = parse::references(&application).definitions;
    assert!(references.iter().any(|(_, name)| name == "job"), "{references:?}");
    let graph = meant(&application).unwrap();
    assert_eq!(graph.app_file().components().len(), 3);
    assert!(graph.objects().any(|object| object.key().name == "back-note"));
    // Where steps are written, each names the policies that it goes by.
    let step = json!({"name": "a", "type": "apply-component", "properties": {"component": "front"}});
    let other = json!({"name": "b", "type": "apply-component", "properties": {"component": "back"}});
    let written = app(
        &overriding(&json!({"components": [{"properties": {"image": "c"}}]})),
        &json!({"workflow": {"steps": [step, other]}}),
    );
    let graph = meant(&written).unwrap();
    assert_eq!(graph.app_file().components()[0].properties["image"], "a");
    assert!(graph.warnings().to_string().contains("no step goes by the override policy \"more\""));
}

#[test]
fn an_override_and_a_topology_are_one_step() {
    let policies = json!([
        {"name": "more", "type": "override", "properties": {"components": [{"properties": {"image": "c"}}]}},
        {"name": "here", "type": "topology", "properties": {"clusters": ["local"]}},
    ]);
    let application = app(&policies, &Json::Null);
    let graph = meant(&application).unwrap();
    let steps = graph.rendered().plan().steps();
    assert_eq!((steps.len(), steps[0].name.as_str()), (1, "deploy-here"));
    assert_eq!(steps[0].policies, ["more", "here"]);
    let shown = dry_run::render(&application, &snapshots::of(DEFINITIONS), &Templates::default()).unwrap();
    let text = dry_run::text(&shown);
    assert!(text.contains("# Application(shop with topology here) -- Component(front)"), "{text}");
    assert!(text.contains("image: c"), "{text}");
}

#[test]
fn what_is_wrong_with_a_policy_is_told_with_place_and_advice() {
    let rules = |rule: Json| json!({"rules": [rule]});
    let at = "spec.policies[0].properties";
    for (type_, properties, code, field, words) in [
        (
            "garbage-collect",
            json!({"keepLegacyResource": "yes"}),
            "wrong_type",
            ".keepLegacyResource",
            "true or false",
        ),
        ("garbage-collect", json!({"order": "dependencies"}), "wrong_type", ".order", "expected dependency"),
        (
            "garbage-collect",
            json!({"applicationRevisionLimit": "3"}),
            "wrong_type",
            ".applicationRevisionLimit",
            "a whole number",
        ),
        ("garbage-collect", json!({"rules": {}}), "wrong_type", ".rules", "a list"),
        ("garbage-collect", json!({"rules": [1]}), "wrong_type", ".rules[0]", "an object"),
        (
            "garbage-collect",
            rules(json!({"selector": {"resourceTypes": ["Job"]}, "strategy": "onAppDeleted"})),
            "wrong_type",
            ".rules[0].strategy",
            "did you mean \"onAppDelete\"?",
        ),
        (
            "read-only",
            rules(json!({"selector": {"resourceTypes": "Job"}})),
            "wrong_type",
            ".rules[0].selector.resourceTypes",
            "a list",
        ),
        (
            "take-over",
            rules(json!({"selector": {"resourceTypes": [1]}})),
            "wrong_type",
            ".rules[0].selector.resourceTypes[0]",
            "a string",
        ),
        (
            "apply-once",
            rules(json!({"selector": {"resourceTypes": ["Job"]}, "strategy": {"path": ["spec..replicas"]}})),
            "wrong_type",
            ".rules[0].strategy.path[0]",
            "two dots in a row",
        ),
        (
            "resource-update",
            rules(json!({"selector": {"resourceTypes": ["Job"]}, "strategy": {"op": "put"}})),
            "wrong_type",
            ".rules[0].strategy.op",
            "expected patch or replace",
        ),
        (
            "override",
            json!({"components": [{"name": "frnt"}]}),
            "unknown_reference",
            ".components[0].name",
            "did you mean \"front\"?",
        ),
        (
            "override",
            json!({"components": [{"name": "(front"}]}),
            "wrong_type",
            ".components[0].name",
            "a regular expression",
        ),
        (
            "override",
            json!({"selector": ["bak"]}),
            "unknown_reference",
            ".selector[0]",
            "did you mean \"back\"?",
        ),
        (
            "override",
            json!({"components": [{"name": "front", "traits": [{"disable": true}]}]}),
            "missing_field",
            ".components[0].traits[0].type",
            "needs a type",
        ),
    ] {
        let policies = json!([{"name": "p", "type": type_, "properties": properties}]);
        let errors = meant(&app(&policies, &Json::Null)).unwrap_err();
        let first = errors.iter().find(|finding| finding.is_error()).unwrap();
        assert_eq!((first.code.as_str(), first.path.as_str()), (code, &*format!("{at}{field}")), "{errors}");
        assert!(first.to_string().contains(words), "{first}");
    }
    // A slip in a name is told, and strictly it is an error.
    let slip = json!([{"name": "p", "type": "garbage-collect", "properties": {"keepLegacyResources": true}}]);
    let warned = meant(&app(&slip, &Json::Null)).unwrap().warnings().clone();
    assert!(warned.to_string().contains("did you mean \"keepLegacyResource\"?"), "{warned}");
    assert!(warned.strictly().has_errors());
    assert!(field_path::parse("spec.replicas").is_ok());
}

#[test]
fn an_unknown_policy_is_an_error_with_the_nearest_name() {
    let of = |type_: &str| meant(&app(&json!([{"name": "p", "type": type_}]), &Json::Null)).unwrap_err();
    let unknown = of("garbage-colect");
    let first = unknown.iter().next().unwrap();
    assert_eq!((first.code.as_str(), first.path.as_str()), ("unknown_definition", "spec.policies[0].type"));
    assert!(first.to_string().contains("did you mean \"garbage-collect\"?"), "{first}");
    assert!(of("quotas").to_string().contains("did you mean \"quota\"?"), "those of the cluster count, too");
    for (type_, code) in [("quota", "bad_definition"), ("health", "not_supported")] {
        let found = of(type_);
        assert_eq!(found.iter().next().unwrap().code.as_str(), code, "{type_}: {found}");
    }
}

#[test]
fn what_others_write_does_not_go_by_rules() {
    let policies = read_only(&json!({"resourceTypes": ["Service"]}));
    let plan = json!({"rolloutPlan": {"rolloutBatches": [{"replicas": 1}]}});
    let errors = meant(&app(&policies, &plan)).unwrap_err();
    let first = errors.iter().next().unwrap();
    assert_eq!((first.code.as_str(), first.path.as_str()), ("not_supported", "spec.policies[0]"), "{errors}");
    assert!(first.to_string().contains("rolled out"), "{first}");
}
