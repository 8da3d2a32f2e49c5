//! A finished value in; what the functions that judge it say, out.

use super::{Check, Conjunct, Evaluation, Fault, Message, State, Term, VertexId, call::name_of};
use crate::{
    diagnostic::Code,
    ir::{Atom, Builtin, Callee, ExprId, Label},
    packages::Kinds,
};

impl Evaluation {
    /// Lets all functions that stand beside a value judge it.
    pub(crate) fn run_checks(&mut self, vertex: VertexId) {
        if self.v(vertex).checks.is_empty() || self.v(vertex).fault.is_some() {
            return;
        }
        for check in self.v(vertex).checks.clone() {
            if let Err(fault) = self.run_check(vertex, &check) {
                self.set_fault(vertex, fault);
            }
        }
    }

    pub(super) fn run_check(&mut self, vertex: VertexId, check: &Check) -> Result<(), Fault> {
        let v = self.v(vertex);
        let known = v.atom.is_some() || v.kinds == Kinds::STRUCT || v.list.is_some();
        if !known {
            return Ok(());
        }
        let value = match &v.atom {
            Some(atom) => Term::Atom(atom.clone()),
            None => Term::Vertex(vertex),
        };
        let ok = match check.callee {
            Callee::Builtin(builtin) => self.run_match(vertex, builtin, &check.arguments, check.conjunct)?,
            Callee::Package(function) => {
                let mut terms = vec![value];
                terms.extend(check.arguments.iter().cloned());
                match self.run_function(function, &terms, check.conjunct) {
                    Ok(Term::Atom(Atom::Bool(ok))) => ok,
                    Ok(Term::Atom(Atom::Null)) => true,
                    Ok(_) => true,
                    Err(fault) if fault.is_incomplete() => return Ok(()),
                    Err(fault) => return Err(fault),
                }
            }
        };
        if ok {
            return Ok(());
        }
        let more_may_come = match check.callee {
            Callee::Package(function) => self.more_may_come(vertex, function.name, &check.arguments),
            Callee::Builtin(_) => false,
        };
        let code = if more_may_come { Code::Incomplete } else { Code::Unsatisfied };
        let text = format!(
            "invalid value {} (does not satisfy {})",
            self.show(vertex),
            self.source_text(check.conjunct.expr)
        );
        let by = self.v(vertex).atom_by;
        Err(self.fault_with(code, Message::Text(text), &[check.conjunct.expr, by]))
    }

    /// Whether further fields or elements may make a function content that is not yet.
    fn more_may_come(&self, vertex: VertexId, function: &str, arguments: &[Term]) -> bool {
        let v = self.v(vertex);
        match (function, arguments) {
            ("MinFields", _) if !self.is_closed(vertex) || !v.patterns.is_empty() => true,
            // Closed, it may still have all fields that it names.
            ("MinFields", [Term::Atom(Atom::Number { value, .. })]) => {
                let named = v.arcs.iter().filter(|arc| arc.label.is_regular()).count() as i64;
                value.to_i64().is_some_and(|least| named >= least)
            }
            ("MinItems", _) => v.list.as_ref().is_some_and(|list| list.closed.is_none()),
            ("UniqueItems", _) => !self.repeats_an_atom(vertex),
            _ => false,
        }
    }

    pub(super) fn run_match(
        &mut self,
        vertex: VertexId,
        builtin: Builtin,
        arguments: &[Term],
        conjunct: Conjunct,
    ) -> Result<bool, Fault> {
        let value = self.without_checks(vertex);
        match (builtin, arguments) {
            (Builtin::MatchN, [number, Term::Vertex(list)]) => {
                self.process(*list);
                let list = self.deref(*list);
                let mut count = 0;
                for constraint in self.elements_of(list) {
                    if self.unifies(value, constraint) {
                        count += 1;
                    }
                }
                Ok(self.fits(count, number))
            }
            (Builtin::MatchIf, [condition, then, otherwise]) => {
                let mut vertices = Vec::new();
                for term in [condition, then, otherwise] {
                    vertices.push(self.term_vertex(term));
                }
                let side = if self.unifies(value, vertices[0]) { vertices[1] } else { vertices[2] };
                Ok(self.unifies(value, side))
            }
            _ => Err(self.fault(
                Code::Argument,
                format!("wrong arguments of {}", name_of(Callee::Builtin(builtin))),
                conjunct.expr,
            )),
        }
    }

    /// The value of a vertex, to be matched without asking the functions beside it again.
    pub(super) fn without_checks(&mut self, vertex: VertexId) -> VertexId {
        let made = self.new_vertex(VertexId::NONE, Label::NONE);
        let v = self.v(vertex);
        let (kinds, atom, list, arcs) = (v.kinds, v.atom.clone(), v.list.clone(), v.arcs.to_list());
        let copy = self.vm(made);
        copy.kinds = kinds;
        copy.atom = atom;
        copy.list = list;
        copy.arcs = arcs.into_iter().collect();
        copy.standing.acyclic = true;
        copy.state = State::Done;
        self.take_content(made);
        made
    }

    pub(super) fn unifies(&mut self, a: VertexId, b: VertexId) -> bool {
        let joined = self.joined(a, b);
        self.finalize(joined);
        self.fatal(joined).is_none()
    }

    pub(super) fn fits(&mut self, count: i64, number: &Term) -> bool {
        match number {
            Term::Atom(Atom::Number { value, .. }) => value.to_i64() == Some(count),
            Term::Atom(_) => false,
            Term::Vertex(constraint) => {
                let made = self.new_vertex(VertexId::NONE, Label::NONE);
                self.add_atom(made, Atom::Number { value: count.into(), is_float: false }, ExprId::NONE);
                let conjunct = self.plain(ExprId::value(constraint.0));
                self.put(made, |v| &mut v.conjuncts, conjunct);
                self.finalize(made);
                self.fatal(made).is_none()
            }
        }
    }
}
