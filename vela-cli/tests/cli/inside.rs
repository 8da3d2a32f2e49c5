//! Looking inside: revisions and what differs between them, what a file would change, pods, logs.

use serde_json::{Value, json};

use crate::verbs::{answer, serve};
use crate::{PAGE, Person, site};

const SECRET: &str = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: login\nstringData:\n  password: ";

/// One sandbox for all of it.
#[test]
fn revisions_and_what_a_file_would_change() {
    let person = Person::new();
    let page = person.write("page.yaml", PAGE);
    let app = person.write("site.yaml", site(false));
    let secret = person.write("secret.yaml", format!("{SECRET}first\n"));
    let said = person.types(&["diff", &page, &app, "-o", "json"]);
    assert!(said.ok().out.contains("\"change\": \"created\""));
    person.types(&["up", &page, &app, &secret]).ok();

    // Nothing differs: neither defaults nor what the controller adds.
    let said = person.types(&["diff", &page, &app, &secret]).ok();
    assert_eq!(said.out, "5 unchanged\n", "{said:?}");

    let next = site(false).replace("nginx:1", "nginx:2").replace("replicas: 2", "replicas: 3");
    person.write("site.yaml", &next);
    person.write("secret.yaml", format!("{SECRET}second\n"));
    let said = person.types(&["live-diff", "-f", &app, "-f", &secret]).ok();
    for line in [
        "Application default/site changed\n",
        "  ~ spec.components[front].properties.image: \"nginx:1\" → \"nginx:2\"\n",
        "Deployment default/front changed\n",
        "  ~ spec.replicas: 2 → 3\n  ~ spec.template.spec.containers[front].image: \"nginx:1\" → \"nginx:2\"\n",
        "Secret default/login changed\n  ~ data.password: \"(secret, ",
        "3 changed, 1 unchanged\n",
    ] {
        assert!(said.out.contains(line), "{line:?} is not in\n{}", said.out);
    }
    // Neither as they are written nor in base64.
    for secret in ["first", "second", "Zmlyc3Q", "c2Vjb25k"] {
        assert!(!said.out.contains(secret), "{secret} is in\n{}", said.out);
    }
    let said = person.types(&["diff", &app, "-o", "json"]).ok();
    let all: Vec<Value> = serde_json::from_str(&said.out).unwrap();
    let deployment = all.iter().find(|one| one["kind"] == "Deployment").unwrap();
    assert_eq!(deployment["fields"][0], json!({"path": "spec.replicas", "before": 2, "after": 3}));
    // Nothing was written.
    assert!(person.types(&["rollout", "history", "site"]).ok().out.contains("site-v1"));
    assert!(!person.types(&["revision", "list", "site", "-o", "name"]).ok().out.contains("site-v2"));

    person.write("bad.yaml", next.replace("image: nginx:2", "imagee: nginx:2"));
    person.types(&["diff", "bad.yaml"]).fails(1, &["bad.yaml:7:7", "parameter.image must be given"]);
    person.types(&["diff", "nowhere.yaml"]).fails(1, &["nowhere.yaml cannot be read"]);

    // What would go, and what is refused.
    let gone = next.replace("name: front", "name: back");
    let said = person.types(&["diff", &person.write("gone.yaml", gone)]).ok();
    assert!(said.out.contains("Deployment default/front left out: it goes"), "{said:?}");
    assert!(said.out.contains("Deployment default/back created"), "{said:?}");

    person.types(&["up", &app]).ok();
    revisions(&person);
    lists(&person);
}

fn revisions(person: &Person) {
    let said = person.types(&["revision", "list", "site", "-o", "wide"]).ok();
    assert!(said.out.starts_with("REVISION   CURRENT   SUCCEEDED   VERSION   CREATED"), "{said:?}");
    let rows: Vec<&str> = said.out.lines().skip(1).collect();
    assert!(rows[0].starts_with("site-v2    *") && rows[1].starts_with("site-v1     "), "{said:?}");
    assert_eq!(person.types(&["revision", "ls", "site", "-o", "name"]).ok().out, "site-v2\nsite-v1\n");
    let said = person.types(&["revision", "list", "site", "-o", "json"]).ok();
    let rows: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!((&rows[0]["name"], &rows[0]["current"]), (&json!("site-v2"), &json!(true)));
    assert!(person.types(&["revision", "list", "site", "-o", "yaml"]).ok().out.contains("name: site-v2"));

    let former = person.types(&["revision", "get", "site-v1"]).ok();
    assert!(former.out.contains("kind: Application") && former.out.contains("nginx:1"), "{former:?}");
    let said = person.types(&["revision", "get", "--diff", "site-v1", "site-v2"]).ok();
    let expected = "site-v1 → site-v2\n  ~ spec.components[front].properties.image: \"nginx:1\" → \"nginx:2\"\n  \
                    ~ spec.components[front].properties.replicas: 2 → 3\n";
    assert_eq!(said.out, expected);
    let said = person.types(&["revision", "get", "--diff", "site-v1", "site-v2", "-o", "json"]).ok();
    let found: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(
        found[1],
        json!({"path": "spec.components[front].properties.replicas", "before": 2, "after": 3})
    );
    let said = person.types(&["revision", "get", "--diff", "site-v1", "site-v1"]).ok();
    assert!(said.err.contains("site-v1 and site-v1 do not differ"), "{said:?}");
    // What is printed can be applied.
    person.write("former.yaml", &former.out);
    assert!(person.types(&["diff", "former.yaml"]).ok().out.contains("\"nginx:2\" → \"nginx:1\""));

    person
        .types(&["revision", "get", "site"])
        .fails(1, &["there is no revision \"site\"", "has site-v2, site-v1"]);
    person
        .types(&["revision", "get", "shop-v1"])
        .fails(1, &["no revision \"shop-v1\"", "`vela revision list APPLICATION`"]);
    person.types(&["revision", "list", "shop"]).fails(1, &["there is no revision of application \"shop\""]);
    person.types(&["revision", "get"]).fails(2, &["<REVISION|--diff <FROM> <TO>>"]);
}

fn lists(person: &Person) {
    assert!(person.types(&["ls", "-o", "wide"]).ok().out.contains("site"));
    assert!(person.types(&["ls", "-o", "yaml"]).ok().out.contains("name: site"));
    let said = person.types(&["status", "site", "--pod"]).ok();
    assert!(said.out.starts_with("COMPONENT   POD"), "{said:?}");
    assert_eq!(said.out.lines().filter(|line| line.starts_with("front ")).count(), 3, "{said:?}");
    let said = person.types(&["status", "site", "--pod", "-o", "json"]).ok();
    assert_eq!(serde_json::from_str::<Value>(&said.out).unwrap().as_array().unwrap().len(), 3);

    person.types(&["logs", "site"]).fails(5, &["the pods of the sandbox are simulated", "--kubeconfig"]);
    for words in [&["exec", "site", "--", "ls"][..], &["port-forward", "site", "8080:80"]] {
        let said = person.types(words).fails(5, &["the pods of the sandbox are simulated", "--kubeconfig"]);
        assert!(said.out.is_empty(), "{said:?}");
    }
    person.types(&["exec", "shop", "--", "ls"]).fails(1, &["there is no application \"shop\""]);
    person.types(&["logs", "shop"]).fails(1, &["there is no application \"shop\""]);
}

pub(crate) fn resources(version: &str, all: &[(&str, &str)]) -> String {
    let one = |(name, kind): &(&str, &str)| json!({"name": name, "singularName": "", "kind": kind, "namespaced": true, "verbs": ["get", "list"]});
    let all: Vec<Value> = all.iter().map(one).collect();
    json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": all})
        .to_string()
}

fn pod(name: &str, owner: &str, waits: bool) -> Value {
    let state =
        if waits { json!({"waiting": {"reason": "ContainerCreating"}}) } else { json!({"running": {}}) };
    json!({
        "metadata": {"name": name, "namespace": "default", "uid": name, "labels": {"app": "web"}, "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "uid": owner}]},
        "spec": {"containers": [{"name": "web", "ports": [{"name": "http", "containerPort": 8080}]}, {"name": "helper"}]},
        "status": {"phase": "Running", "containerStatuses": [{"name": "web", "restartCount": 0, "state": {"running": {}}}, {"name": "helper", "restartCount": 0, "state": state}]},
    })
}

/// A cluster that answers as one does whose pods have containers.
pub(crate) fn answers() -> Vec<(&'static str, String)> {
    let json_answer = |value: Value| answer("200 OK\r\ncontent-type: application/json", &value.to_string());
    let text = |text: String| answer("200 OK\r\ncontent-type: application/json", &text);
    let list = |kind: &str, version: &str, items: Value| {
        json_answer(
            json!({"kind": kind, "apiVersion": version, "metadata": {"resourceVersion": "5"}, "items": items}),
        )
    };
    let application = json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": "Application", "metadata": {"name": "shop", "namespace": "default"}, "spec": {"components": []},
        "status": {"appliedResources": [{"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "web"}]},
    });
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default", "uid": "d", "labels": {"app.oam.dev/component": "front"}},
    });
    let set = json!([{"metadata": {"name": "web-1", "namespace": "default", "uid": "rs", "ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "d"}]}}]);
    let pods =
        json!([pod("web-1-a", "rs", false), pod("web-1-b", "rs", true), pod("stranger", "other", false)]);
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "default", "labels": {"app.oam.dev/name": "shop"}},
        "spec": {"selector": {"app": "web"}, "ports": [{"name": "front", "port": 80, "targetPort": "http"}]},
    });
    let core = "/api/v1/namespaces/default/pods";
    let log = |name: &str, container: &str, query: &str| -> &'static str {
        format!("{core}/{name}/log?&container={container}{query}").leak()
    };
    vec![
        (log("web-1-a", "web", "&previous=true"), answer("400 Bad Request", &json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": "previous terminated container \"web\" in pod \"web-1-a\" not found", "reason": "BadRequest", "code": 400}).to_string())),
        (log("web-1-a", "web", "&follow=true&sinceSeconds=90&tailLines=2&timestamps=true"), answer("200 OK", "2026-01-01T00:00:00Z two\n2026-01-01T00:00:01Z three\n")),
        (log("web-1-a", "web", ""), answer("200 OK", &format!("one\n\u{1b}]0;title\u{7}two\r\n{}end", "x".repeat(70_000)))),
        (log("web-1-a", "helper", ""), answer("200 OK", "helps\n")),
        (log("web-1-b", "web", ""), answer("200 OK", "other\n")),
        ("/version", json_answer(json!({"major": "1", "minor": "34", "gitVersion": "v1.34.0", "gitCommit": "", "gitTreeState": "", "buildDate": "", "goVersion": "", "compiler": "", "platform": ""}))),
        ("/apis/core.oam.dev/v1beta1/namespaces/default/applications/shop", json_answer(application)),
        ("/apis/core.oam.dev/v1beta1", text(resources("core.oam.dev/v1beta1", &[("applications", "Application")]))),
        ("/apis/core.oam.dev/v1alpha2", text(resources("core.oam.dev/v1alpha2", &[("applicationconfigurations", "ApplicationConfiguration")]))),
        ("/apis/apps/v1/namespaces/default/deployments/web", json_answer(deployment)),
        ("/apis/apps/v1/namespaces/default/replicasets", list("ReplicaSetList", "apps/v1", set)),
        ("/apis/apps/v1", text(resources("apps/v1", &[("deployments", "Deployment"), ("replicasets", "ReplicaSet")]))),
        ("/apis/batch/v1/namespaces/default/jobs", list("JobList", "batch/v1", json!([]))),
        ("/apis/batch/v1", text(resources("batch/v1", &[("jobs", "Job")]))),
        ("/api/v1/namespaces/default/services/web", json_answer(service)),
        (core, list("PodList", "v1", pods)),
        ("/api/v1", text(resources("v1", &[("pods", "Pod"), ("services", "Service")]))),
    ]
}

pub(crate) fn kubeconfig(server: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: test\nclusters: [{{name: test, cluster: {{server: \"{server}\"}}}}]\n\
         users: [{{name: test, user: {{}}}}]\ncontexts: [{{name: test, context: {{cluster: test, user: test}}}}]\n"
    )
}

#[test]
fn logs_of_the_pods_of_a_cluster() {
    let person = Person::new();
    let kubeconfig = person.write("kubeconfig", kubeconfig(&serve(answers())));
    let logs =
        |words: &[&str]| person.types(&[&["--kubeconfig", &kubeconfig, "logs", "shop"], words].concat());
    let said = logs(&[]).ok();
    let lines: Vec<&str> = said.out.lines().collect();
    assert_eq!(lines[0], "web-1-a web one");
    // What a terminal would obey is not passed on, and a long line comes in pieces.
    assert!(!said.out.contains('\u{1b}') && lines[1].ends_with("two"), "{:?}", lines[1]);
    assert!(lines[3].ends_with("xend"), "{}", lines.len());
    assert_eq!(lines[4..], ["web-1-a helper helps", "web-1-b web other"]);
    assert_eq!(logs(&["--container", "helper", "--pod", "web-1-a"]).ok().out, "helps\n");
    assert_eq!(logs(&["-c", "web", "-p", "web-1-b", "--component", "front"]).ok().out, "other\n");
    let followed =
        ["-c", "web", "-p", "web-1-a", "--follow", "--timestamps", "--since", "90s", "--tail", "2"];
    assert_eq!(logs(&followed).ok().out, "2026-01-01T00:00:00Z two\n2026-01-01T00:00:01Z three\n");
    logs(&["-c", "web", "-p", "web-1-a", "--previous"]).fails(1, &["previous terminated container \"web\""]);
    logs(&["--previous", "--follow"]).fails(2, &["cannot be used with"]);
    logs(&["--component", "back"])
        .fails(1, &["component \"back\" of shop has no pod", "web-1-a (component front)"]);
    logs(&["-p", "stranger"]).fails(1, &["shop has no pod \"stranger\"", "web-1-b"]);
    logs(&["-c", "nothing"]).fails(1, &["no pod of shop has a container \"nothing\"", "helper, web"]);
    let said = person.types(&["--kubeconfig", &kubeconfig, "status", "shop", "--pod"]).ok();
    assert!(said.out.contains("web-1-b") && !said.out.contains("stranger"), "{said:?}");
}
