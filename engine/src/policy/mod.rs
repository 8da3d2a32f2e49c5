//! Policies of an Application → what they change of its plan. Each type has its file; one that has none is refused.

mod topology;

use crate::diagnostic::{Code, Diagnostic, Diagnostics, NotSupported};
use crate::parse::{AppFile, Policy};
use crate::placement::Placement;

/// Types of policies that act.
pub const SUPPORTED: &[&str] = &[topology::TYPE];

/// More topology policies in one application are refused: each may place every component once more.
const TOPOLOGY_LIMIT: usize = 50;

/// What the policies of an application say together.
#[derive(Debug, Default)]
pub(crate) struct Policies {
    /// In the order written.
    pub(crate) topologies: Vec<Topology>,
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
    let mut policies = Policies::default();
    for (index, policy) in app.policies().iter().enumerate() {
        if policy.type_ == topology::TYPE {
            if policies.topologies.len() == TOPOLOGY_LIMIT {
                let message = format!("more than {TOPOLOGY_LIMIT} topology policies");
                found.push(Diagnostic::error(Code::Limit, message).at(app.document(), policy.path.clone()));
                break;
            }
            let placements = topology::read(app, policy, not_supported, found);
            policies.topologies.push(Topology {
                name: name(policy, index),
                path: policy.path.clone(),
                placements,
            });
        } else {
            let message = format!("policy type {:?} is not supported yet", policy.type_);
            let finding = not_supported(Code::NotSupported, message);
            found.push(finding.at(app.document(), format!("{}.type", policy.path)));
        }
    }
    policies
}

fn name(policy: &Policy, index: usize) -> String {
    match policy.name.as_str() {
        "" => format!("{}-auto-gen-{index}", policy.type_),
        name => name.to_owned(),
    }
}
