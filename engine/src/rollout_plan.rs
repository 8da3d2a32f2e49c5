//! A rollout plan as written → what is wrong with it, each with its place; nothing here rolls out anything.

use serde_json::Value as Json;

/// The two orders in which pods are replaced.
const STRATEGIES: [&str; 2] = ["IncreaseFirst", "DecreaseFirst"];
/// What a webhook of the whole rollout may be.
const ROLLOUT_WEBHOOKS: [&str; 2] = ["initialize-rollout", "finalize-rollout"];
/// What a webhook of a batch may be.
const BATCH_WEBHOOKS: [&str; 2] = ["pre-batch-rollout", "post-batch-rollout"];
/// How a webhook may be called; nothing means the last one.
const METHODS: [&str; 4] = ["GET", "PUT", "POST", ""];

/// Everything that is wrong with a plan: path below the plan and what was expected.
pub fn check(plan: &Json) -> Vec<(String, String)> {
    let mut found = Vec::new();
    if !plan.is_object() {
        return vec![(String::new(), "a rollout plan is an object".to_owned())];
    }
    let strategy = plan["rolloutStrategy"].as_str().unwrap_or("");
    if !strategy.is_empty() && !STRATEGIES.contains(&strategy) {
        let message = format!("{strategy:?} is no strategy; write {}", STRATEGIES.join(" or "));
        found.push(("rolloutStrategy".to_owned(), message));
    }
    if plan["batchPartition"].as_i64().is_some_and(|partition| partition < 0) {
        found.push(("batchPartition".to_owned(), "the index of a batch is not negative".to_owned()));
    }
    let batches = plan["rolloutBatches"].as_array().map_or(&[][..], Vec::as_slice);
    if let Some(number) = plan["numBatches"].as_i64()
        && !plan["rolloutBatches"].is_null()
        && i64::try_from(batches.len()) != Ok(number)
    {
        let message = format!("numBatches is {number}, and rolloutBatches has {}", batches.len());
        found.push(("numBatches".to_owned(), message));
    }
    webhooks(&plan["rolloutWebhooks"], "rolloutWebhooks", &ROLLOUT_WEBHOOKS, true, &mut found);
    for (index, batch) in batches.iter().enumerate() {
        let path = format!("rolloutBatches[{index}]");
        if !is_count(&batch["replicas"]) {
            let message = format!("expected a number of pods or a percentage, found {}", batch["replicas"]);
            found.push((format!("{path}.replicas"), message));
        }
        let path = format!("{path}.batchRolloutWebhooks");
        webhooks(&batch["batchRolloutWebhooks"], &path, &BATCH_WEBHOOKS, false, &mut found);
    }
    found
}

fn webhooks(list: &Json, path: &str, types: &[&str], method: bool, found: &mut Vec<(String, String)>) {
    for (index, webhook) in list.as_array().into_iter().flatten().enumerate() {
        let type_ = webhook["type"].as_str().unwrap_or("");
        if !types.contains(&type_) {
            let message = format!("{type_:?} is no webhook here; expected {}", types.join(" or "));
            found.push((format!("{path}[{index}].type"), message));
        }
        let called = webhook["method"].as_str().unwrap_or("");
        if method && !METHODS.contains(&called) {
            let message = format!("{called:?} is no method; write GET, PUT or POST");
            found.push((format!("{path}[{index}].method"), message));
        }
    }
}

/// A number from zero, or such a number with a percent sign; nothing is none.
fn is_count(value: &Json) -> bool {
    match value {
        Json::Null => true,
        Json::Number(number) => number.as_i64().is_some_and(|number| number >= 0),
        Json::String(text) => text.strip_suffix('%').unwrap_or(text).parse::<u32>().is_ok(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::check;

    #[test]
    fn a_plan_is_told_everything_that_is_wrong_with_it() {
        let good = json!({
            "rolloutStrategy": "IncreaseFirst", "targetSize": 5, "numBatches": 2, "batchPartition": 1,
            "rolloutBatches": [{"replicas": "50%"}, {"replicas": 3}],
            "rolloutWebhooks": [{"type": "initialize-rollout", "method": "GET", "name": "a", "url": "http://a"}],
        });
        assert_eq!(check(&good), []);
        assert_eq!(check(&json!({"targetSize": 5, "numBatches": 3})), [], "batches are made later");
        let bad = json!({
            "rolloutStrategy": "Slowly", "numBatches": 2, "batchPartition": -1,
            "rolloutBatches": [{"replicas": -1, "batchRolloutWebhooks": [{"type": "initialize-rollout"}]}],
            "rolloutWebhooks": [{"type": "pre-batch-rollout", "method": "DELETE"}],
        });
        let paths: Vec<String> = check(&bad).into_iter().map(|(path, _)| path).collect();
        assert_eq!(
            paths,
            [
                "rolloutStrategy",
                "batchPartition",
                "numBatches",
                "rolloutWebhooks[0].type",
                "rolloutWebhooks[0].method",
                "rolloutBatches[0].replicas",
                "rolloutBatches[0].batchRolloutWebhooks[0].type",
            ]
        );
    }
}
