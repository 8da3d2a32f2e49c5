//! The plain values that builtin functions take and give.

use rustc_hash::FxHashMap;

use crate::number::{Decimal, NumberError};

/// A set of kinds of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kinds(pub u16);

impl Kinds {
    /// No kind.
    pub const NONE: Self = Self(0);
    /// `null`.
    pub const NULL: Self = Self(1);
    /// `bool`.
    pub const BOOL: Self = Self(2);
    /// `int`.
    pub const INT: Self = Self(4);
    /// `float`.
    pub const FLOAT: Self = Self(8);
    /// `number`.
    pub const NUMBER: Self = Self(12);
    /// `string`.
    pub const STRING: Self = Self(16);
    /// `bytes`.
    pub const BYTES: Self = Self(32);
    /// Lists.
    pub const LIST: Self = Self(64);
    /// Structs.
    pub const STRUCT: Self = Self(128);
    /// Functions: no value has this kind, but `_` and `!=null` do not rule it out.
    pub const FUNC: Self = Self(256);
    /// Every kind.
    pub const TOP: Self = Self(511);

    /// The union.
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether the two sets share a kind.
    pub const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// A concrete value.
#[derive(Debug, Clone, PartialEq)]
pub enum Data {
    /// `null`.
    Null,
    /// `true`, `false`.
    Bool(bool),
    /// A number and its kind.
    Number {
        /// The value.
        value: Decimal,
        /// float, not int.
        is_float: bool,
    },
    /// Text.
    String(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// Elements in order.
    List(Vec<Data>),
    /// Regular fields in order.
    Struct(Vec<(String, Data)>),
    /// A value of the evaluator, handed through by its number.
    Opaque(usize),
}

/// Why a function gives no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// The call can never succeed with these arguments.
    Error(String),
    /// The value [`Data::Opaque`] of that number would have to be concrete.
    Incomplete(usize),
    /// The result would be larger, or take longer, than any evaluation may.
    Budget(String),
}

impl Failure {
    /// A failure with that message.
    pub fn error(message: impl Into<String>) -> Self {
        Self::Error(message.into())
    }
}

impl From<NumberError> for Failure {
    fn from(error: NumberError) -> Self {
        Self::Error(error.to_string())
    }
}

impl Data {
    /// An integer.
    pub fn int(value: impl Into<Decimal>) -> Self {
        Self::Number { value: value.into(), is_float: false }
    }

    /// A float.
    pub fn float(value: Decimal) -> Self {
        Self::Number { value, is_float: true }
    }

    /// The result of decimal arithmetic: an int when it has no fraction.
    pub fn number(value: Decimal) -> Self {
        match value.to_bigint() {
            Some(integer) if value.adjusted_exponent() <= i64::from(crate::number::MAX_EXPONENT) => {
                Self::Number { value: Decimal::from(integer), is_float: false }
            }
            _ => Self::Number { is_float: !value.is_integral(), value },
        }
    }

    /// Text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::String(text.into())
    }

    /// A list of texts.
    pub fn texts<S: Into<String>>(items: impl IntoIterator<Item = S>) -> Self {
        Self::List(items.into_iter().map(|s| Self::String(s.into())).collect())
    }

    /// The value's kind.
    pub fn kind(&self) -> Kinds {
        match self {
            Self::Null => Kinds::NULL,
            Self::Bool(_) => Kinds::BOOL,
            Self::Number { is_float: false, .. } => Kinds::INT,
            Self::Number { is_float: true, .. } => Kinds::FLOAT,
            Self::String(_) => Kinds::STRING,
            Self::Bytes(_) => Kinds::BYTES,
            Self::List(_) => Kinds::LIST,
            Self::Struct(_) => Kinds::STRUCT,
            Self::Opaque(_) => Kinds::TOP,
        }
    }

    /// The number of a value of the evaluator inside this one, if there is any.
    pub fn opaque(&self) -> Option<usize> {
        match self {
            Self::Opaque(number) => Some(*number),
            Self::List(items) => items.iter().find_map(Self::opaque),
            Self::Struct(fields) => fields.iter().find_map(|(_, value)| value.opaque()),
            _ => None,
        }
    }

    /// The same data with every name once in each struct: values of one name must agree, structs are joined.
    ///
    /// # Errors
    /// A name that stands for different values.
    pub fn with_names_once(self) -> Result<Self, Failure> {
        match self {
            Self::List(items) => {
                items.into_iter().map(Self::with_names_once).collect::<Result<_, _>>().map(Self::List)
            }
            Self::Struct(fields) => {
                let mut places: FxHashMap<String, usize> = FxHashMap::default();
                let mut once: Vec<(String, Self)> = Vec::with_capacity(fields.len());
                for (name, value) in fields {
                    let value = value.with_names_once()?;
                    match places.get(&name) {
                        Some(at) => once[*at].1.join(value)?,
                        None => {
                            places.insert(name.clone(), once.len());
                            once.push((name, value));
                        }
                    }
                }
                Ok(Self::Struct(once))
            }
            other => Ok(other),
        }
    }

    fn join(&mut self, other: Self) -> Result<(), Failure> {
        match (self, other) {
            (Self::Struct(fields), Self::Struct(more)) => {
                for (name, value) in more {
                    match fields.iter_mut().find(|(known, _)| *known == name) {
                        Some((_, known)) => known.join(value)?,
                        None => fields.push((name, value)),
                    }
                }
                Ok(())
            }
            (known, value) if *known == value => Ok(()),
            _ => Err(Failure::error("a field stands twice with different values")),
        }
    }
}
