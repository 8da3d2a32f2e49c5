//! A text in, the YAML scalar that reads back as it out: plain, quoted, or as a block of lines.

use super::reader::is_plain_text;

/// Longest key that stands before its colon without a question mark.
const MAX_SIMPLE_KEY: usize = 128;

/// Words of YAML 1.1 that are texts today, but quoted for the sake of older readers.
const OLD_WORDS: [&str; 27] = [
    "y", "Y", "yes", "Yes", "YES", "n", "N", "t", "T", "f", "F", "no", "No", "NO", "true", "True", "TRUE",
    "false", "False", "FALSE", "on", "On", "ON", "off", "Off", "OFF", ".Nan",
];

/// The styles that a text's characters allow.
struct Allowed {
    plain: bool,
    single: bool,
    block: bool,
    lines: bool,
}

fn is_break(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Characters that a YAML text shows as they are.
fn is_shown(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}')
}

fn allowed(value: &str) -> Allowed {
    let (mut plain, mut single, mut block, mut lines) = (true, true, true, false);
    if value.starts_with("---") || value.starts_with("...") {
        plain = false;
    }
    let characters: Vec<char> = value.chars().collect();
    let blank_or_end = |at: usize| characters.get(at).is_none_or(|c| *c == ' ' || *c == '\t' || is_break(*c));
    let last = characters.len().saturating_sub(1);
    for (at, c) in characters.iter().copied().enumerate() {
        let previous = at.checked_sub(1).map(|before| characters[before]);
        plain &= match c {
            ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`' => {
                at > 0
            }
            '?' | '-' => at > 0 || !blank_or_end(1),
            ':' => !blank_or_end(at + 1),
            '#' => previous.is_some_and(|p| p != ' ' && p != '\t' && !is_break(p)),
            _ => true,
        };
        if c == '\t' {
            (plain, single) = (false, false);
        } else if !is_shown(c) {
            (plain, single, block) = (false, false, false);
        }
        if c == ' ' {
            plain &= at > 0 && at < last;
            block &= at < last;
            single &= !previous.is_some_and(is_break);
        } else if is_break(c) {
            (plain, lines) = (false, true);
            if previous == Some(' ') {
                (single, block) = (false, false);
            }
        }
    }
    Allowed { plain: plain && single, single, block, lines }
}

/// Texts that look like a date, a time, a number of base 60 or a hexadecimal one.
fn looks_old(value: &str) -> bool {
    if OLD_WORDS.contains(&value) {
        return true;
    }
    if let Some(digits) = value.strip_prefix("0x") {
        return !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit());
    }
    let body = value.strip_suffix(['z', 'Z']).unwrap_or(value);
    let part = |b: u8| b.is_ascii_digit() || matches!(b, b'-' | b'+' | b':' | b'.' | b' ' | b'\t');
    let letters = body.bytes().filter(|b| !part(*b)).count();
    let separators = body.bytes().enumerate().filter(|(at, b)| {
        let inside = *at > 0 && *at + 1 < body.len();
        inside && if letters == 1 { matches!(b, b't' | b'T') } else { matches!(b, b'-' | b':') }
    });
    letters <= 1 && separators.count() > 0
}

/// Whether a key needs a question mark before it.
pub(super) fn is_complex_key(name: &str) -> bool {
    name.len() > MAX_SIMPLE_KEY || name.contains(is_break)
}

/// Appends a text; lines of it stand one level below `depth`.
pub(super) fn text(out: &mut String, value: &str, depth: usize) {
    let allowed = allowed(value);
    if looks_old(value) || !is_plain_text(value) {
        double_quoted(out, value);
    } else if value.contains('\n') {
        if allowed.block { block(out, value, depth) } else { double_quoted(out, value) }
    } else if allowed.plain && !allowed.lines {
        out.push_str(value);
    } else if allowed.single {
        single_quoted(out, value, depth);
    } else {
        double_quoted(out, value);
    }
}

fn indent(out: &mut String, depth: usize) {
    (0..depth).for_each(|_| out.push_str("  "));
}

fn single_quoted(out: &mut String, value: &str, depth: usize) {
    out.push('\'');
    let mut broken = false;
    for c in value.chars() {
        if broken && !is_break(c) {
            indent(out, depth + 1);
        }
        broken = is_break(c);
        out.push(c);
        if c == '\'' {
            out.push(c);
        }
    }
    out.push('\'');
}

fn block(out: &mut String, value: &str, depth: usize) {
    out.push('|');
    if value.starts_with([' ', '\n']) {
        out.push('2');
    }
    let trailing = value.len() - value.trim_end_matches('\n').len();
    match trailing {
        0 => out.push('-'),
        1 if value.len() > 1 => {}
        _ => out.push('+'),
    }
    let body = value.strip_suffix('\n').unwrap_or(value);
    for line in body.split('\n') {
        out.push('\n');
        if !line.is_empty() {
            indent(out, depth + 1);
            out.push_str(line);
        }
    }
}

fn double_quoted(out: &mut String, value: &str) {
    // Behind a byte order mark everything is escaped.
    let marked = value.starts_with('\u{feff}');
    out.push('"');
    for c in value.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{b}' => out.push_str("\\v"),
            '\u{c}' => out.push_str("\\f"),
            '\u{1b}' => out.push_str("\\e"),
            '\0' => out.push_str("\\0"),
            '\u{85}' => out.push_str("\\N"),
            '\u{2028}' => out.push_str("\\L"),
            '\u{2029}' => out.push_str("\\P"),
            '\u{a0}' if marked => out.push_str("\\_"),
            _ if is_shown(c) && !marked => out.push(c),
            _ if u32::from(c) < 0x100 => out.push_str(&format!("\\x{:02X}", u32::from(c))),
            _ if u32::from(c) < 0x10000 => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            _ => out.push_str(&format!("\\U{:08X}", u32::from(c))),
        }
    }
    out.push('"');
}
