//! A program under evaluation and more texts in; the program with those texts compiled into one more chunk out.

use super::{Compiler, Name, Scope};
use crate::{
    ast::{self, DeclKind},
    diagnostic::Diagnostics,
    ir::{self, Chunk, Expr, ExprId, Interner, Label, Program},
    parser,
    source::{Source, Span},
};

/// The result of an addition.
pub(crate) struct Addition {
    /// The program with the names, sources and packages of the texts; its own expressions are what they were.
    pub(crate) program: Program,
    /// The expressions of the texts.
    pub(crate) chunk: Chunk,
    /// Each text: its one expression, or a struct of its declarations.
    pub(crate) exprs: Vec<ExprId>,
}

/// Compiles texts whose names may also mean the fields in `outer`. `labels` are those of the program followed by those
/// of its evaluation, `number` is the number the new chunk will have.
pub(crate) fn compile(
    program: &Program,
    labels: Interner,
    number: usize,
    texts: &[Source],
    outer: Option<&[(String, Label)]>,
) -> Result<Addition, Diagnostics> {
    let mut compiler = Compiler::new(&[], program.sources.clone());
    compiler.labels = labels;
    compiler.base = (number as u32) << ir::INDEX_BITS;
    compiler.lets.clone_from(&program.lets);
    compiler.packages.clone_from(&program.packages);
    let mut exprs = Vec::new();
    for text in texts {
        let (file, mistakes) = parser::parse(text, compiler.sources.add(text.clone()));
        if mistakes.is_empty() {
            exprs.push(compiler.text(&file, outer));
        }
        compiler.diagnostics.extend(mistakes);
    }
    if !compiler.diagnostics.is_empty() {
        return Err(Diagnostics::new(compiler.diagnostics, compiler.sources));
    }
    let mut notes = program.notes.clone();
    notes.extend(compiler.notes);
    let mut labels_of_values = program.labels_of_values.clone();
    labels_of_values.extend(compiler.labels_of_values);
    let program = Program {
        chunk: program.chunk.clone(),
        labels: compiler.labels,
        lets: compiler.lets,
        packages: compiler.packages,
        notes,
        labels_of_values,
        sources: compiler.sources,
    };
    Ok(Addition { program, chunk: compiler.chunk, exprs })
}

impl Compiler<'_> {
    fn text(&mut self, file: &ast::File, outer: Option<&[(String, Label)]>) -> ExprId {
        self.imports = rustc_hash::FxHashMap::default();
        self.file_imports(file);
        if let Some(names) = outer {
            let fields = names.iter().map(|(name, label)| (name.clone(), Name::Field(*label)));
            self.scopes.push(Scope::structure(fields.collect()));
        }
        let mut decls = file.decls.iter().filter(|decl| !matches!(decl.kind, DeclKind::Import(_)));
        let id = match (decls.next().map(|decl| &decl.kind), decls.next()) {
            (Some(DeclKind::Embed(expr)), None) => self.expr(expr),
            _ => {
                let mut scope = Scope::of([]);
                scope.is_struct = true;
                self.declare(&mut scope, &file.decls);
                self.scopes.push(scope);
                let span = Span::new(file.id, 0, 0);
                let body = self.struct_body(&file.decls, span);
                self.close_scope();
                self.push(span, Expr::Struct(body))
            }
        };
        if outer.is_some() {
            self.close_scope();
        }
        self.unused_imports();
        id
    }
}
