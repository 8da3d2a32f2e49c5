//! Follows the Deployments of a cluster by a watch, and holds every moment of their pods to a bound.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::{Arc, Mutex};

use futures::StreamExt as _;
use kube::api::{Api, DynamicObject, ListParams, WatchEvent, WatchParams};
use serde_json::Value;
use tokio::task::JoinHandle;

/// The fewest ready and the most wanted pods of one moment; nothing before the first is seen.
type Extremes = Arc<Mutex<Option<(i64, i64)>>>;

/// Sees every change of the Deployments as long as it lives.
pub(super) struct PodBounds {
    extremes: Extremes,
    task: JoinHandle<()>,
}

impl PodBounds {
    pub(super) fn follow(api: Api<DynamicObject>) -> Self {
        let extremes = Extremes::default();
        let task = tokio::spawn(follow(api, extremes.clone()));
        Self { extremes, task }
    }

    /// There was no moment with fewer ready or more wanted pods.
    #[track_caller]
    pub(super) fn assert_held(&self, ready_at_least: i64, wanted_at_most: i64) {
        assert!(!self.task.is_finished(), "the pods were not followed to the end");
        let (ready, wanted) = self.extremes.lock().unwrap().unwrap();
        assert!(ready >= ready_at_least, "{ready} pods were ready");
        assert!(wanted <= wanted_at_most, "{wanted} pods were wanted");
    }
}

impl Drop for PodBounds {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn follow(api: Api<DynamicObject>, extremes: Extremes) {
    // A watch that the server ends begins anew with a list.
    loop {
        let all = api.list(&ListParams::default()).await.unwrap();
        let version = all.metadata.resource_version.clone().unwrap();
        let mut pods: BTreeMap<String, (i64, i64)> = all.iter().map(counted).collect();
        note(&pods, &extremes);
        let mut changes = pin!(api.watch(&WatchParams::default(), &version).await.unwrap());
        while let Some(Ok(change)) = changes.next().await {
            match change {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                    let (name, count) = counted(&object);
                    pods.insert(name, count);
                }
                WatchEvent::Deleted(object) => {
                    pods.remove(&counted(&object).0);
                }
                WatchEvent::Bookmark(_) => {}
                WatchEvent::Error(_) => break,
            }
            note(&pods, &extremes);
        }
    }
}

/// A Deployment's name, its ready pods and those it wants. One that waits for its rollout makes none, whatever it wants.
fn counted(deployment: &DynamicObject) -> (String, (i64, i64)) {
    let number = |value: &Value| value.as_i64().unwrap_or(0);
    let (spec, status) = (&deployment.data["spec"], &deployment.data["status"]);
    let wanted = if spec["paused"] == true { &status["replicas"] } else { &spec["replicas"] };
    (deployment.metadata.name.clone().unwrap(), (number(&status["readyReplicas"]), number(wanted)))
}

fn note(pods: &BTreeMap<String, (i64, i64)>, extremes: &Extremes) {
    let ready = pods.values().map(|(ready, _)| ready).sum();
    let wanted = pods.values().map(|(_, wanted)| wanted).sum();
    let mut extremes = extremes.lock().unwrap();
    let (fewest, most) = extremes.unwrap_or((ready, wanted));
    *extremes = Some((fewest.min(ready), most.max(wanted)));
}
