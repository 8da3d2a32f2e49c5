//! The v1alpha2 kinds of the platform: a workload, a trait and a scope that are plain resources.

use crate::definition::{Attributes, Definition, Kind, StatusTexts};

const UNREAD: StatusTexts = StatusTexts { health: None, message: None };

/// The v1alpha2 kinds of the platform.
pub(crate) const V1ALPHA2: &[Definition] = &[
    Definition {
        name: "containerizedworkloads.core.oam.dev",
        kind: Kind::Workload,
        description: "Long-running containers, described without Kubernetes' words.",
        template: None,
        status: UNREAD,
        attributes: Attributes::Workload {
            resource: "containerizedworkloads.core.oam.dev",
            children: &[("apps/v1", "Deployment"), ("v1", "Service")],
        },
    },
    Definition {
        name: "manualscalertraits.core.oam.dev",
        kind: Kind::Trait,
        description: "A fixed number of replicas for a workload.",
        template: None,
        status: UNREAD,
        attributes: Attributes::Trait {
            applies_to: &["containerizedworkloads.core.oam.dev", "deployments.apps", "statefulsets.apps"],
            pod_disruptive: false,
            stage: None,
            resource: Some("manualscalertraits.core.oam.dev"),
            workload_ref_path: Some("spec.workloadRef"),
            revision_enabled: false,
        },
    },
    Definition {
        name: "healthscopes.core.oam.dev",
        kind: Kind::Scope,
        description: "The joint health of several workloads.",
        template: None,
        status: UNREAD,
        attributes: Attributes::Scope {
            resource: "healthscopes.core.oam.dev",
            workload_refs_path: "spec.workloadRefs",
            allow_component_overlap: true,
        },
    },
];
