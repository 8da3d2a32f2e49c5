//! Steps at their door: what they ask, in which order, and how they end.

// A test says what is wrong by panicking; helpers of tests too.
#![allow(clippy::panic)]

use serde_json::{Map, Value as Json, json};
use vela_cue::value::FieldOptions;
use vela_cue::{Source, Template};
use vela_engine::Code;
use vela_engine::definition::DEFAULT_ERA;
use vela_engine::steps::{self, Answer, Step, StepRun, Stop};

/// A step with `parameter` and a context, at its beginning.
fn step(text: &str, parameter: Json) -> StepRun {
    let step = Step::compile("step \"test\"", text, DEFAULT_ERA).unwrap_or_else(|found| panic!("{found}"));
    step.run(&parameter, &json!({"name": "app", "namespace": "prod", "stepSessionID": "s1"}))
}

/// Goes on until the step ends; `answers` are given by path. Tells what was asked and how it ended.
fn finish(run: &mut StepRun, answers: &Json) -> (Vec<String>, Stop) {
    let mut asked = Vec::new();
    loop {
        match run.advance().unwrap_or_else(|found| panic!("{found}")) {
            Stop::Ask(question) => {
                let answer = answers.get(&question.path).cloned().unwrap_or_else(|| json!({}));
                asked.push(format!("{}.{} {}", question.provider, question.function, question.path));
                let answer = match answer {
                    Json::Object(fields) if !question.has_returns => Answer::Fields(fields),
                    answer => Answer::Returns(answer),
                };
                run.answer(answer).unwrap_or_else(|found| panic!("{found}"));
            }
            stop => return (asked, stop),
        }
    }
}

fn value(stop: Stop) -> Json {
    match stop {
        Stop::Done(value) => value.to_json().unwrap_or_else(|found| panic!("{found}")),
        Stop::Wait { message } => panic!("waits: {message}"),
        _ => panic!("it must be done"),
    }
}

#[test]
fn every_package_compiles_and_answers_to_its_name() {
    for provider in steps::workflow().iter().chain(steps::workload()) {
        let text = format!("import p \"{}\"\n_p: p", provider.path());
        let template = Template::compile_with(&[Source::new("test", text)], steps::workflow());
        let template = template.unwrap_or_else(|found| panic!("{}: {found}", provider.path()));
        let package = template.instantiate(&[]).root().lookup("_p");
        package.validate(false).unwrap_or_else(|found| panic!("{}: {found}", provider.path()));
        let all = FieldOptions { definitions: true, ..FieldOptions::default() };
        let asking: Vec<_> = package
            .fields(all)
            .into_iter()
            .filter_map(|field| Some((field.name, field.value.lookup("#provider").as_str()?)))
            .collect();
        assert!(!asking.is_empty(), "{} asks nothing", provider.path());
        for (name, who) in asking {
            assert_eq!(who, provider.name(), "{} {name}", provider.path());
        }
    }
}

#[test]
fn a_step_reads_applies_and_waits_until_it_runs() {
    let text = r#"
import ("vela/kube", "vela/builtin")
read: kube.#Read & {$params: value: {apiVersion: "v1", kind: "ConfigMap", metadata: {name: parameter.from, namespace: context.namespace}}}
apply: kube.#Apply & {$params: value: {apiVersion: "v1", kind: "Pod", metadata: name: read.$returns.value.data.pod}}
say: builtin.#Message & {$params: message: "applied \(apply.$returns.value.metadata.name)"}
wait: builtin.#ConditionalWait & {$params: {continue: apply.$returns.value.status.phase == "Running", message: "not yet"}}
parameter: from: string
"#;
    let at = |phase: &str| {
        json!({
            "read": {"value": {"data": {"pod": "web"}}},
            "apply": {"value": {"metadata": {"name": "web"}, "status": {"phase": phase}}},
        })
    };
    let mut run = step(text, json!({"from": "which"}));
    let (asked, stop) = finish(&mut run, &at("Pending"));
    assert_eq!(asked, ["kube.read read", "kube.apply apply"]);
    assert!(matches!(stop, Stop::Wait { message } if message == "not yet"));
    assert_eq!(run.message(), "applied web");
    let (_, stop) = finish(&mut step(text, json!({"from": "which"})), &at("Running"));
    assert_eq!(value(stop)["apply"]["$params"]["value"]["metadata"]["name"], "web");
}

#[test]
fn a_step_suspends_and_goes_on_when_it_is_resumed() {
    let text = r#"
import ("vela/builtin", "vela/multicluster")
hold: builtin.#Suspend & {$params: {duration: "30s"}}
deploy: multicluster.#Deploy & {$params: {policies: [], parallelism: 5, ignoreTerraformComponent: true}}
"#;
    let mut run = step(text, json!({}));
    // Answers come from elsewhere: a run must be able to wait for them between threads.
    fn may_move<T: Send>(_: &T) {}
    may_move(&run);
    let Stop::Suspend { path, duration, message } = run.advance().unwrap_or_else(|e| panic!("{e}")) else {
        panic!("it must suspend first")
    };
    assert_eq!((path.as_str(), duration.as_deref()), ("hold", Some("30s")));
    assert_eq!(message, "Suspended by field hold");
    run.answer(Answer::Nothing).unwrap_or_else(|e| panic!("{e}"));
    let (asked, stop) = finish(&mut run, &json!({}));
    assert_eq!(asked, ["multicluster.deploy deploy"]);
    assert!(matches!(stop, Stop::Done(_)));
}

#[test]
fn a_step_fails_breaks_and_waits_for_what_is_not_known() {
    let of = |text: &str| finish(&mut step(text, json!({})), &json!({})).1;
    let fail = "import \"vela/builtin\"\nx: builtin.#Fail & {$params: message: \"no\"}";
    assert!(matches!(of(fail), Stop::Fail { message } if message == "no"));
    let end = "import \"vela/op\"\nx: op.#Break & {message: \"enough\"}";
    assert!(matches!(of(end), Stop::Break { message } if message == "enough"));
    let open = "import \"vela/kube\"\nx: kube.#Apply & {$params: value: {kind: string}}";
    assert!(matches!(of(open), Stop::Wait { message } if message.starts_with("x: ")));
    let log = "import \"vela/util\"\nx: util.#Log & {$params: source: url: \"http://a\"}";
    let mut run = step(log, json!({}));
    assert!(matches!(finish(&mut run, &json!({})).1, Stop::Done(_)));
    assert_eq!(run.logs(), [json!({"level": 3, "source": {"url": "http://a"}})]);
}

#[test]
fn calls_without_outside_providers_are_computed() {
    let text = r#"
import ("vela/base64", "vela/time", "vela/util", "vela/cue", "vela/op")
b: base64.#Encode & {$params: "hé"}
c: base64.#Decode & {$params: b.$returns}
d: time.#DateToTimestamp & {$params: date: "2023-06-20T02:00:00+02:00"}
e: time.#TimestampToDate & {$params: {timestamp: d.$returns.timestamp, layout: "Jan 2 2006"}}
f: util.#ConvertString & {$params: bt: 'bytes'}
g: op.#ConvertString & {bt: 'old'}
h: op.#DateToTimestamp & {date: "1970-01-02", layout: "2006-01-02"}
i: cue.#StrategyUnify & {$params: {
	value: containers: [{name: "a", image: "x"}]
	// +patchKey=name
	patch: {
		// +patchKey=name
		containers: [{name: "a", port: 80}, {name: "b"}]
	}
}}
j: util.#PatchK8sObject & {$params: {value: replicas: 1, patch: labels: a: "b"}}
k: util.#PatchK8sObject & {$params: {value: replicas: 1, patch: replicas: 2}}
"#;
    let (asked, stop) = finish(&mut step(text, json!({})), &json!({}));
    assert_eq!(asked, Vec::<String>::new());
    let made = value(stop);
    let returned = |name: &str| made[name]["$returns"].clone();
    assert_eq!((returned("b"), returned("c")), (json!("aMOp"), json!("hé")));
    assert_eq!(
        (returned("d"), returned("e")),
        (json!({"timestamp": 1_687_219_200}), json!({"date": "Jun 20 2023"}))
    );
    assert_eq!((returned("f"), &made["g"]["str"]), (json!({"str": "bytes"}), &json!("old")));
    assert_eq!(made["h"]["timestamp"], json!(86_400));
    let containers = json!([{"name": "a", "image": "x", "port": 80}, {"name": "b"}]);
    assert_eq!(returned("i"), json!({"containers": containers}));
    assert_eq!(returned("j"), json!({"result": {"replicas": 1, "labels": {"a": "b"}}}));
    assert!(returned("k")["err"].as_str().is_some_and(|reason| reason.contains("replicas")), "{made}");
}

#[test]
fn an_environment_is_bound_as_its_policy_says() {
    let text = r#"
import "vela/op"
app: op.#ApplyEnvBindApp & {env: parameter.env, policy: "", parallel: true, app: context.name, namespace: context.namespace}
parameter: env: string
"#;
    let policy = json!({"type": "env-binding", "properties": {"envs": [
        {"name": "test", "placement": {}},
        {"name": "prod", "placement": {"clusterSelector": {"name": "far"}}, "selector": {"components": ["web"]}},
    ]}});
    let answers = json!({
        "app.prepare.loadEnv.loadPolicies": {"value": {"other": {"type": "topology"}, "binding": policy}},
        "app.prepare.placementDecisions": {"outputs": {"decisions": [{"cluster": "far", "namespace": "ns"}]}},
        "app.prepare.patchedApp": {"outputs": {"spec": {"components": [{"name": "web", "type": "webservice"}]}}},
    });
    let mut run = step(text, json!({"env": "prod"}));
    let (asked, stop) = finish(&mut run, &answers);
    let applied = "op.component-apply app.apply.outputs.\"far-ns-0\"";
    assert_eq!(
        asked,
        [
            "op.load-policies app.prepare.loadEnv.loadPolicies",
            "op.make-placement-decisions app.prepare.placementDecisions",
            "op.patch-application app.prepare.patchedApp",
            applied,
            &applied.replace("app.apply", "app.wait"),
        ]
    );
    let app = value(stop)["app"].clone();
    let component = &app["apply"]["outputs"]["far-ns-0"];
    assert_eq!((&component["cluster"], &component["waitHealthy"]), (&json!("far"), &json!(false)));
    assert_eq!(app["prepare"]["placementDecisions"]["inputs"]["policyName"], "binding");
    assert_eq!(app["prepare"]["patchedApp"]["inputs"]["selector"], json!({"components": ["web"]}));
}

#[test]
fn a_cloud_resource_is_deployed_and_shared_with_its_secret() {
    let prepared = |first: &str| {
        let policy =
            json!({"type": "env-binding", "properties": {"envs": [{"name": "prod", "placement": {}}]}});
        let component = json!({"name": "db", "type": "rds", "properties": {
            "size": 1, "writeConnectionSecretToRef": {"name": "conn"}}});
        let mut answers = Map::new();
        let mut put = |path: &str, value: Json| answers.insert(format!("app.{first}.{path}"), value);
        put("prepare.loadEnv.loadPolicies", json!({"value": {"binding": policy}}));
        put(
            "prepare.placementDecisions",
            json!({"outputs": {"decisions": [{"cluster": "far", "namespace": ""}]}}),
        );
        put(
            "prepare.patchedApp",
            json!({"outputs": {"spec": {"components": [component.clone(), {"name": "web"}]}}}),
        );
        put("loadTerraformComponents", json!({"outputs": {"components": [component]}}));
        let secret = json!({"value": {"metadata": {"uid": "u", "labels": {"x": "y"}}, "data": {"k": "v"}}});
        answers.insert("app.deploy.db.bind.read".to_owned(), secret);
        answers.insert("app.deploy.db.bind.status".to_owned(), json!({"outputs": {"healthy": true}}));
        Json::Object(answers)
    };
    let text = |what: &str, more: &str| {
        format!(
            "import \"vela/op\"\napp: op.#{what} & {{env: \"prod\", policy: \"binding\", name: context.name, namespace: context.namespace{more}}}"
        )
    };
    let (_, stop) =
        finish(&mut step(&text("DeployCloudResource", ""), json!({})), &prepared("prepareDeploy"));
    let made = value(stop)["app"]["deploy"]["db"].clone();
    let wanted = json!({"name": "db-prod", "type": "rds", "properties": {
        "size": 1, "writeConnectionSecretToRef": {"name": "conn-prod", "namespace": "prod"}}});
    assert_eq!(made["apply"]["value"], wanted);
    let copy = &made["bind"]["sync"]["far-"]["value"];
    assert_eq!(copy["metadata"], json!({"name": "conn", "namespace": "prod"}));
    assert_eq!(copy["data"], json!({"k": "v"}));

    let placements = ", placements: [{cluster: \"far\"}, {namespace: \"ns\"}]";
    let text = text("ShareCloudResource", placements);
    let (_, stop) = finish(&mut step(&text, json!({})), &prepared("prepareBind"));
    let sync = value(stop)["app"]["deploy"]["db"]["bind"]["sync"].clone();
    assert_eq!(sync["far-prod"]["value"]["metadata"], json!({"name": "conn", "namespace": "prod"}));
    assert_eq!(sync["local-ns"]["value"]["metadata"], json!({"name": "conn", "namespace": "ns"}));
}

#[test]
fn components_are_applied_but_for_the_exceptions() {
    let text = |package: &str| {
        format!("import \"vela/{package}\"\napply: {package}.#ApplyRemaining & {{exceptions: [\"db\"]}}")
    };
    let answers = json!({"apply.load": {"value": {"web": {"name": "web"}, "db": {"name": "db"}}}});
    for package in ["op", "oam"] {
        let (asked, _) = finish(&mut step(&text(package), json!({})), &answers);
        let [load, web] = asked.as_slice() else { panic!("{asked:?}") };
        assert_eq!(
            (load, web),
            (
                &format!("{package}.load apply.load"),
                &format!("{package}.component-apply apply.components.web")
            )
        );
    }
}

#[test]
fn expressions_of_a_workflow_are_read() {
    let (status, context) = (json!({"a": {"failed": true}}), json!({"name": "app"}));
    let names = [("status", &status), ("context", &context)];
    let holds = |text: &str| steps::condition(text, &names).map_err(|found| found.to_string());
    assert_eq!(holds("always"), Ok(true));
    assert_eq!(holds("status.a.failed && context.name == \"app\""), Ok(true));
    assert_eq!(holds("status[\"a\"].failed == false"), Ok(false));
    assert!(holds("status.b.failed").is_err_and(|text| text.contains("b")));
    assert!(holds("context.name").is_err());
    assert!(holds("status.a.failed &&").is_err());

    let text = "import \"vela/kube\"\noutput: kube.#Read & {$params: value: {}}\nown: 3";
    let (_, stop) =
        finish(&mut step(text, json!({})), &json!({"output": {"value": {"status": {"ip": "10.0.0.1"}}}}));
    let Stop::Done(value) = stop else { panic!("it must be done") };
    let read = |from: &str| steps::output(&value, from).map_err(|found| found.to_string());
    assert_eq!(read("output.$returns.value.status.ip"), Ok(json!("10.0.0.1")));
    assert_eq!(read("output.value.status.ip"), Ok(json!("10.0.0.1")));
    let script = "import \"strings\"\nstrings.Split(output.$returns.value.status.ip, \".\")[0]";
    assert_eq!(read(script), Ok(json!("10")));
    assert_eq!(read("own + 1"), Ok(json!(4)));
    assert!(read("nothing").is_err());

    let data = json!({"output": {"metadata": {"name": "web"}}, "outputs": {}});
    let of = |from: &str| steps::output_of(&data, from).map_err(|found| found.to_string());
    assert_eq!(of("output.metadata.name"), Ok(json!("web")));
    assert_eq!(of("\"http://\\(output.metadata.name)\""), Ok(json!("http://web")));
    assert!(of("output.status.ip").is_err() && of("nothing").is_err());
    assert_eq!(steps::data("vars", "a: b: 1").map_err(|found| found.to_string()), Ok(json!({"a": {"b": 1}})));
}

#[test]
fn a_component_computes_its_calls_and_names_unanswered_ones() {
    let rendered = |text: &str| {
        vela_engine::render::single::component(text, &json!({"user": "me"}), &json!({"name": "web"}))
    };
    let text = r#"
import "vela/base64"
encoded: base64.#Encode & {$params: parameter.user}
output: {apiVersion: "v1", kind: "Secret", metadata: name: context.name, data: user: encoded.$returns}
parameter: user: string
"#;
    assert_eq!(rendered(text).unwrap()["output"]["data"], json!({"user": "bWU="}));
    let text = r#"
import "vela/helm"
chart: helm.#Render & {$params: chart: source: parameter.user}
output: {apiVersion: "v1", kind: "ConfigMap", data: count: "\(len(chart.$returns.resources))"}
parameter: user: string
"#;
    let Err(found) = rendered(text) else { panic!("charts are not rendered") };
    let first = found.iter().next().unwrap();
    assert_eq!(first.code, Code::NotSupported);
    assert!(first.message.contains("helm render") && first.message.contains("chart"), "{first}");
    let broken = text.replace("user: string", "user: int");
    let Err(found) = rendered(&broken) else { panic!("me is no int") };
    assert_eq!(found.iter().next().unwrap().code, Code::Parameter);
}

#[test]
fn a_broken_step_is_told_with_its_place() {
    let Err(found) = Step::compile("step \"x\"", "import \"vela/cube\"\na: cube.#Apply", DEFAULT_ERA) else {
        panic!("vela/cube is not known")
    };
    let first = found.iter().next().unwrap();
    assert_eq!(first.code, Code::BadDefinition);
    assert!(
        first.message.contains("vela/cube") && first.hint.as_ref().is_some_and(|h| h.contains("vela/kube"))
    );
    let mut run = step(
        "import \"vela/kube\"\na: kube.#Read & {$params: value: {kind: \"Pod\"}, $returns: value: kind: \"Job\"}",
        json!({}),
    );
    assert!(matches!(run.advance(), Ok(Stop::Ask(_))));
    run.answer(Answer::Returns(json!({"value": {"kind": "Pod"}}))).unwrap();
    let Err(found) = run.advance() else { panic!("a Pod is no Job") };
    assert!(found.iter().any(|d| d.path == "a.$returns.value.kind"), "{found}");
}
