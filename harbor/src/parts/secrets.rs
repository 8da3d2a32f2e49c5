//! The keys of secrets that objects name, and what is read of them while children are built.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::error::Error;
use crate::field::Field;

/// Key of a secret with one value.
pub(crate) const SINGLE: &str = "secret";
/// Key of a password of PostgreSQL.
pub(crate) const POSTGRESQL: &str = "postgresql-password";
/// Key of a password of Redis.
pub(crate) const REDIS: &str = "redis-password";

/// The objects beside the owner that its children are built of, by kind and name.
#[derive(Clone, Debug, Default)]
pub struct Found(BTreeMap<(String, String), Value>);

impl Found {
    /// None.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an object.
    pub fn add(&mut self, object: Value) {
        let text = |path| object.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
        self.0.insert((text("/kind"), text("/metadata/name")), object);
    }

    /// An object.
    #[must_use]
    pub fn get(&self, kind: &str, name: &str) -> Option<&Value> {
        self.0.get(&(kind.to_owned(), name.to_owned()))
    }

    /// The value of a key of the secret that a field names; an empty one where the field names none.
    pub(crate) fn secret(&self, object: &str, field: &Field<'_>, key: &str) -> Result<String, Error> {
        let Some(name) = field.text_or_none()?.filter(|name| !name.is_empty()) else {
            return Ok(String::new());
        };
        let path = field.path().to_owned();
        let Some(secret) = self.get("Secret", name) else {
            let (object, kind) = (object.to_owned(), "Secret".to_owned());
            return Err(Error::Missing { object, field: path, kind, name: name.to_owned() });
        };
        let plain = secret["stringData"][key].as_str().map(str::to_owned);
        let encoded = || STANDARD.decode(secret["data"][key].as_str()?).ok();
        plain.or_else(|| String::from_utf8(encoded()?).ok()).ok_or_else(|| Error::NoKey {
            object: object.to_owned(),
            field: path,
            name: name.to_owned(),
            key: key.to_owned(),
        })
    }
}
