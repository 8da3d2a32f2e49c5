//! Builds the HorizontalPodAutoscaler that does what Kubernetes can do by itself of an Autoscaler, where KEDA is not installed.

use serde_json::{Value, json};
use vela_crds::standard_oam_dev::Autoscaler;
use vela_crds::standard_oam_dev::autoscaler::AutoscalerTrigger;

use super::autoscaler::KIND as AUTOSCALER;
use super::{Error, Identity};

/// API version of what is made.
pub const API_VERSION: &str = "autoscaling/v2";
/// Kind of what is made.
pub const KIND: &str = "HorizontalPodAutoscaler";
/// The greatest number where none is written, as KEDA has it.
const GREATEST: i32 = 100;

/// The triggers that work without KEDA, and those that do not.
#[derive(Debug, Clone, PartialEq)]
pub struct WithoutKeda {
    /// The HorizontalPodAutoscaler; nothing where no trigger is one of its.
    pub object: Option<Value>,
    /// The triggers that only KEDA knows, with their fields.
    pub left_out: Vec<String>,
}

/// The HorizontalPodAutoscaler of an Autoscaler: same name, controlled by it, of its triggers for the processor.
///
/// # Errors
/// Triggers for the processor that cannot be understood; every one is named.
pub fn without_keda(autoscaler: &Autoscaler, target: &Value) -> Result<WithoutKeda, Error> {
    let identity = Identity::of(autoscaler, AUTOSCALER)?;
    let (mut metrics, mut left_out, mut wrong) = (Vec::new(), Vec::new(), Vec::new());
    for (index, trigger) in autoscaler.spec.triggers.iter().enumerate() {
        if trigger.trigger_type != "cpu" {
            left_out.push(format!("spec.triggers[{index}] ({})", trigger.trigger_type));
            continue;
        }
        match metric(trigger) {
            Ok(metric) => metrics.push(metric),
            Err(message) => wrong.push(format!("spec.triggers[{index}]: {message}")),
        }
    }
    if !wrong.is_empty() {
        return Err(Error::new(format!("{AUTOSCALER} {}", identity.name), wrong.join("; ")));
    }
    if metrics.is_empty() {
        return Ok(WithoutKeda { object: None, left_out });
    }
    // No load wakes a workload without pods, so there is at least one.
    let least = autoscaler.spec.min_replicas.unwrap_or(1).max(1);
    let object = json!({
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {
            "name": identity.name,
            "namespace": identity.namespace,
            "ownerReferences": identity.owner(),
        },
        "spec": {
            "scaleTargetRef": {
                "apiVersion": target["apiVersion"], "kind": target["kind"], "name": target["metadata"]["name"],
            },
            "minReplicas": least,
            "maxReplicas": autoscaler.spec.max_replicas.unwrap_or(GREATEST),
            "metrics": metrics,
        },
    });
    Ok(WithoutKeda { object: Some(object), left_out })
}

/// The metric of a trigger of type `cpu`, spelled as KEDA's is: `type` and `value`.
fn metric(trigger: &AutoscalerTrigger) -> Result<Value, String> {
    let given = |name: &str| trigger.condition.get(name).map_or("", |text| text.trim());
    if let Some(other) = trigger.condition.keys().find(|name| !["type", "value"].contains(&name.as_str())) {
        return Err(format!("condition.{other} needs KEDA; without it write type and value only"));
    }
    let target = match given("type") {
        "Utilization" => {
            let percent: u32 = given("value").parse().unwrap_or_default();
            if percent == 0 {
                return Err(format!(
                    "condition.value {:?} must be a whole number of percent, such as 80",
                    given("value")
                ));
            }
            json!({ "type": "Utilization", "averageUtilization": percent })
        }
        "AverageValue" if !given("value").is_empty() => {
            json!({ "type": "AverageValue", "averageValue": given("value") })
        }
        "AverageValue" => return Err("condition.value is missing; write a quantity such as 500m".to_owned()),
        other => return Err(format!("condition.type {other:?} must be Utilization or AverageValue")),
    };
    Ok(json!({ "type": "Resource", "resource": { "name": "cpu", "target": target } }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(limits: Value, triggers: Value) -> Result<WithoutKeda, Error> {
        let mut spec = limits;
        spec["triggers"] = triggers;
        let autoscaler: Autoscaler = serde_json::from_value(json!({
            "apiVersion": super::super::API_VERSION, "kind": AUTOSCALER,
            "metadata": {"name": "scale", "namespace": "ns", "uid": "u-1"}, "spec": spec,
        }))
        .unwrap();
        let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}});
        without_keda(&autoscaler, &target)
    }

    fn cpu(type_: &str, value: &str) -> Value {
        json!({"type": "cpu", "condition": {"type": type_, "value": value}})
    }

    #[test]
    fn the_processor_is_looked_at_and_the_rest_is_named() {
        let cron = json!({"type": "cron", "condition": {}});
        let triggers = json!([cpu("Utilization", "80"), cron, cpu("AverageValue", "500m")]);
        let made = made(json!({"minReplicas": 0, "maxReplicas": 4}), triggers).unwrap();
        assert_eq!(made.left_out, ["spec.triggers[1] (cron)"]);
        let object = made.object.unwrap();
        assert_eq!(object["metadata"]["ownerReferences"][0]["uid"], "u-1");
        assert_eq!(
            object["spec"],
            json!({
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
                "minReplicas": 1, "maxReplicas": 4,
                "metrics": [
                    {"type": "Resource", "resource": {
                        "name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80},
                    }},
                    {"type": "Resource", "resource": {
                        "name": "cpu", "target": {"type": "AverageValue", "averageValue": "500m"},
                    }},
                ],
            })
        );
    }

    #[test]
    fn without_a_trigger_for_the_processor_nothing_is_made() {
        let made = made(json!({}), json!([{"type": "memory", "condition": {}}])).unwrap();
        assert_eq!(made.object, None);
        assert_eq!(made.left_out, ["spec.triggers[0] (memory)"]);
    }

    #[test]
    fn every_wrong_trigger_is_named() {
        let container =
            json!({"type": "cpu", "condition": {"type": "Utilization", "value": "1", "containerName": "a"}});
        let triggers =
            json!([cpu("Utilization", "much"), cpu("", "80"), cpu("AverageValue", " "), container]);
        let error = made(json!({}), triggers).unwrap_err().to_string();
        for says in [
            "triggers[0]: condition.value \"much\"",
            "triggers[1]: condition.type \"\"",
            "triggers[2]: condition.value is missing",
            "triggers[3]: condition.containerName needs KEDA",
        ] {
            assert!(error.contains(says), "{says}: {error}");
        }
    }
}
