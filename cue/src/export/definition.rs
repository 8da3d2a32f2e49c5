//! The files of a package in; one file with the declarations of all of them, constraints and references kept, out.
//!
//! The export evaluates nothing: it writes the content of the files once more in one layout, with the comments that
//! document fields.

use crate::{
    ast::{
        CommentGroup, CommentPlace, Decl, DeclKind, Expr, ExprKind, File, Import, ImportSpec, Label,
        LabelKind, Package,
        visit::{Visitor, walk_clause, walk_decl, walk_expr, walk_file},
    },
    source::Span,
};

/// All declarations in one file; None where names of one file would mean something else in another.
pub fn consolidated(files: &[File]) -> Option<File> {
    let mut names: Vec<(String, usize)> = Vec::new();
    let mut specs: Vec<ImportSpec> = Vec::new();
    let (mut attributes, mut decls) = (Vec::new(), Vec::new());
    for (index, file) in files.iter().enumerate() {
        for decl in &file.decls {
            match &decl.kind {
                DeclKind::Import(import) => specs.extend(import.specs.iter().cloned()),
                DeclKind::Let(binding) => names.push((binding.name.name.clone(), index)),
                DeclKind::Field(field) => names.extend(field.alias.iter().map(|a| (a.name.clone(), index))),
                _ => {}
            }
            match &decl.kind {
                DeclKind::Import(_) => {}
                DeclKind::Attribute(_) => attributes.push(decl.clone()),
                _ => decls.push(decl.clone()),
            }
        }
    }
    let fields = files.iter().enumerate().flat_map(|(index, file)| {
        file.decls.iter().filter_map(move |decl| Some((field_name(decl)?.to_owned(), index)))
    });
    let fields: Vec<(String, usize)> = fields.collect();
    let taken = |name: &str, file: usize| {
        names.iter().chain(&fields).any(|(other, index)| other == name && *index != file)
    };
    if files.len() > 1 && names.iter().any(|(name, file)| taken(name, *file)) {
        return None;
    }
    let mut known: Vec<ImportSpec> = Vec::new();
    for spec in specs {
        let same = |other: &ImportSpec| {
            let name = |spec: &ImportSpec| spec.name.as_ref().map(|name| name.name.clone());
            other.path == spec.path && name(other) == name(&spec)
        };
        if !known.iter().any(same) {
            known.push(spec);
        }
    }
    let mut all = Vec::new();
    if !known.is_empty() {
        let import = Import { parenthesized: known.len() > 1, specs: known, close: Span::NONE };
        all.push(made(DeclKind::Import(import)));
    }
    all.extend(attributes);
    in_order(&mut decls);
    let position = 0;
    all.extend(decls);
    let package = files.iter().find_map(|file| file.package.as_ref()).map(|package| Package {
        span: Span::NONE,
        position,
        comments: documents(&package.comments),
        name: package.name.clone(),
    });
    let mut file = File { package, decls: all, ..File::default() };
    walk_file(&mut Documents, &mut file);
    Some(file)
}

/// Attributes of a struct stand first, then what it names for itself.
fn in_order(decls: &mut [Decl]) {
    decls.sort_by_key(|decl| match decl.kind {
        DeclKind::Attribute(_) => 0,
        DeclKind::Let(_) => 1,
        _ => 2,
    });
}

fn made(kind: DeclKind) -> Decl {
    Decl { span: Span::NONE, kind, comments: Vec::new(), blank_before: false }
}

fn field_name(decl: &Decl) -> Option<&str> {
    match &decl.kind {
        DeclKind::Field(field) => match &field.label {
            Label { kind: LabelKind::Ident(name), .. } => Some(name),
            _ => None,
        },
        _ => None,
    }
}

/// The groups that document what they stand above.
fn documents(groups: &[CommentGroup]) -> Vec<CommentGroup> {
    let mut kept: Vec<CommentGroup> =
        groups.iter().filter(|group| group.place == CommentPlace::Doc).cloned().collect();
    for line in kept.iter_mut().flat_map(|group| &mut group.lines) {
        line.span = Span::NONE;
    }
    kept
}

/// Keeps the comments that document declarations and no others.
struct Documents;

impl Visitor for Documents {
    fn decl(&mut self, decl: &mut Decl) {
        if matches!(decl.kind, DeclKind::Field(_)) {
            decl.comments = documents(&decl.comments);
        } else {
            decl.comments.clear();
        }
        if let DeclKind::Import(import) = &mut decl.kind {
            import.specs.iter_mut().for_each(|spec| spec.comments.clear());
        }
        walk_decl(self, decl);
    }

    fn expr(&mut self, expr: &mut Expr) {
        expr.comments.clear();
        match &mut expr.kind {
            ExprKind::Struct(literal) => {
                literal.comments.clear();
                in_order(&mut literal.decls);
            }
            ExprKind::List(literal) => literal.comments.clear(),
            _ => {}
        }
        walk_expr(self, expr);
    }

    fn clause(&mut self, clause: &mut crate::ast::Clause) {
        clause.comments.clear();
        walk_clause(self, clause);
    }
}
