//! A vertex in; everything that is wrong with it and below it, as diagnostics, out.

use super::{Evaluation, Fault, Message, State, VertexId, bounds::kinds_text};
use crate::{
    diagnostic::{Code, Diagnostic},
    ir::{ArcKind, Atom, ExprId},
    packages::Kinds,
};

/// The errors that count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Only what no further input can cure.
    Partial,
    /// Also what is not concrete.
    Concrete,
}

/// Most diagnostics that are collected: enough to say how many more there are than are shown.
const MAX_DIAGNOSTICS: usize = 1_000;

/// The same for an evaluation that was stopped.
const MAX_STOPPED: usize = 5;

impl Evaluation {
    /// Fails with the first thing that is wrong.
    pub(crate) fn validate(&mut self, vertex: VertexId, mode: Mode, place: ExprId) -> Result<(), Fault> {
        self.finalize(vertex);
        let walk = self.new_walk();
        match self.first_fault(vertex, mode, place, walk) {
            Some(fault) => Err(fault),
            None => Ok(()),
        }
    }

    fn first_fault(&mut self, vertex: VertexId, mode: Mode, place: ExprId, walk: u32) -> Option<Fault> {
        if let Some(fault) = self.fatal(vertex).cloned() {
            return Some(fault);
        }
        if mode == Mode::Partial {
            return None;
        }
        let Some(own) = self.default_of(vertex) else {
            return Some(self.fault_with(Code::Ambiguous, Message::Ambiguous(vertex), &[place]));
        };
        if let Some(fault) = self.v(own).fault.clone() {
            return Some(fault);
        }
        if self.v(own).state == State::Busy && self.v(own).atom.is_none() {
            return Some(self.busy(own, place));
        }
        let v = self.v(own);
        if v.atom.is_some() {
            return None;
        }
        if v.kinds != Kinds::STRUCT && v.list.is_none() {
            return Some(self.fault_with(Code::Incomplete, Message::NotConcrete(place, own), &[place]));
        }
        if !self.enter(own, walk) {
            return None;
        }
        for arc in self.v(own).arcs.to_list() {
            if arc.label.is_definition() || arc.label.is_hidden() {
                continue;
            }
            match arc.kind {
                ArcKind::Optional => {}
                ArcKind::Required => {
                    let text = format!("required field missing: {}", self.label_name(arc.label));
                    return Some(self.fault(Code::MissingRequired, text, place));
                }
                ArcKind::Member => {
                    self.finalize(arc.vertex);
                    let fault = stacker::maybe_grow(128 * 1024, 1024 * 1024, || {
                        self.first_fault(arc.vertex, mode, place, walk)
                    });
                    if fault.is_some() {
                        return fault;
                    }
                }
            }
        }
        None
    }

    /// Everything that is wrong.
    pub(crate) fn collect(&mut self, vertex: VertexId, mode: Mode, out: &mut Vec<Diagnostic>) {
        let walk = self.new_walk();
        self.finalize(vertex);
        // An unfinished vertex says little about itself, so the error that ended it comes first.
        if let Some(stopped) = self.stopped().cloned() {
            let at = if stopped.0.vertex.is_none() { vertex } else { stopped.0.vertex };
            self.push_diagnostic(&stopped, at, out);
        }
        self.collect_below(vertex, mode, walk, out);
    }

    fn collect_below(&mut self, vertex: VertexId, mode: Mode, walk: u32, out: &mut Vec<Diagnostic>) {
        if out.len() >= MAX_DIAGNOSTICS || (self.stopped().is_some() && out.len() >= MAX_STOPPED) {
            return;
        }
        self.finalize(vertex);
        let Some(own) = self.default_of(vertex) else {
            if let Some(fault) = self.fatal(vertex).cloned() {
                return self.push_diagnostic(&fault, vertex, out);
            }
            if mode == Mode::Concrete {
                let place = self.v(vertex).conjuncts.first().map_or(ExprId::NONE, |c| c.expr);
                let fault = self.fault_with(Code::Ambiguous, Message::Open(vertex), &[place]);
                self.push_diagnostic(&fault, vertex, out);
            }
            return;
        };
        if let Some(fault) = self.v(own).fault.clone() {
            if fault.is_fatal() {
                return self.push_diagnostic(&fault, vertex, out);
            }
            if mode == Mode::Concrete {
                self.push_diagnostic(&fault, vertex, out);
            }
        }
        let v = self.v(own);
        // A scalar may have definitions beside it.
        if v.atom.is_some() && v.arcs.is_empty() {
            return;
        }
        if v.kinds != Kinds::STRUCT && v.list.is_none() && v.atom.is_none() {
            if mode == Mode::Concrete && v.fault.is_none() {
                let place = v.origins.first().map(|o| o.0).or(v.conjuncts.first().map(|c| c.expr));
                let place = place.unwrap_or(ExprId::NONE);
                let fault = self.fault_with(Code::Incomplete, Message::Open(own), &[place]);
                self.push_diagnostic(&fault, vertex, out);
            }
            return;
        }
        // A vertex that was judged as concrete need not be judged as partial.
        if self.v(own).walk == walk + 1 || !self.enter(own, walk + u32::from(mode == Mode::Concrete)) {
            return;
        }
        for arc in self.v(own).arcs.to_list() {
            match arc.kind {
                ArcKind::Optional => {}
                ArcKind::Required => {
                    if mode == Mode::Concrete {
                        let place = self.v(arc.vertex).conjuncts.first().map_or(ExprId::NONE, |c| c.expr);
                        let fault = self.fault_with(Code::MissingRequired, Message::Missing, &[place]);
                        self.push_diagnostic(&fault, arc.vertex, out);
                    }
                }
                ArcKind::Member => {
                    let hidden = arc.label.is_definition() || arc.label.is_hidden();
                    let mode = if hidden { Mode::Partial } else { mode };
                    stacker::maybe_grow(128 * 1024, 1024 * 1024, || {
                        self.collect_below(arc.vertex, mode, walk, out);
                    });
                }
            }
        }
    }

    fn push_diagnostic(&mut self, fault: &Fault, vertex: VertexId, out: &mut Vec<Diagnostic>) {
        let at = if fault.0.vertex.is_none() { vertex } else { fault.0.vertex };
        let mut path = self.path(vertex);
        if path.is_empty() {
            path = self.path(at);
        }
        let mut diagnostic = self.diagnostic(fault, path);
        self.add_references(&mut diagnostic, vertex);
        if !out.contains(&diagnostic) {
            out.push(diagnostic);
        }
    }

    pub(crate) fn kinds_of(&self, vertex: VertexId) -> String {
        kinds_text(self.vertex_kinds(vertex))
    }

    /// The kinds a value can have, all alternatives together.
    pub(crate) fn vertex_kinds(&self, vertex: VertexId) -> Kinds {
        let v = self.v(self.deref(vertex));
        match &v.disjuncts {
            Some(disjuncts) => {
                Kinds(disjuncts.iter().fold(0, |k, (d, _)| k | self.v(self.deref(*d)).kinds.0))
            }
            None => v.kinds,
        }
    }

    pub(crate) fn atom_text(&self, atom: &Atom) -> String {
        match atom {
            Atom::Null => "null".into(),
            Atom::Bool(b) => b.to_string(),
            Atom::Number { value, is_float } => value.to_cue(*is_float),
            Atom::String(s) => crate::literal::quote_string(s),
            Atom::Bytes(b) => crate::literal::quote_bytes(b),
        }
    }

    /// A value as short text.
    pub(crate) fn show(&self, vertex: VertexId) -> String {
        self.show_within(vertex, 3)
    }

    fn show_within(&self, vertex: VertexId, depth: u32) -> String {
        let own = self.deref(vertex);
        let v = self.v(own);
        if depth == 0 {
            return "...".into();
        }
        if let Some(disjuncts) = &v.disjuncts {
            let parts: Vec<String> = disjuncts
                .iter()
                .take(20)
                .map(|(d, m)| {
                    let star = if *m == super::Mark::Default { "*" } else { "" };
                    format!("{star}{}", self.show_within(*d, depth - 1))
                })
                .collect();
            return parts.join(" | ");
        }
        if let Some(atom) = &v.atom {
            return self.atom_text(atom);
        }
        if v.list.is_some() {
            let parts: Vec<String> =
                self.elements_of(own).iter().take(10).map(|e| self.show_within(*e, depth - 1)).collect();
            return format!("[{}]", parts.join(","));
        }
        if v.kinds == Kinds::STRUCT {
            let parts: Vec<String> = v
                .arcs
                .iter()
                .take(10)
                .map(|a| format!("{}:{}", self.label_name(a.label), self.show_within(a.vertex, depth - 1)))
                .collect();
            return format!("{{{}}}", parts.join(","));
        }
        let mut parts: Vec<String> =
            v.bounds.iter().map(|b| format!("{}{}", b.op.text(), self.atom_text(&b.limit))).collect();
        parts.extend(v.checks.iter().map(|c| self.source_text(c.conjunct.expr)));
        if parts.is_empty() || (v.kinds == Kinds::INT && !v.bounds.is_empty()) {
            parts.insert(0, kinds_text(v.kinds));
        }
        parts.join(" & ")
    }
}
