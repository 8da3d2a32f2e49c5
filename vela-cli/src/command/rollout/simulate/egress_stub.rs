//! Answers the hooks and metrics of a simulated rollout as people asked for; sends no request.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use vela_core::EgressOverride;
use vela_crds::{CanaryMetric, RolloutPlan, RolloutWebhook};
use vela_engine::rollout::metrics::{bound, of_batch};

use super::timeline::{Kind, Occurrence};
use crate::args::Verdict;

/// What a hook answers that says no: the request was wrong, so asking again changes nothing.
const NO: u16 = 400;
/// What a hook answers that says yes, where the plan expects nothing else.
const YES: u16 = 200;

/// Stands in for everything outside.
#[derive(Debug, Default)]
pub(super) struct EgressStub {
    /// Names of hooks and of metrics that say no.
    hooks: BTreeSet<String>,
    metrics: BTreeSet<String>,
    now: Mutex<Current>,
}

/// What is played at the moment, and what was asked in it.
#[derive(Debug, Default)]
struct Current {
    plan: RolloutPlan,
    occurrences: Vec<Occurrence>,
}

impl EgressStub {
    /// Says yes to everything but this.
    pub(super) fn new(hooks: &[Verdict], metrics: &[Verdict]) -> Self {
        Self { hooks: failing(hooks), metrics: failing(metrics), now: Mutex::default() }
    }

    /// From here on this plan's hooks and metrics are asked for.
    pub(super) fn begin(&self, plan: &RolloutPlan) {
        *self.now() = Current { plan: plan.clone(), occurrences: Vec::new() };
    }

    /// What was asked since the last look.
    pub(super) fn take(&self) -> Vec<Occurrence> {
        std::mem::take(&mut self.now().occurrences)
    }

    fn now(&self) -> MutexGuard<'_, Current> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The hook that is called like this.
    fn hook<'a>(
        &self,
        plan: &'a RolloutPlan,
        method: &str,
        url: &str,
        body: &[u8],
    ) -> Option<&'a RolloutWebhook> {
        let body: Value = serde_json::from_slice(body).ok()?;
        let phase = body["phase"].as_str()?;
        let fits = |hook: &&RolloutWebhook| {
            let its_method = hook.method.as_deref().filter(|method| !method.is_empty()).unwrap_or("POST");
            hook.url == url && its_method == method && {
                match hook.hook_type.as_str() {
                    "initialize-rollout" => phase == "initializing",
                    "pre-batch-rollout" => phase == "batchInitializing",
                    "post-batch-rollout" => phase == "batchFinalizing",
                    _ => !phase.starts_with("batch") && phase != "initializing",
                }
            }
        };
        // Where several are called alike, one that is to fail is meant.
        let failing = hooks(plan).filter(fits).find(|hook| self.hooks.contains(&hook.name));
        failing.or_else(|| hooks(plan).find(fits))
    }
}

/// The last word about a name counts.
fn failing(verdicts: &[Verdict]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for verdict in verdicts {
        match verdict.fails {
            true => names.insert(verdict.name.clone()),
            false => names.remove(&verdict.name),
        };
    }
    names
}

/// All hooks of a plan.
pub(super) fn hooks(plan: &RolloutPlan) -> impl Iterator<Item = &RolloutWebhook> {
    let batches = plan.rollout_batches.iter().flatten();
    plan.rollout_webhooks.iter().chain(batches.flat_map(|batch| &batch.batch_rollout_webhooks))
}

/// All metrics of a plan with their fields.
pub(super) fn metrics(plan: &RolloutPlan) -> Vec<(String, CanaryMetric)> {
    let batches = plan.rollout_batches.as_ref().map_or(0, Vec::len);
    let batches = i32::try_from(batches).unwrap_or(i32::MAX);
    (0..batches.max(1)).flat_map(|batch| of_batch(plan, batch)).collect()
}

/// A value in the range of a metric, or one that is not.
fn value(metric: &CanaryMetric, fails: bool) -> f64 {
    let range = metric.metrics_range.as_ref();
    let bounds = range.map(|range| (range.min.as_ref(), range.max.as_ref())).unwrap_or_default();
    let number = |written| bound(written).unwrap_or(f64::NAN);
    match (bounds, fails) {
        ((Some(min), _), false) => number(min),
        ((None, Some(max)), false) => number(max),
        ((Some(min), _), true) => number(min) - 1.0,
        ((None, Some(max)), true) => number(max) + 1.0,
        ((None, None), _) => f64::NAN,
    }
}

impl EgressOverride for EgressStub {
    fn answer(&self, method: &str, url: &str, body: &[u8]) -> Result<(u16, Vec<u8>), String> {
        let mut now = self.now();
        let Some(hook) = self.hook(&now.plan, method, url, body) else {
            return Err(format!("a simulation sends no request, and does not know what {url} would answer"));
        };
        let refused = self.hooks.contains(&hook.name);
        let yes = hook.expected_status.first().and_then(|status| u16::try_from(*status).ok()).unwrap_or(YES);
        let status = if refused { NO } else { yes };
        let words = format!(
            "hook {:?} ({}) would be called: {method} {url}; it is taken to answer {status}",
            hook.name, hook.hook_type
        );
        now.occurrences.push(Occurrence::new(Kind::Hook, refused, words));
        Ok((status, Vec::new()))
    }

    fn measure(&self, path: &str) -> Option<Result<f64, String>> {
        let mut now = self.now();
        let (_, metric) = metrics(&now.plan).into_iter().find(|(written, _)| written == path)?;
        let fails = self.metrics.contains(&metric.name);
        let value = value(&metric, fails);
        let verdict = if fails { "outside" } else { "inside" };
        let words = format!(
            "metric {:?} ({path}) would be measured: it is taken to be {value}, {verdict} its metricsRange",
            metric.name
        );
        now.occurrences.push(Occurrence::new(Kind::Metric, fails, words));
        Some(Ok(value))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn verdict(text: &str) -> Verdict {
        text.parse().unwrap()
    }

    #[test]
    fn hooks_say_yes_in_the_words_expected_unless_they_are_to_fail() {
        let hook = |name: &str, type_: &str, expected: &[i64]| json!({"name": name, "type": type_, "url": "http://a/", "expectedStatus": expected});
        let plan: RolloutPlan = serde_json::from_value(json!({
            "rolloutWebhooks": [hook("first", "initialize-rollout", &[204])],
            "rolloutBatches": [{"replicas": 1, "batchRolloutWebhooks": [hook("before", "pre-batch-rollout", &[])]}],
        }))
        .unwrap();
        let stub =
            EgressStub::new(&[verdict("before=fail"), verdict("first=fail"), verdict("first=pass")], &[]);
        stub.begin(&plan);
        let ask = |phase: &str| {
            let body = json!({"name": "a", "phase": phase}).to_string();
            stub.answer("POST", "http://a/", body.as_bytes()).map(|(status, _)| status)
        };
        assert_eq!((ask("initializing"), ask("batchInitializing")), (Ok(204), Ok(400)));
        assert!(ask("batchFinalizing").is_err());
        assert!(stub.answer("GET", "http://a/", b"{}").is_err());
        let occurrences = stub.take();
        assert_eq!(occurrences.iter().map(|one| one.is_bad).collect::<Vec<_>>(), [false, true]);
        assert!(occurrences[1].words.contains("\"before\" (pre-batch-rollout)"), "{occurrences:?}");
        assert!(stub.take().is_empty());
    }

    #[test]
    fn metrics_lie_in_their_range_unless_they_are_to_fail() {
        let metric = |name: &str, range: Value| json!({"name": name, "metricsRange": range});
        let plan: RolloutPlan = serde_json::from_value(json!({
            "canaryMetric": [metric("rate", json!({"min": "99%"})), metric("slow", json!({"max": 3}))],
            "rolloutBatches": [{"replicas": 1}, {"replicas": 1, "canaryMetric": [metric("rate", json!({"min": 1, "max": 2}))]}],
        }))
        .unwrap();
        let asked = |failing: &[Verdict]| {
            let stub = EgressStub::new(&[], failing);
            stub.begin(&plan);
            ["canaryMetric[0]", "canaryMetric[1]", "rolloutBatches[1].canaryMetric[0]"]
                .map(|path| stub.measure(path))
        };
        assert_eq!(asked(&[]), [0.99, 3.0, 1.0].map(|value| Some(Ok(value))));
        assert_eq!(
            asked(&[verdict("rate=fail"), verdict("slow=fail")]),
            [0.99 - 1.0, 4.0, 0.0].map(|value| Some(Ok(value)))
        );
        assert_eq!(EgressStub::default().measure("canaryMetric[0]"), None);
    }
}
