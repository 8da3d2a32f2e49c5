//! A conjunct in; what it says added to a vertex. A part that needs other values first becomes a task.

use super::{
    Choice, Conjunct, CycleKind, EnvKind, Evaluation, Fault, Matcher, Message, OriginKind, Pattern,
    ScopeKind, Task, TaskKind, TaskState, Term, VertexId,
};
use crate::{
    diagnostic::Code,
    ir::{ArcKind, Atom, Decl, Expr, ExprId, Label, Struct},
    packages::Kinds,
};

impl Evaluation {
    /// Adds a conjunct to a vertex that is being evaluated.
    pub(crate) fn add(&mut self, vertex: VertexId, conjunct: Conjunct) {
        if let Err(fault) = self.step(conjunct.expr) {
            return self.set_fault(vertex, fault);
        }
        if conjunct.kind <= CycleKind::Optional {
            self.vm(vertex).standing.plain = true;
        }
        if let Some(value) = conjunct.expr.as_value() {
            return self.task(vertex, TaskKind::Reference, conjunct.with(ExprId::value(value)));
        }
        let chunk = self.chunk(conjunct.expr);
        let expr = self.expr(&chunk, conjunct.expr);
        if matches!(
            expr,
            Expr::Bottom | Expr::Top | Expr::Atom(_) | Expr::Kinds(_) | Expr::Struct(_) | Expr::List(_)
        ) {
            self.has_value(vertex, conjunct);
        }
        match expr {
            Expr::Bottom => {
                let fault = self.fault(Code::User, "explicit error (_|_ literal) in source", conjunct.expr);
                self.set_fault(vertex, fault);
            }
            Expr::Top => {
                self.note_origin(vertex, conjunct, OriginKind::Constraint);
                let embedded = self.scopes[conjunct.scope.0 as usize].kind == ScopeKind::Embedding;
                self.vm(vertex).embeds_top |= embedded;
            }
            Expr::Atom(atom) => {
                self.note_origin(vertex, conjunct, OriginKind::Value);
                self.add_atom(vertex, atom.clone(), conjunct.expr);
            }
            Expr::Kinds(kinds) => {
                self.note_origin(vertex, conjunct, OriginKind::Constraint);
                self.add_kinds(vertex, *kinds, conjunct.expr);
            }
            Expr::Struct(body) => self.add_struct(vertex, body, conjunct),
            Expr::List(list) => {
                if list.comprehensions {
                    self.task(vertex, TaskKind::List, conjunct);
                } else if let Err(fault) = self.run_list(vertex, conjunct) {
                    self.set_fault(vertex, fault);
                }
            }
            Expr::And(left, right) => {
                let (left, right) = (*left, *right);
                self.add(vertex, conjunct.with(left));
                self.add(vertex, conjunct.with(right));
            }
            Expr::Or(_) => self.put(vertex, |v| &mut v.choices, Choice::Expr(conjunct.optional())),
            Expr::ValueAlias(inner) => {
                let inner = *inner;
                let env = self.new_env(conjunct.env, EnvKind::Vertex(vertex));
                self.add(vertex, Conjunct { expr: inner, env, ..conjunct });
            }
            Expr::Field { .. }
            | Expr::DynamicField { .. }
            | Expr::Let { .. }
            | Expr::ForValue { .. }
            | Expr::ClauseLet { .. }
            | Expr::Own { .. }
            | Expr::Package(_)
            | Expr::Selector(..)
            | Expr::Index(..)
            | Expr::Value(_)
            | Expr::Open(_)
            | Expr::Try(_) => self.task(vertex, TaskKind::Reference, conjunct),
            Expr::Comprehension(_) => self.task(vertex, TaskKind::Comprehension, conjunct),
            Expr::Bound(..)
            | Expr::Slice(..)
            | Expr::Unary(..)
            | Expr::Binary(..)
            | Expr::IsBottom { .. }
            | Expr::Interpolation { .. }
            | Expr::Call(..)
            | Expr::Function(_)
            | Expr::ForKey { .. }
            | Expr::PatternLabel { .. } => self.task(vertex, TaskKind::Value, conjunct),
        }
    }

    pub(crate) fn task(&mut self, vertex: VertexId, kind: TaskKind, conjunct: Conjunct) {
        let refers = |kind: TaskKind| matches!(kind, TaskKind::Reference | TaskKind::Value);
        let tasks = &self.v(vertex).tasks;
        if refers(kind)
            && tasks.len() >= super::node::MAX_REFERENCES
            && tasks.iter().filter(|t| refers(t.kind)).count() >= super::node::MAX_REFERENCES
        {
            let text = format!("a value has more than {} references", super::node::MAX_REFERENCES);
            let fault = self.fault(Code::Budget, text, conjunct.expr);
            return self.set_fault(vertex, fault);
        }
        self.put(vertex, |v| &mut v.tasks, Task { kind, conjunct, state: TaskState::Pending, fault: None });
    }

    pub(crate) fn note_origin(&mut self, vertex: VertexId, conjunct: Conjunct, kind: OriginKind) {
        let kind = self.input_kind(conjunct.expr).unwrap_or(kind);
        self.put(vertex, |v| &mut v.origins, (conjunct.expr, kind));
    }

    pub(crate) fn add_kinds(&mut self, vertex: VertexId, kinds: Kinds, by: ExprId) {
        let v = self.v(vertex);
        let (old, old_by) = (v.kinds, v.kinds_by);
        let left = Kinds(old.0 & kinds.0);
        if left.0 == 0 {
            let fault = self.conflict(old, old_by, kinds, by);
            return self.set_fault(vertex, fault);
        }
        let v = self.vm(vertex);
        if left != old {
            v.kinds = left;
            v.kinds_by = by;
        }
    }

    fn conflict(&self, old: Kinds, old_by: ExprId, new: Kinds, new_by: ExprId) -> Fault {
        self.fault_with(Code::Conflict, Message::Kinds(old, new), &[old_by, new_by])
    }

    /// The text of an expression, shortened.
    pub(crate) fn source_text(&self, id: ExprId) -> String {
        let span = self.span(id);
        let text = self.program.sources.text(span);
        // Scalars of data files are shown as CUE writes them.
        if text.is_empty() || self.is_given(span) {
            let chunk = self.chunk(id);
            if id != ExprId::NONE
                && id.as_value().is_none()
                && let Expr::Atom(atom) = self.expr(&chunk, id)
            {
                return self.atom_text(atom);
            }
            return "value".into();
        }
        let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if line.chars().count() > 60 { line.chars().take(57).chain("...".chars()).collect() } else { line }
    }

    pub(crate) fn add_atom(&mut self, vertex: VertexId, atom: Atom, by: ExprId) {
        self.add_kinds(vertex, atom.kinds(), by);
        let v = self.v(vertex);
        match &v.atom {
            None => {
                let v = self.vm(vertex);
                v.atom = Some(atom);
                v.atom_by = by;
            }
            Some(old) if *old == atom => {}
            Some(old) => {
                let message = Message::Values(old.clone(), atom);
                let fault = self.fault_with(Code::Conflict, message, &[v.atom_by, by]);
                self.set_fault(vertex, fault);
            }
        }
    }

    fn add_struct(&mut self, vertex: VertexId, body: &Struct, conjunct: Conjunct) {
        if body.is_struct {
            self.add_kinds(vertex, Kinds::STRUCT, conjunct.expr);
        } else {
            self.vm(vertex).weak_struct = true;
        }
        self.note_struct(vertex, conjunct.expr, conjunct.env);
        let mut scope = conjunct.scope;
        // The files of a package are one struct.
        let file = conjunct.env.is_none() && self.scopes[scope.0 as usize].kind == ScopeKind::Literal;
        if body.embeds && !file {
            scope = self.new_scope(scope, ScopeKind::Literal);
        }
        if self.scopes[scope.0 as usize].closes {
            self.close_by(vertex, scope);
        }
        let env = self.new_env(conjunct.env, EnvKind::Vertex(vertex));
        let inner = Conjunct { env, scope, ..conjunct };
        for decl in &body.decls {
            match decl {
                Decl::Field { label, kind, value } => {
                    let value = inner.with(*value);
                    let value = if *kind == ArcKind::Optional { value.optional() } else { value };
                    self.insert_field(vertex, *label, *kind, value);
                }
                Decl::Dynamic { label, kind, value } => {
                    self.task(vertex, TaskKind::Dynamic { label: *label, kind: *kind }, inner.with(*value));
                }
                Decl::Pattern { pattern, value, labelled } => {
                    let conjunct = inner.with(*value).optional();
                    let chunk = self.chunk(*pattern);
                    let matcher = match self.expr(&chunk, *pattern) {
                        Expr::Kinds(kinds) if kinds.meets(Kinds::STRING) => Some(Matcher::Any),
                        Expr::Top => Some(Matcher::Any),
                        Expr::Atom(Atom::String(text)) => Some(Matcher::Text(text.clone())),
                        _ => None,
                    };
                    match matcher {
                        Some(matcher) => self.add_pattern(vertex, matcher, *labelled, conjunct),
                        None => self.task(
                            vertex,
                            TaskKind::Pattern { pattern: *pattern, labelled: *labelled },
                            conjunct,
                        ),
                    }
                }
                Decl::Embed(expr) => {
                    let scope = self.new_scope(scope, ScopeKind::Embedding);
                    self.add(vertex, Conjunct { expr: *expr, env, scope, ..conjunct });
                }
                Decl::Comprehension(expr) => {
                    let scope = self.new_scope(scope, ScopeKind::Embedding);
                    self.task(
                        vertex,
                        TaskKind::Comprehension,
                        Conjunct { expr: *expr, env, scope, ..conjunct },
                    );
                }
                Decl::Ellipsis => {
                    self.put(vertex, |v| &mut v.open, scope);
                    self.vm(vertex).has_ellipsis = true;
                }
            }
        }
    }

    fn add_pattern(&mut self, vertex: VertexId, matcher: Matcher, labelled: bool, value: Conjunct) {
        let at = self.v(vertex).patterns.len();
        self.put(vertex, |v| &mut v.patterns, Pattern { matcher, value, labelled });
        let mut i = 0;
        while i < self.v(vertex).arcs.len() {
            let arc = self.v(vertex).arcs[i];
            i += 1;
            if arc.label.is_regular() {
                self.apply_pattern(vertex, at, arc.label, arc.vertex);
            }
        }
    }

    pub(crate) fn run_pattern(
        &mut self,
        vertex: VertexId,
        pattern: ExprId,
        labelled: bool,
        conjunct: Conjunct,
    ) -> Result<(), Fault> {
        let test = conjunct.with(pattern);
        let inline = self.inline(test, vertex);
        self.process(inline);
        let value = self.deref(inline);
        if let Some(fault) = self.v(value).fault.clone() {
            return Err(fault);
        }
        let v = self.v(value);
        let matcher = match &v.atom {
            Some(Atom::String(text)) => Matcher::Text(text.clone()),
            None if v.disjuncts.is_none()
                && v.bounds.is_empty()
                && v.checks.is_empty()
                && v.kinds.meets(Kinds::STRING) =>
            {
                Matcher::Any
            }
            _ => Matcher::Unify(test),
        };
        self.add_pattern(vertex, matcher, labelled, conjunct);
        Ok(())
    }

    /// Gives a field what a pattern says about it.
    pub(crate) fn apply_pattern(&mut self, vertex: VertexId, at: usize, label: Label, child: VertexId) {
        let Pattern { matcher, value, labelled } = self.v(vertex).patterns[at].clone();
        if !self.matches(&matcher, label) {
            return;
        }
        let conjunct = if labelled {
            let env = self.new_env(value.env, EnvKind::Label(label));
            Conjunct { env, ..value }
        } else {
            value
        };
        self.push_conjunct(child, conjunct);
    }

    pub(crate) fn matches(&mut self, matcher: &Matcher, label: Label) -> bool {
        match matcher {
            Matcher::Any => true,
            Matcher::Text(text) => *self.label_text(label) == **text,
            Matcher::Unify(conjunct) => {
                let text = self.label_text(label);
                let inline = self.inline(*conjunct, VertexId::NONE);
                self.vm(inline).state = super::State::New;
                let atom = Atom::String(text);
                self.add_atom(inline, atom, ExprId::NONE);
                self.process(inline);
                self.finalize(inline);
                self.fatal(inline).is_none() && self.fatal(self.deref(inline)).is_none()
            }
        }
    }

    pub(crate) fn run_dynamic(
        &mut self,
        vertex: VertexId,
        label: ExprId,
        kind: ArcKind,
        conjunct: Conjunct,
    ) -> Result<(), Fault> {
        let term = self.concrete(conjunct.with(label))?;
        let Term::Atom(Atom::String(text)) = term else {
            return Err(self.fault(Code::Operation, "the label of a field must be a string", label));
        };
        let label = Label::regular(self.intern(&text));
        self.insert_field(vertex, label, kind, conjunct);
        Ok(())
    }

    /// Adds the value of an operation.
    pub(crate) fn run_value(&mut self, vertex: VertexId, conjunct: Conjunct) -> Result<(), Fault> {
        let chunk = self.chunk(conjunct.expr);
        match self.expr(&chunk, conjunct.expr) {
            Expr::Bound(op, limit) => {
                if matches!(self.expr(&self.chunk(*limit), *limit), Expr::Kinds(_)) {
                    // No input can make a written type concrete.
                    let text = format!("{} needs a concrete value, and this is a type", op.text());
                    return Err(self.fault(Code::Operation, text, conjunct.expr));
                }
                let term = self.concrete(conjunct.with(*limit))?;
                self.note_origin(vertex, conjunct, OriginKind::Constraint);
                self.has_value(vertex, conjunct);
                return self.add_bound(vertex, *op, term, conjunct.expr);
            }
            Expr::Function(callee) => return self.add_validator(vertex, *callee, &[], conjunct),
            Expr::Call(callee, arguments) if self.runs_as_constraint(*callee, arguments.len()) => {
                return self.add_validator(vertex, *callee, arguments, conjunct);
            }
            _ => {}
        }
        let term = self.eval(conjunct)?;
        self.note_origin(vertex, conjunct, OriginKind::Computed);
        self.add_term(vertex, term, conjunct);
        Ok(())
    }

    pub(crate) fn add_term(&mut self, vertex: VertexId, term: Term, conjunct: Conjunct) {
        match term {
            Term::Atom(atom) => {
                self.has_value(vertex, conjunct);
                self.add_atom(vertex, atom, conjunct.expr);
            }
            Term::Vertex(from) => {
                if let Err(fault) = self.include(vertex, from, conjunct) {
                    self.set_fault(vertex, fault);
                }
            }
        }
    }
}
