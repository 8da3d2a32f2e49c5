//! The properties of a policy → values, with a place for every complaint.

use serde_json::{Map, Value as Json};

use super::selector::{LISTS, Selector};
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::field_path::{self, Segment, type_name};
use crate::nearest;
use crate::parse::{AppFile, Policy};

/// Longer lists in one policy are refused: every object is held against every rule.
const LENGTH_LIMIT: usize = 1000;

/// Reads the policies of one application.
pub(super) struct Reader<'a> {
    pub(super) app: &'a AppFile,
    pub(super) found: &'a mut Diagnostics,
}

/// An object in the properties of a policy, and where it stands.
pub(super) struct Fields<'p> {
    fields: Option<&'p Map<String, Json>>,
    path: String,
}

impl<'p> Fields<'p> {
    /// The written value of a field.
    pub(super) fn get(&self, field: &str) -> Option<&'p Json> {
        self.fields?.get(field).filter(|value| !value.is_null())
    }

    /// Where a field stands.
    pub(super) fn path(&self, field: &str) -> String {
        let mut path = self.path.clone();
        field_path::push_field(&mut path, field);
        path
    }
}

impl Reader<'_> {
    /// The properties of a policy, which may have these fields.
    pub(super) fn properties<'p>(&mut self, policy: &'p Policy, known: &[&str]) -> Fields<'p> {
        let path = format!("{}.properties", policy.path);
        let fields = Fields { fields: policy.properties.as_object(), path };
        self.known(&fields, known);
        fields
    }

    /// An object in a field; empty where there is none.
    pub(super) fn object<'p>(&mut self, at: &Fields<'p>, field: &str, known: &[&str]) -> Fields<'p> {
        let fields = self.object_of_any(at, field);
        self.known(&fields, known);
        fields
    }

    /// The same with whatever fields.
    pub(super) fn object_of_any<'p>(&mut self, at: &Fields<'p>, field: &str) -> Fields<'p> {
        let value = at.get(field);
        if let Some(value) = value.filter(|value| !value.is_object()) {
            self.wrong_type(at.path(field), "an object", value);
        }
        Fields { fields: value.and_then(Json::as_object), path: at.path(field) }
    }

    /// The objects of a list.
    pub(super) fn objects<'p>(&mut self, at: &Fields<'p>, field: &str, known: &[&str]) -> Vec<Fields<'p>> {
        let mut objects = Vec::new();
        for (index, item) in self.list(at, field).iter().enumerate() {
            let path = format!("{}[{index}]", at.path(field));
            let Some(fields) = item.as_object() else {
                self.wrong_type(path, "an object", item);
                continue;
            };
            let fields = Fields { fields: Some(fields), path };
            self.known(&fields, known);
            objects.push(fields);
        }
        objects
    }

    /// `rules`, each with what it is for.
    pub(super) fn rules<'p>(&mut self, at: &Fields<'p>, known: &[&str]) -> Vec<(Selector, Fields<'p>)> {
        let rules = self.objects(at, "rules", known);
        rules.into_iter().map(|rule| (self.selector(&rule), rule)).collect()
    }

    fn selector(&mut self, rule: &Fields<'_>) -> Selector {
        let names = LISTS.map(|(name, _)| name);
        let written = self.object(rule, "selector", &names);
        let lists = LISTS.iter().map(|(name, pointer)| (*pointer, self.texts(&written, name))).collect();
        let selector = Selector::new(lists);
        if selector.is_empty() {
            let message = "a rule whose selector names nothing is for no object";
            let hint = "name what it is for, such as `selector: {resourceTypes: [Job]}`";
            let warning = Diagnostic::warning(Code::MissingField, message).hint(hint);
            self.found.push(warning.at(self.app.document(), rule.path("selector")));
        }
        selector
    }

    /// `true` or `false`.
    pub(super) fn flag(&mut self, at: &Fields<'_>, field: &str) -> Option<bool> {
        let value = at.get(field)?;
        if !value.is_boolean() {
            self.wrong_type(at.path(field), "true or false", value);
        }
        value.as_bool()
    }

    /// A text.
    pub(super) fn text<'p>(&mut self, at: &Fields<'p>, field: &str) -> Option<&'p str> {
        let value = at.get(field)?;
        if !value.is_string() {
            self.wrong_type(at.path(field), "a string", value);
        }
        value.as_str().filter(|text| !text.is_empty())
    }

    /// A whole number.
    pub(super) fn number(&mut self, at: &Fields<'_>, field: &str) -> Option<i64> {
        let value = at.get(field)?;
        if value.as_i64().is_none() {
            self.wrong_type(at.path(field), "a whole number", value);
        }
        value.as_i64()
    }

    /// One of several words.
    pub(super) fn choice<T: Copy>(
        &mut self,
        at: &Fields<'_>,
        field: &str,
        choices: &[(&str, T)],
    ) -> Option<T> {
        let text = self.text(at, field)?;
        let chosen = choices.iter().find(|(word, _)| *word == text).map(|(_, choice)| *choice);
        if chosen.is_none() {
            let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
            let message = format!("{field} cannot be {text:?}: expected {}", words.join(" or "));
            let hint = nearest::did_you_mean(text, words);
            self.error(Code::WrongType, at.path(field), message, hint);
        }
        chosen
    }

    /// A list of texts.
    pub(super) fn texts(&mut self, at: &Fields<'_>, field: &str) -> Vec<String> {
        let mut texts = Vec::new();
        for (index, item) in self.list(at, field).iter().enumerate() {
            match item.as_str() {
                Some(text) => texts.push(text.to_owned()),
                None => self.wrong_type(format!("{}[{index}]", at.path(field)), "a string", item),
            }
        }
        texts
    }

    /// Field paths of objects, parsed.
    pub(super) fn paths(&mut self, at: &Fields<'_>, field: &str) -> Vec<Vec<Segment>> {
        let mut paths = Vec::new();
        for (index, text) in self.texts(at, field).iter().enumerate() {
            match field_path::parse(text) {
                Ok(path) if !path.is_empty() => paths.push(path),
                Ok(_) => {
                    let message = "an empty field path names no field".to_owned();
                    self.error(Code::WrongType, format!("{}[{index}]", at.path(field)), message, None);
                }
                Err(error) => {
                    let hint = "write it like spec.template.spec.containers[0].image".to_owned();
                    let path = format!("{}[{index}]", at.path(field));
                    self.error(Code::WrongType, path, error.to_string(), Some(hint));
                }
            }
        }
        paths
    }

    /// The error, with its place.
    pub(super) fn error(&mut self, code: Code, path: String, message: String, hint: Option<String>) {
        let error = Diagnostic::error(code, message).hint_opt(hint);
        self.found.push(error.at(self.app.document(), path));
    }

    fn list<'p>(&mut self, at: &Fields<'p>, field: &str) -> &'p [Json] {
        match at.get(field) {
            None => &[],
            Some(Json::Array(items)) if items.len() > LENGTH_LIMIT => {
                let message = format!("{} entries; the limit is {LENGTH_LIMIT}", items.len());
                self.error(Code::Limit, at.path(field), message, None);
                &[]
            }
            Some(Json::Array(items)) => items,
            Some(other) => {
                self.wrong_type(at.path(field), "a list", other);
                &[]
            }
        }
    }

    fn wrong_type(&mut self, path: String, expected: &str, value: &Json) {
        let message = format!("expected {expected}, found {}", type_name(value));
        self.error(Code::WrongType, path, message, None);
    }

    /// An unknown field is most often a slip.
    fn known(&mut self, at: &Fields<'_>, known: &[&str]) {
        let written = at.fields.into_iter().flat_map(Map::keys);
        for name in written.filter(|name| !known.contains(&name.as_str())) {
            let hint = nearest::advice(name, "fields", known.iter().copied());
            let warning = Diagnostic::warning(Code::UnknownField, format!("unknown field {name:?}"));
            self.found.push(warning.hint_opt(hint).at_key(self.app.document(), at.path(name)));
        }
    }
}
