//! The kinds of workloads whose pods may have a sidecar, and what is read of one.

use std::collections::BTreeMap;

use kube::api::{ApiResource, DynamicObject, GroupVersionKind};
use serde_json::Value;
use vela_runtime::Key;

use crate::annotations::{self, AnnotationError, Sidecar};

/// A kind whose objects have a pod template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WorkloadKind {
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    pub(crate) kind: &'static str,
    /// Name of the controller that reconciles it.
    pub(crate) controller: &'static str,
}

pub(crate) const DEPLOYMENT: WorkloadKind =
    WorkloadKind { group: "apps", version: "v1", kind: "Deployment", controller: "dapr-deployment" };
const STATEFUL_SET: WorkloadKind =
    WorkloadKind { group: "apps", version: "v1", kind: "StatefulSet", controller: "dapr-statefulset" };
/// Of Argo Rollouts, which a cluster may have or not.
pub(crate) const ROLLOUT: WorkloadKind =
    WorkloadKind { group: "argoproj.io", version: "v1alpha1", kind: "Rollout", controller: "dapr-rollout" };
/// The kinds that every cluster has.
pub(crate) const BUILT_IN: [WorkloadKind; 2] = [DEPLOYMENT, STATEFUL_SET];
/// Every kind that gets Services.
pub(crate) const KINDS: [WorkloadKind; 3] = [DEPLOYMENT, STATEFUL_SET, ROLLOUT];

impl WorkloadKind {
    pub(crate) fn api_version(self) -> String {
        format!("{}/{}", self.group, self.version)
    }

    pub(crate) fn resource(self) -> ApiResource {
        ApiResource::from_gvk(&GroupVersionKind::gvk(self.group, self.version, self.kind))
    }
}

/// What is read of a workload.
#[derive(Clone, Debug)]
pub(crate) struct Workload {
    pub(crate) kind: WorkloadKind,
    pub(crate) key: Key,
    pub(crate) uid: String,
    /// When it was made, as the server writes it, which can be compared as text.
    pub(crate) created: String,
    pub(crate) is_going: bool,
    selector: Value,
    annotations: BTreeMap<String, String>,
}

impl Workload {
    pub(crate) fn of(kind: WorkloadKind, object: &DynamicObject) -> Self {
        let annotations = &object.data["spec"]["template"]["metadata"]["annotations"];
        let created = object.metadata.creation_timestamp.as_ref();
        Self {
            kind,
            key: Key::of(object),
            uid: object.metadata.uid.clone().unwrap_or_default(),
            created: created.map(|time| time.0.to_string()).unwrap_or_default(),
            is_going: object.metadata.deletion_timestamp.is_some(),
            selector: object.data["spec"]["selector"]["matchLabels"].clone(),
            annotations: serde_json::from_value(annotations.clone()).unwrap_or_default(),
        }
    }

    /// The labels by which it finds its pods.
    pub(crate) fn match_labels(&self) -> &Value {
        &self.selector
    }

    /// What its pod template asks for.
    ///
    /// # Errors
    /// Every mistake in its annotations.
    pub(crate) fn sidecar(&self) -> Result<Option<Sidecar>, Vec<AnnotationError>> {
        annotations::read(&self.annotations)
    }

    /// Kind and name, for messages.
    pub(crate) fn title(&self) -> String {
        format!("{} {}", self.kind.kind, self.key.name)
    }
}
