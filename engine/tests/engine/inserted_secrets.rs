//! Parameters with `+insertSecretTo=NAME`: the template sees the content of the Secret that they name.

use serde_json::{Value as Json, json};
use vela_engine::render::{Inputs, State};
use vela_engine::{Document, Rendered, Snapshot, Templates, manifest, parse, plan, render, revision};

/// As the documentation of KubeVela shows it; `again` shows that the context has it, too.
const CONNECTED: &str = r#"
output: {
	apiVersion: "v1"
	kind:       "ConfigMap"
	data: {
		image: parameter.image
		if parameter["dbSecret"] != _|_ {
			user:  dbConn.username
			again: context.dbConn.username
		}
	}
}
parameter: {
	// +usage=Which image would you like to use for your service
	image: string

	// +usage=Referred db secret
	// +insertSecretTo=dbConn
	dbSecret?: string
}
dbConn: {
	username: string
	password: string
}
"#;

/// A trait, without a declaration of what it is given.
const SIGNED: &str = r#"
patch: metadata: annotations: signature: keys.sign
parameter: {
	// +insertSecretTo=keys
	from: string
}
"#;

fn definition(kind: &str, name: &str, template: &str) -> Json {
    json!({
        "apiVersion": "core.oam.dev/v1beta1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": {
            "workload": {"definition": {"apiVersion": "v1", "kind": "ConfigMap"}},
            "schematic": {"cue": {"template": template}},
        },
    })
}

fn secret(name: &str, data: Json) -> Json {
    json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "default"}, "data": data,
    })
}

/// `alice`, `s3cret`.
fn connection() -> Json {
    secret("db", json!({"username": "YWxpY2U=", "password": "czNjcmV0", "binary": "/w=="}))
}

fn snapshot(secrets: &[Json]) -> Snapshot {
    let mut snapshot = Snapshot::default();
    let definitions = [
        definition("ComponentDefinition", "connected", CONNECTED),
        definition("TraitDefinition", "signed", SIGNED),
    ];
    for definition in definitions {
        snapshot.insert_definition_object(definition).unwrap();
    }
    secrets.iter().for_each(|secret| snapshot.insert_object(secret.clone()));
    snapshot
}

fn app(metadata: &str, component: &str) -> Document {
    let text = format!(
        "apiVersion: core.oam.dev/v1beta1\nkind: Application\nmetadata: {{name: shop{metadata}}}\nspec: {{components: [{component}]}}\n"
    );
    manifest::read("app.yaml", &text).unwrap().as_slice()[0].clone()
}

fn rendered(application: &Document, secrets: &[Json]) -> Result<Rendered, String> {
    let made = || {
        let app_file = parse::parse(application, &snapshot(secrets))?;
        let plan = plan::plan(revision::revision(app_file, None))?;
        render::render(&plan, &Templates::new(), &Inputs::default())
    };
    made().map_err(|errors| errors.to_string())
}

fn workload(application: &Document, secrets: &[Json]) -> Json {
    let rendered = rendered(application, secrets).unwrap();
    let state = &rendered.components()[0].state;
    let made = match state {
        State::Ready(objects) => Ok(objects[0].object.clone()),
        State::Pending(missing) => Err(missing),
    };
    made.unwrap()
}

const WEB: &str = "{name: web, type: connected, properties: {image: nginx, dbSecret: db}}";

#[test]
fn the_content_is_there_under_the_name_of_the_marker() {
    let made = workload(&app("", WEB), &[connection()]);
    assert_eq!(made["data"], json!({"image": "nginx", "user": "alice", "again": "alice"}));
}

#[test]
fn a_parameter_that_is_not_given_inserts_nothing() {
    let made = workload(&app("", "{name: web, type: connected, properties: {image: nginx}}"), &[]);
    assert_eq!(made["data"], json!({"image": "nginx"}));
}

#[test]
fn traits_have_secrets_of_their_own() {
    let component = WEB.replace("}}", "}, traits: [{type: signed, properties: {from: pen}}]}");
    let application = app("", &component);
    let made = workload(&application, &[connection(), secret("pen", json!({"sign": "eHh4"}))]);
    assert_eq!(made["metadata"]["annotations"]["signature"], "xxx");
    assert_eq!(made["data"]["user"], "alice");
    let asked = parse::inserted_secrets(&application, &snapshot(&[]));
    let names: Vec<&str> = asked.iter().map(|key| key.name.as_str()).collect();
    assert_eq!(names, ["db", "pen"]);
    assert!(asked.iter().all(|key| key.namespace == "default" && key.kind == "Secret"));
}

#[test]
fn an_override_policy_may_name_another_secret() {
    let mut application = app("", WEB).value().clone();
    application["spec"]["policies"] = json!([{
        "name": "other", "type": "override",
        "properties": {"components": [{"name": "web", "properties": {"dbSecret": "other"}}]},
    }]);
    let application = Document::from_object(application);
    let asked = parse::inserted_secrets(&application, &snapshot(&[]));
    assert!(asked.iter().any(|key| key.name == "other"), "{asked:?}");
    let other = secret("other", json!({"username": "Ym9i", "password": "czNjcmV0"}));
    assert_eq!(workload(&application, &[other])["data"]["user"], "bob");
}

#[test]
fn a_secret_that_is_not_there_is_waited_for() {
    let rendered = rendered(&app("", WEB), &[]).unwrap();
    let State::Pending(missing) = &rendered.components()[0].state else { panic!("rendered") };
    assert_eq!(missing, &["Secret \"db\", which the parameter \"dbSecret\" names, is not there yet"]);
}

#[test]
fn a_wrong_parameter_is_told_before_the_secret_is_there() {
    let wrong = app("", "{name: web, type: connected, properties: {image: 5, dbSecret: db}}");
    let error = rendered(&wrong, &[]).unwrap_err();
    assert!(error.contains("spec.components[0].properties.image"), "{error}");
}

#[test]
fn an_absent_or_empty_secret_is_an_error_at_the_parameter() {
    let unnamed = app("", "{name: web, type: connected, properties: {image: nginx, dbSecret: Not a name}}");
    let error = rendered(&unnamed, &[]).unwrap_err();
    assert!(error.contains("must be the name of a Secret"), "{error}");
    let error = rendered(&app("", WEB), &[secret("db", json!({}))]).unwrap_err();
    assert!(error.contains("holds no text"), "{error}");
    assert!(error.contains("spec.components[0].properties.dbSecret"), "{error}");
}

#[test]
fn no_status_text_sees_the_content_and_no_revision_holds_it() {
    let rendered = rendered(&app("", WEB), &[connection()]).unwrap();
    let seen = rendered.components()[0].context.to_string();
    assert!(!seen.contains("alice") && !seen.contains("s3cret"), "{seen}");
    let kept = rendered.plan().revision().spec().to_string();
    assert!(!kept.contains("alice"), "{kept}");
}

#[test]
fn an_application_that_is_rolled_out_is_refused() {
    let rolled = app(", annotations: {app.oam.dev/rollout-template: \"true\"}", WEB);
    let error = rendered(&rolled, &[connection()]).unwrap_err();
    assert!(error.contains("rolled out") && error.contains("spec.components[0]"), "{error}");
}

#[test]
fn an_application_in_the_v1alpha2_form_is_refused() {
    let stored = app("", &WEB.replace("properties", "settings"));
    let error = rendered(&stored, &[connection()]).unwrap_err();
    assert!(error.contains("Components and their revisions") && error.contains("secretKeyRef"), "{error}");
    assert!(!error.contains("alice") && error.contains("spec.components[0]"), "{error}");
    let without = app("", "{name: web, type: connected, settings: {image: nginx}}");
    assert_eq!(workload(&without, &[])["data"], json!({"image": "nginx"}));
}
