//! Compares a text with a committed file, and rewrites the file with `UPDATE=1`.

use std::path::Path;

/// Compares `actual` with the file at `path`.
///
/// With the environment variable `UPDATE=1` the file is rewritten instead, so that the difference is read in the commit.
///
/// # Panics
/// When the texts differ, or the file cannot be read or written: a test calls this.
#[allow(clippy::panic)]
pub fn golden(path: impl AsRef<Path>, actual: &str) {
    let path = path.as_ref();
    if std::env::var_os("UPDATE").is_some_and(|v| v == "1") {
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).unwrap_or_else(|e| panic!("{}: {e}", parent.display()));
        }
        std::fs::write(path, actual).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        return;
    }
    let expected = std::fs::read_to_string(path)
        .unwrap_or_else(|e| panic!("{}: {e} (UPDATE=1 writes it)", path.display()));
    if expected != actual {
        let diff = similar::TextDiff::from_lines(expected.as_str(), actual);
        panic!(
            "{} differs (- expected, + actual; UPDATE=1 rewrites it):\n{}",
            path.display(),
            diff.unified_diff().context_radius(3)
        );
    }
}

/// Compares a JSON value with a committed file of the same value, pretty-printed.
///
/// # Panics
/// As [`golden`].
pub fn golden_json(path: impl AsRef<Path>, actual: &serde_json::Value) {
    let mut text = serde_json::to_string_pretty(actual).unwrap_or_default();
    text.push('\n');
    golden(path, &text);
}
