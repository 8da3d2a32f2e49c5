//! A value in; the parts of it that ask a provider for something, in the order in which they ask, out.
//!
//! A part comes after all parts below it, so what a call needs is asked before it. Fields that an attribute numbers come
//! before the others. Definitions only say what could be asked, so they are left out with all below them.

use super::{Evaluation, Fault, Step, VertexId};
use crate::{
    diagnostic::Code,
    ir::{ArcKind, Atom, ExprId, Label},
};

/// The fields by which structs ask for something. The language knows nothing of it: the author of the packages decides.
///
/// ```
/// use vela_cue::calls::CallFields;
///
/// let fields = CallFields { function: "#do", provider: "#provider", params: "$params", returns: "$returns", order: "step" };
/// let value = vela_cue::Template::compile(&[vela_cue::Source::new(
///     "a.cue",
///     r#"greet: {#do: "say", #provider: "voice", $params: "hello"}"#,
/// )])?.instantiate(&[]).root();
/// assert_eq!(value.calls(&fields)?[0].params()?, "hello");
/// # Ok::<(), vela_cue::Diagnostics>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallFields {
    /// Names what is asked for: a struct with this field, and a text in it, is a call. It may be a definition.
    pub function: &'static str,
    /// Names who is asked. It may be a definition.
    pub provider: &'static str,
    /// Holds what is asked; a call without it asks with all its fields.
    pub params: &'static str,
    /// Takes what is answered.
    pub returns: &'static str,
    /// The attribute of a field, `@order(1)` say, whose number puts its calls before those of other fields.
    pub order: &'static str,
}

/// A part that asks.
pub(crate) struct Asking {
    pub(crate) vertex: VertexId,
    pub(crate) path: Vec<Step>,
    pub(crate) function: String,
    pub(crate) provider: String,
}

impl Evaluation {
    /// All parts below a value that ask, in order.
    pub(crate) fn asking(&mut self, root: VertexId, fields: &CallFields) -> Result<Vec<Asking>, Fault> {
        self.finalize(root);
        let mut out = Vec::new();
        self.gather_asking(root, fields, &mut Vec::new(), &mut out)?;
        Ok(out)
    }

    fn gather_asking(
        &mut self,
        vertex: VertexId,
        fields: &CallFields,
        path: &mut Vec<Step>,
        out: &mut Vec<Asking>,
    ) -> Result<(), Fault> {
        if path.len() >= self.budget.depth as usize {
            let text = format!("values are nested deeper than {} levels", self.budget.depth);
            return Err(self.fault(Code::Budget, text, ExprId::NONE));
        }
        self.process(vertex);
        let Some(own) = self.default_of(vertex) else { return Ok(()) };
        for (label, child) in self.ordered_parts(own, fields.order) {
            path.push(self.step_of(label));
            let inner = stacker::maybe_grow(256 * 1024, 2 * 1024 * 1024, || {
                self.gather_asking(child, fields, path, out)
            });
            path.pop();
            inner?;
        }
        if let Some(function) = self.text_at(own, fields.function) {
            let provider = self.text_at(own, fields.provider).unwrap_or_default();
            out.push(Asking { vertex, path: path.clone(), function, provider });
        }
        Ok(())
    }

    /// Fields and elements in the order in which their calls are made.
    fn ordered_parts(&self, own: VertexId, order: &str) -> Vec<(Label, VertexId)> {
        let arcs = self.shown(own).into_iter();
        let parts = arcs.filter(|arc| arc.kind == ArcKind::Member && !arc.label.is_definition());
        let mut parts: Vec<_> = parts.map(|arc| (arc.label, arc.vertex)).collect();
        parts.sort_by_key(|(_, vertex)| self.number_by(*vertex, order).unwrap_or(i64::MAX));
        parts
    }

    /// The number in the attribute of that name of a field.
    fn number_by(&self, vertex: VertexId, name: &str) -> Option<i64> {
        let number = |attribute: &str| {
            let body =
                attribute.strip_prefix('@')?.strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')')?;
            body.trim().parse().ok()
        };
        self.notes(vertex).attributes.iter().find_map(|attribute| number(attribute))
    }

    fn step_of(&self, label: Label) -> Step {
        let text = self.label_text(label);
        match label.as_index() {
            Some(index) => Step::Index(index),
            None if label.is_hidden() => Step::Hidden(text.to_string()),
            None => Step::Field(text.to_string()),
        }
    }

    /// The text of a definition or a regular field, when it is one.
    fn text_at(&mut self, own: VertexId, name: &str) -> Option<String> {
        let [regular, definition, _] = self.labels_of(name);
        let label = if name.starts_with('#') { definition } else { regular };
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
