//! A value in; the parts of it that ask a provider for something, in the order in which they ask, out.
//!
//! A part comes after all parts below it, so what a call needs is asked before it. Fields marked `@step(n)` come before
//! the others, by their number. Definitions only say what could be asked, so they are left out with all below them.

use super::{Evaluation, Fault, Step, VertexId};
use crate::{
    diagnostic::Code,
    ir::{ArcKind, Atom, ExprId, Label},
};

/// The field that names what is asked.
pub(crate) const FUNCTION: &str = "#do";

/// The field that names who is asked.
pub(crate) const PROVIDER: &str = "#provider";

/// A part that asks.
pub(crate) struct Asking {
    pub(crate) vertex: VertexId,
    pub(crate) path: Vec<Step>,
    pub(crate) function: String,
    pub(crate) provider: String,
}

impl Evaluation {
    /// All parts below a value that ask, in order.
    pub(crate) fn asking(&mut self, root: VertexId) -> Result<Vec<Asking>, Fault> {
        self.finalize(root);
        let mut out = Vec::new();
        self.gather_asking(root, &mut Vec::new(), &mut out)?;
        Ok(out)
    }

    fn gather_asking(
        &mut self,
        vertex: VertexId,
        path: &mut Vec<Step>,
        out: &mut Vec<Asking>,
    ) -> Result<(), Fault> {
        if path.len() >= self.budget.depth as usize {
            let text = format!("values are nested deeper than {} levels", self.budget.depth);
            return Err(self.fault(Code::Budget, text, ExprId::NONE));
        }
        self.process(vertex);
        let Some(own) = self.default_of(vertex) else { return Ok(()) };
        for (label, child) in self.ordered_parts(own) {
            path.push(self.step_of(label));
            let inner =
                stacker::maybe_grow(256 * 1024, 2 * 1024 * 1024, || self.gather_asking(child, path, out));
            path.pop();
            inner?;
        }
        if let (Some(function), provider) = (self.text_at(own, FUNCTION), self.text_at(own, PROVIDER)) {
            let provider = provider.unwrap_or_default();
            out.push(Asking { vertex, path: path.clone(), function, provider });
        }
        Ok(())
    }

    /// Fields and elements in the order in which their calls are made.
    fn ordered_parts(&self, own: VertexId) -> Vec<(Label, VertexId)> {
        let arcs = self.shown(own).into_iter();
        let parts = arcs.filter(|arc| arc.kind == ArcKind::Member && !arc.label.is_definition());
        let mut parts: Vec<_> = parts.map(|arc| (arc.label, arc.vertex)).collect();
        parts.sort_by_key(|(_, vertex)| self.step_number(*vertex).unwrap_or(i64::MAX));
        parts
    }

    /// The number in the attribute `@step(n)` of a field.
    fn step_number(&self, vertex: VertexId) -> Option<i64> {
        let notes = self.notes(vertex);
        notes
            .attributes
            .iter()
            .find_map(|attribute| attribute.strip_prefix("@step(")?.strip_suffix(')')?.trim().parse().ok())
    }

    fn step_of(&self, label: Label) -> Step {
        let text = self.label_text(label);
        match label.as_index() {
            Some(index) => Step::Index(index),
            None if label.is_hidden() => Step::Hidden(text.to_string()),
            None => Step::Field(text.to_string()),
        }
    }

    /// The text of a definition field, when it is one.
    fn text_at(&mut self, own: VertexId, name: &str) -> Option<String> {
        let [_, label, _] = self.labels_of(name);
        let at = self.arc_index(own, label?)?;
        let child = self.v(own).arcs[at].vertex;
        self.process(child);
        let child = self.default_of(child)?;
        match &self.v(child).atom {
            Some(Atom::String(text)) if !text.is_empty() => Some(text.to_string()),
            _ => None,
        }
    }
}
