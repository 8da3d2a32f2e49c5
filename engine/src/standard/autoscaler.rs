//! Builds the KEDA ScaledObject of an Autoscaler.

use serde_json::{Value, json};
use vela_crds::standard_oam_dev::Autoscaler;
use vela_crds::standard_oam_dev::autoscaler::AutoscalerTrigger;

use super::{Error, Identity, cron};

/// The trait kind.
pub const KIND: &str = "Autoscaler";
/// API version of what is made.
pub const KEDA: &str = "keda.sh/v1alpha1";
/// Kind of what is made.
pub const SCALED_OBJECT: &str = "ScaledObject";
/// Triggers of one Autoscaler; each may become seven.
const TRIGGERS_AT_MOST: usize = 100;

/// The object to scale: the first child, else the workload, of a kind with replicas of pods; else the workload as it
/// is.
#[must_use]
pub fn target<'a>(workload: &'a Value, children: &'a [Value]) -> &'a Value {
    let is_pods = |object: &&Value| {
        matches!(object["kind"].as_str(), Some("Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet"))
    };
    children.iter().chain([workload]).find(is_pods).unwrap_or(workload)
}

/// The ScaledObject of an Autoscaler: same name, controlled by it.
///
/// # Errors
/// A target without a name, or a trigger that cannot be understood; every wrong trigger is named.
pub fn scaled_object(autoscaler: &Autoscaler, target: &Value) -> Result<Value, Error> {
    let identity = Identity::of(autoscaler, KIND)?;
    if target["metadata"]["name"].as_str().unwrap_or_default().is_empty() {
        return Err(Error::new(identity.place("spec.workloadRef"), "Spec.targetWorkload is not set"));
    }
    let given = &autoscaler.spec.triggers;
    if given.is_empty() || given.len() > TRIGGERS_AT_MOST {
        let message = format!("has {} entries; write 1 to {TRIGGERS_AT_MOST}", given.len());
        return Err(Error::new(identity.place("spec.triggers"), message));
    }
    let mut triggers = Vec::new();
    let mut wrong = Vec::new();
    for (index, trigger) in given.iter().enumerate() {
        match keda_triggers(trigger, index) {
            Ok(made) => triggers.extend(made),
            Err(message) => wrong.push(format!("spec.triggers[{index}]: {message}")),
        }
    }
    if !wrong.is_empty() {
        return Err(Error::new(format!("{KIND} {}", identity.name), wrong.join("; ")));
    }
    let mut spec = json!({
        "scaleTargetRef": {
            "apiVersion": target["apiVersion"], "kind": target["kind"], "name": target["metadata"]["name"],
        },
        "triggers": triggers,
    });
    if let Some(least) = autoscaler.spec.min_replicas {
        spec["minReplicaCount"] = json!(least);
    }
    if let Some(greatest) = autoscaler.spec.max_replicas {
        spec["maxReplicaCount"] = json!(greatest);
    }
    Ok(json!({
        "apiVersion": KEDA,
        "kind": SCALED_OBJECT,
        "metadata": {
            "name": identity.name,
            "namespace": identity.namespace,
            "ownerReferences": identity.owner(),
        },
        "spec": spec,
    }))
}

fn keda_triggers(trigger: &AutoscalerTrigger, index: usize) -> Result<Vec<Value>, String> {
    let name = trigger.name.as_deref().filter(|name| !name.is_empty());
    if trigger.trigger_type == "cron" {
        // Names must differ within a ScaledObject, so a nameless trigger is named by its place.
        let named = name.map_or_else(|| format!("cron-{index}"), str::to_owned);
        return cron::triggers(&named, &trigger.condition);
    }
    if trigger.trigger_type.is_empty() {
        return Err("type is empty; write cpu, memory, cron or another scaler that KEDA knows".to_owned());
    }
    let mut made = json!({ "type": trigger.trigger_type, "metadata": trigger.condition });
    if let Some(name) = name {
        made["name"] = json!(name);
    }
    Ok(vec![made])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn autoscaler(triggers: Value) -> Autoscaler {
        serde_json::from_value(json!({
            "apiVersion": super::super::API_VERSION, "kind": KIND,
            "metadata": {"name": "scale", "namespace": "ns", "uid": "u-1"},
            "spec": {"minReplicas": 1, "maxReplicas": 4, "triggers": triggers},
        }))
        .unwrap()
    }

    fn object(kind: &str, name: &str) -> Value {
        json!({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}})
    }

    #[test]
    fn children_that_run_pods_go_before_the_workload() {
        let (workload, service, set) =
            (object("PodSpecWorkload", "w"), object("Service", "s"), object("StatefulSet", "c"));
        assert_eq!(target(&workload, &[service.clone(), set.clone()])["metadata"]["name"], "c");
        assert_eq!(target(&workload, std::slice::from_ref(&service)), &workload);
        let deployment = object("Deployment", "d");
        assert_eq!(target(&deployment, &[service]), &deployment);
    }

    #[test]
    fn metrics_are_passed_as_written_and_the_clock_is_translated() {
        let made = scaled_object(
            &autoscaler(json!([
                {"type": "cpu", "name": "busy", "condition": {"type": "Utilization", "value": "80"}},
                {"type": "cron", "condition": {
                    "startAt": "14:00", "duration": "2h", "days": "Monday, Thursday", "replicas": "2", "timezone": "UTC",
                }},
                {"type": "prometheus", "condition": {"query": "x"}},
            ])),
            &object("Deployment", "web"),
        )
        .unwrap();
        assert_eq!((&made["apiVersion"], &made["kind"]), (&json!(KEDA), &json!(SCALED_OBJECT)));
        assert_eq!(made["metadata"]["ownerReferences"][0]["uid"], "u-1");
        let spec = &made["spec"];
        assert_eq!(
            spec["scaleTargetRef"],
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"})
        );
        assert_eq!((&spec["minReplicaCount"], &spec["maxReplicaCount"]), (&json!(1), &json!(4)));
        let triggers = spec["triggers"].as_array().unwrap();
        assert_eq!(
            triggers[0],
            json!({"type": "cpu", "name": "busy", "metadata": {"type": "Utilization", "value": "80"}})
        );
        assert_eq!(triggers[1]["name"], "cron-1-Monday");
        assert_eq!(triggers[2]["metadata"]["start"], "0 14 * * 4");
        assert_eq!(triggers[3], json!({"type": "prometheus", "metadata": {"query": "x"}}));
    }

    #[test]
    fn every_wrong_trigger_is_named() {
        let error = scaled_object(
            &autoscaler(json!([
                {"type": "cron", "condition": {}}, {"type": "cpu", "condition": {}}, {"type": "", "condition": {}},
            ])),
            &object("Deployment", "web"),
        )
        .unwrap_err()
        .to_string();
        assert!(
            error.contains("spec.triggers[0]: spec.triggers.condition.startAt: Required value"),
            "{error}"
        );
        assert!(
            error.contains("spec.triggers[2]: type is empty") && !error.contains("triggers[1]"),
            "{error}"
        );
        let error = scaled_object(&autoscaler(json!([])), &object("Deployment", "web")).unwrap_err();
        assert!(error.to_string().contains("spec.triggers"), "{error}");
        let error = scaled_object(&autoscaler(json!([])), &json!({})).unwrap_err();
        assert!(error.to_string().contains("Spec.targetWorkload is not set"), "{error}");
    }
}
