//! What the cluster says, as the types that the REST API answers with and the pages show.

pub(crate) mod api_2021;
pub(crate) mod applications;
pub(crate) mod centers_2021;
pub(crate) mod definitions;
pub(crate) mod deploy;
pub(crate) mod dry_run;
pub(crate) mod events;
pub(crate) mod explain;
pub(crate) mod flags_2021;
pub(crate) mod form;
pub(crate) mod health;
pub(crate) mod logs;
pub(crate) mod plan;
pub(crate) mod revisions;
pub(crate) mod rollout_orders;
pub(crate) mod rollouts;
pub(crate) mod secrets;
pub(crate) mod steering;
pub(crate) mod traits_2021;
pub(crate) mod tree;
pub(crate) mod view;
pub(crate) mod workflow;
pub(crate) mod workloads_2021;

pub(crate) use self::health::Health;
