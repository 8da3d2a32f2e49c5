//! Policy `override`: components → components with other properties and traits, and further ones.
//!
//! It is applied to what is written, before anything is resolved: definitions, references and values of the changed
//! components are looked at as if they had been written so.

use serde_json::{Map, Value as Json, json};
use vela_cue::regexp::Regexp;

use crate::definition::version::base_name;
use crate::names;

/// Its type, as applications name it.
pub(crate) const TYPE: &str = "override";

/// The `components` of a spec as its override policies change them, one policy after the other; nothing where none does:
/// where steps are written, each of them names the policies that it goes by. More components than `limit` are never made.
pub(crate) fn overridden(spec: &Map<String, Json>, limit: usize) -> Option<Vec<Json>> {
    let written = spec.get("components")?.as_array()?;
    let policies: Vec<&Json> = policies(spec).collect();
    if policies.is_empty() || has_steps(spec) || written.len() > limit {
        return None;
    }
    let mut components = written.clone();
    for policy in policies {
        apply(policy, &mut components, limit);
    }
    Some(components)
}

/// The properties of the override policies.
pub(super) fn policies(spec: &Map<String, Json>) -> impl Iterator<Item = &Json> {
    let all = spec.get("policies").and_then(Json::as_array).into_iter().flatten();
    let own = all.filter(|policy| policy["type"].as_str().map(base_name) == Some(TYPE));
    own.filter_map(|policy| policy.get("properties"))
}

/// Does a spec write steps, or name the Workflow that does?
pub(super) fn has_steps(spec: &Map<String, Json>) -> bool {
    let Some(workflow) = spec.get("workflow") else { return false };
    let steps = workflow["steps"].as_array();
    !workflow["ref"].is_null() || steps.is_some_and(|steps| !steps.is_empty())
}

/// One policy: its entries in order, then its selector.
pub(super) fn apply(policy: &Json, components: &mut Vec<Json>, limit: usize) {
    for entry in policy["components"].as_array().into_iter().flatten() {
        let Some(chosen) = Chosen::of(entry) else { continue };
        let mut is_found = false;
        for component in components.iter_mut().filter(|component| chosen.matches(component)) {
            is_found = true;
            *component = changed(component, entry);
        }
        if !is_found && components.len() < limit {
            components.extend(chosen.addition(entry));
        }
    }
    if let Some(selector) = policy["selector"].as_array() {
        components.retain(|component| selector.contains(&component["name"]));
    }
}

/// Which components an entry changes.
enum Chosen<'a> {
    /// All of a type, or all.
    Any { type_: Option<&'a str> },
    /// The one of a name.
    Named(&'a str),
    /// Those whose whole name is like the pattern.
    Like(Regexp),
}

impl<'a> Chosen<'a> {
    /// None where the name is no name and no pattern, which the reader of policies reports.
    fn of(entry: &'a Json) -> Option<Self> {
        match text(entry, "name") {
            None => Some(Self::Any { type_: text(entry, "type") }),
            Some(name) if names::is_subdomain(name) => Some(Self::Named(name)),
            Some(pattern) => compile(pattern).ok().map(Self::Like),
        }
    }

    fn matches(&self, component: &Json) -> bool {
        let name = text(component, "name").unwrap_or_default();
        match self {
            Self::Any { type_ } => type_.is_none() || *type_ == text(component, "type"),
            Self::Named(wanted) => *wanted == name,
            Self::Like(pattern) => pattern.is_match(name),
        }
    }

    /// A component that only the policy has. A pattern names none.
    fn addition(&self, entry: &Json) -> Option<Json> {
        let Self::Named(name) = self else { return None };
        text(entry, "type").map(|type_| changed(&json!({"name": name, "type": type_}), entry))
    }
}

/// A name with `*` for any text, or a regular expression of a whole name.
pub(super) fn compile(pattern: &str) -> Result<Regexp, String> {
    let mut expression = String::from("^(?:");
    let mut before = None;
    for character in pattern.chars() {
        // Behind a dot or a bracket it is the operator of the expression.
        if character == '*' && !matches!(before, Some('.' | ')' | ']')) {
            expression.push('.');
        }
        expression.push(character);
        before = Some(character);
    }
    Regexp::compile(&format!("{expression})$"))
}

/// A component as an entry changes it; one of another type keeps nothing but its name.
fn changed(component: &Json, entry: &Json) -> Json {
    let mut changed = match text(entry, "type") {
        Some(type_) if Some(type_) != text(component, "type") => {
            json!({"name": component["name"], "type": type_})
        }
        _ => component.clone(),
    };
    let Some(fields) = changed.as_object_mut() else { return changed };
    if let Some(properties) = entry.get("properties").filter(|properties| !properties.is_null()) {
        merge(fields.entry("properties").or_insert(Json::Null), properties);
    }
    if let Some(revision) = text(entry, "externalRevision") {
        fields.insert("externalRevision".to_owned(), json!(revision));
    }
    for trait_ in entry["traits"].as_array().into_iter().flatten() {
        let traits = fields.entry("traits").or_insert_with(|| Json::Array(Vec::new()));
        if let (Some(type_), Some(traits)) = (text(trait_, "type"), traits.as_array_mut()) {
            change_trait(traits, type_, trait_);
        }
    }
    changed
}

/// The traits of a type change alike, or one is added; `disable` takes them away.
fn change_trait(traits: &mut Vec<Json>, type_: &str, entry: &Json) {
    if entry["disable"] == true {
        return traits.retain(|trait_| text(trait_, "type") != Some(type_));
    }
    if !traits.iter().any(|trait_| text(trait_, "type") == Some(type_)) {
        traits.push(json!({"type": type_}));
    }
    let Some(properties) = entry.get("properties").filter(|properties| !properties.is_null()) else { return };
    for trait_ in traits {
        if text(trait_, "type") == Some(type_)
            && let Some(fields) = trait_.as_object_mut()
        {
            merge(fields.entry("properties").or_insert(Json::Null), properties);
        }
    }
}

/// Objects field by field; anything else is replaced, by null and zero too. As upstream, an object does not replace a scalar.
fn merge(base: &mut Json, over: &Json) {
    match (base, over) {
        (Json::Object(base), Json::Object(over)) => {
            for (name, over) in over {
                merge(base.entry(name.clone()).or_insert(Json::Null), over);
            }
        }
        (base, Json::Object(_)) if !base.is_null() => {}
        (base, over) => over.clone_into(base),
    }
}

/// A text in a field that says something.
pub(super) fn text<'a>(object: &'a Json, field: &str) -> Option<&'a str> {
    object.get(field).and_then(Json::as_str).filter(|text| !text.is_empty())
}
