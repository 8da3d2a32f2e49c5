//! Text of YAML or JSON → documents with the position of every field; may not know what an Application is.
//!
//! The text is read with a YAML event parser (JSON is YAML). Plain scalars mean what Kubernetes clients
//! mean by them (`yes`, `on`, `y` are booleans, `014` is twelve): see [`scalar`]. Every syntax error of
//! the text is reported together, each with its place.

mod build;
mod places;
pub mod scalar;

use std::sync::Arc;

use serde_json::Value as Json;

pub(crate) use places::Lines;
pub use places::{Places, Position};

use crate::diagnostic::{Diagnostic, Diagnostics};

/// Larger texts are refused: an object larger than this cannot be stored in etcd by far.
pub const TEXT_LIMIT: usize = 16 << 20;
/// More documents in one text are refused.
pub const DOCUMENT_LIMIT: usize = 10_000;
/// More values (after aliases are written out) in one text are refused: small texts can name very many.
pub const VALUE_LIMIT: usize = 1_000_000;
/// Deeper nesting (after aliases are written out) is refused, so that no later walk runs out of stack.
pub const DEPTH_LIMIT: usize = 200;

/// One object or other value of a manifest, with the positions of its fields.
#[derive(Debug, Clone)]
pub struct Document {
    value: Json,
    places: Arc<Places>,
    /// Almost always none: no room is kept for them.
    warnings: Option<Arc<Diagnostics>>,
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

    /// What is doubtful about its text: fields that are written twice.
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

/// The documents of one text, in order; empty documents are left out and `kind: List` is opened.
#[derive(Debug, Clone, Default)]
pub struct Documents(Vec<Document>);

impl Documents {
    /// The documents in order.
    pub fn as_slice(&self) -> &[Document] {
        &self.0
    }

    /// Each document in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Document> {
        self.0.iter()
    }

    /// The documents of another text after these.
    pub fn extend(&mut self, other: Documents) {
        self.0.extend(other.0);
    }
}

impl IntoIterator for Documents {
    type Item = Document;
    type IntoIter = std::vec::IntoIter<Document>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// Reads every document of `text`; `name` is what diagnostics call the text.
pub fn read(name: &str, text: &str) -> Result<Documents, Diagnostics> {
    let file: Arc<str> = Arc::from(name);
    let values = build::documents(&file, text)?;
    let mut documents = Vec::with_capacity(values.len());
    for document in values {
        open_list(document, &mut documents);
    }
    Ok(Documents(documents))
}

/// A `List` is its items, of which the first has what is doubtful about the list; anything else is itself.
fn open_list(document: Document, into: &mut Vec<Document>) {
    let is_list = document.kind() == "List" && document.api_version() == "v1";
    let Document { value, places, warnings } = document;
    match value {
        Json::Object(mut object) if is_list => {
            let mut warnings = warnings;
            if let Some(Json::Array(items)) = object.remove("items") {
                for (index, item) in items.into_iter().enumerate() {
                    let item = Document::new(item, places.under(&["items"], Some(index)));
                    into.push(Document { warnings: warnings.take(), ..item });
                }
            }
        }
        value => into.push(Document { value, places, warnings }),
    }
}
