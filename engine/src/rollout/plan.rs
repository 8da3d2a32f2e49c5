//! Checks a rollout plan, each mistake with its place, and fills in the batches that were left out.

use serde_json::{Map, Value as Json, json};

pub use super::finding::Finding;
use super::metrics;

/// A plan of more batches is refused: each has a record, and no user waits for so many.
pub const BATCHES_AT_MOST: i64 = 1000;
/// The meaning of an empty strategy.
pub const DEFAULT_STRATEGY: &str = INCREASE_FIRST;
/// New pods come before old ones go.
pub const INCREASE_FIRST: &str = "IncreaseFirst";
/// Old pods go before new ones come.
pub const DECREASE_FIRST: &str = "DecreaseFirst";

/// The two orders in which pods are replaced.
const STRATEGIES: [&str; 2] = [INCREASE_FIRST, DECREASE_FIRST];
/// The types of a webhook of the whole rollout.
const ROLLOUT_WEBHOOKS: [&str; 2] = ["initialize-rollout", "finalize-rollout"];
/// The types of a webhook of a batch.
const BATCH_WEBHOOKS: [&str; 2] = ["pre-batch-rollout", "post-batch-rollout"];
/// How a webhook may be called; nothing means the last one.
const METHODS: [&str; 4] = ["GET", "PUT", "POST", ""];

/// How pods are distributed to generated batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distribution {
    /// As release 1.0: one by one, from the last batch backwards.
    RoundRobin,
    /// As the seed: equal batches, and the last one takes the rest.
    RestLast,
}

/// The sizes of `count` batches of `size` pods.
///
/// # Errors
/// There are no batches or too many, or the size is negative.
pub fn distribute(size: i64, count: i64, how: Distribution) -> Result<Vec<i64>, Finding> {
    if !(1..=BATCHES_AT_MOST).contains(&count) {
        let message = format!("expected 1 to {BATCHES_AT_MOST} batches, found {count}");
        return Err(Finding::wrong("numBatches", message));
    }
    if size < 0 {
        return Err(Finding::wrong("targetSize", format!("{size} is no number of pods; write 0 or more")));
    }
    let (each, rest) = (size / count, size % count);
    let more = |batch: i64| match how {
        Distribution::RestLast if batch == count => rest,
        Distribution::RestLast => 0,
        Distribution::RoundRobin => i64::from(batch > count - rest),
    };
    Ok((1..=count).map(|batch| each + more(batch)).collect())
}

/// Fills in the strategy, and, for `distribute`, the batches where their number and the size are given.
///
/// # Errors
/// Those of [`distribute`].
pub fn complete(plan: &mut Map<String, Json>, how: Option<Distribution>) -> Result<(), Finding> {
    if plan.get("rolloutStrategy").is_none_or(|strategy| strategy.is_null() || strategy == "") {
        plan.insert("rolloutStrategy".to_owned(), json!(DEFAULT_STRATEGY));
    }
    let number = |field: &str| plan.get(field).and_then(Json::as_i64);
    let (Some(how), Some(size), Some(count)) = (how, number("targetSize"), number("numBatches")) else {
        return Ok(());
    };
    if plan.get("rolloutBatches").is_none_or(Json::is_null) {
        let batches = distribute(size, count, how)?;
        let batches = batches.into_iter().map(|pods| json!({"replicas": pods})).collect();
        plan.insert("rolloutBatches".to_owned(), batches);
    }
    Ok(())
}

/// All mistakes of a plan, regardless of its author and its place.
pub fn check(plan: &Json) -> Vec<Finding> {
    let mut found = Vec::new();
    if !plan.is_object() {
        return vec![Finding::wrong("", "a rollout plan is an object")];
    }
    let strategy = plan["rolloutStrategy"].as_str().unwrap_or("");
    if !strategy.is_empty() && !STRATEGIES.contains(&strategy) {
        let message = format!("{strategy:?} is no strategy; write {}", STRATEGIES.join(" or "));
        found.push(Finding::wrong("rolloutStrategy", message));
    }
    if plan["batchPartition"].as_i64().is_some_and(|partition| partition < 0) {
        let message = "the index of a batch is not negative; write 0 for the first batch";
        found.push(Finding::wrong("batchPartition", message));
    }
    if let Some(size) = plan["targetSize"].as_i64().filter(|size| *size < 0) {
        found.push(Finding::wrong("targetSize", format!("{size} is no number of pods; write 0 or more")));
    }
    if let Some(seconds) = plan["progressDeadlineSeconds"].as_i64().filter(|seconds| *seconds < 1) {
        let message =
            format!("a batch cannot be there after {seconds} seconds; write 1 or more, or leave it out");
        found.push(Finding::wrong("progressDeadlineSeconds", message));
    }
    batches(plan, &mut found);
    webhooks(&plan["rolloutWebhooks"], "rolloutWebhooks", &ROLLOUT_WEBHOOKS, true, &mut found);
    metrics::check(&plan["canaryMetric"], "canaryMetric", &mut found);
    for (index, batch) in plan["rolloutBatches"].as_array().into_iter().flatten().enumerate() {
        let path = format!("rolloutBatches[{index}]");
        for field in ["replicas", "maxUnavailable"] {
            if !is_count(&batch[field]) {
                let message = format!(
                    "expected a number of pods or a percentage, found {}; write for example 2 or \"20%\"",
                    batch[field]
                );
                found.push(Finding::wrong(format!("{path}.{field}"), message));
            }
        }
        metrics::check(&batch["canaryMetric"], &format!("{path}.canaryMetric"), &mut found);
        let path = format!("{path}.batchRolloutWebhooks");
        webhooks(&batch["batchRolloutWebhooks"], &path, &BATCH_WEBHOOKS, false, &mut found);
    }
    found
}

/// The missing parts of a plan that no default will complete.
pub fn missing(plan: &Json) -> Vec<Finding> {
    let mut found = Vec::new();
    if plan.is_object() && plan["rolloutBatches"].is_null() {
        let message = "write the batches, or targetSize and numBatches of a rollout with a source";
        found.push(Finding::missing("rolloutBatches", message));
    }
    if plan.is_object() && plan["rolloutStrategy"].as_str().unwrap_or_default().is_empty() {
        let message = format!("write {}", STRATEGIES.join(" or "));
        found.push(Finding::wrong("rolloutStrategy", message));
    }
    found
}

fn batches(plan: &Json, found: &mut Vec<Finding>) {
    let Some(batches) = plan["rolloutBatches"].as_array() else {
        if !plan["rolloutBatches"].is_null() {
            found.push(Finding::wrong("rolloutBatches", "expected a list of batches"));
        }
        return;
    };
    let count = i64::try_from(batches.len()).unwrap_or(i64::MAX);
    if count > BATCHES_AT_MOST {
        let message = format!("expected at most {BATCHES_AT_MOST} batches, found {count}");
        found.push(Finding::wrong("rolloutBatches", message));
    }
    if let Some(number) = plan["numBatches"].as_i64().filter(|number| *number != count) {
        let message =
            format!("numBatches is {number}, and rolloutBatches has {count}; leave out one of both");
        found.push(Finding::wrong("numBatches", message));
    }
}

fn webhooks(list: &Json, path: &str, types: &[&str], method: bool, found: &mut Vec<Finding>) {
    for (index, webhook) in list.as_array().into_iter().flatten().enumerate() {
        let type_ = webhook["type"].as_str().unwrap_or("");
        if !types.contains(&type_) {
            let message = format!("{type_:?} is no webhook here; expected {}", types.join(" or "));
            found.push(Finding::wrong(format!("{path}[{index}].type"), message));
        }
        let called = webhook["method"].as_str().unwrap_or("");
        if method && !METHODS.contains(&called) {
            let message = format!("{called:?} is no method; write GET, PUT or POST");
            found.push(Finding::wrong(format!("{path}[{index}].method"), message));
        }
    }
}

/// A number from zero, or such a number with a percent sign; nothing is none.
fn is_count(value: &Json) -> bool {
    match value {
        Json::Null => true,
        Json::Number(number) => number.as_i64().is_some_and(|number| number >= 0),
        // Without the sign, some read pods and some read percents: the meaning is open.
        Json::String(text) => text.strip_suffix('%').is_some_and(|number| number.parse::<u32>().is_ok()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use vela_testkit::program::Random;

    use super::*;

    #[test]
    fn a_plan_is_told_everything_that_is_wrong_with_it() {
        let good = json!({
            "rolloutStrategy": "IncreaseFirst", "targetSize": 5, "numBatches": 2, "batchPartition": 1,
            "rolloutBatches": [{"replicas": "50%"}, {"replicas": 3, "maxUnavailable": "10%"}],
            "rolloutWebhooks": [{"type": "initialize-rollout", "method": "GET", "name": "a", "url": "http://a"}],
        });
        assert_eq!(check(&good), []);
        assert_eq!(check(&json!({"targetSize": 5, "numBatches": 3})), [], "batches are made later");
        let bad = json!({
            "rolloutStrategy": "Slowly", "numBatches": 2, "batchPartition": -1, "targetSize": -2, "progressDeadlineSeconds": 0,
            "rolloutBatches": [{
                "replicas": -1, "maxUnavailable": "3", "batchRolloutWebhooks": [{"type": "initialize-rollout"}],
                "canaryMetric": [{"metricsRange": {"max": 1}, "templateRef": {"apiVersion": "v1", "kind": "ConfigMap", "name": "a"}}],
            }],
            "canaryMetric": {},
            "rolloutWebhooks": [{"type": "pre-batch-rollout", "method": "DELETE"}],
        });
        let paths: Vec<String> = check(&bad).into_iter().map(|finding| finding.path).collect();
        assert_eq!(
            paths,
            [
                "rolloutStrategy",
                "batchPartition",
                "targetSize",
                "progressDeadlineSeconds",
                "numBatches",
                "rolloutWebhooks[0].type",
                "rolloutWebhooks[0].method",
                "canaryMetric",
                "rolloutBatches[0].replicas",
                "rolloutBatches[0].maxUnavailable",
                "rolloutBatches[0].canaryMetric[0].name",
                "rolloutBatches[0].batchRolloutWebhooks[0].type",
            ]
        );
        let many = json!({"rolloutBatches": vec![json!({"replicas": 1}); 1001]});
        assert_eq!(check(&many)[0].path, "rolloutBatches");
        assert_eq!(check(&json!({"rolloutBatches": 3}))[0].path, "rolloutBatches");
    }

    #[test]
    fn fields_without_a_default_must_be_written() {
        let found = missing(&json!({"targetSize": 5}));
        assert!(found[0].missing && found[0].path == "rolloutBatches");
        assert!(!found[1].missing && found[1].path == "rolloutStrategy");
        assert_eq!(missing(&json!({"rolloutBatches": [], "rolloutStrategy": "DecreaseFirst"})), []);
    }

    #[test]
    fn pods_are_handed_out_as_the_release_did() {
        let out = |size, count, how| distribute(size, count, how).unwrap();
        assert_eq!(out(5, 3, Distribution::RoundRobin), [1, 2, 2]);
        assert_eq!(out(7, 3, Distribution::RoundRobin), [2, 2, 3]);
        assert_eq!(out(2, 4, Distribution::RoundRobin), [0, 0, 1, 1]);
        assert_eq!(out(5, 3, Distribution::RestLast), [1, 1, 3]);
        assert_eq!(out(2, 4, Distribution::RestLast), [0, 0, 0, 2]);
        assert_eq!(distribute(5, 0, Distribution::RoundRobin).unwrap_err().path, "numBatches");
        assert_eq!(distribute(-5, 1, Distribution::RoundRobin).unwrap_err().path, "targetSize");
    }

    #[test]
    fn no_pod_is_lost_when_they_are_handed_out() {
        let mut random = Random::new(7);
        for _ in 0..2000 {
            let (size, count) = (random.between(0, 5000), random.between(1, 1000));
            for how in [Distribution::RoundRobin, Distribution::RestLast] {
                let batches = distribute(size, count, how).unwrap();
                assert_eq!(batches.iter().sum::<i64>(), size);
                assert_eq!(i64::try_from(batches.len()).unwrap(), count);
                assert!(batches.is_sorted(), "the first batch is the smallest: {batches:?}");
            }
        }
    }

    #[test]
    fn completing_twice_changes_nothing() {
        let plan = json!({"targetSize": 5, "numBatches": 3});
        let mut once = plan.as_object().unwrap().clone();
        complete(&mut once, Some(Distribution::RoundRobin)).unwrap();
        let mut twice = once.clone();
        complete(&mut twice, Some(Distribution::RestLast)).unwrap();
        assert_eq!(once, twice);
        assert_eq!(once["rolloutBatches"], json!([{"replicas": 1}, {"replicas": 2}, {"replicas": 2}]));
        let mut scale = plan.as_object().unwrap().clone();
        complete(&mut scale, None).unwrap();
        assert!(scale.get("rolloutBatches").is_none(), "a scale is not handed out");
    }
}
