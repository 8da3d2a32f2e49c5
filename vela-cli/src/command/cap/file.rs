//! The files of a capability centre, wherever they are read: which are read, and how many and large they may be.

use std::path::{Component, Path};

use crate::error::{Error, Failure, Result};
use crate::input;

/// Bytes of a file.
pub(super) const LARGEST: usize = 1024 * 1024;
/// Files of a centre: more are a folder chosen by mistake.
const MOST_FILES: usize = 500;
/// What to do where a server is not read.
pub(super) const INSTEAD: &str = "give its folder as the address";
/// A file of a centre.
pub(super) struct File {
    /// What messages call it.
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
}

/// Is it a file to read, as the next after so many?
pub(super) fn is_wanted(name: &str, so_far: usize) -> Result<bool> {
    if !input::may_hold_definitions(name) {
        return Ok(false);
    }
    if so_far >= MOST_FILES {
        let error = Error::user(format!("it holds more than {MOST_FILES} files of definitions"));
        return Err(error.hint("name a smaller folder").into());
    }
    Ok(true)
}

pub(super) fn too_large(name: &str) -> Failure {
    Error::user(format!("{name} is larger than {} MiB, which no definition is", LARGEST >> 20)).into()
}

/// A name between two slashes: it leads nowhere else, and is no flag.
pub(super) fn is_part(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._~%+".contains(c);
    let is_normal = matches!(Path::new(text).components().next(), Some(Component::Normal(_)));
    is_normal
        && !text.starts_with('-')
        && text.chars().all(is_plain)
        && !["%2e", "%2f"].iter().any(|code| text.to_lowercase().contains(code))
}
