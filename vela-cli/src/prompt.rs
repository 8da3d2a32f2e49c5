//! Asks a person for a line of text.

use std::io::{BufRead as _, Read as _};

use crate::error::{Error, Result};
use crate::screen::Screen;

/// Bytes of an answer that are taken.
const LONGEST_ANSWER: u64 = 16 * 1024;

/// What the person wrote, without blanks around it; Ctrl-D ends the command.
pub(crate) fn line(question: &str, screen: &mut Screen) -> Result<String> {
    screen.say(question);
    let mut answer = String::new();
    let read = std::io::stdin()
        .lock()
        .take(LONGEST_ANSWER)
        .read_line(&mut answer)
        .map_err(|error| Error::config(format!("the answer cannot be read: {error}")))?;
    match read {
        0 => Err(Error::interrupted("the answers ended before the last question").into()),
        _ => Ok(answer.trim().to_owned()),
    }
}
