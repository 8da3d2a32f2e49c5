//! The rendering of one component: its objects with their origins, or the reason of its wait.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value as Json;

use super::origins::ValueOrigin;
use super::processing;
use super::stages::{Deferred, Stages};
use crate::definition::Definition;
use crate::observed::ObjectKey;
use crate::parse::AppFile;
use crate::placement::Placement;
use crate::policy;

/// The role of an object in the labels `app.oam.dev/resourceType` and its like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Role {
    /// The component's workload.
    Workload,
    /// An object beside the workload, made by the component's own template.
    Auxiliary {
        /// Its name under `outputs`.
        resource: String,
    },
    /// An object made by a trait.
    Trait {
        /// The trait's type.
        type_: String,
        /// Index of the trait in the component.
        index: usize,
        /// Its name under `outputs`; "" for the single `output`.
        resource: String,
    },
    /// An object made by a policy of the application, which belongs to no component.
    Policy {
        /// Index of the policy in the AppFile.
        index: usize,
        /// Its name under `outputs`; "" for the single `output`.
        resource: String,
    },
}

/// Values from outside the templates: what is known of `context` beyond the application itself.
#[derive(Debug, Clone, Default)]
pub struct Inputs {
    /// Value of each output of other components that is known by now.
    pub outputs: BTreeMap<String, Json>,
    /// Answers to what traits ask of elsewhere; nothing when this caller asks no provider.
    pub answers: Option<processing::Answers>,
    /// For a dry run: objects carry no revision, as they would not exist yet.
    pub unnamed_revision: bool,
    /// Objects say where each of their values was written. That takes time, so that only explanations ask for it.
    pub origins: bool,
    /// How far components are, for traits that are rendered before or after them.
    pub stages: Stages,
}

/// One object with where it comes from.
#[derive(Debug, Clone)]
pub struct RenderedObject {
    /// The object.
    pub object: Json,
    /// The cluster that it goes to; "" for the one that the application is in.
    pub cluster: String,
    /// Its role in the component.
    pub role: Role,
    /// The definition whose template made it.
    pub definition: Arc<Definition>,
    /// The traits that patched it, in order.
    pub patched_by: Vec<String>,
    /// Where its values were written; none where the inputs of the render do not ask for them.
    pub origins: Vec<ValueOrigin>,
}

impl RenderedObject {
    /// Its identity.
    pub fn key(&self) -> ObjectKey {
        ObjectKey { cluster: self.cluster.clone(), ..ObjectKey::of(&self.object) }
    }
}

/// The result for one component.
#[derive(Debug, Clone)]
pub enum State {
    /// Its objects: the workload first, then the others in the order of templates.
    Ready(Vec<RenderedObject>),
    /// It waits for values that do not exist yet: what is missing, in words.
    Pending(Vec<String>),
}

/// One rendered component.
#[derive(Debug, Clone)]
pub struct RenderedComponent {
    /// Index in the AppFile.
    pub index: usize,
    /// Where its objects go.
    pub placement: Placement,
    /// Its objects, or what it waits for.
    pub state: State,
    /// The context its templates saw (without `output` and `outputs`): health policies see it again.
    pub context: Json,
    /// The questions to answer before it can be rendered; the answers are inputs of the next render.
    pub requests: Vec<processing::Request>,
    /// The traits whose objects are not made yet.
    pub deferred: Vec<Deferred>,
    /// Only what goes before the component is among its objects: the others wait for it.
    pub withheld: bool,
}

/// One rendered policy: its objects go before those of all components.
#[derive(Debug, Clone)]
pub struct RenderedPolicy {
    /// Index in the AppFile.
    pub index: usize,
    /// Its name; one is made up where it has none.
    pub name: String,
    /// Its objects: `output` first, then the others in the order of the template.
    pub objects: Vec<RenderedObject>,
}

/// Field path and words for who made an object; `index` is that of its component, where it has one.
pub(crate) fn maker(app: &AppFile, index: usize, role: &Role) -> (String, String) {
    if let Role::Policy { index, .. } = role {
        let policy = &app.policies()[*index];
        return (policy.path.clone(), format!("policy {:?}", policy::name(policy, *index)));
    }
    let component = &app.components()[index];
    match role {
        Role::Workload | Role::Auxiliary { .. } | Role::Policy { .. } => {
            (component.path.clone(), format!("component {:?}", component.name))
        }
        Role::Trait { type_, index, .. } => {
            let path =
                component.traits.get(*index).map_or_else(|| component.path.clone(), |t| t.path.clone());
            (path, format!("trait {type_:?} of component {:?}", component.name))
        }
    }
}
