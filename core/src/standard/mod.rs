//! The reconcilers of workloads and traits: what they share, and the controllers of standard.oam.dev, each behind its switch.
//!
//! | module | what it does |
//! |---|---|
//! | [`reconciler_base`] | watching one kind, applying and removing what it controls, telling people how it went |
//! | [`error`] | why a reconcile ended early, and what happens then |
//! | [`deployment_workload`] | a workload that runs as a Deployment, maybe behind a Service |
//! | [`workload`] | the workload a trait belongs to, its definition and its children |

pub(crate) mod autoscaler;
pub(crate) mod deployment_workload;
pub(crate) mod error;
pub(crate) mod metrics_trait;
mod monitors;
pub(crate) mod pod_spec_workload;
pub(crate) mod reconciler_base;
pub(crate) mod route;
mod route_backend;
pub(crate) mod workload;

use vela_runtime::Controller;

use crate::context::Context;
use crate::options::Capability;

/// The standard controllers that the operator left switched on.
pub(crate) fn controllers(context: &Context, workers: usize) -> Vec<Controller> {
    let enabled = Capability::ALL.into_iter().filter(|capability| context.options.enabled(*capability));
    enabled
        .filter_map(|capability| match capability {
            Capability::Metrics => Some(metrics_trait::controller(context, workers)),
            Capability::PodSpecWorkload => Some(pod_spec_workload::controller(context, workers)),
            Capability::Route => Some(route::controller(context, workers)),
            Capability::Autoscale => Some(autoscaler::controller(context, workers)),
            // Goes with the controllers of applications.
            Capability::WorkflowRun => None,
        })
        .collect()
}
