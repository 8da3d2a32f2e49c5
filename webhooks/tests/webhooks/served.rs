//! Every path over the embedded API server: definitions are looked up where they live, and no bytes bring an answer down.

use kube::Client;
use kube::api::DynamicObject;
use serde_json::{Value, json};
use vela_runtime::Discovery;
use vela_webhooks::paths::{CONVERT, PATHS};
use vela_webhooks::{Reply, Strictness, Webhooks};

use crate::cluster::cluster;
use crate::sent_patch;

async fn create(client: &Client, object: Value) {
    let object: DynamicObject = serde_json::from_value(object).unwrap();
    let kind = Discovery::new(client.clone()).resolve_object(&object).await.unwrap();
    let api = kind.api(client.clone(), &object.metadata.namespace.clone().unwrap_or_default());
    api.create(&kube::api::PostParams::default(), &object).await.unwrap();
}

async fn ask(webhooks: &Webhooks, path: &str, object: &Value) -> Reply {
    let review = json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {"uid": "1", "operation": "CREATE", "namespace": "default", "object": object,
            "userInfo": {"username": "alice", "groups": ["dev", "system:authenticated"]}},
    });
    webhooks.answer(path, review.to_string().as_bytes()).await
}

async fn patched(webhooks: &Webhooks, path: &str, object: &Value) -> Value {
    let reply = ask(webhooks, path, object).await;
    assert_eq!(reply.body["response"]["allowed"], true, "{}", reply.body);
    let mut object = object.clone();
    if reply.body["response"]["patch"].is_null() {
        return object;
    }
    let patch: json_patch::Patch = serde_json::from_value(sent_patch(&reply.body)).unwrap();
    json_patch::patch(&mut object, &patch).unwrap();
    object
}

fn metadata(name: &str) -> Value {
    json!({"name": name, "namespace": "default"})
}

/// Checklist 7: a configuration follows its components.
#[tokio::test]
async fn a_configuration_enters_after_its_component() {
    let (server, webhooks) = cluster().await;
    let client = Client::new(server.service(), "default");
    for (kind, name, resource) in [
        ("WorkloadDefinition", "web", "deployments.apps"),
        ("TraitDefinition", "manual", "manualscalertraits.core.oam.dev"),
    ] {
        create(&client, json!({"apiVersion": "core.oam.dev/v1beta1", "kind": kind,
            "metadata": {"name": name, "namespace": "vela-system"}, "spec": {"definitionRef": {"name": resource}}})).await;
    }
    let written = json!({"apiVersion": "core.oam.dev/v1alpha2", "kind": "Component", "metadata": metadata("cart"),
        "spec": {"workload": {"type": "web"}}});
    let component = patched(&webhooks, "/mutating-core-oam-dev-v1alpha2-components", &written).await;
    let workload = &component["spec"]["workload"];
    assert_eq!((&workload["apiVersion"], &workload["kind"]), (&json!("apps/v1"), &json!("Deployment")));
    let validate = "/validating-core-oam-dev-v1alpha2-components";
    assert_eq!(ask(&webhooks, validate, &component).await.body["response"]["allowed"], true);
    assert_eq!(ask(&webhooks, validate, &written).await.body["response"]["status"]["code"], 403);

    let trait_ = json!({"trait": {"name": "manual", "properties": {"replicaCount": 2}}});
    let written = json!({"apiVersion": "core.oam.dev/v1alpha2", "kind": "ApplicationConfiguration",
        "metadata": metadata("shop"), "spec": {"components": [{"componentName": "cart", "traits": [trait_]}]}});
    let path = "/mutating-core-oam-dev-v1alpha2-applicationconfigurations";
    let configuration = patched(&webhooks, path, &written).await;
    let trait_ = &configuration["spec"]["components"][0]["traits"][0]["trait"];
    assert_eq!(trait_["kind"], "ManualScalerTrait");
    assert_eq!(trait_["spec"], json!({"replicaCount": 2}));
    let validate = "/validating-core-oam-dev-v1alpha2-applicationconfigurations";
    let reply = ask(&webhooks, validate, &configuration).await;
    assert_eq!(reply.body["response"]["allowed"], false, "{}", reply.body);
    assert_eq!(reply.body["response"]["status"]["code"], 422);
    create(&client, component).await;
    let reply = ask(&webhooks, validate, &configuration).await;
    assert_eq!(reply.body["response"]["allowed"], true, "{}", reply.body);
}

#[tokio::test]
async fn bindings_and_what_names_their_secrets_are_read() {
    let (server, webhooks) = cluster().await;
    let client = Client::new(server.service(), "default");
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata("web"),
        "spec": {"template": {"spec": {"containers": [{"name": "c"}]}}}});
    let reply = ask(&webhooks, "/mutate", &deployment).await;
    assert_eq!(reply.body["response"], json!({"uid": "1", "allowed": true}));
    let field =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "where", "fieldPath": ".data.secret"});
    create(
        &client,
        json!({"apiVersion": "core.oam.dev/v1alpha1", "kind": "ServiceBinding", "metadata": metadata("b"),
        "spec": {"workloadRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "bindings": [{"from": {"secret": {"nameFromField": field}}, "to": {"env": true}}]}}),
    )
    .await;
    let reply = ask(&webhooks, "/mutate", &deployment).await;
    let response = &reply.body["response"];
    assert_eq!((reply.status, &response["allowed"]), (200, &Value::Bool(false)), "{}", reply.body);
    assert_eq!(response["status"]["code"], 422, "what is bound is not there yet: {}", reply.body);
    create(&client, json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata("where"), "data": {"secret": "db"}})).await;
    let bound = patched(&webhooks, "/mutate", &deployment).await;
    let container = &bound["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["envFrom"], json!([{"secretRef": {"name": "db"}}]));
    // A server of the injector alone says the same, and nothing about anything else.
    let injector = webhooks.clone().only_injecting();
    assert_eq!(patched(&injector, "/mutate", &deployment).await, bound);
    let other = ask(&injector, "/validating-core-oam-dev-v1beta1-applications", &deployment).await;
    assert_eq!(other.status, 404, "{}", other.body);
}

#[tokio::test]
async fn applications_are_stamped_and_converted() {
    let (_server, webhooks) = cluster().await;
    let app = json!({"apiVersion": "core.oam.dev/v1beta1", "kind": "Application", "metadata": metadata("shop"),
        "spec": {"components": [{"name": "cart", "type": "webservice", "properties": {"image": "nginx"}}]}});
    let stamped = patched(&webhooks, "/mutating-core-oam-dev-v1beta1-applications", &app).await;
    let annotations = json!({"app.oam.dev/username": "alice", "app.oam.dev/group": "dev"});
    assert_eq!(stamped["metadata"]["annotations"], annotations);
    let review = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
        "request": {"uid": "1", "desiredAPIVersion": "core.oam.dev/v1alpha2", "objects": [app]}});
    let reply = webhooks.answer(CONVERT, review.to_string().as_bytes()).await;
    assert_eq!(reply.status, 200);
    let converted = &reply.body["response"]["convertedObjects"][0];
    assert_eq!(converted["spec"]["components"][0]["settings"], json!({"image": "nginx"}));
}

#[tokio::test]
async fn a_rollout_and_a_definition_are_judged_with_the_cluster() {
    let (_server, webhooks) = cluster().await;
    let rollout = json!({"apiVersion": "core.oam.dev/v1beta1", "kind": "AppRollout", "metadata": metadata("r"),
        "spec": {"targetAppRevisionName": "shop-v2", "rolloutPlan": {"rolloutStrategy": "IncreaseFirst", "rolloutBatches": []}}});
    let reply = ask(&webhooks, "/validating-core-oam-dev-v1beta1-approllout", &rollout).await;
    let causes = reply.body["response"]["status"]["details"]["causes"].to_string();
    assert!(causes.contains("FieldValueNotFound"), "{causes}");
    let template = "import apps \"kube/apps/v1\"\noutput: apps.#Deployment\nparameter: {}";
    let definition = json!({"apiVersion": "core.oam.dev/v1beta1", "kind": "ComponentDefinition", "metadata": metadata("d"),
        "spec": {"workload": {"definition": {"apiVersion": "apps/v1", "kind": "Deployment"}}, "schematic": {"cue": {"template": template}}}});
    let reply = ask(&webhooks, "/validating-core-oam-dev-v1beta1-componentdefinitions", &definition).await;
    assert_eq!(reply.body["response"]["allowed"], true, "{}", reply.body);
}

/// `name@vN` is the definition as the record of its version keeps it.
#[tokio::test]
async fn a_former_version_of_a_definition_is_judged_by_its_record() {
    let (server, webhooks) = cluster().await;
    let client = Client::new(server.service(), "default");
    let template = |parameter: &str| {
        json!({
            "workload": {"definition": {"apiVersion": "v1", "kind": "ConfigMap"}},
            "schematic": {"cue": {"template": format!("output: {{apiVersion: \"v1\", kind: \"ConfigMap\", data: text: parameter.{parameter}}}\nparameter: {{{parameter}: string}}")}},
        })
    };
    let definition = |parameter: &str| {
        json!({"apiVersion": "core.oam.dev/v1beta1", "kind": "ComponentDefinition",
        "metadata": {"name": "note", "namespace": "vela-system"}, "spec": template(parameter)})
    };
    create(&client, definition("now")).await;
    create(&client, json!({"apiVersion": "core.oam.dev/v1beta1", "kind": "DefinitionRevision",
        "metadata": {"name": "note-v1", "namespace": "vela-system"},
        "spec": {"revision": 1, "revisionHash": "x", "definitionType": "Component", "componentDefinition": definition("then")}})).await;
    for (type_, parameter, allowed) in
        [("note@v1", "then", true), ("note@v1", "now", false), ("note", "now", true)]
    {
        let app = json!({"apiVersion": "core.oam.dev/v1beta1", "kind": "Application", "metadata": metadata("shop"),
            "spec": {"components": [{"name": "cart", "type": type_, "properties": {parameter: "x"}}]}});
        let reply = ask(&webhooks, "/validating-core-oam-dev-v1beta1-applications", &app).await;
        assert_eq!(reply.body["response"]["allowed"], allowed, "{type_} {parameter}: {}", reply.body);
    }
}

/// A version that is not there is refused with those that are: other content in its place would be deployed.
#[tokio::test]
async fn an_application_names_a_version_that_is_there() {
    let (server, webhooks) = cluster().await;
    let client = Client::new(server.service(), "default");
    let note = |text: &str| {
        let template = format!(
            "output: {{apiVersion: \"v1\", kind: \"ConfigMap\", data: text: parameter.{text}}}\nparameter: {text}: string"
        );
        json!({"apiVersion": "core.oam.dev/v1beta1", "kind": "ComponentDefinition", "metadata": {"name": "note", "namespace": "vela-system"},
            "spec": {"workload": {"definition": {"apiVersion": "v1", "kind": "ConfigMap"}}, "schematic": {"cue": {"template": template}}}})
    };
    create(&client, note("latest")).await;
    for (number, version) in ["1.0.0", "1.2.0", "1.10.0"].into_iter().enumerate() {
        let field = format!("v{}", version.replace('.', "_"));
        create(&client, json!({"apiVersion": "core.oam.dev/v1beta1", "kind": "DefinitionRevision",
            "metadata": {"name": format!("note-v{version}"), "namespace": "vela-system", "labels": {"componentdefinition.oam.dev/name": "note"}},
            "spec": {"revision": number + 1, "revisionHash": version, "definitionType": "Component", "componentDefinition": note(&field)}})).await;
    }
    let asked = async |type_: &str, field: &str| {
        let app = json!({"apiVersion": "core.oam.dev/v1beta1", "kind": "Application", "metadata": metadata("shop"),
            "spec": {"components": [{"name": "cart", "type": type_, "properties": {field: "x"}}]}});
        ask(&webhooks, "/validating-core-oam-dev-v1beta1-applications", &app).await.body["response"].clone()
    };
    for (type_, field) in
        [("note@v1.2.0", "v1_2_0"), ("note@v1.2", "v1_2_0"), ("note@v1", "v1_10_0"), ("note", "latest")]
    {
        assert_eq!(asked(type_, field).await["allowed"], true, "{type_}");
    }
    for type_ in ["note@v2", "note@v1.3", "note@v9.9", "note@v1.2.0.0"] {
        let answer = asked(type_, "latest").await;
        let status = &answer["status"];
        assert_eq!(
            (&status["code"], &status["details"]["causes"][0]["field"]),
            (&json!(422), &json!("spec.components[0].type")),
            "{answer}"
        );
        let message = status["message"].to_string();
        assert!(
            message.contains("has no version") && message.contains("note@v1.10.0, note@v1.2.0, note@v1.0.0"),
            "{message}"
        );
    }
    // What a version means never changes; a new version may mean something new.
    let mut changed = note("changed");
    for (version, allowed) in [("1.2.0", false), ("1.3.0", true), ("1.3", false), ("v1.3.0", false)] {
        changed["spec"]["version"] = json!(version);
        let answer = ask(&webhooks, "/validating-core-oam-dev-v1beta1-componentdefinitions", &changed)
            .await
            .body["response"]
            .clone();
        assert_eq!(answer["allowed"], allowed, "{version}: {answer}");
        if !allowed {
            assert_eq!(answer["status"]["details"]["causes"][0]["field"], "spec.version", "{answer}");
        }
    }
    changed["spec"]["version"] = json!("1.3.0");
    changed["metadata"]["annotations"] = json!({"definitionrevision.oam.dev/name": "1.4"});
    let answer = ask(&webhooks, "/validating-core-oam-dev-v1beta1-componentdefinitions", &changed).await.body;
    assert!(answer.to_string().contains("write only one of both"), "{answer}");
}

/// Policies and steps are asked for by version like components; what they do is another matter.
#[tokio::test]
async fn a_policy_and_a_step_name_a_version_that_is_there() {
    let (server, webhooks) = cluster().await;
    let client = Client::new(server.service(), "default");
    let kinds =
        [("PolicyDefinition", "Policy", "spread"), ("WorkflowStepDefinition", "WorkflowStep", "mail")];
    for (kind, type_, name) in kinds {
        let definition = json!({"apiVersion": "core.oam.dev/v1beta1", "kind": kind,
            "metadata": {"name": name, "namespace": "vela-system"},
            "spec": {"schematic": {"cue": {"template": "parameter: {}"}}}});
        create(&client, definition.clone()).await;
        let field = format!("{}{}Definition", type_[..1].to_lowercase(), &type_[1..]);
        let label = format!("{}.oam.dev/name", kind.to_lowercase());
        create(&client, json!({"apiVersion": "core.oam.dev/v1beta1", "kind": "DefinitionRevision",
            "metadata": {"name": format!("{name}-v1.0.0"), "namespace": "vela-system", "labels": {label: name}},
            "spec": {"revision": 1, "revisionHash": "x", "definitionType": type_, field: definition}}))
        .await;
    }
    let asked = async |policy: &str, step: &str| {
        let app = json!({"apiVersion": "core.oam.dev/v1beta1", "kind": "Application", "metadata": metadata("shop"),
            "spec": {"components": [],
                "policies": [{"name": "p", "type": policy}],
                "workflow": {"steps": [{"name": "s", "type": step}]}}});
        let reply = ask(&webhooks, "/validating-core-oam-dev-v1beta1-applications", &app).await;
        reply.body["response"]["status"].clone()
    };
    let there = asked("spread@v1", "mail@v1.0.0").await.to_string();
    assert!(!there.contains("has no version"), "{there}");
    let missing = asked("spread@v9.9", "mail@v2").await;
    let causes = missing["details"]["causes"].as_array().unwrap();
    for (field, words) in [
        ("spec.policies[0].type", ["policy type \"spread\" has no version \"v9.9\"", "spread@v1.0.0"]),
        ("spec.workflow.steps[0].type", ["workflow step type \"mail\" has no version \"v2\"", "mail@v1.0.0"]),
    ] {
        let cause = causes.iter().find(|cause| cause["field"] == field).expect(field);
        let message = cause["message"].as_str().unwrap();
        assert!(words.iter().all(|words| message.contains(words)), "{message}");
    }
    let built_in = asked("spread@v1", "apply-component@v3").await.to_string();
    assert!(built_in.contains("is built in and has no versions"), "{built_in}");
}

/// It may be made later, so it is no reason to refuse.
#[tokio::test]
async fn a_workload_type_without_a_definition_is_reported() {
    let (server, webhooks) = cluster().await;
    let client = Client::new(server.service(), "default");
    let definition = json!({"apiVersion": "core.oam.dev/v1beta1", "kind": "ComponentDefinition", "metadata": metadata("d"),
        "spec": {"workload": {"type": "caches"}, "schematic": {"cue": {"template":
            "output: {apiVersion: \"apps/v1\", kind: \"Deployment\"}\nparameter: {}"}}}});
    let warned = async || {
        let reply =
            ask(&webhooks, "/validating-core-oam-dev-v1beta1-componentdefinitions", &definition).await;
        assert_eq!(reply.body["response"]["allowed"], true, "{}", reply.body);
        reply.body["response"]["warnings"].to_string()
    };
    let said = warned().await;
    assert!(said.contains("spec.workload.type: there is no WorkloadDefinition \\\"caches\\\""), "{said}");
    create(
        &client,
        json!({"apiVersion": "core.oam.dev/v1beta1", "kind": "WorkloadDefinition",
        "metadata": {"name": "caches", "namespace": "vela-system"},
        "spec": {"definitionRef": {"name": "deployments.apps"}}}),
    )
    .await;
    let said = warned().await;
    assert!(!said.contains("WorkloadDefinition"), "{said}");
}

/// What a ComponentDefinition leaves open of its workload is said by the cluster, and what contradicts it is refused.
#[tokio::test]
async fn a_component_definition_gets_its_workload_type() {
    let (_server, webhooks) = cluster().await;
    let definition = |workload: Value| {
        let mut object = json!({"apiVersion": "core.oam.dev/v1beta1", "kind": "ComponentDefinition", "metadata": metadata("d"),
            "spec": {"schematic": {"cue": {"template": "output: {apiVersion: \"apps/v1\", kind: \"Deployment\"}\nparameter: {}"}}}});
        if !workload.is_null() {
            object["spec"]["workload"] = workload;
        }
        object
    };
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment"});
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap"});
    let unknown = json!({"apiVersion": "far.example/v1", "kind": "Away"});
    let auto = "autodetects.core.oam.dev";
    for (workload, filled, allowed) in [
        (Value::Null, json!({"type": auto}), true),
        (json!({}), json!({"type": auto}), true),
        (json!({"type": ""}), json!({"type": auto}), true),
        (json!({"type": "mine"}), json!({"type": "mine"}), true),
        (
            json!({"definition": deployment}),
            json!({"definition": deployment, "type": "deployments.apps"}),
            true,
        ),
        (json!({"definition": map}), json!({"definition": map, "type": "configmaps"}), true),
        (json!({"definition": unknown}), json!({"definition": unknown}), true),
        (
            json!({"definition": deployment, "type": "deployments.apps"}),
            json!({"definition": deployment, "type": "deployments.apps"}),
            true,
        ),
        (
            json!({"definition": deployment, "type": "jobs.batch"}),
            json!({"definition": deployment, "type": "jobs.batch"}),
            false,
        ),
    ] {
        let object = definition(workload);
        let made = patched(&webhooks, "/mutating-core-oam-dev-v1beta1-componentdefinitions", &object).await;
        assert_eq!(made["spec"]["workload"], filled);
        for object in [&object, &made] {
            let reply = ask(&webhooks, "/validating-core-oam-dev-v1beta1-componentdefinitions", object).await;
            assert_eq!(reply.body["response"]["allowed"], allowed, "{object}: {}", reply.body);
            if !allowed {
                let cause = &reply.body["response"]["status"]["details"]["causes"][0];
                assert_eq!(cause["field"], "spec.workload.type", "{cause}");
            }
        }
    }
}

/// What `name@vX` means to those who name it cannot be changed by those who may write there.
#[tokio::test]
async fn a_definition_revision_never_changes() {
    let (_server, webhooks) = cluster().await;
    let old = json!({"apiVersion": "core.oam.dev/v1beta1", "kind": "DefinitionRevision", "metadata": metadata("note-v1"),
        "spec": {"revision": 1, "revisionHash": "x", "definitionType": "Component",
            "componentDefinition": {"metadata": {"name": "note"}, "spec": {"schematic": {"cue": {"template": "output: {}"}}}}}});
    let mut labelled = old.clone();
    labelled["metadata"]["labels"] = json!({"a": "b"});
    let mut changed = old.clone();
    changed["spec"]["componentDefinition"]["spec"]["schematic"]["cue"]["template"] =
        json!("output: {kind: \"Secret\"}");
    for (new, allowed) in [(&labelled, true), (&changed, false)] {
        let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "1",
            "operation": "UPDATE", "namespace": "default", "object": new, "oldObject": old, "userInfo": {"username": "alice"}}});
        let path = "/validating-core-oam-dev-v1beta1-definitionrevisions";
        let reply = webhooks.answer(path, review.to_string().as_bytes()).await;
        assert_eq!(reply.body["response"]["allowed"], allowed, "{}", reply.body);
    }
}

/// Whatever comes: an answer with a code, no panic.
#[tokio::test]
async fn no_path_takes_what_is_no_object() {
    let (_server, webhooks) = cluster().await;
    let objects = [
        json!({}),
        json!({"metadata": null, "spec": null}),
        json!({"apiVersion": 1, "kind": [], "metadata": [], "spec": "x"}),
        json!({"metadata": {"name": null, "labels": 3, "annotations": "x"}, "spec": {"components": [null, 3, {"traits": [null, {"trait": 3}]}],
            "workload": [], "rolloutPlan": [], "scrapeService": 1, "podSpec": null, "schematic": 3}}),
    ];
    for entry in PATHS {
        for object in &objects {
            let reply = ask(&webhooks, entry.path, object).await;
            assert_eq!(reply.status, 200, "{}: {}", entry.path, reply.body);
            assert_eq!(reply.body["response"]["uid"], "1", "{}", entry.path);
        }
        for bytes in [&b""[..], b"null", b"{\"kind\":\"AdmissionReview\"}", &b"[".repeat(100_000)] {
            assert_eq!(webhooks.answer(entry.path, bytes).await.status, 400, "{}", entry.path);
        }
        // A review of another resource has lost its way.
        let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "1",
            "operation": "CREATE", "object": {}, "resource": {"group": "batch", "version": "v1", "resource": "jobs"}}});
        let reply = webhooks.answer(entry.path, review.to_string().as_bytes()).await;
        let code = &reply.body["response"]["status"]["code"];
        assert!(*code == 400 || entry.path == "/mutate", "{}: {}", entry.path, reply.body);
        // Deletions pass everywhere.
        let review = json!({"apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview",
            "request": {"uid": "1", "operation": "DELETE", "object": null, "oldObject": {}}});
        let reply = webhooks.answer(entry.path, review.to_string().as_bytes()).await;
        assert_eq!(reply.body["response"]["allowed"], true, "{}", entry.path);
        assert_eq!(reply.body["apiVersion"], "admission.k8s.io/v1beta1");
    }
}

/// An object that goes away may not claim another author: what was made for it is deleted on behalf of its author.
#[tokio::test]
async fn what_goes_away_keeps_its_author() {
    let (_server, webhooks) = cluster().await;
    for (kind, path) in [
        ("Application", "/mutating-core-oam-dev-v1beta1-applications"),
        ("ApplicationConfiguration", "/mutating-core-oam-dev-v1alpha2-applicationconfigurations"),
    ] {
        let mut old = json!({"apiVersion": "core.oam.dev/v1beta1", "kind": kind, "metadata": metadata("shop"), "spec": {}});
        old["metadata"]["deletionTimestamp"] = json!("2026-11-21T10:00:00Z");
        old["metadata"]["annotations"] = json!({"app.oam.dev/username": "bob"});
        let mut new = old.clone();
        new["metadata"]["annotations"] = json!({"app.oam.dev/username": "root"});
        let review = json!({
            "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "request": {"uid": "1", "operation": "UPDATE", "namespace": "default", "object": new, "oldObject": old,
                "userInfo": {"username": "alice"}},
        });
        let reply = webhooks.answer(path, review.to_string().as_bytes()).await;
        let patch: json_patch::Patch = serde_json::from_value(sent_patch(&reply.body)).unwrap();
        json_patch::patch(&mut new, &patch).unwrap();
        assert_eq!(new, old, "{kind}");
    }
}

/// The gate that upstream has: a definition enters when the kinds that it makes are there.
#[tokio::test]
async fn an_absent_kind_is_refused_where_the_operator_wants_it() {
    let (_server, webhooks) = cluster().await;
    let definition = |api_version: &str| {
        let template = format!(
            "output: {{apiVersion: \"v1\", kind: \"ConfigMap\"}}\n\
             outputs: more: {{apiVersion: \"{api_version}\", kind: \"Secret\"}}\nparameter: {{}}\n"
        );
        json!({"apiVersion": "core.oam.dev/v1beta1", "kind": "ComponentDefinition", "metadata": metadata("d"),
            "spec": {"workload": {"definition": {"apiVersion": "v1", "kind": "ConfigMap"}},
                "schematic": {"cue": {"template": template}}}})
    };
    let path = "/validating-core-oam-dev-v1beta1-componentdefinitions";
    let absent = definition("absent.example.com/v1");
    assert_eq!(ask(&webhooks, path, &absent).await.body["response"]["allowed"], true);
    let strict = webhooks.strictly(Strictness { absent_kinds: true, ..Strictness::default() });
    let reply = ask(&strict, path, &absent).await;
    assert_eq!(reply.body["response"]["allowed"], false, "{}", reply.body);
    let said = "outputs.more makes absent.example.com/v1 Secret, a kind that the cluster does not have";
    assert!(reply.body.to_string().contains(said), "{}", reply.body);
    assert_eq!(ask(&strict, path, &definition("v1")).await.body["response"]["allowed"], true);
}
