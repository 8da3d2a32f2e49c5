//! The Rust type of each built-in kind, from which its schema and its descriptions are made.

use k8s_openapi::api;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{DeleteOptions, ObjectMeta};
use schemars::{JsonSchema, SchemaGenerator};

macro_rules! kinds {
    ($($api_version:literal $kind:literal => $type:ty;)*) => {
        /// Adds the schemas of a kind and of all that it uses; its own name comes back.
        pub(super) fn add(generator: &mut SchemaGenerator, api_version: &str, kind: &str) -> Option<String> {
            match (api_version, kind) {
                $(($api_version, $kind) => { let _ = generator.subschema_for::<$type>(); })*
                _ => return None,
            }
            name(api_version, kind)
        }

        /// The name of the schema of a kind.
        pub(super) fn name(api_version: &str, kind: &str) -> Option<String> {
            match (api_version, kind) {
                $(($api_version, $kind) => Some(<$type as JsonSchema>::schema_name().into_owned()),)*
                _ => None,
            }
        }
    };
}

kinds! {
    "v1" "ConfigMap" => api::core::v1::ConfigMap;
    "v1" "Endpoints" => api::core::v1::Endpoints;
    "v1" "Event" => api::core::v1::Event;
    "v1" "LimitRange" => api::core::v1::LimitRange;
    "v1" "Namespace" => api::core::v1::Namespace;
    "v1" "Node" => api::core::v1::Node;
    "v1" "PersistentVolume" => api::core::v1::PersistentVolume;
    "v1" "PersistentVolumeClaim" => api::core::v1::PersistentVolumeClaim;
    "v1" "Pod" => api::core::v1::Pod;
    "v1" "PodTemplate" => api::core::v1::PodTemplate;
    "v1" "ReplicationController" => api::core::v1::ReplicationController;
    "v1" "ResourceQuota" => api::core::v1::ResourceQuota;
    "v1" "Secret" => api::core::v1::Secret;
    "v1" "Service" => api::core::v1::Service;
    "v1" "ServiceAccount" => api::core::v1::ServiceAccount;
    "admissionregistration.k8s.io/v1" "MutatingWebhookConfiguration" => api::admissionregistration::v1::MutatingWebhookConfiguration;
    "admissionregistration.k8s.io/v1" "ValidatingAdmissionPolicy" => api::admissionregistration::v1::ValidatingAdmissionPolicy;
    "admissionregistration.k8s.io/v1" "ValidatingAdmissionPolicyBinding" => api::admissionregistration::v1::ValidatingAdmissionPolicyBinding;
    "admissionregistration.k8s.io/v1" "ValidatingWebhookConfiguration" => api::admissionregistration::v1::ValidatingWebhookConfiguration;
    "apiextensions.k8s.io/v1" "CustomResourceDefinition" => CustomResourceDefinition;
    "apps/v1" "ControllerRevision" => api::apps::v1::ControllerRevision;
    "apps/v1" "DaemonSet" => api::apps::v1::DaemonSet;
    "apps/v1" "Deployment" => api::apps::v1::Deployment;
    "apps/v1" "ReplicaSet" => api::apps::v1::ReplicaSet;
    "apps/v1" "StatefulSet" => api::apps::v1::StatefulSet;
    "autoscaling/v2" "HorizontalPodAutoscaler" => api::autoscaling::v2::HorizontalPodAutoscaler;
    "batch/v1" "CronJob" => api::batch::v1::CronJob;
    "batch/v1" "Job" => api::batch::v1::Job;
    "coordination.k8s.io/v1" "Lease" => api::coordination::v1::Lease;
    "discovery.k8s.io/v1" "EndpointSlice" => api::discovery::v1::EndpointSlice;
    "events.k8s.io/v1" "Event" => api::events::v1::Event;
    "networking.k8s.io/v1" "Ingress" => api::networking::v1::Ingress;
    "networking.k8s.io/v1" "IngressClass" => api::networking::v1::IngressClass;
    "networking.k8s.io/v1" "NetworkPolicy" => api::networking::v1::NetworkPolicy;
    "policy/v1" "PodDisruptionBudget" => api::policy::v1::PodDisruptionBudget;
    "rbac.authorization.k8s.io/v1" "ClusterRole" => api::rbac::v1::ClusterRole;
    "rbac.authorization.k8s.io/v1" "ClusterRoleBinding" => api::rbac::v1::ClusterRoleBinding;
    "rbac.authorization.k8s.io/v1" "Role" => api::rbac::v1::Role;
    "rbac.authorization.k8s.io/v1" "RoleBinding" => api::rbac::v1::RoleBinding;
    "scheduling.k8s.io/v1" "PriorityClass" => api::scheduling::v1::PriorityClass;
    "storage.k8s.io/v1" "StorageClass" => api::storage::v1::StorageClass;
}

/// Adds the schema of `metadata`, which custom resources refer to.
pub(super) fn add_meta(generator: &mut SchemaGenerator) {
    let _ = generator.subschema_for::<ObjectMeta>();
}

/// Adds the schema of the options of a deletion.
pub(super) fn add_delete_options(generator: &mut SchemaGenerator) {
    let _ = generator.subschema_for::<DeleteOptions>();
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_built_in_kind_has_a_schema() {
        for kind in crate::builtin::kinds() {
            assert!(
                super::name(&kind.api_version(), kind.kind).is_some(),
                "{} {}",
                kind.api_version(),
                kind.kind
            );
        }
    }
}
