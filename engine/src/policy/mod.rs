//! Policies of an Application → what they change of its plan and of its objects. Each type has its file; one that has none is
//! refused.

mod apply_once;
mod garbage_collect;
mod override_check;
mod overrides;
mod reader;
mod resource_update;
mod rules;
mod selector;
pub mod shared_resource;
mod topology;

use crate::definition::version::base_name;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, NotSupported};
use crate::parse::{AppFile, Policy};
use crate::placement::Placement;

pub use apply_once::ApplyOnce;
pub use garbage_collect::{GarbageCollect, Retention, is_deleted_in_order, revision_limit};
pub(crate) use overrides::{TYPE as OVERRIDE, overridden};
pub use resource_update::{Update, replacement};
pub use rules::{ObjectRules, Rules};

use reader::Reader;

/// Types of policies that act.
pub const SUPPORTED: &[&str] = &[
    "apply-once",
    "garbage-collect",
    "override",
    "read-only",
    "resource-update",
    "shared-resource",
    "take-over",
    "topology",
];

/// Types that upstream has built in and that do nothing here yet: steps of a workflow go by them.
pub(crate) const LATER: &[&str] = &["debug", "env-binding", "envbinding", "health", "replication"];

/// More topology policies in one application are refused: each may place every component once more.
const TOPOLOGY_LIMIT: usize = 50;

/// What the policies of an application say together.
#[derive(Debug, Default)]
pub(crate) struct Policies {
    /// In the order written.
    pub(crate) topologies: Vec<Topology>,
    /// Those that change components, in the order written.
    pub(crate) overrides: Vec<Named>,
    /// Those about objects.
    pub(crate) about_objects: Vec<Named>,
    /// What these say.
    pub(crate) rules: Rules,
}

/// A policy that does not say where components go.
#[derive(Debug)]
pub(crate) struct Named {
    /// Its name; one is made up where it has none, as upstream.
    pub(crate) name: String,
    /// Its type.
    pub(crate) type_: String,
    /// Its field path.
    pub(crate) path: String,
}

/// Where one policy places components.
#[derive(Debug)]
pub(crate) struct Topology {
    /// Name of the policy; one is made up where it has none, as upstream.
    pub(crate) name: String,
    /// Field path of the policy.
    pub(crate) path: String,
    /// In the order of clusters: the local one alone, as long as there are no others.
    pub(crate) placements: Vec<Placement>,
}

/// Reads every policy of the application; what cannot be done is found with its place.
pub(crate) fn read(app: &AppFile, not_supported: NotSupported, found: &mut Diagnostics) -> Policies {
    let mut policies = Policies { rules: Rules::of_application(app), ..Policies::default() };
    for (index, policy) in app.policies().iter().enumerate() {
        let named =
            || Named { name: name(policy, index), type_: policy.type_.clone(), path: policy.path.clone() };
        let type_ = base_name(&policy.type_);
        if type_ == topology::TYPE {
            if policies.topologies.len() == TOPOLOGY_LIMIT {
                let message = format!("more than {TOPOLOGY_LIMIT} topology policies");
                found.push(Diagnostic::error(Code::Limit, message).at(app.document(), policy.path.clone()));
                break;
            }
            let placements = topology::read(app, policy, not_supported, found);
            let Named { name, path, .. } = named();
            policies.topologies.push(Topology { name, path, placements });
        } else if type_ == OVERRIDE {
            override_check::check(policy, &mut Reader { app, found: &mut *found });
            policies.overrides.push(named());
        } else if rules::TYPES.contains(&type_) {
            policies.rules.read(policy, &mut Reader { app, found: &mut *found });
            policies.about_objects.push(named());
        } else {
            let message = format!("policy type {:?} is not supported yet", policy.type_);
            let finding = not_supported(Code::NotSupported, message);
            found.push(finding.at(app.document(), format!("{}.type", policy.path)));
        }
    }
    policies
}

/// Is it the name of one of the override policies of the application?
pub(crate) fn is_override(app: &AppFile, wanted: &str) -> bool {
    let mut policies = app.policies().iter().enumerate();
    policies.any(|(index, policy)| base_name(&policy.type_) == OVERRIDE && name(policy, index) == wanted)
}

fn name(policy: &Policy, index: usize) -> String {
    match policy.name.as_str() {
        "" => format!("{}-auto-gen-{index}", policy.type_),
        name => name.to_owned(),
    }
}
