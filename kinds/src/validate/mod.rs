//! The rules of built-in kinds: an object in, every broken rule out, in the real API server's words.
mod fields;
mod names;
mod pods;
mod resources;
mod workloads;

use serde_json::Value;

pub(crate) use self::fields::at;
use crate::cause::Cause;

/// More causes than this help no user.
const MAX_CAUSES: usize = 100;

/// The rules of one kind: the object, the object before an update, and the broken ones.
type Rules = fn(&Value, Option<&Value>, &mut Vec<Cause>);

/// Checks an object; `old` is the object before an update.
pub fn validate(api_version: &str, kind: &str, new: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = Vec::new();
    if let Some(rules) = rules(api_version, kind) {
        rules(new, old, &mut causes);
    }
    causes.truncate(MAX_CAUSES);
    causes
}

/// Has the kind rules beyond its types?
pub(crate) fn has_rules(api_version: &str, kind: &str) -> bool {
    rules(api_version, kind).is_some()
}

fn rules(api_version: &str, kind: &str) -> Option<Rules> {
    Some(match (api_version, kind) {
        ("v1", "Pod") => |new, old, out| match old {
            None => pods::spec(at(new, "spec"), "spec", out),
            Some(old) => pods::update(new, old, out),
        },
        ("apps/v1", "Deployment") => workloads::deployment,
        ("apps/v1", "ReplicaSet") => workloads::replica_set,
        ("apps/v1", "StatefulSet") => workloads::stateful_set,
        ("apps/v1", "DaemonSet") => workloads::daemon_set,
        ("batch/v1", "Job") => workloads::job,
        ("batch/v1", "CronJob") => |new, _, out| workloads::cron_job(new, out),
        ("v1", "Service") => resources::service,
        ("v1", "ConfigMap") => resources::config_map,
        ("v1", "Secret") => resources::secret,
        ("v1", "PersistentVolumeClaim") => resources::claim,
        ("networking.k8s.io/v1", "Ingress") => |new, _, out| resources::ingress(new, out),
        ("autoscaling/v2", "HorizontalPodAutoscaler") => |new, _, out| resources::autoscaler(new, out),
        ("policy/v1", "PodDisruptionBudget") => |new, _, out| resources::disruption_budget(new, out),
        ("rbac.authorization.k8s.io/v1", "RoleBinding") => {
            |new, old, out| resources::role_binding("RoleBinding", new, old, out)
        }
        ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding") => {
            |new, old, out| resources::role_binding("ClusterRoleBinding", new, old, out)
        }
        _ => return None,
    })
}
