//! Structure sharing: a vertex whose only conjunct is a reference becomes its target instead of a copy of it.
//!
//! Without it every reference brings the conjuncts of its target anew, and a chain of references costs the square of its
//! length, doubled structures the power. A vertex is shared only when nothing about it could differ from its target: no
//! second conjunct, no closing scope around the reference, no history of references that lead here. A conjunct that arrives
//! later starts the vertex anew, and then it is copied as usual.

use rustc_hash::FxHashSet;

use super::{Conjunct, CycleKind, Evaluation, Sharing, State, Task, TaskState, VertexId};
use crate::{
    diagnostic::Code,
    ir::{Expr, ExprId},
    packages::Kinds,
};

/// Longest chain of names that is evaluated from its far end; the rest of it takes part of the depth.
const MAX_CHAIN: usize = 1_000_000;

/// Most references that are shown as origins of one value.
const MAX_ORIGINS: usize = 64;

impl Evaluation {
    /// Makes a vertex its target, when there is nothing that could tell them apart.
    pub(crate) fn share(&mut self, vertex: VertexId, target: VertexId, conjunct: Conjunct) -> bool {
        if !self.is_sole(vertex, conjunct) {
            return false;
        }
        self.process_chain(target);
        self.process(target);
        let own = self.shared_end(target);
        if self.is_within(vertex, own) || !self.may_be_shared(own) || !self.is_sole(vertex, conjunct) {
            return false;
        }
        if own != target {
            // Should a part of the chain get another conjunct, everything before it is made anew.
            self.put(target, |v| &mut v.subscribers, (vertex, conjunct));
        }
        let v = self.vm(vertex);
        v.forward = own;
        v.sharing.target = Some(target);
        true
    }

    /// Whether a reference is all that is known about a vertex.
    fn is_sole(&self, vertex: VertexId, conjunct: Conjunct) -> bool {
        let v = self.v(vertex);
        v.conjuncts.len() == 1
            && v.conjuncts[0].expr == conjunct.expr
            && v.tasks.len() == 1
            && v.state == State::Busy
            && v.copy_of.is_none()
            && !v.sharing.forbidden
            && v.arcs.is_empty()
            && v.atom.is_none()
            && v.kinds == Kinds::TOP
            && v.choices.is_empty()
            && conjunct.cycle.is_none()
            && conjunct.kind == CycleKind::None
            && !self.scopes[conjunct.scope.0 as usize].closes
            && self.names_a_value(conjunct.expr)
    }

    fn names_a_value(&self, expr: ExprId) -> bool {
        let chunk = self.chunk(expr);
        expr.as_value().is_some()
            || matches!(
                self.expr(&chunk, expr),
                Expr::Field { .. }
                    | Expr::DynamicField { .. }
                    | Expr::Let { .. }
                    | Expr::ForValue { .. }
                    | Expr::ClauseLet { .. }
                    | Expr::Selector(..)
                    | Expr::Index(..)
                    | Expr::Value(_)
            )
    }

    /// Whether a vertex is done and no other vertex is about to add to it.
    fn may_be_shared(&self, target: VertexId) -> bool {
        let v = self.v(target);
        let own = self.v(self.deref(target));
        let settled = |task: &Task| task.state == TaskState::Done;
        v.state == State::Done
            && v.fault.is_none()
            && own.state == State::Done
            && own.fault.is_none()
            && v.tasks.iter().all(settled)
            && own.tasks.iter().all(settled)
            && (v.parent.is_none() || self.v(v.parent).state != State::Busy)
    }

    /// Whether a vertex is another one under its own name.
    pub(crate) fn is_shared(&self, vertex: VertexId) -> bool {
        self.v(vertex).sharing.target.is_some()
    }

    /// Whether a vertex is another one or below it.
    fn is_within(&self, mut vertex: VertexId, above: VertexId) -> bool {
        while !vertex.is_none() && vertex != above {
            vertex = self.v(vertex).parent;
        }
        !vertex.is_none()
    }

    /// The end of a chain of shared vertices.
    pub(crate) fn shared_end(&self, mut vertex: VertexId) -> VertexId {
        while self.v(vertex).sharing.target.is_some() {
            vertex = self.v(vertex).forward;
        }
        vertex
    }

    /// The vertex whose conjuncts stand for a shared one: the end of its chain, when the way there adds no scope.
    pub(crate) fn unshared(&self, mut vertex: VertexId) -> VertexId {
        while let Some(target) = self.v(vertex).sharing.target
            && self.v(vertex).conjuncts.iter().all(|c| c.scope == super::ROOT_SCOPE)
        {
            vertex = target;
        }
        vertex
    }

    /// Evaluates a chain of names from its far end, so that its length takes no depth.
    fn process_chain(&mut self, target: VertexId) {
        let mut chain: Vec<VertexId> = Vec::new();
        let mut seen: FxHashSet<VertexId> = FxHashSet::default();
        let mut at = target;
        while chain.len() < MAX_CHAIN {
            let v = self.v(at);
            let [conjunct] = v.conjuncts.as_slice() else { break };
            let conjunct = *conjunct;
            if v.state != State::New || conjunct.expr.as_value().is_some() {
                break;
            }
            let chunk = self.chunk(conjunct.expr);
            let Expr::Field { up, label } = *self.expr(&chunk, conjunct.expr) else { break };
            let env = self.env_up(conjunct.env, up);
            if env.is_none() {
                break;
            }
            let super::EnvKind::Vertex(from) = self.env(env).kind else { break };
            // Only what is there anyway: looking further could evaluate something out of turn.
            let Some(arc) = self.v(from).arcs.find(label) else { break };
            if !seen.insert(at) {
                break;
            }
            chain.push(at);
            at = arc.vertex;
        }
        for vertex in chain.into_iter().rev() {
            if self.step(ExprId::NONE).is_err() {
                return;
            }
            self.process(vertex);
        }
    }

    /// The known part of the target counts for the vertex that shares it.
    pub(crate) fn adopt(&mut self, vertex: VertexId) {
        let from = self.v(self.deref(vertex));
        let (fault, child_fault) = (from.fault.clone(), from.child_fault.clone());
        let (finalized, waiting_since) = (from.finalized, from.waiting_since);
        let v = self.vm(vertex);
        v.fault = fault;
        v.child_fault = child_fault;
        v.finalized = finalized;
        v.waiting_since = waiting_since;
    }

    /// Finalizes a vertex through the one it shares. A value that would hold itself is a structural cycle.
    pub(crate) fn finalize_shared(&mut self, vertex: VertexId) {
        let own = self.deref(vertex);
        if !self.v(own).on_path {
            self.finalize(own);
            return self.adopt(vertex);
        }
        let place = self.v(vertex).conjuncts.first().map_or(ExprId::NONE, |c| c.expr);
        let fault = self.fault(Code::StructuralCycle, "structural cycle", place);
        let v = self.vm(vertex);
        v.forward = VertexId::NONE;
        v.sharing = Sharing { target: None, forbidden: true };
        v.fault = None;
        v.finalized = true;
        self.set_fault(vertex, fault);
    }

    /// Keeps what is said about a vertex away from the one it shares.
    pub(crate) fn keep_apart(&mut self, vertex: VertexId) {
        if self.v(vertex).sharing.target.is_some() {
            self.reset(vertex);
        }
        self.vm(vertex).sharing.forbidden = true;
    }

    /// The references through which a vertex came to its value, nearest first.
    pub(crate) fn references_of(&self, mut vertex: VertexId) -> Vec<ExprId> {
        let mut out = Vec::new();
        while let (Some(target), true) = (self.v(vertex).sharing.target, out.len() < MAX_ORIGINS) {
            out.extend(self.v(vertex).conjuncts.first().map(|c| c.expr));
            vertex = target;
        }
        out
    }
}
