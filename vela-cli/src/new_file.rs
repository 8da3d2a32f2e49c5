//! Writes a file that is not there yet; what users have is never overwritten.

use std::io::Write as _;
use std::path::Path;

use crate::error::{Error, Result};

/// Refuses a path where something lies already.
pub(crate) fn must_be_free(path: &Path) -> Result<()> {
    if path.exists() { Err(taken(path).into()) } else { Ok(()) }
}

pub(crate) fn write(path: &Path, text: &str) -> Result<()> {
    let name = path.display();
    let mut file = std::fs::File::create_new(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => taken(path),
        _ => Error::user(format!("{name} cannot be created: {error}")),
    })?;
    file.write_all(text.as_bytes())
        .map_err(|error| Error::config(format!("{name} cannot be written: {error}")).into())
}

fn taken(path: &Path) -> Error {
    Error::user(format!("{} is there already", path.display()))
        .hint("name another file with --output (-o), or remove this one")
}
