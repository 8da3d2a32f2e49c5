//! Decides whether an object with a changed immutable field may be recreated, and says what people can do where it may
//! not.
//!
//! The API server knows which fields those are, so its answer decides, not a list of fields. Only an object that holds
//! nothing but what the application says is made again; everything else, and every unknown kind, is left alone: the data
//! of a volume cannot be brought back.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use kube::api::DynamicObject;
use serde_json::Value;
use vela_runtime::Key;
use vela_runtime::apply::{self as runtime_apply, describe};
use vela_runtime::owner::controller_of;

use crate::application::inventory::Owned;

/// How API servers say that a field is immutable.
const WORDS: [&str; 9] = [
    "is immutable",
    "cannot change roleRef",
    "may not change once set",
    "may not be changed",
    "may not be modified",
    "may not change fields",
    "cannot be changed",
    "updates to statefulset spec for fields other than",
    "are forbidden.",
];

/// Refusals that are remembered; beyond it the memory starts anew, at the price of one request each.
const REFUSALS_AT_MOST: usize = 10_000;

/// The fields that a refused write would have changed, and may not; nothing where the server refused it for another reason,
/// or for another reason too.
pub(crate) fn fields(error: &runtime_apply::Error) -> Option<Vec<String>> {
    let runtime_apply::Error::Client { source: kube::Error::Api(status), .. } = error else { return None };
    if status.code != 422 {
        return None;
    }
    let causes = &status.details.as_ref()?.causes;
    let is_immutable = |message: &str| WORDS.iter().any(|words| message.contains(words));
    let all = !causes.is_empty() && causes.iter().all(|cause| is_immutable(&cause.message));
    all.then(|| causes.iter().map(|cause| cause.field.clone()).collect())
}

/// Why the live object is not deleted to be made again, and what people can do; nothing where it may be. `owner` is the uid of
/// the object that wants it: an ApplicationConfiguration controls what it makes.
pub(crate) fn why_retained(desired: &DynamicObject, live: &DynamicObject, owner: &str) -> Option<String> {
    let types = desired.types.clone().unwrap_or_default();
    let group = types.api_version.split_once('/').map_or("", |(group, _)| group);
    let key = Key::of(desired);
    if let Some(controller) = controller_of(live).filter(|controller| controller.uid != owner) {
        return Some(format!(
            "{} {} controls it, so vela does not delete it",
            controller.kind, controller.name
        ));
    }
    match (group, types.kind.as_str()) {
        ("batch", "Job")
        | ("", "Pod")
        | ("apps", "Deployment" | "ReplicaSet" | "DaemonSet")
        | ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding")
        | ("storage.k8s.io", "StorageClass")
        | ("networking.k8s.io", "IngressClass")
        | ("scheduling.k8s.io", "PriorityClass")
        | ("node.k8s.io", "RuntimeClass") => None,
        ("", "ConfigMap" | "Secret") => foreign_content(desired, live),
        ("", "Service") => (live.data.pointer("/spec/type").and_then(Value::as_str) == Some("LoadBalancer")).then(|| {
            "its load balancer would lose its address, so vela does not delete it: give the component another name, or \
             delete it, and it is made again"
                .to_owned()
        }),
        ("apps", "StatefulSet") => Some(format!(
            "its volumes may hold data, so vela does not delete it: `kubectl delete statefulset {} -n {} \
             --cascade=orphan` leaves pods and volumes, and it is made again",
            key.name, key.namespace
        )),
        ("", "PersistentVolumeClaim" | "PersistentVolume") => Some(
            "it may hold data, so vela does not delete it: take the change back, or give the component another name and \
             copy the data"
                .to_owned(),
        ),
        _ => Some(format!(
            "vela does not know what would be lost with it, and does not delete it: take the change back, give the component \
             another name, or delete {} by hand, and it is made again",
            describe(desired)
        )),
    }
}

/// A ConfigMap or Secret may hold more than the application put there.
fn foreign_content(desired: &DynamicObject, live: &DynamicObject) -> Option<String> {
    let parts = ["data", "stringData", "binaryData"];
    let has = |key: &str| parts.iter().any(|part| desired.data[*part].get(key).is_some());
    let keys = parts.iter().filter_map(|part| live.data.get(*part)?.as_object());
    let foreign = keys.flat_map(|part| part.keys()).find(|key| !has(key))?;
    Some(format!(
        "another client put {foreign:?} into it, so vela does not delete it: delete it by hand, and it is made again"
    ))
}

/// The refused objects: the same request is not sent again while neither the wish nor the object changes.
#[derive(Debug, Default)]
pub(crate) struct Refusals(Mutex<BTreeMap<Owned, Refusal>>);

/// One refusal.
#[derive(Debug)]
struct Refusal {
    desired_hash: String,
    version: Option<String>,
    message: String,
}

impl Refusals {
    /// The message about this wish for this very object.
    pub(crate) fn of(&self, owned: &Owned, desired: &DynamicObject, live: &DynamicObject) -> Option<String> {
        let refusals = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let refusal = refusals.get(owned)?;
        let same = refusal.desired_hash == runtime_apply::hash(desired)
            && refusal.version == live.metadata.resource_version;
        same.then(|| refusal.message.clone())
    }

    /// Remember the message of a refusal.
    pub(crate) fn insert(
        &self,
        owned: &Owned,
        desired: &DynamicObject,
        live: &DynamicObject,
        message: String,
    ) {
        let mut refusals = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if refusals.len() >= REFUSALS_AT_MOST {
            refusals.clear();
        }
        let (desired_hash, version) = (runtime_apply::hash(desired), live.metadata.resource_version.clone());
        refusals.insert(owned.clone(), Refusal { desired_hash, version, message });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: Value) -> DynamicObject {
        serde_json::from_value(value).unwrap()
    }

    fn refused(code: u16, causes: &[(&str, &str)]) -> runtime_apply::Error {
        let causes: Vec<Value> = causes
            .iter()
            .map(
                |(field, message)| json!({"reason": "FieldValueInvalid", "field": field, "message": message}),
            )
            .collect();
        let status = json!({"code": code, "reason": "Invalid", "details": {"causes": causes}});
        let source = kube::Error::Api(serde_json::from_value(status).unwrap());
        runtime_apply::Error::Client { object: "Job ns/a".to_owned(), source }
    }

    #[test]
    fn only_a_refusal_for_fixed_fields_alone_is_one() {
        let template = ("spec.template", "Invalid value: {}: field is immutable");
        assert_eq!(fields(&refused(422, &[template])), Some(vec!["spec.template".to_owned()]));
        assert_eq!(fields(&refused(409, &[template])), None);
        assert_eq!(fields(&refused(422, &[])), None);
        let wrong = ("spec.parallelism", "Invalid value: -1: must be greater than or equal to 0");
        assert_eq!(
            fields(&refused(422, &[template, wrong])),
            None,
            "another object would be refused as well"
        );
        for words in [
            "Invalid value: [\"10.0.0.1\"]: may not change once set",
            "Forbidden: updates to statefulset spec for fields other than 'replicas' are forbidden",
            "Forbidden: field is immutable when `immutable` is set",
            "Invalid value: {}: cannot change roleRef",
            "Forbidden: updates to parameters are forbidden.",
            "Forbidden: spec is immutable after creation except resources.requests for bound claims",
        ] {
            assert!(fields(&refused(422, &[("spec", words)])).is_some(), "{words}");
        }
    }

    #[test]
    fn what_may_hold_data_is_never_deleted() {
        let of = |api_version: &str, kind: &str| {
            object(
                json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "a", "namespace": "ns"}}),
            )
        };
        for (api_version, kind) in [
            ("v1", "PersistentVolumeClaim"),
            ("v1", "PersistentVolume"),
            ("v1", "Namespace"),
            ("apps/v1", "StatefulSet"),
            ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
            ("example.com/v1", "Job"),
        ] {
            let it = of(api_version, kind);
            assert!(why_retained(&it, &it, "").is_some(), "{kind}");
        }
        for (api_version, kind) in
            [("batch/v1", "Job"), ("apps/v1", "Deployment"), ("rbac.authorization.k8s.io/v1", "RoleBinding")]
        {
            let it = of(api_version, kind);
            assert_eq!(why_retained(&it, &it, ""), None, "{kind}");
            let mut held = it.clone();
            held.metadata.owner_references = Some(vec![
                serde_json::from_value(
                    json!({"apiVersion": "v1", "kind": "X", "name": "x", "uid": "1", "controller": true}),
                )
                .unwrap(),
            ]);
            assert!(why_retained(&it, &held, "").is_some(), "{kind} of a controller");
            assert_eq!(why_retained(&it, &held, "1"), None, "{kind} of the one that wants it");
        }
    }

    #[test]
    fn a_config_map_with_the_content_of_others_stays() {
        let map = |data: Value| {
            object(
                json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "immutable": true, "data": data}),
            )
        };
        assert_eq!(why_retained(&map(json!({"a": "2"})), &map(json!({"a": "1"})), ""), None);
        let said = why_retained(&map(json!({"a": "2"})), &map(json!({"a": "1", "b": "1"})), "").unwrap();
        assert!(said.contains("\"b\""), "{said}");
        let balancer = object(
            json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": {"type": "LoadBalancer"}}),
        );
        assert!(why_retained(&balancer, &balancer, "").is_some());
    }
}
