//! Reading fields of the Application with a place for every complaint: types, required ones, unknown ones.

use std::sync::LazyLock;

use serde_json::{Map, Value as Json};

use super::{Era, Parser};
use crate::diagnostic::{Code, Diagnostic};
use crate::field_path::type_name;
use crate::{names, nearest};

/// Characters of a refused name that are told.
const NAME_SHOWN: usize = 64;

/// The fields of every object, and the further ones of an Application.
pub(super) const TOP: &[&str] = &["apiVersion", "kind", "metadata", "spec", "status"];

/// The metadata of any object, of present and past releases of Kubernetes.
pub(super) const METADATA: &[&str] = &[
    "name",
    "namespace",
    "labels",
    "annotations",
    "generateName",
    "finalizers",
    "ownerReferences",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "managedFields",
    "selfLink",
    "clusterName",
];

/// Fields deeper than this are not looked at.
const SCHEMA_DEPTH: usize = 16;

/// The schema of `spec` in the kind as it is registered; `null` where it cannot be made.
static SPEC_SCHEMA: LazyLock<Json> = LazyLock::new(|| {
    let all = vela_crds::crd_values().unwrap_or_default();
    let application = all.iter().find(|crd| crd["spec"]["names"]["kind"] == "Application");
    let versions = application.and_then(|crd| crd["spec"]["versions"].as_array());
    let stored = versions.into_iter().flatten().find(|version| version["storage"] == true);
    let fields =
        stored.and_then(|version| version.pointer("/schema/openAPIV3Schema/properties/spec/properties"));
    fields.cloned().unwrap_or_default()
});

pub(super) const SPEC: &[&str] = &["components", "policies", "workflow", "rolloutPlan"];

pub(super) fn component(era: Era) -> &'static [&'static str] {
    match era {
        Era::V1alpha2 => &["name", "type", "settings", "traits", "scopes"],
        Era::V1beta1 => &[
            "name",
            "type",
            "properties",
            "traits",
            "scopes",
            "dependsOn",
            "inputs",
            "outputs",
            "externalRevision",
        ],
    }
}

pub(super) fn trait_(era: Era) -> &'static [&'static str] {
    match era {
        Era::V1alpha2 => &["name", "properties"],
        Era::V1beta1 => &["type", "properties"],
    }
}

/// The rules of a name, for messages.
pub(super) const NAME_RULE: &str = "lower-case letters and digits, `-` and `.` between them, at most 63";

/// A DNS-1123 subdomain that may stand in a label: objects and labels are named by it.
pub(super) fn is_name(name: &str) -> bool {
    name.len() <= 63 && names::is_subdomain(name)
}

/// As it was written, as far as people want to see it.
fn shown(name: &str) -> String {
    let start: String = name.chars().take(NAME_SHOWN).collect();
    if start.len() == name.len() { format!("{name:?}") } else { format!("{start:?}…") }
}

static NO_FIELDS: LazyLock<Map<String, Json>> = LazyLock::new(Map::new);

impl<'a> Parser<'a> {
    fn wrong_type(&mut self, path: &str, expected: &str, found: &Json, hint: Option<String>) {
        let message = format!("expected {expected}, found {}", type_name(found));
        self.error(Code::WrongType, path, message, hint);
    }

    /// An object; nothing where it is absent or, with a complaint, of another type.
    pub(super) fn object(&mut self, path: &str, value: Option<&'a Json>) -> &'a Map<String, Json> {
        match value {
            None | Some(Json::Null) => &NO_FIELDS,
            Some(Json::Object(fields)) => fields,
            Some(other) => {
                self.wrong_type(path, "an object", other, None);
                &NO_FIELDS
            }
        }
    }

    pub(super) fn list(&mut self, path: &str, value: Option<&'a Json>) -> &'a [Json] {
        match value {
            None | Some(Json::Null) => &[],
            Some(Json::Array(items)) => items,
            Some(other) => {
                self.wrong_type(path, "a list", other, None);
                &[]
            }
        }
    }

    pub(super) fn texts(&mut self, path: &str, value: Option<&'a Json>) -> Vec<String> {
        let mut texts = Vec::new();
        for (index, item) in self.list(path, value).iter().enumerate() {
            match item {
                Json::String(text) => texts.push(text.clone()),
                other => self.wrong_type(&format!("{path}[{index}]"), "a string", other, None),
            }
        }
        texts
    }

    /// Parameters: an object, `{}` if absent.
    pub(super) fn properties(&mut self, path: &str, fields: &'a Map<String, Json>, field: &str) -> Json {
        Json::Object(self.object(&format!("{path}.{field}"), fields.get(field)).clone())
    }

    pub(super) fn required_text(
        &mut self,
        path: &str,
        fields: &Map<String, Json>,
        field: &str,
        whose: &str,
    ) -> Option<String> {
        match fields.get(field) {
            Some(Json::String(text)) if !text.is_empty() => return Some(text.clone()),
            Some(Json::String(_) | Json::Null) | None => {
                let message = format!("{whose} needs a field {field:?}");
                let hint = fields
                    .keys()
                    .find(|key| nearest::nearest(key, [field]).is_some())
                    .filter(|key| *key != field);
                let hint = hint.map(|key| format!("is {key:?} meant to be {field:?}?"));
                self.error(Code::MissingField, path, message, hint);
            }
            Some(other) => {
                let hint =
                    matches!(other, Json::Number(_) | Json::Bool(_)).then(|| format!("write \"{other}\""));
                self.wrong_type(&format!("{path}.{field}"), "a string", other, hint);
            }
        }
        None
    }

    /// The name of a definition. It becomes part of a request, so what cannot be a name is looked for nowhere.
    pub(super) fn required_type(
        &mut self,
        path: &str,
        fields: &Map<String, Json>,
        field: &str,
        whose: &str,
    ) -> Option<String> {
        let type_ = self.required_text(path, fields, field, whose)?;
        if names::is_type(&type_) {
            return Some(type_);
        }
        let message = format!(
            "{} cannot be the name of a definition: lower-case letters, digits, `-` and `.`, at most {}",
            shown(&type_),
            names::NAME_AT_MOST
        );
        self.error(Code::WrongType, &format!("{path}.{field}"), message, None);
        None
    }

    /// The namespace of the application, where it names one.
    pub(super) fn namespace(&mut self) {
        let namespace = self.document.namespace();
        if !namespace.is_empty() && !names::is_label(namespace) {
            let message = format!(
                "{} is not a namespace: lower-case letters, digits and `-`, at most 63",
                shown(namespace)
            );
            self.error(Code::WrongType, "metadata.namespace", message, None);
        }
    }

    /// Unknown fields are most often a slip: parsing warns, with the nearest known name.
    pub(super) fn known_fields(&mut self, path: &str, fields: &Map<String, Json>, known: &[&str]) {
        for name in fields.keys().filter(|name| !known.contains(&name.as_str())) {
            let hint = match (name.as_str(), self.era) {
                ("settings", Era::V1beta1) if known.contains(&"properties") => {
                    Some("core.oam.dev/v1beta1 calls it \"properties\"".to_owned())
                }
                ("properties", Era::V1alpha2) if known.contains(&"settings") => {
                    Some("core.oam.dev/v1alpha2 calls it \"settings\"".to_owned())
                }
                (name, _) => nearest::advice(name, "fields", known.iter().copied()),
            };
            let mut field = path.to_owned();
            crate::field_path::push_field(&mut field, name);
            let warning = Diagnostic::warning(Code::UnknownField, format!("unknown field {name:?}"));
            self.found.push(warning.at_key(self.document, field).hint_opt(hint));
        }
    }
    /// The same for everything below a field of `spec`, by the schema of the kind.
    pub(super) fn known_below(&mut self, field: &str, value: &Json) {
        self.known_by_schema(&format!("spec.{field}"), value, &SPEC_SCHEMA[field], 0);
    }

    fn known_by_schema(&mut self, path: &str, value: &Json, schema: &Json, depth: usize) {
        if depth > SCHEMA_DEPTH || schema["x-kubernetes-preserve-unknown-fields"] == true {
            return;
        }
        match (value, &schema["properties"]) {
            (Json::Array(items), _) => {
                for (index, item) in items.iter().enumerate() {
                    self.known_by_schema(&format!("{path}[{index}]"), item, &schema["items"], depth + 1);
                }
            }
            (Json::Object(fields), Json::Object(known)) => {
                let names: Vec<&str> = known.keys().map(String::as_str).collect();
                self.known_fields(path, fields, &names);
                for (name, inner) in
                    fields.iter().filter_map(|(name, value)| Some((name, (value, known.get(name)?))))
                {
                    let mut path = path.to_owned();
                    crate::field_path::push_field(&mut path, name);
                    self.known_by_schema(&path, inner.0, inner.1, depth + 1);
                }
            }
            _ => {}
        }
    }
}
