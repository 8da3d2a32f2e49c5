//! An installation in another namespace than the usual one: installed, found, used, upgraded and taken away.

use serde_json::{Value, json};

use crate::controller::{Cluster, Controller};
use crate::sandbox::until;
use crate::{CommandOutput, Person, site};

const HOME: &str = "platform";
const USUAL: &str = "vela-system";
const RBAC: &str = "rbac.authorization.k8s.io/v1";

fn objects(text: &str) -> Vec<Value> {
    let documents = vela_engine::manifest::read("printed", text).unwrap();
    documents.iter().map(|document| document.value().clone()).collect()
}

#[test]
fn what_is_printed_lies_in_the_named_namespace() {
    let words = ["install", "--print", "--system-namespace", HOME, "--image", "x/core:1", "--webhooks"];
    let person = Person::new();
    let printed = person.types(&[&words[..], &["--trait-injector", "--authenticate-application"]].concat());
    let objects = objects(&printed.ok().out);
    assert!(objects.len() > 100, "{}", objects.len());
    for object in &objects {
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or(HOME);
        assert_eq!(namespace, HOME, "{} {}", object["kind"], object["metadata"]["name"]);
        // The texts of types say what is usual where the controller does not tell.
        if !object["kind"].as_str().unwrap().ends_with("Definition") {
            assert!(!object.to_string().contains(USUAL), "{object}");
        }
    }
    person
        .types(&["install", "--print", "--system-namespace", "a_b"])
        .fails(2, &["--system-namespace", "a_b"]);
}

#[test]
fn an_application_runs_where_vela_is_installed_elsewhere() {
    let person = Person::new();
    let cluster = Cluster::new(&person);
    let vela = |words: &[&str]| -> CommandOutput {
        person.types(&[words, &["--kubeconfig", &cluster.kubeconfig]].concat())
    };
    let there = |api_version: &str, kind: &str, namespace: &str, name: &str| {
        cluster.object(api_version, kind, namespace, name).is_some()
    };
    vela(&["install", "--system-namespace", HOME, "--image", "x/core:1"]).ok();
    assert!(there("core.oam.dev/v1beta1", "ComponentDefinition", HOME, "webservice"));
    assert!(there("v1", "ConfigMap", HOME, "vela-installation"));
    assert!(!there("v1", "Namespace", "", USUAL));

    // From here on no flag names it.
    let controller = Controller::start(&person, &cluster, "controller.log");
    person.write("site/page.yaml", crate::PAGE);
    person.write("site/app.yaml", site(false));
    vela(&["up", "-f", "site", "--timeout", "90s"]).ok();
    assert!(there("coordination.k8s.io/v1", "Lease", HOME, "vela-core"));
    assert!(!there("v1", "Namespace", "", USUAL), "nothing made the usual namespace");
    let application = json!({"apiVersion": "core.oam.dev/v1beta1", "kind": "Application", "metadata": {"name": "shop"},
        "spec": {"components": [{"name": "till", "type": "webservice", "properties": {"image": "nginx:1"}}]}});
    let file = person.write("shop.yaml", application.to_string());
    let dry = vela(&["dry-run", &file]).ok();
    assert!(dry.out.contains("kind: Deployment"), "{dry:?}");
    let said = vela(&["up", &file, "--timeout", "90s"]).ok();
    assert!(said.out.contains("running") && !said.err.contains("No controller seems"), "{said:?}");

    assert!(vela(&["show", "webservice"]).ok().out.contains("image"));
    assert!(vela(&["components"]).ok().out.contains("webservice"));
    assert!(vela(&["def", "list"]).ok().out.contains("webservice"));
    let diagnosed = vela(&["system", "diagnose", "-o", "json"]);
    let found: Vec<Value> = serde_json::from_str(&diagnosed.out).unwrap();
    let state = |about: &str| {
        found.iter().filter(|one| one["about"] == about).map(|one| one["state"].clone()).collect::<Vec<_>>()
    };
    for about in ["kinds", "rights", "definitions"] {
        assert_eq!(state(about), ["right"], "{about}: {found:?}");
    }

    // A second installation beside it is refused, and an upgrade finds the first.
    for words in
        [&["install", "--system-namespace", "second"][..], &["uninstall", "--system-namespace", "second"]]
    {
        let refused = vela(words);
        refused.fails(1, &["is installed in the namespace platform", "--system-namespace platform"]);
    }
    assert!(!there("v1", "Namespace", "", "second"));
    let again = vela(&["install", "--image", "x/core:2"]).ok();
    assert!(!there("v1", "Namespace", "", USUAL), "{again:?}");
    let image = "/spec/template/spec/containers/0/image";
    let deployment = cluster.object("apps/v1", "Deployment", HOME, "vela-core").unwrap();
    assert_eq!(deployment.pointer(image), Some(&json!("x/core:2")));

    let said = vela(&["uninstall"]).ok();
    assert!(format!("{}{}", said.out, said.err).contains("the namespace platform"), "{said:?}");
    controller.stop();
    for (api_version, kind, namespace, name) in [
        ("apps/v1", "Deployment", HOME, "vela-core"),
        ("v1", "ServiceAccount", HOME, "vela-core"),
        ("v1", "ConfigMap", HOME, "vela-installation"),
        (RBAC, "Role", HOME, "vela-everybody"),
        (RBAC, "ClusterRole", "", "vela-everybody"),
        (RBAC, "ClusterRoleBinding", "", "vela-everybody"),
        (RBAC, "ClusterRoleBinding", "", "vela-core-own"),
    ] {
        assert!(!there(api_version, kind, namespace, name), "{kind} {name}");
    }
    let kind = "applications.core.oam.dev";
    until("its kinds are gone", || !there("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", kind));
}

#[test]
fn a_variable_of_kubevela_names_it() {
    let person = Person::new();
    let printed = |set: &[(&str, &str)]| {
        let mut command = person.command(&["install", "--print"]);
        command.envs(set.iter().copied());
        let output = command.output().unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let home = |text: &str| {
        let all = objects(text);
        all.iter().find(|one| one["kind"] == "Namespace").unwrap()["metadata"]["name"].clone()
    };
    assert_eq!(home(&printed(&[]).1), USUAL);
    let both = [("DEFAULT_VELA_NS", "older"), ("KUBEVELA_SYSTEM_NAMESPACE", HOME)];
    assert_eq!(home(&printed(&both).1), HOME);
    assert_eq!(home(&printed(&both[..1]).1), "older");
    let (code, _, said) = printed(&[("DEFAULT_VELA_NS", "a_b")]);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("DEFAULT_VELA_NS") && said.contains("a_b"), "{said}");
}
