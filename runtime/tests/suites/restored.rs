//! A server that is restored from a backup under running watches: versions go back, and the stores follow.

use std::sync::{Arc, Mutex};

use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};
use vela_apiserver::{ApiServer, Clock};
use vela_runtime::cache::Watch;
use vela_runtime::fault::SwitchableService;
use vela_runtime::{Cache, Key};

use super::cluster::{api, config_map, config_maps, create, until};

/// Writes after the backup: further than the test writes after the restore.
const WRITES: usize = 50;

async fn write(client: &kube::Client, name: &str, data: Value) -> u64 {
    let patch = Patch::Merge(json!({"data": data}));
    let written = api(client).patch(name, &PatchParams::default(), &patch).await.unwrap();
    written.metadata.resource_version.unwrap().parse().unwrap()
}

#[tokio::test]
async fn copies_follow_a_server_that_was_set_back() {
    let server = ApiServer::builder().build().unwrap();
    let door = SwitchableService::new(server.service());
    let client = kube::Client::new(door.clone(), "default");
    create(&client, &config_map("stays", json!({"x": "1"}))).await;
    create(&client, &config_map("goes", json!({}))).await;
    let cache = Cache::new(client.clone());
    let informer = cache.informer(Watch::full(config_maps()));
    let changes = Arc::<Mutex<Vec<String>>>::default();
    let sink = changes.clone();
    informer.on_change(Arc::new(move |change| {
        let name = change.object().and_then(|object| object.metadata.name.clone()).unwrap();
        let data = change.new.as_ref().map(|new| new.data["data"]["x"].clone());
        sink.lock().unwrap().push(format!("{name} {}", data.unwrap_or_else(|| json!("gone"))));
    }));
    informer.synced().await.unwrap();
    let backup = server.fork(Clock::system());
    api(&client).delete("goes", &DeleteParams::default()).await.unwrap();
    create(&client, &config_map("late", json!({}))).await;
    let mut reached = 0;
    for number in 0..WRITES {
        reached = write(&client, "stays", json!({"x": (number + 2).to_string()})).await;
    }
    let last = format!("stays {}", json!((WRITES + 1).to_string()));
    until("the last write is told", || changes.lock().unwrap().last() == Some(&last)).await;
    changes.lock().unwrap().clear();
    // The server ends, and another one stands in its place, which has what was backed up.
    door.switch_to(backup.service());
    server.shutdown().await;
    let x = |name: &str| informer.get(&Key::new("default", name)).map(|copy| copy.data["data"]["x"].clone());
    until("the store is as the backup", || x("stays") == Some(json!("1"))).await;
    assert!(x("goes").is_some() && x("late").is_none());
    assert_eq!(
        *changes.lock().unwrap(),
        ["goes null", "stays \"1\"", "late \"gone\""],
        "handlers are told of everything that is another now"
    );
    changes.lock().unwrap().clear();
    let now = write(&client, "stays", json!({"x": "3"})).await;
    assert!(now < reached, "version {now} has passed {reached} already: nothing is shown");
    until("what changes from now on is told", || !changes.lock().unwrap().is_empty()).await;
    assert_eq!(*changes.lock().unwrap(), ["stays \"3\""]);
    cache.stop().await;
}
