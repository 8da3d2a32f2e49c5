//! Files, imports and the declarations of structs.

use super::spacing::{Printer, Relation, Wish};
use crate::ast::{
    CommentPlace, Constraint, Decl, DeclKind, Expr, ExprKind, Field, File, Import, ImportSpec, Label,
    LabelKind, Let, StructLit,
};
use crate::literal;

const BEFORE: &[CommentPlace] = &[CommentPlace::Above, CommentPlace::Doc];

impl Printer<'_> {
    pub(super) fn file(&mut self, file: &File) {
        let mut before_package = &file.decls[..];
        if let Some(package) = &file.package {
            let (attributes, rest) = file.decls.split_at(package.position.min(file.decls.len()));
            self.decls(attributes, false);
            if !attributes.is_empty() {
                self.wish(Wish::SEPARATOR);
            }
            self.lead(&package.comments);
            self.at(package.span);
            self.literal("package", false);
            self.wish(Wish::BLANK);
            self.literal(&package.name.name, false);
            self.wish(Wish::SECTION);
            if package.comments.iter().any(|c| c.place == CommentPlace::Line) {
                self.comments(&package.comments, &[CommentPlace::Line]);
                self.wish(Wish::SECTION);
            }
            self.wish(Wish::FIXED);
            before_package = rest;
        }
        self.decls(before_package, !file.comments.is_empty());
        self.closing(&file.comments, before_package);
        self.end();
    }

    /// Comments above a declaration: those parted from it by an empty line keep that line.
    fn lead(&mut self, groups: &[crate::ast::CommentGroup]) {
        for group in groups.iter().filter(|g| BEFORE.contains(&g.place)) {
            self.comment(group);
            if group.place == CommentPlace::Above {
                self.wish(Wish::SECTION);
            }
        }
    }

    /// Comments behind the last declaration: they belong to it, an empty line parts groups of one declaration.
    pub(super) fn closing(&mut self, groups: &[crate::ast::CommentGroup], decls: &[Decl]) {
        for (index, group) in groups.iter().enumerate() {
            let follows = index > 0 || decls.last().is_some_and(has_line_comment);
            let parted = group.place == CommentPlace::Inside;
            if parted && (follows || (group.blank_before && !decls.is_empty())) {
                self.wish(Wish::SECTION);
            }
            self.comment(group);
        }
    }

    /// Comments parted from what follows by an empty line; `follows` says whether they stand behind another comment.
    fn above(&mut self, groups: &[crate::ast::CommentGroup], mut follows: bool) {
        for group in groups.iter().filter(|group| group.place == CommentPlace::Above) {
            if follows {
                self.wish(Wish::SECTION);
            }
            self.comment(group);
            follows = true;
        }
    }

    /// `followed` says whether comments stand behind the last declaration.
    pub(super) fn decls(&mut self, decls: &[Decl], followed: bool) {
        let mut previous_depth = 0;
        for (index, decl) in decls.iter().enumerate() {
            if index > 0 {
                self.wish(Wish::SEPARATOR);
                let depth = field_of(decl).map_or(0, nesting);
                if !self.one_line && (previous_depth == 0 || depth != previous_depth) {
                    self.wish(Wish::FEED);
                }
                let behind = match decls.get(index + 1) {
                    Some(next) => next.comments.iter().any(|g| g.place == CommentPlace::Above),
                    None => followed,
                };
                let owned = behind || decl.comments.iter().any(|g| g.place != CommentPlace::Above);
                let after_field = field_of(&decls[index - 1]).is_some_and(|f| !is_definition(&f.label));
                if owned && !after_field {
                    self.wish(Wish::SECTION);
                }
            } else {
                self.above(&decl.comments, false);
            }
            self.decl(decl);
            if let Some(next) = decls.get(index + 1) {
                self.above(&next.comments, has_line_comment(decl));
            }
            previous_depth = field_of(decl).map_or(0, nesting);
            let next_opens =
                decls.get(index + 1).and_then(field_of).is_some_and(|field| match &field.value.kind {
                    ExprKind::Struct(inner) => inner.braces || inner.decls.len() != 1,
                    ExprKind::List(_) => true,
                    _ => false,
                });
            self.wish(if next_opens { self.feed() } else { self.between() });
        }
    }

    fn decl(&mut self, decl: &Decl) {
        self.comments(&decl.comments, &[CommentPlace::Doc]);
        match &decl.kind {
            DeclKind::Field(field) => self.field(field),
            DeclKind::Embed(expr) => {
                let made = self.output.is_empty() && self.relation(decl.span) == Relation::Unknown;
                if self.unplaced_or_line(decl) && !made {
                    self.wish(Wish::FEED);
                }
                self.expr(expr);
            }
            DeclKind::Let(binding) => {
                if self.unplaced_or_line(decl) {
                    self.wish(Wish::FEED);
                }
                self.at(decl.span);
                self.symbol("let");
                self.wish(Wish::BLANK | Wish::FIXED);
                self.binding(binding);
                self.wish(Wish::SEPARATOR);
            }
            DeclKind::Alias(binding) => {
                if self.unplaced_or_line(decl) {
                    self.wish(Wish::FEED);
                }
                self.binding(binding);
                self.wish(Wish::SEPARATOR);
            }
            DeclKind::Ellipsis(element) => {
                self.at(decl.span);
                self.symbol("...");
                self.ellipsis_type(element.as_ref());
            }
            DeclKind::Attribute(attribute) => {
                self.at(attribute.span);
                self.literal(&attribute.text, false);
            }
            DeclKind::Import(import) => self.import(decl, import),
            DeclKind::Bad => {
                self.at(decl.span);
                self.symbol("_|_");
            }
        }
        self.comments(&decl.comments, &[CommentPlace::Line, CommentPlace::Inside]);
    }

    fn unplaced_or_line(&self, decl: &Decl) -> bool {
        matches!(self.relation(decl.span), Relation::Unknown | Relation::Newline | Relation::EmptyLine)
    }

    pub(super) fn binding(&mut self, binding: &Let) {
        self.at(binding.name.span);
        self.literal(&binding.name.name, false);
        self.wish(Wish::BLANK | Wish::FIXED);
        self.symbol("=");
        self.wish(Wish::BLANK);
        self.expr(&binding.value);
    }

    pub(super) fn ellipsis_type(&mut self, element: Option<&Expr>) {
        if let Some(element) = element
            && !matches!(&element.kind, ExprKind::Ident(name) if name == "_")
        {
            self.expr(element);
        }
    }

    fn field(&mut self, field: &Field) {
        if let Some(alias) = &field.alias {
            self.at(alias.span);
            self.literal(&alias.name, false);
            self.at(self.next_byte(alias.span, b'='));
            self.symbol("=");
        }
        self.label(&field.label);
        if let Some(alias) = &field.postfix_alias {
            let name = |n: &Option<crate::ast::Ident>| n.as_ref().map_or("_".to_string(), |n| n.name.clone());
            let text = if alias.pair {
                format!("~({},{})", name(&alias.key), name(&alias.value))
            } else {
                format!("~({})", name(&alias.value))
            };
            self.wish(Wish::NO_BLANK);
            self.literal(&text, false);
        }
        match field.constraint {
            Some(Constraint::Optional) => self.symbol("?"),
            Some(Constraint::Required) => self.symbol("!"),
            None => {}
        }
        self.wish(Wish::NO_BLANK | Wish::FIXED);
        self.symbol(":");
        if let Some((member, inner)) = inlined(field) {
            if self.starts_line(inner.label.span) {
                self.wish(Wish::INDENT | Wish::FEED);
                self.decl(member);
                // The level stays requested: the reference leaves the indentation, not the level, and what follows shows it.
                self.indent -= 1;
            } else {
                self.wish(Wish::BLANK | Wish::FIXED);
                self.decl(member);
            }
            return;
        }
        let opens = spans_lines(&field.value);
        let gap = if opens || self.brace_on_line { Wish::BLANK } else { Wish::COLUMN };
        self.wish(gap);
        if matches!(field.value.kind, ExprKind::List(_) | ExprKind::Struct(_)) {
            self.expr(&field.value);
        } else {
            self.wish(Wish::INDENT);
            self.expr(&field.value);
            self.unindent();
        }
        let mut space = gap;
        for attribute in &field.attributes {
            self.wish(space);
            self.at(attribute.span);
            self.literal(&attribute.text, false);
            space = Wish::BLANK;
        }
        if opens {
            self.wish(Wish::FEED);
        }
    }

    pub(super) fn label(&mut self, label: &Label) {
        match &label.kind {
            LabelKind::Ident(name) => {
                self.at(label.span);
                if literal::is_identifier(name) {
                    self.literal(name, false);
                } else {
                    self.literal(&literal::quote_string(name), false);
                }
            }
            LabelKind::String(text) => {
                self.at(label.span);
                let plain = (text.starts_with("\"\"\"") && text.len() > 5) || text.starts_with('#');
                match literal::unquote(text).ok().and_then(|(_, bytes)| String::from_utf8(bytes).ok()) {
                    Some(value) if plain => self.literal(&literal::quote_string(&value), false),
                    _ => self.literal(text, false),
                }
            }
            LabelKind::Interpolation(expr) => self.expr(expr),
            LabelKind::Dynamic(expr) => {
                self.at(label.span);
                self.symbol("(");
                self.expr(expr);
                self.symbol(")");
            }
            LabelKind::Pattern { alias, expr } => {
                self.at(label.span);
                self.symbol("[");
                self.wish(Wish::NO_BLANK | Wish::INDENT);
                if let Some(alias) = alias {
                    self.at(alias.span);
                    self.literal(&alias.name, false);
                    self.at(self.next_byte(alias.span, b'='));
                    self.symbol("=");
                }
                self.expr(expr);
                self.wish(Wish::NO_BLANK | Wish::UNINDENT);
                self.symbol("]");
            }
        }
    }

    fn import(&mut self, decl: &Decl, import: &Import) {
        self.at(decl.span);
        self.literal("import", false);
        if import.specs.is_empty() {
            self.wish(Wish::BLANK);
            self.symbol("(");
            self.symbol(")");
            self.wish(Wish::LINE);
        } else if let ([spec], false) = (&import.specs[..], import.parenthesized) {
            self.wish(Wish::BLANK);
            self.import_spec(spec);
        } else {
            self.wish(Wish::BLANK);
            self.symbol("(");
            self.wish(Wish::LINE | Wish::INDENT);
            for spec in &import.specs {
                self.import_spec(spec);
            }
            self.wish(Wish::UNINDENT | Wish::LINE);
            self.at(import.close);
            self.symbol(")");
            self.wish(Wish::LINE);
        }
        self.wish(Wish::SECTION | Wish::FIXED);
    }

    fn import_spec(&mut self, spec: &ImportSpec) {
        self.lead(&spec.comments);
        self.at(spec.span);
        if let Some(name) = &spec.name {
            self.literal(&name.name, false);
            self.wish(Wish::BLANK);
        }
        self.literal(&spec.text, false);
        self.wish(Wish::LINE);
        self.comments(&spec.comments, &[CommentPlace::Line]);
    }
}

fn has_line_comment(decl: &Decl) -> bool {
    decl.comments.iter().any(|group| group.place == CommentPlace::Line)
}

fn field_of(decl: &Decl) -> Option<&Field> {
    match &decl.kind {
        DeclKind::Field(field) => Some(field),
        _ => None,
    }
}

fn is_definition(label: &Label) -> bool {
    matches!(&label.kind, LabelKind::Ident(name) if name.starts_with('#') || name.starts_with("_#"))
}

/// How many labels stand in a row: `a: b: 1` has two.
fn nesting(field: &Field) -> usize {
    match &field.value.kind {
        ExprKind::Struct(StructLit { decls, .. }) => match &decls[..] {
            [only] => 1 + field_of(only).map_or(0, nesting),
            _ => 0,
        },
        _ => 1,
    }
}

/// The field of a struct written without braces.
fn inlined(field: &Field) -> Option<(&Decl, &Field)> {
    let ExprKind::Struct(StructLit { braces: false, decls, .. }) = &field.value.kind else { return None };
    let [member] = &decls[..] else { return None };
    let inner = field_of(member)?;
    let plain = field.attributes.is_empty() && inner.attributes.is_empty() && member.comments.is_empty();
    plain.then_some((member, inner))
}

/// Whether a value may take several lines, so that what follows it starts a new column.
pub(super) fn spans_lines(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Struct(_) | ExprKind::List(_) => true,
        ExprKind::Literal(_, text) => text.contains('\n'),
        ExprKind::Paren(x)
        | ExprKind::Unary(_, x)
        | ExprKind::Open(x)
        | ExprKind::Index(x, _)
        | ExprKind::Selector(x, _) => spans_lines(x),
        ExprKind::Binary(_, _, x, y) => spans_lines(x) || spans_lines(y),
        ExprKind::Call(_, arguments) => arguments.iter().any(spans_lines),
        _ => false,
    }
}
