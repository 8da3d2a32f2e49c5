//! Why there is no value: a code, what it is about, and the expressions that cause it.
//!
//! Faults are made and dropped by the thousand while disjunctions are tried, so they hold what they are about; the words
//! come only when a caller reads them.

use std::rc::Rc;

use smallvec::SmallVec;

use super::ids::VertexId;
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

/// The subject of a fault.
#[derive(Debug, Clone)]
pub(crate) enum Message {
    Text(String),
    /// A struct or list has no such field.
    Undefined(Label, VertexId),
    /// The field of a struct is declared with `?` and has no value.
    Optional(Label, VertexId),
    /// The value of an expression is not concrete.
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
    /// A field with `!` without a value.
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

impl Fault {
    pub(crate) fn is_incomplete(&self) -> bool {
        self.0.code.is_incomplete()
    }

    pub(crate) fn is_fatal(&self) -> bool {
        !self.is_incomplete()
    }
}
