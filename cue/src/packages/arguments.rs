//! A call's arguments in, typed values out, with a message that names the argument.

use super::{Data, Failure};
use crate::number::Decimal;

/// Longest text or list a function makes: far above any real configuration, far below what exhausts memory.
pub(super) const MAX_RESULT: usize = 1 << 25;

fn wrong<T>(arguments: &[Data], index: usize, expected: &str) -> Result<T, Failure> {
    match arguments.get(index) {
        Some(Data::Opaque(number)) => Err(Failure::Incomplete(*number)),
        Some(_) => Err(Failure::Error(format!("argument {} must be {expected}", index + 1))),
        None => Err(Failure::Error(format!("argument {} is missing", index + 1))),
    }
}

pub(super) fn text(arguments: &[Data], index: usize) -> Result<&str, Failure> {
    match arguments.get(index) {
        Some(Data::String(text)) => Ok(text),
        Some(Data::Bytes(bytes)) => std::str::from_utf8(bytes)
            .map_err(|_| Failure::error(format!("argument {} is not valid UTF-8", index + 1))),
        _ => wrong(arguments, index, "a string"),
    }
}

pub(super) fn bytes(arguments: &[Data], index: usize) -> Result<&[u8], Failure> {
    match arguments.get(index) {
        Some(Data::String(text)) => Ok(text.as_bytes()),
        Some(Data::Bytes(bytes)) => Ok(bytes),
        _ => wrong(arguments, index, "a string or bytes"),
    }
}

pub(super) fn number(arguments: &[Data], index: usize) -> Result<&Decimal, Failure> {
    match arguments.get(index) {
        Some(Data::Number { value, .. }) => Ok(value),
        _ => wrong(arguments, index, "a number"),
    }
}

pub(super) fn integer(arguments: &[Data], index: usize) -> Result<i64, Failure> {
    let value = number(arguments, index)?;
    // A number that still fits an unsigned integer of 64 bits counts as the largest signed one.
    let unsigned = || value.to_u64().map(|_| i64::MAX);
    value
        .to_i64()
        .or_else(unsigned)
        .ok_or_else(|| Failure::error(format!("argument {} is not an integer of 64 bits", index + 1)))
}

pub(super) fn size(arguments: &[Data], index: usize, name: &str) -> Result<usize, Failure> {
    let value = integer(arguments, index)?;
    usize::try_from(value).map_err(|_| Failure::error(format!("negative {name}")))
}

pub(super) fn boolean(arguments: &[Data], index: usize) -> Result<bool, Failure> {
    match arguments.get(index) {
        Some(Data::Bool(value)) => Ok(*value),
        _ => wrong(arguments, index, "a bool"),
    }
}

pub(super) fn list(arguments: &[Data], index: usize) -> Result<&[Data], Failure> {
    match arguments.get(index) {
        Some(Data::List(items)) => Ok(items),
        _ => wrong(arguments, index, "a list"),
    }
}

pub(super) fn any(arguments: &[Data], index: usize) -> Result<&Data, Failure> {
    match arguments.get(index) {
        Some(Data::Opaque(_)) | None => wrong(arguments, index, "a value"),
        Some(value) => Ok(value),
    }
}

pub(super) fn texts(arguments: &[Data], index: usize) -> Result<Vec<&str>, Failure> {
    list(arguments, index)?
        .iter()
        .enumerate()
        .map(|(at, item)| match item {
            Data::String(text) => Ok(text.as_str()),
            Data::Opaque(number) => Err(Failure::Incomplete(*number)),
            _ => Err(Failure::error(format!("element {at} of argument {} must be a string", index + 1))),
        })
        .collect()
}

pub(super) fn numbers(arguments: &[Data], index: usize) -> Result<Vec<&Decimal>, Failure> {
    list(arguments, index)?
        .iter()
        .enumerate()
        .map(|(at, item)| match item {
            Data::Number { value, .. } => Ok(value),
            Data::Opaque(number) => Err(Failure::Incomplete(*number)),
            _ => Err(Failure::error(format!("element {at} of argument {} must be a number", index + 1))),
        })
        .collect()
}
