//! An Application → the Application as PolicyDefinitions of the scope `Application` leave it, before it is parsed.
//!
//! The definitions that act on every application, and those that the application names, run one after the other in ascending
//! `spec.priority`; those that it names have 0 and go behind global ones of the same priority. Each sees what the former left.
//! A policy that the application names and that fails is an error of the application; a global one is left out with a warning,
//! since the application's author cannot mend it.

mod context;
mod mistakes;

use std::sync::Arc;

use serde_json::{Map, Value as Json};
use vela_crds::annotations;

use crate::definition::{Definition, DefinitionKind};
use crate::diagnostic::{Code, DefinitionPlace, Diagnostic, Diagnostics, Severity};
use crate::manifest::Document;
use crate::parse::Era;
use crate::policy;
use crate::render::{Compiled, ScopedPolicy, Site, Templates};
use crate::snapshot::Snapshot;
use crate::transformed::{AppliedPolicy, Source, Transformed, changed, changes_applications, is_global};

pub use mistakes::mistakes;

/// More policies that change one application are refused.
const POLICIES_AT_MOST: usize = 100;

/// One policy to be run.
struct Entry {
    name: String,
    type_: String,
    /// Field path in the application; nothing for a global one.
    path: Option<String>,
    properties: Json,
    definition: Arc<Definition>,
}

impl Entry {
    fn source(&self) -> Source {
        match self.path {
            Some(_) => Source::Explicit,
            None => Source::Global,
        }
    }

    /// Ascending; a policy that the application names has no priority of its own.
    fn priority(&self) -> i64 {
        match self.source() {
            Source::Explicit => 0,
            Source::Global => self.definition.spec().get("priority").and_then(Json::as_i64).unwrap_or(0),
        }
    }
}

/// Does the application ask to be left alone by policies that it does not name?
pub fn skips_globals(application: &Document) -> bool {
    let annotations = application.value().pointer("/metadata/annotations");
    annotations.and_then(|all| all.get(annotations::SKIP_GLOBAL_POLICIES)?.as_str()) == Some("true")
}

/// Does a policy of the snapshot change this application?
pub fn is_needed(application: &Document, snapshot: &Snapshot) -> bool {
    Era::of(application.value()) == Era::V1beta1
        && (explicit(application, snapshot).next().is_some()
            || globals(application, snapshot).next().is_some())
}

/// The application as the policies of the snapshot leave it; nothing where none is meant for it.
pub fn transform(application: &Document, snapshot: &Snapshot, templates: &Templates) -> Option<Transformed> {
    if !is_needed(application, snapshot) {
        return None;
    }
    let mut entries: Vec<Entry> =
        globals(application, snapshot).chain(explicit(application, snapshot)).collect();
    // A stable sort: global ones by name before those that are named, and these in the order written.
    entries.sort_by_key(Entry::priority);
    let mut run = Run {
        transformed: Transformed {
            written: application.clone(),
            document: application.clone(),
            definitions: Vec::new(),
            custom: Map::new(),
            applied: Vec::new(),
            found: Diagnostics::new(),
        },
        snapshot,
        templates,
    };
    if entries.len() > POLICIES_AT_MOST {
        let message =
            format!("{} policies change the application; the limit is {POLICIES_AT_MOST}", entries.len());
        run.transformed.found.push(Diagnostic::error(Code::Limit, message).at(application, "spec.policies"));
        entries.clear();
    }
    for entry in entries {
        if !run.apply(entry) {
            break;
        }
    }
    Some(run.transformed)
}

/// The policies that the application names and whose definitions change applications.
fn explicit<'a>(application: &'a Document, snapshot: &'a Snapshot) -> impl Iterator<Item = Entry> + 'a {
    let written = application.value().pointer("/spec/policies").and_then(Json::as_array);
    written.into_iter().flatten().enumerate().filter_map(|(index, policy)| {
        let type_ = policy.get("type")?.as_str().filter(|type_| !policy::is_built_in(type_))?;
        let definition = snapshot.definition(DefinitionKind::Policy, type_)?;
        let name = policy.get("name").and_then(Json::as_str).filter(|name| !name.is_empty());
        changes_applications(definition).then(|| Entry {
            name: name.unwrap_or(type_).to_owned(),
            type_: type_.to_owned(),
            path: Some(format!("spec.policies[{index}]")),
            properties: policy
                .get("properties")
                .filter(|given| given.is_object())
                .cloned()
                .unwrap_or_else(nothing),
            definition: definition.clone(),
        })
    })
}

/// The policies that act on every application, by name.
fn globals<'a>(application: &'a Document, snapshot: &'a Snapshot) -> impl Iterator<Item = Entry> + 'a {
    let is_skipped = skips_globals(application);
    let all = snapshot.definitions().filter(move |_| !is_skipped);
    let all = all.filter(|one| one.kind() == DefinitionKind::Policy && is_global(one.object()));
    all.map(|definition| Entry {
        name: definition.name().to_owned(),
        type_: definition.name().to_owned(),
        path: None,
        properties: nothing(),
        definition: definition.clone(),
    })
}

fn nothing() -> Json {
    Json::Object(Map::new())
}

/// The policies that ran so far.
struct Run<'a> {
    transformed: Transformed,
    snapshot: &'a Snapshot,
    templates: &'a Templates,
}

impl Run<'_> {
    /// Runs one policy, and says whether the others may go on.
    fn apply(&mut self, entry: Entry) -> bool {
        match self.evaluated(&entry) {
            Ok((made, warnings)) => {
                self.find(&entry, warnings);
                self.made(&entry, made);
                true
            }
            Err(errors) => {
                let message =
                    errors.iter().map(|error| error.message.as_str()).collect::<Vec<_>>().join("; ");
                self.note(&entry, None, false, (true, message));
                self.used(&entry);
                self.find(&entry, errors);
                entry.source() == Source::Global
            }
        }
    }

    fn evaluated(&self, entry: &Entry) -> Result<(ScopedPolicy, Diagnostics), Diagnostics> {
        let definition = &entry.definition;
        let refused = |message: String, hint: &str| {
            let place = DefinitionPlace::whole(definition.title());
            Err(Diagnostic::error(Code::BadDefinition, message).definition(place).hint(hint).into())
        };
        if !changes_applications(definition) {
            let message = format!("{} is global and has another scope than Application", definition.title());
            return refused(message, "write spec.scope: Application, or take spec.global away");
        }
        if entry.path.is_some() && is_global(definition.object()) {
            let message = format!("{} acts on every application by itself", definition.title());
            return refused(message, "leave the policy out of spec.policies");
        }
        let document = &self.transformed.document;
        let context = context::of(
            document,
            (&entry.name, &entry.type_, definition),
            &self.transformed.custom,
            self.snapshot,
        );
        match &*self.templates.get(definition)? {
            Compiled::Cue(template) => {
                let path = entry.path.as_deref().unwrap_or_default();
                let written = &self.transformed.written;
                let site = Site { document: written, definition, path, field: "properties" };
                template.scoped(&site.parameters(&entry.properties), &context)
            }
            _ => refused(
                format!("{} has no CUE template, so it cannot change an application", definition.title()),
                "write spec.schematic.cue.template with an output",
            ),
        }
    }

    fn made(&mut self, entry: &Entry, made: ScopedPolicy) {
        if !made.enabled {
            return self.note(entry, None, false, (false, "its template says enabled: false".to_owned()));
        }
        let changed = changed(self.transformed.document.value(), &made.output);
        let changes_spec = changed.get("spec") != self.transformed.document.value().get("spec");
        self.transformed.document = self.transformed.document.with_value(changed);
        if let Some(ctx) = made.output.get("ctx").and_then(Json::as_object) {
            self.transformed.custom.extend(ctx.clone());
        }
        self.used(entry);
        self.note(entry, Some(made.output), changes_spec, (false, String::new()));
    }

    /// Its definition belongs to the content of the application.
    fn used(&mut self, entry: &Entry) {
        self.transformed.definitions.push((entry.type_.clone(), entry.definition.clone()));
    }

    fn note(
        &mut self,
        entry: &Entry,
        output: Option<Map<String, Json>>,
        changes_spec: bool,
        (failed, message): (bool, String),
    ) {
        let namespace = entry.definition.object().pointer("/metadata/namespace").and_then(Json::as_str);
        self.transformed.applied.push(AppliedPolicy {
            name: entry.name.clone(),
            type_: entry.type_.clone(),
            namespace: namespace.unwrap_or_default().to_owned(),
            hash: entry.definition.hash()[..16].to_owned(),
            source: entry.source(),
            output,
            changes_spec,
            failed,
            message,
        });
    }

    /// Findings of a policy at the place where the application names it. The author of an application cannot mend a global
    /// one, whose findings are warnings.
    fn find(&mut self, entry: &Entry, findings: Diagnostics) {
        let document = &self.transformed.written;
        let path = entry.path.as_deref();
        let site = Site {
            document,
            definition: &entry.definition,
            path: path.unwrap_or("spec"),
            field: "properties",
        };
        let placed = site.place(findings).into_iter().map(|finding| match path {
            Some(_) => finding,
            None => Diagnostic {
                severity: Severity::Warning,
                message: format!("global policy {:?} is left out: {}", entry.name, finding.message),
                ..finding
            },
        });
        self.transformed.found.extend(placed.collect());
    }
}
