//! A syntax tree in, the same tree written shorter out: needless braces, quotes of labels and patterns taken away.

use std::collections::BTreeMap;

use crate::{
    ast::{
        Decl, DeclKind, Expr, ExprKind, Field, File, Label, LabelKind, StructLit,
        visit::{Visitor, walk_decl, walk_expr, walk_file},
    },
    literal,
    source::Span,
};

/// Writes the file shorter without changing its meaning.
pub(super) fn simplify(file: &mut File) {
    let mut labels = Labels::default();
    labels.struct_decls(&mut file.decls);
    ellipsis_last(&mut file.decls);
    walk_file(&mut Braces, file);
}

/// Takes the quotes off labels to whose names nothing refers.
#[derive(Default)]
struct Labels {
    /// Names of each enclosing struct, and whether the name can stand without quotes.
    scopes: Vec<BTreeMap<String, bool>>,
}

impl Labels {
    fn struct_decls(&mut self, decls: &mut [Decl]) {
        let names = decls.iter().filter_map(|decl| match &decl.kind {
            DeclKind::Field(field) => unquoted(&field.label).map(|name| (name, true)),
            _ => None,
        });
        self.scopes.push(names.collect());
        for decl in decls.iter_mut() {
            match &mut decl.kind {
                // A label refers to nothing.
                DeclKind::Field(field) => self.expr(&mut field.value),
                _ => walk_decl(self, decl),
            }
        }
        let names = self.scopes.pop().unwrap_or_default();
        for decl in decls {
            if let DeclKind::Field(Field { label, .. }) = &mut decl.kind
                && let LabelKind::String(_) = &label.kind
                && let Some(name) = unquoted(label)
                && names.get(&name) == Some(&true)
            {
                label.kind = LabelKind::Ident(name);
            }
        }
    }
}

/// The name of a label that is or could be an identifier.
fn unquoted(label: &Label) -> Option<String> {
    match &label.kind {
        LabelKind::Ident(name) => Some(name.clone()),
        LabelKind::String(text) if text.starts_with('"') => {
            let (_, bytes) = literal::unquote(text).ok()?;
            let name = String::from_utf8(bytes).ok()?;
            (literal::is_identifier(&name) && !name.starts_with(['#', '_'])).then_some(name)
        }
        _ => None,
    }
}

impl Visitor for Labels {
    fn label(&mut self, _: &mut Label) {}

    fn expr(&mut self, expr: &mut Expr) {
        match &mut expr.kind {
            ExprKind::Ident(name) => {
                let scope = self.scopes.iter_mut().rev().find_map(|scope| scope.get_mut(name.as_str()));
                if let Some(free) = scope {
                    *free = false;
                }
            }
            ExprKind::Struct(literal) => {
                stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.struct_decls(&mut literal.decls));
            }
            _ => walk_expr(self, expr),
        }
    }
}

/// Takes the braces off structs of one field: `a: {b: 1}` becomes `a: b: 1`.
struct Braces;

impl Visitor for Braces {
    fn decl(&mut self, decl: &mut Decl) {
        walk_decl(self, decl);
        let commented = !decl.comments.is_empty();
        let DeclKind::Field(field) = &mut decl.kind else { return };
        let definition = matches!(&field.label.kind, LabelKind::Ident(name) if name.starts_with(['#', '_']));
        let ExprKind::Struct(literal) = &mut field.value.kind else { return };
        let [Decl { kind: DeclKind::Field(inner), comments, .. }] = &mut literal.decls[..] else { return };
        if !definition
            // A generated struct has no braces of its own.
            && (!commented || literal.close.is_none())
            && comments.is_empty()
            && literal.comments.is_empty()
            && field.attributes.is_empty()
            && inner.attributes.is_empty()
        {
            literal.braces = false;
            // The field goes on in the line of its struct.
            inner.label.span = Span::NONE;
        }
    }

    fn expr(&mut self, expr: &mut Expr) {
        if let ExprKind::Struct(StructLit { decls, .. }) = &mut expr.kind {
            ellipsis_last(decls);
        }
        walk_expr(self, expr);
    }
}

/// `[string]: _` is `...`, which stands last.
fn ellipsis_last(decls: &mut Vec<Decl>) {
    let Some(at) = decls.iter().rposition(is_ellipsis) else { return };
    let mut last = decls.remove(at);
    last.kind = DeclKind::Ellipsis(None);
    last.span = Span::NONE;
    decls.retain(|decl| !is_ellipsis(decl));
    decls.push(last);
}

fn is_ellipsis(decl: &Decl) -> bool {
    match &decl.kind {
        DeclKind::Ellipsis(None) => true,
        DeclKind::Field(Field {
            label: Label { kind: LabelKind::Pattern { alias: None, expr }, .. },
            value,
            ..
        }) => {
            let is = |expr: &Expr, names: &[&str]| matches!(&expr.kind, ExprKind::Ident(name) if names.contains(&name.as_str()));
            is(expr, &["string", "_"]) && is(value, &["_"])
        }
        _ => false,
    }
}
