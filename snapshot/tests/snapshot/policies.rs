//! Policies that change applications, as every reader of a cluster finds them.

use kube::Client;
use serde_json::{Value, json};
use vela_apiserver::ApiServer;
use vela_engine::{Document, Snapshot};
use vela_runtime::Discovery;
use vela_snapshot::{Live, Namespaces, PolicyScopes, Reader};

use crate::cluster::{TEAM, create, kinds, readers};

fn application(name: &str, annotations: &Value) -> Document {
    Document::from_object(json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": "Application",
        "metadata": {"name": name, "namespace": TEAM, "annotations": annotations},
        "spec": {"components": [{"name": "web", "type": "note"}]},
    }))
}

/// What the policy wrote onto the application.
fn audit(snapshot: &Snapshot) -> Option<String> {
    let left = snapshot.transformed_application()?.document().value();
    left["metadata"]["annotations"]["audit"].as_str().map(str::to_owned)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_reader_lets_the_nearest_global_policy_act() {
    let readers = readers().await;
    let audited = application("audited", &json!({}));
    let made = [
        readers.live.application(TEAM, &audited).await.unwrap(),
        readers.webhooks.application(TEAM, &audited).await.unwrap(),
        readers.controllers.application(TEAM, &audited).await.unwrap(),
        readers.command.application(TEAM, &audited).await.unwrap(),
    ];
    assert!(made.iter().all(|other| *other == made[0]), "{made:#?}");
    assert_eq!(audit(&made[0]).as_deref(), Some("the team's"));
    let elsewhere = readers.live.application("others", &audited).await.unwrap();
    assert_eq!(audit(&elsewhere).as_deref(), Some("shared"));

    let other = readers.live.application(TEAM, &application("other", &json!({}))).await.unwrap();
    assert_eq!(audit(&other), None, "its template does not act on it");
    let skips = application("audited", &json!({"policy.oam.dev/skip-global": "true"}));
    assert_eq!(readers.live.application(TEAM, &skips).await.unwrap().transformed_application(), None);
    for off in
        [PolicyScopes { application: true, global: false }, PolicyScopes { application: false, global: true }]
    {
        let reader = readers.live.clone().with_policies(off);
        assert_eq!(
            reader.application(TEAM, &audited).await.unwrap().transformed_application(),
            None,
            "{off:?}"
        );
    }
}

#[tokio::test]
async fn a_cluster_without_policy_definitions_has_no_global_ones() {
    let server = ApiServer::builder().build().unwrap();
    let client = Client::new(server.service(), "default");
    let discovery = Discovery::new(client.clone());
    let mut older = kinds();
    older.retain(|crd| crd["spec"]["names"]["kind"] != "PolicyDefinition");
    create(&client, &discovery, older).await;
    let reader = Reader::new(Live::new(client, discovery), Namespaces::default());
    let snapshot = reader.application(TEAM, &application("audited", &json!({}))).await.unwrap();
    assert_eq!(snapshot.transformed_application(), None);
}
