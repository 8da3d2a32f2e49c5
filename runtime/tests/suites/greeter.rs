//! The example of the crate, on an API server in process.

use std::sync::Arc;

use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::json;
use tokio_util::sync::CancellationToken;
use vela_runtime::cache::{Watch, version_of};
use vela_runtime::{Cache, Informer, Key, Manager};

use super::cluster::{api, client, config_map, config_maps, create, until};

// Its `main` is called by people only.
#[allow(dead_code)]
#[path = "../../examples/greeter.rs"]
mod example;

fn text(greetings: &Informer) -> Option<String> {
    let greeting = greetings.get(&Key::new("default", "a-greeting"))?;
    greeting.data["data"]["text"].as_str().map(str::to_owned)
}

#[tokio::test]
async fn the_example_greets_and_mends_what_others_change() {
    let client = client();
    let cache = Cache::new(client.clone());
    let greetings: Arc<Informer> = cache.informer(Watch::full(config_maps()).labelled("greeting"));
    let stop = CancellationToken::new();
    let controller = example::controller(&client, &cache);
    let task = tokio::spawn(Manager::new(client.clone(), cache).with(controller).run(stop.clone()));
    let mut asking = config_map("a", json!({"name": "reader"}));
    asking.metadata.labels = Some([("greet".to_owned(), String::new())].into());
    create(&client, &asking).await;
    create(&client, &config_map("b", json!({}))).await;
    until("a greeting was written", || text(&greetings).as_deref() == Some("Hello, reader!")).await;

    let patch = |data| Patch::Merge(json!({"data": data}));
    api(&client).patch("a", &PatchParams::default(), &patch(json!({"name": "writer"}))).await.unwrap();
    until("it follows its owner", || text(&greetings).as_deref() == Some("Hello, writer!")).await;
    let theirs = patch(json!({"text": "Go away!"}));
    let changed = api(&client).patch("a-greeting", &PatchParams::default(), &theirs).await.unwrap();
    let key = Key::of(&changed);
    let mended = || {
        greetings.get(&key).is_some_and(|now| version_of(&now) > version_of(&changed))
            && text(&greetings).as_deref() == Some("Hello, writer!")
    };
    until("it was mended", mended).await;
    api(&client).delete("a-greeting", &DeleteParams::default()).await.unwrap();
    let another = || greetings.get(&key).is_some_and(|now| now.metadata.uid != changed.metadata.uid);
    until("it was written again", another).await;
    assert!(api(&client).get_opt("b-greeting").await.unwrap().is_none(), "no object asked for one");
    stop.cancel();
    task.await.unwrap().unwrap();
}
