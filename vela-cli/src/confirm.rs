//! Asks a person before something is done that is hard to take back.

use std::io::{BufRead as _, IsTerminal as _, Read as _};

use crate::error::{Error, Result};
use crate::screen::Screen;

/// Bytes of an answer that are looked at.
const LONGEST_ANSWER: u64 = 64;

/// The question, and the messages for a refusal and for a run without a terminal.
pub(crate) struct Question<'a> {
    /// What is asked, without the question mark: "Delete the application shop".
    pub(crate) question: &'a str,
    /// What would be done, where standard input is no terminal.
    pub(crate) unasked: &'a str,
    /// What did not happen, after a no.
    pub(crate) declined: &'a str,
}

/// Goes on only when the person says so; where standard input is no terminal, `--yes` must have said it.
pub(crate) fn confirm(asked: &Question<'_>, screen: &mut Screen) -> Result<()> {
    let stdin = std::io::stdin();
    if !stdin.is_terminal() {
        return Err(Error::user(asked.unasked).hint("add --yes (-y) to do it without being asked").into());
    }
    screen.say(&format!("{}? [y/N]", asked.question));
    let mut answer = String::new();
    stdin
        .lock()
        .take(LONGEST_ANSWER)
        .read_line(&mut answer)
        .map_err(|error| Error::config(format!("the answer cannot be read: {error}")))?;
    match answer.trim().to_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(Error::interrupted(asked.declined).into()),
    }
}
