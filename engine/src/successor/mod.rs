//! Converts objects of versions that Kubernetes has withdrawn to the versions that followed them.
//!
//! Manifests and templates outlive API versions: those for Kubernetes 1.16 name versions that no cluster serves since
//! 1.22 or 1.25. These functions ask no cluster: the caller finds out that a kind is not served in the version that is
//! written, and is in the one that [`version`] gives; only then [`object`] is to be applied. Source of the rules: the
//! Kubernetes deprecated API migration guide. Where the two versions mean different things by leaving a field out, the
//! field is written so that the meaning of the old one stays.

mod autoscaling;
mod custom_resource;
mod fields;
mod ingress;
mod workloads;

use std::collections::BTreeSet;

use serde_json::{Map, Value as Json, json};

use self::fields::{Fields, spec};

/// How an object's fields change on the way; the version is changed for all.
type Rewrite = fn(&mut Fields);

/// A kind as objects name it: `apiVersion` and `kind`.
pub type VersionKind = (String, String);

/// Withdrawn version, kinds, version that followed, what to do with the fields.
const SUCCESSORS: [(&str, &[&str], &str, Rewrite); 20] = [
    ("extensions/v1beta1", &["Ingress"], "networking.k8s.io/v1", ingress::rewrite),
    ("extensions/v1beta1", &["NetworkPolicy"], "networking.k8s.io/v1", same),
    ("extensions/v1beta1", &["Deployment", "ReplicaSet"], "apps/v1", workloads::replicated),
    ("extensions/v1beta1", &["DaemonSet"], "apps/v1", workloads::updated_on_delete),
    ("networking.k8s.io/v1beta1", &["Ingress"], "networking.k8s.io/v1", ingress::rewrite),
    ("networking.k8s.io/v1beta1", &["IngressClass"], "networking.k8s.io/v1", same),
    ("apps/v1beta1", &["Deployment"], "apps/v1", workloads::replicated),
    ("apps/v1beta1", &["StatefulSet"], "apps/v1", workloads::updated_on_delete),
    ("apps/v1beta2", &["Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"], "apps/v1", same),
    ("batch/v1beta1", &["CronJob"], "batch/v1", same),
    ("batch/v2alpha1", &["CronJob"], "batch/v1", same),
    ("policy/v1beta1", &["PodDisruptionBudget"], "policy/v1", disruption_budget),
    ("autoscaling/v2beta1", &["HorizontalPodAutoscaler"], "autoscaling/v2", autoscaling::rewrite),
    ("autoscaling/v2beta2", &["HorizontalPodAutoscaler"], "autoscaling/v2", same),
    ("rbac.authorization.k8s.io/v1beta1", &RBAC, "rbac.authorization.k8s.io/v1", same),
    ("scheduling.k8s.io/v1beta1", &["PriorityClass"], "scheduling.k8s.io/v1", same),
    ("storage.k8s.io/v1beta1", &["StorageClass", "VolumeAttachment"], "storage.k8s.io/v1", same),
    ("coordination.k8s.io/v1beta1", &["Lease"], "coordination.k8s.io/v1", same),
    ("apiregistration.k8s.io/v1beta1", &["APIService"], "apiregistration.k8s.io/v1", same),
    (
        "apiextensions.k8s.io/v1beta1",
        &["CustomResourceDefinition"],
        "apiextensions.k8s.io/v1",
        custom_resource::rewrite,
    ),
];

const RBAC: [&str; 4] = ["Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"];

/// The version that followed a withdrawn one.
///
/// ```
/// use vela_engine::successor::version;
/// assert_eq!(version("networking.k8s.io/v1beta1", "Ingress"), Some("networking.k8s.io/v1"));
/// assert_eq!(version("networking.k8s.io/v1", "Ingress"), None);
/// ```
pub fn version(api_version: &str, kind: &str) -> Option<&'static str> {
    entry(api_version, kind).map(|(next, _)| next)
}

/// The kinds of a withdrawn group version, each with the version that followed; none where it is not withdrawn.
pub fn kinds(api_version: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let of_it = SUCCESSORS.iter().filter(move |(old, ..)| *old == api_version);
    of_it.flat_map(|(_, kinds, next, _)| kinds.iter().map(|kind| (*kind, *next)))
}

/// The object in the version that followed; nothing where its own version is not a withdrawn one.
pub fn object(object: &Json) -> Option<Json> {
    let (next, rewrite) = entry(object["apiVersion"].as_str()?, object["kind"].as_str()?)?;
    let mut fields = object.as_object()?.clone();
    rewrite(&mut fields);
    fields.insert("apiVersion".to_owned(), json!(next));
    Some(Json::Object(fields))
}

/// Writes the successors of those objects whose kinds are among `not_served`, and says what it did for each.
pub(crate) fn succeed<'a>(
    objects: impl Iterator<Item = &'a mut Json>,
    not_served: &BTreeSet<VersionKind>,
) -> Vec<String> {
    let mut said = Vec::new();
    for old in objects {
        let Some(kind) = version_kind(old).filter(|kind| not_served.contains(kind)) else { continue };
        if let Some(new) = object(old) {
            said.push(format!(
                "{} {}: the cluster does not serve {} any more, so it is written as {}",
                kind.1,
                old["metadata"]["name"].as_str().unwrap_or_default(),
                kind.0,
                new["apiVersion"].as_str().unwrap_or_default(),
            ));
            *old = new;
        }
    }
    said
}

/// The kinds of withdrawn versions among the objects.
pub(crate) fn withdrawn<'a>(objects: impl Iterator<Item = &'a Json>) -> BTreeSet<VersionKind> {
    objects
        .filter_map(version_kind)
        .filter(|(api_version, kind)| version(api_version, kind).is_some())
        .collect()
}

fn version_kind(object: &Json) -> Option<VersionKind> {
    Some((object["apiVersion"].as_str()?.to_owned(), object["kind"].as_str()?.to_owned()))
}

fn entry(api_version: &str, kind: &str) -> Option<(&'static str, Rewrite)> {
    let found = SUCCESSORS.iter().find(|(old, kinds, ..)| *old == api_version && kinds.contains(&kind));
    found.map(|(_, _, next, rewrite)| (*next, *rewrite))
}

/// Both versions have the same fields.
fn same(_: &mut Fields) {}

/// An empty selector took no pod and takes every pod now; none at all still takes none.
fn disruption_budget(object: &mut Fields) {
    let Some(spec) = spec(object) else { return };
    if spec.get("selector").and_then(Json::as_object).is_some_and(Map::is_empty) {
        spec.remove("selector");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_successor_is_served_today_and_named_once() {
        let mut seen = BTreeSet::new();
        for (old, kinds, next, _) in SUCCESSORS {
            for kind in kinds {
                assert!(seen.insert((old, *kind)), "{old} {kind} stands twice");
                assert_eq!(version(next, kind), None, "{next} {kind} is withdrawn itself");
            }
        }
    }

    #[test]
    fn a_budget_for_no_pod_stays_one() {
        let old = json!({"apiVersion": "policy/v1beta1", "kind": "PodDisruptionBudget", "spec": {"selector": {}, "minAvailable": 1}});
        let new =
            json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "spec": {"minAvailable": 1}});
        assert_eq!(object(&old), Some(new));
    }

    #[test]
    fn only_what_is_not_served_is_changed_and_it_is_said() {
        let cron = json!({"apiVersion": "batch/v1beta1", "kind": "CronJob", "metadata": {"name": "tidy"}});
        let mut objects = [cron.clone(), json!({"apiVersion": "v1", "kind": "Service"}), json!("odd")];
        let not_served = withdrawn(objects.iter());
        assert_eq!(not_served, BTreeSet::from([("batch/v1beta1".to_owned(), "CronJob".to_owned())]));
        assert!(succeed(objects.iter_mut(), &BTreeSet::new()).is_empty());
        assert_eq!(objects[0], cron);
        let said = succeed(objects.iter_mut(), &not_served);
        assert_eq!(
            said,
            ["CronJob tidy: the cluster does not serve batch/v1beta1 any more, so it is written as batch/v1"]
        );
        assert_eq!(objects[0]["apiVersion"], "batch/v1");
    }
}
