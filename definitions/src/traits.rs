//! The trait types.

use crate::definition::{Attributes, Definition, Kind, StatusTexts};

/// Workloads whose pods are at `spec.template` and can be scaled.
const SCALED: &[&str] = &["deployments.apps", "statefulsets.apps"];
/// Workloads whose pods are at `spec.template`.
const PODS: &[&str] = &["deployments.apps", "statefulsets.apps", "daemonsets.apps", "jobs.batch"];
/// The same, and the one whose pods lie deeper.
const PODS_AND_CRON: &[&str] =
    &["deployments.apps", "statefulsets.apps", "daemonsets.apps", "jobs.batch", "cronjobs.batch"];
/// Any workload.
const ANY: &[&str] = &["*"];

const UNREAD: StatusTexts = StatusTexts { health: None, message: None };
const GATEWAY: StatusTexts = StatusTexts {
    health: Some(include_str!("../status/gateway.health.cue")),
    message: Some(include_str!("../status/gateway.message.cue")),
};
const INGRESS: StatusTexts = StatusTexts {
    health: Some(include_str!("../status/ingress.health.cue")),
    message: Some(include_str!("../status/ingress.message.cue")),
};
const EXPOSE: StatusTexts = StatusTexts {
    health: Some(include_str!("../status/expose.health.cue")),
    message: Some(include_str!("../status/expose.message.cue")),
};

/// Changes the workload in place: pods restart.
const PATCHES_PODS: bool = true;
/// Leaves running pods alone.
const LEAVES_PODS: bool = false;

const fn one(
    name: &'static str,
    description: &'static str,
    template: &'static str,
    applies_to: &'static [&'static str],
    pod_disruptive: bool,
    status: StatusTexts,
) -> Definition {
    staged(name, description, template, applies_to, pod_disruptive, status, None)
}

const fn staged(
    name: &'static str,
    description: &'static str,
    template: &'static str,
    applies_to: &'static [&'static str],
    pod_disruptive: bool,
    status: StatusTexts,
    stage: Option<&'static str>,
) -> Definition {
    Definition {
        name,
        kind: Kind::Trait,
        description,
        template: Some(template),
        status,
        attributes: Attributes::Trait {
            applies_to,
            pod_disruptive,
            stage,
            resource: None,
            workload_ref_path: None,
        },
    }
}

/// The trait types.
pub(crate) const TRAITS: &[Definition] = &[
    one(
        "annotations",
        "Adds annotations to the workload and its pods.",
        include_str!("../traits/annotations.cue"),
        ANY,
        PATCHES_PODS,
        UNREAD,
    ),
    one(
        "cpuscaler",
        "Scales the workload by the processor time its pods use.",
        include_str!("../traits/cpuscaler.cue"),
        SCALED,
        LEAVES_PODS,
        UNREAD,
    ),
    one(
        "env",
        "Sets and removes environment variables of the workload's containers.",
        include_str!("../traits/env.cue"),
        PODS,
        PATCHES_PODS,
        UNREAD,
    ),
    staged(
        "expose",
        "Offers ports of the component through a Service.",
        include_str!("../traits/expose.cue"),
        SCALED,
        LEAVES_PODS,
        EXPOSE,
        Some("PostDispatch"),
    ),
    one(
        "gateway",
        "Opens the component to web traffic from outside the cluster.",
        include_str!("../traits/gateway.cue"),
        SCALED,
        LEAVES_PODS,
        GATEWAY,
    ),
    one(
        "hostalias",
        "Adds lines to the hosts file of the workload's pods.",
        include_str!("../traits/hostalias.cue"),
        PODS,
        LEAVES_PODS,
        UNREAD,
    ),
    one(
        "hpa",
        "Scales the workload by processor time, memory or its own metrics.",
        include_str!("../traits/hpa.cue"),
        SCALED,
        LEAVES_PODS,
        UNREAD,
    ),
    one(
        "ingress",
        "Opens the component to web traffic; deprecated, use gateway.",
        include_str!("../traits/ingress.cue"),
        &[],
        LEAVES_PODS,
        INGRESS,
    ),
    one(
        "init-container",
        "Runs a container before the component's own and shares a volume with it.",
        include_str!("../traits/init-container.cue"),
        PODS,
        PATCHES_PODS,
        UNREAD,
    ),
    one(
        "labels",
        "Adds labels to the workload and its pods.",
        include_str!("../traits/labels.cue"),
        ANY,
        PATCHES_PODS,
        UNREAD,
    ),
    one(
        "lifecycle",
        "Runs hooks after a container started and before it stops.",
        include_str!("../traits/lifecycle.cue"),
        PODS,
        PATCHES_PODS,
        UNREAD,
    ),
    one(
        "resource",
        "Sets processor time and memory of the workload's containers.",
        include_str!("../traits/resource.cue"),
        PODS_AND_CRON,
        PATCHES_PODS,
        UNREAD,
    ),
    one(
        "scaler",
        "Sets how many pods the workload runs.",
        include_str!("../traits/scaler.cue"),
        SCALED,
        LEAVES_PODS,
        UNREAD,
    ),
    one(
        "sidecar",
        "Adds a container to the workload's pods.",
        include_str!("../traits/sidecar.cue"),
        PODS,
        PATCHES_PODS,
        UNREAD,
    ),
    one(
        "storage",
        "Adds volumes to the workload's pods and makes what they need.",
        include_str!("../traits/storage.cue"),
        PODS,
        PATCHES_PODS,
        UNREAD,
    ),
];
