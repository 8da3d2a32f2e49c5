//! Lists the hook calls that are due at a moment of a plan, and decides whether an answer means yes; never calls
//! anybody.

use std::time::Duration;

use serde_json::{Value as Json, json};
use vela_crds::{RolloutPlan, RolloutWebhook};

use super::state::{self, State};

/// The number of attempts of a call within one reconcile, where no server answers or the answer is a fault of the
/// server.
pub const ATTEMPTS: u32 = 4;
/// The pause before the second attempt.
pub const FIRST_PAUSE: Duration = Duration::from_millis(10);
/// Each pause is so many times the one before it.
pub const PAUSE_FACTOR: u32 = 5;
/// From this status on, an answer is a fault of the server, whatever is expected.
const SERVER_FAULT: u16 = 500;
/// The last status that means yes where nothing is expected.
const LAST_GOOD: u16 = 202;

/// When hooks are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Before the workloads are claimed.
    Initialize,
    /// Before a batch.
    PreBatch,
    /// After a batch.
    PostBatch,
    /// After the workloads are let go.
    Finalize,
}

/// One call.
#[derive(Clone, Debug, PartialEq)]
pub struct HookCall {
    /// The hook's name, for people.
    pub name: String,
    /// The field in the plan where it is written.
    pub path: String,
    /// Where.
    pub url: String,
    /// How.
    pub method: String,
    /// The request, as JSON.
    pub body: Json,
    expected: Vec<i64>,
}

/// The meaning of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Yes.
    Yes,
    /// No, and asking at once again changes nothing.
    No,
    /// The result is unknown; worth another attempt.
    Again,
}

impl Moment {
    fn hook_type(self) -> &'static str {
        match self {
            Self::Initialize => "initialize-rollout",
            Self::PreBatch => "pre-batch-rollout",
            Self::PostBatch => "post-batch-rollout",
            Self::Finalize => "finalize-rollout",
        }
    }

    /// The message for people when a hook of this moment fails.
    pub fn failure(self) -> &'static str {
        match self {
            Self::Finalize => "failed to invoke a post rollout webhook",
            _ => "failed to invoke a webhook",
        }
    }
}

/// The calls of a moment in order: those of the plan, then those of the batch. The object is the one people know.
pub fn calls(
    plan: &RolloutPlan,
    moment: Moment,
    now: State,
    batch: i32,
    object: (&str, &str),
) -> Vec<HookCall> {
    let phase = match moment {
        Moment::Initialize => "initializing",
        Moment::PreBatch => "batchInitializing",
        Moment::PostBatch => "batchFinalizing",
        Moment::Finalize => state::name(now.rolling),
    };
    let of_plan = plan.rollout_webhooks.iter().enumerate();
    let of_plan = of_plan.map(|(index, hook)| (format!("rolloutWebhooks[{index}]"), hook));
    let batches = plan.rollout_batches.as_deref().unwrap_or_default();
    let batch = usize::try_from(batch).unwrap_or(usize::MAX);
    let of_batch =
        batches.get(batch).into_iter().flat_map(|batch| batch.batch_rollout_webhooks.iter().enumerate());
    let of_batch = of_batch
        .map(|(index, hook)| (format!("rolloutBatches[{batch}].batchRolloutWebhooks[{index}]"), hook));
    of_plan
        .chain(of_batch)
        .filter(|(_, hook)| hook.hook_type == moment.hook_type())
        .map(|(path, hook)| call(hook, path, phase, object))
        .collect()
}

fn call(hook: &RolloutWebhook, path: String, phase: &str, (namespace, name): (&str, &str)) -> HookCall {
    let mut body = json!({ "name": name, "namespace": namespace, "phase": phase });
    if !hook.metadata.is_empty() {
        body["metadata"] = json!(hook.metadata);
    }
    let method = hook.method.clone().filter(|method| !method.is_empty());
    HookCall {
        name: hook.name.clone(),
        path,
        url: hook.url.clone(),
        method: method.unwrap_or_else(|| "POST".to_owned()),
        body,
        expected: hook.expected_status.clone(),
    }
}

impl HookCall {
    /// The meaning of an HTTP status; `None` without an answer.
    pub fn judge(&self, status: Option<u16>) -> Answer {
        match status {
            None => Answer::Again,
            Some(status) if status >= SERVER_FAULT => Answer::Again,
            Some(status) if self.expected.is_empty() && status <= LAST_GOOD => Answer::Yes,
            Some(status) if self.expected.contains(&i64::from(status)) => Answer::Yes,
            Some(_) => Answer::No,
        }
    }

    /// Why an answer was not taken, and what to do.
    pub fn refused(&self, status: Option<u16>) -> String {
        let expected = match self.expected.as_slice() {
            [] => format!("a status up to {LAST_GOOD}"),
            expected => expected.iter().map(i64::to_string).collect::<Vec<_>>().join(", "),
        };
        let found = status.map_or_else(|| "no answer".to_owned(), |status| format!("status {status}"));
        format!("{} ({}): expected {expected}, found {found}; it is asked again", self.path, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> RolloutPlan {
        serde_json::from_value(json!({
            "rolloutWebhooks": [
                {"type": "finalize-rollout", "name": "f", "url": "http://f", "method": "PUT"},
                {"type": "initialize-rollout", "name": "i", "url": "http://i", "metadata": {"a": "b"}},
            ],
            "rolloutBatches": [{}, {"batchRolloutWebhooks": [
                {"type": "pre-batch-rollout", "name": "p", "url": "http://p", "expectedStatus": [204]},
            ]}],
        }))
        .unwrap()
    }

    #[test]
    fn hooks_are_called_in_their_moment() {
        let calls = |moment, batch| calls(&plan(), moment, State::FIRST, batch, ("space", "shop"));
        let first = &calls(Moment::Initialize, 0)[0];
        assert_eq!(first.method, "POST");
        assert_eq!(
            first.body,
            json!({"name": "shop", "namespace": "space", "phase": "initializing", "metadata": {"a": "b"}})
        );
        let last = &calls(Moment::Finalize, 1)[0];
        assert_eq!((last.method.as_str(), &last.body["phase"]), ("PUT", &json!("locatingTargetApp")));
        assert_eq!(calls(Moment::PreBatch, 0), []);
        assert_eq!(calls(Moment::PreBatch, 1)[0].path, "rolloutBatches[1].batchRolloutWebhooks[0]");
        assert_eq!(calls(Moment::PreBatch, -1), []);
        assert_eq!(calls(Moment::PostBatch, 1), []);
    }

    #[test]
    fn answers_mean_what_the_hook_expects() {
        let mut call = call(&RolloutWebhook::default(), String::new(), "", ("", ""));
        assert_eq!([200, 202].map(|status| call.judge(Some(status))), [Answer::Yes; 2]);
        assert_eq!([203, 204, 302, 404].map(|status| call.judge(Some(status))), [Answer::No; 4]);
        assert_eq!([None, Some(500), Some(503)].map(|status| call.judge(status)), [Answer::Again; 3]);
        call.expected = vec![204, 503];
        assert_eq!(call.judge(Some(204)), Answer::Yes);
        assert_eq!(call.judge(Some(200)), Answer::No);
        assert_eq!(call.judge(Some(503)), Answer::Again, "a fault of the server is never expected");
        assert!(call.refused(Some(200)).contains("expected 204, 503, found status 200"));
    }
}
