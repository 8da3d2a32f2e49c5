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
const DAPR: StatusTexts =
    StatusTexts { health: None, message: Some(include_str!("../status/dapr.message.cue")) };
const GATEWAY: StatusTexts = StatusTexts {
    health: Some(include_str!("../status/gateway.health.cue")),
    message: Some(include_str!("../status/gateway.message.cue")),
};
const INGRESS: StatusTexts = StatusTexts {
    health: Some(include_str!("../status/ingress.health.cue")),
    message: Some(include_str!("../status/ingress.message.cue")),
};
const INGRESS_ALONE: StatusTexts =
    StatusTexts { health: None, message: Some(include_str!("../status/ingress.message.cue")) };
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
            revision_enabled: false,
        },
    }
}

/// The trait types.
pub(crate) const TRAITS: &[Definition] = &[
    one(
        "affinity",
        "Says which nodes and neighbours the workload's pods want.",
        include_str!("../traits/affinity.cue"),
        PODS,
        PATCHES_PODS,
        UNREAD,
    ),
    one(
        "annotations",
        "Adds annotations to the workload and its pods.",
        include_str!("../traits/annotations.cue"),
        ANY,
        PATCHES_PODS,
        UNREAD,
    ),
    one(
        "command",
        "Changes the command and arguments of the workload's containers.",
        include_str!("../traits/command.cue"),
        PODS,
        PATCHES_PODS,
        UNREAD,
    ),
    one(
        "configmap",
        "Makes ConfigMaps and mounts them; deprecated, use storage.",
        include_str!("../traits/configmap.cue"),
        ANY,
        PATCHES_PODS,
        UNREAD,
    ),
    one(
        "container-image",
        "Changes the image of the workload's containers.",
        include_str!("../traits/container-image.cue"),
        PODS,
        PATCHES_PODS,
        UNREAD,
    ),
    one(
        "container-ports",
        "Opens ports of the workload's containers, on the node too.",
        include_str!("../traits/container-ports.cue"),
        PODS,
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
        "dapr",
        "Adds a sidecar of Dapr to the workload's pods.",
        include_str!("../traits/dapr.cue"),
        PODS_AND_CRON,
        PATCHES_PODS,
        DAPR,
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
        "ingress-1-20",
        "Opens the component to web traffic; deprecated, use gateway.",
        include_str!("../traits/ingress-1-20.cue"),
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
        "json-merge-patch",
        "Changes the workload by a JSON merge patch (RFC 7396).",
        include_str!("../traits/json-merge-patch.cue"),
        ANY,
        PATCHES_PODS,
        UNREAD,
    ),
    one(
        "json-patch",
        "Changes the workload by JSON patch operations (RFC 6902).",
        include_str!("../traits/json-patch.cue"),
        ANY,
        PATCHES_PODS,
        UNREAD,
    ),
    one(
        "k8s-update-strategy",
        "Says how the workload's pods are replaced.",
        include_str!("../traits/k8s-update-strategy.cue"),
        &["deployments.apps", "statefulsets.apps", "daemonsets.apps"],
        LEAVES_PODS,
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
        "nocalhost",
        "Lets Nocalhost develop in the workload's containers.",
        include_str!("../traits/nocalhost.cue"),
        PODS,
        PATCHES_PODS,
        UNREAD,
    ),
    one(
        "node-affinity",
        "Says which nodes the workload's pods want; deprecated, use affinity.",
        include_str!("../traits/node-affinity.cue"),
        ANY,
        PATCHES_PODS,
        UNREAD,
    ),
    one(
        "podsecuritycontext",
        "Sets the security context of the workload's pods.",
        include_str!("../traits/podsecuritycontext.cue"),
        PODS,
        PATCHES_PODS,
        UNREAD,
    ),
    one(
        "pure-ingress",
        "Opens a Service that is there already to web traffic; deprecated, use gateway.",
        include_str!("../traits/pure-ingress.cue"),
        ANY,
        LEAVES_PODS,
        INGRESS_ALONE,
    ),
    one(
        "pvc",
        "Makes a claim for a volume and mounts it; deprecated, use storage.",
        include_str!("../traits/pvc.cue"),
        &["deployments.apps"],
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
        "securitycontext",
        "Sets the security context of the workload's containers.",
        include_str!("../traits/securitycontext.cue"),
        PODS,
        PATCHES_PODS,
        UNREAD,
    ),
    one(
        "service-account",
        "Sets the service account of the workload's pods and what it may do.",
        include_str!("../traits/service-account.cue"),
        PODS,
        LEAVES_PODS,
        UNREAD,
    ),
    one(
        "service-binding",
        "Binds Secrets to environment variables; deprecated, use storage.",
        include_str!("../traits/service-binding.cue"),
        PODS,
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
        "startup-probe",
        "Sets how the workload's containers show that they have started.",
        include_str!("../traits/startup-probe.cue"),
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
    one(
        "topologyspreadconstraints",
        "Says how the workload's pods are spread over nodes and zones.",
        include_str!("../traits/topologyspreadconstraints.cue"),
        PODS,
        PATCHES_PODS,
        UNREAD,
    ),
    one(
        "volumes",
        "Adds volumes to the workload's pods; deprecated, use storage.",
        include_str!("../traits/volumes.cue"),
        &["deployments.apps"],
        PATCHES_PODS,
        UNREAD,
    ),
];
