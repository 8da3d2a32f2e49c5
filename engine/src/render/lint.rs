//! Finds likely slips in a template without evaluating it: parameters that it reads without a declaration, misspelt
//! fields of the context, markers of patches that mean nothing, list elements without their key, kinds that Kubernetes
//! has withdrawn.

use std::collections::BTreeSet;
use std::sync::Arc;

use vela_cue::ast::visit::{self, Visitor};
use vela_cue::ast::{Comments, Decl, DeclKind, Expr, ExprKind, Field, LabelKind};
use vela_cue::source::{Sources, Span};
use vela_cue::{Provider, Source, parser};

use super::context;
use crate::diagnostic::{Code, DefinitionPlace, Diagnostic, Diagnostics};
use crate::kube_packages::KubePackage;
use crate::{nearest, successor};

/// The values of `+patchStrategy=`.
const STRATEGIES: [&str; 5] = ["retainKeys", "replace", "open", "jsonPatch", "jsonMergePatch"];

/// The markers that patches read.
const MARKERS: [&str; 2] = ["patchKey", "patchStrategy"];

/// The fields of a template that are objects or changes of them: what they declare is no parameter.
const MADE: [&str; 4] = ["output", "outputs", "patch", "patchOutputs"];

/// More findings about one template help no user.
const LIMIT: usize = 50;

/// Warnings; `parameters` are the names that are declared, nothing where any may be given, `packages` what it may import.
pub(super) fn of(
    title: &str,
    text: &str,
    parameters: Option<&[String]>,
    packages: &[Arc<KubePackage>],
) -> Diagnostics {
    let source = Source::new(title, text);
    let mut sources = Sources::default();
    let id = sources.add(source.clone());
    let (mut file, mistakes) = parser::parse(&source, id);
    if !mistakes.is_empty() {
        return Diagnostics::new();
    }
    // A parameter may be declared under a condition, which no value has met yet.
    let mut labels = Labels::default();
    for decl in file.decls.iter_mut().filter(|decl| !name(decl).is_some_and(|name| MADE.contains(&name))) {
        labels.decl(decl);
    }
    let mut look =
        Linter { title, sources, parameters, labels: labels.0, in_patch: false, found: Diagnostics::new() };
    for decl in &mut file.decls {
        if let DeclKind::Import(import) = &decl.kind {
            import.specs.iter().for_each(|spec| look.imported(&spec.path, spec.span, packages));
        }
        look.in_patch = name(decl).is_some_and(|name| name.starts_with("patch"));
        look.decl(decl);
    }
    look.found
}

/// Whether the text declares a field of this name anywhere, be it under a condition or in a part that others embed. A text that
/// cannot be read may do so.
pub(crate) fn may_declare(text: &str, field: &str) -> bool {
    let source = Source::new("", text);
    let id = Sources::default().add(source.clone());
    let (mut file, mistakes) = parser::parse(&source, id);
    let mut labels = Labels::default();
    file.decls.iter_mut().for_each(|decl| labels.decl(decl));
    !mistakes.is_empty() || labels.0.contains(field)
}

fn name(decl: &Decl) -> Option<&str> {
    let DeclKind::Field(field) = &decl.kind else { return None };
    match &field.label.kind {
        LabelKind::Ident(name) => Some(name),
        LabelKind::String(name) => Some(name.trim_matches('"')),
        _ => None,
    }
}

/// All names of fields.
#[derive(Default)]
struct Labels(BTreeSet<String>);

impl Visitor for Labels {
    fn decl(&mut self, decl: &mut Decl) {
        if let Some(name) = name(decl) {
            self.0.insert(name.to_owned());
        }
        visit::walk_decl(self, decl);
    }
}

struct Linter<'a> {
    title: &'a str,
    sources: Sources,
    parameters: Option<&'a [String]>,
    labels: BTreeSet<String>,
    in_patch: bool,
    found: Diagnostics,
}

impl Linter<'_> {
    fn warn(&mut self, span: Span, message: String, hint: Option<String>) {
        let number = |number: usize| u32::try_from(number).unwrap_or(0);
        let (line, column) =
            self.sources.position(span).map_or((0, 0), |(_, line, column)| (number(line), number(column)));
        if self.found.len() < LIMIT {
            let place = DefinitionPlace::new(self.title, line, column);
            self.found
                .push(Diagnostic::warning(Code::BadDefinition, message).definition(place).hint_opt(hint));
        }
    }

    /// Markers that say nothing; the fields that `+patchKey` names.
    fn markers(&mut self, comments: &Comments) -> Vec<String> {
        let mut keys = Vec::new();
        for line in comments.iter().flat_map(|group| &group.lines) {
            let Some(marker) = line.text.trim_start_matches('/').trim().strip_prefix('+') else { continue };
            let (key, value) = marker.split_once('=').unwrap_or((marker, ""));
            let (key, value) = (key.trim(), value.trim());
            match key {
                "patchKey" => keys = value.split(',').map(|key| key.trim().to_owned()).collect(),
                "patchStrategy" if !STRATEGIES.contains(&value) => {
                    let hint = nearest::advice(value, "strategies", STRATEGIES);
                    self.warn(line.span, format!("+patchStrategy={value} means nothing"), hint);
                }
                "patchStrategy" => {}
                _ => {
                    if let Some(meant) = nearest::nearest(key, MARKERS) {
                        let hint = format!("did you mean \"+{meant}\"?");
                        self.warn(line.span, format!("the marker +{key} means nothing"), Some(hint));
                    }
                }
            }
        }
        keys
    }

    /// Elements of a list that are matched by a key, and have none.
    fn elements(&mut self, keys: &[String], list: &Expr) {
        let ExprKind::List(list) = &list.kind else { return };
        for element in &list.elements {
            let ExprKind::Struct(body) = &element.kind else { continue };
            // An embedded or repeated part may bring the key.
            let names: Option<Vec<&str>> = body.decls.iter().map(name).collect();
            if names.is_some_and(|names| !keys.iter().any(|key| names.contains(&key.as_str()))) {
                let keys = keys.join(" or ");
                let message =
                    format!("an element of this list has no field {keys}, by which +patchKey matches");
                self.warn(element.span, message, Some(format!("give it a field {keys}")));
            }
        }
    }

    /// Kinds whose names are all that is left of them.
    fn imported(&mut self, path: &str, span: Span, packages: &[Arc<KubePackage>]) {
        let path = path.split(':').next().unwrap_or_default();
        let withdrawn = packages.iter().find(|package| package.is_withdrawn() && package.path() == path);
        let Some(api_version) = withdrawn.map(|package| package.api_version()) else { return };
        let next: BTreeSet<&str> = successor::kinds(api_version).map(|(_, next)| next).collect();
        let next = next.into_iter().collect::<Vec<_>>().join(" or ");
        let message = format!(
            "the cluster does not serve {api_version}, so nothing is known of the fields of its kinds"
        );
        self.warn(span, message, Some(format!("import the kinds of {next}, and write their fields")));
    }

    fn selected(&mut self, from: &str, field: &str, span: Span) {
        match (from, self.parameters) {
            ("parameter", Some(known))
                if !known.iter().any(|name| name == field) && !self.labels.contains(field) =>
            {
                let hint = nearest::advice(field, "parameters", known.iter().map(String::as_str));
                self.warn(span, format!("undefined field: parameter.{field}"), hint);
            }
            ("context", _) if !context::names().any(|name| name == field) => {
                // A caller may give more than templates are known to ask for: only slips are told.
                if let Some(hint) = nearest::did_you_mean(field, context::names()) {
                    self.warn(span, format!("undefined field: context.{field}"), Some(hint));
                }
            }
            _ => {}
        }
    }
}

impl Visitor for Linter<'_> {
    fn decl(&mut self, decl: &mut Decl) {
        if self.in_patch {
            let keys = self.markers(&decl.comments);
            if let (DeclKind::Field(Field { value, .. }), false) = (&decl.kind, keys.is_empty()) {
                self.elements(&keys, value);
            }
        }
        visit::walk_decl(self, decl);
    }

    fn expr(&mut self, expr: &mut Expr) {
        if let ExprKind::Selector(from, label) = &expr.kind
            && let ExprKind::Ident(from) = &from.kind
            && let LabelKind::Ident(field) = &label.kind
        {
            self.selected(from, field, label.span);
        }
        visit::walk_expr(self, expr);
    }
}
