//! The styles of this program.

use anstyle::{AnsiColor, Style};

/// Style of headings.
pub(crate) const BOLD: Style = Style::new().bold();
/// Style of what is well.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
/// Style of what is on its way.
pub(crate) const BUSY: Style = AnsiColor::Yellow.on_default();
/// Style of what is wrong.
pub(crate) const BAD: Style = AnsiColor::Red.on_default();
/// Style of asides.
pub(crate) const DIM: Style = Style::new().dimmed();
