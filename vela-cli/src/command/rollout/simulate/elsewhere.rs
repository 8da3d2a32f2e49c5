//! Calls of a rollout's hooks in, the answers that people asked for out; nobody is really called.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use serde_json::Value;
use vela_core::Elsewhere;
use vela_crds::{RolloutPlan, RolloutWebhook};

use crate::args::Verdict;

/// What a hook answers that says no: the request was wrong, so asking again changes nothing.
const NO: u16 = 400;
/// What a hook answers that says yes, where the plan expects nothing else.
const YES: u16 = 200;

/// One call that would have been made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Call {
    /// What would be called, and what it is taken to answer.
    pub(super) words: String,
    /// Was it taken to say no?
    pub(super) refused: bool,
}

/// Stands in for everything outside.
#[derive(Debug, Default)]
pub(super) struct Outside {
    hooks: Vec<RolloutWebhook>,
    failing: BTreeSet<String>,
    calls: Mutex<Vec<Call>>,
}

impl Outside {
    /// Answers for the hooks of these plans.
    pub(super) fn new<'a>(plans: impl Iterator<Item = &'a RolloutPlan>, verdicts: &[Verdict]) -> Self {
        let hooks = plans.flat_map(|plan| {
            let batches = plan.rollout_batches.iter().flatten();
            plan.rollout_webhooks.iter().chain(batches.flat_map(|batch| &batch.batch_rollout_webhooks))
        });
        // The last word about a name counts.
        let fails =
            |name: &str| verdicts.iter().rev().find(|each| each.name == name).is_some_and(|each| each.fails);
        let failing = verdicts.iter().filter(|each| fails(&each.name)).map(|each| each.name.clone());
        Self { hooks: hooks.cloned().collect(), failing: failing.collect(), calls: Mutex::default() }
    }

    /// Names of all hooks, for people who misspell one.
    pub(super) fn names(&self) -> BTreeSet<&str> {
        self.hooks.iter().map(|hook| hook.name.as_str()).collect()
    }

    /// The calls since the last look.
    pub(super) fn take(&self) -> Vec<Call> {
        std::mem::take(&mut *self.calls.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn hook(&self, method: &str, url: &str, body: &[u8]) -> Option<&RolloutWebhook> {
        let told: Value = serde_json::from_slice(body).ok()?;
        let phase = told["phase"].as_str()?;
        let fits = |hook: &&RolloutWebhook| {
            hook.url == url
                && hook.method.as_deref().filter(|m| !m.is_empty()).unwrap_or("POST") == method
                && {
                    match hook.hook_type.as_str() {
                        "initialize-rollout" => phase == "initializing",
                        "pre-batch-rollout" => phase == "batchInitializing",
                        "post-batch-rollout" => phase == "batchFinalizing",
                        _ => !phase.starts_with("batch") && phase != "initializing",
                    }
                }
        };
        // Where several are called alike, one that is to fail is meant.
        let failing = self.hooks.iter().filter(fits).find(|hook| self.failing.contains(&hook.name));
        failing.or_else(|| self.hooks.iter().find(fits))
    }
}

impl Elsewhere for Outside {
    fn answer(&self, method: &str, url: &str, body: &[u8]) -> Result<(u16, Vec<u8>), String> {
        let Some(hook) = self.hook(method, url, body) else {
            return Err(format!("a simulation asks nobody, and does not know what {url} would answer"));
        };
        let refused = self.failing.contains(&hook.name);
        let yes = hook.expected_status.first().and_then(|status| u16::try_from(*status).ok()).unwrap_or(YES);
        let status = if refused { NO } else { yes };
        let words = format!(
            "hook {:?} ({}) would be called: {method} {url}; it is taken to answer {status}",
            hook.name, hook.hook_type
        );
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).push(Call { words, refused });
        Ok((status, Vec::new()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn hooks_say_yes_in_the_words_expected_unless_they_are_to_fail() {
        let hook = |name: &str, type_: &str, expected: &[i64]| json!({"name": name, "type": type_, "url": "http://a/", "expectedStatus": expected});
        let plan: RolloutPlan = serde_json::from_value(json!({
            "rolloutWebhooks": [hook("first", "initialize-rollout", &[204])],
            "rolloutBatches": [{"replicas": 1, "batchRolloutWebhooks": [hook("before", "pre-batch-rollout", &[])]}],
        }))
        .unwrap();
        let verdict = |text: &str| text.parse::<Verdict>().unwrap();
        let outside = Outside::new([&plan].into_iter(), &[verdict("before=fail")]);
        let ask = |phase: &str| {
            let body = json!({"name": "a", "phase": phase}).to_string();
            outside.answer("POST", "http://a/", body.as_bytes()).map(|(status, _)| status)
        };
        assert_eq!((ask("initializing"), ask("batchInitializing")), (Ok(204), Ok(400)));
        assert!(ask("batchFinalizing").is_err());
        assert!(outside.answer("GET", "http://a/", b"{}").is_err());
        let calls = outside.take();
        assert_eq!(calls.iter().map(|call| call.refused).collect::<Vec<_>>(), [false, true]);
        assert!(calls[1].words.contains("\"before\" (pre-batch-rollout)"), "{calls:?}");
        assert!(outside.take().is_empty());
        let again = Outside::new([&plan].into_iter(), &[verdict("first=fail"), verdict("first=pass")]);
        assert_eq!(again.answer("POST", "http://a/", br#"{"phase": "initializing"}"#).unwrap().0, 204);
    }
}
