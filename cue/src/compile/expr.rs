//! Structs, lists and expressions.

use std::sync::Arc;

use super::{Compiler, Imported, Name, Scope};
use crate::{
    ast::{self, BinaryOp, DeclKind, ExprKind, InterpolationPart, LabelKind, LiteralKind, UnaryOp},
    diagnostic::{Code, Diagnostic},
    era::guard,
    ir::{ArcKind, Atom, Builtin, Callee, Decl, Expr, ExprId, FieldNotes, Label, List, Struct},
    literal, nearest,
    source::Span,
};

impl Compiler<'_> {
    pub(super) fn struct_body(&mut self, decls: &[ast::Decl], span: Span) -> Struct {
        let mut out = Struct::default();
        let mut plain = true;
        self.computed_aliases(decls);
        for decl in decls {
            match &decl.kind {
                DeclKind::Field(field) => self.field(field, decl, &mut out),
                DeclKind::Embed(expr) => {
                    let id = self.expr(expr);
                    if matches!(expr.kind, ExprKind::Comprehension(_)) {
                        out.decls.push(Decl::Comprehension(id));
                    } else {
                        out.decls.push(Decl::Embed(id));
                    }
                    out.embeds = true;
                }
                DeclKind::Let(binding) | DeclKind::Alias(binding) => {
                    let value = self.expr(&binding.value);
                    let index = match self.resolve_let(&binding.name.name) {
                        Some(index) => index,
                        None => continue,
                    };
                    self.lets[index as usize] = value;
                }
                DeclKind::Ellipsis(inner) => {
                    if let Some(inner) = inner {
                        self.expr(inner);
                    }
                    out.decls.push(Decl::Ellipsis);
                }
                DeclKind::Attribute(_) | DeclKind::Import(_) => {}
                DeclKind::Bad => self.error(Code::Syntax, "cannot read this declaration", decl.span),
            }
            plain &= !matches!(decl.kind, DeclKind::Embed(_));
        }
        out.is_struct |= plain;
        let _ = span;
        out
    }

    /// The number of a `let` of the innermost level, without counting as a use.
    fn resolve_let(&mut self, name: &str) -> Option<u32> {
        self.scopes.last().and_then(|scope| scope.let_index(name))
    }

    /// The value of a field; in an older era a guard beside its type is the bound it means.
    fn field_value(&mut self, field: &ast::Field) -> ExprId {
        let era = self.sources.get(field.label.span.file).map(|source| source.era).unwrap_or_default();
        let lowered = match &field.label.kind {
            LabelKind::Ident(name) if era.is_old() => guard::lowered(name, &field.value),
            _ => None,
        };
        self.expr(lowered.as_ref().unwrap_or(&field.value))
    }

    fn field(&mut self, field: &ast::Field, decl: &ast::Decl, out: &mut Struct) {
        let notes = self.words(field, decl);
        let kind = match field.constraint {
            None => ArcKind::Member,
            Some(ast::Constraint::Optional) => ArcKind::Optional,
            Some(ast::Constraint::Required) => ArcKind::Required,
        };
        let label = match &field.label.kind {
            LabelKind::Ident(name) => {
                if name.starts_with("__") {
                    self.error(Code::Syntax, "identifiers starting with '__' are reserved", field.label.span);
                }
                if name == "_" {
                    self.error(
                        Code::Syntax,
                        "'_' is no label: write \"_\" for a field of that name",
                        field.label.span,
                    );
                }
                Ok(self.ident_label(name))
            }
            LabelKind::String(text) => Ok(self.string_label(text)),
            LabelKind::Interpolation(expr) | LabelKind::Dynamic(expr) => Err(expr),
            LabelKind::Pattern { alias, expr } => {
                self.check_pattern(expr);
                let pattern = self.expr(expr);
                let key = alias.as_ref().or(field.postfix_alias.as_ref().and_then(|a| a.key.as_ref()));
                if let Some(key) = key {
                    self.scopes.push(Scope::of([(key.name.clone(), Name::PatternLabel)]));
                }
                let own =
                    field.postfix_alias.as_ref().and_then(|a| a.value.as_ref()).or(field.alias.as_ref());
                let value = match own {
                    Some(name) => self.aliased(&name.name, name.span, &field.value),
                    None => self.expr(&field.value),
                };
                if key.is_some() {
                    self.close_scope();
                }
                self.note(value, notes, field);
                out.decls.push(Decl::Pattern { pattern, value, labelled: key.is_some() });
                return;
            }
        };
        match label {
            Ok(label) => {
                let value = self.field_value(field);
                self.note(value, notes, field);
                if label.is_regular() && kind == ArcKind::Member {
                    out.is_struct = true;
                }
                out.decls.push(Decl::Field { label, kind, value });
            }
            Err(label) => {
                let label = match self.computed_labels.get(&label.span) {
                    Some(known) => *known,
                    None => self.expr(label),
                };
                let value = self.expr(&field.value);
                self.note(value, notes, field);
                out.is_struct = true;
                out.decls.push(Decl::Dynamic { label, kind, value });
            }
        }
    }

    /// Declares the aliases of fields with computed labels, which may be used before the field, too.
    fn computed_aliases(&mut self, decls: &[ast::Decl]) {
        for decl in decls {
            let DeclKind::Field(field) = &decl.kind else { continue };
            let (LabelKind::Interpolation(label) | LabelKind::Dynamic(label)) = &field.label.kind else {
                continue;
            };
            let postfix = field.postfix_alias.as_ref();
            let alias = field.alias.as_ref().or(postfix.and_then(|a| a.value.as_ref()));
            let key = postfix.and_then(|a| a.key.as_ref());
            if alias.is_none() && key.is_none() {
                continue;
            }
            let id = self.expr(label);
            self.computed_labels.insert(label.span, id);
            let index = self.lets.len() as u32;
            let Some(scope) = self.scopes.last_mut() else { return };
            if let Some(alias) = alias {
                scope.set(&alias.name, Name::Dynamic(id));
            }
            if let Some(key) = key {
                self.lets.push(id);
                scope.set(&key.name, Name::Let(index));
            }
        }
    }

    /// The comments that speak of a field. Those before `a: b: c: 1` speak of the last one, `c`.
    fn words(&mut self, field: &ast::Field, decl: &ast::Decl) -> FieldNotes {
        let mut notes = std::mem::take(&mut self.carried);
        for group in &decl.comments {
            let lines = group.lines.iter().map(|line| line.text.clone());
            match group.place {
                ast::CommentPlace::Doc => {
                    notes.docs.push((group.blank_before, lines.clone().collect()));
                    notes.lines.extend(lines);
                }
                ast::CommentPlace::Line => notes.lines.extend(lines),
                ast::CommentPlace::Above | ast::CommentPlace::Inside => {}
            }
        }
        // A pattern is no field that could carry words: `a: [string]: int` keeps them at `a`.
        let names_a_field = |decl: &ast::Decl| match &decl.kind {
            ast::DeclKind::Field(inner) => !matches!(inner.label.kind, ast::LabelKind::Pattern { .. }),
            _ => false,
        };
        if matches!(&field.value.kind, ast::ExprKind::Struct(inner) if !inner.braces && inner.decls.iter().all(names_a_field))
        {
            self.carried = std::mem::take(&mut notes);
        }
        notes
    }

    fn note(&mut self, value: ExprId, mut notes: FieldNotes, field: &ast::Field) {
        self.labels_of_values.insert(value, field.label.span);
        notes.attributes = field.attributes.iter().map(|a| a.text.clone()).collect();
        if notes != FieldNotes::default() {
            self.notes.insert(value, notes);
        }
    }

    fn aliased(&mut self, name: &str, span: Span, value: &ast::Expr) -> ExprId {
        let mut scope = Scope::of([(name.to_owned(), Name::Own)]);
        scope.require(name, span);
        self.scopes.push(scope);
        let inner = self.expr(value);
        self.close_scope();
        self.push(value.span, Expr::ValueAlias(inner))
    }

    pub(super) fn expr(&mut self, expr: &ast::Expr) -> ExprId {
        stacker::maybe_grow(128 * 1024, 1024 * 1024, || self.expression(expr))
    }

    fn expression(&mut self, expr: &ast::Expr) -> ExprId {
        let span = expr.span;
        let compiled = match &expr.kind {
            ExprKind::Bad => {
                self.error(Code::Syntax, "this expression has no value", span);
                Expr::Bottom
            }
            ExprKind::Ident(name) => self.ident(name, span),
            ExprKind::Bottom => Expr::Bottom,
            ExprKind::Literal(kind, text) => self.literal(*kind, text, span),
            ExprKind::Interpolation(interpolation) => self.interpolation(interpolation, span),
            ExprKind::Struct(lit) => {
                let mut scope = Scope::structure(Default::default());
                self.declare(&mut scope, &lit.decls);
                self.scopes.push(scope);
                let body = self.struct_body(&lit.decls, span);
                self.close_scope();
                Expr::Struct(body)
            }
            ExprKind::List(lit) => self.list(lit),
            ExprKind::Ellipsis(_) => {
                self.error(Code::Syntax, "an ellipsis stands at the end of a list or struct", span);
                Expr::Bottom
            }
            ExprKind::Unary(op, operand) => {
                if let UnaryOp::Plus | UnaryOp::Minus | UnaryOp::Not = op {
                    let operand = self.expr(operand);
                    return self.push(span, Expr::Unary(*op, operand));
                }
                let operand = self.expr(operand);
                match op {
                    UnaryOp::Default => {
                        self.error(Code::Syntax, "preference mark not allowed at this position", span);
                        Expr::Bottom
                    }
                    _ => Expr::Bound(*op, operand),
                }
            }
            ExprKind::Binary(op, _, left, right) => self.binary(*op, left, right, expr),
            ExprKind::Paren(inner) => return self.expr(inner),
            ExprKind::Selector(base, label) => return self.selector(base, label, span),
            ExprKind::Index(base, index) => {
                let base = self.expr(base);
                let index = self.expr(index);
                Expr::Index(base, index)
            }
            ExprKind::Slice(base, low, high) => {
                let base = self.expr(base);
                let low = low.as_ref().map(|e| self.expr(e));
                let high = high.as_ref().map(|e| self.expr(e));
                Expr::Slice(base, low, high)
            }
            ExprKind::Call(callee, arguments) => self.call(callee, arguments),
            ExprKind::Alias(name, value) => return self.aliased(&name.name, name.span, value),
            ExprKind::Open(inner) => Expr::Open(self.expr(inner)),
            ExprKind::Try(inner) => Expr::Try(self.expr(inner)),
            ExprKind::Comprehension(comprehension) => self.comprehension(comprehension),
        };
        self.push(span, compiled)
    }

    /// The expressions in square brackets that the grammar allows and no label can match.
    fn check_pattern(&mut self, pattern: &ast::Expr) {
        let what = match &pattern.kind {
            ExprKind::Ellipsis(_) => "an ellipsis",
            ExprKind::Comprehension(_) => "a comprehension",
            _ => return,
        };
        self.error(Code::Syntax, format!("{what} is no pattern for labels"), pattern.span);
    }

    fn literal(&mut self, kind: LiteralKind, text: &str, span: Span) -> Expr {
        match kind {
            LiteralKind::Null => Expr::Atom(Atom::Null),
            LiteralKind::Bool => Expr::Atom(Atom::Bool(text == "true")),
            LiteralKind::Int | LiteralKind::Float => match literal::parse_number(text) {
                Ok(number) => Expr::Atom(Atom::Number { value: number.value, is_float: number.is_float }),
                Err(error) => {
                    self.error(Code::Syntax, error.message, span);
                    Expr::Bottom
                }
            },
            LiteralKind::String | LiteralKind::Bytes => match literal::unquote(text) {
                Ok((literal::QuoteKind::String, bytes)) => {
                    Expr::Atom(Atom::String(Arc::from(String::from_utf8_lossy(&bytes).as_ref())))
                }
                Ok((literal::QuoteKind::Bytes, bytes)) => {
                    Expr::Atom(Atom::Bytes(Arc::from(bytes.as_slice())))
                }
                Err(error) => {
                    self.error(Code::Syntax, error.message, span);
                    Expr::Bottom
                }
            },
        }
    }

    fn interpolation(&mut self, interpolation: &ast::Interpolation, span: Span) -> Expr {
        let Some((quotes, _)) = literal::Quotes::opening(&format!("{}  ", interpolation.open)) else {
            return Expr::Bottom;
        };
        let quotes =
            literal::Quotes { multiline: interpolation.close.trim_end_matches('#').len() == 3, ..quotes };
        let mut segments = Vec::new();
        let mut exprs = Vec::new();
        for part in &interpolation.parts {
            match part {
                InterpolationPart::Text(_, text) => segments.push(text.as_str()),
                InterpolationPart::Expr(expr) => exprs.push(self.expr(expr)),
            }
        }
        match literal::unquote_segments(quotes, &segments) {
            Ok(texts) => Expr::Interpolation {
                bytes: quotes.kind == literal::QuoteKind::Bytes,
                texts: texts.into_iter().map(Arc::from).collect(),
                exprs,
            },
            Err(error) => {
                self.error(Code::Syntax, error.message, span);
                Expr::Bottom
            }
        }
    }

    fn list(&mut self, lit: &ast::ListLit) -> Expr {
        let mut list = List { elements: Vec::new(), comprehensions: false, ellipsis: None };
        for element in &lit.elements {
            match &element.kind {
                ExprKind::Ellipsis(inner) => list.ellipsis = Some(inner.as_ref().map(|e| self.expr(e))),
                ExprKind::Alias(name, _) => {
                    self.error(Code::Syntax, "an alias stands before the value of a field", name.span);
                }
                ExprKind::Comprehension(_) => {
                    list.comprehensions = true;
                    list.elements.push(self.expr(element));
                }
                _ => list.elements.push(self.expr(element)),
            }
        }
        Expr::List(list)
    }

    fn binary(&mut self, op: BinaryOp, left: &ast::Expr, right: &ast::Expr, whole: &ast::Expr) -> Expr {
        match op {
            BinaryOp::Or => {
                let mut disjuncts = Vec::new();
                self.disjuncts(whole, &mut disjuncts);
                return Expr::Or(disjuncts);
            }
            BinaryOp::And => {
                let (left, right) = (self.expr(left), self.expr(right));
                return Expr::And(left, right);
            }
            BinaryOp::Equal | BinaryOp::NotEqual => {
                let negated = op == BinaryOp::NotEqual;
                if is_bottom(right) {
                    return Expr::IsBottom { negated, operand: self.operand(left) };
                }
                if is_bottom(left) {
                    return Expr::IsBottom { negated, operand: self.operand(right) };
                }
            }
            _ => {}
        }
        let (left, right) = (self.operand(left), self.operand(right));
        Expr::Binary(op, left, right)
    }

    fn disjuncts(&mut self, expr: &ast::Expr, out: &mut Vec<(bool, ExprId)>) {
        match &expr.kind {
            ExprKind::Binary(BinaryOp::Or, _, left, right) => {
                self.disjuncts(left, out);
                self.disjuncts(right, out);
            }
            ExprKind::Unary(UnaryOp::Default, inner) => out.push((true, self.expr(inner))),
            _ => out.push((false, self.expr(expr))),
        }
    }

    fn selector(&mut self, base: &ast::Expr, label: &ast::Label, span: Span) -> ExprId {
        let (label_id, name) = match &label.kind {
            LabelKind::Ident(name) => (self.ident_label(name), Some(name.as_str())),
            LabelKind::String(text) => (self.string_label(text), None),
            _ => (Label::NONE, None),
        };
        if let (ExprKind::Ident(package), Some(name)) = (&base.kind, name) {
            let shadowed = self.scopes.iter().any(|s| s.names_contain(package));
            if !shadowed && let Some(import) = self.imports.get_mut(package) {
                import.used = true;
                if let Some(Imported::Builtin(found)) = import.target {
                    if let Some(function) = found.function(name) {
                        return self.push(span, Expr::Function(Callee::Package(function)));
                    }
                    let known = found.constants.iter().any(|(n, _)| *n == name);
                    let id = self.builtin_package(found);
                    if !known && !found.declarations.lines().any(|l| l.trim_start().starts_with(name)) {
                        let text = format!("package {:?} has no {name}", found.path);
                        let members = found.functions.iter().map(|f| f.name);
                        let hint = nearest::did_you_mean(name, members);
                        self.diagnostics
                            .push(Diagnostic::new(Code::Import, text, label.span).with_hint(hint));
                    }
                    let base = self.push(base.span, Expr::Package(id));
                    return self.push(span, Expr::Selector(base, label_id));
                }
            }
        }
        let base = self.expr(base);
        self.push(span, Expr::Selector(base, label_id))
    }

    fn call(&mut self, callee: &ast::Expr, arguments: &[ast::Expr]) -> Expr {
        let id = self.expr(callee);
        let arguments = arguments.iter().map(|a| self.expr(a)).collect();
        match self.chunk.exprs.get(id.index()) {
            Some(Expr::Function(callee)) => Expr::Call(*callee, arguments),
            _ => Expr::Call(Callee::Builtin(Builtin::NoFunction), vec![id]),
        }
    }
}

fn is_bottom(expr: &ast::Expr) -> bool {
    match &expr.kind {
        ExprKind::Bottom => true,
        ExprKind::Paren(inner) => is_bottom(inner),
        _ => false,
    }
}
