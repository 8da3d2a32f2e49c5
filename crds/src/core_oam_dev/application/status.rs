//! Status of an Application: phase, conditions, health of its services, workflow.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::raw::{Raw, is_false};
use crate::{ClusterObjectReference, Condition, Conditioned, ObjectReference, Revision, WorkloadGvk};

/// Phases of an Application, as `status.status` spells them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Phase {
    /// Seen, nothing done yet.
    Starting,
    /// Templates are evaluated.
    Rendering,
    /// Policies make their objects.
    GeneratingPolicy,
    /// Objects are applied.
    RunningWorkflow,
    /// The workflow waits for a person.
    WorkflowSuspending,
    /// The workflow was ended by a person.
    WorkflowTerminated,
    /// The workflow ended badly.
    WorkflowFailed,
    /// A rollout goes on (release 1.0).
    RollingOut,
    /// Everything is applied, health is not known yet (release 1.0).
    HealthChecking,
    /// Everything is applied and healthy.
    Running,
    /// Everything is applied, something is not healthy.
    Unhealthy,
    /// The Application goes away.
    Deleting,
}

impl Phase {
    /// The phase as `status.status` spells it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Rendering => "rendering",
            Self::GeneratingPolicy => "generatingPolicy",
            Self::RunningWorkflow => "runningWorkflow",
            Self::WorkflowSuspending => "workflowSuspending",
            Self::WorkflowTerminated => "workflowTerminated",
            Self::WorkflowFailed => "workflowFailed",
            Self::RollingOut => "rollingOut",
            Self::HealthChecking => "healthChecking",
            Self::Running => "running",
            Self::Unhealthy => "unhealthy",
            Self::Deleting => "deleting",
        }
    }
}

/// Status of an Application.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationStatus {
    /// Conditions: Parsed, Revision, Policy, Render, Workflow, Ready.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// The phase, see [`Phase`]; a text, because other writers know other phases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Generation this status tells of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Generated Components (v1alpha2 form).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub components: Vec<ObjectReference>,
    /// Health of each component.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<ComponentHealth>,
    /// The workflow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<WorkflowStatus>,
    /// Last revision cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latest_revision: Option<Revision>,
    /// Objects that were applied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub applied_resources: Vec<ClusterObjectReference>,
    /// Status of policies that keep one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub policy: Vec<PolicyStatus>,
    /// Policies that changed the application before it was rendered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub applied_application_policies: Vec<AppliedPolicy>,
    /// ConfigMap with what these policies did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application_policies_config_map: Option<String>,
    /// When the workflow is to run again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow_restart_scheduled_at: Option<Time>,
    /// Rollout (release 1.0).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<crate::AppRolloutStatus>")]
    pub rollout: Option<Raw>,
    /// The record of owned objects (release 1.0).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_tracker: Option<ObjectReference>,
}

impl Conditioned for ApplicationStatus {
    fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    fn conditions_mut(&mut self) -> &mut Vec<Condition> {
        &mut self.conditions
    }
}

/// Health of one component in one place.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ComponentHealth {
    /// Component.
    pub name: String,
    /// Namespace of its workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Cluster of its workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// Environment of its workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env: Option<String>,
    /// Kind of its workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload_definition: Option<WorkloadGvk>,
    /// Workload and traits are healthy.
    pub healthy: bool,
    /// The workload is healthy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload_healthy: Option<bool>,
    /// Text for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// More texts for people.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub details: BTreeMap<String, String>,
    /// Health of its traits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traits: Vec<TraitHealth>,
    /// Its scopes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<ObjectReference>,
}

/// Health of one trait.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TraitHealth {
    /// Trait type.
    #[serde(rename = "type")]
    pub trait_type: String,
    /// It is healthy.
    pub healthy: bool,
    /// It is not applied yet.
    #[serde(default, skip_serializing_if = "is_false")]
    pub pending: bool,
    /// Text for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// More texts for people.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub details: BTreeMap<String, String>,
}

/// Status of one policy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyStatus {
    /// Policy.
    pub name: String,
    /// Policy type.
    #[serde(rename = "type")]
    pub policy_type: String,
    /// What the policy keeps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Raw>,
}

/// A policy that changed the application before it was rendered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppliedPolicy {
    /// Policy.
    pub name: String,
    /// Namespace of its definition.
    pub namespace: String,
    /// Policy type.
    #[serde(rename = "type")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_type: Option<String>,
    /// It was applied.
    pub applied: bool,
    /// It failed.
    #[serde(default, skip_serializing_if = "is_false")]
    pub error: bool,
    /// Text for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Where the policy came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// It changed the spec.
    #[serde(default, skip_serializing_if = "is_false")]
    pub spec_modified: bool,
    /// It gave values to templates.
    #[serde(default, skip_serializing_if = "is_false")]
    pub has_context: bool,
    /// Labels it added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels_count: Option<i64>,
    /// Annotations it added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations_count: Option<i64>,
    /// Revision of its definition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition_revision_name: Option<String>,
    /// Number of that revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<i64>,
    /// Hash of that revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision_hash: Option<String>,
}

/// Status of the workflow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkflowStatus {
    /// Revision the workflow runs for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app_revision: Option<String>,
    /// Orders of the steps and sub-steps, as `steps-subSteps`.
    #[serde(default)]
    pub mode: String,
    /// Phase of the workflow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Text for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// It waits for a person.
    #[serde(default)]
    pub suspend: bool,
    /// Why it waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspend_state: Option<String>,
    /// A person ended it.
    #[serde(default)]
    pub terminated: bool,
    /// It is over.
    #[serde(default)]
    pub finished: bool,
    /// ConfigMap with the values between steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_backend: Option<ObjectReference>,
    /// The steps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<WorkflowStepStatus>,
    /// Beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_time: Option<Time>,
    /// End.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_time: Option<Time>,
}

/// Status of one step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkflowStepStatus {
    /// Identity of the step within the run.
    pub id: String,
    /// Step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Step type.
    #[serde(rename = "type")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_type: Option<String>,
    /// `succeeded`, `failed`, `skipped`, `running`, `pending`, `suspending`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// Text for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Reason of the phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// First execution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_execute_time: Option<Time>,
    /// Last execution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_execute_time: Option<Time>,
    /// Steps of this group.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sub_steps: Vec<WorkflowSubStepStatus>,
}

/// Status of one step within a group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkflowSubStepStatus {
    /// Identity of the step within the run.
    pub id: String,
    /// Step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Step type.
    #[serde(rename = "type")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_type: Option<String>,
    /// `succeeded`, `failed`, `skipped`, `running`, `pending`, `suspending`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// Text for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Reason of the phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// First execution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_execute_time: Option<Time>,
    /// Last execution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_execute_time: Option<Time>,
}
