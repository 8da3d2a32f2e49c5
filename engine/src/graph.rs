//! Builds the graph of what is applied after what; `plan` has refused circles before, and `render` duplicates.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::diagnostic::Diagnostics;
use crate::observed::ObjectKey;
use crate::parse::{AppFile, Component};
use crate::placement::Placement;
use crate::render::stages::Deferred;
use crate::render::{Rendered, RenderedObject, RenderedPolicy, State};
use crate::revision::{Identity, Revision};
use crate::successor::VersionKind;

/// The desired objects of one revision, in waves.
#[derive(Debug, Clone)]
pub struct Graph {
    rendered: Arc<Rendered>,
    waves: Vec<Vec<usize>>,
}

impl Graph {
    /// The one identity that revision, record of owned resources and workflow run carry.
    pub fn identity(&self) -> &Arc<Identity> {
        self.rendered.identity()
    }

    /// The revision.
    pub fn revision(&self) -> &Revision {
        self.rendered.plan().revision()
    }

    /// The application.
    pub fn app_file(&self) -> &Arc<AppFile> {
        self.rendered.app_file()
    }

    /// The rendered components.
    pub fn rendered(&self) -> &Rendered {
        &self.rendered
    }

    /// The same with the objects of kinds that the cluster does not serve any more in the version that followed.
    ///
    /// # Errors
    /// Two objects would become one.
    pub fn with_successors(self, not_served: &BTreeSet<VersionKind>) -> Result<Self, Diagnostics> {
        let rendered = Arc::unwrap_or_clone(self.rendered).with_successors(not_served)?;
        Ok(Self { rendered: Arc::new(rendered), ..self })
    }

    /// The warnings of all phases together.
    pub fn warnings(&self) -> &Diagnostics {
        self.rendered.warnings()
    }

    /// Indexes of nodes: each wave waits for the health of earlier ones only.
    pub fn waves(&self) -> &[Vec<usize>] {
        &self.waves
    }

    /// How many nodes: components at their places.
    pub fn len(&self) -> usize {
        self.rendered.components().len()
    }

    /// Has it no node?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The component of a node, as written.
    pub fn component(&self, index: usize) -> Option<&Component> {
        let node = self.rendered.plan().nodes().get(index)?;
        self.app_file().components().get(node.component)
    }

    /// Where a node's objects go.
    pub fn placement(&self, index: usize) -> Option<&Placement> {
        self.rendered.plan().nodes().get(index).map(|node| &node.placement)
    }

    /// Objects of a node: the workload first; none while it is pending.
    pub fn objects_of(&self, index: usize) -> &[RenderedObject] {
        match self.rendered.components().get(index).map(|component| &component.state) {
            Some(State::Ready(objects)) => objects,
            _ => &[],
        }
    }

    /// The nodes that must be healthy before this one is applied.
    pub fn waits_for(&self, index: usize) -> impl Iterator<Item = usize> + '_ {
        self.rendered.plan().nodes().get(index).into_iter().flat_map(|node| node.waits_for.iter().copied())
    }

    /// The traits of a node whose objects are not made yet.
    pub fn deferred(&self, index: usize) -> &[Deferred] {
        let component = self.rendered.components().get(index);
        component.map(|component| component.deferred.as_slice()).unwrap_or_default()
    }

    /// Do the objects of a node wait for those that go before them?
    pub fn is_withheld(&self, index: usize) -> bool {
        self.rendered.components().get(index).is_some_and(|component| component.withheld)
    }

    /// The missing input of a node.
    pub fn pending(&self, index: usize) -> &[String] {
        match self.rendered.components().get(index).map(|component| &component.state) {
            Some(State::Pending(missing)) => missing,
            _ => &[],
        }
    }

    /// The policies that make objects, in the order written.
    pub fn policies(&self) -> &[RenderedPolicy] {
        self.rendered.policies()
    }

    /// Every desired object: those of policies, then those of components in the order of waves.
    pub fn objects(&self) -> impl Iterator<Item = &RenderedObject> {
        let of_policies = self.policies().iter().flat_map(|policy| &policy.objects);
        of_policies.chain(self.waves.iter().flatten().flat_map(|index| self.objects_of(*index)))
    }

    /// Is the desired set complete? The caller prunes nothing while it is not.
    pub fn is_complete(&self) -> bool {
        (0..self.len()).all(|index| self.pending(index).is_empty())
    }

    /// Identities of every desired object.
    pub fn keys(&self) -> BTreeSet<ObjectKey> {
        self.objects().map(RenderedObject::key).collect()
    }
}

/// Orders the rendered components in waves.
///
/// # Errors
/// Components wait for each other in a circle, which a plan rules out.
pub fn graph(rendered: Rendered) -> Result<Graph, Diagnostics> {
    let nodes = rendered.plan().nodes();
    let mut done: BTreeSet<usize> = BTreeSet::new();
    let mut waves: Vec<Vec<usize>> = Vec::new();
    while done.len() < nodes.len() {
        let wave: Vec<usize> =
            (0..nodes.len()).filter(|n| !done.contains(n) && nodes[*n].waits_for.is_subset(&done)).collect();
        if wave.is_empty() {
            // The plan is free of circles, so this cannot be; saying so is better than turning for ever.
            let message = "components wait for each other in a circle";
            return Err(crate::Diagnostic::error(crate::Code::Cycle, message).into());
        }
        done.extend(&wave);
        waves.push(wave);
    }
    Ok(Graph { rendered: Arc::new(rendered), waves })
}
