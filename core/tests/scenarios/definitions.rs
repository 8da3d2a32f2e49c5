//! Definitions: their revisions, schemas and workload kinds, and applications that name a version or only a revision.

use serde_json::{Value, json};

use super::test_cluster::{TestCluster, application, until_or};

const OAM: &str = "core.oam.dev/v1beta1";

pub(super) fn note(text: &str) -> Value {
    let template = format!(
        "output: {{\n\tapiVersion: \"v1\"\n\tkind: \"ConfigMap\"\n\tdata: text: parameter.text + \"{text}\"\n}}\n\
         parameter: {{\n\t// +usage=What it says\n\ttext: string\n}}\n"
    );
    json!({
        "apiVersion": OAM,
        "kind": "ComponentDefinition",
        "metadata": {"name": "note"},
        "spec": {
            "workload": {"definition": {"apiVersion": "v1", "kind": "ConfigMap"}},
            "schematic": {"cue": {"template": template}},
        },
    })
}

fn says(name: &str, type_: &str) -> Value {
    json!({"name": name, "type": type_, "properties": {"text": "hello"}})
}

async fn latest(cluster: &TestCluster, name: &str) -> Value {
    let what = format!("{name} is the latest revision");
    let definition = until_or(
        &what,
        || cluster.get(OAM, "ComponentDefinition", "note"),
        |found| found.as_ref().unwrap()["status"]["latestRevision"]["name"] == name,
    );
    definition.await.unwrap()
}

/// A process that starts finds what the one before left, and writes nothing.
async fn restarts_without_a_write(cluster: &mut TestCluster) {
    cluster.settled().await;
    cluster.stop().await;
    cluster.requests();
    cluster.start();
    cluster.rested(1).await;
    cluster.settled().await;
    let writes: Vec<_> = cluster.all_writes();
    assert!(writes.is_empty(), "nothing changed: {writes:#?}");
}

#[tokio::test]
pub(super) async fn a_definition_gets_a_revision_a_schema_and_a_workload_kind() {
    let cluster = TestCluster::new().await;
    cluster.create(note("!")).await;
    let definition = latest(&cluster, "note-v1").await;
    assert_eq!(definition["status"]["configMapRef"], "schema-note");
    assert_eq!(definition["status"]["conditions"][0]["type"], "Synced");
    assert_eq!(definition["status"]["conditions"][0]["status"], "True");
    for name in ["schema-note", "schema-note-v1"] {
        let schema = cluster.get("v1", "ConfigMap", name).await.unwrap();
        assert_eq!(schema["metadata"]["labels"]["definition.oam.dev"], "schema");
        let schema: Value =
            serde_json::from_str(schema["data"]["openapi-v3-json-schema"].as_str().unwrap()).unwrap();
        assert_eq!(schema["properties"]["text"]["description"], "What it says");
    }
    let workload = cluster.get(OAM, "WorkloadDefinition", "note").await.unwrap();
    assert_eq!(workload["spec"]["definitionRef"]["name"], "configmaps");
    // What `spec.workload.type` names, for all types of that workload.
    let shared = cluster.get(OAM, "WorkloadDefinition", "configmaps").await.unwrap();
    assert_eq!(shared["spec"]["definitionRef"], json!({"name": "configmaps", "version": "v1"}));
    assert!(shared["metadata"]["ownerReferences"].is_null(), "{shared:#}");
    let revision = cluster.get(OAM, "DefinitionRevision", "note-v1").await.unwrap();
    assert_eq!(revision["metadata"]["labels"]["componentdefinition.oam.dev/name"], "note");
    assert_eq!(revision["spec"]["componentDefinition"]["spec"], definition["spec"]);
}

/// A request of a process that was killed may be carried out after the next process has looked.
#[tokio::test]
async fn a_revision_that_came_late_is_followed_by_another() {
    let cluster = TestCluster::new().await;
    cluster.create(note("!")).await;
    latest(&cluster, "note-v1").await;
    let mut late = cluster.get(OAM, "DefinitionRevision", "note-v1").await.unwrap();
    let owner = late["metadata"]["ownerReferences"].clone();
    late["metadata"] = json!({
        "name": "note-v2", "ownerReferences": owner,
        "labels": late["metadata"]["labels"], "namespace": late["metadata"]["namespace"],
    });
    late["spec"]["revision"] = json!(2);
    late["spec"]["revisionHash"] = json!("another");
    cluster.create(late).await;
    let definition = latest(&cluster, "note-v3").await;
    assert_eq!(definition["status"]["latestRevision"]["revision"], 3);
}

#[tokio::test]
async fn an_unjudged_definition_reports_its_mistakes() {
    let mut cluster = TestCluster::new().await;
    let mut broken = note("!");
    let template = "output: {\n\tapiVersion: \"v1\"\n\tkind: missing\n}\nparameter: {}\n";
    broken["spec"]["schematic"]["cue"]["template"] = json!(template);
    cluster.create(broken).await;
    let synced = |found: &Option<Value>| {
        let conditions = found.as_ref().unwrap()["status"]["conditions"].as_array().cloned();
        let synced = conditions.unwrap_or_default().into_iter().find(|one| one["type"] == "Synced");
        synced.unwrap_or_default()
    };
    let look = async |cluster: &TestCluster| cluster.get(OAM, "ComponentDefinition", "note").await;
    let definition =
        until_or("it is told", || look(&cluster), |found| synced(found)["status"] == "False").await;
    let message = synced(&definition)["message"].as_str().unwrap().to_owned();
    for words in ["missing", "\"note\" at 3:8"] {
        assert!(message.contains(words), "{words}: {message}");
    }
    // A start finds the same and writes nothing.
    cluster
        .create(application("shop", &[json!({"name": "c", "type": "settings", "properties": {"text": "x"}})]))
        .await;
    cluster.phase("shop", "running").await;
    restarts_without_a_write(&mut cluster).await;
    let spec = note("!")["spec"].clone();
    cluster.patch(OAM, "ComponentDefinition", "note", json!({"spec": spec})).await;
    until_or("it is mended", || look(&cluster), |found| synced(found)["status"] == "True").await;
    // A trait that makes nothing has no template to be wrong in.
    cluster
        .create(json!({
            "apiVersion": OAM, "kind": "TraitDefinition", "metadata": {"name": "nothing"},
            "spec": {"appliesToWorkloads": ["*"]},
        }))
        .await;
    until_or(
        "a trait that makes nothing is told",
        || cluster.get(OAM, "TraitDefinition", "nothing"),
        |found| found.as_ref().unwrap()["status"].to_string().contains("spec.definitionRef"),
    )
    .await;
}

#[tokio::test]
async fn a_new_version_wakes_only_the_applications_that_follow() {
    let mut cluster = TestCluster::new().await;
    cluster.create(note("!")).await;
    latest(&cluster, "note-v1").await;
    let mut shop = application("shop", &[says("old", "note@v1"), says("new", "note")]);
    shop["metadata"]["annotations"] = json!({"app.oam.dev/autoUpdate": "true"});
    cluster.create(shop).await;
    cluster.phase("shop", "running").await;
    let spec = note("?")["spec"].clone();
    cluster.patch(OAM, "ComponentDefinition", "note", json!({"spec": spec})).await;
    latest(&cluster, "note-v2").await;
    until_or(
        "the follower follows",
        || cluster.get("v1", "ConfigMap", "new"),
        |found| found.as_ref().unwrap()["data"]["text"] == "hello?",
    )
    .await;
    assert_eq!(cluster.get("v1", "ConfigMap", "old").await.unwrap()["data"]["text"], "hello!");
    cluster.phase("shop", "running").await;
    restarts_without_a_write(&mut cluster).await;
    cluster.create(application("lost", &[says("none", "note@v7")])).await;
    until_or(
        "a version that is not there is told",
        || cluster.application("lost"),
        |found| found["status"].to_string().contains("known versions: note@v2, note@v1"),
    )
    .await;
}

/// `spec.version` names the revision; `@v1` is the newest of its series and `@v1.0.0` for ever what it was.
#[tokio::test]
async fn an_application_names_a_semantic_version_or_a_series() {
    let cluster = TestCluster::new().await;
    let with_version = |version: &str, text: &str| {
        let mut definition = note(text);
        definition["spec"]["version"] = json!(version);
        definition
    };
    let text = async |cluster: &TestCluster, name: &str| {
        cluster.get("v1", "ConfigMap", name).await.map(|made| made["data"]["text"].clone())
    };
    cluster.create(with_version("1.0.0", " one")).await;
    latest(&cluster, "note-v1.0.0").await;
    let components = [says("exact", "note@v1.0.0"), says("series", "note@v1"), says("newest", "note")];
    let mut shop = application("shop", &components);
    shop["metadata"]["annotations"] = json!({"app.oam.dev/autoUpdate": "true"});
    cluster.create(shop).await;
    cluster.create(application("early", &[says("later", "note@v1.1")])).await;
    cluster.phase("shop", "running").await;
    until_or(
        "the application that is too early is told",
        || cluster.application("early"),
        |found| found["status"].to_string().contains("has no version"),
    )
    .await;
    for (version, what) in [("1.1.0", " two"), ("2.0.0", " three")] {
        let spec = with_version(version, what)["spec"].clone();
        cluster.patch(OAM, "ComponentDefinition", "note", json!({"spec": spec})).await;
        let definition = latest(&cluster, &format!("note-v{version}")).await;
        assert_eq!(definition["status"]["conditions"][0]["status"], "True", "{definition:#}");
    }
    for (name, wanted) in
        [("newest", "hello three"), ("series", "hello two"), ("later", "hello two"), ("exact", "hello one")]
    {
        until_or(name, || text(&cluster, name), |found| *found == Some(json!(wanted))).await;
    }
    // A version that was given out keeps its meaning, and the definition says so.
    let spec = with_version("2.0.0", " four")["spec"].clone();
    cluster.patch(OAM, "ComponentDefinition", "note", json!({"spec": spec})).await;
    until_or(
        "the version that means two things is told",
        || cluster.get(OAM, "ComponentDefinition", "note"),
        |found| found.as_ref().unwrap()["status"].to_string().contains("is kept with another content"),
    )
    .await;
    let kept = cluster.get(OAM, "DefinitionRevision", "note-v2.0.0").await.unwrap();
    assert!(kept.to_string().contains(" three"), "{kept:#}");
    let spec = with_version("2.0.1", " four")["spec"].clone();
    cluster.patch(OAM, "ComponentDefinition", "note", json!({"spec": spec})).await;
    let mended = latest(&cluster, "note-v2.0.1").await;
    assert_eq!(mended["status"]["latestRevision"]["revision"], 4, "{mended:#}");
}

/// Without the annotation an application stays with the version that its series meant when it was deployed; it follows or is
/// published, not both.
#[tokio::test]
async fn a_series_is_followed_only_by_who_asks_for_it() {
    let cluster = TestCluster::new().await;
    let version = |version: &str, text: &str| {
        let mut definition = note(text);
        definition["spec"]["version"] = json!(version);
        definition
    };
    cluster.create(version("1.0.0", " one")).await;
    latest(&cluster, "note-v1.0.0").await;
    cluster.create(application("shop", &[says("series", "note@v1")])).await;
    cluster.phase("shop", "running").await;
    let spec = version("1.1.0", " two")["spec"].clone();
    cluster.patch(OAM, "ComponentDefinition", "note", json!({"spec": spec})).await;
    latest(&cluster, "note-v1.1.0").await;
    until_or(
        "the application tells that there is a newer one",
        || cluster.application("shop"),
        |found| found["status"].to_string().contains("app.oam.dev/autoUpdate"),
    )
    .await;
    let text = || async { cluster.get("v1", "ConfigMap", "series").await.unwrap()["data"]["text"].clone() };
    assert_eq!(text().await, "hello one");
    let annotate = |annotations: Value| {
        cluster.patch(OAM, "Application", "shop", json!({"metadata": {"annotations": annotations}}))
    };
    annotate(json!({"app.oam.dev/autoUpdate": "true"})).await;
    until_or("it follows", text, |text| *text == json!("hello two")).await;
    annotate(json!({"app.oam.dev/publishVersion": "first"})).await;
    until_or(
        "both annotations are refused",
        || cluster.application("shop"),
        |found| found["status"].to_string().contains("expected one of both annotations"),
    )
    .await;
    assert_eq!(text().await, "hello two", "what runs is cared for");
    annotate(json!({"app.oam.dev/autoUpdate": null})).await;
    cluster.phase("shop", "running").await;
}

/// A trait whose kind asks for its workload is told which one, as KubeVela tells it: without, its schema refuses it.
#[tokio::test]
async fn a_trait_of_an_application_is_told_its_workload_ref() {
    let cluster = TestCluster::new().await;
    let template = |made: &str, parameter: &str| json!({"cue": {"template": format!("{made}\nparameter: {{{parameter}}}\n")}});
    let server = "output: {apiVersion: \"apps/v1\", kind: \"Deployment\", spec: {selector: matchLabels: app: context.name, template: {\
         metadata: labels: app: context.name, spec: containers: [{name: \"c\", image: \"nginx:1\"}]}}}";
    let size = "outputs: scaler: {apiVersion: \"core.oam.dev/v1alpha2\", kind: \"ManualScalerTrait\", spec: replicaCount: parameter.count}";
    cluster
        .create(json!({
            "apiVersion": OAM, "kind": "ComponentDefinition", "metadata": {"name": "server"},
            "spec": {"workload": {"definition": {"apiVersion": "apps/v1", "kind": "Deployment"}}, "schematic": template(server, "")},
        }))
        .await;
    cluster
        .create(json!({
            "apiVersion": OAM, "kind": "TraitDefinition", "metadata": {"name": "size"},
            "spec": {"workloadRefPath": "spec.workloadRef", "schematic": template(size, "count: int")},
        }))
        .await;
    let front =
        json!({"name": "front", "type": "server", "traits": [{"type": "size", "properties": {"count": 3}}]});
    cluster.create(application("shop", &[front])).await;
    cluster.phase("shop", "running").await;
    let shop = cluster.application("shop").await;
    let applied = shop["status"]["appliedResources"].as_array().unwrap();
    let scaler = applied.iter().find(|one| one["kind"] == "ManualScalerTrait").unwrap();
    let name = scaler["name"].as_str().unwrap();
    let made = cluster.get("core.oam.dev/v1alpha2", "ManualScalerTrait", name).await.unwrap();
    let reference = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "front"});
    assert_eq!(made["spec"]["workloadRef"], reference);
}

/// A definition of a step or a policy has revisions, too.
#[tokio::test]
pub(super) async fn definitions_of_steps_and_policies_get_revisions() {
    let cluster = TestCluster::new().await;
    let template = "import \"vela/op\"\nsay: op.#Log & {data: parameter.text}\nparameter: text: string\n";
    for (kind, label, field) in [
        ("WorkflowStepDefinition", "workflowstepdefinition.oam.dev/name", "workflowStepDefinition"),
        ("PolicyDefinition", "policydefinition.oam.dev/name", "policyDefinition"),
    ] {
        let name = field.to_lowercase();
        cluster
            .create(json!({
                "apiVersion": OAM, "kind": kind, "metadata": {"name": name},
                "spec": {"schematic": {"cue": {"template": template}}, "version": "0.1.0"},
            }))
            .await;
        let recorded = until_or(
            kind,
            || cluster.get(OAM, kind, &name),
            |found| found.as_ref().unwrap()["status"]["conditions"][0]["status"] == "True",
        )
        .await
        .unwrap();
        assert_eq!(recorded["status"]["latestRevision"]["name"], format!("{name}-v0.1.0"));
        let revision = cluster.get(OAM, "DefinitionRevision", &format!("{name}-v0.1.0")).await.unwrap();
        assert_eq!(revision["metadata"]["labels"][label], name.as_str());
        assert_eq!(revision["spec"][field]["spec"], recorded["spec"]);
    }
}

#[tokio::test]
async fn an_application_that_only_records_deploys_nothing() {
    let cluster = TestCluster::new().await;
    let marks = [("app.oam.dev/revision-only", "true"), ("app.oam.dev/rollout-template", "false")];
    for (index, (annotation, value)) in marks.into_iter().enumerate() {
        let name = format!("shop{index}");
        let component = json!({"name": format!("c{index}"), "type": "settings", "properties": {"text": "x"}});
        let mut recorded = application(&name, &[component]);
        recorded["metadata"]["annotations"] = json!({annotation: value});
        cluster.create(recorded).await;
        cluster.phase(&name, "running").await;
        let revision = cluster.get(OAM, "ApplicationRevision", &format!("{name}-v1")).await.unwrap();
        assert_eq!(revision["metadata"]["annotations"][annotation], value);
        assert!(cluster.get("v1", "ConfigMap", &format!("c{index}")).await.is_none());
        // With the mark gone it deploys.
        let gone = json!({"metadata": {"annotations": {annotation: Value::Null}}});
        cluster.patch(OAM, "Application", &name, gone).await;
        let made = format!("c{index}");
        until_or("it is deployed", || cluster.get("v1", "ConfigMap", &made), |found| found.is_some()).await;
    }
}

#[tokio::test]
async fn a_rollout_plan_is_checked_and_does_not_stop_the_application() {
    let cluster = TestCluster::new().await;
    let component = json!({"name": "c", "type": "settings", "properties": {"text": "x"}});
    let mut shop = application("shop", &[component]);
    shop["spec"]["rolloutPlan"] = json!({"rolloutStrategy": "Slowly", "rolloutBatches": [{"replicas": 1}]});
    cluster.create(shop).await;
    until_or(
        "the mistake is told with its place",
        || cluster.application("shop"),
        |found| found["status"].to_string().contains("spec.rolloutPlan.rolloutStrategy"),
    )
    .await;
    cluster
        .patch(
            OAM,
            "Application",
            "shop",
            json!({"spec": {"rolloutPlan": {"rolloutStrategy": "IncreaseFirst"}}}),
        )
        .await;
    cluster.phase("shop", "running").await;
}
