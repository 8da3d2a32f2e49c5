//! The console over the embedded API server: what it lists, shows and refuses.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "console/accessibility.rs"]
mod accessibility;
#[path = "console/answers.rs"]
mod answers;
#[path = "console/api_2021.rs"]
mod api_2021;
#[path = "console/centers_2021.rs"]
mod centers_2021;
#[path = "console/clients.rs"]
mod clients;
#[path = "console/cluster.rs"]
mod cluster;
#[path = "console/deploy.rs"]
mod deploy;
#[path = "console/deploy_races.rs"]
mod deploy_races;
#[path = "console/dry_run.rs"]
mod dry_run;
#[path = "console/explain.rs"]
mod explain;
#[path = "console/forms.rs"]
mod forms;
#[path = "console/fuzz.rs"]
mod fuzz;
#[path = "console/logs.rs"]
mod logs;
#[path = "console/people.rs"]
mod people;
#[path = "console/plan.rs"]
mod plan;
#[path = "console/proxy.rs"]
mod proxy;
#[path = "console/refusals.rs"]
mod refusals;
#[path = "console/rollouts.rs"]
mod rollouts;
#[path = "console/router.rs"]
mod router;
#[path = "console/workflow.rs"]
mod workflow;
#[path = "console/workloads_2021.rs"]
mod workloads_2021;
#[path = "console/write_2021.rs"]
mod write_2021;
