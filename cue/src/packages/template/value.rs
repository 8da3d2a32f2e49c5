//! Data in, the values that a template sees out: their kinds as Go has them, truth, order of keys.

use std::rc::Rc;

use num_bigint::BigInt;
use num_traits::ToPrimitive as _;

use super::super::Data;

/// Which of Go's integer types a number has; only type names and error texts tell them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Width {
    /// `int`: constants, lengths and indices.
    Int,
    /// `int64`: integers of the data.
    Int64,
    /// `uint8`: bytes of texts.
    Uint8,
}

/// A value of a template.
#[derive(Debug, Clone)]
pub(super) enum Value {
    /// The value of an absent field.
    Missing,
    /// `null`.
    Nil,
    Bool(bool),
    Int(i64, Width),
    /// An integer beyond 64 bits.
    Big(Rc<BigInt>),
    /// A number beyond the range of floats, as text.
    BigFloat(Rc<str>),
    Float(f64),
    Text(Rc<str>),
    Bytes(Rc<[u8]>),
    List(Rc<[Value]>),
    /// Fields, sorted by name.
    Map(Rc<[(Rc<str>, Value)]>),
}

impl Value {
    /// The template's view of concrete data.
    pub(super) fn of(data: &Data) -> Self {
        match data {
            Data::Null | Data::Opaque(_) => Self::Nil,
            Data::Bool(value) => Self::Bool(*value),
            Data::Number { value, is_float } => {
                let integer = if *is_float { None } else { value.to_bigint() };
                match integer {
                    Some(integer) => match integer.to_i64() {
                        Some(small) => Self::Int(small, Width::Int64),
                        None => Self::Big(Rc::new(integer)),
                    },
                    None => match value.to_f64() {
                        float if float.is_finite() => Self::Float(float),
                        _ => Self::BigFloat(value.to_scientific('e').into()),
                    },
                }
            }
            Data::String(text) => Self::Text(text.as_str().into()),
            Data::Bytes(bytes) => Self::Bytes(bytes.as_slice().into()),
            Data::List(items) => Self::List(items.iter().map(Self::of).collect()),
            Data::Struct(fields) => {
                let mut sorted: Vec<(Rc<str>, Self)> =
                    fields.iter().map(|(name, value)| (name.as_str().into(), Self::of(value))).collect();
                sorted.sort_by(|a, b| a.0.cmp(&b.0));
                Self::Map(sorted.into())
            }
        }
    }

    pub(super) fn int(value: usize) -> Self {
        Self::Int(i64::try_from(value).unwrap_or(i64::MAX), Width::Int)
    }

    pub(super) fn text(text: impl Into<Rc<str>>) -> Self {
        Self::Text(text.into())
    }

    /// Go's name of the type.
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Self::Missing | Self::Nil => "<nil>",
            Self::Bool(_) => "bool",
            Self::Int(_, Width::Int) => "int",
            Self::Int(_, Width::Int64) => "int64",
            Self::Int(_, Width::Uint8) => "uint8",
            Self::Big(_) => "*big.Int",
            Self::BigFloat(_) => "*big.Float",
            Self::Float(_) => "float64",
            Self::Text(_) => "string",
            Self::Bytes(_) => "[]uint8",
            Self::List(_) => "[]interface {}",
            Self::Map(_) => "map[string]interface {}",
        }
    }

    pub(super) fn is_nil(&self) -> bool {
        matches!(self, Self::Missing | Self::Nil)
    }

    /// Whether `if` takes its first branch.
    pub(super) fn is_true(&self) -> bool {
        match self {
            Self::Missing | Self::Nil => false,
            Self::Bool(value) => *value,
            Self::Int(value, _) => *value != 0,
            Self::Big(_) | Self::BigFloat(_) => true,
            Self::Float(value) => *value != 0.0,
            Self::Text(text) => !text.is_empty(),
            Self::Bytes(bytes) => !bytes.is_empty(),
            Self::List(items) => !items.is_empty(),
            Self::Map(fields) => !fields.is_empty(),
        }
    }

    /// The field of a map.
    pub(super) fn get(&self, name: &str) -> Option<&Self> {
        let Self::Map(fields) = self else { return None };
        let at = fields.binary_search_by(|(known, _)| (**known).cmp(name)).ok()?;
        Some(&fields[at].1)
    }
}
