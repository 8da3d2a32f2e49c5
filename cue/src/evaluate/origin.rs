//! A vertex in; what made its value, conjunct by conjunct, out.
//!
//! Evaluation keeps nothing for this but the leaves a vertex took in. The caller of this pays: it walks the conjuncts
//! again, follows references to what they mean, and tells of a disjunction only the chosen part.

use rustc_hash::FxHashSet;

use super::{Conjunct, EnvId, EnvKind, Evaluation, OriginKind, Term, VertexId};
use crate::{
    ir::{Builtin, Callee, Clause, Decl, Expr, ExprId},
    source::Span,
};

/// Most origins of one value.
const MAX_ORIGINS: usize = 200;

/// Longest chain of references and computations that is followed.
const MAX_DEPTH: u32 = 32;

/// One source of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// Where it is written.
    pub span: Span,
    /// The kind of the source.
    pub kind: OriginKind,
    /// How many references and computations lie between it and the value: what follows a reference or computation with
    /// a greater depth is what that refers to or computes with.
    pub depth: u32,
}

struct Walk {
    out: Vec<(ExprId, Origin)>,
    seen: FxHashSet<(ExprId, EnvId)>,
    /// The leaves that the value took in: tells which disjuncts were chosen.
    taken: FxHashSet<ExprId>,
}

impl Walk {
    fn is_full(&self) -> bool {
        self.out.len() >= MAX_ORIGINS
    }
}

impl Evaluation {
    /// Everything that made the value of a vertex, in the order it is written.
    pub(crate) fn origins(&mut self, vertex: VertexId) -> Vec<Origin> {
        let taken = self.leaves(vertex);
        let mut walk = Walk { out: Vec::new(), seen: FxHashSet::default(), taken };
        self.origins_of(vertex, 0, &mut walk);
        walk.out.into_iter().map(|(_, origin)| origin).filter(|origin| !origin.span.is_none()).collect()
    }

    /// The leaves that a value took in.
    fn leaves(&mut self, vertex: VertexId) -> FxHashSet<ExprId> {
        self.process(vertex);
        let own = self.default_of(vertex).unwrap_or_else(|| self.deref(vertex));
        self.v(own).origins.iter().map(|origin| origin.0).collect()
    }

    fn origins_of(&mut self, vertex: VertexId, depth: u32, walk: &mut Walk) {
        if depth > MAX_DEPTH || walk.is_full() {
            return;
        }
        let conjuncts = self.v(vertex).conjuncts.clone();
        if conjuncts.is_empty() {
            // A copy made for a disjunct, or the result of a call: only its leaves are known.
            let own = self.default_of(vertex).unwrap_or_else(|| self.deref(vertex));
            for (expr, kind) in self.v(own).origins.clone() {
                self.record_origin(expr, kind, depth, walk);
            }
            return;
        }
        for conjunct in conjuncts {
            stacker::maybe_grow(128 * 1024, 1024 * 1024, || {
                self.origins_in(conjunct, vertex, OriginKind::Value, depth, walk);
            });
        }
    }

    fn record_origin(&self, expr: ExprId, kind: OriginKind, depth: u32, walk: &mut Walk) {
        let kind = self.input_kind(expr).unwrap_or(kind);
        walk.out.push((expr, Origin { span: self.span(expr), kind, depth }));
    }

    /// The part that one conjunct adds to a vertex; `written` is the kind of a value that is written out.
    fn origins_in(
        &mut self,
        conjunct: Conjunct,
        vertex: VertexId,
        written: OriginKind,
        depth: u32,
        walk: &mut Walk,
    ) {
        let id = conjunct.expr;
        if walk.is_full() || !walk.seen.insert((id, conjunct.env)) {
            return;
        }
        if let Some(value) = id.as_value() {
            return self.origins_of(VertexId(value), depth, walk);
        }
        let chunk = self.chunk(id);
        match self.expr(&chunk, id) {
            Expr::And(left, right) => {
                for side in [*left, *right] {
                    self.origins_in(conjunct.with(side), vertex, written, depth, walk);
                }
            }
            Expr::Or(options) => {
                for (preferred, option) in options {
                    let written = if *preferred { OriginKind::Default } else { written };
                    self.origins_of_option(conjunct.with(*option), vertex, written, depth, walk);
                }
            }
            Expr::Open(inner) | Expr::Try(inner) => {
                self.origins_in(conjunct.with(*inner), vertex, written, depth, walk);
            }
            Expr::ValueAlias(inner) => {
                let env = self.new_env(conjunct.env, EnvKind::Vertex(vertex));
                self.origins_in(Conjunct { expr: *inner, env, ..conjunct }, vertex, written, depth, walk);
            }
            Expr::Value(value) => self.origins_of(VertexId(*value), depth, walk),
            Expr::Struct(body) => {
                self.record_origin(id, written, depth, walk);
                let env = self.new_env(conjunct.env, EnvKind::Vertex(vertex));
                for decl in &body.decls {
                    if let Decl::Embed(expr) | Decl::Comprehension(expr) = decl {
                        let inner = Conjunct { expr: *expr, env, ..conjunct };
                        self.origins_in(inner, vertex, written, depth, walk);
                    }
                }
            }
            Expr::Atom(_) | Expr::List(_) | Expr::Bottom => self.record_origin(id, written, depth, walk),
            Expr::Top | Expr::Kinds(_) | Expr::Bound(..) | Expr::Function(_) => {
                self.record_origin(id, OriginKind::Constraint, depth, walk);
            }
            Expr::Call(callee, arguments)
                if self.runs_as_constraint(*callee, arguments.len())
                    && !matches!(callee, Callee::Builtin(Builtin::And | Builtin::Or | Builtin::Close)) =>
            {
                self.record_origin(id, OriginKind::Constraint, depth, walk);
            }
            expr if expr.is_reference() => {
                self.record_origin(id, OriginKind::Reference, depth, walk);
                if let Ok(Term::Vertex(target)) = self.resolve(conjunct) {
                    self.origins_of(target, depth + 1, walk);
                }
            }
            expr => {
                self.record_origin(id, OriginKind::Computed, depth, walk);
                for operand in operands(expr) {
                    self.operand_origins(conjunct.with(operand), depth + 1, walk);
                }
            }
        }
    }

    /// The operands of a computation, and their origins.
    fn operand_origins(&mut self, conjunct: Conjunct, depth: u32, walk: &mut Walk) {
        let id = conjunct.expr;
        if depth > MAX_DEPTH || walk.is_full() || !walk.seen.insert((id, conjunct.env)) {
            return;
        }
        self.record_origin(id, OriginKind::Operand, depth, walk);
        let chunk = self.chunk(id);
        let expr = self.expr(&chunk, id);
        if expr.is_reference() {
            if let Ok(Term::Vertex(target)) = self.resolve(conjunct) {
                // An operand is a value of its own, with choices of its own.
                let outer = std::mem::replace(&mut walk.taken, self.leaves(target));
                self.origins_of(target, depth + 1, walk);
                walk.taken = outer;
            }
            return;
        }
        for operand in operands(expr) {
            stacker::maybe_grow(128 * 1024, 1024 * 1024, || {
                self.operand_origins(conjunct.with(operand), depth + 1, walk);
            });
        }
    }

    /// An alternative counts when the value took something of it in, or when it cannot be told apart.
    fn origins_of_option(
        &mut self,
        conjunct: Conjunct,
        vertex: VertexId,
        written: OriginKind,
        depth: u32,
        walk: &mut Walk,
    ) {
        let before = walk.out.len();
        self.origins_in(conjunct, vertex, written, depth, walk);
        let leaves = |kind| matches!(kind, OriginKind::Reference | OriginKind::Operand);
        let mut found = walk.out[before..].iter().filter(|(_, origin)| !leaves(origin.kind)).peekable();
        if found.peek().is_some()
            && !found.any(|(expr, _)| walk.taken.contains(expr))
            && !walk.taken.is_empty()
        {
            walk.out.truncate(before);
        }
    }
}

/// The expressions that a computation works with.
fn operands(expr: &Expr) -> Vec<ExprId> {
    match expr {
        Expr::Interpolation { exprs, .. } => exprs.clone(),
        Expr::Unary(_, operand) | Expr::IsBottom { operand, .. } => vec![*operand],
        Expr::Binary(_, left, right) => vec![*left, *right],
        Expr::Slice(base, low, high) => [Some(*base), *low, *high].into_iter().flatten().collect(),
        Expr::Call(_, arguments) => arguments.clone(),
        Expr::Comprehension(comprehension) => {
            let used = |clause: &Clause| match clause {
                Clause::For { source } => Some(*source),
                Clause::If(value) | Clause::Let(value) => Some(*value),
                Clause::Try(value) => *value,
            };
            // Later clauses may use names that earlier ones bind: only the first stands in the environment at hand.
            comprehension.clauses.first().and_then(used).into_iter().collect()
        }
        _ => Vec::new(),
    }
}
