//! Makes text from anywhere plain: what would change the order of a line or steer a terminal goes, everything else stays.

/// A character as it may be shown; � stands for one that turns the direction of text, or is no text.
pub(crate) fn plain(c: char) -> char {
    match c {
        '\n' | '\t' => c,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' => '\u{fffd}',
        c if c.is_control() => '\u{fffd}',
        c => c,
    }
}

/// A line that a program wrote for a terminal: without the sequences that colour it, which people do not want to read.
pub(crate) fn line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match (c, rest.strip_prefix('[').and_then(behind_sequence)) {
            ('\u{1b}', Some(behind)) => rest = behind,
            (c, _) => out.push(plain(c)),
        }
    }
    out
}

/// What follows a control sequence (ECMA-48, 5.4): parameters, then one final character.
fn behind_sequence(text: &str) -> Option<&str> {
    let last = text.find(|c: char| !(' '..='?').contains(&c))?;
    let (sequence, behind) = text.split_at_checked(last + 1)?;
    sequence.ends_with(|c| ('@'..='~').contains(&c)).then_some(behind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_loses_its_colours_and_every_other_command() {
        assert_eq!(line("\u{1b}[1;31mred\u{1b}[0m\tgreen"), "red\tgreen");
        assert_eq!(
            line("\u{1b}]52;c;aGk=\u{7} \u{1b}[3 ä \u{1b}[é \u{202e}\u{1b}"),
            "\u{fffd}]52;c;aGk=\u{fffd} \u{fffd}[3 ä \u{fffd}[é \u{fffd}\u{fffd}"
        );
        assert_eq!(line("\u{1b}[2J\u{1b}["), "\u{fffd}[");
    }
}
