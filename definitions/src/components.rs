//! The component types.

use crate::definition::{Attributes, Definition, Kind, StatusTexts};

const DEPLOYMENT: StatusTexts = StatusTexts {
    health: Some(include_str!("../status/deployment.health.cue")),
    message: Some(include_str!("../status/deployment.message.cue")),
};
const DAEMON_SET: StatusTexts = StatusTexts {
    health: Some(include_str!("../status/daemonset.health.cue")),
    message: Some(include_str!("../status/daemonset.message.cue")),
};
const JOB: StatusTexts = StatusTexts {
    health: Some(include_str!("../status/job.health.cue")),
    message: Some(include_str!("../status/job.message.cue")),
};
const DAPR_COMPONENT: StatusTexts = StatusTexts {
    health: Some(include_str!("../status/dapr-component.health.cue")),
    message: Some(include_str!("../status/dapr-component.message.cue")),
};
const HARBOR: StatusTexts = StatusTexts {
    health: Some(include_str!("../status/harbor.health.cue")),
    message: Some(include_str!("../status/harbor.message.cue")),
};
const UNREAD: StatusTexts = StatusTexts { health: None, message: None };

const fn component(
    name: &'static str,
    description: &'static str,
    template: &'static str,
    workload: Option<(&'static str, &'static str)>,
    workload_type: &'static str,
    status: StatusTexts,
) -> Definition {
    Definition {
        name,
        kind: Kind::Component,
        description,
        template: Some(template),
        status,
        attributes: Attributes::Component { workload, workload_type },
    }
}

/// The component types.
pub(crate) const COMPONENTS: &[Definition] = &[
    component(
        "cron-task",
        "Runs pods to completion on a schedule.",
        include_str!("../components/cron-task.cue"),
        None,
        "autodetects.core.oam.dev",
        UNREAD,
    ),
    component(
        "daemon",
        "Runs one pod on every node.",
        include_str!("../components/daemon.cue"),
        Some(("apps/v1", "DaemonSet")),
        "daemonsets.apps",
        DAEMON_SET,
    ),
    component(
        "dapr-component",
        "Makes a state store, a broker or another building block of Dapr known to sidecars.",
        include_str!("../components/dapr-component.cue"),
        Some(("dapr.io/v1alpha1", "Component")),
        "components.dapr.io",
        DAPR_COMPONENT,
    ),
    component(
        "harbor",
        "Runs Harbor, a registry of images, through the Harbor operator.",
        include_str!("../components/harbor.cue"),
        None,
        "autodetects.core.oam.dev",
        HARBOR,
    ),
    component(
        "helmchart",
        "Installs a Helm chart through Flux, which has to be in the cluster.",
        include_str!("../components/helmchart.cue"),
        Some(("helm.toolkit.fluxcd.io/v2", "HelmRelease")),
        "helmreleases.helm.toolkit.fluxcd.io",
        UNREAD,
    ),
    component(
        "k8s-objects",
        "Applies Kubernetes objects as they are.",
        include_str!("../components/k8s-objects.cue"),
        None,
        "autodetects.core.oam.dev",
        UNREAD,
    ),
    component(
        "raw",
        "Applies one Kubernetes object as it is; deprecated, use k8s-objects.",
        include_str!("../components/raw.cue"),
        None,
        "autodetects.core.oam.dev",
        UNREAD,
    ),
    component(
        "ref-objects",
        "Refers to objects that are in the cluster already, and applies copies of them elsewhere, or loads objects from URLs.",
        include_str!("../components/ref-objects.cue"),
        None,
        "autodetects.core.oam.dev",
        UNREAD,
    ),
    component(
        "statefulset",
        "Runs long-lived pods that keep their names and volumes, such as a database.",
        include_str!("../components/statefulset.cue"),
        Some(("apps/v1", "StatefulSet")),
        "statefulsets.apps",
        DEPLOYMENT,
    ),
    component(
        "task",
        "Runs pods to completion, once.",
        include_str!("../components/task.cue"),
        Some(("batch/v1", "Job")),
        "jobs.batch",
        JOB,
    ),
    component(
        "webservice",
        "Runs long-lived pods that answer requests from the network.",
        include_str!("../components/webservice.cue"),
        Some(("apps/v1", "Deployment")),
        "deployments.apps",
        DEPLOYMENT,
    ),
    component(
        "worker",
        "Runs long-lived pods in the background, without a network endpoint.",
        include_str!("../components/worker.cue"),
        Some(("apps/v1", "Deployment")),
        "deployments.apps",
        DEPLOYMENT,
    ),
];
