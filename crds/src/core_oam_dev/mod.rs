//! core.oam.dev: applications, their definitions and records, and the workloads, traits and scopes of the core.

pub mod app_deployment;
mod app_rollout;
pub mod application;
pub mod application_configuration;
mod application_context;
mod application_deployment;
mod application_revision;
pub mod cluster;
mod component;
mod component_definition;
pub mod containerized_workload;
mod definition_revision;
pub mod health_scope;
pub mod manual_scaler_trait;
pub(crate) mod policy;
mod policy_definition;
mod resource_tracker;
pub mod rollout_plan;
pub mod schematic;
mod scope_definition;
pub mod service_binding;
mod trait_definition;
pub(crate) mod workflow;
mod workflow_run;
mod workflow_step_definition;
mod workload_definition;

pub use app_deployment::{AppDeployment, AppDeploymentSpec};
pub use app_rollout::{AppRollout, AppRolloutSpec, AppRolloutStatus};
pub use application::{
    Application, ApplicationComponent, ApplicationPolicy, ApplicationSpec, ApplicationStatus,
    ApplicationTrait,
};
pub use application_configuration::{ApplicationConfiguration, ApplicationConfigurationSpec};
pub use application_context::{ApplicationContext, ApplicationContextSpec};
pub use application_deployment::{ApplicationDeployment, ApplicationDeploymentSpec};
pub use application_revision::{
    ApplicationRevision, ApplicationRevisionSpec, ApplicationRevisionStatus, Compression, FrozenComponent,
    PolicyVersion,
};
pub use cluster::{Cluster, ClusterSpec};
pub use component::{Component, ComponentParameter, ComponentSpec, ComponentStatus};
pub use component_definition::{ComponentDefinition, ComponentDefinitionSpec, WorkloadTypeDescriptor};
pub use containerized_workload::{ContainerizedWorkload, ContainerizedWorkloadSpec};
pub use definition_revision::{DefinitionRevision, DefinitionRevisionSpec, DefinitionType};
pub use health_scope::{HealthScope, HealthScopeSpec};
pub use manual_scaler_trait::{ManualScalerTrait, ManualScalerTraitSpec};
pub use policy::PolicyFields;
pub use policy_definition::{PolicyDefinition, PolicyDefinitionSpec};
pub use resource_tracker::{
    ManagedResource, ResourceTracker, ResourceTrackerSpec, ResourceTrackerStatus, TrackedResource,
};
pub use rollout_plan::{
    CanaryMetric, ComponentRollout, RolloutBatch, RolloutPlan, RolloutStatus, RolloutWebhook,
};
pub use schematic::{DefinitionStatus, DefinitionStatusTexts, Schematic};
pub use scope_definition::{ScopeDefinition, ScopeDefinitionSpec};
pub use service_binding::{ServiceBinding, ServiceBindingSpec};
pub use trait_definition::{TraitDefinition, TraitDefinitionSpec};
pub use workflow::WorkflowFields;
pub use workflow_run::{WorkflowRun, WorkflowRunSpec, WorkflowRunStatus, WorkflowRunSteps};
pub use workflow_step_definition::{WorkflowStepDefinition, WorkflowStepDefinitionSpec};
pub use workload_definition::{WorkloadDefinition, WorkloadDefinitionSpec};

/// API group of every kind here.
pub const GROUP: &str = "core.oam.dev";
