//! Plain data in, as functions give it; values that need no evaluation out.

use std::sync::Arc;

use super::{Arc_, Evaluation, Fault, ListState, OriginKind, State, Term, VertexId};
use crate::{
    diagnostic::Code,
    ir::{ArcKind, Atom, ExprId, Label},
    packages::{Data, Kinds},
};

impl Evaluation {
    /// Plain data as a term.
    pub(crate) fn data_term(&mut self, data: &Data, place: ExprId) -> Result<Term, Fault> {
        Ok(match data {
            Data::Opaque(vertex) => Term::Vertex(VertexId(*vertex as u32)),
            Data::List(_) | Data::Struct(_) => Term::Vertex(self.data_vertex(data, place)?),
            scalar => Term::Atom(self.data_atom(scalar, place)?),
        })
    }

    fn data_atom(&mut self, data: &Data, place: ExprId) -> Result<Atom, Fault> {
        Ok(match data {
            Data::Bool(b) => Atom::Bool(*b),
            Data::Number { value, is_float } => {
                self.take(value.heap_bytes());
                Atom::Number { value: value.clone(), is_float: *is_float }
            }
            Data::String(s) => {
                self.grow(s.len(), place)?;
                Atom::String(Arc::from(s.as_str()))
            }
            Data::Bytes(b) => {
                self.grow(b.len(), place)?;
                Atom::Bytes(Arc::from(b.as_slice()))
            }
            Data::Null | Data::List(_) | Data::Struct(_) | Data::Opaque(_) => Atom::Null,
        })
    }

    /// Plain data as a vertex of its own, beside the tree.
    pub(crate) fn data_vertex(&mut self, data: &Data, place: ExprId) -> Result<VertexId, Fault> {
        let vertex = self.new_vertex(VertexId::NONE, Label::NONE);
        self.fill_vertex(vertex, data, place)?;
        Ok(vertex)
    }

    fn fill_vertex(&mut self, vertex: VertexId, data: &Data, place: ExprId) -> Result<(), Fault> {
        self.step(place)?;
        let kinds = match data {
            Data::Opaque(other) => {
                let conjunct = self.plain(ExprId::value(*other as u32));
                self.put(vertex, |v| &mut v.conjuncts, conjunct);
                return Ok(());
            }
            Data::List(items) => {
                for (at, item) in items.iter().enumerate() {
                    self.fill_arc(vertex, Label::index(at), item, place)?;
                }
                let closed = ListState { closed: Some(items.len()), ..Default::default() };
                self.take(size_of::<ListState>());
                self.vm(vertex).list = Some(Box::new(closed));
                Kinds::LIST
            }
            Data::Struct(fields) => {
                for (name, value) in fields {
                    let label = Label::regular(self.intern(name));
                    if self.v(vertex).arcs.find(label).is_some() {
                        return self.unify_fields(vertex, data, place);
                    }
                    self.fill_arc(vertex, label, value, place)?;
                }
                Kinds::STRUCT
            }
            scalar => {
                let atom = self.data_atom(scalar, place)?;
                let kinds = atom.kinds();
                self.vm(vertex).atom = Some(atom);
                kinds
            }
        };
        let v = self.vm(vertex);
        v.kinds = kinds;
        v.kinds_by = place;
        v.atom_by = place;
        v.standing.acyclic = true;
        v.state = State::Done;
        v.origins.push((place, OriginKind::Computed));
        Ok(())
    }

    /// Two fields of one name are one field that must be both, which takes an evaluation.
    fn unify_fields(&mut self, vertex: VertexId, data: &Data, place: ExprId) -> Result<(), Fault> {
        let Some(expr) = self.data_expr(data, self.span(place)) else {
            return Err(self.fault(Code::Budget, "too many structs have fields of one name", place));
        };
        self.vm(vertex).arcs.clear();
        let conjunct = self.plain(expr);
        self.put(vertex, |v| &mut v.conjuncts, conjunct);
        Ok(())
    }

    fn fill_arc(&mut self, parent: VertexId, label: Label, data: &Data, place: ExprId) -> Result<(), Fault> {
        let vertex = self.new_vertex(parent, label);
        self.put(parent, |v| &mut v.arcs, Arc_ { label, kind: ArcKind::Member, vertex });
        stacker::maybe_grow(128 * 1024, 1024 * 1024, || self.fill_vertex(vertex, data, place))
    }
}
