//! A vertex in; the syntax of its value out: references resolved, comments kept, what is not known left as constraint.

use super::{Evaluation, Mark, VertexId, bounds::kinds_text};
use crate::{
    ast::{self, BinaryOp, ExprKind, LiteralKind, UnaryOp},
    ir::{ArcKind, Atom, ExprId, FieldNotes, Label},
    literal,
    packages::Kinds,
    source::Span,
};

impl Evaluation {
    pub(crate) fn syntax(&mut self, vertex: VertexId) -> ast::Expr {
        self.finalize(vertex);
        self.start_writing();
        stacker::maybe_grow(128 * 1024, 1024 * 1024, || self.syntax_of(vertex))
    }

    fn syntax_of(&mut self, vertex: VertexId) -> ast::Expr {
        self.process(vertex);
        let own = self.deref(vertex);
        // A value that may hold itself has no end that could be written down.
        if self.v(own).shown || !self.may_write() {
            return ast::Expr::new(Span::NONE, ExprKind::Ident("_".into()));
        }
        self.vm(own).shown = true;
        let syntax = stacker::maybe_grow(128 * 1024, 1024 * 1024, || self.syntax_of_own(own));
        self.vm(own).shown = false;
        syntax
    }

    fn syntax_of_own(&mut self, own: VertexId) -> ast::Expr {
        let span = self.v(own).origins.first().map_or(Span::NONE, |o| self.span(o.0));
        let expr = |kind| ast::Expr::new(span, kind);
        if let Some(disjuncts) = self.v(own).disjuncts.clone() {
            let mut parts = disjuncts.into_iter().map(|(d, mark)| {
                let inner = self.syntax_of(d);
                if mark == Mark::Default {
                    ast::Expr::new(span, ExprKind::Unary(UnaryOp::Default, Box::new(inner)))
                } else {
                    inner
                }
            });
            let Some(first) = parts.next() else { return ast::Expr::new(span, ExprKind::Bottom) };
            let rest: Vec<ast::Expr> = parts.collect();
            return rest.into_iter().fold(first, |left, right| {
                ast::Expr::new(
                    span,
                    ExprKind::Binary(BinaryOp::Or, Span::NONE, Box::new(left), Box::new(right)),
                )
            });
        }
        let v = self.v(own);
        if v.fault.as_ref().is_some_and(super::Fault::is_fatal) {
            return expr(ExprKind::Bottom);
        }
        if let Some(atom) = &v.atom {
            return expr(self.atom_syntax(atom));
        }
        if v.list.is_some() {
            let open = v.list.as_ref().is_some_and(|l| l.closed.is_none());
            let rest = v.list.as_ref().and_then(|l| l.rest.first().map(|r| r.1));
            let mut elements: Vec<ast::Expr> = Vec::new();
            for element in self.elements_of(own) {
                elements.push(self.syntax_of(element));
            }
            if open {
                let inner = rest.map(|conjunct| {
                    let made = self.inline(conjunct, own);
                    Box::new(self.syntax_of(made))
                });
                elements.push(expr(ExprKind::Ellipsis(inner)));
            }
            return expr(ExprKind::List(ast::ListLit { elements, ..Default::default() }));
        }
        if v.kinds == Kinds::STRUCT {
            return self.struct_syntax(own, span);
        }
        let mut parts: Vec<ast::Expr> = Vec::new();
        if v.bounds.is_empty() && v.checks.is_empty() || v.kinds == Kinds::INT {
            parts.push(kinds_syntax(v.kinds, span));
        }
        for bound in &v.bounds {
            let limit = expr(self.atom_syntax(&bound.limit));
            parts.push(expr(ExprKind::Unary(bound.op, Box::new(limit))));
        }
        for check in &v.checks {
            parts.push(expr(ExprKind::Ident(self.source_text(check.conjunct.expr))));
        }
        let mut parts = parts.into_iter();
        let Some(first) = parts.next() else { return expr(ExprKind::Ident("_".into())) };
        parts.fold(first, |left, right| {
            ast::Expr::new(span, ExprKind::Binary(BinaryOp::And, Span::NONE, Box::new(left), Box::new(right)))
        })
    }

    fn struct_syntax(&mut self, own: VertexId, span: Span) -> ast::Expr {
        let mut decls = Vec::new();
        for arc in self.shown(own) {
            if arc.label.as_index().is_some() {
                continue;
            }
            let value = self.syntax_of(arc.vertex);
            let notes = self.notes(arc.vertex);
            let comments = if notes.lines.is_empty() {
                Vec::new()
            } else {
                vec![ast::CommentGroup {
                    place: ast::CommentPlace::Doc,
                    lines: notes
                        .lines
                        .iter()
                        .map(|text| ast::Comment { span: Span::NONE, text: text.clone() })
                        .collect(),
                    blank_before: false,
                }]
            };
            let field = ast::Field {
                alias: None,
                label: self.label_syntax(arc.label),
                postfix_alias: None,
                constraint: match arc.kind {
                    ArcKind::Member => None,
                    ArcKind::Optional => Some(ast::Constraint::Optional),
                    ArcKind::Required => Some(ast::Constraint::Required),
                },
                colon: Span::NONE,
                value,
                attributes: notes
                    .attributes
                    .into_iter()
                    .map(|text| ast::Attribute { span: Span::NONE, text })
                    .collect(),
            };
            decls.push(ast::Decl { span, kind: ast::DeclKind::Field(field), comments, blank_before: false });
        }
        ast::Expr::new(span, ExprKind::Struct(ast::StructLit { braces: true, decls, ..Default::default() }))
    }

    fn label_syntax(&self, label: Label) -> ast::Label {
        let text = self.label_name(label);
        let kind =
            if text.starts_with('"') { ast::LabelKind::String(text) } else { ast::LabelKind::Ident(text) };
        ast::Label { span: Span::NONE, kind }
    }

    pub(crate) fn atom_syntax(&self, atom: &Atom) -> ExprKind {
        match atom {
            Atom::Null => ExprKind::Literal(LiteralKind::Null, "null".into()),
            Atom::Bool(b) => ExprKind::Literal(LiteralKind::Bool, b.to_string()),
            Atom::Number { value, is_float } => {
                let kind = if *is_float { LiteralKind::Float } else { LiteralKind::Int };
                if value.is_negative() {
                    let positive =
                        ast::Expr::new(Span::NONE, ExprKind::Literal(kind, value.neg().to_cue(*is_float)));
                    return ExprKind::Unary(UnaryOp::Minus, Box::new(positive));
                }
                ExprKind::Literal(kind, value.to_cue(*is_float))
            }
            Atom::String(s) => ExprKind::Literal(LiteralKind::String, literal::quote_string(s)),
            Atom::Bytes(b) => ExprKind::Literal(LiteralKind::Bytes, literal::quote_bytes(b)),
        }
    }

    /// Comments and attributes of a field, from all places that declare it.
    pub(crate) fn notes(&self, vertex: VertexId) -> FieldNotes {
        let mut out = FieldNotes::default();
        let mut seen = Vec::new();
        self.gather_notes(vertex, 0, &mut seen, &mut out);
        out
    }

    /// The comments above the places that declare a field itself; those of what it refers to are not its own.
    pub(crate) fn docs(&self, vertex: VertexId) -> Vec<(bool, Vec<String>)> {
        let mut docs: Vec<(bool, Vec<String>)> = Vec::new();
        for conjunct in self.v(vertex).conjuncts.iter().filter(|c| c.expr.as_value().is_none()) {
            for doc in self.program.notes.get(&conjunct.expr).iter().flat_map(|notes| &notes.docs) {
                if !docs.iter().any(|known| known.1 == doc.1) {
                    docs.push(doc.clone());
                }
            }
        }
        docs
    }

    fn gather_notes(&self, vertex: VertexId, depth: u32, seen: &mut Vec<ExprId>, out: &mut FieldNotes) {
        if depth > 8 {
            return;
        }
        let v = self.v(vertex);
        for conjunct in &v.conjuncts {
            if let Some(value) = conjunct.expr.as_value() {
                self.gather_notes(VertexId(value), depth + 1, seen, out);
                continue;
            }
            if seen.contains(&conjunct.expr) {
                continue;
            }
            seen.push(conjunct.expr);
            if let Some(notes) = self.program.notes.get(&conjunct.expr) {
                out.lines.extend(notes.lines.iter().cloned());
                out.attributes.extend(notes.attributes.iter().cloned());
            }
        }
        for (target, _) in &v.included {
            self.gather_notes(*target, depth + 1, seen, out);
        }
    }
}

pub(crate) fn kinds_syntax(kinds: Kinds, span: Span) -> ast::Expr {
    let text = kinds_text(kinds);
    let text = text.trim_start_matches('(').trim_end_matches(')');
    let mut parts = text.split('|').filter(|name| *name != "func").map(|name| {
        let kind = match name {
            "null" => ExprKind::Literal(LiteralKind::Null, "null".into()),
            "list" => ExprKind::List(ast::ListLit {
                elements: vec![ast::Expr::new(span, ExprKind::Ellipsis(None))],
                ..Default::default()
            }),
            "struct" => ExprKind::Struct(ast::StructLit { braces: true, ..Default::default() }),
            name => ExprKind::Ident(name.to_owned()),
        };
        ast::Expr::new(span, kind)
    });
    let Some(first) = parts.next() else { return ast::Expr::new(span, ExprKind::Bottom) };
    parts.fold(first, |left, right| {
        ast::Expr::new(span, ExprKind::Binary(BinaryOp::Or, Span::NONE, Box::new(left), Box::new(right)))
    })
}
