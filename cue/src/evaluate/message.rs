//! Faults made, and a fault in; what is wrong, in one sentence, out.

use std::rc::Rc;

use super::fault::{Fault, FaultData, Message};
use super::{Evaluation, VertexId, bounds::kinds_text};
use crate::{diagnostic::Code, ir::ExprId, packages::Kinds};

/// Most alternatives whose failures are told.
const MAX_ALTERNATIVES: usize = 8;

impl Evaluation {
    pub(crate) fn fault(&self, code: Code, message: impl Into<String>, place: ExprId) -> Fault {
        self.fault_with(code, Message::Text(message.into()), &[place])
    }

    pub(crate) fn fault_with(&self, code: Code, message: Message, places: &[ExprId]) -> Fault {
        let places = places.iter().copied().filter(|p| *p != ExprId::NONE).collect();
        Fault(Rc::new(FaultData { code, message, places, vertex: VertexId::NONE, busy: VertexId::NONE }))
    }

    /// A value is needed that is only being made: it depends on itself unless more becomes known.
    pub(crate) fn busy(&self, vertex: VertexId, place: ExprId) -> Fault {
        Fault(Rc::new(FaultData {
            code: Code::Cycle,
            message: Message::Busy(vertex),
            places: [place].into_iter().collect(),
            vertex: VertexId::NONE,
            busy: vertex,
        }))
    }

    /// An expression must be of another kind.
    pub(crate) fn wrong_kind(&self, what: ExprId, found: Kinds, wanted: Kinds) -> Fault {
        self.fault_with(Code::Operation, Message::Kind { what, found, wanted }, &[what])
    }

    /// The error in one sentence without the path.
    pub(crate) fn message(&self, fault: &Fault) -> String {
        match &fault.0.message {
            Message::Text(text) => text.clone(),
            Message::Undefined(label, _) => format!("undefined field: {}", self.label_name(*label)),
            Message::Optional(label, _) => {
                format!("cannot reference optional field: {}", self.label_name(*label))
            }
            Message::NotConcrete(expr, vertex) => {
                format!("non-concrete value {} ({})", self.source_text(*expr), self.show(*vertex))
            }
            Message::Kinds(old, new) => {
                let text =
                    |at: usize| self.source_text(fault.0.places.get(at).copied().unwrap_or(ExprId::NONE));
                format!(
                    "conflicting values {} and {} (mismatched types {} and {})",
                    text(0),
                    text(1),
                    kinds_text(*old),
                    kinds_text(*new)
                )
            }
            Message::Values(old, new) => {
                format!("conflicting values {} and {}", self.atom_text(old), self.atom_text(new))
            }
            Message::OutOfBound { value, op, limit } => format!(
                "invalid value {} (out of bound {}{})",
                self.atom_text(value),
                op.text(),
                self.atom_text(limit)
            ),
            Message::NotAllowed(..) => "field not allowed".into(),
            Message::Ambiguous(vertex) => {
                format!("unresolved disjunction {} (type {})", self.show(*vertex), self.kinds_of(*vertex))
            }
            Message::Open(vertex) => format!("incomplete value {}", self.show(*vertex)),
            Message::Missing => "field is required but not present".into(),
            Message::Busy(vertex) => format!("cycle with field: {}", self.path(*vertex)),
            Message::Kind { what, found, wanted } => format!(
                "cannot use {} (type {}) as {}",
                self.source_text(*what),
                kinds_text(*found),
                kinds_text(*wanted)
            ),
            Message::Argument { function, at, text, found, wanted } => format!(
                "cannot use {text} (type {}) as {} in argument {} to {function}",
                kinds_text(*found),
                kinds_text(*wanted),
                at + 1
            ),
            Message::Disjunction(faults) => {
                if let Some((allowed, found)) = self.choices(faults) {
                    return format!("{found} is none of {}", allowed.join(" | "));
                }
                let texts: Vec<String> =
                    faults.iter().take(MAX_ALTERNATIVES).map(|f| self.message(f)).collect();
                format!("{} errors in empty disjunction: {}", faults.len(), texts.join("; "))
            }
        }
    }
}
