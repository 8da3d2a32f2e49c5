//! The trait types of 0.3: each makes one object that has a controller, and tells it the workload.

use crate::definition::{Attributes, Definition, Kind, StatusTexts};

/// Any workload: the controllers find its pods by the definition of the workload.
const ANY: &[&str] = &["*"];
/// Workloads of which Flagger knows how to make a second one.
const DOUBLED: &[&str] = &["deployments.apps"];

const UNREAD: StatusTexts = StatusTexts { health: None, message: None };

/// A trait whose object is of `resource`.
const fn of(
    resource: &'static str,
    name: &'static str,
    description: &'static str,
    template: &'static str,
    applies_to: &'static [&'static str],
) -> Definition {
    Definition {
        name,
        kind: Kind::Trait,
        description,
        template: Some(template),
        status: UNREAD,
        attributes: Attributes::Trait {
            applies_to,
            pod_disruptive: false,
            stage: None,
            resource: Some(resource),
            workload_ref_path: Some("spec.workloadRef"),
            revision_enabled: false,
        },
    }
}

/// The trait types of 0.3.
pub(crate) const STANDARD: &[Definition] = &[
    of(
        "autoscalers.standard.oam.dev",
        "autoscale",
        "Scales the workload by processor time or by the time of the week, through an Autoscaler and KEDA.",
        include_str!("../traits/autoscale.cue"),
        ANY,
    ),
    of(
        "metricstraits.standard.oam.dev",
        "metrics",
        "Lets Prometheus ask the workload's pods for metrics, through a MetricsTrait and the Prometheus operator.",
        include_str!("../traits/metrics.cue"),
        ANY,
    ),
    Definition {
        attributes: Attributes::Trait {
            applies_to: DOUBLED,
            pod_disruptive: false,
            stage: None,
            resource: Some("canaries.flagger.app"),
            workload_ref_path: Some("spec.targetRef"),
            revision_enabled: true,
        },
        ..of(
            "canaries.flagger.app",
            "rollout",
            "Goes from one revision of the workload to the next in steps, through a Canary and Flagger.",
            include_str!("../traits/rollout.cue"),
            DOUBLED,
        )
    },
    of(
        "routes.standard.oam.dev",
        "route",
        "Opens the workload to web traffic from outside the cluster, through a Route.",
        include_str!("../traits/route.cue"),
        ANY,
    ),
];
