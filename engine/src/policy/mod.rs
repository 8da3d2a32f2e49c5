//! Policies of an Application → what they change of its plan and of its objects. Each type has its file; one that has none is
//! refused.

mod apply_once;
mod cloud;
mod debug;
mod deploys;
mod env_binding;
mod environments;
mod garbage_collect;
mod override_check;
mod overrides;
mod reader;
mod replication;
mod resource_update;
mod rules;
mod selector;
pub mod shared_resource;
mod topology;
mod written;

use serde_json::{Value as Json, json};

use crate::definition::version::base_name;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, NotSupported};
use crate::parse::{AppFile, COMPONENT_LIMIT, Policy};
use crate::placement::{LOCAL, Placement};

pub use apply_once::ApplyOnce;
pub use debug::is_debugged;
pub(crate) use deploys::{Deployment, deployments, named_policies, steps as deploy_steps};
pub(crate) use environments::{bindings, chosen as environment, with_steps as with_environments};
pub use garbage_collect::{GarbageCollect, Retention, is_deleted_in_order, revision_limit};
pub(crate) use overrides::{TYPE as OVERRIDE, overridden};
pub(crate) use replication::Replication;
pub use resource_update::{Update, replacement};
pub use rules::{ObjectRules, Rules};
pub(crate) use written::written_names;

use reader::Reader;
use written::TOPOLOGY;

/// Types of policies that act.
pub const SUPPORTED: &[&str] = &[
    "apply-once",
    debug::TYPE,
    environments::TYPES[0],
    environments::TYPES[1],
    "garbage-collect",
    "override",
    "read-only",
    "replication",
    "resource-update",
    "shared-resource",
    "take-over",
    "topology",
];

/// Types that upstream has built in and that do nothing here yet: steps of a workflow go by them.
pub(crate) const LATER: &[&str] = &["health"];

/// Whether the engine itself carries policies of this type out.
pub(crate) fn is_built_in(type_: &str) -> bool {
    SUPPORTED.contains(&type_) || LATER.contains(&type_)
}

/// More topology policies in one application are refused: each may place every component once more.
const TOPOLOGY_LIMIT: usize = 50;

/// All policies of an application together.
#[derive(Debug, Default)]
pub(crate) struct Policies {
    /// In the order written.
    pub(crate) topologies: Vec<Topology>,
    /// The environments of those that have some, in the order written.
    pub(crate) environments: Vec<Topology>,
    /// Those that make several of components, in the order written.
    pub(crate) replications: Vec<Replication>,
    /// Those that change components, in the order written.
    pub(crate) overrides: Vec<Named>,
    /// Those about objects.
    pub(crate) about_objects: Vec<Named>,
    /// Those that make objects by their definitions, with their indexes in the application.
    pub(crate) makers: Vec<(usize, Named)>,
    /// The values of these policies.
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
        if type_ == TOPOLOGY {
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
        } else if environments::TYPES.contains(&type_) {
            let reader = &mut Reader { app, found: &mut *found };
            let read = env_binding::read(policy, &name(policy, index), not_supported, reader);
            policies.environments.extend(read.into_iter().map(|env| Topology {
                name: env.name,
                path: env.path,
                placements: vec![env.placement],
            }));
        } else if type_ == replication::TYPE {
            let reader = &mut Reader { app, found: &mut *found };
            policies.replications.push(replication::read(policy, name(policy, index), reader));
        } else if rules::TYPES.contains(&type_) {
            policies.rules.read(policy, &mut Reader { app, found: &mut *found });
            policies.about_objects.push(named());
        } else if policy.object_definition().is_some() {
            policies.makers.push((index, named()));
        } else if type_ != debug::TYPE && !policy.changes_application() {
            let message = format!("policy type {:?} is not supported yet", policy.type_);
            let finding = not_supported(Code::NotSupported, message);
            found.push(finding.at(app.document(), format!("{}.type", policy.path)));
        }
    }
    policies
}

/// The places that the topology policies among these stand for, each once; the local cluster where there is none.
///
/// # Errors
/// There is no policy of that name, or it names what cannot be meant.
pub fn placements(app: &AppFile, names: &[String]) -> Result<Vec<Placement>, String> {
    let mut places: Vec<Placement> = Vec::new();
    for wanted in names {
        let mut policies = app.policies().iter().enumerate();
        let found = policies.find(|(index, policy)| name(policy, *index) == *wanted);
        let (_, policy) = found.ok_or_else(|| format!("policy {wanted} not found"))?;
        if base_name(&policy.type_) != TOPOLOGY {
            continue;
        }
        let mut found = Diagnostics::new();
        let named = topology::read(app, policy, Diagnostic::error, &mut found);
        if let Some(first) = found.iter().next() {
            return Err(format!("policy {wanted}: {}", first.message));
        }
        for place in named {
            if !places.iter().any(|known| known.is_same_place(&place)) {
                places.push(place);
            }
        }
    }
    if places.is_empty() {
        places.push(Placement::new(LOCAL, ""));
    }
    Ok(places)
}

/// Components as the entries of a patch change them, and of these only those that are selected, where any are.
pub fn changed_components(components: Vec<Json>, patch: &Json, selector: &Json) -> Vec<Json> {
    let mut components = components;
    overrides::apply(&json!({"components": patch, "selector": selector}), &mut components, COMPONENT_LIMIT);
    components
}

/// Is it the name of one of the topology policies of the application?
pub(crate) fn is_topology(app: &AppFile, wanted: &str) -> bool {
    let mut policies = app.policies().iter().enumerate();
    policies.any(|(index, policy)| base_name(&policy.type_) == TOPOLOGY && name(policy, index) == wanted)
}

impl Policies {
    /// Names of those by which `deploy` steps go.
    pub(crate) fn deployable(&self) -> impl Iterator<Item = &str> {
        let places = self.topologies.iter().map(|topology| topology.name.as_str());
        let copies = self.replications.iter().map(|policy| policy.name.as_str());
        places.chain(copies).chain(self.overrides.iter().map(|policy| policy.name.as_str()))
    }
}

/// The name of the policy at this index; one is made up where it has none, as upstream.
pub(crate) fn name(policy: &Policy, index: usize) -> String {
    written::name_of(&policy.name, &policy.type_, index)
}
