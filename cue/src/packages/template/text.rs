//! Texts of templates: where a byte stands, and how a text is escaped for HTML and JavaScript.

use crate::literal::is_printable;

/// Line from 1, and bytes since its beginning.
pub(super) fn line_and_column(source: &str, at: usize) -> (usize, usize) {
    let before = &source.as_bytes()[..at.min(source.len())];
    let line = before.iter().filter(|b| **b == b'\n').count() + 1;
    (line, before.iter().rev().take_while(|b| **b != b'\n').count())
}

/// The escaping of `html`, which also replaces zero bytes.
pub(super) fn text_html_escape(source: &str) -> String {
    super::super::text::html_escape(source).replace('\0', "\u{fffd}")
}

/// A text that can stand in a JavaScript string.
pub(super) fn js_escape(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    for c in source.chars() {
        match c {
            '\\' | '\'' | '"' => out.extend(['\\', c]),
            '<' | '>' | '&' | '=' => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            _ if c < ' ' => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            _ if c.is_ascii() || is_printable(c) => out.push(c),
            _ => out.push_str(&format!("\\u{:04X}", u32::from(c))),
        }
    }
    out
}
