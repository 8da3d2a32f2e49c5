//! `vela ql`: views that are built in, stored or in a file.

use serde_json::{Value, json};

use crate::{PAGE, Person, site};

fn parsed(out: &str) -> Value {
    serde_json::from_str(out).unwrap()
}

/// One sandbox for all of it.
#[test]
fn views_ask_what_became_of_an_application() {
    let person = Person::new();
    let page = person.write("page.yaml", PAGE);
    let app = person.write("site.yaml", site(false));
    person.types(&["up", &page, &app]).ok();

    let pods = parsed(&person.types(&["ql", "component-pod-view{appName=site, appNs=default}"]).ok().out);
    let all = pods["podList"].as_array().unwrap();
    assert_eq!(all.len(), 2, "{pods}");
    assert_eq!((&all[0]["component"], &all[0]["workload"]["kind"]), (&json!("front"), &json!("ReplicaSet")));
    assert_eq!(all[0]["status"]["phase"], "Running");
    let none = person.types(&[
        "ql",
        "-q",
        "component-pod-view{appName=site, appNs=default, name=back}.status.podList",
    ]);
    assert_eq!(none.ok().out, "[]\n");

    let query = "application-resource-tree-view{appName=site, appNs=default}.status.resources";
    let tree = parsed(&person.types(&["ql", query]).ok().out);
    let root = &tree[0]["resourceTree"];
    assert_eq!(
        (&root["kind"], &root["healthStatus"]["statusCode"]),
        (&json!("Deployment"), &json!("Healthy"))
    );
    assert_eq!(root["leafNodes"][0]["leafNodes"][1]["additionalInfo"]["Ready"], "1/1", "{root}");
    let applied =
        person.types(&["ql", "service-applied-resources-view{appName=site, appNs=default}", "-o", "yaml"]);
    assert!(applied.ok().out.contains("kind: Deployment"));
    let revision = parsed(&person.types(&["ql", "application-revision-view{name=site-v1}"]).ok().out);
    assert_eq!(revision["kind"], "ApplicationRevision");

    asked_wrongly(&person);
    stored(&person);
    read_only(&person);
}

fn asked_wrongly(person: &Person) {
    for (query, part) in [
        (
            "component-pod-view{appName=gone, appNs=default}",
            "there is no application gone in namespace default",
        ),
        ("application-revision-view{name=site-v9}", "revision site-v9 of namespace default cannot be read"),
        ("component-pod-view{appName=site}", "parameter.appNs must be given (string)"),
        ("component-pods-view{appName=site}", "component-pod-view"),
        ("component-pod-view{appName=site", "end without }"),
        ("component-pod-view{appName=site, appNs=default}.status.nothing", "nothing"),
    ] {
        person.types(&["ql", query]).fails(1, &[part]);
    }
    person.types(&["ql"]).fails(2, &["NAME{KEY=VALUE"]);
}

const NAMES: &str = r#"import "vela/ql"

pods: ql.#CollectPods & {app: {name: parameter.app, namespace: "default"}}
events: ql.#SearchEvents & {value: pods.list[0].object, cluster: ""}
logs: ql.#CollectLogsInPod & {cluster: "", namespace: "default", pod: pods.list[0].object.metadata.name, options: container: pods.list[0].object.spec.containers[0].name}
app: ql.#Read & {value: {apiVersion: "core.oam.dev/v1beta1", kind: "Application", metadata: name: parameter.app}}
parameter: app: string
status: {
	count:    len(pods.list)
	phase:    app.value.status.status
	happened: len(events.list) > 0
	log:      logs.outputs
}
phase: app.value.status.status
export: "status"
"#;

fn stored(person: &Person) {
    let file = person.write("names-view.cue", NAMES);
    let result = parsed(&person.types(&["ql", "-f", &file, "-p", "app=site"]).ok().out);
    assert_eq!(result["count"], 2, "{result}");
    assert_eq!((&result["phase"], &result["happened"]), (&json!("running"), &json!(true)), "{result}");
    // The pods of the sandbox write none.
    assert!(result["log"]["err"].to_string().contains("cannot be read"), "{result}");
    let said = person.types(&["ql", "apply", "-f", &file, "--dry-run"]).ok();
    assert!(said.err.contains("view names-view created (dry run)"), "{said:?}");
    person.types(&["ql", "names-view{app=site}"]).fails(1, &["there is no view \"names-view\""]);
    person.types(&["ql", "apply", "-f", &file]).ok();
    assert_eq!(person.types(&["ql", "names-view{app=site}.phase"]).ok().out, "running\n");
    let listed = person.types(&["ql", "list"]).ok();
    assert!(listed.out.contains("names-view") && listed.out.contains("service-endpoints-view"), "{listed:?}");
    person.types(&["ql", "delete", "component-pod-view", "-y"]).fails(1, &["it is built in"]);
    person.types(&["ql", "delete", "names-view", "-y"]).ok();
    let names = person.types(&["ql", "ls", "-o", "name"]).ok().out;
    assert!(!names.contains("names-view"), "{names}");
    let broken = person.write("broken.cue", "status: 1 &\n");
    person.types(&["ql", "apply", "-f", &broken]).fails(1, &["broken.cue at 1:11"]);
    let unnamed = person.write("Pods.cue", NAMES);
    person.types(&["ql", "apply", "-f", &unnamed]).fails(1, &["gives the view no name"]);
}

fn read_only(person: &Person) {
    let applies = "import \"vela/kube\"\na: kube.#Apply & {$params: value: {apiVersion: \"v1\", kind: \"ConfigMap\", metadata: name: \"a\"}}\n";
    let file = person.write("applies.cue", applies);
    person.types(&["ql", "-f", &file]).fails(1, &["a view only reads"]);
    let calls =
        "import \"vela/http\"\na: http.#HTTPDo & {$params: {method: \"GET\", url: \"http://127.0.0.1:1\"}}\n";
    let file = person.write("calls.cue", calls);
    person.types(&["ql", "-f", &file]).fails(1, &["a view only reads"]);
}
