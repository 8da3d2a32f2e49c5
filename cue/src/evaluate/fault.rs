//! Why there is no value: a code, what it is about, and the expressions that cause it.
//!
//! Faults are made and dropped by the thousand while disjunctions are tried, so they hold what they are about; the words
//! come only when somebody reads them.

use std::rc::Rc;

use smallvec::SmallVec;

use super::{Evaluation, VertexId, bounds::kinds_text};
use crate::{
    ast::UnaryOp,
    diagnostic::Code,
    ir::{Atom, ExprId, Label},
    packages::{self, Function, Kinds},
};

/// Why there is no value.
#[derive(Debug, Clone)]
pub(crate) struct Fault(pub(crate) Rc<FaultData>);

#[derive(Debug, Clone)]
pub(crate) struct FaultData {
    pub(crate) code: Code,
    pub(crate) message: Message,
    pub(crate) places: SmallVec<[ExprId; 2]>,
    /// The vertex in whose value it was found first.
    pub(crate) vertex: VertexId,
    /// The unfinished vertex that was needed: once that is done it is worth another try.
    pub(crate) busy: VertexId,
}

/// What a fault is about.
#[derive(Debug, Clone)]
pub(crate) enum Message {
    Text(String),
    /// A struct or list has no such field.
    Undefined(Label, VertexId),
    /// The field of a struct is declared with `?` and has no value.
    Optional(Label, VertexId),
    /// What an expression gives is not concrete.
    NotConcrete(ExprId, VertexId),
    /// The kinds of both places exclude each other.
    Kinds(Kinds, Kinds),
    /// Both places give a scalar.
    Values(Atom, Atom),
    OutOfBound {
        value: Atom,
        op: UnaryOp,
        limit: Atom,
    },
    /// The struct has no room for that field.
    NotAllowed(Label, VertexId),
    /// Several disjuncts are left and none is the default.
    Ambiguous(VertexId),
    /// A value that is not concrete.
    Open(VertexId),
    /// A field with `!` that nobody gave a value.
    Missing,
    /// A value that is being made.
    Busy(VertexId),
    /// An expression of the wrong kind.
    Kind {
        what: ExprId,
        found: Kinds,
        wanted: Kinds,
    },
    /// Argument number `at` of a function, from 0.
    Argument {
        function: FunctionName,
        at: usize,
        text: String,
        found: Kinds,
        wanted: Kinds,
    },
    /// Every alternative failed.
    Disjunction(Vec<Fault>),
}

/// A function as people call it, `strings.Repeat`.
#[derive(Clone, Copy)]
pub(crate) struct FunctionName {
    package: &'static str,
    function: &'static Function,
}

impl FunctionName {
    pub(crate) fn of(function: &'static Function) -> Self {
        Self { function, package: packages::package_of(function).map_or("", packages::Package::name) }
    }

    pub(crate) fn function(self) -> &'static Function {
        self.function
    }
}

impl std::fmt::Debug for FunctionName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}

impl std::fmt::Display for FunctionName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.package {
            "" => f.write_str(self.function.name),
            package => write!(f, "{package}.{}", self.function.name),
        }
    }
}

/// Most alternatives whose failures are told.
const MAX_ALTERNATIVES: usize = 8;

impl Fault {
    pub(crate) fn is_incomplete(&self) -> bool {
        self.0.code.is_incomplete()
    }

    pub(crate) fn is_fatal(&self) -> bool {
        !self.is_incomplete()
    }
}

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

    /// What is wrong, in one sentence without the path.
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
