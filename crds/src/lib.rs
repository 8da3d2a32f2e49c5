//! The words: API types of core.oam.dev and standard.oam.dev, and their CRD YAML.
//!
//! Each kind has its module; [`crds`] and [`crd_yaml`] give the CustomResourceDefinitions.
//! Free-form parts are [`Raw`]: the API server keeps their unknown fields. Nothing here acts.

pub mod annotations;
pub mod app_deployment;
pub mod app_rollout;
pub mod application;
pub mod application_configuration;
pub mod application_context;
pub mod application_deployment;
pub mod application_revision;
pub mod cluster;
pub mod component;
pub mod component_definition;
pub mod condition;
pub mod containerized_workload;
pub mod definition_revision;
pub mod finalizers;
pub mod generate;
pub mod health_scope;
pub mod labels;
pub mod manual_scaler_trait;
pub mod policy;
pub mod policy_definition;
pub mod raw;
pub mod reference;
pub mod resource_tracker;
pub mod rollout_plan;
pub mod schematic;
pub mod scope_definition;
pub mod service_binding;
pub mod standard;
pub mod trait_definition;
pub mod workflow;
pub mod workflow_step_definition;
pub mod workload_definition;

pub use app_deployment::{AppDeployment, AppDeploymentSpec};
pub use app_rollout::{AppRollout, AppRolloutSpec, AppRolloutStatus};
pub use application::{
    Application, ApplicationComponent, ApplicationPolicy, ApplicationSpec, ApplicationStatus,
    ApplicationTrait,
};
pub use application_configuration::{ApplicationConfiguration, ApplicationConfigurationSpec};
pub use application_context::{ApplicationContext, ApplicationContextSpec};
pub use application_deployment::ApplicationDeployment;
pub use application_revision::{ApplicationRevision, ApplicationRevisionSpec};
pub use cluster::{Cluster, ClusterSpec};
pub use component::{Component, ComponentSpec};
pub use component_definition::{ComponentDefinition, ComponentDefinitionSpec};
pub use condition::{Condition, Conditioned};
pub use containerized_workload::{ContainerizedWorkload, ContainerizedWorkloadSpec};
pub use definition_revision::{DefinitionRevision, DefinitionRevisionSpec, DefinitionType};
pub use generate::{CrdFile, GenerateError, crd_files, crd_yaml, crds};
pub use health_scope::{HealthScope, HealthScopeSpec};
pub use manual_scaler_trait::{ManualScalerTrait, ManualScalerTraitSpec};
pub use policy_definition::{PolicyDefinition, PolicyDefinitionSpec};
pub use raw::{Embedded, Raw};
pub use reference::{
    ChildResourceKind, ClusterObjectReference, DefinitionReference, ObjectReference, Revision,
    TypedReference, WorkloadGvk,
};
pub use resource_tracker::{ManagedResource, ResourceTracker, ResourceTrackerSpec};
pub use rollout_plan::{
    CanaryMetric, ComponentRollout, RolloutBatch, RolloutPlan, RolloutStatus, RolloutWebhook,
};
pub use schematic::{DefinitionStatus, DefinitionStatusTexts, Schematic};
pub use scope_definition::{ScopeDefinition, ScopeDefinitionSpec};
pub use service_binding::{ServiceBinding, ServiceBindingSpec};
pub use standard::{Autoscaler, MetricsTrait, PodSpecWorkload, RolloutTrait, RolloutTraitStatus, Route};
pub use trait_definition::{TraitDefinition, TraitDefinitionSpec};
pub use workflow_step_definition::{WorkflowStepDefinition, WorkflowStepDefinitionSpec};
pub use workload_definition::{WorkloadDefinition, WorkloadDefinitionSpec};

/// API group of the core kinds; [`standard::GROUP`] is the other one.
pub const GROUP: &str = "core.oam.dev";
