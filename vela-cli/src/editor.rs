//! Hands a file to the editor of the user, and waits until it is closed.

use std::path::Path;
use std::process::Command;

use crate::error::{Error, Result};

/// Where users name their editor, in the order of other programs.
const VARIABLES: [&str; 2] = ["VISUAL", "EDITOR"];
const USUAL: &str = "vi";

/// Returns when the editor has ended well.
pub(crate) fn edit(path: &Path) -> Result<()> {
    let chosen = VARIABLES.iter().filter_map(|name| std::env::var(name).ok());
    let editor = chosen.into_iter().find(|text| !text.trim().is_empty()).unwrap_or_else(|| USUAL.to_owned());
    // Arguments may follow the program, as in "code --wait".
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or(USUAL);
    let ended = Command::new(program).args(words).arg(path).status().map_err(|error| {
        Error::config(format!("the editor {program:?} cannot be started: {error}"))
            .hint("name another in the environment variable EDITOR")
    })?;
    match ended.success() {
        true => Ok(()),
        false => Err(Error::user(format!("the editor {program:?} ended with {ended}"))
            .hint("nothing was changed; EDITOR names another editor")
            .into()),
    }
}
