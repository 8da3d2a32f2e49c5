//! A struct in; its fields in the order in which they are shown, out.
//!
//! Every struct literal that became part of a struct wants its own fields in the order they are written in. Literals
//! follow one another by their place in the text: that of the first reference on the way to them, or their own. Those
//! that come from one place, and the sides of `&`, stand beside each other: they say nothing about each other's fields.
//! A struct that is nothing but a reference to another one shows its fields as that one does.

use std::{cmp::Ordering, collections::VecDeque, sync::Arc};

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::{Arc_, EnvId, EnvKind, Evaluation, StructUse, VertexId, precedence::Precedence};
use crate::{
    ir::{Decl, Expr, ExprId, Label},
    source::Span,
};

/// A literal with what decides about its place.
struct Literal {
    used: StructUse,
    place: Span,
    /// It is a side of `&`, or came by one.
    beside: bool,
    /// It is an input: data that follows the texts, wherever it was read.
    given: bool,
    /// A field with a computed label is among its fields.
    computed: bool,
    fields: Vec<(Option<Label>, ExprId)>,
}

impl Evaluation {
    /// Notes that a struct literal became part of a vertex.
    pub(crate) fn note_struct(&mut self, vertex: VertexId, expr: ExprId, env: EnvId) {
        if let Some(known) = self.vm(vertex).structs.iter_mut().rev().find(|s| s.expr == expr) {
            known.repeats += 1;
            return;
        }
        let firing = self.firing(env);
        self.put(vertex, |v| &mut v.structs, StructUse { expr, repeats: 0, firing });
    }

    /// The number of the innermost loop around an environment.
    fn firing(&self, mut env: EnvId) -> u32 {
        while !env.is_none() {
            let here = self.env(env);
            if let EnvKind::For { firing, .. } = here.kind {
                return firing;
            }
            env = here.up;
        }
        0
    }

    /// The fields of a struct, in the order in which they were added.
    pub(crate) fn stored(&self, vertex: VertexId) -> Vec<Arc_> {
        self.v(self.deref(vertex)).arcs.to_list()
    }

    /// The fields of a struct, in the order in which they are shown.
    pub(crate) fn shown(&self, vertex: VertexId) -> Vec<Arc_> {
        let own = self.deref(vertex);
        let mut arcs = self.v(own).arcs.to_list();
        if arcs.len() < 2 || self.v(own).list.is_some() {
            return arcs;
        }
        let model = self.deref(self.model(vertex, 0));
        let order = self.order_of(model);
        let place = |arc: &Arc_| order.get(&arc.label).copied().unwrap_or(u32::MAX);
        if !arcs.is_sorted_by_key(place) {
            arcs.sort_by_key(place);
        }
        arcs
    }

    /// The place of each label.
    fn order_of(&self, own: VertexId) -> FxHashMap<Label, u32> {
        let arcs = &self.v(own).arcs;
        let plain = match self.v(own).structs.as_slice() {
            [] => true,
            [one] => one.repeats == 0 && !self.literal(*one).computed,
            _ => false,
        };
        if plain {
            return arcs.iter().enumerate().map(|(at, arc)| (arc.label, at as u32)).collect();
        }
        let mut sorter = Sorter::new(arcs.iter().copied().collect());
        let batches = self.batches(own, &mut sorter);
        let mut previous: Vec<u32> = Vec::new();
        let mut last_file = None;
        for batch in batches {
            let Some(first) = batch.first() else { continue };
            let file = match last_file {
                Some(last) if first.1.given => last,
                _ => self.file_name(first.1.place),
            };
            if last_file.is_some_and(|last| last != file) {
                previous.clear();
            }
            let beside = batch.len() > 1 || first.1.beside;
            let mut next = Vec::new();
            for (number, literal) in &batch {
                next.extend(sorter.follow(&previous, *number, literal, beside, file));
            }
            previous = next;
            last_file = Some(file);
        }
        let names: Vec<Arc<str>> = sorter.arcs.iter().map(|arc| self.label_text(arc.label)).collect();
        let sorted = sorter.precedence.sorted(&names);
        sorted.into_iter().enumerate().map(|(at, n)| (sorter.arcs[n as usize].label, at as u32)).collect()
    }

    /// The vertex whose order one shows: what a lone reference leads to, also of a struct around it.
    fn model(&self, vertex: VertexId, depth: u32) -> VertexId {
        if depth > self.budget.depth {
            return vertex;
        }
        let vertex = self.canonical(vertex);
        let v = self.v(vertex);
        let mut found = vertex;
        if !v.parent.is_none() && v.label != Label::NONE {
            let around = self.canonical(v.parent);
            let model = self.model(around, depth + 1);
            if model != around
                && let Some(arc) = self.v(self.deref(model)).arcs.find(v.label)
            {
                found = arc.vertex;
            }
        }
        let v = self.v(found);
        let ([conjunct], [(target, _), ..]) = (v.conjuncts.as_slice(), v.included.as_slice()) else {
            return found;
        };
        let chunk = self.chunk(conjunct.expr);
        let refers = matches!(
            self.expr(&chunk, conjunct.expr),
            Expr::Field { .. }
                | Expr::Selector(..)
                | Expr::Index(..)
                | Expr::DynamicField { .. }
                | Expr::ForValue { .. }
        );
        let closed_only_here = !v.closers.is_empty() && self.v(*target).closers.is_empty();
        if refers && !self.is_inline(*target) && !closed_only_here && *target != vertex {
            return self.model(*target, depth + 1);
        }
        found
    }

    fn literal(&self, used: StructUse) -> Literal {
        let chunk = self.chunk(used.expr);
        let (mut fields, mut computed) = (Vec::new(), false);
        if let Expr::Struct(body) = self.expr(&chunk, used.expr) {
            for decl in &body.decls {
                match decl {
                    Decl::Field { label, value, .. } => fields.push((Some(*label), *value)),
                    Decl::Dynamic { value, .. } => {
                        computed = true;
                        fields.push((None, *value));
                    }
                    _ => {}
                }
            }
        }
        let given = self.input_kind(used.expr).is_some();
        Literal { used, place: self.text_place(used.expr), beside: false, given, computed, fields }
    }

    /// The literals of a vertex in order, grouped with those that stand beside each other.
    fn batches(&self, own: VertexId, sorter: &mut Sorter) -> Vec<Vec<(u32, Literal)>> {
        let mut literals: Vec<Literal> = self.v(own).structs.iter().map(|s| self.literal(*s)).collect();
        self.find_places(own, &mut literals, sorter);
        for literal in &mut literals {
            if literal.given {
                literal.place = Span::NONE;
            }
            literal.computed &= literal.fields.iter().any(|(_, value)| sorter.computed.contains_key(value));
        }
        literals.sort_by(|a, b| self.compare_places(a.place, b.place).then(a.computed.cmp(&b.computed)));
        let mut rounds: Vec<(u32, Literal)> = Vec::new();
        let mut at = 0;
        while at < literals.len() {
            let firing = literals[at].used.firing;
            let mut end = at + 1;
            while firing != 0 && end < literals.len() && literals[end].used.firing == firing {
                end += 1;
            }
            for _ in 0..=literals[at].used.repeats {
                rounds.extend((at..end).map(|n| (n as u32, literals[n].again())));
            }
            at = end;
        }
        let mut batches: Vec<Vec<(u32, Literal)>> = Vec::new();
        let mut batch: Vec<(u32, Literal)> = Vec::new();
        for (number, literal) in rounds {
            let same = batch.first().is_none_or(|(_, b)| b.place == literal.place && !literal.computed);
            if !same {
                self.append(&mut batches, std::mem::take(&mut batch));
            }
            batch.push((number, literal));
        }
        self.append(&mut batches, batch);
        batches
    }

    fn append(&self, batches: &mut Vec<Vec<(u32, Literal)>>, batch: Vec<(u32, Literal)>) {
        let beside = |batch: &[(u32, Literal)]| batch.len() > 1 || batch.first().is_some_and(|b| b.1.beside);
        let Some(first) = batch.first() else { return };
        match batches.last_mut() {
            Some(last)
                if beside(&batch)
                    && beside(last)
                    && last.first().map(|l| self.file_name(l.1.place))
                        == Some(self.file_name(first.1.place)) =>
            {
                last.extend(batch);
            }
            _ => batches.push(batch),
        }
    }

    /// Finds the place of each literal, and which are sides of `&`.
    fn find_places(&self, own: VertexId, literals: &mut [Literal], sorter: &mut Sorter) {
        let mut holders: FxHashMap<ExprId, SmallVec<[usize; 2]>> = FxHashMap::default();
        let mut exprs: VecDeque<ExprId> =
            self.v(self.canonical(own)).conjuncts.iter().map(|c| c.expr).collect();
        for (at, literal) in literals.iter().enumerate() {
            holders.entry(literal.used.expr).or_default().push(at);
            for (_, value) in &literal.fields {
                holders.entry(*value).or_default().push(at);
            }
            let chunk = self.chunk(literal.used.expr);
            if let Expr::Struct(body) = self.expr(&chunk, literal.used.expr) {
                for decl in &body.decls {
                    // An embedded reference stands at one place with the struct around it.
                    if let Decl::Embed(expr) = decl {
                        holders.entry(*expr).or_default().push(at);
                        exprs.push_back(*expr);
                    }
                }
            }
        }
        for at in 0..sorter.arcs.len() {
            for conjunct in &self.v(sorter.arcs[at].vertex).conjuncts {
                let Some(found) = holders.get(&conjunct.expr).cloned() else { continue };
                sorter.note_computed(conjunct.expr, at, &found, literals);
                let place = self.text_place(conjunct.expr);
                found.iter().for_each(|l| literals[*l].place = place);
                let mut id = conjunct.cycle;
                let mut first = ExprId::NONE;
                while !id.is_none() {
                    let entry = self.cycles[id.0 as usize];
                    (first, id) = (entry.expr, entry.up);
                }
                if first == ExprId::NONE {
                    continue;
                }
                let by = holders.entry(first).or_default();
                for literal in found {
                    if !by.contains(&literal) {
                        by.push(literal);
                    }
                }
                let place = self.span(first);
                if !place.is_none() {
                    by.iter().for_each(|l| literals[*l].place = place);
                }
            }
        }
        while let Some(expr) = exprs.pop_front() {
            let chunk = self.chunk(expr);
            let Expr::And(left, right) = self.expr(&chunk, expr) else { continue };
            for side in [*left, *right] {
                for at in holders.get(&side).into_iter().flatten() {
                    literals[*at].beside = true;
                }
                exprs.push_back(side);
            }
        }
    }

    /// Where in the texts an expression stands; inputs stand nowhere in them.
    fn text_place(&self, expr: ExprId) -> Span {
        if self.input_kind(expr).is_some() { Span::NONE } else { self.span(expr) }
    }

    fn file_name(&self, place: Span) -> &str {
        self.program.sources.get(place.file).map_or("", |s| s.name.as_str())
    }

    fn compare_places(&self, a: Span, b: Span) -> Ordering {
        match (a.is_none(), b.is_none()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) if a.file == b.file => a.start.cmp(&b.start),
            (false, false) => self.file_name(a).cmp(self.file_name(b)).then(a.start.cmp(&b.start)),
        }
    }
}

impl Literal {
    fn again(&self) -> Self {
        Self { fields: self.fields.clone(), ..*self }
    }
}

/// The fields while their order is found.
struct Sorter {
    arcs: Vec<Arc_>,
    at: FxHashMap<Label, u32>,
    /// The fields that each declaration with a computed label made.
    computed: FxHashMap<ExprId, VecDeque<u32>>,
    /// The literal that declared a field last, and its file.
    holder: Vec<Option<(u32, String)>>,
    precedence: Precedence,
}

impl Sorter {
    fn new(mut arcs: Vec<Arc_>) -> Self {
        // In the order of arrival: what loops made comes in the order of their rounds.
        arcs.sort_by_key(|a| a.vertex);
        let at = arcs.iter().enumerate().map(|(n, arc)| (arc.label, n as u32)).collect();
        let count = arcs.len();
        Self {
            arcs,
            at,
            computed: FxHashMap::default(),
            holder: vec![None; count],
            precedence: Precedence::of(count),
        }
    }

    fn note_computed(&mut self, value: ExprId, at: usize, holders: &[usize], literals: &[Literal]) {
        let computed = holders.iter().any(|l| literals[*l].fields.contains(&(None, value)));
        if computed {
            self.computed.entry(value).or_default().push_back(at as u32);
        }
    }

    /// Adds the fields of a literal behind those before it; gives its last one, or those before when it adds none.
    fn follow(
        &mut self,
        previous: &[u32],
        number: u32,
        literal: &Literal,
        beside: bool,
        file: &str,
    ) -> Vec<u32> {
        let mut previous = previous.to_vec();
        for (label, value) in &literal.fields {
            let field = match label {
                Some(label) => self.at.get(label).copied(),
                None => self.computed.get_mut(value).and_then(VecDeque::pop_front),
            };
            let Some(field) = field else { continue };
            let repeated = match &self.holder[field as usize] {
                Some((holder, _)) if *holder == number => true,
                Some((_, of)) => !beside && (literal.given || !literal.place.is_none()) && of == file,
                None => false,
            };
            if repeated {
                continue;
            }
            self.holder[field as usize] = Some((number, file.to_owned()));
            for before in &previous {
                self.precedence.add(*before, field);
            }
            previous = vec![field];
        }
        previous
    }
}
