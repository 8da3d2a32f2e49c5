//! Reads the fields of an object; what is not as it must be is an error that names object and field.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use crate::duration;
use crate::error::Error;

/// Absent fields read as this.
static NULL: Value = Value::Null;

/// One field of an object, there or not.
#[derive(Clone, Debug)]
pub struct Field<'a> {
    object: &'a str,
    path: String,
    value: &'a Value,
}

impl<'a> Field<'a> {
    /// A field of an object, which is named in errors.
    #[must_use]
    pub fn new(object: &'a str, path: &str, value: &'a Value) -> Self {
        Self { object, path: path.to_owned(), value }
    }

    /// A field within this one; absent where this one is no object or has no such field.
    #[must_use]
    pub fn get(&self, name: &str) -> Self {
        let value = self.value.get(name).unwrap_or(&NULL);
        Self { object: self.object, path: format!("{}.{name}", self.path), value }
    }

    /// Is there a value?
    #[must_use]
    pub fn is_set(&self) -> bool {
        !self.value.is_null()
    }

    /// The field, where it is set.
    #[must_use]
    pub fn set(self) -> Option<Self> {
        self.is_set().then_some(self)
    }

    /// Its path within the object.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// As it stands.
    #[must_use]
    pub fn value(&self) -> &'a Value {
        self.value
    }

    /// A copy of what stands there; an empty object where nothing does.
    #[must_use]
    pub fn or_empty(&self) -> Value {
        if self.is_set() { self.value.clone() } else { Value::Object(serde_json::Map::new()) }
    }

    /// An error about this field.
    #[must_use]
    pub fn wrong(&self, expected: impl Into<String>) -> Error {
        Error::Field { object: self.object.to_owned(), field: self.path.clone(), expected: expected.into() }
    }

    /// A text that must be there.
    ///
    /// # Errors
    /// It is not there, empty, or no text.
    pub fn text(&self) -> Result<&'a str, Error> {
        self.text_or_none()?.filter(|text| !text.is_empty()).ok_or_else(|| self.wrong("must be given"))
    }

    /// A text, or nothing.
    ///
    /// # Errors
    /// Something else stands there.
    pub fn text_or_none(&self) -> Result<Option<&'a str>, Error> {
        match self.value {
            Value::Null => Ok(None),
            Value::String(text) => Ok(Some(text)),
            _ => Err(self.wrong("must be a text: put it in quotes")),
        }
    }

    /// A text, or another one where nothing stands.
    ///
    /// # Errors
    /// Something else stands there.
    pub fn text_or(&self, otherwise: &'a str) -> Result<&'a str, Error> {
        Ok(self.text_or_none()?.filter(|text| !text.is_empty()).unwrap_or(otherwise))
    }

    /// A whole number, or nothing.
    ///
    /// # Errors
    /// Something else stands there.
    pub fn number(&self) -> Result<Option<i64>, Error> {
        match self.value {
            Value::Null => Ok(None),
            value => value.as_i64().map(Some).ok_or_else(|| self.wrong("must be a whole number")),
        }
    }

    /// A whole number, or another one where nothing stands.
    ///
    /// # Errors
    /// Something else stands there.
    pub fn number_or(&self, otherwise: i64) -> Result<i64, Error> {
        Ok(self.number()?.unwrap_or(otherwise))
    }

    /// True or false; false where nothing stands.
    ///
    /// # Errors
    /// Something else stands there.
    pub fn flag(&self) -> Result<bool, Error> {
        self.flag_or(false)
    }

    /// True or false, or another one where nothing stands.
    ///
    /// # Errors
    /// Something else stands there.
    pub fn flag_or(&self, otherwise: bool) -> Result<bool, Error> {
        match self.value {
            Value::Null => Ok(otherwise),
            Value::Bool(flag) => Ok(*flag),
            _ => Err(self.wrong("must be true or false")),
        }
    }

    /// A duration, or nothing.
    ///
    /// # Errors
    /// Something else stands there.
    pub fn duration(&self) -> Result<Option<Duration>, Error> {
        let Some(text) = self.text_or_none()? else { return Ok(None) };
        let read = duration::parse(text);
        read.map(Some)
            .ok_or_else(|| self.wrong(format!("{text:?} is no duration: write one such as 90s or 1h30m")))
    }

    /// A duration, or this many seconds where nothing stands.
    ///
    /// # Errors
    /// Something else stands there.
    pub fn duration_or(&self, seconds: u64) -> Result<Duration, Error> {
        Ok(self.duration()?.unwrap_or(Duration::from_secs(seconds)))
    }

    /// The items of a list; none where nothing stands.
    ///
    /// # Errors
    /// Something else stands there.
    pub fn list(&self) -> Result<Vec<Self>, Error> {
        match self.value {
            Value::Null => Ok(Vec::new()),
            Value::Array(items) => {
                let item =
                    |(at, value)| Self { object: self.object, path: format!("{}[{at}]", self.path), value };
                Ok(items.iter().enumerate().map(item).collect())
            }
            _ => Err(self.wrong("must be a list")),
        }
    }

    /// The texts of a list.
    ///
    /// # Errors
    /// Something else stands there.
    pub fn texts(&self) -> Result<Vec<&'a str>, Error> {
        self.list()?.iter().map(Self::text).collect()
    }

    /// The texts of a map.
    ///
    /// # Errors
    /// Something else stands there.
    pub fn map(&self) -> Result<BTreeMap<&'a str, &'a str>, Error> {
        match self.value {
            Value::Null => Ok(BTreeMap::new()),
            Value::Object(map) => map
                .iter()
                .map(|(name, _)| Ok((name.as_str(), self.get(name).text_or_none()?.unwrap_or_default())))
                .collect(),
            _ => Err(self.wrong("must be a map of texts")),
        }
    }
}
