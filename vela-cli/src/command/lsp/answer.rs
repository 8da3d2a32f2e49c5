//! A position and the types that are known → what hovers there, and what may be written there.

use lsp_types::{
    CompletionItem, CompletionItemKind, CompletionTextEdit, Documentation, Hover, HoverContents,
    MarkupContent, MarkupKind, Position, TextEdit,
};
use serde_json::Value;
use vela_engine::field_path::{self, Segment};
use vela_engine::parameters::{Parameter, Parameters, parameters};
use vela_engine::{Definition, DefinitionKind, Snapshot};

use super::cursor::{self, Cursor, MARK};
use super::place::{self, Written};
use crate::command::def::description;
use crate::command::show::outline::facts;
use crate::command::show::{is_type, markdown};

/// More proposals are not read by anybody.
const PROPOSED_LIMIT: usize = 1_000;
/// Words that YAML reads as something else than a text.
const NO_TEXTS: [&str; 9] = ["true", "false", "yes", "no", "on", "off", "null", "y", "n"];

/// What is to be said of the type or parameter at a position.
pub(super) fn hover(text: &str, at: Position, types: &Snapshot) -> Option<Hover> {
    let (document, path, range) = cursor::field(text, at)?;
    let value = match place::written(document.value(), &path)? {
        Written::Type(kind) => {
            let name = field_path::get(document.value(), &field_path::format(&path)).ok()?.as_str()?;
            markdown(definition(types, kind, name)?)
        }
        Written::Parameter(kind, type_, path) => {
            let described = parameters(definition(types, kind, type_)?);
            let (parameter, _) = place::parameter(&described.root, &path)?;
            // `properties` itself has no name.
            if path.is_empty() {
                return None;
            }
            about(parameter)
        }
    };
    let contents = HoverContents::Markup(MarkupContent { kind: MarkupKind::Markdown, value });
    Some(Hover { contents, range: Some(range) })
}

/// A parameter as Markdown, with the table of what is inside it.
fn about(parameter: &Parameter) -> String {
    let mut text = format!("**{}**: `{}`\n", parameter.name, facts(parameter));
    if !parameter.description.is_empty() {
        text.push_str(&format!("\n{}\n", parameter.description));
    }
    if !parameter.children.is_empty() {
        let root = Parameter {
            type_: "object".to_owned(),
            children: parameter.children.clone(),
            ..Parameter::default()
        };
        text.push_str(&format!("\n{}\n", Parameters { root, note: None }.markdown(4)));
    }
    text
}

/// The definition of a type as it is written, which may name a version.
fn definition<'s>(types: &'s Snapshot, kind: DefinitionKind, name: &str) -> Option<&'s Definition> {
    let name = name.split_once('@').map_or(name, |(name, _)| name);
    let of = |kind| types.definition(kind, name).map(AsRef::as_ref).filter(|one| is_type(one));
    of(kind).or_else(|| of(DefinitionKind::Workload).filter(|_| kind == DefinitionKind::Component))
}

/// What may be written at a position, the most needed first.
pub(super) fn complete(text: &str, at: Position, types: &Snapshot) -> Vec<CompletionItem> {
    let Some(cursor) = cursor::cursor(text, at) else { return Vec::new() };
    proposals(&cursor, types).unwrap_or_default()
}

fn proposals(cursor: &Cursor, types: &Snapshot) -> Option<Vec<CompletionItem>> {
    let mut found: Vec<CompletionItem> = Vec::new();
    match place::written(&cursor.document, &cursor.path)? {
        Written::Type(_) if cursor.is_name => return None,
        Written::Type(kind) => {
            let fits = |one: &&Definition| {
                is_type(one)
                    && (one.kind() == kind
                        || kind == DefinitionKind::Component && one.kind() == DefinitionKind::Workload)
            };
            let mut all: Vec<&Definition> = types.definitions().map(AsRef::as_ref).filter(fits).collect();
            all.sort_by_key(|one| one.name());
            for one in all {
                let item = CompletionItem {
                    kind: Some(CompletionItemKind::CLASS),
                    detail: Some(description(one.object())).filter(|text| !text.is_empty()),
                    documentation: None,
                    ..CompletionItem::default()
                };
                found.push(proposed(cursor, one.name(), one.name().to_owned(), found.len(), item));
            }
        }
        Written::Parameter(kind, type_, path) => {
            let described = parameters(definition(types, kind, type_)?);
            if cursor.is_name {
                names(cursor, &described.root, &path, &mut found)?;
            } else {
                values(cursor, &described.root, &path, &mut found)?;
            }
        }
    }
    found.truncate(PROPOSED_LIMIT);
    Some(found)
}

/// The fields that are not there yet.
fn names(cursor: &Cursor, root: &Parameter, path: &[Segment], found: &mut Vec<CompletionItem>) -> Option<()> {
    let (_, above) = path.split_last()?;
    let (object, type_) = place::parameter(root, above)?;
    if type_.starts_with("[]") || type_.starts_with("map[") {
        return None;
    }
    let (_, place) = cursor.path.split_last()?;
    let written = match place {
        [] => &cursor.document,
        place => field_path::get(&cursor.document, &field_path::format(place)).ok()?,
    };
    for child in object.children.iter().filter(|child| written.get(&child.name).is_none()) {
        let is_scalar =
            child.children.is_empty() && !child.type_.contains(['[', '{']) && child.type_ != "object";
        let text = match (cursor.has_colon, is_scalar) {
            (true, _) => child.name.clone(),
            (false, true) => format!("{}: ", child.name),
            (false, false) => format!("{}:", child.name),
        };
        let item = CompletionItem {
            kind: Some(CompletionItemKind::PROPERTY),
            detail: Some(facts(child)),
            documentation: Some(child.description.clone())
                .filter(|text| !text.is_empty())
                .map(Documentation::String),
            ..CompletionItem::default()
        };
        found.push(proposed(cursor, &child.name, text, found.len(), item));
    }
    Some(())
}

/// The values that a parameter may have, where they can be counted.
fn values(
    cursor: &Cursor,
    root: &Parameter,
    path: &[Segment],
    found: &mut Vec<CompletionItem>,
) -> Option<()> {
    let (parameter, type_) = place::parameter(root, path)?;
    let mut all = parameter.allowed.clone();
    if all.is_empty() && type_ == "bool" {
        all = vec![Value::Bool(true), Value::Bool(false)];
    }
    for value in all {
        let text = scalar(&value);
        let is_default = parameter.default.as_ref() == Some(&value);
        let item = CompletionItem {
            kind: Some(CompletionItemKind::ENUM_MEMBER),
            detail: is_default.then(|| "default".to_owned()),
            ..CompletionItem::default()
        };
        found.push(proposed(cursor, &text, text.clone(), found.len(), item));
    }
    Some(())
}

/// A value as it is written in YAML.
fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => {
            let is_plain = text.starts_with(|c: char| c.is_ascii_alphabetic())
                && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c))
                && !NO_TEXTS.contains(&text.to_lowercase().as_str());
            if is_plain { text.clone() } else { value.to_string() }
        }
        other => other.to_string(),
    }
}

fn proposed(
    cursor: &Cursor,
    label: &str,
    text: String,
    index: usize,
    item: CompletionItem,
) -> CompletionItem {
    debug_assert_ne!(label, MARK);
    let edit = TextEdit { range: cursor.range, new_text: format!("{}{text}", cursor.before) };
    CompletionItem {
        label: label.to_owned(),
        // Editors sort by text, and by the label where none is given.
        sort_text: Some(format!("{index:04}")),
        filter_text: Some(format!("{}{label}", cursor.before)),
        text_edit: Some(CompletionTextEdit::Edit(edit)),
        ..item
    }
}
