//! Policy `topology`: the clusters and the namespace of components. Only the local cluster is supported yet.

use serde_json::{Map, Value as Json};

use crate::diagnostic::{Code, Diagnostic, Diagnostics, NotSupported};
use crate::field_path::type_name;
use crate::parse::{AppFile, Policy};
use crate::placement::{LOCAL, Placement};
use crate::{names, nearest};

const FIELDS: &[&str] = &["clusters", "clusterLabelSelector", "allowEmpty", "namespace", "clusterSelector"];
/// The label by which a selector finds the local cluster.
const CONTROL_PLANE: &str = "cluster.core.oam.dev/control-plane";
/// The advice where another cluster is named.
const ONLY_LOCAL: &str =
    "applications run in the cluster that they are in: write `clusters: [local]`, or leave it out";

/// The places that the policy names. An unsupported place is an error with its position; a preview shows its objects in the
/// local cluster.
pub(super) fn read(
    app: &AppFile,
    policy: &Policy,
    not_supported: NotSupported,
    found: &mut Diagnostics,
) -> Vec<Placement> {
    let mut reader = Reader { app, policy, not_supported, found };
    let no_fields = Map::new();
    let fields = policy.properties.as_object().unwrap_or(&no_fields);
    reader.known(fields);
    let namespace = reader.namespace(&reader.path("namespace"), fields.get("namespace"));
    if let Some(value) = fields.get("allowEmpty").filter(|value| !value.is_boolean() && !value.is_null()) {
        reader.wrong_type(&reader.path("allowEmpty"), "true or false", value);
    }
    if fields.get("clusterSelector").is_some_and(|value| !value.is_null()) {
        let message = "clusterSelector is an older name of clusterLabelSelector and is not read";
        reader.unsupported(&reader.path("clusterSelector"), message, "write clusterLabelSelector");
    }
    let selector = fields.get("clusterLabelSelector").filter(|value| !value.is_null());
    match (fields.get("clusters").filter(|value| !value.is_null()), selector) {
        (Some(clusters), _) => reader.clusters(clusters),
        (None, Some(selector)) => reader.selector(&reader.path("clusterLabelSelector"), selector),
        (None, None) => {}
    }
    vec![Placement::new(LOCAL, namespace)]
}

/// Reads places; what is wrong is found at the field path that is given.
pub(super) struct Reader<'a> {
    pub(super) app: &'a AppFile,
    pub(super) policy: &'a Policy,
    pub(super) not_supported: NotSupported,
    pub(super) found: &'a mut Diagnostics,
}

impl Reader<'_> {
    fn path(&self, field: &str) -> String {
        format!("{}.properties.{field}", self.policy.path)
    }

    fn error(&mut self, code: Code, path: &str, message: String, hint: Option<String>) {
        let error = Diagnostic::error(code, message).hint_opt(hint);
        self.found.push(error.at(self.app.document(), path));
    }

    fn wrong_type(&mut self, path: &str, expected: &str, value: &Json) {
        let message = format!("expected {expected}, found {}", type_name(value));
        self.error(Code::WrongType, path, message, None);
    }

    pub(super) fn unsupported(&mut self, path: &str, message: impl Into<String>, hint: &str) {
        let finding = (self.not_supported)(Code::NotSupported, message.into()).hint(hint.to_owned());
        self.found.push(finding.at(self.app.document(), path));
    }

    /// An unknown field would be a place that no reader uses.
    fn known(&mut self, fields: &Map<String, Json>) {
        for name in fields.keys().filter(|name| !FIELDS.contains(&name.as_str())) {
            let mut path = format!("{}.properties", self.policy.path);
            crate::field_path::push_field(&mut path, name);
            let message = format!("unknown field {name:?} of a topology policy");
            let advice = nearest::advice(name, "fields", FIELDS[..4].iter().copied());
            let error = Diagnostic::error(Code::UnknownField, message).hint_opt(advice);
            self.found.push(error.at_key(self.app.document(), path));
        }
    }

    /// The namespace of that name; none where there is no value.
    pub(super) fn namespace(&mut self, path: &str, value: Option<&Json>) -> String {
        match value {
            None | Some(Json::Null) => String::new(),
            Some(Json::String(name)) if name.is_empty() => String::new(),
            Some(Json::String(name)) => {
                if !names::is_label(name) {
                    let message = format!("{name:?} cannot be the name of a namespace");
                    let hint = "lower-case letters, digits and inner hyphens, at most 63".to_owned();
                    self.error(Code::WrongType, path, message, Some(hint));
                } else if let Some((message, hint)) =
                    self.app.bounds().refusal_of_namespace(name, self.app.namespace())
                {
                    self.error(Code::Refused, path, message, Some(hint));
                }
                name.clone()
            }
            Some(other) => {
                self.wrong_type(path, "the name of a namespace", other);
                String::new()
            }
        }
    }

    /// Only the local cluster may be named.
    fn clusters(&mut self, value: &Json) {
        let path = self.path("clusters");
        let Some(names) = value.as_array() else {
            return self.wrong_type(&path, "a list of names of clusters", value);
        };
        if names.is_empty() {
            let message =
                "an empty list of clusters places the components nowhere, which is not supported yet";
            self.unsupported(&path, message, ONLY_LOCAL);
        }
        for (index, name) in names.iter().enumerate() {
            self.cluster(&format!("{path}[{index}]"), name);
        }
    }

    /// One cluster, which must be the local one.
    pub(super) fn cluster(&mut self, path: &str, value: &Json) {
        match value.as_str() {
            Some(LOCAL) => {}
            Some(name) => {
                let message = format!("cluster {name:?}: other clusters are not supported yet");
                self.unsupported(path, message, ONLY_LOCAL);
            }
            None => self.wrong_type(path, "the name of a cluster", value),
        }
    }

    /// Only the local cluster may be selected, by its label or by no label at all, which selects every cluster.
    pub(super) fn selector(&mut self, path: &str, value: &Json) {
        let Some(labels) = value.as_object() else {
            return self.wrong_type(path, "labels", value);
        };
        let is_local = labels.iter().all(|(label, value)| label == CONTROL_PLANE && value == "true");
        if !is_local {
            let message = "these labels select other clusters, which are not supported yet";
            self.unsupported(path, message, ONLY_LOCAL);
        }
    }
}
