//! PolicyDefinitions of the scope `Application`: what they change before the application is parsed, in which order, and what is
//! wrong with them.

use serde_json::{Value as Json, json};
use vela_engine::{
    Document, Snapshot, Templates, Transformed, dry_run, manifest, parse, revision, transform,
};

const WEB: &str = r#"
apiVersion: core.oam.dev/v1beta1
kind: ComponentDefinition
metadata: {name: web}
spec:
  workload: {definition: {apiVersion: v1, kind: ConfigMap}}
  schematic:
    cue:
      template: |
        output: {
            apiVersion: "v1", kind: "ConfigMap"
            data: image: parameter.image
            if context.custom != _|_ {data: tier: context.custom.tier}
        }
        parameter: image: string
"#;

fn policy(name: &str, more: &Json, template: &str) -> Json {
    let mut spec = json!({"scope": "Application", "schematic": {"cue": {"template": template}}});
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"apiVersion": "core.oam.dev/v1beta1", "kind": "PolicyDefinition",
        "metadata": {"name": name, "namespace": "vela-system"}, "spec": spec})
}

fn snapshot(definitions: &[Json]) -> Snapshot {
    let mut snapshot = Snapshot::default();
    let web = manifest::read("web.yaml", WEB).unwrap().as_slice()[0].value().clone();
    for definition in definitions.iter().cloned().chain([web]) {
        snapshot.insert_definition_object(definition).unwrap();
    }
    snapshot
}

fn app(policies: &Json) -> Document {
    let text = format!(
        "apiVersion: core.oam.dev/v1beta1\nkind: Application\nmetadata: {{name: shop, namespace: dev, labels: {{team: a}}}}\n\
         spec:\n  components:\n  - {{name: front, type: web, properties: {{image: nginx}}}}\n  policies: {policies}\n"
    );
    manifest::read("app.yaml", &text).unwrap().as_slice()[0].clone()
}

/// The application as the policies leave it, and the snapshot that knows so.
fn run(application: &Document, definitions: &[Json]) -> (Option<Transformed>, Snapshot) {
    let mut snapshot = snapshot(definitions);
    let transformed = transform::transform(application, &snapshot, &Templates::default());
    if let Some(transformed) = transformed.clone() {
        snapshot.insert_transformed(transformed);
    }
    (transformed, snapshot)
}

/// The errors of a dry run.
fn errors(application: &Document, definitions: &[Json]) -> String {
    let (_, snapshot) = run(application, definitions);
    dry_run::render(application, &snapshot, &Templates::default()).unwrap_err().to_string()
}

const IMAGES: &str = r#"
output: components: [for component in context.appComponents {
    component & {name: component.name}
    if component.properties.image == "nginx" {properties: registry: "mirror"}
}]
parameter: {}
"#;

#[test]
fn a_named_policy_changes_spec_labels_and_context() {
    let template = r#"
        output: {
            components: [for one in context.appComponents {
                name: one.name, type: one.type
                properties: image: parameter.registry + "/" + one.properties.image
            }]
            labels: {tier: parameter.tier, team: "b"}
            annotations: note: context.policyName
            ctx: tier: parameter.tier
        }
        parameter: {registry: string, tier: *"gold" | string}
    "#;
    let given = json!([{"name": "mirror", "type": "images", "properties": {"registry": "mirror.local"}}]);
    let application = app(&given);
    let definitions = [policy("images", &json!({}), template)];
    let (transformed, snapshot) = run(&application, &definitions);
    let transformed = transformed.unwrap();
    assert!(transformed.found().is_empty(), "{}", transformed.found());
    let left = transformed.document().value();
    assert_eq!(left["spec"]["components"][0]["properties"]["image"], "mirror.local/nginx");
    assert_eq!(left["metadata"]["labels"], json!({"team": "b", "tier": "gold"}));
    assert_eq!(left["metadata"]["annotations"], json!({"note": "mirror"}));
    let report = transformed.applied()[0].to_json();
    let counts =
        [&report["labelsCount"], &report["annotationsCount"], &report["hasContext"], &report["specModified"]];
    assert_eq!(counts, [&json!(2), &json!(1), &json!(true), &json!(true)], "{report}");
    assert_eq!(
        (&report["source"], &report["type"], &report["applied"]),
        (&json!("explicit"), &json!("images"), &json!(true))
    );

    let rendered = dry_run::render(&application, &snapshot, &Templates::default()).unwrap();
    let object = &rendered.components()[0];
    let vela_engine::render::State::Ready(objects) = &object.state else { panic!("{object:?}") };
    assert_eq!(objects[0].object["data"], json!({"image": "mirror.local/nginx", "tier": "gold"}));
    assert_eq!(objects[0].object["metadata"]["labels"]["tier"], "gold");
}

#[test]
fn a_revision_records_what_was_written_and_the_policy() {
    let template = r#"output: labels: tier: "gold"
        parameter: {}"#;
    let application = app(&json!([{"name": "gold", "type": "gold"}]));
    let definition = policy("gold", &json!({}), template);
    let (_, snapshot) = run(&application, std::slice::from_ref(&definition));
    let parsed = parse::parse(&application, &snapshot).unwrap();
    let hash = revision::hash(&parsed);
    let spec = revision::revision(parsed, None).spec();
    assert_eq!(spec["application"]["metadata"]["labels"], json!({"team": "a"}), "as written");
    assert_eq!(spec["policyDefinitions"]["gold"]["spec"], definition["spec"]);

    let other = policy("gold", &json!({}), &template.replace("gold", "silver"));
    let (_, snapshot) = run(&application, &[other]);
    assert_ne!(
        revision::hash(&parse::parse(&application, &snapshot).unwrap()),
        hash,
        "another policy is another content"
    );
}

#[test]
fn policies_run_by_priority_and_see_what_was_left() {
    let append = |letter: &str| {
        format!(
            "_old: *context.appLabels.order | \"\"\noutput: labels: order: _old + \"{letter}\"\nparameter: {{}}"
        )
    };
    let definitions = [
        policy("z-early", &json!({"global": true, "priority": -5}), &append("1")),
        policy("b-same", &json!({"global": true}), &append("3")),
        policy("a-same", &json!({"global": true, "priority": 0}), &append("2")),
        policy("named", &json!({}), &append("4")),
        policy("late", &json!({"global": true, "priority": 9}), &append("5")),
    ];
    let (transformed, _) = run(&app(&json!([{"name": "n", "type": "named"}])), &definitions);
    let transformed = transformed.unwrap();
    assert_eq!(
        transformed.document().value()["metadata"]["labels"]["order"],
        "12345",
        "{}",
        transformed.found()
    );
    let sources: Vec<&str> = transformed.applied().iter().map(|one| one.source.as_str()).collect();
    assert_eq!(sources, ["global", "global", "global", "explicit", "global"]);

    let mut skipping = app(&json!([])).into_value();
    skipping["metadata"]["annotations"] = json!({"policy.oam.dev/skip-global": "true"});
    assert!(run(&Document::from_object(skipping), &definitions).0.is_none());
}

#[test]
fn a_global_policy_that_fails_is_left_out_with_a_warning() {
    let broken =
        policy("broken", &json!({"global": true}), "output: labels: a: parameter.a\nparameter: a: string");
    let good = policy("good", &json!({"global": true}), "output: labels: good: \"yes\"\nparameter: {}");
    let application = app(&json!([]));
    let (transformed, snapshot) = run(&application, &[broken, good]);
    let transformed = transformed.unwrap();
    assert_eq!(transformed.document().value()["metadata"]["labels"]["good"], "yes");
    assert!(!transformed.found().has_errors());
    let report = transformed.applied()[0].to_json();
    assert_eq!((&report["applied"], &report["error"]), (&json!(false), &json!(true)));
    let parsed = parse::parse(&application, &snapshot).unwrap();
    let warning = parsed.warnings().to_string();
    assert!(
        warning.contains("global policy \"broken\" is left out: parameter.a must be given (string)"),
        "{warning}"
    );
}

#[test]
fn a_policy_that_is_not_enabled_changes_nothing() {
    let template = "config: enabled: context.appName == \"other\"\noutput: labels: a: \"b\"\nparameter: {}";
    let application = app(&json!([{"name": "p", "type": "only"}]));
    let (transformed, snapshot) = run(&application, &[policy("only", &json!({}), template)]);
    let transformed = transformed.unwrap();
    assert_eq!(transformed.document().value(), application.value());
    assert_eq!(transformed.applied()[0].to_json()["message"], "its template says enabled: false");
    assert!(
        parse::parse(&application, &snapshot).unwrap().definitions().iter().all(|one| one.name() != "only")
    );
}

#[test]
fn mistakes_of_a_named_policy_stop_the_application() {
    let named = app(&json!([{"name": "p", "type": "mine", "properties": {"n": "x"}}]));
    for (template, expected) in [
        ("output: labels: a: \"b\"\nparameter: n: int", "conflicting values"),
        (
            "output: label: a: \"b\"\nparameter: n: _",
            "output.label: a policy of the scope Application cannot change this",
        ),
        ("output: labels: a: 1\nparameter: n: _", "output.labels must be an object of strings"),
        ("output: components: {}\nparameter: n: _", "output.components must be a list of objects"),
        ("config: enabled: \"yes\"\nparameter: n: _", "config.enabled must be true or false"),
        ("parameter: n: _", "the template has no `output`"),
        (
            "output: labels: a: parameter.m\nparameter: {n: _, m: string}",
            "parameter.m must be given (string)",
        ),
        ("errs: [\"not on Fridays\"]\noutput: labels: a: \"b\"\nparameter: n: _", "not on Fridays"),
    ] {
        let report = errors(&named, &[policy("mine", &json!({}), template)]);
        assert!(report.contains(expected), "{template}: {report}");
        assert!(report.contains("app.yaml:7"), "the place of the policy: {report}");
    }
    let report = errors(&named, &[policy("mine", &json!({"global": true}), "output: labels: a: \"b\"")]);
    assert!(report.contains("acts on every application by itself"), "{report}");
}

#[test]
fn a_policy_that_another_one_adds_is_refused() {
    let adds = "output: policies: [{name: \"x\", type: \"inner\"}]\nparameter: {}";
    let inner = policy("inner", &json!({}), "output: labels: a: \"b\"\nparameter: {}");
    let application = app(&json!([{"name": "p", "type": "outer"}]));
    let mut snapshot = snapshot(&[policy("outer", &json!({}), adds), inner]);
    let transformed = transform::transform(&application, &snapshot, &Templates::default()).unwrap();
    snapshot.insert_transformed(transformed);
    let report = parse::parse(&application, &snapshot).unwrap_err().to_string();
    assert!(report.contains("policy type \"inner\" changes applications, and was not run"), "{report}");
}

#[test]
fn labels_of_platforms_are_not_shown_to_policies() {
    let template = "output: annotations: seen: \"\\(len(context.appAnnotations))\"\nparameter: {}";
    let mut application = app(&json!([{"name": "p", "type": "seen"}])).into_value();
    application["metadata"]["annotations"] = json!({"app.oam.dev/publishVersion": "v1", "mine": "a",
        "kubectl.kubernetes.io/last-applied-configuration": "{}", "app.kubernetes.io/part-of": "b"});
    let (transformed, _) = run(&Document::from_object(application), &[policy("seen", &json!({}), template)]);
    assert_eq!(transformed.unwrap().document().value()["metadata"]["annotations"]["seen"], "2");
}

#[test]
fn a_policy_that_never_ends_is_an_error_within_limits() {
    let endless = "import \"list\"\noutput: labels: a: \"\\(len([for x in list.Range(0, 100000, 1) for y in list.Range(0, 100000, 1) {x}]))\"";
    let report =
        errors(&app(&json!([{"name": "p", "type": "endless"}])), &[policy("endless", &json!({}), endless)]);
    assert!(report.contains("endless"), "{report}");
}

#[test]
fn a_list_of_components_keeps_what_the_template_adds() {
    let (transformed, _) =
        run(&app(&json!([{"name": "p", "type": "images"}])), &[policy("images", &json!({}), IMAGES)]);
    let transformed = transformed.unwrap();
    assert_eq!(
        transformed.document().value()["spec"]["components"][0]["properties"],
        json!({"image": "nginx", "registry": "mirror"}),
        "{}",
        transformed.found()
    );
}

#[test]
fn two_versions_of_one_policy_are_recorded_each() {
    let text = |letter: &str| format!("output: labels: {letter}: \"yes\"\nparameter: {{}}");
    let application = app(&json!([{"name": "a", "type": "p@v1"}, {"name": "b", "type": "p@v2"}]));
    let mut snapshot = snapshot(&[]);
    for (version, letter) in [("1", "a"), ("2", "b")] {
        let definition =
            vela_engine::Definition::from_object(policy("p", &json!({}), &text(letter))).unwrap();
        snapshot.insert_revision(version, std::sync::Arc::new(definition));
    }
    let transformed = transform::transform(&application, &snapshot, &Templates::default()).unwrap();
    assert_eq!(
        transformed.document().value()["metadata"]["labels"],
        json!({"team": "a", "a": "yes", "b": "yes"})
    );
    snapshot.insert_transformed(transformed);
    let spec = revision::revision(parse::parse(&application, &snapshot).unwrap(), None).spec();
    let recorded: Vec<&String> = spec["policyDefinitions"].as_object().unwrap().keys().collect();
    assert_eq!(recorded, ["p@v1", "p@v2"]);
}
