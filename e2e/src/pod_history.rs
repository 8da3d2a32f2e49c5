//! Follows the pods of a namespace in the order in which the API server reports them, and holds every moment to a
//! bound.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::runtime::watcher::{self, Event};

use crate::Result;
use crate::objects::Cluster;

/// More breaches of a bound help no reader.
const BREACHES_AT_MOST: usize = 10;

/// Pods of one moment. Those that are on their way out do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Those that serve.
    pub ready: usize,
    /// All.
    pub total: usize,
}

/// The promises of every moment.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    /// So many pods serve.
    pub ready_at_least: usize,
    /// There are not more.
    pub total_at_most: usize,
}

#[derive(Default)]
struct Seen {
    /// By name: does it serve?
    pods: BTreeMap<String, bool>,
    /// What a list that is under way has told so far.
    listed: BTreeMap<String, bool>,
    is_known: bool,
    bound: Option<Bound>,
    moments: usize,
    fewest: usize,
    most: usize,
    breaches: Vec<String>,
}

/// Follows the pods of a namespace as long as it lives.
pub struct PodHistory {
    seen: Arc<Mutex<Seen>>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for PodHistory {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn lock(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

impl PodHistory {
    /// From now on.
    pub fn follow(cluster: &Cluster) -> Self {
        let seen = Arc::default();
        let task = tokio::spawn(follow(cluster.clone(), Arc::clone(&seen)));
        Self { seen, task }
    }

    /// The API server was started again, and is found elsewhere.
    pub fn again(&mut self, cluster: &Cluster) {
        self.task.abort();
        self.task = tokio::spawn(follow(cluster.clone(), Arc::clone(&self.seen)));
    }

    /// The newest moment.
    pub fn now(&self) -> Count {
        count(&lock(&self.seen))
    }

    /// From now on this must hold, beginning with the moment that is.
    pub fn must(&self, bound: Bound) {
        let mut seen = lock(&self.seen);
        let Count { ready, total } = count(&seen);
        (seen.bound, seen.moments, seen.fewest, seen.most) = (Some(bound), 0, ready, total);
        judge(&mut seen);
    }

    /// From now on anything may be. Tells how it was; an error if the bound was broken, or nothing ever moved.
    pub fn check_bound(&self) -> Result<String> {
        let mut seen = lock(&self.seen);
        seen.bound = None;
        let breaches = std::mem::take(&mut seen.breaches);
        if !breaches.is_empty() {
            return Err(format!("pods: {}", breaches.join("; ")).into());
        }
        if seen.moments < 2 {
            return Err("no pod moved while the bound should hold: nothing was shown".into());
        }
        let (moments, fewest, most) = (seen.moments, seen.fewest, seen.most);
        Ok(format!("{moments} moments, at least {fewest} pods ready, at most {most} in all"))
    }
}

fn count(seen: &Seen) -> Count {
    Count { ready: seen.pods.values().filter(|serves| **serves).count(), total: seen.pods.len() }
}

fn judge(seen: &mut Seen) {
    let Some(bound) = seen.bound else { return };
    let Count { ready, total } = count(seen);
    seen.moments += 1;
    seen.fewest = seen.fewest.min(ready);
    seen.most = seen.most.max(total);
    let holds = ready >= bound.ready_at_least && total <= bound.total_at_most;
    if !holds && seen.breaches.len() < BREACHES_AT_MOST {
        seen.breaches.push(format!(
            "{ready} of {total} are ready, and {} shall be, of {} at most",
            bound.ready_at_least, bound.total_at_most
        ));
    }
}

async fn follow(cluster: Cluster, seen: Arc<Mutex<Seen>>) {
    let api: Api<Pod> = Api::namespaced(cluster.client().clone(), cluster.namespace());
    let mut events = std::pin::pin!(watcher::watcher(api, watcher::Config::default()));
    while let Some(event) = events.next().await {
        // A watch that broke is begun again, with a list.
        if let Ok(event) = event {
            happens(&mut lock(&seen), event);
        }
    }
}

fn happens(seen: &mut Seen, event: Event<Pod>) {
    let name = |pod: &Pod| pod.metadata.name.clone().unwrap_or_default();
    match event {
        Event::Init => seen.listed.clear(),
        Event::InitApply(pod) => {
            if pod.metadata.deletion_timestamp.is_none() {
                seen.listed.insert(name(&pod), serves(&pod));
            }
            return;
        }
        Event::InitDone => {
            seen.pods = std::mem::take(&mut seen.listed);
            seen.is_known = true;
        }
        Event::Apply(pod) if pod.metadata.deletion_timestamp.is_none() => {
            seen.pods.insert(name(&pod), serves(&pod));
        }
        Event::Apply(pod) | Event::Delete(pod) => {
            seen.pods.remove(&name(&pod));
        }
    }
    if seen.is_known {
        judge(seen);
    }
}

fn serves(pod: &Pod) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.into_iter().flatten().any(|each| each.type_ == "Ready" && each.status == "True")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod(name: &str, ready: &str, is_leaving: bool) -> Pod {
        let mut pod = json!({
            "metadata": {"name": name},
            "status": {"conditions": [{"type": "Ready", "status": ready}]},
        });
        if is_leaving {
            pod["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        }
        serde_json::from_value(pod).unwrap_or_default()
    }

    #[test]
    fn a_moment_out_of_bounds_is_told_and_quiet_shows_nothing() {
        let moments = Seen { bound: Some(Bound { ready_at_least: 1, total_at_most: 2 }), ..Seen::default() };
        let mut seen = moments;
        for event in [Event::Init, Event::InitApply(pod("a", "True", false)), Event::InitDone] {
            happens(&mut seen, event);
        }
        happens(&mut seen, Event::Apply(pod("b", "False", false)));
        assert_eq!(seen.breaches, Vec::<String>::new());
        happens(&mut seen, Event::Apply(pod("c", "False", false)));
        assert_eq!(seen.breaches.len(), 1, "three pods are too many");
        happens(&mut seen, Event::Apply(pod("c", "False", true)));
        happens(&mut seen, Event::Delete(pod("a", "True", false)));
        assert_eq!(seen.breaches.len(), 2, "no pod serves: {:?}", seen.breaches);
        assert_eq!(count(&seen), Count { ready: 0, total: 1 });
    }
}
