//! The engine at its boundaries: archives of manifests with what must come out, and rules on plain data.

// A failed unwrap in a test is the failure we want to see; helpers of tests unwrap too.
#![allow(clippy::unwrap_used)]

#[path = "engine/application_configuration.rs"]
mod application_configuration;
#[path = "engine/application_policies.rs"]
mod application_policies;
#[path = "engine/charts.rs"]
mod charts;
#[path = "engine/cloud_resources.rs"]
mod cloud_resources;
#[path = "engine/conformance.rs"]
mod conformance;
#[path = "engine/data_flow.rs"]
mod data_flow;
#[path = "engine/data_flow_limits.rs"]
mod data_flow_limits;
#[path = "engine/deploys.rs"]
mod deploys;
#[path = "engine/dry_run.rs"]
mod dry_run;
#[path = "engine/gaps.rs"]
mod gaps;
#[path = "engine/inserted_secrets.rs"]
mod inserted_secrets;
#[path = "engine/manifest.rs"]
mod manifest;
#[path = "engine/mistakes.rs"]
mod mistakes;
#[path = "engine/patches.rs"]
mod patches;
#[path = "engine/placements.rs"]
mod placements;
#[path = "engine/policies.rs"]
mod policies;
#[path = "engine/policy_definitions.rs"]
mod policy_definitions;
#[path = "engine/policy_objects.rs"]
mod policy_objects;
#[path = "engine/processing.rs"]
mod processing;
#[path = "engine/reference.rs"]
mod reference;
#[path = "engine/referenced_objects.rs"]
mod referenced_objects;
#[path = "engine/snapshots.rs"]
mod snapshots;
#[path = "engine/speed.rs"]
mod speed;
#[path = "engine/stages.rs"]
mod stages;
#[path = "engine/status.rs"]
mod status;
#[path = "engine/step_definitions.rs"]
mod step_definitions;
#[path = "engine/steps.rs"]
mod steps;
#[path = "engine/trait_output.rs"]
mod trait_output;
#[path = "engine/traits_of_0_3.rs"]
mod traits_of_0_3;
#[path = "engine/undeclared.rs"]
mod undeclared;
#[path = "engine/workflow_groups.rs"]
mod workflow_groups;
#[path = "engine/workflow_order.rs"]
mod workflow_order;
#[path = "engine/workflow_plans.rs"]
mod workflow_plans;
#[path = "engine/workflow_runs.rs"]
mod workflow_runs;
#[path = "engine/workflow_steps.rs"]
mod workflow_steps;
#[path = "engine/workflow_values.rs"]
mod workflow_values;
#[path = "engine/workflow_verbs.rs"]
mod workflow_verbs;
#[path = "engine/workflow_waits.rs"]
mod workflow_waits;
