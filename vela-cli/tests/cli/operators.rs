//! `vela install --dapr` and `--harbor`: the operators beside the controller, and the types that need them.

use std::path::Path;

use serde_json::{Value, json};

use crate::controller::Cluster;
use crate::sandbox::until;
use crate::{CommandOutput, Person};

const IMAGES: [&str; 10] = [
    "--dapr",
    "--dapr-image",
    "x/vela-dapr:1",
    "--dapr-sidecar-image",
    "x/daprd:1.18.3",
    "--dapr-jwt-issuer",
    "https://dapr.example.com",
    "--harbor",
    "--harbor-image",
    "x/vela-harbor:2",
];

/// The documents of a YAML text.
fn documents(text: &str) -> Vec<Value> {
    let documents = vela_engine::manifest::read("printed", text).unwrap();
    documents.iter().map(|document| document.value().clone()).collect()
}

fn find<'a>(objects: &'a [Value], kind: &str, name: &str) -> &'a Value {
    let found = objects.iter().find(|one| one["kind"] == kind && one["metadata"]["name"] == name);
    found.unwrap_or_else(|| unreachable!("there is no {kind} {name}"))
}

fn texts(value: &Value) -> Vec<&str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

fn example(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples").join(name);
    path.to_string_lossy().into_owned()
}

/// What a user types at a cluster.
struct At<'a>(&'a Person, &'a Cluster);

impl At<'_> {
    fn vela(&self, words: &[&str]) -> CommandOutput {
        self.0.types(&[words, &["--kubeconfig", &self.1.kubeconfig]].concat())
    }

    fn applies(&self, objects: &[Value]) {
        let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
        let file = self.0.write("objects.yaml", list.to_string());
        self.vela(&["up", "-f", &file]).ok();
    }

    fn findings(&self, about: &str) -> Vec<String> {
        let said = self.vela(&["system", "diagnose", "-o", "json"]);
        let found: Vec<Value> = serde_json::from_str(&said.out).unwrap();
        let found = found.iter().filter(|one| one["about"] == about);
        found.map(|one| format!("{}: {}", one["state"].as_str().unwrap(), one["message"])).collect()
    }
}

#[test]
fn install_prints_the_operators_that_flags_ask_for() {
    let person = Person::new();
    let print = |more: &[&str]| person.types(&[&["install", "--print"], more].concat());
    let plain = print(&[]).ok().out;
    for words in ["group: dapr.io", "group: goharbor.io", "name: vela-dapr", "name: vela-harbor"] {
        assert!(!plain.contains(words), "{words} is there although no flag asks for it");
    }
    let kinds = documents(&print(&["--harbor"]).ok().out);
    find(&kinds, "CustomResourceDefinition", "harborclusters.goharbor.io");
    find(&kinds, "ServiceAccount", "vela-harbor");
    assert!(!kinds.iter().any(|one| one["kind"] == "Deployment" || one["kind"] == "Service"));

    print(&["--dapr-image", "a"]).fails(2, &["--dapr"]);
    print(&["--dapr", "--dapr-sidecar-image", "a"]).fails(2, &["--dapr-image"]);
    print(&["--harbor-image", "a"]).fails(2, &["--harbor"]);
    print(&["--dapr", "--dapr-image", " "]).fails(1, &["--dapr-image is empty", "image of vela-dapr"]);
    print(&["--dapr", "--dapr-image", "a", "--dapr-sidecar-image", ""]).fails(1, &["daprd"]);
    for issuer in ["http://a.example", "https://", "https:///a", "https://a.example?b", "a.example", ""] {
        print(&["--dapr", "--dapr-image", "a", "--dapr-jwt-issuer", issuer])
            .fails(1, &["is no issuer of tokens"]);
    }
    // Without it no token is signed, and nothing is served.
    let image = print(&["--dapr", "--dapr-image", "a"]).ok().out;
    assert!(!image.contains("--jwt") && !image.contains("dapr-sentry-oidc"), "{image}");
    let signed = print(&["--dapr", "--dapr-image", "a", "--dapr-jwt-issuer", "https://a.example/b"]).ok().out;
    for arg in ["--jwt-enabled", "--jwt-issuer=https://a.example/b", "--oidc-addr=:9080"] {
        assert!(signed.contains(&format!("- {arg}\n")), "{arg}");
    }
}

#[test]
fn an_operator_listens_where_its_services_lead() {
    let person = Person::new();
    let all = documents(&person.types(&[&["install", "--print"], &IMAGES[..]].concat()).ok().out);
    for (name, namespace, services) in [
        (
            "vela-dapr",
            "dapr-system",
            &["dapr-api", "dapr-sentry", "dapr-sentry-oidc", "dapr-webhook", "dapr-sidecar-injector"]
                as &[&str],
        ),
        ("vela-harbor", "harbor-operator", &["vela-harbor-webhook"]),
    ] {
        find(&all, "Namespace", namespace);
        let deployment = find(&all, "Deployment", name);
        assert_eq!(deployment["metadata"]["namespace"], namespace);
        let pod = &deployment["spec"]["template"];
        assert_eq!(pod["spec"]["serviceAccountName"], name);
        let container = &pod["spec"]["containers"][0];
        assert_eq!(container["securityContext"]["readOnlyRootFilesystem"], true);
        assert_eq!(container["readinessProbe"]["httpGet"], json!({"path": "/readyz", "port": "health"}));
        let args = texts(&container["args"]).join(" ");
        let ports = container["ports"].as_array().unwrap();
        for service in services {
            let service = find(&all, "Service", service);
            assert_eq!(service["metadata"]["namespace"], namespace);
            assert_eq!(service["spec"]["selector"], pod["metadata"]["labels"]);
            for port in service["spec"]["ports"].as_array().unwrap() {
                let port = ports.iter().find(|one| one["name"] == port["targetPort"]).unwrap();
                assert!(args.contains(&format!(":{}", port["containerPort"])), "{port}: {args}");
            }
        }
        for (kind, role) in [("ClusterRoleBinding", "ClusterRole"), ("RoleBinding", "Role")] {
            let binding = find(&all, kind, name);
            assert_eq!(binding["roleRef"]["kind"], role);
            assert_eq!(
                binding["subjects"][0],
                json!({"kind": "ServiceAccount", "name": name, "namespace": namespace})
            );
            let rules = find(&all, role, name)["rules"].to_string();
            assert!(!rules.contains("\"*\""), "{rules}");
        }
    }
    let dapr = &find(&all, "Deployment", "vela-dapr")["spec"]["template"]["spec"]["containers"][0];
    for flag in ["--sidecar-image=x/daprd:1.18.3", "--injector-addr=:4000", "--watch-interval=2m"] {
        assert!(texts(&dapr["args"]).contains(&flag), "{dapr}");
    }
}

#[test]
fn the_harbor_operator_has_the_rights_to_bind_projects() {
    let person = Person::new();
    let all = documents(&person.types(&["install", "--print", "--harbor"]).ok().out);
    let rules = find(&all, "ClusterRole", "vela-harbor")["rules"].as_array().unwrap();
    let verbs = |group: &str, resource: &str| {
        let of = rules.iter().filter(|rule| {
            texts(&rule["apiGroups"]).contains(&group) && texts(&rule["resources"]).contains(&resource)
        });
        of.flat_map(|rule| texts(&rule["verbs"])).collect::<Vec<_>>().join(",")
    };
    assert_eq!(verbs("", "namespaces"), "get,list,watch,patch");
    assert_eq!(verbs("", "serviceaccounts"), "get,list,watch,patch");
    assert_eq!(verbs("goharbor.io", "pullsecretbindings"), "get,list,watch,create,patch,delete");
    assert_eq!(verbs("goharbor.io", "harborserverconfigurations"), "get,list,watch");
    // What a namespace or a ConfigMap lacks is said by events, which are written in this group.
    assert_eq!(verbs("events.k8s.io", "events"), "create,patch");
}

#[test]
fn applications_may_make_the_kinds_of_installed_operators() {
    let person = Person::new();
    let print = |more: &[&str]| {
        let words: [&[&str]; 3] = [&["install", "--print", "--dapr", "--harbor"], more, &[]];
        documents(&person.types(&words.concat()).ok().out)
    };
    let verbs = |objects: &[Value], name: &str| {
        let role = find(objects, "ClusterRole", name);
        assert_eq!(role["metadata"]["labels"]["core.oam.dev/aggregate-to-vela-core"], "true");
        texts(&role["rules"][0]["verbs"]).join(",")
    };
    let plain = print(&[]);
    for name in ["vela-dapr-made", "vela-harbor-made"] {
        assert_eq!(verbs(&plain, name), "get,list,watch,create,patch,delete", "{name}");
    }
    // Where the rights of authors count, vela-core only watches.
    let behalf = print(&["--webhook-url", "https://a:1", "--authenticate-application"]);
    assert_eq!(verbs(&behalf, "vela-harbor-made"), "get,list,watch");
}

#[test]
fn an_operator_that_no_program_runs_is_found() {
    let person = Person::new();
    let cluster = Cluster::new(&person);
    let at = At(&person, &cluster);
    let said = at.vela(&["install", "--harbor"]).ok();
    for words in ["No --harbor-image was given: run vela-harbor yourself", "harbor-operator/vela-harbor"] {
        assert!(said.err.contains(words) || said.out.contains(words), "{words}: {said:?}");
    }
    let found = at.findings("vela-harbor");
    assert!(found.iter().any(|one| one.contains("wrong: \"nothing acts on its kinds")), "{found:?}");
    assert!(found.iter().any(|one| one.starts_with("right: \"all 15 kinds")), "{found:?}");
    let table = at.vela(&["system", "info"]).ok().out;
    assert!(table.contains("vela-harbor") && !table.contains("vela-dapr"), "{table}");
}

#[test]
fn operators_are_shown_and_what_is_wrong_with_them() {
    let person = Person::new();
    let cluster = Cluster::new(&person);
    let at = At(&person, &cluster);
    at.vela(&[&["install"], &IMAGES[..]].concat()).ok();
    until("the operators are healthy", || {
        let info: Value = serde_json::from_str(&at.vela(&["system", "info", "-o", "json"]).ok().out).unwrap();
        let operators = info["operators"].as_array().unwrap();
        operators.len() == 2 && operators.iter().all(|one| one["deployment"]["health"] == "healthy")
    });
    let table = at.vela(&["system", "info"]).ok().out;
    for words in ["x/vela-dapr:1", "x/vela-harbor:2", "--sentry-addr=:50001"] {
        assert!(table.contains(words), "{words} is not in\n{table}");
    }
    // No program runs in simulated pods, so none has registered itself.
    let found = at.findings("vela-dapr");
    assert!(found.iter().any(|one| one.contains("dapr-sidecar-injector is not there")), "{found:?}");
    assert!(found.iter().any(|one| one.starts_with("right: \"all 5 roles")), "{found:?}");
    let wrong = found.iter().filter(|one| one.starts_with("wrong")).count();
    assert_eq!(wrong, 1, "{found:?}");
}

#[test]
fn an_injector_that_no_flag_asks_for_is_taken_away() {
    let person = Person::new();
    let cluster = Cluster::new(&person);
    let at = At(&person, &cluster);
    at.vela(&[&["install"], &IMAGES[..5]].concat()).ok();
    let injector = || cluster.object("v1", "Service", "dapr-system", "dapr-sidecar-injector");
    assert!(injector().is_some());
    let said = at.vela(&["install", "--dapr", "--dapr-image", "x/vela-dapr:1"]).ok();
    let report = format!("{}{}", said.out, said.err);
    assert!(report.contains("Service dapr-sidecar-injector taken away"), "{report}");
    assert!(report.contains("No --dapr-sidecar-image was given"), "{report}");
    assert!(injector().is_none());
}

fn registration(kind: &str, name: &str, (label, whose): (&str, &str)) -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind,
        "metadata": {"name": name, "labels": {label: whose}},
        "webhooks": [],
    })
}

#[test]
fn uninstall_takes_operators_and_no_object_of_a_user() {
    let person = Person::new();
    let cluster = Cluster::new(&person);
    let at = At(&person, &cluster);
    at.vela(&[&["install"], &IMAGES[..]].concat()).ok();
    at.applies(&[
        json!({"apiVersion": "dapr.io/v2alpha1", "kind": "Subscription", "metadata": {"name": "orders", "namespace": "default"},
            "spec": {"topic": "orders", "pubsubname": "broker", "routes": {"default": "/orders"}}}),
        registration("MutatingWebhookConfiguration", "dapr-sidecar-injector", ("dapr.io/webhooks-by", "vela-dapr")),
        registration("ValidatingWebhookConfiguration", "vela-harbor-webhook", ("goharbor.io/webhooks-by", "other")),
    ]);
    let said = at.vela(&["uninstall"]).ok();
    let report = format!("{}{}", said.out, said.err);
    for words in [
        "Deployment vela-dapr deleted",
        "MutatingWebhookConfiguration dapr-sidecar-injector deleted",
        "1 kind of Dapr with Subscription default/orders",
        "the namespace harbor-operator",
    ] {
        assert!(report.contains(words), "{words} is not in\n{report}");
    }
    let admission = "admissionregistration.k8s.io/v1";
    assert!(cluster.object(admission, "ValidatingWebhookConfiguration", "", "vela-harbor-webhook").is_some());
    let kind = |name: &str| cluster.object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", name);
    until("the kinds without objects are gone", || kind("harbors.goharbor.io").is_none());
    assert!(kind("components.dapr.io").is_none());
    let kept = kind("subscriptions.dapr.io").unwrap();
    assert_eq!(kept["spec"]["conversion"], json!({"strategy": "None"}), "no webhook is there to ask");
    assert!(cluster.object("dapr.io/v2alpha1", "Subscription", "default", "orders").is_some());
    for name in ["vela-dapr", "vela-harbor"] {
        for (kind, namespace) in [("ClusterRole", ""), ("ClusterRoleBinding", "")] {
            assert!(
                cluster.object("rbac.authorization.k8s.io/v1", kind, namespace, name).is_none(),
                "{kind}"
            );
        }
    }
    assert!(cluster.object("v1", "ServiceAccount", "dapr-system", "vela-dapr").is_none());
    assert!(cluster.object("v1", "Service", "dapr-system", "dapr-api").is_none());

    // Later, without the object, its kind goes too.
    cluster.delete("dapr.io/v2alpha1", "Subscription", "default", "orders");
    at.vela(&["uninstall"]).ok();
    until("the last kind is gone", || kind("subscriptions.dapr.io").is_none());
}

#[test]
fn another_installation_of_dapr_is_left_alone() {
    let person = Person::new();
    let cluster = Cluster::new(&person);
    let at = At(&person, &cluster);
    let theirs = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "dapr-api", "namespace": "dapr-system"},
        "spec": {"selector": {"app": "dapr-operator"}, "ports": [{"port": 80}]}});
    let space = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "dapr-system"}});
    at.applies(&[space, theirs]);
    at.vela(&["install", "--dapr", "--dapr-image", "a"])
        .fails(1, &["dapr-system/dapr-api is of another installation of Dapr", "helm uninstall"]);
    assert!(
        cluster.object("v1", "ServiceAccount", "dapr-system", "vela-dapr").is_none(),
        "nothing was written"
    );
    at.vela(&["install"]).ok();
    at.vela(&["uninstall"]).ok();
    let live = cluster.object("v1", "Service", "dapr-system", "dapr-api").unwrap();
    assert_eq!(live["spec"]["selector"], json!({"app": "dapr-operator"}));
}

#[test]
fn the_examples_make_objects_that_the_kinds_take() {
    let person = Person::new();
    let cluster = Cluster::new(&person);
    let at = At(&person, &cluster);
    let file = person.write(
        "component.json",
        json!({"apiVersion": "dapr.io/v1alpha1", "kind": "Component", "metadata": {"name": "a"}}).to_string(),
    );
    at.vela(&["up", "-f", &file]).fails(1, &["Component in dapr.io/v1alpha1", "`vela install --dapr`"]);
    at.vela(&["install", "--dapr", "--harbor"]).ok();
    let rendered = |name: &str| {
        let said = person.types(&["dry-run", "--offline", "-f", &example(name)]).ok();
        documents(&said.out)
    };
    let dapr = rendered("dapr.yaml");
    let component = find(&dapr, "Component", "orders-broker");
    assert_eq!(component["scopes"], json!(["shop", "packing"]));
    let annotations = &find(&dapr, "Deployment", "packing")["spec"]["template"]["metadata"]["annotations"];
    assert_eq!(annotations["dapr.io/app-protocol"], "grpc");
    assert_eq!(annotations["dapr.io/app-id"], "packing");
    let harbor = rendered("harbor.yaml");
    find(&harbor, "Harbor", "hub");
    at.applies(&[component.clone(), find(&harbor, "Harbor", "hub").clone()]);
    assert!(cluster.object("goharbor.io/v1beta1", "Harbor", "default", "hub").is_some());
    assert!(cluster.object("dapr.io/v1alpha1", "Component", "default", "orders-broker").is_some());

    let cluster_of = person.write(
        "cluster.yaml",
        std::fs::read_to_string(example("harbor.yaml"))
            .unwrap()
            .replace("redis: {host: redis.example.com, passwordSecret: hub-redis}", "redis: {inCluster: {}}"),
    );
    let said = person.types(&["dry-run", "--offline", "-f", &cluster_of]).ok();
    at.applies(&[find(&documents(&said.out), "HarborCluster", "hub").clone()]);
    let live = cluster.object("goharbor.io/v1beta1", "HarborCluster", "default", "hub").unwrap();
    assert_eq!(live["spec"]["cache"]["kind"], "RedisFailover");
}
