//! The terminal that this program runs on, when a command elsewhere gets it: its size, and its keys as they are.

use std::io::IsTerminal as _;

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

use crate::error::{Error, Result};

/// Is standard input a terminal?
pub(crate) fn is_there() -> bool {
    std::io::stdin().is_terminal()
}

/// Columns and rows, where the terminal says.
pub(crate) fn size() -> Option<(u16, u16)> {
    let size = tcgetwinsize(std::io::stdin()).ok()?;
    (size.ws_col > 0 && size.ws_row > 0).then_some((size.ws_col, size.ws_row))
}

/// A terminal that hands on every key, Ctrl-C too, and shows nothing by itself; it is as before when this is dropped.
pub(crate) struct Raw(Termios);

impl Raw {
    pub(crate) fn enter() -> Result<Self> {
        let cannot =
            |error: rustix::io::Errno| Error::config(format!("the terminal cannot be prepared: {error}"));
        let before = tcgetattr(std::io::stdin()).map_err(cannot)?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(std::io::stdin(), OptionalActions::Now, &raw).map_err(cannot)?;
        Ok(Self(before))
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        // The program ends, and has no better way to say it.
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &self.0);
    }
}
