//! HTML text in, the same text with its character references replaced out.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

/// Every name of HTML, with its semicolon where it needs one, and the code points it stands for; sorted by name.
const NAMES: &str = include_str!("html_entities.txt");

/// Longest name that may stand without its semicolon.
const LONGEST_BARE: usize = 6;

/// The meanings of the numbers 128 to 159: those of Windows-1252.
const WINDOWS: [char; 32] = [
    '\u{20ac}', '\u{81}', '\u{201a}', '\u{192}', '\u{201e}', '\u{2026}', '\u{2020}', '\u{2021}', '\u{2c6}',
    '\u{2030}', '\u{160}', '\u{2039}', '\u{152}', '\u{8d}', '\u{17d}', '\u{8f}', '\u{90}', '\u{2018}',
    '\u{2019}', '\u{201c}', '\u{201d}', '\u{2022}', '\u{2013}', '\u{2014}', '\u{2dc}', '\u{2122}', '\u{161}',
    '\u{203a}', '\u{153}', '\u{9d}', '\u{17e}', '\u{178}',
];

/// Replaces `&lt;`, `&#60;`, `&#x3c;` and the old names without a semicolon.
pub(super) fn unescape(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = if rest.starts_with("&#") { numeric(rest, &mut out) } else { named(rest, &mut out) };
        if length == 0 {
            out.push('&');
        }
        rest = &rest[length.max(1)..];
    }
    out + rest
}

/// `&#…`: adds its character and tells its length; 0 when there is no number.
fn numeric(text: &str, out: &mut String) -> usize {
    let bytes = text.as_bytes();
    let hexadecimal = matches!(bytes.get(2), Some(b'x' | b'X'));
    let radix = if hexadecimal { 16 } else { 10 };
    let mut at = if hexadecimal { 3 } else { 2 };
    let mut value = 0u32;
    while let Some(digit) = bytes.get(at).and_then(|b| char::from(*b).to_digit(radix)) {
        value = value.saturating_mul(radix).saturating_add(digit);
        at += 1;
    }
    if bytes.get(at) == Some(&b';') {
        at += 1;
    }
    if at <= 3 {
        return 0;
    }
    let windows = value.checked_sub(0x80).and_then(|at| WINDOWS.get(at as usize)).copied();
    let plain = char::from_u32(value).filter(|c| *c != '\0');
    out.push(windows.or(plain).unwrap_or('\u{fffd}'));
    at
}

/// `&name;` or an old name without semicolon; 0 when it is none.
fn named(text: &str, out: &mut String) -> usize {
    let bytes = &text.as_bytes()[1..];
    let letters = bytes.iter().take_while(|b| b.is_ascii_alphanumeric()).count();
    let whole = letters + usize::from(bytes.get(letters) == Some(&b';'));
    let lengths = std::iter::once(whole).chain((2..=letters.saturating_sub(1).min(LONGEST_BARE)).rev());
    for length in lengths.filter(|length| *length > 0) {
        if let Some(points) = find(&text[1..=length]) {
            out.extend(
                points.split(' ').filter_map(|p| u32::from_str_radix(p, 16).ok()).filter_map(char::from_u32),
            );
            return length + 1;
        }
    }
    0
}

fn find(name: &str) -> Option<&'static str> {
    static TABLE: LazyLock<FxHashMap<&str, &str>> =
        LazyLock::new(|| NAMES.lines().filter_map(|line| line.split_once(' ')).collect());
    TABLE.get(name).copied()
}
