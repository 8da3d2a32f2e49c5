//! standard.oam.dev: workloads and traits beyond the core, each switched by `--disable-caps`.

pub mod autoscaler;
pub mod metrics_trait;
pub mod pod_spec_workload;
pub mod rollout_trait;
pub mod route;

pub use autoscaler::{Autoscaler, AutoscalerSpec};
pub use metrics_trait::{MetricsTrait, MetricsTraitSpec};
pub use pod_spec_workload::{PodSpecWorkload, PodSpecWorkloadSpec};
pub use rollout_trait::{RolloutTrait, RolloutTraitSpec, RolloutTraitStatus};
pub use route::{Route, RouteSpec};

/// API group of every kind here.
pub const GROUP: &str = "standard.oam.dev";
