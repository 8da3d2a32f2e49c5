//! Reads dataInputs and dataOutputs into a [`Flow`], with a place and advice for every mistake.
//!
//! Writers in other languages store empty structures where nothing was said: absent, `{}` and all fields empty mean
//! the same everywhere.

use serde_json::{Map, Value as Json};

use super::{
    Condition, FLOW_LIMIT, Flow, Input, LIST_LIMIT, Operation, Operator, Output, Path, Place, Store, Verb,
};
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::field_path::type_name;
use crate::manifest::Document;
use crate::nearest;
use crate::observed::ObjectKey;

const OUTPUT: &[&str] = &["name", "fieldPath", "conditions", "outputStore"];
const INPUT: &[&str] = &["valueFrom", "toFieldPaths", "strategyMergeKeys", "conditions", "inputStore"];
const STORE: &[&str] = &["apiVersion", "kind", "name", "uid", "operations"];
const OPERATION: &[&str] = &["type", "op", "toFieldPath", "toDataPath", "value", "valueFrom", "conditions"];
const CONDITION: &[&str] = &["op", "value", "valueFrom", "fieldPath"];

/// Reads the data flow of one configuration.
pub(super) struct Reader<'a> {
    document: &'a Document,
    namespace: &'a str,
    read: usize,
    found: Diagnostics,
}

impl<'a> Reader<'a> {
    pub(super) fn new(document: &'a Document, namespace: &'a str) -> Self {
        Self { document, namespace, read: 0, found: Diagnostics::new() }
    }

    /// The errors so far.
    pub(super) fn into_found(self) -> Diagnostics {
        self.found
    }

    /// The data flow of a component's or a trait's entry.
    pub(super) fn flow(&mut self, path: &str, entry: &Json) -> Flow {
        let mut flow = Flow::default();
        for (at, output) in self.list(path, entry.get("dataOutputs"), "dataOutputs", FLOW_LIMIT) {
            flow.outputs.extend(self.output(at, output));
        }
        for (at, input) in self.list(path, entry.get("dataInputs"), "dataInputs", FLOW_LIMIT) {
            flow.inputs.extend(self.input(at, input));
        }
        let before = self.read;
        self.read += flow.inputs.len() + flow.outputs.len();
        if before <= FLOW_LIMIT && self.read > FLOW_LIMIT {
            let message = format!("a configuration may have {FLOW_LIMIT} data inputs and outputs together");
            self.error(Code::Limit, path, message, None);
        }
        flow
    }

    fn output(&mut self, at: String, value: &Json) -> Option<Output> {
        let fields = self.fields(&at, value, OUTPUT)?;
        let output = Output {
            name: self.text(&at, fields, "name").unwrap_or_default(),
            field: self.path(&at, fields, "fieldPath"),
            conditions: self.conditions(&at, fields),
            store: self.store(&at, fields, "outputStore"),
            at,
        };
        if output.name.is_empty() && output.store.is_none() {
            if output.field.is_some() || !output.conditions.is_empty() {
                let message = "an output that no store takes needs a name: no component can ask for it";
                self.error(Code::MissingField, &output.at, message, None);
            }
            return None;
        }
        Some(output)
    }

    fn input(&mut self, at: String, value: &Json) -> Option<Input> {
        let fields = self.fields(&at, value, INPUT)?;
        let input = Input {
            from: self.inner(&at, fields, "valueFrom", "dataOutputName").unwrap_or_default(),
            to: self.paths(&at, fields, "toFieldPaths"),
            keys: self.texts(&at, fields, "strategyMergeKeys").into_iter().map(|(_, key)| key).collect(),
            conditions: self.conditions(&at, fields),
            store: self.store(&at, fields, "inputStore"),
            at,
        };
        if input.from.is_empty() {
            let lonely = !input.to.is_empty() || (input.store.is_none() && !input.conditions.is_empty());
            if lonely {
                let message = "the input does not say where its value comes from";
                let hint = Some("name an output in valueFrom.dataOutputName, or an inputStore".to_owned());
                self.error(Code::MissingField, &input.at, message, hint);
            }
            if lonely || input.store.is_none() {
                return None;
            }
        }
        Some(input)
    }

    fn store(&mut self, at: &str, fields: &Map<String, Json>, field: &str) -> Option<Store> {
        let at = format!("{at}.{field}");
        let fields = self.fields(&at, fields.get(field)?, STORE)?;
        let mut part = |name| self.text(&at, fields, name).unwrap_or_default();
        let (api_version, kind, name) = (part("apiVersion"), part("kind"), part("name"));
        let mut operations = Vec::new();
        for (at, operation) in self.list(&at, fields.get("operations"), "operations", LIST_LIMIT) {
            operations.extend(self.operation(at, operation));
        }
        let parts = [("apiVersion", &api_version), ("kind", &kind), ("name", &name)];
        if parts.iter().all(|(_, part)| part.is_empty()) && operations.is_empty() {
            return None;
        }
        for (field, _) in parts.iter().filter(|(_, part)| part.is_empty()) {
            self.error(Code::MissingField, &at, format!("a store needs {field}"), None);
        }
        let namespace = self.namespace.to_owned();
        Some(Store { key: ObjectKey::local(api_version, kind, namespace, name), operations })
    }

    fn operation(&mut self, at: String, value: &Json) -> Option<Operation> {
        let fields = self.fields(&at, value, OPERATION)?;
        match self.text(&at, fields, "type").unwrap_or_default().as_str() {
            "jsonPatch" => {}
            "" => self.error(Code::MissingField, &at, "an operation needs type: jsonPatch", None),
            other => {
                let message = format!("unknown type of operation {other:?}");
                let hint = Some("the only type is jsonPatch".to_owned());
                self.error(Code::UnknownReference, format!("{at}.type"), message, hint);
            }
        }
        let verb = self.word(
            &at,
            fields,
            "operation",
            &[
                ("add", Verb::Add),
                ("delete", Verb::Remove),
                ("remove", Verb::Remove),
                ("replace", Verb::Replace),
            ],
        );
        let to = self.place(&at, fields, "toFieldPath", Place::in_object);
        if to.is_none() && self.text(&at, fields, "toFieldPath").is_none() {
            self.error(Code::MissingField, &at, "an operation needs toFieldPath", None);
        }
        let data = self.place(&at, fields, "toDataPath", Place::in_text);
        let value = self.text(&at, fields, "value");
        let from = self.field_path(&at, fields);
        let conditions = self.conditions(&at, fields);
        let (verb, to) = (verb?, to?);
        if verb != Verb::Remove && value.is_none() && from.is_none() {
            self.error(Code::MissingField, &at, "an operation needs value or valueFrom", None);
        }
        Some(Operation { at, verb, to, data, value, from, conditions })
    }

    fn conditions(&mut self, at: &str, fields: &Map<String, Json>) -> Vec<Condition> {
        let mut conditions = Vec::new();
        for (at, value) in self.list(at, fields.get("conditions"), "conditions", LIST_LIMIT) {
            let Some(fields) = self.fields(&at, value, CONDITION) else { continue };
            let operator = self.word(
                &at,
                fields,
                "condition",
                &[("eq", Operator::Eq), ("notEq", Operator::NotEq), ("notEmpty", Operator::NotEmpty)],
            );
            let value = self.text(&at, fields, "value").unwrap_or_default();
            let value_from = self.field_path(&at, fields);
            let field = self.path(&at, fields, "fieldPath");
            conditions.extend(operator.map(|operator| Condition { operator, value, value_from, field }));
        }
        conditions
    }

    /// One of the words that `op` may be.
    fn word<T: Copy>(
        &mut self,
        at: &str,
        fields: &Map<String, Json>,
        what: &str,
        words: &[(&str, T)],
    ) -> Option<T> {
        let known = words.iter().map(|(word, _)| *word);
        let Some(typed) = self.text(at, fields, "op") else {
            let known: Vec<&str> = known.collect();
            self.error(
                Code::MissingField,
                at,
                format!("the {what} needs op: one of {}", known.join(", ")),
                None,
            );
            return None;
        };
        let found = words.iter().find(|(word, _)| *word == typed).map(|(_, meant)| *meant);
        if found.is_none() {
            let hint = nearest::advice(&typed, "operators", known);
            let message = format!("unknown operator {typed:?} of the {what}");
            self.error(Code::UnknownReference, format!("{at}.op"), message, hint);
        }
        found
    }

    fn field_path(&mut self, at: &str, fields: &Map<String, Json>) -> Option<Path> {
        let text = self.inner(at, fields, "valueFrom", "fieldPath")?;
        self.parsed(format!("{at}.valueFrom.fieldPath"), Path::parse(&text))
    }

    fn path(&mut self, at: &str, fields: &Map<String, Json>, field: &str) -> Option<Path> {
        let text = self.text(at, fields, field)?;
        self.parsed(format!("{at}.{field}"), Path::parse(&text))
    }

    fn paths(&mut self, at: &str, fields: &Map<String, Json>, field: &str) -> Vec<Path> {
        let texts = self.texts(at, fields, field);
        texts.into_iter().filter_map(|(at, text)| self.parsed(at, Path::parse(&text))).collect()
    }

    fn place(
        &mut self,
        at: &str,
        fields: &Map<String, Json>,
        field: &str,
        parse: fn(&str) -> Result<Place, String>,
    ) -> Option<Place> {
        let text = self.text(at, fields, field)?;
        self.parsed(format!("{at}.{field}"), parse(&text))
    }

    fn parsed<T>(&mut self, at: String, parsed: Result<T, String>) -> Option<T> {
        parsed.map_err(|error| self.error(Code::WrongType, at, error, None)).ok()
    }

    /// The text in an object of one field; nothing where either is empty.
    fn inner(
        &mut self,
        at: &str,
        fields: &Map<String, Json>,
        field: &str,
        inner: &'static str,
    ) -> Option<String> {
        let at = format!("{at}.{field}");
        let fields = self.fields(&at, fields.get(field)?, std::slice::from_ref(&inner))?;
        self.text(&at, fields, inner)
    }

    /// A text; nothing where it is absent, null or blank.
    fn text(&mut self, at: &str, fields: &Map<String, Json>, field: &str) -> Option<String> {
        match fields.get(field) {
            None | Some(Json::Null) => None,
            Some(Json::String(text)) if text.trim().is_empty() => None,
            Some(Json::String(text)) => Some(text.clone()),
            Some(other) => {
                let message = format!("expected a string, found {}", type_name(other));
                let hint = Some("numbers and booleans are written between quotes here".to_owned());
                self.error(Code::WrongType, format!("{at}.{field}"), message, hint);
                None
            }
        }
    }

    fn texts(&mut self, at: &str, fields: &Map<String, Json>, field: &str) -> Vec<(String, String)> {
        let mut texts = Vec::new();
        for (at, item) in self.list(at, fields.get(field), field, LIST_LIMIT) {
            match item {
                Json::String(text) if !text.is_empty() => texts.push((at, text.clone())),
                other => {
                    let message = match other {
                        Json::String(_) => "an empty string says nothing here".to_owned(),
                        other => format!("expected a string, found {}", type_name(other)),
                    };
                    self.error(Code::WrongType, at, message, None);
                }
            }
        }
        texts
    }

    /// The items of a list with their places.
    fn list<'v>(
        &mut self,
        at: &str,
        value: Option<&'v Json>,
        field: &str,
        limit: usize,
    ) -> Vec<(String, &'v Json)> {
        let at = format!("{at}.{field}");
        match value {
            None | Some(Json::Null) => Vec::new(),
            Some(Json::Array(items)) if items.len() > limit => {
                self.error(Code::Limit, at, format!("more than {limit} entries"), None);
                Vec::new()
            }
            Some(Json::Array(items)) => {
                items.iter().enumerate().map(|(index, item)| (format!("{at}[{index}]"), item)).collect()
            }
            Some(other) => {
                let message = format!("expected a list, found {}", type_name(other));
                self.error(Code::WrongType, at, message, None);
                Vec::new()
            }
        }
    }

    /// The fields of an object, all of which must be known.
    fn fields<'v>(
        &mut self,
        at: &str,
        value: &'v Json,
        known: &[&'static str],
    ) -> Option<&'v Map<String, Json>> {
        match value {
            Json::Null => None,
            Json::Object(fields) => {
                for name in fields.keys().filter(|name| !known.contains(&name.as_str())) {
                    let hint = nearest::advice(name, "fields", known.iter().copied());
                    let found = Diagnostic::error(Code::UnknownField, format!("unknown field {name:?}"));
                    self.found.push(found.at_key(self.document, format!("{at}.{name}")).hint_opt(hint));
                }
                Some(fields)
            }
            other => {
                let message = format!("expected an object, found {}", type_name(other));
                self.error(Code::WrongType, at, message, None);
                None
            }
        }
    }

    fn error(&mut self, code: Code, at: impl Into<String>, message: impl Into<String>, hint: Option<String>) {
        self.found.push(Diagnostic::error(code, message).at(self.document, at).hint_opt(hint));
    }
}
