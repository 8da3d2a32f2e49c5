//! A vertex in; the syntax of its evaluated value as commands print it out: defaults taken.
//!
//! An unknown value is printed as the expressions it comes from. The rest of the source is not kept: references are
//! resolved, patterns and closedness are left out.

use rustc_hash::FxHashMap;

use super::printing::{Printing, Shown, expr, joined};
use super::{Evaluation, Fault, Mark, Term, VertexId, print_scalar};
use crate::{
    ast::{self, BinaryOp, DeclKind, Expr as Syntax, ExprKind, LabelKind, UnaryOp, visit::Visitor},
    ir::{ArcKind, Atom, Expr, ExprId, Label},
    literal, parser,
    source::{FileId, Source, Span},
};

/// Deepest value that is printed; a recursive optional field has no end.
const MAX_DEPTH: usize = 200;

impl Evaluation {
    /// The declarations that print a value, with the imports they need.
    pub(crate) fn printed(&mut self, vertex: VertexId, shown: Shown) -> ast::File {
        self.finalize(vertex);
        let mut printing = Printing {
            evaluation: self,
            shown,
            stack: Vec::new(),
            imports: Vec::new(),
            known: FxHashMap::default(),
        };
        let value = printing.value(vertex);
        let mut decls = printing.import_decl();
        match value.kind {
            ExprKind::Struct(literal) => decls.extend(literal.decls),
            _ => decls.push(decl(DeclKind::Embed(value))),
        }
        ast::File { decls, ..ast::File::default() }
    }
}

fn decl(kind: DeclKind) -> ast::Decl {
    ast::Decl { span: Span::NONE, kind, comments: Vec::new(), blank_before: false }
}

impl Printing<'_> {
    fn import_decl(&mut self) -> Vec<ast::Decl> {
        let specs = std::mem::take(&mut self.imports);
        if specs.is_empty() {
            return Vec::new();
        }
        let import = ast::Import { parenthesized: specs.len() > 1, specs, close: Span::NONE };
        vec![decl(DeclKind::Import(import))]
    }

    pub(super) fn value(&mut self, vertex: VertexId) -> Syntax {
        if self.stack.len() >= MAX_DEPTH || self.stack.contains(&vertex) {
            return expr(ExprKind::Ident("_".into()));
        }
        self.stack.push(vertex);
        let printed = stacker::maybe_grow(128 * 1024, 1024 * 1024, || self.resolved(vertex));
        self.stack.pop();
        printed
    }

    fn resolved(&mut self, vertex: VertexId) -> Syntax {
        self.evaluation.process(vertex);
        let mut own = self.evaluation.deref(vertex);
        if self.shown.defaults
            && let Some(default) = self.evaluation.default_of(vertex)
        {
            own = default;
        }
        let v = self.evaluation.v(own);
        match &v.fault {
            Some(fault) if fault.is_fatal() => {
                let fault = fault.clone();
                return self.bottom(&fault);
            }
            Some(_) => {
                if let Some(written) = self.written(own) {
                    return written;
                }
            }
            None => {}
        }
        if let Some(disjuncts) = self.evaluation.v(own).disjuncts.clone() {
            return self.disjunction(disjuncts);
        }
        let v = self.evaluation.v(own);
        if v.kinds == crate::packages::Kinds::STRUCT && v.atom.is_none() {
            return self.structure(own, None);
        }
        let plain = if v.list.is_some() {
            self.list(own)
        } else if let Some(atom) = v.atom.clone() {
            self.atom(&atom)
        } else {
            print_scalar::constraints(self, own)
        };
        if self.has_shown_fields(own) { self.structure(own, Some(plain)) } else { plain }
    }

    fn bottom(&mut self, fault: &Fault) -> Syntax {
        let mut bottom = expr(ExprKind::Bottom);
        let text = format!("// {}", self.evaluation.message(fault));
        bottom.comments.push(ast::CommentGroup {
            place: ast::CommentPlace::Line,
            lines: vec![ast::Comment { span: Span::NONE, text }],
            blank_before: false,
        });
        bottom
    }

    fn disjunction(&mut self, disjuncts: Vec<(VertexId, Mark)>) -> Syntax {
        let (mut marked, mut others) = (Vec::new(), Vec::new());
        for (disjunct, mark) in disjuncts {
            let printed = self.value(disjunct);
            if mark == Mark::Default { marked.push(printed) } else { others.push(printed) }
        }
        if self.shown.defaults && !marked.is_empty() {
            others.clear();
        } else {
            let default = |operand| expr(ExprKind::Unary(UnaryOp::Default, Box::new(operand)));
            marked = marked.into_iter().map(default).collect();
        }
        joined(BinaryOp::Or, marked.into_iter().chain(others)).unwrap_or_else(|| expr(ExprKind::Bottom))
    }

    fn list(&mut self, own: VertexId) -> Syntax {
        let state = self.evaluation.v(own).list.as_ref();
        let open = state.is_some_and(|list| list.closed.is_none());
        let rest = state.and_then(|list| list.rest.first().map(|rest| rest.1));
        let elements = self.evaluation.elements_of(own);
        let mut elements: Vec<Syntax> = elements.into_iter().map(|element| self.element(element)).collect();
        if open && !self.shown.defaults {
            let kind = rest.map(|conjunct| {
                let made = self.evaluation.inline(conjunct, own);
                Box::new(self.value(made))
            });
            elements.push(expr(ExprKind::Ellipsis(kind)));
        }
        expr(ExprKind::List(ast::ListLit { elements, ..Default::default() }))
    }

    /// An element that is written as a literal stays as it is written.
    fn element(&mut self, element: VertexId) -> Syntax {
        let printed = self.value(element);
        let ExprKind::Literal(kind, _) = printed.kind else { return printed };
        let own = self.evaluation.deref(element);
        for conjunct in self.evaluation.v(own).conjuncts.iter().filter(|c| c.expr.as_value().is_none()) {
            let chunk = self.evaluation.chunk(conjunct.expr);
            if matches!(self.evaluation.expr(&chunk, conjunct.expr), Expr::Atom(_)) {
                let text = self.evaluation.program.sources.text(self.evaluation.span(conjunct.expr));
                if text.starts_with(|c: char| c.is_ascii_digit() || ".\"'#".contains(c)) {
                    return expr(ExprKind::Literal(kind, text.to_owned()));
                }
            }
        }
        printed
    }

    fn shows(&self, label: Label, kind: ArcKind) -> bool {
        label.as_index().is_none()
            && (!label.is_definition() || self.shown.definitions)
            && (!label.is_hidden() || self.shown.hidden)
            && (kind != ArcKind::Optional || self.shown.optional)
    }

    /// Whether definitions or hidden fields beside a scalar or list are printed.
    fn has_shown_fields(&self, own: VertexId) -> bool {
        let arcs = &self.evaluation.v(own).arcs;
        arcs.iter().any(|arc| !arc.label.is_regular() && self.shows(arc.label, arc.kind))
    }

    fn structure(&mut self, own: VertexId, embedded: Option<Syntax>) -> Syntax {
        let mut decls = Vec::new();
        let arcs = self.evaluation.v(own).arcs.to_list();
        for arc in &arcs {
            if self.shows(arc.label, arc.kind) && (embedded.is_none() || !arc.label.is_regular()) {
                decls.push(self.field(arc.label, arc.kind, arc.vertex));
            }
        }
        if let Some(embedded) = embedded {
            // As lists may be long, they stand at the end.
            let at = if matches!(embedded.kind, ExprKind::List(_)) { decls.len() } else { 0 };
            decls.insert(at, decl(DeclKind::Embed(embedded)));
        }
        expr(ExprKind::Struct(ast::StructLit { braces: true, decls, ..Default::default() }))
    }

    fn field(&mut self, label: Label, kind: ArcKind, vertex: VertexId) -> ast::Decl {
        let value = self.value(vertex);
        let notes = self.evaluation.notes(vertex);
        let mut attributes: Vec<ast::Attribute> = Vec::new();
        for text in notes.attributes.into_iter().filter(|_| self.shown.attributes) {
            if !attributes.iter().any(|known| known.text == text) {
                attributes.push(ast::Attribute { span: Span::NONE, text });
            }
        }
        let comment = |text| ast::Comment { span: Span::NONE, text };
        let docs = self.evaluation.docs(vertex).into_iter().filter(|_| self.shown.docs);
        let comments = docs.map(|(blank_before, lines)| ast::CommentGroup {
            place: ast::CommentPlace::Doc,
            lines: lines.into_iter().map(comment).collect(),
            blank_before,
        });
        let comments = comments.collect();
        let text = self.evaluation.label_text(label);
        let text = text.split('\u{0}').next().unwrap_or("");
        let plain = !label.is_regular() || (literal::is_identifier(text) && !text.starts_with(['#', '_']));
        let label = if plain {
            LabelKind::Ident(text.to_owned())
        } else {
            LabelKind::String(literal::quote_string(text))
        };
        let field = ast::Field {
            alias: None,
            label: ast::Label { span: Span::NONE, kind: label },
            postfix_alias: None,
            constraint: match kind {
                ArcKind::Member => None,
                ArcKind::Optional => Some(ast::Constraint::Optional),
                ArcKind::Required => Some(ast::Constraint::Required),
            },
            colon: Span::NONE,
            value,
            attributes,
        };
        ast::Decl { comments, ..decl(DeclKind::Field(field)) }
    }

    /// A scalar in its canonical form.
    fn atom(&self, atom: &Atom) -> Syntax {
        expr(match atom {
            Atom::String(text) => ExprKind::Literal(
                ast::LiteralKind::String,
                literal::quote_indented(literal::QuoteKind::String, text.as_bytes(), self.stack.len()),
            ),
            Atom::Bytes(bytes) => ExprKind::Literal(
                ast::LiteralKind::Bytes,
                literal::quote_indented(literal::QuoteKind::Bytes, bytes, self.stack.len()),
            ),
            other => self.evaluation.atom_syntax(other),
        })
    }

    /// The expressions a value comes from, as they are written.
    fn written(&mut self, own: VertexId) -> Option<Syntax> {
        let mut conjuncts: Vec<ExprId> = Vec::new();
        for conjunct in &self.evaluation.v(own).conjuncts {
            if !conjuncts.contains(&conjunct.expr) {
                conjuncts.push(conjunct.expr);
            }
        }
        conjuncts.sort_by_key(|id| {
            let span = if id.as_value().is_some() { Span::NONE } else { self.evaluation.span(*id) };
            (span.file.0, span.start)
        });
        let mut parts = Vec::new();
        for id in conjuncts {
            match id.as_value() {
                Some(value) if VertexId(value) != own => parts.push(self.value(VertexId(value))),
                Some(_) => {}
                None => parts.extend(self.source_syntax(id)),
            }
        }
        joined(BinaryOp::And, parts)
    }

    /// The syntax an expression was compiled from, without comments, attributes and places.
    pub(super) fn source_syntax(&mut self, id: ExprId) -> Option<Syntax> {
        let span = self.evaluation.span(id);
        let text = self.evaluation.program.sources.text(span).to_owned();
        if text.is_empty() {
            return None;
        }
        let source = Source::new("", text);
        let mut syntax = match parser::parse_expr(&source, FileId(0)) {
            Ok(syntax) => syntax,
            Err(_) => {
                // The value of `a: b: 1` is a field without braces.
                let (file, mistakes) = parser::parse(&source, FileId(0));
                if !mistakes.is_empty() {
                    return None;
                }
                expr(ExprKind::Struct(ast::StructLit {
                    braces: true,
                    decls: file.decls,
                    ..Default::default()
                }))
            }
        };
        ast::visit::Bare.expr(&mut syntax);
        self.note_imports(span.file, &mut syntax);
        Some(syntax)
    }

    /// Remembers the imports an expression of a file uses.
    fn note_imports(&mut self, file: FileId, syntax: &mut Syntax) {
        if !self.known.contains_key(&file) {
            let source = self.evaluation.program.sources.get(file);
            let parsed = source.map(|source| parser::parse(source, file).0.decls).unwrap_or_default();
            let specs = parsed.into_iter().filter_map(|decl| match decl.kind {
                DeclKind::Import(import) => Some(import.specs),
                _ => None,
            });
            self.known.insert(file, specs.flatten().collect());
        }
        let known = self.known.get(&file).map(Vec::as_slice).unwrap_or_default();
        if known.is_empty() {
            return;
        }
        let mut names = Names::default();
        names.expr(syntax);
        for name in names.0 {
            let spec = known.iter().find(|spec| local_name(spec) == name);
            if let Some(spec) = spec
                && !self.imports.iter().any(|used| used.path == spec.path && local_name(used) == name)
            {
                self.imports.push(ast::ImportSpec { comments: Vec::new(), ..spec.clone() });
            }
        }
    }

    /// A value handed to a function.
    pub(super) fn term(&mut self, term: &Term) -> Syntax {
        match term {
            Term::Atom(atom) => expr(self.evaluation.atom_syntax(atom)),
            Term::Vertex(vertex) => self.value(*vertex),
        }
    }
}

/// The name under which a file knows an import.
fn local_name(spec: &ast::ImportSpec) -> &str {
    match &spec.name {
        Some(name) => &name.name,
        None => {
            let last = spec.path.rsplit('/').next().unwrap_or(&spec.path);
            last.rsplit(':').next().unwrap_or(last)
        }
    }
}

/// The identifiers of an expression.
#[derive(Default)]
struct Names(Vec<String>);

impl Visitor for Names {
    fn expr(&mut self, expr: &mut Syntax) {
        if let ExprKind::Ident(name) = &expr.kind
            && !self.0.contains(name)
        {
            self.0.push(name.clone());
        }
        ast::visit::walk_expr(self, expr);
    }
}
