//! Describes the parameters of a definition as a tree: what may be written, of which type, and what it means.
//!
//! This is the one source of `vela show` and of generated reference documentation. It is read from the OpenAPI schema of
//! `parameter` (CUE, kube), from the variables of a terraform configuration, or from what a handlebars template names.

mod markdown;
mod parameter_tree;
mod variables;

use serde_json::{Map, Value as Json};

pub use self::parameter_tree::{Parameter, Parameters};
use crate::definition::{Definition, Language, record};

/// Parameters nested deeper than this are not described.
const DEPTH_LIMIT: usize = 16;
/// More parameters than this are not described: definitions may contain each other.
const COUNT_LIMIT: usize = 5000;

impl Parameters {
    /// As Markdown: a table, and one for every object inside, under headings of this level (`#` is 1).
    pub fn markdown(&self, level: usize) -> String {
        markdown::render(self, level)
    }
}

/// Describes what a definition takes.
pub fn parameters(definition: &Definition) -> Parameters {
    match definition.language() {
        Language::Cue(_) | Language::Kube { .. } => {
            let schema = record::typed_schema(definition).unwrap_or_default();
            let mut root = Reader { count: 0 }.parameter("", &schema, false, 0);
            if let Language::Kube { parameters, .. } = definition.language() {
                for child in &mut root.children {
                    let own = parameters.iter().find(|parameter| parameter.name == child.name);
                    let paths = own.map(|own| own.field_paths.join(", ")).unwrap_or_default();
                    if child.description.is_empty() && !paths.is_empty() {
                        child.description = format!("Written at {paths}");
                    }
                }
            }
            Parameters { root, note: None }
        }
        Language::Handlebars(text) => Parameters {
            root: object(named(text)),
            note: Some(
                "It is a handlebars template, which declares no types: these are the parameters that it names."
                    .to_owned(),
            ),
        },
        Language::Terraform(schematic) => terraform(schematic),
        Language::Helm { release, repository } => {
            let text = |value: &Json, pointer: &str| {
                value.pointer(pointer).and_then(Json::as_str).unwrap_or_default().to_owned()
            };
            let chart = text(release, "/chart/spec/chart");
            let version = text(release, "/chart/spec/version");
            let place = text(repository, "/url");
            let note = format!("Its parameters are the values of the Helm chart {chart} {version} of {place}.");
            Parameters { root: object(Vec::new()), note: Some(note.replace("  ", " ")) }
        }
        Language::Other(schematic) => Parameters {
            root: object(Vec::new()),
            note: Some(format!("It is a {schematic} schematic, which vela cannot read.")),
        },
        Language::None => Parameters { root: object(Vec::new()), note: None },
    }
}

fn object(children: Vec<Parameter>) -> Parameter {
    Parameter { type_: "object".to_owned(), children, ..Parameter::default() }
}

fn terraform(schematic: &Json) -> Parameters {
    let text = |key: &str| schematic.get(key).and_then(Json::as_str).unwrap_or_default();
    let configuration = text("configuration");
    match text("type") {
        "remote" => {
            let path = if text("path").is_empty() { "" } else { " in " };
            let note = format!(
                "Its parameters are the variables of the terraform configuration at {configuration}{path}{}.",
                text("path")
            );
            Parameters { root: object(Vec::new()), note: Some(note) }
        }
        _ => Parameters { root: object(variables::declared(configuration)), note: None },
    }
}

/// The parameters that a handlebars template names, as a tree.
fn named(template: &str) -> Vec<Parameter> {
    const MARK: &str = "parameter.";
    let mut found: Vec<Parameter> = Vec::new();
    for (at, _) in template.match_indices(MARK) {
        let before = template[..at].chars().next_back();
        // Only what stands in braces names a parameter, and only under its own name.
        let is_in_braces = template[..at].rfind("{{") > template[..at].rfind("}}");
        if !is_in_braces || before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '.') {
            continue;
        }
        let rest = &template[at + MARK.len()..];
        let end = rest.find(|c: char| !(c.is_alphanumeric() || "_-.".contains(c))).unwrap_or(rest.len());
        let mut level = &mut found;
        for name in rest[..end].split('.').filter(|name| !name.is_empty()).take(DEPTH_LIMIT) {
            let index = level.iter().position(|one| one.name == name).unwrap_or_else(|| {
                level.push(Parameter {
                    name: name.to_owned(),
                    type_: "any".to_owned(),
                    ..Parameter::default()
                });
                level.len() - 1
            });
            level = &mut level[index].children;
        }
    }
    mark_objects(&mut found);
    found
}

fn mark_objects(parameters: &mut [Parameter]) {
    for parameter in parameters {
        if !parameter.children.is_empty() {
            parameter.type_ = "object".to_owned();
            mark_objects(&mut parameter.children);
        }
    }
}

/// Reads an OpenAPI schema.
struct Reader {
    count: usize,
}

impl Reader {
    fn parameter(&mut self, name: &str, schema: &Json, listed: bool, depth: usize) -> Parameter {
        self.count += 1;
        let mut parameter = self.value(schema, depth);
        let text = schema.get("description").and_then(Json::as_str).unwrap_or_default();
        let text = text.strip_prefix("+usage=").unwrap_or(text);
        parameter.description = text.split_whitespace().collect::<Vec<_>>().join(" ");
        parameter.name = name.to_owned();
        parameter.default = schema.get("default").filter(|_| !name.is_empty()).cloned();
        parameter.condition = schema.get("x-if").and_then(Json::as_str).map(str::to_owned);
        // An object can be left out when everything in it can. Fields under a condition count where the condition holds
        // without any given parameter.
        let holds = |child: &Parameter| {
            let declared = schema.get("properties").and_then(|properties| properties.get(&child.name));
            child.condition.is_none() || declared.is_some_and(|declared| declared.get("x-if").is_some())
        };
        let is_optional = parameter.type_ == "object"
            && !parameter.children.is_empty()
            && !parameter.children.iter().any(|child| child.required && holds(child));
        // A list or map without a value is empty.
        let is_many = parameter.type_.starts_with("[]") || parameter.type_.starts_with("map[");
        parameter.required = listed && parameter.default.is_none() && !is_optional && !is_many;
        parameter
    }

    /// Type, rules and children of a value.
    fn value(&mut self, schema: &Json, depth: usize) -> Parameter {
        if depth > DEPTH_LIMIT || self.count > COUNT_LIMIT {
            return Parameter { type_: "any".to_owned(), ..Parameter::default() };
        }
        if let Some(items) = schema.get("items") {
            let item = self.value(items, depth + 1);
            return Parameter { type_: format!("[]{}", grouped(&item.type_)), ..item };
        }
        let mut parameter = Parameter { rules: rules(schema), ..Parameter::default() };
        for value in schema.get("enum").and_then(Json::as_array).into_iter().flatten() {
            if !parameter.allowed.contains(value) {
                parameter.allowed.push(value.clone());
            }
        }
        let others = schema.get("additionalProperties").filter(|others| others.is_object());
        let properties = schema.get("properties").and_then(Json::as_object);
        let is_object = properties.is_some() || schema.get("x-conditional").is_some();
        match (is_object, others) {
            (true, _) => {
                parameter.children = self.fields(properties, schema, depth);
                parameter.type_ = "object".to_owned();
            }
            (false, Some(others)) => {
                let value = self.value(others, depth + 1);
                let type_ = format!("map[string]{}", grouped(&value.type_));
                parameter = Parameter { type_, ..value };
            }
            (false, None) => parameter.type_ = type_word(schema),
        }
        if schema.get("nullable") == Some(&Json::Bool(true)) {
            parameter.type_.push_str(" | null");
        }
        self.alternatives(schema, &mut parameter, depth);
        parameter
    }

    /// Those that must be given come first, in the order in which they are declared, and those under conditions last.
    fn fields(
        &mut self,
        properties: Option<&Map<String, Json>>,
        schema: &Json,
        depth: usize,
    ) -> Vec<Parameter> {
        let listed: Vec<&str> = schema
            .get("required")
            .and_then(Json::as_array)
            .into_iter()
            .flatten()
            .filter_map(Json::as_str)
            .collect();
        let mut fields: Vec<Parameter> = properties
            .into_iter()
            .flatten()
            .map(|(name, schema)| self.parameter(name, schema, listed.contains(&name.as_str()), depth + 1))
            .collect();
        let rank = |field: &Parameter| {
            let place = listed.iter().position(|name| *name == field.name).unwrap_or(listed.len());
            (field.condition.is_some(), !field.required, if field.required { place } else { 0 })
        };
        fields.sort_by_key(rank);
        for one in schema.get("x-conditional").and_then(Json::as_array).into_iter().flatten() {
            let name = one.get("title").and_then(Json::as_str).unwrap_or_default();
            let is_required = one.get("x-required") == Some(&Json::Bool(true));
            let field = self.parameter(name, one, is_required, depth + 1);
            // Declared alike under several conditions, it is one parameter.
            let is_alike = |known: &&mut Parameter| {
                known.condition.is_some()
                    && **known == Parameter { condition: known.condition.clone(), ..field.clone() }
            };
            match (fields.iter_mut().find(is_alike), &field.condition) {
                (Some(Parameter { condition: Some(known), .. }), Some(other)) => {
                    known.push_str(&format!(" || {other}"));
                }
                _ => fields.push(field),
            }
        }
        fields
    }

    /// Alternatives of objects name what each needs; those of other values have types of their own.
    fn alternatives(&mut self, schema: &Json, parameter: &mut Parameter, depth: usize) {
        let Some(alternatives) = schema.get("oneOf").and_then(Json::as_array) else { return };
        if parameter.type_ == "object" {
            let needs = |alternative: &Json| -> Vec<String> {
                let needed = alternative.get("required").or_else(|| alternative.pointer("/allOf/0/required"));
                let names = needed.and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str);
                let has_default = |name: &&str| {
                    parameter.children.iter().any(|child| child.name == *name && child.default.is_some())
                };
                names.filter(|name| !has_default(name)).map(str::to_owned).collect()
            };
            parameter.one_of = alternatives.iter().map(needs).filter(|needed| !needed.is_empty()).collect();
            return;
        }
        let mut types: Vec<String> = Vec::new();
        for alternative in alternatives {
            let one = self.value(alternative, depth + 1);
            if !types.contains(&one.type_) {
                types.push(one.type_);
            }
            parameter.allowed.extend(one.allowed);
            for child in one.children {
                if !parameter.children.iter().any(|known| known.name == child.name) {
                    parameter.children.push(child);
                }
            }
        }
        parameter.type_ = types.join(" | ");
    }
}

/// Alternatives in brackets, so that a list of them is read as such.
fn grouped(type_: &str) -> String {
    if type_.contains(" | ") { format!("({type_})") } else { type_.to_owned() }
}

fn type_word(schema: &Json) -> String {
    match schema.get("type").and_then(Json::as_str) {
        Some("integer") => "int",
        Some("boolean") => "bool",
        Some("array") => "[]any",
        Some(other) => other,
        None => "any",
    }
    .to_owned()
}

/// Bounds, patterns and sizes, as one would write them in CUE.
fn rules(schema: &Json) -> Vec<String> {
    let mut rules = Vec::new();
    let is_true = |key: &str| schema.get(key) == Some(&Json::Bool(true));
    for (key, exclusive, sign) in [("minimum", "exclusiveMinimum", '>'), ("maximum", "exclusiveMaximum", '<')]
    {
        if let Some(bound) = schema.get(key).filter(|bound| bound.is_number()) {
            rules.push(format!("{sign}{} {bound}", if is_true(exclusive) { "" } else { "=" }));
        }
    }
    for (key, words) in [
        ("minLength", "at least this long:"),
        ("maxLength", "at most this long:"),
        ("minItems", "items at least:"),
        ("maxItems", "items at most:"),
    ] {
        if let Some(size) = schema.get(key) {
            rules.push(format!("{words} {size}"));
        }
    }
    let all = schema.get("allOf").and_then(Json::as_array).into_iter().flatten();
    for pattern in std::iter::once(schema).chain(all).filter_map(|part| part.get("pattern")?.as_str()) {
        rules.push(format!("matches {pattern}"));
    }
    rules
}

#[cfg(test)]
mod tests;
