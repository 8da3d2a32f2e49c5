//! A pod → what the watchdog does about it. Pure; it asks no server.

use jiff::Timestamp;
use kube::api::DynamicObject;
use vela_runtime::owner;

use super::restarts::Restarts;
use crate::annotations::ENABLED;
use crate::injector::{INJECTED, asks_for_sidecar, has_sidecar};

/// The label of a pod whose sidecar was found by the watchdog: the next round passes over it.
pub(super) const PATCHED: &str = "dapr.io/watchdog-patched";
/// Pods that neither the injector nor a former round has marked.
pub(super) const UNMARKED: &str = "!dapr.io/sidecar-injected,!dapr.io/watchdog-patched";
/// Where no injector adds sidecars.
const CLUSTER: &str = "kube-system";

/// What is done about a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Judgement {
    /// It asks for no sidecar, or has ended, or is on its way out.
    Pass,
    /// It has a sidecar and no label that says so.
    Present,
    /// It asks for a sidecar, and a restart would bring none: why.
    InVain(String),
    /// It asks for a sidecar that it does not have.
    Restart(Maker),
}

/// Who makes the pod anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Maker {
    pub(super) uid: String,
    /// Kind and name.
    pub(super) title: String,
}

/// Judges a pod that is not of the control plane's own namespace.
pub(super) fn judge(
    pod: &DynamicObject,
    control_plane: &str,
    restarts: &Restarts,
    now: Timestamp,
) -> Judgement {
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    let labels = pod.metadata.labels.iter().flatten();
    let mut labels = labels.map(|(name, _)| name.as_str());
    let phase = pod.data["status"]["phase"].as_str().unwrap_or_default();
    let passes = [CLUSTER, control_plane].contains(&namespace)
        || labels.any(|name| [INJECTED, PATCHED].contains(&name))
        || pod.metadata.deletion_timestamp.is_some()
        || ["Succeeded", "Failed"].contains(&phase);
    if passes {
        return Judgement::Pass;
    }
    let annotations = pod.metadata.annotations.as_ref();
    let enabled = annotations.and_then(|annotations| annotations.get(ENABLED)).map_or("", String::as_str);
    let asks = asks_for_sidecar(enabled);
    if asks == Ok(false) {
        return Judgement::Pass;
    }
    if has_sidecar(&pod.data) {
        return Judgement::Present;
    }
    if let Err(word) = asks {
        return Judgement::InVain(word);
    }
    match owner::controller_of(pod) {
        None => Judgement::InVain(
            "it has no sidecar, and no controller would make it anew; delete it and make it again".to_owned(),
        ),
        // The kubelet mirrors a file of its node: a deleted mirror comes back as it was.
        Some(maker) if maker.kind == "Node" => Judgement::InVain(
            "it has no sidecar, and a static pod never gets one; make a DaemonSet of it".to_owned(),
        ),
        Some(maker) => {
            let made = pod.metadata.creation_timestamp.as_ref().map(|time| time.0);
            if restarts.came_back(&maker.uid, made, now) {
                return Judgement::InVain(format!(
                    "{} {} made it anew, and it came back without a sidecar; look at the injector, it is tried again later",
                    maker.kind, maker.name
                ));
            }
            let title = format!("{} {}", maker.kind, maker.name);
            Judgement::Restart(Maker { uid: maker.uid.clone(), title })
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn judged(change: &Value) -> Judgement {
        let mut pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "name": "p", "namespace": "shop", "creationTimestamp": "2026-01-01T00:00:00Z",
                "annotations": {"dapr.io/enabled": "true"},
                "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u", "controller": true}],
            },
            "spec": {"containers": [{"name": "c"}]},
        });
        json_patch::merge(&mut pod, change);
        let pod: DynamicObject = serde_json::from_value(pod).unwrap();
        judge(&pod, "dapr-system", &Restarts::default(), Timestamp::UNIX_EPOCH)
    }

    #[test]
    fn only_a_pod_that_lacks_its_sidecar_is_restarted() {
        let title = "ReplicaSet r".to_owned();
        assert_eq!(judged(&json!({})), Judgement::Restart(Maker { uid: "u".to_owned(), title }));
        for passed in [
            json!({"metadata": {"annotations": {"dapr.io/enabled": "no"}}}),
            json!({"metadata": {"annotations": null}}),
            json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:01Z"}}),
            json!({"metadata": {"labels": {"dapr.io/sidecar-injected": "true"}}}),
            json!({"metadata": {"labels": {"dapr.io/watchdog-patched": "true"}}}),
            json!({"metadata": {"namespace": "kube-system"}}),
            json!({"metadata": {"namespace": "dapr-system"}}),
            json!({"status": {"phase": "Succeeded"}}),
            json!({"status": {"phase": "Failed"}}),
        ] {
            assert_eq!(judged(&passed), Judgement::Pass, "{passed}");
        }
        for present in [
            json!({"spec": {"containers": [{"name": "c"}, {"name": "daprd"}]}}),
            json!({"spec": {"initContainers": [{"name": "daprd", "restartPolicy": "Always"}]}}),
            json!({"spec": {"containers": [{"name": "daprd"}]}, "metadata": {"ownerReferences": null}}),
        ] {
            assert_eq!(judged(&present), Judgement::Present, "{present}");
        }
    }

    #[test]
    fn a_restart_that_would_help_nothing_says_why() {
        for (change, expected) in [
            (json!({"metadata": {"annotations": {"dapr.io/enabled": "yes"}}}), "write true"),
            (json!({"metadata": {"ownerReferences": null}}), "no controller would make it anew"),
            (
                json!({"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u", "controller": true}]}}),
                "static pod",
            ),
            (
                json!({"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "A", "name": "n", "uid": "u"}]}}),
                "no controller would make it anew",
            ),
        ] {
            let judgement = judged(&change);
            assert!(
                matches!(&judgement, Judgement::InVain(why) if why.contains(expected)),
                "{change}: {judgement:?}"
            );
        }
    }
}
