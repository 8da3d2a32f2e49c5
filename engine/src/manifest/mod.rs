//! Reads YAML or JSON into documents with the position of every field; knows nothing of Applications.
//!
//! The text is read with a YAML event parser (JSON is YAML). Plain scalars mean what Kubernetes clients
//! mean by them (`yes`, `on`, `y` are booleans, `014` is twelve): see [`scalar`]. Every syntax error of
//! the text is reported together, each with its place.

mod build;
mod document;
mod limits;
mod places;
pub mod scalar;

use std::sync::Arc;

use serde_json::Value as Json;

pub use document::Document;
pub use limits::{DEPTH_LIMIT, DOCUMENT_LIMIT, TEXT_LIMIT, VALUE_LIMIT};
pub(crate) use places::Lines;
pub use places::{Places, Position};

use crate::diagnostic::Diagnostics;

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
///
/// # Errors
/// Where the text is no YAML, or means what no document can say.
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
