//! The compiled form of a syntax tree: expressions in an arena, names resolved to (levels up, label), labels as
//! numbers.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::{
    ast::{BinaryOp, UnaryOp},
    number::Decimal,
    packages::{Function, Kinds},
    source::{Sources, Span},
};

/// An expression: chunk in the high bits, index in the low bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ExprId(pub(crate) u32);

/// Bits of an [`ExprId`] that hold the index within its chunk.
pub(crate) const INDEX_BITS: u32 = 20;

/// The chunk that stands for values.
const VALUE_CHUNK: u32 = (1 << (32 - INDEX_BITS)) - 2;

/// Most chunks of one evaluation.
pub(crate) const MAX_CHUNKS: usize = VALUE_CHUNK as usize;

/// Most values of one evaluation: what an [`ExprId`] can name.
pub(crate) const MAX_VERTICES: usize = 1 << INDEX_BITS;

impl ExprId {
    pub(crate) const NONE: Self = Self(u32::MAX);

    /// An expression that stands for a value that is already there.
    pub(crate) fn value(vertex: u32) -> Self {
        Self(VALUE_CHUNK << INDEX_BITS | vertex)
    }

    pub(crate) fn as_value(self) -> Option<u32> {
        (self.chunk() == VALUE_CHUNK as usize).then_some(self.index() as u32)
    }

    pub(crate) fn chunk(self) -> usize {
        (self.0 >> INDEX_BITS) as usize
    }

    pub(crate) fn index(self) -> usize {
        (self.0 & ((1 << INDEX_BITS) - 1)) as usize
    }
}

/// A label: what kind in the two high bits, a number of a string or a list index in the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Label(u32);

const KIND_SHIFT: u32 = 30;

impl Label {
    pub(crate) const NONE: Self = Self(u32::MAX);

    pub(crate) fn regular(id: u32) -> Self {
        Self(id)
    }

    pub(crate) fn definition(id: u32) -> Self {
        Self(1 << KIND_SHIFT | id)
    }

    pub(crate) fn hidden(id: u32) -> Self {
        Self(2 << KIND_SHIFT | id)
    }

    pub(crate) fn index(index: usize) -> Self {
        Self(3 << KIND_SHIFT | index as u32)
    }

    pub(crate) fn is_regular(self) -> bool {
        self.0 >> KIND_SHIFT == 0
    }

    pub(crate) fn is_definition(self) -> bool {
        self.0 >> KIND_SHIFT == 1
    }

    pub(crate) fn is_hidden(self) -> bool {
        self.0 >> KIND_SHIFT == 2
    }

    pub(crate) fn as_index(self) -> Option<usize> {
        (self.0 >> KIND_SHIFT == 3 && self != Self::NONE)
            .then_some((self.0 & ((1 << KIND_SHIFT) - 1)) as usize)
    }

    pub(crate) fn string_id(self) -> u32 {
        self.0 & ((1 << KIND_SHIFT) - 1)
    }
}

/// Strings by number.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interner {
    strings: Vec<Arc<str>>,
    ids: FxHashMap<Arc<str>, u32>,
}

impl Interner {
    pub(crate) fn intern(&mut self, text: &str) -> u32 {
        if let Some(id) = self.ids.get(text) {
            return *id;
        }
        let shared: Arc<str> = Arc::from(text);
        let id = self.strings.len() as u32;
        self.strings.push(shared.clone());
        self.ids.insert(shared, id);
        id
    }

    pub(crate) fn find(&self, text: &str) -> Option<u32> {
        self.ids.get(text).copied()
    }

    pub(crate) fn get(&self, id: u32) -> Option<&Arc<str>> {
        self.strings.get(id as usize)
    }

    pub(crate) fn len(&self) -> u32 {
        self.strings.len() as u32
    }
}

/// A scalar.
#[derive(Debug, Clone)]
pub(crate) enum Atom {
    Null,
    Bool(bool),
    Number { value: Decimal, is_float: bool },
    String(Arc<str>),
    Bytes(Arc<[u8]>),
}

impl Atom {
    pub(crate) fn kinds(&self) -> Kinds {
        match self {
            Self::Null => Kinds::NULL,
            Self::Bool(_) => Kinds::BOOL,
            Self::Number { is_float: false, .. } => Kinds::INT,
            Self::Number { is_float: true, .. } => Kinds::FLOAT,
            Self::String(_) => Kinds::STRING,
            Self::Bytes(_) => Kinds::BYTES,
        }
    }
}

impl PartialEq for Atom {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Number { value: a, .. }, Self::Number { value: b, .. }) => a == b,
            (Self::String(a), Self::String(b)) => a == b,
            (Self::Bytes(a), Self::Bytes(b)) => a == b,
            _ => false,
        }
    }
}

/// How a field stands in its struct.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ArcKind {
    Optional,
    Required,
    Member,
}

/// Functions of the language itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Builtin {
    Len,
    Close,
    And,
    Or,
    Div,
    Mod,
    Quo,
    Rem,
    MatchN,
    MatchIf,
    Error,
    /// Stands for what is called and is no function.
    NoFunction,
}

/// The function.
#[derive(Clone, Copy)]
pub(crate) enum Callee {
    Builtin(Builtin),
    Package(&'static Function),
}

/// An expression.
pub(crate) enum Expr {
    Bottom,
    Top,
    Atom(Atom),
    Kinds(Kinds),
    Struct(Struct),
    List(List),
    /// A field of the struct some levels up.
    Field {
        up: u32,
        label: Label,
    },
    /// A field with a computed label of the struct some levels up.
    DynamicField {
        up: u32,
        label: ExprId,
    },
    /// A `let` of the struct some levels up.
    Let {
        up: u32,
        index: u32,
    },
    /// A value that a clause some levels up bound: `k` and `v` of `for`, or `let`.
    ForKey {
        up: u32,
    },
    ForValue {
        up: u32,
    },
    ClauseLet {
        up: u32,
    },
    /// The label matched by a pattern some levels up.
    PatternLabel {
        up: u32,
    },
    /// The value that a struct or alias some levels up became.
    Own {
        up: u32,
    },
    /// `X={…}`: opens a level for [`Expr::Own`].
    ValueAlias(ExprId),
    Package(u32),
    Selector(ExprId, Label),
    Index(ExprId, ExprId),
    Slice(ExprId, Option<ExprId>, Option<ExprId>),
    And(ExprId, ExprId),
    Or(Vec<(bool, ExprId)>),
    Bound(UnaryOp, ExprId),
    Unary(UnaryOp, ExprId),
    Binary(BinaryOp, ExprId, ExprId),
    /// `x == _|_` and `x != _|_`.
    IsBottom {
        negated: bool,
        operand: ExprId,
    },
    Interpolation {
        bytes: bool,
        texts: Vec<Arc<[u8]>>,
        exprs: Vec<ExprId>,
    },
    Call(Callee, Vec<ExprId>),
    /// A function that is named and not called.
    Function(Callee),
    Comprehension(Comprehension),
    Open(ExprId),
    Try(ExprId),
    /// A value that is already there.
    Value(u32),
}

impl Expr {
    /// Whether it means a value that is somewhere else.
    pub(crate) fn is_reference(&self) -> bool {
        matches!(
            self,
            Self::Field { .. }
                | Self::DynamicField { .. }
                | Self::Let { .. }
                | Self::ForKey { .. }
                | Self::ForValue { .. }
                | Self::ClauseLet { .. }
                | Self::PatternLabel { .. }
                | Self::Own { .. }
                | Self::Package(_)
                | Self::Selector(..)
                | Self::Index(..)
        )
    }
}

/// A struct.
#[derive(Default)]
pub(crate) struct Struct {
    pub(crate) decls: Vec<Decl>,
    /// A regular field makes it a struct whatever is embedded.
    pub(crate) is_struct: bool,
    /// Whether something other than comprehensions over plain fields is embedded.
    pub(crate) embeds: bool,
}

/// A declaration.
pub(crate) enum Decl {
    Field {
        label: Label,
        kind: ArcKind,
        value: ExprId,
    },
    Dynamic {
        label: ExprId,
        kind: ArcKind,
        value: ExprId,
    },
    /// `labelled`: the value has a level for the label.
    Pattern {
        pattern: ExprId,
        value: ExprId,
        labelled: bool,
    },
    Embed(ExprId),
    Comprehension(ExprId),
    Ellipsis,
}

/// A list.
pub(crate) struct List {
    pub(crate) elements: Vec<ExprId>,
    pub(crate) comprehensions: bool,
    /// `...` and the type of further elements.
    pub(crate) ellipsis: Option<Option<ExprId>>,
}

/// Clauses and what they yield.
pub(crate) struct Comprehension {
    pub(crate) clauses: Vec<Clause>,
    pub(crate) value: ExprId,
    pub(crate) fallback: Option<ExprId>,
    /// Labels it may add, when all are known.
    pub(crate) labels: Option<Vec<Label>>,
}

/// A clause; all but `if` open a level.
pub(crate) enum Clause {
    For { source: ExprId },
    If(ExprId),
    Let(ExprId),
    Try(Option<ExprId>),
}

/// A package: the structs of its files.
#[derive(Clone)]
pub(crate) struct Package {
    pub(crate) files: Vec<ExprId>,
}

/// Expressions with their places.
#[derive(Default)]
pub(crate) struct Chunk {
    pub(crate) exprs: Vec<Expr>,
    pub(crate) spans: Vec<Span>,
}

/// Comments of a field, by the expression of its value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FieldNotes {
    pub(crate) lines: Vec<String>,
    /// The groups of lines above it, and whether an empty line stands before the group.
    pub(crate) docs: Vec<(bool, Vec<String>)>,
    pub(crate) attributes: Vec<String>,
}

/// All that a compilation gives.
#[derive(Default)]
pub(crate) struct Program {
    pub(crate) chunk: Arc<Chunk>,
    pub(crate) labels: Interner,
    pub(crate) lets: Vec<ExprId>,
    pub(crate) packages: Vec<Package>,
    pub(crate) notes: FxHashMap<ExprId, FieldNotes>,
    /// Where the label of a field is written, by the expression of its value.
    pub(crate) labels_of_values: FxHashMap<ExprId, Span>,
    pub(crate) sources: Sources,
}
