//! Functions that work on constraints and on values as they are: sorting, matching, validating texts.

use super::{Conjunct, Evaluation, Fault, Message, Mode, Term, VertexId};
use crate::{
    diagnostic::Code,
    ir::{ArcKind, Atom, ExprId, Label},
    packages::{Data, Kinds, Special},
};

/// Deepest nesting that is compared as values.
const MAX_COMPARED_DEPTH: u32 = 500;

impl Evaluation {
    pub(super) fn run_special(
        &mut self,
        special: Special,
        terms: &[Term],
        conjunct: Conjunct,
    ) -> Result<Term, Fault> {
        let boolean = |b: bool| Ok(Term::Atom(Atom::Bool(b)));
        match (special, terms) {
            (Special::Sort | Special::IsSorted, [Term::Vertex(list), comparer]) => {
                let comparer = self.comparer(comparer, special, conjunct)?;
                self.process(*list);
                let list = self.deref(*list);
                let elements = self.elements_of(list);
                if special == Special::IsSorted {
                    for pair in elements.windows(2) {
                        // Values that cannot be compared are not out of order.
                        if self.less(pair[1], pair[0], comparer, conjunct).unwrap_or(false) {
                            return boolean(false);
                        }
                    }
                    return boolean(true);
                }
                let sorted = self.merge_sort(elements, comparer, conjunct)?;
                // Made as any other list, so that what it is unified with meets its elements.
                let sorted = sorted.iter().map(|element| Data::Opaque(element.0 as usize)).collect();
                self.data_vertex(&Data::List(sorted), conjunct.expr).map(Term::Vertex)
            }
            (Special::ListMatchN, [Term::Vertex(list), number, constraint]) => {
                let constraint = &self.term_vertex(constraint);
                self.process(*list);
                let list = self.deref(*list);
                let mut count = 0;
                for element in self.elements_of(list) {
                    if self.unifies(element, *constraint) {
                        count += 1;
                    }
                }
                let fits = self.fits(count, number);
                boolean(fits)
            }
            (
                Special::JsonValidate | Special::YamlValidate | Special::YamlValidatePartial,
                [Term::Atom(text), constraint],
            ) => {
                let text = match text {
                    Atom::String(s) => s.to_string(),
                    Atom::Bytes(b) => String::from_utf8_lossy(b).into_owned(),
                    _ => return boolean(false),
                };
                let constraint = self.term_vertex(constraint);
                let read = match special {
                    Special::JsonValidate => {
                        crate::packages::json_read(text.as_bytes()).map(|data| vec![data])
                    }
                    _ => crate::packages::yaml_read_stream(&text),
                };
                match read {
                    // A text without documents is null.
                    Ok(documents) if documents.is_empty() => {
                        self.held_against(special, &Data::Null, constraint, conjunct)?;
                    }
                    Ok(documents) => {
                        for document in &documents {
                            self.held_against(special, document, constraint, conjunct)?;
                        }
                    }
                    Err(error) => {
                        return Err(self.fault(
                            Code::Argument,
                            format!("cannot read: {error:?}"),
                            conjunct.expr,
                        ));
                    }
                }
                boolean(true)
            }
            _ => Err(self.fault(Code::Argument, "these arguments do not fit the function", conjunct.expr)),
        }
    }

    /// Holds one value of a text against a constraint.
    fn held_against(
        &mut self,
        special: Special,
        data: &Data,
        constraint: VertexId,
        conjunct: Conjunct,
    ) -> Result<(), Fault> {
        let value = self.data_vertex(data, conjunct.expr)?;
        let joined = self.joined(value, constraint);
        self.validate(joined, Mode::Partial, conjunct.expr)?;
        if special == Special::YamlValidatePartial {
            return Ok(());
        }
        match self.validate(joined, Mode::Concrete, conjunct.expr) {
            // JSON may leave fields open, but what is required must be there.
            Err(fault) if special == Special::JsonValidate && fault.0.code != Code::MissingRequired => Ok(()),
            // The text will not change any more: what it does not say now is an error of the call.
            Err(fault)
                if special == Special::YamlValidate && fault.is_incomplete() && fault.0.busy.is_none() =>
            {
                let text = self.message(&fault);
                Err(self.fault(Code::Argument, text, conjunct.expr))
            }
            judged => judged,
        }
    }

    fn less(
        &mut self,
        a: VertexId,
        b: VertexId,
        comparer: VertexId,
        conjunct: Conjunct,
    ) -> Result<bool, Fault> {
        let pair = Data::Struct(vec![
            ("x".into(), Data::Opaque(a.0 as usize)),
            ("y".into(), Data::Opaque(b.0 as usize)),
        ]);
        let pair = self.data_vertex(&pair, conjunct.expr)?;
        let joined = self.joined(comparer, pair);
        self.finalize(joined);
        if let Some(fault) = self.fatal(joined) {
            return Err(fault.clone());
        }
        let label = Label::regular(self.intern("less"));
        let judged = self.lookup(joined, label, conjunct.expr);
        let judged = judged.and_then(|less| self.concrete_term(Term::Vertex(less), conjunct.expr));
        match judged {
            Ok(Term::Atom(Atom::Bool(b))) => Ok(b),
            Ok(_) => Ok(false),
            // The elements will not change any more: what is not known now is an error of the call.
            Err(fault) if fault.is_incomplete() && fault.0.busy.is_none() => {
                let text = self.message(&fault);
                Err(self.fault(Code::Argument, text, conjunct.expr))
            }
            Err(fault) => Err(fault),
        }
    }

    /// The comparer of a sort: a struct with a field `less`.
    fn comparer(&mut self, term: &Term, special: Special, conjunct: Conjunct) -> Result<VertexId, Fault> {
        let comparer = self.term_vertex(term);
        self.process(comparer);
        let own = self.deref(comparer);
        let v = self.v(own);
        if v.kinds != Kinds::STRUCT && v.atom.is_none() && v.list.is_none() {
            return Err(self.fault_with(
                Code::Incomplete,
                Message::NotConcrete(conjunct.expr, own),
                &[conjunct.expr],
            ));
        }
        let label = Label::regular(self.intern("less"));
        let has_less = self.v(own).arcs.to_list().iter().any(|arc| arc.label == label);
        if !has_less && special == Special::Sort {
            return Err(self.fault(Code::Argument, "field not found: less", conjunct.expr));
        }
        Ok(own)
    }

    fn merge_sort(
        &mut self,
        mut items: Vec<VertexId>,
        comparer: VertexId,
        conjunct: Conjunct,
    ) -> Result<Vec<VertexId>, Fault> {
        if items.len() < 2 {
            return Ok(items);
        }
        let right = items.split_off(items.len() / 2);
        let left = self.merge_sort(items, comparer, conjunct)?;
        let right = self.merge_sort(right, comparer, conjunct)?;
        let (mut a, mut b) = (left.into_iter().peekable(), right.into_iter().peekable());
        let mut out = Vec::new();
        while let (Some(x), Some(y)) = (a.peek().copied(), b.peek().copied()) {
            if self.less(y, x, comparer, conjunct)? {
                out.push(y);
                b.next();
            } else {
                out.push(x);
                a.next();
            }
        }
        out.extend(a);
        out.extend(b);
        Ok(out)
    }

    /// Whether a term's kinds meet those.
    pub(super) fn term_may_be(&mut self, term: &Term, kinds: Kinds) -> bool {
        let found = match term {
            Term::Atom(atom) => atom.kinds(),
            Term::Vertex(vertex) => {
                self.process(*vertex);
                let own = self.deref(*vertex);
                let v = self.v(own);
                // A value that is still being made, or has failed, is for the demand of a concrete value to report.
                if v.state != super::State::Done || v.fault.is_some() || v.disjuncts.is_some() {
                    return true;
                }
                v.kinds
            }
        };
        found.meets(kinds)
    }

    /// A value as data in which what is not concrete stands as the number of its text: equal texts, equal numbers.
    pub(super) fn lenient_data(&mut self, term: &Term, shown: &mut Vec<String>, depth: u32) -> Data {
        let vertex = match term {
            Term::Atom(atom) => return super::export::atom_data(atom),
            Term::Vertex(vertex) => *vertex,
        };
        self.take(super::limits::HANDED_OUT);
        if self.step(ExprId::NONE).is_err() {
            // The caller that asks for the data takes a step next.
            return Data::Null;
        }
        self.finalize(vertex);
        let own = self.default_of(vertex).unwrap_or(vertex);
        let own = self.deref(own);
        let v = self.v(own);
        if let Some(atom) = &v.atom {
            return super::export::atom_data(atom);
        }
        let arcs = v.arcs.to_list();
        if depth < MAX_COMPARED_DEPTH && self.is_list(own) {
            let items = arcs.iter().filter(|a| a.label.as_index().is_some());
            return Data::List(
                items.map(|a| self.lenient_data(&Term::Vertex(a.vertex), shown, depth + 1)).collect(),
            );
        }
        if depth < MAX_COMPARED_DEPTH && v.kinds == Kinds::STRUCT && v.disjuncts.is_none() {
            let mut fields = Vec::new();
            for arc in arcs.iter().filter(|a| a.kind == ArcKind::Member && a.label.is_regular()) {
                let name = self.label_text(arc.label).to_string();
                fields.push((name, self.lenient_data(&Term::Vertex(arc.vertex), shown, depth + 1)));
            }
            return Data::Struct(fields);
        }
        let text = self.show(own);
        let known = shown.iter().position(|known| *known == text);
        Data::Opaque(known.unwrap_or_else(|| {
            shown.push(text);
            shown.len() - 1
        }))
    }

    /// Whether a list has the same plain value twice: then no further field can make its elements differ.
    pub(super) fn repeats_an_atom(&self, list: VertexId) -> bool {
        let mut atoms: Vec<Data> = Vec::new();
        for element in self.elements_of(list) {
            let own = self.deref(element);
            let Some(atom) = self.v(own).atom.as_ref().map(super::export::atom_data) else { continue };
            if atoms.contains(&atom) {
                return true;
            }
            atoms.push(atom);
        }
        false
    }
}
