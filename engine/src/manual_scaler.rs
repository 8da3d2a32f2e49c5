//! Builds the patches that set the replicas which a ManualScalerTrait asks for.

use serde_json::{Value, json};
use vela_crds::manual_scaler_trait::ManualScalerTrait;

/// The trait's kind and version, as owner references spell them.
const API_VERSION: &str = "core.oam.dev/v1alpha2";
const KIND: &str = "ManualScalerTrait";

/// Whether the live object has replicas that can be set.
///
/// The API server fills in `spec.replicas` where a kind has it by default, so the live object says what the
/// published schema says; the built-in kinds are named for objects that were read before that.
#[must_use]
pub fn is_scalable(object: &Value) -> bool {
    let built_in = matches!(
        (object["apiVersion"].as_str(), object["kind"].as_str()),
        (Some("apps/v1"), Some("Deployment" | "StatefulSet" | "ReplicaSet"))
            | (Some("standard.oam.dev/v1alpha1"), Some("PodSpecWorkload"))
            // Their schemas have replicas without a default.
            | (Some("apps.kruise.io/v1alpha1" | "apps.kruise.io/v1beta1"), Some("CloneSet" | "StatefulSet"))
    );
    built_in || object["spec"]["replicas"].is_i64() || object["spec"]["replicas"].is_u64()
}

/// Which objects are scaled: the workload's children where it has some, else the workload itself; of these the scalable ones.
#[must_use]
pub fn targets<'a>(workload: &'a Value, children: &'a [Value]) -> Vec<&'a Value> {
    let candidates: Vec<&Value> =
        if children.is_empty() { vec![workload] } else { children.iter().collect() };
    candidates.into_iter().filter(|object| is_scalable(object)).collect()
}

/// The merge patch that gives `target` the trait's replicas and records the trait as an owner that does not control
/// it; `None` when nothing would change.
#[must_use]
pub fn patch(scaler: &ManualScalerTrait, target: &Value) -> Option<Value> {
    let uid = scaler.metadata.uid.as_deref().unwrap_or_default();
    let owners = target["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
    let owned = owners.iter().any(|owner| owner["uid"] == uid);
    let replicas = scaler.spec.replica_count;
    if owned && target["spec"]["replicas"] == replicas {
        return None;
    }
    let mut patch = json!({ "spec": { "replicas": replicas } });
    if !owned {
        let mut owners = owners;
        owners.push(json!({
            "apiVersion": API_VERSION,
            "kind": KIND,
            "name": scaler.metadata.name,
            "uid": uid,
            "controller": false,
            "blockOwnerDeletion": true,
        }));
        // A merge patch replaces the whole list; the version makes sure that no client added an owner meanwhile.
        patch["metadata"] = json!({
            "ownerReferences": owners,
            "resourceVersion": target["metadata"]["resourceVersion"],
        });
    }
    Some(patch)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scaler(replicas: i32) -> ManualScalerTrait {
        serde_json::from_value(json!({
            "apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": "s", "uid": "t-1"},
            "spec": {"replicaCount": replicas, "workloadRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}},
        }))
        .unwrap()
    }

    #[test]
    fn the_owner_is_added_once_beside_the_others() {
        let mut target = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"resourceVersion": "7", "ownerReferences": [{"uid": "w-1", "controller": true}]},
            "spec": {"replicas": 1},
        });
        let patch_ = patch(&scaler(3), &target).unwrap();
        assert_eq!(patch_["spec"]["replicas"], 3);
        assert_eq!(patch_["metadata"]["resourceVersion"], "7");
        let owners = patch_["metadata"]["ownerReferences"].as_array().unwrap();
        assert_eq!((owners.len(), owners[1]["controller"].clone()), (2, json!(false)));
        target["metadata"]["ownerReferences"] = json!(owners);
        target["spec"]["replicas"] = json!(3);
        assert_eq!(patch(&scaler(3), &target), None);
        assert_eq!(patch(&scaler(0), &target), Some(json!({"spec": {"replicas": 0}})));
    }

    #[test]
    fn children_are_scaled_instead_of_their_workload() {
        let workload = json!({"kind": "ContainerizedWorkload", "spec": {}});
        let children = [
            json!({"apiVersion": "apps/v1", "kind": "Deployment"}),
            json!({"apiVersion": "v1", "kind": "Service"}),
        ];
        assert_eq!(targets(&workload, &children), [&children[0]]);
        assert!(targets(&workload, &[]).is_empty());
        let custom = json!({"kind": "Foo", "spec": {"replicas": 2}});
        assert_eq!(targets(&custom, &[]), [&custom]);
    }
}
