//! One stored object at one resource version, and where it lies.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use serde_json::Value;

/// One stored object at one resource version, as value and as JSON text; one of them is made from the other when it is
/// first asked for.
#[derive(Debug)]
pub struct Entry {
    value: OnceLock<Arc<Value>>,
    revision: u64,
    json: OnceLock<Bytes>,
}

impl Entry {
    pub(crate) fn new(value: Value, revision: u64) -> Self {
        Self { value: OnceLock::from(Arc::new(value)), revision, json: OnceLock::new() }
    }

    /// The same state as text alone, which takes a tenth of the space of a value.
    pub(crate) fn packed(&self) -> Self {
        Self { value: OnceLock::new(), revision: self.revision, json: OnceLock::from(self.json()) }
    }

    fn parsed(&self) -> &Arc<Value> {
        self.value.get_or_init(|| Arc::new(self.parse()))
    }

    fn parse(&self) -> Value {
        // An entry is made of a value or of the text of one, so there always is a text to read here.
        let text = self.json.get().map(Bytes::as_ref).unwrap_or_default();
        serde_json::from_slice(text).unwrap_or_default()
    }

    /// The same state to be read as a value now. An object kept as text stays so: the value goes with the answer.
    pub(crate) fn opened(self: &Arc<Self>) -> Arc<Self> {
        if self.value.get().is_some() {
            return self.clone();
        }
        let value = OnceLock::from(Arc::new(self.parse()));
        Arc::new(Self { value, revision: self.revision, json: self.json.clone() })
    }

    /// Whether this state is kept as text.
    #[cfg(test)]
    pub(crate) fn is_text(&self) -> bool {
        self.value.get().is_none()
    }

    /// Whether the object was written in this version, read from the text alone where there is no value.
    pub(crate) fn is_of(&self, api_version: &str) -> bool {
        if let Some(value) = self.value.get() {
            return value["apiVersion"] == api_version;
        }
        // Fields are ordered by name, and hardly any kind has one before this.
        let text = self.json.get().map(Bytes::as_ref).unwrap_or_default();
        let begins = text
            .strip_prefix(b"{\"apiVersion\":\"")
            .and_then(|rest| rest.strip_prefix(api_version.as_bytes()));
        begins.is_some_and(|rest| rest.first() == Some(&b'"')) || self.parse()["apiVersion"] == api_version
    }

    /// Whether a field of this name may be somewhere in the object, read from the text alone where there is no value.
    pub(crate) fn mentions(&self, field: &str) -> bool {
        std::str::from_utf8(&self.json()).is_ok_and(|text| text.contains(field))
    }

    /// The resource version at which this state was written.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The object as JSON text.
    pub fn json(&self) -> Bytes {
        self.json.get_or_init(|| Bytes::from(self.parsed().to_string())).clone()
    }

    /// The object, shared. An object kept as text stays so.
    pub fn shared(&self) -> Arc<Value> {
        self.value.get().cloned().unwrap_or_else(|| Arc::new(self.parse()))
    }

    /// The object.
    pub fn value(&self) -> &Value {
        self.parsed()
    }
}

impl Deref for Entry {
    type Target = Value;

    fn deref(&self) -> &Value {
        self.parsed()
    }
}

/// Where an object lies: `deployments.apps`, namespace (empty for cluster scope), name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Plural and group, `deployments.apps`, or just the plural in the core group.
    pub resource: Arc<str>,
    /// The namespace, or empty.
    pub namespace: String,
    /// The name.
    pub name: String,
}
