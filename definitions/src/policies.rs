//! The policy types. The engine carries them out; their parameters stand here, for people and for tools.

use crate::definition::{Attributes, Definition, Kind, StatusTexts};

const fn one(name: &'static str, description: &'static str, template: &'static str) -> Definition {
    Definition {
        name,
        kind: Kind::Policy,
        description,
        template: Some(template),
        status: StatusTexts { health: None, message: None },
        attributes: Attributes::Policy,
    }
}

pub(crate) const POLICIES: &[Definition] = &[
    one(
        "apply-once",
        "Leaves what was applied as it is in the cluster, instead of restoring it.",
        include_str!("../policies/apply-once.cue"),
    ),
    one(
        "envbinding",
        "Says where components go in each environment, and what differs of them there.",
        include_str!("../policies/envbinding.cue"),
    ),
    one(
        "garbage-collect",
        "Says when objects that the application does not name any more go, and which stay.",
        include_str!("../policies/garbage-collect.cue"),
    ),
    one(
        "override",
        "Changes properties and traits of components, or adds components.",
        include_str!("../policies/override.cue"),
    ),
    one(
        "read-only",
        "Names objects that the application looks at and never writes.",
        include_str!("../policies/read-only.cue"),
    ),
    one(
        "replication",
        "Makes a copy of components for each of its keys, in the steps that name it.",
        include_str!("../policies/replication.cue"),
    ),
    one(
        "resource-update",
        "Says which objects are replaced, or made again, when they change.",
        include_str!("../policies/resource-update.cue"),
    ),
    one(
        "shared-resource",
        "Names objects that several applications share.",
        include_str!("../policies/shared-resource.cue"),
    ),
    one(
        "take-over",
        "Names objects without an owner that the application may make its own.",
        include_str!("../policies/take-over.cue"),
    ),
    one(
        "topology",
        "Says to which clusters and to which namespace components go.",
        include_str!("../policies/topology.cue"),
    ),
];
