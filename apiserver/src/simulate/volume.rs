//! PersistentVolumeClaim → a simulated PersistentVolume, bound to it.
use serde_json::{Value, json};

use super::object::{self, set, text};
use super::{Action, Outcome, View};

pub(super) fn reconcile(view: &dyn View, claim: &Value, out: &mut Outcome) {
    const VOLUMES: &str = "persistentvolumes";
    if text(claim, "/status/phase") == "Bound" {
        return;
    }
    let named = text(claim, "/spec/volumeName");
    let name = if named.is_empty() { format!("pvc-{}", object::uid(claim)) } else { named.to_owned() };
    let size = claim.pointer("/spec/resources/requests").cloned().unwrap_or_else(|| json!({}));
    let modes = claim.pointer("/spec/accessModes").cloned().unwrap_or_else(|| json!([]));
    if view.get(VOLUMES, "", &name).is_none() {
        if !named.is_empty() {
            // A pod asks for a volume that does not exist: it waits, as on a real cluster.
            return;
        }
        let mut volume = json!({
            "apiVersion": "v1", "kind": "PersistentVolume",
            "metadata": {"name": name, "annotations": {"pv.kubernetes.io/provisioned-by": "simulate.vela.dev"}},
            "spec": {
                "accessModes": modes, "capacity": size, "persistentVolumeReclaimPolicy": "Delete",
                "hostPath": {"path": format!("/simulated/{name}")},
                "claimRef": {
                    "apiVersion": "v1", "kind": "PersistentVolumeClaim", "name": object::name(claim),
                    "namespace": object::namespace(claim), "uid": object::uid(claim),
                },
            },
        });
        if let Some(class) = claim.pointer("/spec/storageClassName") {
            set(&mut volume, &["spec", "storageClassName"], class.clone());
        }
        out.actions.push(Action::Create { resource: VOLUMES.to_owned(), object: volume });
    }
    if named.is_empty() {
        // The change of the claim brings the next step, which says that it is bound.
        let mut next = claim.clone();
        set(&mut next, &["spec", "volumeName"], name.into());
        set(&mut next, &["metadata", "annotations", "pv.kubernetes.io/bind-completed"], "yes".into());
        out.actions.push(Action::Update { resource: "persistentvolumeclaims".to_owned(), object: next });
        return;
    }
    let status = json!({"phase": "Bound", "accessModes": modes, "capacity": size});
    if let Value::Object(status) = status {
        object::put_status("persistentvolumeclaims", claim, status, out);
    }
}

/// A volume with a claim is bound, one without is available.
pub(super) fn settle(volume: &Value, out: &mut Outcome) {
    let phase = if text(volume, "/spec/claimRef/name").is_empty() { "Available" } else { "Bound" };
    if matches!(text(volume, "/status/phase"), "" | "Pending" | "Available") {
        let mut status = volume.get("status").and_then(Value::as_object).cloned().unwrap_or_default();
        status.insert("phase".to_owned(), phase.into());
        object::put_status("persistentvolumes", volume, status, out);
    }
}
