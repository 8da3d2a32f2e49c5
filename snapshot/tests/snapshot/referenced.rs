//! Objects that components refer to: what each way to read a cluster tells of them, and what none tells.

use serde_json::{Value, json};
use vela_engine::reference::Referenced;
use vela_engine::{Bounds, Document, Snapshot, parse};

use super::cluster::{Readers, TEAM, readers};

fn application(objects: &Value) -> Document {
    Document::from_object(json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": "Application", "metadata": {"name": "shop", "namespace": TEAM},
        "spec": {"components": [{"name": "note", "type": "ref-objects", "properties": {"objects": objects}}]},
    }))
}

/// What a snapshot has of the only reference of an application.
fn found(snapshot: &Snapshot, application: &Document) -> Option<Referenced> {
    let asked = parse::referenced(application, Bounds::NONE);
    asked.iter().next().and_then(|reference| snapshot.referenced(reference)).cloned()
}

async fn read(readers: &Readers, objects: &Value) -> Referenced {
    let application = application(objects);
    let snapshots = [
        readers.live.application(TEAM, &application).await.unwrap(),
        readers.webhooks.application(TEAM, &application).await.unwrap(),
        readers.command.application(TEAM, &application).await.unwrap(),
    ];
    assert!(snapshots.iter().all(|other| *other == snapshots[0]), "{snapshots:#?}");
    found(&snapshots[0], &application).unwrap()
}

#[tokio::test]
async fn references_lead_to_the_objects_of_the_cluster() {
    let readers = readers().await;
    for (objects, expected) in [
        // The definition of that name, by every name of its kind.
        (json!([{"resource": "componentdefinition"}]), Some("note")),
        (json!([{"resource": "componentdefinitions", "group": "core.oam.dev"}]), Some("note")),
        (
            json!([{"apiVersion": "core.oam.dev/v1beta1", "kind": "ComponentDefinition", "name": "everywhere"}]),
            Some("everywhere"),
        ),
        (json!([{"resource": "namespace", "name": TEAM}]), Some(TEAM)),
        (json!([{"resource": "configmap"}]), None),
        (json!([{"resource": "configmap", "labelSelector": {"a": "b"}}]), None),
    ] {
        let Referenced::Objects(found) = read(&readers, &objects).await else { panic!("{objects}") };
        let names: Vec<&str> = found.iter().filter_map(|one| one["metadata"]["name"].as_str()).collect();
        assert_eq!(names, expected.into_iter().collect::<Vec<_>>(), "{objects}");
    }
}

#[tokio::test]
async fn a_preview_reads_no_secret_and_no_unknown_kind() {
    let readers = readers().await;
    for resource in ["secret", "secrets", "Secret"] {
        assert_eq!(read(&readers, &json!([{"resource": resource}])).await, Referenced::Withheld);
    }
    for unknown in [
        json!([{"resource": "flower"}]),
        json!([{"resource": "deployment", "group": "flowers.example.com"}]),
        json!([{"apiVersion": "flowers.example.com/v1", "kind": "Rose"}]),
    ] {
        assert_eq!(read(&readers, &unknown).await, Referenced::UnknownKind, "{unknown}");
    }
}

#[tokio::test]
async fn bounds_and_a_foreign_account_hold_references_back() {
    let readers = readers().await;
    let note = application(&json!([{"resource": "componentdefinition"}]));
    let bounded = readers.live.clone().within(Bounds::SAFE);
    let whole_cluster = application(&json!([{"resource": "namespace", "name": TEAM}]));
    let snapshot = bounded.application(TEAM, &whole_cluster).await.unwrap();
    let Some(Referenced::Refused(message, _)) = found(&snapshot, &whole_cluster) else {
        panic!("{snapshot:#?}")
    };
    assert!(message.contains("Namespace team"), "{message}");
    let elsewhere = application(&json!([{"resource": "componentdefinition", "namespace": "platform"}]));
    let snapshot = bounded.application(TEAM, &elsewhere).await.unwrap();
    assert_eq!(found(&snapshot, &elsewhere), None, "it is not asked for");
    let foreign = readers.live.clone().without_referenced();
    let snapshot = foreign.application(TEAM, &note).await.unwrap();
    assert_eq!(found(&snapshot, &note), None);
}
