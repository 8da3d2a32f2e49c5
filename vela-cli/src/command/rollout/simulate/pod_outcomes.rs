//! Draws from the seed how long each new pod takes to get ready, and which never does.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kube::api::{Patch, PatchParams};
use serde_json::json;

use super::pod_counts::Pod;
use crate::args::{Fail, Latency};
use crate::cluster::Cluster;
use crate::error::Result;

/// Who is to be told about pods.
pub(super) struct PodOutcomes {
    latency: Latency,
    fails: Vec<Fail>,
    random: Random,
    /// Pods by uid and template that are settled already.
    seen: BTreeSet<(String, String)>,
    /// How many new pods each batch has made.
    made: BTreeMap<usize, usize>,
}

impl PodOutcomes {
    pub(super) fn new(latency: Latency, fails: &[Fail], seed: u64) -> Self {
        let random = Random(seed);
        Self { latency, fails: fails.to_vec(), random, seen: BTreeSet::new(), made: BTreeMap::new() }
    }

    /// These pods are as they are.
    pub(super) fn leave(&mut self, pods: &[Pod]) {
        self.seen.extend(pods.iter().map(|pod| (pod.uid.clone(), pod.template.clone())));
    }

    /// Another rollout begins: its batches are counted anew.
    pub(super) fn begin(&mut self) {
        self.made.clear();
    }

    /// Tells each pod that appeared, or changed in place, in `batch` (counted from 1) what becomes of it; answers with
    /// what was decided that people asked for.
    pub(super) async fn decide(
        &mut self,
        cluster: &Cluster,
        namespace: &str,
        pods: &[Pod],
        batch: usize,
    ) -> Result<Vec<String>> {
        let mut messages = Vec::new();
        for pod in pods {
            if !self.seen.insert((pod.uid.clone(), pod.template.clone())) {
                continue;
            }
            let seconds = self.random.between(self.latency.least, self.latency.most).as_secs();
            let mut annotations = json!({
                "simulate.vela.dev/start-seconds": seconds.to_string(),
                "simulate.vela.dev/fail": null,
            });
            if pod.is_new {
                let nth = self.made.entry(batch).or_default();
                *nth += 1;
                if let Some(fail) = self.fails.iter().find(|fail| fail.batch == batch && fail.pod == *nth) {
                    annotations["simulate.vela.dev/fail"] = json!(fail.reason.annotation());
                    messages.push(format!(
                        "pod {nth} of batch {batch} ({}) will never get ready, as asked",
                        pod.name
                    ));
                }
            }
            let api = cluster.api("v1", "Pod", Some(namespace)).await?;
            let patch = Patch::Merge(json!({"metadata": {"annotations": annotations}}));
            let written = api.patch(&pod.name, &PatchParams::default(), &patch).await;
            written.map_err(|error| cluster.failure("take what becomes of a pod", &error))?;
        }
        Ok(messages)
    }
}

/// Numbers that look like chance and follow from a seed (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Whole seconds, both ends included.
    fn between(&mut self, least: Duration, most: Duration) -> Duration {
        let range = most.as_secs().saturating_sub(least.as_secs()) + 1;
        Duration::from_secs(least.as_secs() + self.next() % range)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chance_follows_from_its_seed_and_stays_between_its_ends() {
        let seconds = Duration::from_secs;
        let draws = |seed| {
            let mut random = Random(seed);
            (0..100).map(|_| random.between(seconds(2), seconds(10))).collect::<Vec<_>>()
        };
        assert_eq!(draws(7), draws(7));
        assert_ne!(draws(7), draws(8));
        assert!(draws(7).iter().all(|time| (seconds(2)..=seconds(10)).contains(time)));
        assert!(draws(7).contains(&seconds(2)) && draws(7).contains(&seconds(10)));
        assert_eq!(Random(1).between(seconds(5), seconds(5)), seconds(5));
    }
}
