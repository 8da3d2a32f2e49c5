//! The rules of built-in kinds: an object in, every broken rule out, in the real API server's words.
mod fields;
mod names;
mod pods;
mod resources;
mod workloads;

use serde_json::Value;

use crate::cause::Cause;

/// More causes than this help no user.
const MAX_CAUSES: usize = 100;

/// Checks an object; `old` is the object before an update.
pub fn validate(api_version: &str, kind: &str, new: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = Vec::new();
    let out = &mut causes;
    match (api_version, kind) {
        ("v1", "Pod") => match old {
            None => pods::spec(new.pointer("/spec"), "spec", out),
            Some(old) => pods::update(new, old, out),
        },
        ("apps/v1", "Deployment") => workloads::deployment(new, old, out),
        ("apps/v1", "ReplicaSet") => workloads::replica_set(new, old, out),
        ("apps/v1", "StatefulSet") => workloads::stateful_set(new, old, out),
        ("apps/v1", "DaemonSet") => workloads::daemon_set(new, old, out),
        ("batch/v1", "Job") => workloads::job(new, old, out),
        ("batch/v1", "CronJob") => workloads::cron_job(new, out),
        ("v1", "Service") => resources::service(new, old, out),
        ("v1", "ConfigMap") => resources::config_map(new, old, out),
        ("v1", "Secret") => resources::secret(new, old, out),
        ("v1", "PersistentVolumeClaim") => resources::claim(new, old, out),
        ("networking.k8s.io/v1", "Ingress") => resources::ingress(new, out),
        ("autoscaling/v2", "HorizontalPodAutoscaler") => resources::autoscaler(new, out),
        ("policy/v1", "PodDisruptionBudget") => resources::disruption_budget(new, out),
        ("rbac.authorization.k8s.io/v1", "RoleBinding" | "ClusterRoleBinding") => {
            resources::role_binding(kind, new, old, out);
        }
        _ => {}
    }
    causes.truncate(MAX_CAUSES);
    causes
}
