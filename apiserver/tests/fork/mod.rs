//! A fork of a server holds the same objects and goes its own way; controllers by hand work only when told to.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ListParams, PostParams};
use kube::{Client, ResourceExt};
use serde_json::json;
use vela_apiserver::{ApiServer, Clock};

use crate::verbs::config_map;

fn maps(server: &ApiServer) -> Api<ConfigMap> {
    Api::default_namespaced(Client::new(server.service(), "default"))
}

async fn names(server: &ApiServer) -> Vec<String> {
    let list = maps(server).list(&ListParams::default()).await.expect("listed");
    list.items.iter().map(ResourceExt::name_any).collect()
}

#[tokio::test]
async fn a_fork_and_its_origin_do_not_see_each_other() {
    let origin = ApiServer::builder().build().expect("a server");
    maps(&origin).create(&PostParams::default(), &config_map("both", "1")).await.expect("created");
    let fork = origin.fork(Clock::system());
    assert_eq!(fork.store().revision(), origin.store().revision());
    maps(&fork).create(&PostParams::default(), &config_map("fork", "1")).await.expect("created");
    maps(&origin).create(&PostParams::default(), &config_map("origin", "1")).await.expect("created");
    assert_eq!(names(&origin).await, ["both", "origin"]);
    assert_eq!(names(&fork).await, ["both", "fork"]);
    let both =
        |server: &ApiServer| server.store().find("configmaps", "default", "both").map(|e| e.revision());
    assert_eq!(both(&fork), both(&origin));
}

#[tokio::test]
async fn workloads_move_only_when_told_to() {
    let server = ApiServer::builder().build().expect("a server");
    let deployment: Deployment = serde_json::from_value(json!({
        "metadata": {"name": "web"},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "main", "image": "nginx"}]},
            },
        },
    }))
    .expect("a deployment");
    let api: Api<Deployment> = Api::default_namespaced(Client::new(server.service(), "default"));
    api.create(&PostParams::default(), &deployment).await.expect("created");
    let ready = || async {
        api.get("web").await.expect("there").status.and_then(|status| status.ready_replicas).unwrap_or(0)
    };
    tokio::task::yield_now().await;
    assert_eq!(ready().await, 0);
    let mut controllers = server.manual_controllers();
    for _ in 0..20 {
        controllers.turn();
    }
    assert_eq!(ready().await, 1);
}
