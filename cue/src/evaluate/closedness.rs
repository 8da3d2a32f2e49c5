//! Which fields a vertex may have: each closing scope must know each field.
//!
//! Scopes form a tree. A definition's conjuncts, and all they bring, stand below one scope. A field is known to a closing
//! scope when a conjunct below it names the field (by label, pattern or ellipsis), or when such a conjunct stands beside
//! it in the struct that embeds it.

use super::{Evaluation, Fault, ScopeId, ScopeKind, VertexId};
use crate::{
    diagnostic::Code,
    ir::{ArcKind, ExprId, Label},
};

/// Scopes that are looked at in the time of the step that led to it.
const LITTLE: usize = 1_024;

impl Evaluation {
    /// Notes all scopes that close a vertex because a struct of theirs is part of it.
    pub(crate) fn close_by(&mut self, vertex: VertexId, mut scope: ScopeId) {
        while self.scopes[scope.0 as usize].closes {
            let here = self.scopes[scope.0 as usize];
            let counts = match here.kind {
                ScopeKind::Definition => true,
                ScopeKind::Close(of) => self.canonical(of) == self.canonical(vertex),
                _ => false,
            };
            if counts && !self.v(vertex).closers.contains(&scope) {
                self.put(vertex, |v| &mut v.closers, scope);
            }
            scope = here.parent;
        }
    }

    /// Whether evidence of a field in `seen` satisfies the closing scope.
    fn allows(&self, closer: ScopeId, seen: ScopeId) -> bool {
        let (mut a, mut b) = (closer, seen);
        let mut below = ScopeId::NONE;
        loop {
            let (x, y) = (self.scopes[a.0 as usize], self.scopes[b.0 as usize]);
            if a == b {
                break;
            }
            if x.depth >= y.depth {
                below = a;
                a = x.parent;
            } else {
                b = y.parent;
            }
        }
        below.is_none() || self.scopes[below.0 as usize].kind == ScopeKind::Embedding
    }

    fn allowed(&self, vertex: VertexId, seen: &[ScopeId]) -> bool {
        let v = self.v(vertex);
        v.closers.iter().all(|closer| v.open.iter().chain(seen).any(|s| self.allows(*closer, *s)))
    }

    /// Whether a closed vertex could have this field.
    pub(crate) fn accepts(&mut self, vertex: VertexId, label: Label) -> bool {
        if self.v(vertex).closers.is_empty() {
            return true;
        }
        let mut seen: Vec<ScopeId> = Vec::new();
        if let Some(arc) = self.v(vertex).arcs.find(label) {
            seen.extend(self.v(arc.vertex).conjuncts.iter().map(|c| c.scope));
        }
        for at in 0..self.v(vertex).patterns.len() {
            let pattern = self.v(vertex).patterns[at].clone();
            if self.matches(&pattern.matcher, label) {
                seen.push(pattern.value.scope);
            }
        }
        self.allowed(vertex, &seen)
    }

    pub(crate) fn check_closed(&mut self, vertex: VertexId) {
        if self.v(vertex).closers.is_empty() {
            return;
        }
        for at in 0..self.v(vertex).arcs.len() {
            let arc = self.v(vertex).arcs[at];
            if arc.kind != ArcKind::Member || !arc.label.is_regular() {
                continue;
            }
            let seen: Vec<ScopeId> = self.v(arc.vertex).conjuncts.iter().map(|c| c.scope).collect();
            if let Err(fault) = self.count_scopes(vertex, seen.len(), arc.vertex) {
                return self.set_fault(vertex, fault);
            }
            if self.allowed(vertex, &seen) {
                continue;
            }
            let places: Vec<ExprId> = self.v(arc.vertex).conjuncts.iter().map(|c| c.expr).collect();
            let message = super::Message::NotAllowed(arc.label, vertex);
            let fault = self.fault_with(Code::NotAllowed, message, &places);
            self.keep_apart(arc.vertex);
            self.process(arc.vertex);
            self.set_fault(arc.vertex, fault.clone());
            let child = self.deref(arc.vertex);
            self.set_fault(child, fault);
        }
    }

    /// Counts the work of looking at every closing scope for every evidence: in values that hold themselves it grows with
    /// the cube of their depth.
    fn count_scopes(&mut self, vertex: VertexId, seen: usize, field: VertexId) -> Result<(), Fault> {
        let v = self.v(vertex);
        let depth = v.closers.last().map_or(0, |closer| self.scopes[closer.0 as usize].depth as usize);
        let size = v.closers.len() * (v.open.len() + seen) * depth;
        if size < LITTLE {
            return Ok(());
        }
        let place = self.v(field).conjuncts.first().map_or(ExprId::NONE, |c| c.expr);
        self.work(size, place)
    }

    /// Whether no further regular fields may be added.
    pub(crate) fn is_closed(&self, vertex: VertexId) -> bool {
        let v = self.v(vertex);
        v.closers.iter().any(|closer| !v.open.iter().any(|s| self.allows(*closer, *s)))
    }
}
