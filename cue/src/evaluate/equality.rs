//! Two vertices in; whether they are the same value out.

use std::hash::{BuildHasher, Hash, Hasher};

use rustc_hash::{FxBuildHasher, FxHasher};

use super::{Evaluation, VertexId, limits::MAX_COMPARED};
use crate::ir::{ArcKind, Atom, ExprId};

impl Evaluation {
    /// Whether two finished concrete values are equal.
    pub(crate) fn equal(&mut self, a: VertexId, b: VertexId) -> bool {
        let (Some(a), Some(b)) = (self.default_of(a), self.default_of(b)) else { return false };
        if self.deref(a) == self.deref(b) {
            return true;
        }
        // Sharing makes structures that are much larger than what they were written as.
        if self.step(ExprId::NONE).is_err() {
            return false;
        }
        self.process(a);
        self.process(b);
        let (x, y) = (self.v(a), self.v(b));
        match (&x.atom, &y.atom) {
            (Some(p), Some(q)) => return p == q,
            (None, None) => {}
            _ => return false,
        }
        if x.list.is_some() != y.list.is_some() {
            return false;
        }
        let members = |this: &Self, v: VertexId| -> Vec<super::Arc_> {
            let counts = |a: &&super::Arc_| {
                a.kind == ArcKind::Member && (a.label.is_regular() || a.label.as_index().is_some())
            };
            this.v(v).arcs.iter().filter(counts).copied().collect()
        };
        let (left, right) = (members(self, a), members(self, b));
        left.len() == right.len()
            && left.iter().all(|l| {
                self.v(b).arcs.find(l.label).copied().filter(|r| r.kind == ArcKind::Member).is_some_and(|r| {
                    let (l, r) = (l.vertex, r.vertex);
                    stacker::maybe_grow(128 * 1024, 1024 * 1024, || self.equal(l, r))
                })
            })
    }

    /// A number that is the same for disjuncts that say the same.
    pub(crate) fn outline(&self, vertex: VertexId) -> u64 {
        let v = self.v(self.deref(vertex));
        let mut hasher = FxHasher::default();
        v.kinds.0.hash(&mut hasher);
        match &v.atom {
            Some(Atom::String(text)) => text.hash(&mut hasher),
            Some(Atom::Bytes(bytes)) => bytes.hash(&mut hasher),
            Some(Atom::Number { value, .. }) => value.to_i64().hash(&mut hasher),
            Some(Atom::Bool(b)) => b.hash(&mut hasher),
            Some(Atom::Null) | None => v.bounds.len().hash(&mut hasher),
        }
        // Fields may stand in any order.
        let labels = v.arcs.iter().map(|arc| FxBuildHasher.hash_one(arc.label));
        labels.fold(0, u64::wrapping_add).hash(&mut hasher);
        hasher.finish()
    }

    /// Whether two lists have the same elements, whatever may follow them.
    pub(crate) fn same_elements(&self, a: VertexId, b: VertexId) -> bool {
        let (a, b) = (self.deref(a), self.deref(b));
        let plain = |v: &super::Vertex| {
            v.list.is_some()
                && v.state == super::State::Done
                && v.fault.is_none()
                && v.disjuncts.is_none()
                && v.checks.is_empty()
                && v.arcs.iter().all(|arc| arc.label.as_index().is_some())
        };
        let (x, y) = (self.v(a), self.v(b));
        plain(x)
            && plain(y)
            && x.arcs.len() == y.arcs.len()
            && x.arcs.iter().zip(&y.arcs).all(|(p, q)| self.same_disjunct(p.vertex, q.vertex))
    }

    /// Whether two disjuncts say the same, known or not.
    pub(crate) fn same_disjunct(&self, a: VertexId, b: VertexId) -> bool {
        self.same_within(a, b, &mut { MAX_COMPARED })
    }

    /// The same, for as many pairs as are left.
    fn same_within(&self, a: VertexId, b: VertexId, left: &mut u32) -> bool {
        if *left == 0 {
            return false;
        }
        *left -= 1;
        let (a, b) = (self.deref(a), self.deref(b));
        if a == b {
            return true;
        }
        let (x, y) = (self.v(a), self.v(b));
        if let (Some(p), Some(q)) = (&x.atom, &y.atom) {
            return p == q && p.kinds() == q.kinds();
        }
        let simple = x.kinds == y.kinds
            && x.atom == y.atom
            && x.bounds.len() == y.bounds.len()
            && x.bounds.iter().zip(&y.bounds).all(|(p, q)| p.op == q.op && p.limit == q.limit)
            && x.checks.len() == y.checks.len()
            && x.checks.iter().zip(&y.checks).all(|(p, q)| p.conjunct.expr == q.conjunct.expr)
            && x.list.as_ref().map(|l| (l.closed, l.rest.len()))
                == y.list.as_ref().map(|l| (l.closed, l.rest.len()))
            && x.arcs.len() == y.arcs.len()
            && x.has_ellipsis == y.has_ellipsis
            && x.fault.is_some() == y.fault.is_some()
            && self.is_closed(a) == self.is_closed(b)
            && x.patterns.len() == y.patterns.len()
            && x.patterns.iter().all(|p| y.patterns.iter().any(|q| p.value.expr == q.value.expr));
        if !simple || x.state != super::State::Done || y.state != super::State::Done {
            return false;
        }
        match (&x.disjuncts, &y.disjuncts) {
            (None, None) => {}
            (Some(p), Some(q)) => {
                if p.len() != q.len()
                    || !p.iter().zip(q).all(|(p, q)| p.1 == q.1 && self.same_within(p.0, q.0, left))
                {
                    return false;
                }
            }
            _ => return false,
        }
        x.arcs.iter().all(|l| {
            y.arcs.find(l.label).is_some_and(|r| {
                r.kind == l.kind
                    && (l.kind == ArcKind::Member
                        || self.v(l.vertex).conjuncts.iter().map(|c| c.expr).eq(self
                            .v(r.vertex)
                            .conjuncts
                            .iter()
                            .map(|c| c.expr)))
                    && (l.kind != ArcKind::Member || self.same_within(l.vertex, r.vertex, left))
            })
        })
    }
}
