//! Workflows: their steps with outputs, what users order, and what is refused of it.

use http::Request;
use kube::Client;
use serde_json::{Value, json};
use tower::ServiceExt as _;
use vela_console::Options;

use crate::cluster::{Cluster, FORM, HOST, SECRET};

const PAGE: &str = "/namespaces/default/applications/shop/workflow";
const API: &str = "/api/v1/namespaces/default/applications/shop/workflow";
const TOKEN: (&str, &str) = ("x-csrf-token", FORM);
const FORM_TYPE: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

fn that_changes() -> Options {
    Options { changes_as: Some("vela-cli".to_owned()), ..Options::default() }
}

/// With a shop whose workflow waits in a step that a call suspends, and gave a value before.
async fn cluster(options: Options) -> Cluster {
    let mut cluster = Cluster::with_shop().await;
    cluster.serve(cluster.client(), options).await;
    let values = json!({"vars": json!({"address": "http://a", "secret": {"kind": "Secret", "stringData": {"a": SECRET}}}).to_string()});
    cluster
        .create(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "values", "namespace": "default"}, "data": values}))
        .await;
    let context = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "values", "namespace": "default"});
    let status = json!({"workflow": {"contextBackend": context}});
    cluster.status("core.oam.dev/v1beta1", "Application", "shop", status).await;
    let steps = json!({"steps": [
        {"name": "hold", "type": "suspend", "outputs": [
            {"name": "address", "valueFrom": "a"}, {"name": "secret", "valueFrom": "b"}, {"name": "late", "valueFrom": "c"}]},
        {"name": "rest", "type": "step-group", "dependsOn": ["hold"], "subSteps": [{"name": "front", "type": "t"}]},
    ]});
    cluster.merge("core.oam.dev/v1beta1", "Application", "shop", json!({"spec": {"workflow": steps}})).await;
    let length = |list: &Value| list.as_array().map_or(0, Vec::len);
    let is_there =
        |found: &Value| length(&found["orders"]) == 3 && length(&found["steps"][0]["outputs"]) == 3;
    cluster.until(API, is_there).await;
    cluster
}

async fn stored(cluster: &Cluster) -> Value {
    cluster.json("/api/v1/namespaces/default/applications/shop").await.1["object"]["status"].take()
}

#[tokio::test]
async fn steps_have_outputs_and_what_can_be_ordered() {
    let cluster = cluster(Options::default()).await;
    let (status, found) = cluster.json(API).await;
    assert_eq!((status, &found["orders"]), (200, &json!(["resume", "terminate", "restart"])), "{found}");
    let hold = &found["steps"][0];
    assert_eq!((&hold["reason"], &hold["orders"]), (&json!("Suspend"), &json!(["resume"])), "{found}");
    assert_eq!(hold["outputs"][0], json!({"name": "address", "value": "http://a"}));
    assert_eq!(hold["outputs"][2], json!({"name": "late"}));
    assert_eq!(
        (&found["steps"][1]["dependsOn"], &found["steps"][2]["group"]),
        (&json!(["hold"]), &json!("rest"))
    );
    assert!(!found.to_string().contains(SECRET), "{found}");
    let (_, page) = cluster.text(PAGE).await;
    for words in ["http://a", "after hold", "--allow-changes", "not given", "(hidden)"] {
        assert!(page.contains(words), "{words}: {page}");
    }
    assert!(!page.contains("<form") && !page.contains(SECRET) && !page.contains("<script>"), "{page}");
}

#[tokio::test]
async fn a_console_that_only_reads_refuses_every_order() {
    let cluster = cluster(Options::default()).await;
    let before = stored(&cluster).await;
    let (status, said) = cluster.post(&format!("{API}/resume"), &[TOKEN], "").await;
    assert!(status == 403 && said.contains("--allow-changes"), "{said}");
    let form = format!("token={FORM}&order=resume&step=");
    assert_eq!(cluster.post(PAGE, &[FORM_TYPE], &form).await.0, 403);
    assert_eq!(stored(&cluster).await, before);
}

#[tokio::test]
async fn a_workflow_is_resumed_suspended_and_ended() {
    let cluster = cluster(that_changes()).await;
    let (status, said) = cluster.post(&format!("{API}/resume"), &[TOKEN], "").await;
    assert_eq!(status, 200, "{said}");
    let written: Value = serde_json::from_str(&said).unwrap();
    let run = &written["object"]["status"];
    assert_eq!(
        (&run["status"], &run["workflow"]["suspend"]),
        (&json!("runningWorkflow"), &json!(false)),
        "{said}"
    );
    let (status, said) = cluster.post(&format!("{API}/resume"), &[TOKEN], "").await;
    assert!(status == 409 && said.contains("the workflow is not suspended"), "{status} {said}");
    let (status, said) = cluster.post(&format!("{API}/suspend?step=hold"), &[TOKEN], "").await;
    assert_eq!(status, 200, "{said}");
    let (status, said) = cluster.post(&format!("{API}/suspend?step=front"), &[TOKEN], "").await;
    assert!(status == 409 && said.contains("can not find step front"), "{status} {said}");
    let (status, said) = cluster.post(&format!("{API}/terminate"), &[TOKEN], "").await;
    assert!(status == 200 && said.contains("\"terminated\":true"), "{said}");
    let (status, said) = cluster.post(&format!("{API}/restart"), &[TOKEN], "").await;
    let written: Value = serde_json::from_str(&said).unwrap();
    assert!(status == 200 && written["object"]["status"]["workflow"].is_null(), "{said}");
    let (status, said) = cluster.post(&format!("{API}/restart"), &[TOKEN], "").await;
    assert!(status == 409 && said.contains("has not begun"), "{status} {said}");
}

#[tokio::test]
async fn a_form_steers_and_leads_back_to_its_page() {
    let cluster = cluster(that_changes()).await;
    let (_, page) = cluster.text(PAGE).await;
    for words in ["Resume the workflow", "Resume step hold", "Terminate the workflow", "name=\"token\""] {
        assert!(page.contains(words), "{words}: {page}");
    }
    let form = format!("token={FORM}&order=resume&step=hold");
    let (status, said) = cluster.post(PAGE, &[FORM_TYPE], &form).await;
    assert!(status == 303 && said.contains(PAGE), "{status} {said}");
    cluster.until(API, |found| found["steps"][0]["phase"] == "running").await;
}

/// With a workflow that a user ended while its first step waited.
async fn ended() -> Cluster {
    let cluster = cluster(that_changes()).await;
    let (status, said) = cluster.post(&format!("{API}/terminate"), &[TOKEN], "").await;
    assert_eq!(status, 200, "{said}");
    cluster.until(API, |found| found["steps"][0]["orders"] == json!(["restart"])).await;
    cluster
}

#[tokio::test]
async fn a_workflow_begins_anew_at_a_step_that_failed() {
    let cluster = ended().await;
    let (status, said) = cluster.post(&format!("{API}/restart?step=hold"), &[TOKEN], "").await;
    assert_eq!(status, 200, "{said}");
    let written: Value = serde_json::from_str(&said).unwrap();
    let run = &written["object"]["status"]["workflow"];
    assert_eq!((&run["terminated"], &run["steps"]), (&json!(false), &Value::Null), "{said}");
    assert_eq!(written["object"]["status"]["status"], "runningWorkflow", "{said}");
    let values = cluster.get("v1", "ConfigMap", "values").await;
    let vars: Value = serde_json::from_str(values["data"]["vars"].as_str().unwrap()).unwrap();
    assert!(vars.get("address").is_none(), "what the step gave is forgotten: {vars}");
}

#[tokio::test]
async fn a_button_begins_a_workflow_anew_at_a_step() {
    let cluster = ended().await;
    let (_, page) = cluster.text(PAGE).await;
    assert!(page.contains("Restart from step hold") && !page.contains("from step front"), "{page}");
    let form = format!("token={FORM}&order=restart&step=hold");
    assert_eq!(cluster.post(PAGE, &[FORM_TYPE], &form).await.0, 303);
    cluster.until(API, |found| found["steps"][0]["phase"] == "").await;
}

#[tokio::test]
async fn the_steps_of_a_named_workflow_are_begun_at_too() {
    let cluster = ended().await;
    let steps = json!([{"name": "hold", "type": "suspend"}]);
    let workflow = json!({"apiVersion": "core.oam.dev/v1alpha1", "kind": "Workflow",
        "metadata": {"name": "slowly", "namespace": "default"}, "steps": steps});
    cluster.create(workflow).await;
    let named = json!({"spec": {"workflow": {"ref": "slowly", "steps": null}}});
    cluster.merge("core.oam.dev/v1beta1", "Application", "shop", named).await;
    cluster.until(API, |found| found["steps"][0]["outputs"] == json!([])).await;
    let (status, said) = cluster.post(&format!("{API}/restart?step=hold"), &[TOKEN], "").await;
    assert!(status == 200 && said.contains("\"steps\":[]"), "{said}");
}

#[tokio::test]
async fn orders_that_are_foreign_or_unknown_are_refused() {
    let cluster = cluster(that_changes()).await;
    let before = stored(&cluster).await;
    let resume = format!("{API}/resume");
    let site = ("origin", "http://evil.example:8080");
    for (path, headers, body, expected) in [
        (&*resume, vec![], "", 403),
        (&resume, vec![TOKEN, site], "", 403),
        (&resume, vec![TOKEN, ("sec-fetch-site", "cross-site")], "", 403),
        (PAGE, vec![FORM_TYPE], "order=resume", 403),
        (PAGE, vec![FORM_TYPE], "token=of-forms&order=resume&other=1", 400),
        (PAGE, vec![FORM_TYPE], "token=of-forms&order=delete", 404),
        (PAGE, vec![("content-type", "text/plain")], "token=of-forms&order=resume", 415),
        (&format!("{API}/delete"), vec![TOKEN], "", 404),
        (&format!("{API}/terminate?step=hold"), vec![TOKEN], "", 400),
        (&format!("{API}/restart?step=hold"), vec![TOKEN], "", 409),
        (&format!("{API}/restart?step=absent"), vec![TOKEN], "", 409),
        (&format!("{API}/resume?other=1"), vec![TOKEN], "", 400),
        (&resume.replace("shop", "absent"), vec![TOKEN], "", 404),
    ] {
        let (status, said) = cluster.post(path, &headers, body).await;
        assert_eq!(status, expected, "{path} {body}: {said}");
    }
    let got = cluster.ask(http::Method::GET, &resume, &cluster.session()).await;
    assert_eq!((got.status().as_u16(), &got.headers()["allow"]), (405, &"POST".parse().unwrap()));
    let anew = Request::post(&resume).header("host", HOST).header(TOKEN.0, TOKEN.1);
    assert_eq!(cluster.send(anew.body(String::new()).unwrap()).await.status(), 401, "without a session");
    assert_eq!(stored(&cluster).await, before);
}

#[tokio::test]
async fn a_workflow_that_only_applies_is_not_steered() {
    let mut cluster = Cluster::with_shop().await;
    cluster.serve(cluster.client(), that_changes()).await;
    cluster.until(API, |found| found["orders"] == json!(["restart"])).await;
    let (status, said) = cluster.post(&format!("{API}/resume"), &[TOKEN], "").await;
    assert!(status == 409 && said.contains("only applies components"), "{status} {said}");
}

/// A client whose patches the cluster answers with this code, the first few or all.
fn answering(cluster: &Cluster, code: u16, times: usize) -> Client {
    let service = cluster.service();
    let left = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(times));
    Client::new(
        tower::service_fn(move |request: Request<kube::client::Body>| {
            let (service, left) = (service.clone(), left.clone());
            async move {
                let is_patch = request.method() == http::Method::PATCH;
                let order = std::sync::atomic::Ordering::SeqCst;
                if !is_patch || left.fetch_update(order, order, |left| left.checked_sub(1)).is_err() {
                    let answer = service.oneshot(request).await?;
                    return Ok::<_, std::convert::Infallible>(answer.map(crate::cluster::boxed));
                }
                let said = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": code,
                    "message": "User \"a\" cannot patch resource \"applications/status\"", "reason": "Forbidden"});
                let body = http_body_util::Full::from(said.to_string());
                Ok(http::Response::builder().status(code).body(crate::cluster::boxed(body)).unwrap())
            }
        }),
        "default",
    )
}

#[tokio::test]
async fn a_refusal_of_the_cluster_names_the_missing_rule() {
    let mut cluster = cluster(that_changes()).await;
    cluster.serve(answering(&cluster, 403, usize::MAX), that_changes()).await;
    cluster.until(API, |found| found["orders"].is_array()).await;
    let (status, said) = cluster.post(&format!("{API}/resume"), &[TOKEN], "").await;
    assert_eq!(status, 403, "{said}");
    for words in ["cannot patch resource", "resources: [applications/status], verbs: [patch]"] {
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[tokio::test]
async fn a_conflict_is_tried_again_and_not_for_ever() {
    let mut cluster = cluster(that_changes()).await;
    cluster.serve(answering(&cluster, 409, 3), that_changes()).await;
    cluster.until(API, |found| found["orders"].is_array()).await;
    let (status, said) = cluster.post(&format!("{API}/resume"), &[TOKEN], "").await;
    assert_eq!(status, 200, "{said}");
    cluster.serve(answering(&cluster, 409, usize::MAX), that_changes()).await;
    cluster.until(API, |found| found["orders"].is_array()).await;
    let (status, said) = cluster.post(&format!("{API}/terminate"), &[TOKEN], "").await;
    assert!(status == 503 && said.contains("try again"), "{status} {said}");
}

#[tokio::test]
async fn values_that_change_meanwhile_are_read_again() {
    let mut cluster = ended().await;
    // The first patch is that of the values.
    for (times, expected) in [(1, 200), (usize::MAX, 503)] {
        cluster.serve(answering(&cluster, 409, times), that_changes()).await;
        cluster.until(API, |found| found["orders"].is_array()).await;
        let (status, said) = cluster.post(&format!("{API}/restart?step=hold"), &[TOKEN], "").await;
        assert_eq!(status, expected, "{said}");
        let again = json!({"workflow": {"terminated": true, "steps": [{"id": "a", "name": "hold", "type": "suspend", "phase": "failed"}]}});
        cluster.status("core.oam.dev/v1beta1", "Application", "shop", again).await;
        let vars = json!({"data": {"vars": r#"{"address": "http://a"}"#}});
        cluster.merge("v1", "ConfigMap", "values", vars).await;
    }
    cluster.serve(answering(&cluster, 403, usize::MAX), that_changes()).await;
    cluster.until(API, |found| found["orders"].is_array()).await;
    let (status, said) = cluster.post(&format!("{API}/restart?step=hold"), &[TOKEN], "").await;
    assert!(status == 403 && said.contains("resources: [configmaps], verbs: [patch]"), "{said}");
}
