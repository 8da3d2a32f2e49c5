//! A reference that is about to be followed in; whether it leads into itself, and what becomes of it, out.
//!
//! A value may not contain itself. A reference to an ancestor of the value it stands in, or one that comes back to a
//! target it was brought by, makes its conjunct *cyclic*, and everything below that conjunct stays so. A cyclic conjunct
//! waits until the value has another one that is not: then it may be followed once more, and the value below decides
//! again. A value of which only cyclic conjuncts are left has a structural cycle. An optional part (an optional field, a
//! pattern, the further elements of a list, a disjunct) may go one round more before it counts.

use super::{Conjunct, Cycle, CycleId, CycleKind, EnvKind, Evaluation, Fault, VertexId};
use crate::{diagnostic::Code, ir::Label};

/// Longest chain of references of one conjunct.
const MAX_CHAIN: usize = 1_000;

/// How often one reference may lead to another value of its own before that counts as without end.
const MAX_REPEATS: usize = 100;

/// The treatment of a reference.
pub(crate) enum Step {
    /// It adds nothing, or nothing yet.
    Skip,
    /// Its target's conjuncts are brought, on behalf of this one.
    Follow(Conjunct),
}

impl Conjunct {
    /// The conjunct as it stands below something optional.
    pub(crate) fn optional(self) -> Self {
        Self { kind: self.kind.max(CycleKind::Optional), ..self }
    }
}

impl Evaluation {
    /// Decides about a reference from a vertex to a target.
    pub(crate) fn follow(
        &mut self,
        vertex: VertexId,
        target: VertexId,
        conjunct: Conjunct,
    ) -> Result<Step, Fault> {
        let own = self.canonical(vertex);
        let aim = self.canonical(target);
        if aim == own {
            return Ok(Step::Skip);
        }
        if self.is_ancestor(aim, vertex) {
            let standing = &mut self.vm(vertex).standing;
            standing.ancestor = true;
            standing.cyclic = true;
            return Ok(self.cyclic(vertex, target, conjunct, self.v(vertex).standing.acyclic));
        }
        if conjunct.kind == CycleKind::Maybe && self.v(vertex).standing.plain {
            return Ok(Step::Follow(conjunct));
        }
        let mut id = conjunct.cycle;
        let mut length = 0;
        let mut repeats = 0;
        let mut stepped = false;
        while !id.is_none() {
            let entry = self.cycles[id.0 as usize];
            repeats += usize::from(entry.expr == conjunct.expr);
            length += 1;
            if repeats > MAX_REPEATS || length > MAX_CHAIN {
                return Err(self.fault(Code::StructuralCycle, "structural cycle", conjunct.expr));
            }
            let step = if self.canonical(entry.target) == aim {
                self.returned(vertex, target, conjunct, entry)
            } else if entry.expr == conjunct.expr && !stepped {
                stepped = self.is_step(vertex, target, conjunct, entry);
                let again = !stepped && self.canonical(entry.node) == own && self.is_inline(target);
                again.then(|| self.round(vertex, target, conjunct))
            } else {
                None
            };
            if let Some(step) = step {
                return Ok(step);
            }
            id = entry.up;
        }
        self.take(size_of::<Cycle>());
        self.cycles.push(Cycle { up: conjunct.cycle, expr: conjunct.expr, target, node: vertex });
        Ok(Step::Follow(Conjunct { cycle: CycleId(self.cycles.len() as u32 - 1), ..conjunct }))
    }

    /// Decides about a reference to a target that brought the conjunct before.
    fn returned(
        &mut self,
        vertex: VertexId,
        target: VertexId,
        conjunct: Conjunct,
        entry: Cycle,
    ) -> Option<Step> {
        if self.canonical(entry.node) == self.canonical(vertex) {
            return Some(Step::Skip);
        }
        let standing = self.v(vertex).standing;
        if conjunct.kind == CycleKind::Optional && standing.plain {
            if self.depth_of(entry.node) == self.depth_of(vertex) {
                return Some(Step::Skip);
            }
            let again = Conjunct { kind: CycleKind::Maybe, cycle: CycleId::NONE, ..conjunct };
            return Some(Step::Follow(again));
        }
        // Another reference to the same target stands in a second use of one body, not in the first.
        if entry.expr != conjunct.expr && standing.acyclic && standing.plain {
            return None;
        }
        Some(self.round(vertex, target, conjunct))
    }

    fn round(&mut self, vertex: VertexId, target: VertexId, conjunct: Conjunct) -> Step {
        self.vm(vertex).standing.cyclic = true;
        let standing = self.v(vertex).standing;
        self.cyclic(vertex, target, conjunct, standing.acyclic || standing.plain)
    }

    /// Whether an expression that leads to another inline value each time walks along a chain that ends.
    fn is_step(&self, vertex: VertexId, target: VertexId, conjunct: Conjunct, entry: Cycle) -> bool {
        let own = self.canonical(vertex);
        if self.canonical(entry.node) != own || !self.is_inline(target) {
            return false;
        }
        let mut env = conjunct.env;
        while !env.is_none() {
            if let EnvKind::Vertex(around) = self.env(env).kind {
                let around = self.canonical(around);
                return around == own || around == self.canonical(self.v(entry.target).parent);
            }
            env = self.env(env).up;
        }
        false
    }

    /// Whether a value stands beside the tree, in the middle of an expression.
    pub(crate) fn is_inline(&self, mut vertex: VertexId) -> bool {
        loop {
            let v = self.v(vertex);
            if v.label == Label::NONE {
                return vertex != self.root;
            }
            if v.parent.is_none() {
                return true;
            }
            vertex = v.parent;
        }
    }

    fn cyclic(&mut self, vertex: VertexId, target: VertexId, conjunct: Conjunct, now: bool) -> Step {
        let conjunct = Conjunct { kind: CycleKind::Cyclic, ..conjunct };
        if now {
            return Step::Follow(conjunct);
        }
        self.put(vertex, |v| &mut v.postponed, (conjunct, target));
        Step::Skip
    }

    /// Notes that a conjunct gives a vertex a value. References that waited for one are followed now.
    pub(crate) fn has_value(&mut self, vertex: VertexId, conjunct: Conjunct) {
        if conjunct.kind == CycleKind::Cyclic {
            return;
        }
        self.vm(vertex).standing.acyclic = true;
        for (waiting, target) in std::mem::take(&mut self.vm(vertex).postponed) {
            if let Err(fault) = self.bring(vertex, target, waiting) {
                self.set_fault(vertex, fault);
            }
        }
    }

    fn is_ancestor(&self, target: VertexId, of: VertexId) -> bool {
        let mut at = self.v(of).parent;
        while !at.is_none() {
            if self.canonical(at) == target {
                return true;
            }
            at = self.v(at).parent;
        }
        false
    }

    fn depth_of(&self, mut vertex: VertexId) -> usize {
        let mut depth = 0;
        while !self.v(vertex).parent.is_none() {
            vertex = self.v(vertex).parent;
            depth += 1;
        }
        depth
    }
}
