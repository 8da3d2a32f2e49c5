//! Fields of an installed object that another program set → which of them stay, and which give way.
//!
//! How many replicas a controller has and what resources it gets is the choice of who runs the cluster, so those fields stay.
//! Everything else that vela writes is part of the release.

use kube::api::{Patch, PatchParams};
use serde_json::Value;

use crate::cluster::Cluster;
use crate::error::Result;
use crate::ownership::FIELD_MANAGER;
use crate::pointer::text;

/// A field that this program and another one want to have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Conflict {
    pub(crate) manager: String,
    /// As API servers write it: `.spec.template.spec.containers[name="a"].image`.
    pub(crate) field: String,
}

/// Which fields of the object others hold, as the API server tells it; nothing is written.
pub(crate) async fn conflicts(cluster: &Cluster, object: &Value) -> Result<Vec<Conflict>> {
    let (api_version, kind) = (text(object, "/apiVersion"), text(object, "/kind"));
    let (namespace, name) = (text(object, "/metadata/namespace"), text(object, "/metadata/name"));
    let api = cluster.api(api_version, kind, Some(namespace)).await?;
    let params = PatchParams { dry_run: true, ..PatchParams::apply(FIELD_MANAGER) };
    match api.patch(name, &params, &Patch::Apply(object)).await {
        Ok(_) => Ok(Vec::new()),
        Err(kube::Error::Api(status)) if status.code == 409 => {
            let causes = status.details.as_ref().map(|details| details.causes.as_slice()).unwrap_or_default();
            Ok(causes.iter().filter_map(|cause| conflict(&cause.message, &cause.field)).collect())
        }
        Err(error) => Err(cluster.failure(&format!("judge {kind} {name}"), &error)),
    }
}

/// `conflict with "kubectl" using apps/v1` → `kubectl`; nothing of ourselves.
fn conflict(message: &str, field: &str) -> Option<Conflict> {
    let manager = message.strip_prefix("conflict with \"")?.split_once('"')?.0;
    (manager != FIELD_MANAGER).then(|| Conflict { manager: manager.to_owned(), field: field.to_owned() })
}

/// Is a field for the operator of a cluster to choose?
pub(crate) fn is_choice(kind: &str, field: &str) -> bool {
    const CONTAINERS: &str = ".spec.template.spec.containers[";
    let is_of_container =
        |field: &str| field.strip_prefix(CONTAINERS).is_some_and(|rest| rest.contains("].resources"));
    kind == "Deployment" && (field == ".spec.replicas" || is_of_container(field))
}

/// The object without a field; nothing where it has none at this path.
pub(crate) fn without(object: &Value, field: &str) -> Option<Value> {
    let steps = steps(field)?;
    let (last, parents) = steps.split_last()?;
    let mut rest = object.clone();
    let parent = parents.iter().try_fold(&mut rest, |at, step| step.follow(at))?;
    match last {
        Step::Field(name) => parent.as_object_mut()?.remove(*name).map(drop)?,
        Step::Item(..) => return None,
    }
    Some(rest)
}

/// One step from an object to one of its fields.
enum Step<'a> {
    Field(&'a str),
    /// The item of a list that has this value in this field.
    Item(&'a str, &'a str),
}

impl Step<'_> {
    fn follow<'v>(&self, at: &'v mut Value) -> Option<&'v mut Value> {
        match self {
            Self::Field(name) => at.get_mut(*name),
            Self::Item(key, value) => {
                at.as_array_mut()?.iter_mut().find(|item| item.get(*key).is_some_and(|live| live == value))
            }
        }
    }
}

/// `.a.b[name="c"].d` in steps; nothing for paths with another form of items.
fn steps(field: &str) -> Option<Vec<Step<'_>>> {
    let mut steps = Vec::new();
    for part in field.strip_prefix('.')?.split('.') {
        let (name, item) = part.split_once('[').map_or((part, None), |(name, item)| (name, Some(item)));
        steps.push(Step::Field(name));
        if let Some(item) = item {
            let (key, value) = item.strip_suffix("\"]")?.split_once("=\"")?;
            steps.push(Step::Item(key, value));
        }
    }
    Some(steps)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn replicas_and_resources_are_for_the_operator_to_choose() {
        let memory = ".spec.template.spec.containers[name=\"vela-core\"].resources.limits.memory";
        let image = ".spec.template.spec.containers[name=\"vela-core\"].image";
        assert!(is_choice("Deployment", ".spec.replicas") && is_choice("Deployment", memory));
        assert!(!is_choice("Deployment", image) && !is_choice("ClusterRole", ".spec.replicas"));
        let object = |limits: Value| {
            json!({"spec": {"template": {"spec": {"containers": [
                {"name": "other"}, {"name": "vela-core", "resources": {"limits": limits}},
            ]}}}})
        };
        let rest = without(&object(json!({"memory": "1Gi", "cpu": 1})), memory);
        assert_eq!(rest, Some(object(json!({"cpu": 1}))));
        assert_eq!(without(&object(json!({})), memory), None);
        assert_eq!(without(&object(json!({})), ".spec.a[0].b"), None);
    }

    #[test]
    fn a_conflict_names_the_other_program() {
        let of = |message| conflict(message, ".a").map(|conflict| conflict.manager);
        assert_eq!(
            of("conflict with \"kubectl\" with subresource \"scale\" using apps/v1").as_deref(),
            Some("kubectl")
        );
        assert_eq!(of("conflict with \"vela-cli\" using v1"), None);
        assert_eq!(of("immutable"), None);
    }
}
