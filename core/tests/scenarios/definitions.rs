//! Definitions: their revisions, schemas and workload kinds, and applications that name a version or only a revision.

use serde_json::{Value, json};

use super::world::{World, application, until_or};

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

async fn latest(world: &World, name: &str) -> Value {
    let what = format!("{name} is the latest revision");
    let definition = until_or(
        &what,
        || world.get(OAM, "ComponentDefinition", "note"),
        |found| found.as_ref().unwrap()["status"]["latestRevision"]["name"] == name,
    );
    definition.await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
pub(super) async fn a_definition_gets_a_revision_a_schema_and_a_workload_kind() {
    let world = World::new().await;
    world.create(note("!")).await;
    let definition = latest(&world, "note-v1").await;
    assert_eq!(definition["status"]["configMapRef"], "schema-note");
    assert_eq!(definition["status"]["conditions"][0]["type"], "Synced");
    assert_eq!(definition["status"]["conditions"][0]["status"], "True");
    for name in ["schema-note", "schema-note-v1"] {
        let schema = world.get("v1", "ConfigMap", name).await.unwrap();
        assert_eq!(schema["metadata"]["labels"]["definition.oam.dev"], "schema");
        let schema: Value =
            serde_json::from_str(schema["data"]["openapi-v3-json-schema"].as_str().unwrap()).unwrap();
        assert_eq!(schema["properties"]["text"]["description"], "What it says");
    }
    let workload = world.get(OAM, "WorkloadDefinition", "note").await.unwrap();
    assert_eq!(workload["spec"]["definitionRef"]["name"], "configmaps");
    let revision = world.get(OAM, "DefinitionRevision", "note-v1").await.unwrap();
    assert_eq!(revision["metadata"]["labels"]["componentdefinition.oam.dev/name"], "note");
    assert_eq!(revision["spec"]["componentDefinition"]["spec"], definition["spec"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_definition_that_nobody_judged_tells_what_is_wrong_with_it() {
    let mut world = World::new().await;
    let mut broken = note("!");
    let template = "output: {\n\tapiVersion: \"v1\"\n\tkind: missing\n}\nparameter: {}\n";
    broken["spec"]["schematic"]["cue"]["template"] = json!(template);
    world.create(broken).await;
    let synced = |found: &Option<Value>| {
        let conditions = found.as_ref().unwrap()["status"]["conditions"].as_array().cloned();
        let synced = conditions.unwrap_or_default().into_iter().find(|one| one["type"] == "Synced");
        synced.unwrap_or_default()
    };
    let look = async |world: &World| world.get(OAM, "ComponentDefinition", "note").await;
    let told = until_or("it is told", || look(&world), |found| synced(found)["status"] == "False").await;
    let message = synced(&told)["message"].as_str().unwrap().to_owned();
    for words in ["missing", "\"note\" at 3:8"] {
        assert!(message.contains(words), "{words}: {message}");
    }
    // A start finds the same and writes nothing.
    world
        .create(application("shop", &[json!({"name": "c", "type": "settings", "properties": {"text": "x"}})]))
        .await;
    world.phase("shop", "running").await;
    world.settled().await;
    world.stop().await;
    world.requests();
    world.start();
    world.rested(1).await;
    world.settled().await;
    let writes: Vec<_> = world.all_writes();
    assert!(writes.is_empty(), "nothing changed: {writes:#?}");
    let spec = note("!")["spec"].clone();
    world.patch(OAM, "ComponentDefinition", "note", json!({"spec": spec})).await;
    until_or("it is mended", || look(&world), |found| synced(found)["status"] == "True").await;
    // A trait that makes nothing has no template to be wrong in.
    world
        .create(json!({
            "apiVersion": OAM, "kind": "TraitDefinition", "metadata": {"name": "nothing"},
            "spec": {"appliesToWorkloads": ["*"]},
        }))
        .await;
    until_or(
        "a trait that makes nothing is told",
        || world.get(OAM, "TraitDefinition", "nothing"),
        |found| found.as_ref().unwrap()["status"].to_string().contains("spec.definitionRef"),
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_application_may_name_a_version_and_a_new_one_wakes_only_who_follows() {
    let mut world = World::new().await;
    world.create(note("!")).await;
    latest(&world, "note-v1").await;
    let mut shop = application("shop", &[says("old", "note@v1"), says("new", "note")]);
    shop["metadata"]["annotations"] = json!({"app.oam.dev/autoUpdate": "true"});
    world.create(shop).await;
    world.phase("shop", "running").await;
    let spec = note("?")["spec"].clone();
    world.patch(OAM, "ComponentDefinition", "note", json!({"spec": spec})).await;
    latest(&world, "note-v2").await;
    until_or(
        "the follower follows",
        || world.get("v1", "ConfigMap", "new"),
        |found| found.as_ref().unwrap()["data"]["text"] == "hello?",
    )
    .await;
    assert_eq!(world.get("v1", "ConfigMap", "old").await.unwrap()["data"]["text"], "hello!");
    world.phase("shop", "running").await;
    world.settled().await;
    world.stop().await;
    world.requests();
    world.start();
    world.rested(1).await;
    world.settled().await;
    let writes: Vec<_> = world.all_writes();
    assert!(writes.is_empty(), "nothing changed: {writes:#?}");
    world.create(application("lost", &[says("none", "note@v7")])).await;
    until_or(
        "a version that is not there is told",
        || world.application("lost"),
        |found| found["status"].to_string().contains("note@v7"),
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_application_that_only_records_deploys_nothing() {
    let world = World::new().await;
    let marks = [("app.oam.dev/revision-only", "true"), ("app.oam.dev/rollout-template", "false")];
    for (index, (annotation, value)) in marks.into_iter().enumerate() {
        let name = format!("shop{index}");
        let component = json!({"name": format!("c{index}"), "type": "settings", "properties": {"text": "x"}});
        let mut recorded = application(&name, &[component]);
        recorded["metadata"]["annotations"] = json!({annotation: value});
        world.create(recorded).await;
        world.phase(&name, "running").await;
        let revision = world.get(OAM, "ApplicationRevision", &format!("{name}-v1")).await.unwrap();
        assert_eq!(revision["metadata"]["annotations"][annotation], value);
        assert!(world.get("v1", "ConfigMap", &format!("c{index}")).await.is_none());
        // With the mark gone it deploys.
        let gone = json!({"metadata": {"annotations": {annotation: Value::Null}}});
        world.patch(OAM, "Application", &name, gone).await;
        let made = format!("c{index}");
        until_or("it is deployed", || world.get("v1", "ConfigMap", &made), |found| found.is_some()).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rollout_plan_is_checked_and_does_not_stop_the_application() {
    let world = World::new().await;
    let component = json!({"name": "c", "type": "settings", "properties": {"text": "x"}});
    let mut shop = application("shop", &[component]);
    shop["spec"]["rolloutPlan"] = json!({"rolloutStrategy": "Slowly", "rolloutBatches": [{"replicas": 1}]});
    world.create(shop).await;
    until_or(
        "the mistake is told with its place",
        || world.application("shop"),
        |found| found["status"].to_string().contains("spec.rolloutPlan.rolloutStrategy"),
    )
    .await;
    world
        .patch(
            OAM,
            "Application",
            "shop",
            json!({"spec": {"rolloutPlan": {"rolloutStrategy": "IncreaseFirst"}}}),
        )
        .await;
    world.phase("shop", "running").await;
}
