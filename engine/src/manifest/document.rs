//! One object or other value of a manifest, with the positions of its fields.

use std::sync::Arc;

use serde_json::Value as Json;

use super::places::Places;
use crate::diagnostic::{Diagnostic, Diagnostics};

/// One object or other value of a manifest, with the positions of its fields.
#[derive(Debug, Clone)]
pub struct Document {
    pub(super) value: Json,
    pub(super) places: Arc<Places>,
    /// Almost always none: no room is kept for them.
    pub(super) warnings: Option<Arc<Diagnostics>>,
}

impl Document {
    /// A document made from an object that did not come from a text (fetched from a cluster): no positions. An
    /// Application is read in the form its author wrote, also where the cluster converted it.
    pub fn from_object(value: Json) -> Self {
        Self::new(vela_crds::application::as_written(value), Places::none())
    }

    pub(crate) fn new(value: Json, places: Places) -> Self {
        Self { value, places: Arc::new(places), warnings: None }
    }

    /// The same with what is doubtful about its text.
    pub(crate) fn with_warnings(mut self, warnings: Diagnostics) -> Self {
        let title = self.title();
        let named = |warning: Diagnostic| Diagnostic { object: title.clone(), ..warning };
        let warnings: Diagnostics = warnings.into_iter().map(named).collect();
        self.warnings = (!warnings.is_empty()).then(|| Arc::new(warnings));
        self
    }

    /// The warnings about its text: fields that are written twice.
    pub fn warnings(&self) -> impl Iterator<Item = &Diagnostic> {
        self.warnings.iter().flat_map(|warnings| warnings.iter())
    }

    /// The value as JSON.
    pub fn value(&self) -> &Json {
        &self.value
    }

    /// The value, without the positions.
    pub fn into_value(self) -> Json {
        self.value
    }

    /// Where its fields stand.
    pub fn places(&self) -> &Places {
        &self.places
    }

    /// Where its fields stand, to be kept.
    pub(crate) fn shared_places(&self) -> Arc<Places> {
        Arc::clone(&self.places)
    }

    /// The same positions under another value (used after a conversion between API versions).
    #[must_use]
    pub fn with_value(&self, value: Json) -> Self {
        Self { value, places: Arc::clone(&self.places), warnings: self.warnings.clone() }
    }

    /// The document in `namespace` unless it names one itself; the places of its fields stay.
    #[must_use]
    pub fn in_namespace(&self, namespace: &str) -> Self {
        if !self.namespace().is_empty() {
            return self.clone();
        }
        let mut value = self.value.clone();
        if let Some(metadata) = value.get_mut("metadata").and_then(Json::as_object_mut) {
            metadata.insert("namespace".to_owned(), Json::String(namespace.to_owned()));
        }
        self.with_value(value)
    }

    /// `apiVersion`, or "".
    pub fn api_version(&self) -> &str {
        self.text(&["apiVersion"])
    }

    /// `kind`, or "".
    pub fn kind(&self) -> &str {
        self.text(&["kind"])
    }

    /// `metadata.name`, or "".
    pub fn name(&self) -> &str {
        self.text(&["metadata", "name"])
    }

    /// `metadata.namespace`, or "".
    pub fn namespace(&self) -> &str {
        self.text(&["metadata", "namespace"])
    }

    /// How people call it: `Application default/web`.
    pub fn title(&self) -> String {
        match (self.kind(), self.namespace(), self.name()) {
            ("", _, _) => String::new(),
            (kind, _, "") => kind.to_owned(),
            (kind, "", name) => format!("{kind} {name}"),
            (kind, namespace, name) => format!("{kind} {namespace}/{name}"),
        }
    }

    fn text(&self, path: &[&str]) -> &str {
        path.iter().try_fold(&self.value, |value, key| value.get(key)).and_then(Json::as_str).unwrap_or("")
    }
}

impl Diagnostic {
    /// The same with its field path and the manifest place of that field.
    #[must_use]
    pub fn at(mut self, document: &Document, path: impl Into<String>) -> Self {
        self.path = path.into();
        self.object = document.title();
        self.manifest = document.places().value(&self.path);
        self
    }

    /// Like [`Diagnostic::at`], but pointing at the field's name instead of its value.
    #[must_use]
    pub fn at_key(mut self, document: &Document, path: impl Into<String>) -> Self {
        self.path = path.into();
        self.object = document.title();
        self.manifest = document.places().key(&self.path);
        self
    }
}
