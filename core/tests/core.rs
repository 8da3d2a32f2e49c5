//! Scenarios of the controllers, in process: controllers, API server and simulated workloads talk without a socket.
//!
//! `CORE_TEST_KUBECONFIG=FILE` runs the same scenarios on a real control plane where the CRDs are installed.

// A failed unwrap in a test is the failure we want to see, in helpers too.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod scenarios {
    pub(crate) mod access;
    mod application_policies;
    mod attention;
    mod authors;
    mod bombs;
    mod bounds;
    pub(crate) mod broken;
    mod built_in_steps;
    mod cloud_resources;
    mod confidential;
    mod configuration;
    mod configuration_rules;
    pub(crate) mod core_kinds;
    pub(crate) mod counts;
    mod data_flow;
    pub(crate) mod definitions;
    mod deploys;
    mod elsewhere;
    mod events;
    pub(crate) mod examples;
    pub(crate) mod faults;
    mod fixed;
    mod fixed_configurations;
    pub(crate) mod foreign;
    mod inserted_secrets;
    mod last_good;
    mod last_good_configurations;
    mod last_good_unserved;
    pub(crate) mod lifecycle;
    mod manifest_urls;
    mod metrics;
    mod placements;
    mod plain_client;
    mod pod_bounds;
    mod policies;
    mod policies_shared;
    mod policy_objects;
    mod process;
    pub(crate) mod processing;
    pub(crate) mod pruning;
    mod referenced_objects;
    mod releases;
    mod restored;
    mod revision_hook;
    pub(crate) mod rights;
    mod rollout_counts;
    pub(crate) mod rollout_gates;
    mod rollout_reverts;
    pub(crate) mod rollout_traits;
    pub(crate) mod rollouts;
    mod rollouts_abandoned;
    mod rollouts_in_place;
    pub(crate) mod rollouts_inline;
    mod rollouts_of_several;
    mod rollouts_refused;
    mod rollouts_seed;
    mod samples;
    mod scale;
    pub(crate) mod side_by_side;
    mod stages;
    pub(crate) mod standard;
    mod taken_over;
    mod terms;
    pub(crate) mod test_cluster;
    mod together;
    mod trackers;
    mod unowned;
    mod v1alpha2_applications;
    mod versions;
    mod whose;
    mod workflow_calls;
    mod workflow_objects;
    pub(crate) mod workflow_refs;
    mod workflow_restarts;
    pub(crate) mod workflow_runs;
    mod workflow_scale;
    mod workflow_secrets;
    mod workflow_values;
    mod workflows;
    mod workload_names;
}
