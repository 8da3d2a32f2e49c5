//! The components of a desired set, as they are applied in the order of a workflow.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::future::BoxFuture;
use kube::api::DynamicObject;
use vela_engine::ObjectKey;
use vela_engine::policy::ObjectRules;
use vela_runtime::Key;
use vela_runtime::apply as runtime_apply;

use super::error::Error;
use super::result::Applied;
use super::write::ComponentWriter;
use crate::application::desired::{Desired, Node, Piece};
use crate::application::inventory::Owned;
use crate::blocking::NotComputed;
use crate::workflow::{Apply, apply_due};

/// The numbers of nodes that may be applied, once they are known.
pub(in crate::application) type Due<'a> = BoxFuture<'a, Result<Vec<usize>, NotComputed>>;

/// The result of an order.
#[derive(Default)]
pub(in crate::application) struct Begun {
    /// The nodes that were applied.
    pub(in crate::application) nodes: BTreeSet<usize>,
    /// The nodes that the workflow passed over: the rest is the whole set.
    pub(in crate::application) left_out: BTreeSet<usize>,
    /// How many nodes a run that failed will never begin.
    pub(in crate::application) blocked: usize,
}

/// In which order components are applied.
pub(in crate::application) trait Order {
    /// Apply what may be applied now.
    async fn run(&mut self, components: &mut Components<'_>) -> Result<Begun, Error>;
}

/// The components of a desired set while they are applied.
pub(in crate::application) struct Components<'w> {
    writer: ComponentWriter<'w>,
    desired: &'w Desired,
    applied: Applied,
}

impl<'w> Components<'w> {
    pub(super) fn new(writer: ComponentWriter<'w>, desired: &'w Desired) -> Self {
        Self { writer, desired, applied: Applied::nothing() }
    }

    pub(super) fn into_parts(self) -> (ComponentWriter<'w>, Applied) {
        (self.writer, self.applied)
    }

    /// The objects applied so far.
    pub(in crate::application) fn applied(&self) -> &Applied {
        &self.applied
    }

    /// Apply the objects of policies, which go before all components. Were they all applied?
    pub(super) async fn apply_policies(&mut self) -> Result<bool, Error> {
        let policies = self.desired.policies.iter().collect();
        self.writer.write(policies, &mut self.applied).await?;
        Ok(self.applied.has_no_gap())
    }

    /// Apply these nodes, several at the same time.
    pub(in crate::application) async fn apply(&mut self, nodes: &[usize]) -> Result<(), Error> {
        let desired = self.desired;
        let nodes = nodes.iter().filter_map(|index| desired.nodes.get(*index)).collect();
        self.writer.write(nodes, &mut self.applied).await
    }

    /// Did a former reconcile make every object of this node?
    pub(in crate::application) fn is_made(&self, node: usize) -> bool {
        let node = self.desired.nodes.get(node);
        node.is_some_and(|node| node.pieces.iter().all(|piece| self.writer.is_made(&piece.owned())))
    }
}

impl Components<'_> {
    /// Apply an object that no component makes, recorded first. Gives it as it is in the cluster, or why it is not there.
    pub(in crate::application) async fn apply_object(
        &mut self,
        name: &ObjectKey,
        object: DynamicObject,
        rules: ObjectRules,
    ) -> Result<Result<Arc<DynamicObject>, String>, Error> {
        let piece = Piece { name: name.clone(), object, trait_type: None, rules, held: false };
        let node = Node { component: String::new(), by_policy: false, wave: i32::MAX, pieces: vec![piece] };
        self.writer.record(&node).await?;
        let mut applied = Applied::nothing();
        self.writer.write(vec![&node], &mut applied).await?;
        let live = applied.live().get(name).cloned();
        let why = || {
            let why = applied.errors().get(name).cloned();
            why.unwrap_or_else(|| format!("{name} is to be made again, and its former object is still there"))
        };
        Ok(live.ok_or_else(why))
    }
}

impl Components<'_> {
    /// Delete an object that a step names, where it is the application's. Its record stays until all of it is gone.
    pub(in crate::application) async fn delete_object(
        &self,
        name: &ObjectKey,
    ) -> Result<(), runtime_apply::Error> {
        let ObjectKey { api_version, kind, namespace, name, .. } = name.clone();
        let owned = Owned { cluster: String::new(), api_version, kind, key: Key::new(namespace, name) };
        self.writer.delete(&owned).await
    }
}

/// Each component when those it waits for are healthy: `due` names the nodes that may be applied, given what was applied so
/// far; it is asked again until it names nothing new.
pub(in crate::application) struct ByHealth<'o, 'd> {
    pub(in crate::application) due: &'o (dyn Fn(&Applied) -> Due<'d> + Send + Sync),
    /// How many nodes no step of a workflow that failed will begin.
    pub(in crate::application) blocked: usize,
}

impl Order for ByHealth<'_, '_> {
    async fn run(&mut self, components: &mut Components<'_>) -> Result<Begun, Error> {
        let all = (0..components.desired.nodes.len()).collect();
        let nodes = apply_due(&mut InOrder { components, due: self.due }, all).await?;
        Ok(Begun { nodes, left_out: BTreeSet::new(), blocked: self.blocked })
    }
}

struct InOrder<'c, 'w, 'o, 'd> {
    components: &'c mut Components<'w>,
    due: &'o (dyn Fn(&Applied) -> Due<'d> + Send + Sync),
}

impl Apply<Error> for InOrder<'_, '_, '_, '_> {
    async fn due(&mut self) -> Result<Vec<usize>, Error> {
        Ok((self.due)(&self.components.applied).await?)
    }

    async fn apply(&mut self, nodes: &[usize]) -> Result<(), Error> {
        self.components.apply(nodes).await
    }
}
