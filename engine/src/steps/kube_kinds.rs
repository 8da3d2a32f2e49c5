//! Packages `kube/<group>/<version>` out: a definition for each built-in kind, open, with its `apiVersion` and `kind`.
//!
//! KubeVela made them from the OpenAPI document of the cluster it ran on. What a template takes from them is the type
//! of an object; whether its fields are right is for the API server to say.

use vela_cue::{Provider, Source};

/// The kinds of one version of a group.
pub(super) struct KubeKinds {
    path: &'static str,
    kinds: &'static [&'static str],
}

impl KubeKinds {
    const fn new(path: &'static str, kinds: &'static [&'static str]) -> Self {
        Self { path, kinds }
    }
}

impl Provider for KubeKinds {
    fn path(&self) -> &str {
        self.path
    }

    fn sources(&self) -> Vec<Source> {
        let api_version = self.path.strip_prefix("kube/").unwrap_or(self.path);
        let definition = |kind: &&str| {
            format!("#{kind}: {{\n\tapiVersion: \"{api_version}\"\n\tkind: \"{kind}\"\n\t...\n}}\n")
        };
        let text = format!("package kube\n\n{}", self.kinds.iter().map(definition).collect::<String>());
        vec![Source::new(format!("{}.cue", self.path), text)]
    }
}

pub(super) static CORE: KubeKinds = KubeKinds::new(
    "kube/v1",
    &[
        "ConfigMap",
        "Endpoints",
        "LimitRange",
        "Namespace",
        "PersistentVolume",
        "PersistentVolumeClaim",
        "Pod",
        "ReplicationController",
        "ResourceQuota",
        "Secret",
        "Service",
        "ServiceAccount",
    ],
);
pub(super) static APPS: KubeKinds =
    KubeKinds::new("kube/apps/v1", &["DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"]);
pub(super) static BATCH: KubeKinds = KubeKinds::new("kube/batch/v1", &["CronJob", "Job"]);
pub(super) static BATCH_V1BETA1: KubeKinds = KubeKinds::new("kube/batch/v1beta1", &["CronJob"]);
pub(super) static NETWORKING: KubeKinds =
    KubeKinds::new("kube/networking.k8s.io/v1", &["Ingress", "IngressClass", "NetworkPolicy"]);
pub(super) static NETWORKING_V1BETA1: KubeKinds =
    KubeKinds::new("kube/networking.k8s.io/v1beta1", &["Ingress", "IngressClass"]);
pub(super) static AUTOSCALING: KubeKinds =
    KubeKinds::new("kube/autoscaling/v1", &["HorizontalPodAutoscaler"]);
pub(super) static AUTOSCALING_V2: KubeKinds =
    KubeKinds::new("kube/autoscaling/v2", &["HorizontalPodAutoscaler"]);
pub(super) static POLICY: KubeKinds = KubeKinds::new("kube/policy/v1", &["PodDisruptionBudget"]);
pub(super) static RBAC: KubeKinds = KubeKinds::new(
    "kube/rbac.authorization.k8s.io/v1",
    &["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"],
);

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_kind_brings_its_type_and_nothing_else() {
        let text = "import apps \"kube/apps/v1\"\noutput: apps.#Deployment\noutput: spec: replicas: 2\n";
        let source = Source::new("template.cue", text);
        let template =
            vela_cue::Template::compile_with(&[source], &[&APPS]).map_err(|found| found.to_string());
        let value = template.and_then(|template| {
            template.instantiate(&[]).root().lookup("output").to_json().map_err(|found| found.to_string())
        });
        let expected = json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": 2}});
        assert_eq!(value, Ok(expected));
    }
}
