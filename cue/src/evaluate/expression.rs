//! An expression in; a scalar or a vertex out.

use std::sync::Arc;

use super::{Conjunct, Evaluation, Fault, Message, Mode, State, Term, VertexId};
use crate::{
    ast::{BinaryOp, UnaryOp},
    diagnostic::Code,
    ir::{Atom, Expr, ExprId},
    packages::Kinds,
};

impl Evaluation {
    /// Evaluates an expression; structs and all that is not an operation become a vertex of their own.
    pub(crate) fn eval(&mut self, conjunct: Conjunct) -> Result<Term, Fault> {
        self.step(conjunct.expr)?;
        if self.depth >= self.budget.depth {
            let limit = self.budget.depth;
            return Err(self.fault(
                Code::Budget,
                format!("expressions are nested deeper than {limit} levels"),
                conjunct.expr,
            ));
        }
        self.depth += 1;
        let result = stacker::maybe_grow(256 * 1024, 2 * 1024 * 1024, || self.eval_now(conjunct));
        self.depth -= 1;
        result
    }

    fn eval_now(&mut self, conjunct: Conjunct) -> Result<Term, Fault> {
        if conjunct.expr.as_value().is_some() {
            return self.resolve(conjunct);
        }
        let chunk = self.chunk(conjunct.expr);
        match self.expr(&chunk, conjunct.expr) {
            Expr::Atom(atom) => Ok(Term::Atom(atom.clone())),
            Expr::Bottom => {
                Err(self.fault(Code::User, "explicit error (_|_ literal) in source", conjunct.expr))
            }
            Expr::Unary(op, operand) => self.unary(*op, conjunct.with(*operand), conjunct.expr),
            Expr::Binary(op, left, right) => {
                self.binary(*op, conjunct.with(*left), conjunct.with(*right), conjunct)
            }
            Expr::IsBottom { negated, operand } => {
                let bottom = self.is_bottom(conjunct.with(*operand))?;
                Ok(Term::Atom(Atom::Bool(bottom != *negated)))
            }
            Expr::Interpolation { bytes, texts, exprs } => self.interpolate(*bytes, texts, exprs, conjunct),
            Expr::Slice(base, low, high) => self.slice(conjunct, *base, *low, *high),
            Expr::Call(callee, arguments) if !self.runs_as_constraint(*callee, arguments.len()) => {
                self.call(*callee, arguments, conjunct)
            }
            Expr::Value(_) | Expr::Open(_) | Expr::Try(_) => self.resolve(conjunct),
            reference if reference.is_reference() => self.resolve(conjunct),
            _ => {
                let parent = self.nearest(conjunct);
                Ok(Term::Vertex(self.inline(conjunct, parent)))
            }
        }
    }

    /// The vertex around an expression, for paths.
    pub(crate) fn nearest(&self, conjunct: Conjunct) -> VertexId {
        let mut env = conjunct.env;
        while !env.is_none() {
            let here = self.env(env);
            if let super::EnvKind::Vertex(vertex) = here.kind {
                return vertex;
            }
            env = here.up;
        }
        VertexId::NONE
    }

    /// A scalar, struct or list; not a type, and of a disjunction the default.
    pub(crate) fn concrete(&mut self, conjunct: Conjunct) -> Result<Term, Fault> {
        let term = self.eval(conjunct)?;
        self.concrete_term(term, conjunct.expr)
    }

    pub(crate) fn concrete_term(&mut self, term: Term, place: ExprId) -> Result<Term, Fault> {
        let Term::Vertex(vertex) = term else { return Ok(term) };
        self.process(vertex);
        let mut vertex = self.deref(vertex);
        if self.v(vertex).disjuncts.is_some() {
            match self.default_of(vertex) {
                Some(default) => vertex = default,
                None => {
                    if let Some(fault) = self.v(vertex).fault.clone() {
                        return Err(fault);
                    }
                    return Err(self.fault_with(Code::Ambiguous, Message::Ambiguous(vertex), &[place]));
                }
            }
        }
        let v = self.v(vertex);
        if let Some(fault) = v.fault.as_ref().filter(|f| f.is_fatal()) {
            return Err(fault.clone());
        }
        if let Some(atom) = &v.atom {
            // A value that only waits for one that is being made may be used meanwhile.
            return match &v.fault {
                Some(fault) if !self.is_waiting(fault) => Err(fault.clone()),
                _ => Ok(Term::Atom(atom.clone())),
            };
        }
        if v.state == State::Busy {
            let pending = v.tasks.iter().any(|t| t.state != super::TaskState::Done) || !v.choices.is_empty();
            if pending || v.kinds == Kinds::TOP {
                return Err(self.busy(vertex, place));
            }
        }
        if let Some(fault) = &v.fault {
            return Err(fault.clone());
        }
        if v.kinds == Kinds::STRUCT || (v.kinds == Kinds::LIST && v.list.is_some()) {
            return Ok(Term::Vertex(vertex));
        }
        Err(self.fault_with(Code::Incomplete, Message::NotConcrete(place, vertex), &[place]))
    }

    /// The list or struct an expression is.
    pub(crate) fn container(&mut self, conjunct: Conjunct) -> Result<VertexId, Fault> {
        match self.concrete(conjunct)? {
            Term::Vertex(vertex) if self.v(vertex).state == State::Busy => {
                Err(self.busy(vertex, conjunct.expr))
            }
            Term::Vertex(vertex) => Ok(vertex),
            Term::Atom(atom) => {
                let text = format!(
                    "cannot range over {} (found {}, want list or struct)",
                    self.source_text(conjunct.expr),
                    super::bounds::kinds_text(atom.kinds())
                );
                Err(self.fault(Code::Operation, text, conjunct.expr))
            }
        }
    }

    /// Whether a fault may go away once a value is done that is being made now.
    pub(crate) fn is_waiting(&self, fault: &Fault) -> bool {
        !fault.0.busy.is_none() && self.v(fault.0.busy).state == State::Busy
    }

    /// Whether an expression has no value.
    fn is_bottom(&mut self, conjunct: Conjunct) -> Result<bool, Fault> {
        match self.eval(conjunct) {
            Err(fault) if !fault.0.busy.is_none() && self.v(fault.0.busy).state == State::Busy => Err(fault),
            Err(fault) if fault.0.code == Code::Budget => Err(fault),
            Err(_) => Ok(true),
            Ok(Term::Atom(_)) => Ok(false),
            Ok(Term::Vertex(vertex)) => {
                self.process(vertex);
                let own = self.deref(vertex);
                if let Some(fault) = self.v(own).fault.clone() {
                    if !fault.0.busy.is_none()
                        && self.v(fault.0.busy).state == State::Busy
                        && self.v(own).atom.is_none()
                    {
                        return Err(fault);
                    }
                    return Ok(fault.is_fatal() || self.v(own).atom.is_none());
                }
                if self.v(own).state == State::Busy {
                    return Ok(false);
                }
                self.finalize(own);
                Ok(self.fatal(own).is_some() || self.is_scalar_type(vertex))
            }
        }
    }

    /// Whether it is scalar and only its type or bounds are known: no value is there yet.
    fn is_scalar_type(&mut self, vertex: VertexId) -> bool {
        let own = match self.default_of(vertex) {
            Some(default) => default,
            None => self.deref(vertex),
        };
        let v = self.v(own);
        v.atom.is_none() && v.disjuncts.is_none() && !v.kinds.meets(Kinds::LIST.or(Kinds::STRUCT))
    }

    fn interpolate(
        &mut self,
        bytes: bool,
        texts: &[Arc<[u8]>],
        exprs: &[ExprId],
        conjunct: Conjunct,
    ) -> Result<Term, Fault> {
        let mut out: Vec<u8> = Vec::new();
        for (at, text) in texts.iter().enumerate() {
            out.extend_from_slice(text);
            // The evaluation checks its budget before the value grows further.
            self.room(out.len(), conjunct.expr)?;
            let Some(expr) = exprs.get(at) else { continue };
            match self.concrete(conjunct.with(*expr))? {
                Term::Atom(Atom::String(s)) => out.extend_from_slice(s.as_bytes()),
                Term::Atom(Atom::Bytes(b)) if bytes => out.extend_from_slice(&b),
                Term::Atom(Atom::Bytes(b)) => out.extend_from_slice(valid_text(&b).as_bytes()),
                Term::Atom(Atom::Number { value, .. }) => out.extend_from_slice(value.to_string().as_bytes()),
                Term::Atom(Atom::Bool(b)) => out.extend_from_slice(if b { b"true" } else { b"false" }),
                other => {
                    let kinds = match &other {
                        Term::Atom(atom) => super::bounds::kinds_text(atom.kinds()),
                        Term::Vertex(v) => self.kinds_of(*v),
                    };
                    let text = format!(
                        "invalid interpolation: cannot use {} (type {kinds}) as type (bool|string|bytes|number)",
                        self.source_text(*expr)
                    );
                    return Err(self.fault(Code::Operation, text, *expr));
                }
            }
        }
        self.grow(out.len(), conjunct.expr)?;
        let atom = if bytes {
            Atom::Bytes(Arc::from(out))
        } else {
            Atom::String(Arc::from(String::from_utf8_lossy(&out).as_ref()))
        };
        Ok(Term::Atom(atom))
    }

    fn unary(&mut self, op: UnaryOp, operand: Conjunct, whole: ExprId) -> Result<Term, Fault> {
        let chunk = self.chunk(operand.expr);
        if matches!(self.expr(&chunk, operand.expr), Expr::Kinds(_) | Expr::Top | Expr::Bound(..)) {
            // No input can make a written type concrete.
            let text = format!(
                "invalid operand {} ({} needs a concrete value)",
                self.source_text(operand.expr),
                op.text()
            );
            return Err(self.fault(Code::Operation, text, operand.expr));
        }
        let term = self.concrete(operand)?;
        match (op, &term) {
            (UnaryOp::Not, Term::Atom(Atom::Bool(b))) => return Ok(Term::Atom(Atom::Bool(!b))),
            (UnaryOp::Plus, Term::Atom(Atom::Number { .. })) => return Ok(term),
            (UnaryOp::Minus, Term::Atom(Atom::Number { value, is_float })) => {
                return Ok(Term::Atom(Atom::Number { value: value.neg(), is_float: *is_float }));
            }
            _ => {}
        }
        let text = format!(
            "invalid operation {}{} ({} {})",
            op.text(),
            self.term_text(&term),
            op.text(),
            self.term_kinds(&term)
        );
        Err(self.fault(Code::Operation, text, whole))
    }

    fn binary(
        &mut self,
        op: BinaryOp,
        left: Conjunct,
        right: Conjunct,
        whole: Conjunct,
    ) -> Result<Term, Fault> {
        if matches!(op, BinaryOp::LogicalAnd | BinaryOp::LogicalOr) {
            return self.logical(op, left, right);
        }
        let a = self.concrete(left).map_err(|fault| self.worse(fault, right))?;
        let b = self.concrete(right)?;
        match (&a, &b) {
            (Term::Atom(x), Term::Atom(y)) => self.atoms(op, x, y, [left.expr, right.expr], whole.expr),
            _ => match op {
                BinaryOp::Add | BinaryOp::Multiply => self
                    .list_operator(op, &a, &b, whole.expr)
                    .unwrap_or_else(|| Err(self.bad_operands(op, &a, &b, whole.expr))),
                BinaryOp::Equal | BinaryOp::NotEqual => {
                    // A value that is not wholly known is no operand, whatever the other side is.
                    for (term, side) in [(&a, left), (&b, right)] {
                        if let Term::Vertex(vertex) = term {
                            self.validate(*vertex, Mode::Concrete, side.expr)?;
                        }
                    }
                    let equal = match (&a, &b) {
                        (Term::Vertex(x), Term::Vertex(y)) => self.equal(*x, *y),
                        _ => false,
                    };
                    // Comparing may have used up the budget.
                    self.step(whole.expr)?;
                    Ok(Term::Atom(Atom::Bool(equal == (op == BinaryOp::Equal))))
                }
                _ => Err(self.bad_operands(op, &a, &b, whole.expr)),
            },
        }
    }

    /// A left operand that may still become a value does not hide a mistake in the right one.
    fn worse(&mut self, left: Fault, right: Conjunct) -> Fault {
        if left.is_fatal() || self.is_waiting(&left) {
            return left;
        }
        match self.concrete(right) {
            Err(fault) if fault.is_fatal() => fault,
            _ => left,
        }
    }

    fn logical(&mut self, op: BinaryOp, left: Conjunct, right: Conjunct) -> Result<Term, Fault> {
        let decisive = op == BinaryOp::LogicalOr;
        let one = |this: &mut Self, c: Conjunct| -> Result<bool, Fault> {
            match this.concrete(c)? {
                Term::Atom(Atom::Bool(b)) => Ok(b),
                other => {
                    let found = this.kinds_set(&other);
                    Err(this.wrong_kind(c.expr, found, Kinds::BOOL))
                }
            }
        };
        let a = one(self, left).map_err(|fault| self.worse(fault, right))?;
        if a == decisive {
            // The right side must have a whole value of any type: a mistake in it is one also where it does not count.
            if let Term::Vertex(vertex) = self.concrete(right)? {
                self.validate(vertex, Mode::Concrete, right.expr)?;
            }
            return Ok(Term::Atom(Atom::Bool(a)));
        }
        Ok(Term::Atom(Atom::Bool(one(self, right)?)))
    }

    pub(crate) fn term_kinds(&self, term: &Term) -> String {
        match term {
            Term::Atom(atom) => super::bounds::kinds_text(atom.kinds()),
            Term::Vertex(vertex) => self.kinds_of(*vertex),
        }
    }

    /// The kinds a term can have.
    pub(crate) fn kinds_set(&self, term: &Term) -> Kinds {
        match term {
            Term::Atom(atom) => atom.kinds(),
            Term::Vertex(vertex) => self.vertex_kinds(*vertex),
        }
    }

    pub(crate) fn term_text(&self, term: &Term) -> String {
        match term {
            Term::Atom(atom) => self.atom_text(atom),
            Term::Vertex(vertex) => self.show(*vertex),
        }
    }
}

/// The bytes as text: each run of those that are not UTF-8 is one replacement character.
fn valid_text(bytes: &[u8]) -> String {
    let mut text = String::new();
    let mut in_run = false;
    for chunk in bytes.utf8_chunks() {
        if !chunk.valid().is_empty() {
            text.push_str(chunk.valid());
            in_run = false;
        }
        if !chunk.invalid().is_empty() && !in_run {
            text.push(char::REPLACEMENT_CHARACTER);
            in_run = true;
        }
    }
    text
}
