//! Syntax trees in; expressions with every name resolved out. Done once per template.

pub(crate) mod addition;
mod comprehension;
pub(crate) mod data;
mod expr;
mod externs;
pub(crate) mod markers;
mod names;
mod operand;
mod predeclared;
mod scope;

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::{
    ast, data_file,
    diagnostic::{Code, Diagnostic, Diagnostics},
    ir::{Chunk, Expr, ExprId, FieldNotes, Interner, Label, Package, Program},
    literal, packages, parser,
    provider::Provider,
    source::{Source, Sources, Span},
};
use scope::{Name, Scope};

/// Compiles the files of one package, with the packages they may import.
pub(crate) fn compile(sources: &[Source], providers: &[&dyn Provider]) -> Result<Program, Diagnostics> {
    let mut all = Sources::default();
    let mut diagnostics = Vec::new();
    let files: Vec<ast::File> = sources
        .iter()
        .map(|source| {
            let (file, mistakes) = data_file::parse(source, all.add(source.clone()));
            diagnostics.extend(mistakes);
            file
        })
        .collect();
    if !diagnostics.is_empty() {
        return Err(Diagnostics::new(diagnostics, all));
    }
    compile_files(&files, providers, all)
}

/// Compiles trees that were parsed, or made, before.
pub(crate) fn compile_files(
    files: &[ast::File],
    providers: &[&dyn Provider],
    sources: Sources,
) -> Result<Program, Diagnostics> {
    let mut compiler = Compiler::new(providers, sources);
    let root = compiler.package(String::new(), files);
    compiler.packages[0].files = root;
    compiler.finish()
}

pub(crate) struct Compiler<'a> {
    chunk: Chunk,
    /// The id of the chunk's first expression.
    base: u32,
    labels: Interner,
    lets: Vec<ExprId>,
    packages: Vec<Package>,
    package_ids: FxHashMap<String, u32>,
    notes: FxHashMap<ExprId, FieldNotes>,
    labels_of_values: FxHashMap<ExprId, Span>,
    /// Comments on their way to the last field of a chain `a: b: c`.
    carried: FieldNotes,
    /// Computed labels that were compiled before their fields, by place.
    computed_labels: FxHashMap<Span, ExprId>,
    sources: Sources,
    providers: &'a [&'a dyn Provider],
    scopes: Vec<Scope>,
    imports: FxHashMap<String, Import>,
    /// Suffix that keeps the hidden fields of packages apart.
    hidden_suffix: String,
    experiments: Vec<String>,
    diagnostics: Vec<Diagnostic>,
}

struct Import {
    target: Option<Imported>,
    span: Span,
    used: bool,
}

#[derive(Clone, Copy)]
enum Imported {
    Builtin(&'static packages::Package),
    Package(u32),
}

impl<'a> Compiler<'a> {
    fn new(providers: &'a [&'a dyn Provider], sources: Sources) -> Self {
        Self {
            chunk: Chunk::default(),
            base: 0,
            labels: Interner::default(),
            lets: Vec::new(),
            packages: vec![Package { files: Vec::new() }],
            package_ids: FxHashMap::default(),
            notes: FxHashMap::default(),
            labels_of_values: FxHashMap::default(),
            carried: FieldNotes::default(),
            computed_labels: FxHashMap::default(),
            sources,
            providers,
            scopes: Vec::new(),
            imports: FxHashMap::default(),
            hidden_suffix: String::new(),
            experiments: Vec::new(),
            diagnostics: Vec::new(),
        }
    }

    fn finish(self) -> Result<Program, Diagnostics> {
        if !self.diagnostics.is_empty() {
            let mut diagnostics = self.diagnostics;
            diagnostics.sort_by_key(|d| (d.span().file, d.span().start));
            return Err(Diagnostics::new(diagnostics, self.sources));
        }
        Ok(Program {
            chunk: Arc::new(self.chunk),
            labels: self.labels,
            lets: self.lets,
            packages: self.packages,
            notes: self.notes,
            labels_of_values: self.labels_of_values,
            sources: self.sources,
        })
    }

    pub(super) fn push(&mut self, span: Span, expr: Expr) -> ExprId {
        let id = ExprId(self.base + self.chunk.exprs.len() as u32);
        if id.chunk() != ExprId(self.base).chunk() {
            self.error(Code::Budget, "the template has too many expressions", span);
            return ExprId(self.base);
        }
        self.chunk.exprs.push(expr);
        self.chunk.spans.push(span);
        id
    }

    pub(super) fn error(&mut self, code: Code, message: impl Into<String>, span: Span) {
        self.diagnostics.push(Diagnostic::new(code, message, span));
    }

    /// Compiles the files of a package; each becomes a struct that shares the package's level.
    fn package(&mut self, path: String, files: &[ast::File]) -> Vec<ExprId> {
        self.one_name(files);
        let mut names = FxHashMap::default();
        self.hidden_suffix = if path.is_empty() { String::new() } else { format!("\u{0}{path}") };
        for file in files {
            for decl in &file.decls {
                if let ast::DeclKind::Field(ast::Field {
                    label: ast::Label { kind: ast::LabelKind::Ident(name), .. },
                    ..
                }) = &decl.kind
                {
                    let label = self.ident_label(name);
                    names.insert(name.clone(), Name::Field(label));
                }
            }
        }
        let mut out = Vec::new();
        for file in files {
            self.imports = FxHashMap::default();
            self.experiments = experiments(file);
            self.externs(file);
            self.file_imports(file);
            let span = Span::new(file.id, 0, 0);
            let mut scope = Scope::structure(names.clone());
            self.declare(&mut scope, &file.decls);
            self.scopes.push(scope);
            let body = self.struct_body(&file.decls, span);
            self.close_scope();
            let id = self.push(span, Expr::Struct(body));
            out.push(id);
            self.unused_imports();
        }
        out
    }

    /// Files are of one package when their clauses name one; `_` and no clause at all fit every name.
    fn one_name(&mut self, files: &[ast::File]) {
        let clauses = files.iter().filter_map(|file| file.package.as_ref());
        let mut named = clauses.map(|clause| &clause.name).filter(|name| name.name != "_");
        let Some(first) = named.next() else { return };
        if let Some(other) = named.find(|other| other.name != first.name) {
            let file = |span: Span| self.sources.get(span.file).map_or("", |source| source.name.as_str());
            let message = format!(
                "found packages {:?} ({}) and {:?} ({})",
                first.name,
                file(first.span),
                other.name,
                file(other.span)
            );
            self.error(Code::Import, message, other.span);
        }
    }

    fn unused_imports(&mut self) {
        let unused: Vec<(String, Span)> = self
            .imports
            .iter()
            .filter(|(_, import)| !import.used && import.target.is_some())
            .map(|(name, import)| (name.clone(), import.span))
            .collect();
        for (name, span) in unused {
            self.error(Code::Unused, format!("imported and not used: {name:?}"), span);
        }
    }

    fn file_imports(&mut self, file: &ast::File) {
        for decl in &file.decls {
            let ast::DeclKind::Import(import) = &decl.kind else { continue };
            for spec in &import.specs {
                let (path, explicit) = match spec.path.split_once(':') {
                    Some((path, name)) => (path, Some(name)),
                    None => (spec.path.as_str(), None),
                };
                let last = path.rsplit('/').next().unwrap_or(path);
                let last = last.split('@').next().unwrap_or(last);
                let name =
                    spec.name.as_ref().map_or(explicit.unwrap_or(last), |n| n.name.as_str()).to_owned();
                let target = if let Some(package) = packages::lookup(path) {
                    Some(Imported::Builtin(package))
                } else if let Some(id) = self.import_package(&spec.path, spec.span) {
                    Some(Imported::Package(id))
                } else {
                    self.unknown_package(&spec.path, spec.span);
                    None
                };
                if self.imports.contains_key(&name) {
                    self.error(Code::Redeclared, format!("{name} is imported twice in this file"), spec.span);
                }
                self.imports.insert(name, Import { target, span: spec.span, used: false });
            }
        }
    }

    fn import_package(&mut self, path: &str, span: Span) -> Option<u32> {
        if let Some(id) = self.package_ids.get(path).copied() {
            if self.packages[id as usize].files.is_empty() {
                self.error(Code::Import, format!("package {path:?} imports itself through others"), span);
            }
            return Some(id);
        }
        let provider = self.providers.iter().find(|p| p.path() == path)?;
        let mut files = Vec::new();
        for source in provider.sources() {
            let (file, mistakes) = parser::parse(&source, self.sources.add(source.clone()));
            self.diagnostics.extend(mistakes);
            files.push(file);
        }
        if files.is_empty() {
            return None;
        }
        let id = self.packages.len() as u32;
        self.packages.push(Package { files: Vec::new() });
        self.package_ids.insert(path.to_owned(), id);
        self.compile_apart(id, path, &files);
        Some(id)
    }

    fn unknown_package(&mut self, path: &str, span: Span) {
        if path.starts_with("./") || path.starts_with("../") {
            let hint = "write the path of the module before it, as in \"example.com/module/package\"";
            let message = format!("relative import paths are not allowed ({path:?})");
            self.diagnostics.push(Diagnostic::new(Code::Import, message, span).with_hint(Some(hint.into())));
            return;
        }
        let mut diagnostic = Diagnostic::new(Code::Import, format!("package {path:?} is not known"), span);
        let mut known: Vec<&str> = packages::paths().collect();
        known.extend(self.providers.iter().map(|p| p.path()));
        known.sort_unstable();
        let near = crate::nearest::did_you_mean(path, known.iter().copied());
        let near = near.map(|text| text + " ").unwrap_or_default();
        diagnostic.hint = Some(match packages::feature_of(path) {
            Some(feature) => {
                format!("this program was built without the feature {feature:?} of vela-cue, which brings it")
            }
            None => format!("{near}known packages: {}", known.join(", ")),
        });
        self.diagnostics.push(diagnostic);
    }

    /// The CUE declarations and constants of a builtin package.
    pub(super) fn builtin_package(&mut self, package: &'static packages::Package) -> u32 {
        if let Some(id) = self.package_ids.get(package.path) {
            return *id;
        }
        let mut text = String::from(package.declarations);
        for (name, value) in package.constants {
            text.push_str(&format!("\n{name}: {value}"));
        }
        let source = Source::new(package.path, text);
        let file_id = self.sources.add(source.clone());
        let (file, mistakes) = parser::parse(&source, file_id);
        self.diagnostics.extend(mistakes);
        let id = self.packages.len() as u32;
        self.packages.push(Package { files: Vec::new() });
        self.package_ids.insert(package.path.to_owned(), id);
        self.compile_apart(id, package.path, &[file]);
        id
    }

    /// Compiles a package while another one is half done.
    fn compile_apart(&mut self, id: u32, path: &str, files: &[ast::File]) {
        let scopes = std::mem::take(&mut self.scopes);
        let imports = std::mem::take(&mut self.imports);
        let suffix = std::mem::take(&mut self.hidden_suffix);
        let experiments = std::mem::take(&mut self.experiments);
        self.packages[id as usize].files = self.package(path.to_owned(), files);
        self.scopes = scopes;
        self.imports = imports;
        self.hidden_suffix = suffix;
        self.experiments = experiments;
    }

    pub(super) fn ident_label(&mut self, name: &str) -> Label {
        if name.starts_with('_') && name != "_" {
            let full = format!("{name}{}", self.hidden_suffix);
            Label::hidden(self.labels.intern(&full))
        } else if name.starts_with('#') {
            Label::definition(self.labels.intern(name))
        } else {
            Label::regular(self.labels.intern(name))
        }
    }

    pub(super) fn string_label(&mut self, text: &str) -> Label {
        match literal::unquote(text) {
            Ok((_, bytes)) => Label::regular(self.labels.intern(&String::from_utf8_lossy(&bytes))),
            Err(_) => Label::regular(self.labels.intern(text)),
        }
    }
}

fn experiments(file: &ast::File) -> Vec<String> {
    let mut out = Vec::new();
    for decl in &file.decls {
        if let ast::DeclKind::Attribute(attribute) = &decl.kind
            && let Some(body) = attribute.text.strip_prefix("@experiment(").and_then(|t| t.strip_suffix(')'))
        {
            out.extend(body.split(',').map(|n| n.trim().to_owned()));
        }
    }
    out
}
