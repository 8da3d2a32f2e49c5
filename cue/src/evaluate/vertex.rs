//! The parts of a vertex: conjuncts with their environments and scopes, tasks, and the known part of the value.

use std::sync::Arc;

use smallvec::SmallVec;

use super::arcs::Arcs;
use super::fault::Fault;
use super::ids::{CycleId, EnvId, ScopeId, VertexId};
use crate::{
    ast::UnaryOp,
    ir::{ArcKind, Atom, Callee, ExprId, Label},
    packages::Kinds,
};

/// An expression, what its names mean, and on whose behalf it is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Conjunct {
    pub(crate) expr: ExprId,
    pub(crate) env: EnvId,
    pub(crate) scope: ScopeId,
    pub(crate) cycle: CycleId,
    pub(crate) kind: CycleKind,
}

impl Conjunct {
    pub(crate) fn with(self, expr: ExprId) -> Self {
        Self { expr, ..self }
    }
}

/// One level of names.
#[derive(Debug, Clone)]
pub(crate) struct Env {
    pub(crate) up: EnvId,
    pub(crate) kind: EnvKind,
}

#[derive(Debug, Clone)]
pub(crate) enum EnvKind {
    Vertex(VertexId),
    /// `firing` numbers the run of the loop.
    For {
        key: Atom,
        value: VertexId,
        firing: u32,
    },
    Let(VertexId),
    Label(Label),
}

/// A value handed from one expression to the next.
#[derive(Debug, Clone)]
pub(crate) enum Term {
    Atom(Atom),
    Vertex(VertexId),
}

/// How far a vertex is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    New,
    Busy,
    Done,
}

/// How a disjunct stands to the default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mark {
    Not,
    Maybe,
    Default,
}

#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    pub(crate) matcher: Matcher,
    pub(crate) value: Conjunct,
    pub(crate) labelled: bool,
}

#[derive(Debug, Clone)]
pub(crate) enum Matcher {
    /// Every string.
    Any,
    Text(Arc<str>),
    /// The conjuncts that unify with this expression.
    Unify(Conjunct),
}

/// `>1`, `!=x`, `=~"…"`.
#[derive(Debug, Clone)]
pub(crate) struct Bound {
    pub(crate) op: UnaryOp,
    pub(crate) limit: Atom,
    pub(crate) from: ExprId,
}

/// A function that judges the finished value.
#[derive(Clone)]
pub(crate) struct Check {
    pub(crate) callee: Callee,
    pub(crate) arguments: Vec<Term>,
    pub(crate) conjunct: Conjunct,
}

#[derive(Debug, Clone)]
pub(crate) enum Choice {
    /// The disjuncts of an expression.
    Expr(Conjunct),
    /// The elements of a list.
    Terms(Vec<VertexId>, Conjunct),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TaskState {
    Pending,
    Running,
    Blocked,
    Done,
}

#[derive(Debug, Clone)]
pub(crate) struct Task {
    pub(crate) kind: TaskKind,
    pub(crate) conjunct: Conjunct,
    pub(crate) state: TaskState,
    pub(crate) fault: Option<Fault>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TaskKind {
    Reference,
    Value,
    Comprehension,
    Dynamic { label: ExprId, kind: ArcKind },
    Pattern { pattern: ExprId, labelled: bool },
    List,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct ListState {
    /// Length of a closed list.
    pub(crate) closed: Option<usize>,
    /// Elements that must be there.
    pub(crate) least: usize,
    /// Types of elements from that index on.
    pub(crate) rest: Vec<(usize, Conjunct)>,
}

/// Why a leaf has its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OriginKind {
    /// Written as the value.
    Value,
    /// Written as a default of a disjunction.
    Default,
    /// A type, bound or other constraint.
    Constraint,
    /// Brought by a reference.
    Reference,
    /// Computed: interpolation, arithmetic, call or comprehension.
    Computed,
    /// The operand of a computation: a part of an interpolation, an operand, an argument.
    Operand,
    /// Given as input.
    Input,
    /// Given by a patch.
    Patch,
}

impl OriginKind {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Value => "value",
            Self::Default => "default",
            Self::Constraint => "constraint",
            Self::Reference => "reference",
            Self::Computed => "computed",
            Self::Operand => "operand",
            Self::Input => "input",
            Self::Patch => "patch",
        }
    }
}

pub(crate) struct Vertex {
    pub(crate) parent: VertexId,
    pub(crate) label: Label,
    pub(crate) state: State,
    /// Set when one disjunct is left: the vertex is that one.
    pub(crate) forward: VertexId,
    pub(crate) sharing: Sharing,
    /// Set while it and what is below it is finalized.
    pub(crate) on_path: bool,
    /// Set while it is written as a tree or as syntax.
    pub(crate) shown: bool,
    /// The last walk that came by.
    pub(crate) walk: u32,
    /// The vertex this one is a copy of.
    pub(crate) copy_of: VertexId,
    pub(crate) conjuncts: SmallVec<[Conjunct; 2]>,
    /// The struct literals that became part of it.
    pub(crate) structs: SmallVec<[StructUse; 1]>,
    pub(crate) arcs: Arcs,
    pub(crate) kinds: Kinds,
    pub(crate) kinds_by: ExprId,
    pub(crate) atom: Option<Atom>,
    pub(crate) atom_by: ExprId,
    pub(crate) bounds: Vec<Bound>,
    pub(crate) checks: Vec<Check>,
    /// A struct literal that may turn out to be what it embeds.
    pub(crate) weak_struct: bool,
    /// `_` is embedded in it.
    pub(crate) embeds_top: bool,
    pub(crate) list: Option<Box<ListState>>,
    pub(crate) patterns: Vec<Pattern>,
    pub(crate) open: SmallVec<[ScopeId; 1]>,
    pub(crate) closers: SmallVec<[ScopeId; 1]>,
    pub(crate) tasks: Vec<Task>,
    pub(crate) choices: Vec<Choice>,
    pub(crate) included: SmallVec<[(VertexId, ScopeId); 2]>,
    pub(crate) subscribers: Vec<(VertexId, Conjunct)>,
    pub(crate) fault: Option<Fault>,
    pub(crate) child_fault: Option<Fault>,
    pub(crate) disjuncts: Option<Vec<(VertexId, Mark)>>,
    pub(crate) standing: Standing,
    /// References that lead into themselves and wait for a value beside them.
    pub(crate) postponed: Vec<(Conjunct, VertexId)>,
    pub(crate) finalized: bool,
    /// The epoch of the last finalization that left something waiting below.
    pub(crate) waiting_since: u32,
    pub(crate) has_ellipsis: bool,
    pub(crate) own_scope: ScopeId,
    pub(crate) origins: SmallVec<[(ExprId, OriginKind); 2]>,
}

/// A node of the tree of who demands closedness.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scope {
    pub(crate) parent: ScopeId,
    pub(crate) kind: ScopeKind,
    pub(crate) depth: u32,
    /// Whether it or one above it closes.
    pub(crate) closes: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScopeKind {
    Root,
    /// A struct literal that embeds.
    Literal,
    Embedding,
    Definition,
    /// `close()`, for that vertex only.
    Close(VertexId),
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Cycle {
    pub(crate) up: CycleId,
    pub(crate) expr: ExprId,
    pub(crate) target: VertexId,
    pub(crate) node: VertexId,
}

/// How a conjunct stands to cycles. It only rises on the way down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CycleKind {
    None,
    /// It came by way of something optional.
    Optional,
    /// It came round once, by way of something optional.
    Maybe,
    Cyclic,
}

/// The known part of the conjuncts of a vertex.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Standing {
    /// Something that is not cyclic gives it a value.
    pub(crate) acyclic: bool,
    /// A conjunct that is not cyclic, if only a reference, is there.
    pub(crate) plain: bool,
    /// A conjunct leads into itself.
    pub(crate) cyclic: bool,
    /// A conjunct leads to an ancestor.
    pub(crate) ancestor: bool,
}

impl Standing {
    pub(crate) fn is_cycle(self) -> bool {
        (self.ancestor && !self.acyclic) || (self.cyclic && !self.plain)
    }
}

/// How a vertex stands to the one it shares.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sharing {
    /// The vertex that the reference names; the vertex's `forward` may lie further along the chain.
    pub(crate) target: Option<VertexId>,
    /// Something is known about the vertex that is not about its target.
    pub(crate) forbidden: bool,
}

/// A struct literal that became part of a vertex.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StructUse {
    pub(crate) expr: ExprId,
    /// How often more it was added: once for each round of a loop.
    pub(crate) repeats: u32,
    /// The loop that added it, 0 when none did.
    pub(crate) firing: u32,
}
