//! Makes text from anywhere harmless for a terminal, which then only shows it.
//!
//! Names, messages and descriptions come from clusters and files. A terminal obeys some of what may stand in them: it
//! puts text into the clipboard, clears the screen, or shows a line in another order than it is. Everything of that
//! kind is shown as an escape in the notation of Rust and CUE; only the styles of this program pass.

use std::borrow::Cow;

use super::style::{BAD, BOLD, BUSY, DIM, GOOD};

/// The begin of everything a terminal takes for a command.
const ESCAPE: char = '\u{1b}';

/// The text with everything that a terminal would obey shown instead, but for line ends, tabs and our own styles.
pub(super) fn text(text: &str) -> Cow<'_, str> {
    if !text.contains(commands) {
        return Cow::Borrowed(text);
    }
    let own = own_codes();
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if c == ESCAPE
            && let Some(code) = own.iter().find(|code| rest.starts_with(code.as_str()))
        {
            out.push_str(code);
            rest = &rest[code.len()..];
            continue;
        }
        rest = &rest[c.len_utf8()..];
        match c {
            // The end of a line as other systems write it.
            '\r' if rest.starts_with('\n') => {}
            c if commands(c) => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// JSON with the same value, in which nothing stands that a terminal would obey.
pub(super) fn json(text: String) -> String {
    if !text.contains(commands) {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        // Outside of strings there is nothing of the kind, and in strings every character may be written so.
        if commands(c) {
            let mut units = [0; 2];
            out.extend(c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            out.push(c);
        }
    }
    out
}

/// Whether a terminal does something else with this character than to show it where it stands.
pub(super) fn commands(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        // C0, DEL and C1.
        c if c.is_control() => true,
        // Marks that turn the direction of text, and the ends of lines and paragraphs that are none for most programs.
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{206f}' => true,
        // Invisible characters.
        '\u{200b}'
        | '\u{2060}'..='\u{2064}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}' => true,
        _ => false,
    }
}

/// What begins and ends our styles.
fn own_codes() -> [String; 6] {
    let begin = |style: anstyle::Style| style.render().to_string();
    [begin(BOLD), begin(GOOD), begin(BUSY), begin(BAD), begin(DIM), anstyle::Reset.render().to_string()]
}

#[cfg(test)]
mod tests {
    use super::super::styled;
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_shown() {
        for (hostile, shown) in [
            ("\u{1b}]52;c;cm0gLXJm\u{7}", r"\u{1b}]52;c;cm0gLXJm\u{7}"),
            ("\u{1b}[2J\u{1b}[H", r"\u{1b}[2J\u{1b}[H"),
            ("\u{9b}2J", r"\u{9b}2J"),
            ("\u{9d}0;title\u{9c}", r"\u{9d}0;title\u{9c}"),
            ("a\u{202e}b\u{2066}c", r"a\u{202e}b\u{2066}c"),
            ("over\rwritten\u{8}", r"over\rwritten\u{8}"),
            ("\u{1b}[8mhidden\u{1b}[31;5mred", r"\u{1b}[8mhidden\u{1b}[31;5mred"),
            ("a\r\nb\tc", "a\nb\tc"),
        ] {
            assert_eq!(text(hostile), shown);
        }
    }

    #[test]
    fn our_styles_and_all_scripts_pass() {
        for line in [styled(BAD, "error:"), styled(DIM, "aside"), "שלום мир 世界 é 👩‍💻".to_owned()]
        {
            assert_eq!(text(&line), line);
        }
    }

    #[test]
    fn json_keeps_its_value() {
        let value = serde_json::json!({"a\u{9b}": "\u{1b}[2J \u{202e} \u{7f} \u{e0041} ü"});
        let safe = json(value.to_string());
        assert!(!safe.contains(commands), "{safe}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&safe).ok(), Some(value));
    }
}
