//! List literals: elements, comprehensions, ellipsis, and lengths that must agree; slices.

use super::{Conjunct, Evaluation, Fault, Message, Term, VertexId};
use crate::{
    diagnostic::Code,
    ir::{ArcKind, Atom, Expr, ExprId, Label},
    packages::{Data, Kinds},
};

/// Longest list.
pub(super) const MAX_ELEMENTS: usize = 200_000;

impl Evaluation {
    /// Adds a list literal.
    pub(crate) fn run_list(&mut self, vertex: VertexId, conjunct: Conjunct) -> Result<(), Fault> {
        let chunk = self.chunk(conjunct.expr);
        let Expr::List(list) = self.expr(&chunk, conjunct.expr) else { return Ok(()) };
        let mut elements: Vec<Conjunct> = Vec::with_capacity(list.elements.len());
        for element in &list.elements {
            let inner = conjunct.with(*element);
            let element_chunk = self.chunk(*element);
            if let Expr::Comprehension(comprehension) = self.expr(&element_chunk, *element) {
                let envs = self.yields(comprehension, inner)?;
                if envs.is_empty()
                    && let Some(fallback) = comprehension.fallback
                {
                    elements.push(inner.with(fallback));
                }
                for env in envs {
                    elements.push(Conjunct { env, ..inner.with(comprehension.value) });
                }
            } else {
                elements.push(inner);
            }
            if elements.len() > MAX_ELEMENTS {
                return Err(self.fault(
                    Code::Budget,
                    format!("a list has more than {MAX_ELEMENTS} elements"),
                    conjunct.expr,
                ));
            }
        }
        self.room(elements.len() * super::limits::VERTEX_SIZE, conjunct.expr)?;
        self.add_kinds(vertex, Kinds::LIST, conjunct.expr);
        let count = elements.len();
        for (at, element) in elements.into_iter().enumerate() {
            self.insert_element(vertex, at, element);
        }
        match list.ellipsis {
            None => self.close_list(vertex, count, conjunct.expr),
            Some(kind) => {
                let state = self.list_state(vertex);
                state.least = state.least.max(count);
                if let Some(kind) = kind {
                    self.add_rest(vertex, count, conjunct.with(kind).optional());
                }
            }
        }
        Ok(())
    }

    /// Says how long a list is.
    fn close_list(&mut self, vertex: VertexId, count: usize, place: ExprId) {
        let state = self.list_state(vertex);
        match state.closed {
            Some(length) if length != count => {
                let (short, long) = (length.min(count), length.max(count));
                let text = format!("incompatible list lengths ({short} and {long})");
                let fault = self.fault_with(Code::Conflict, Message::Text(text), &[place]);
                self.set_fault(vertex, fault);
            }
            _ => state.closed = Some(count),
        }
    }

    /// Says what the elements from an index on are.
    fn add_rest(&mut self, vertex: VertexId, from: usize, kind: Conjunct) {
        self.take(size_of::<super::ListState>() + size_of::<(usize, Conjunct)>());
        self.list_state(vertex).rest.push((from, kind));
        let mut at = 0;
        while at < self.v(vertex).arcs.len() {
            let arc = self.v(vertex).arcs[at];
            at += 1;
            if arc.label.as_index().is_some_and(|i| i >= from) {
                self.push_conjunct(arc.vertex, kind);
            }
        }
    }

    /// Adds what is known about the length and the further elements of a list that is there.
    pub(crate) fn include_list(&mut self, vertex: VertexId, list: super::ListState, place: ExprId) {
        let state = self.list_state(vertex);
        state.least = state.least.max(list.least);
        if let Some(count) = list.closed {
            self.close_list(vertex, count, place);
        }
        for (from, kind) in list.rest {
            self.add_rest(vertex, from, kind);
        }
    }

    fn list_state(&mut self, vertex: VertexId) -> &mut super::ListState {
        self.vm(vertex).list.get_or_insert_default()
    }

    pub(crate) fn insert_element(&mut self, vertex: VertexId, at: usize, element: Conjunct) {
        let label = Label::index(at);
        let new = self.arc_index(vertex, label).is_none();
        self.insert_field(vertex, label, ArcKind::Member, element);
        if new {
            let rest = self.v(vertex).list.as_ref().map(|l| l.rest.clone()).unwrap_or_default();
            for (from, kind) in rest {
                if at >= from {
                    self.insert_field(vertex, label, ArcKind::Member, kind);
                }
            }
        }
    }

    /// Checks that no element is beyond the end of a closed list, and that all are there.
    pub(crate) fn finish_list(&mut self, vertex: VertexId) {
        let Some(list) = &self.v(vertex).list else { return };
        let (closed, least) = (list.closed, list.least);
        let count = self.v(vertex).arcs.iter().filter(|a| a.label.as_index().is_some()).count();
        if let Some(length) = closed
            && (count > length || least > length)
        {
            let long = count.max(least);
            let places: Vec<ExprId> = self.v(vertex).conjuncts.iter().map(|c| c.expr).collect();
            let text = format!("incompatible list lengths ({length} and {long})");
            let fault = self.fault_with(Code::Conflict, Message::Text(text), &places);
            self.set_fault(vertex, fault);
        }
        self.vm(vertex).arcs.sort_elements();
    }

    /// The elements of a list.
    pub(crate) fn elements_of(&self, vertex: VertexId) -> Vec<VertexId> {
        let v = self.v(vertex);
        v.arcs.iter().filter(|a| a.label.as_index().is_some()).map(|a| a.vertex).collect()
    }

    pub(crate) fn is_list(&self, vertex: VertexId) -> bool {
        self.v(vertex).list.is_some()
    }

    /// A list of values that are there.
    pub(crate) fn list_of(&mut self, elements: &[VertexId]) -> VertexId {
        let list = self.new_vertex(VertexId::NONE, Label::NONE);
        let v = self.vm(list);
        v.kinds = Kinds::LIST;
        v.list = Some(Box::new(super::ListState { closed: Some(elements.len()), ..Default::default() }));
        v.standing.acyclic = true;
        v.state = super::State::Done;
        for (at, element) in elements.iter().enumerate() {
            let label = Label::index(at);
            let conjunct = self.plain(ExprId::value(element.0));
            let child = self.arc(list, label, ArcKind::Member);
            self.put(child, |v| &mut v.conjuncts, conjunct);
        }
        // Referring to it copies its elements.
        self.vm(list).copy_of = VertexId::NONE;
        list
    }

    pub(crate) fn slice(
        &mut self,
        conjunct: Conjunct,
        base: ExprId,
        low: Option<ExprId>,
        high: Option<ExprId>,
    ) -> Result<Term, Fault> {
        let limit = |this: &mut Self, expr: Option<ExprId>| -> Result<Option<usize>, Fault> {
            let Some(expr) = expr else { return Ok(None) };
            match this.concrete(conjunct.with(expr))? {
                Term::Atom(Atom::Number { value, is_float: false }) => match value.to_i64() {
                    Some(i) if i >= 0 => Ok(Some(i as usize)),
                    _ => Err(this.fault(Code::Index, format!("index {value} out of range"), expr)),
                },
                _ => Err(this.fault(Code::Index, "a slice index is an int", expr)),
            }
        };
        let (from, to) = (limit(self, low)?, limit(self, high)?);
        let out_of_range =
            |this: &Self| Err(this.fault(Code::Index, "slice bounds out of range", conjunct.expr));
        match self.concrete(conjunct.with(base))? {
            Term::Vertex(vertex) if self.is_list(vertex) => {
                let elements = self.elements_of(vertex);
                let (from, to) = (from.unwrap_or(0), to.unwrap_or(elements.len()));
                match elements.get(from..to) {
                    Some(part) => {
                        // Made as any other list, so that what it is unified with meets its elements.
                        let part = part.iter().map(|element| Data::Opaque(element.0 as usize)).collect();
                        self.data_vertex(&Data::List(part), conjunct.expr).map(Term::Vertex)
                    }
                    None => out_of_range(self),
                }
            }
            Term::Atom(Atom::Bytes(bytes)) => match bytes.get(from.unwrap_or(0)..to.unwrap_or(bytes.len())) {
                Some(part) => Ok(Term::Atom(Atom::Bytes(part.into()))),
                None => out_of_range(self),
            },
            other => {
                let text =
                    format!("cannot slice {} (type {})", self.source_text(base), self.term_kinds(&other));
                Err(self.fault(Code::Index, text, conjunct.expr))
            }
        }
    }
}
