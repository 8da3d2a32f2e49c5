//! A value and a verb of Go's `fmt` in, its text out.

use super::super::float;
use super::super::strconv::go_quote;
use super::value::{Value, Width};
use crate::literal::is_printable;

/// Flags, width and precision of a verb.
#[derive(Debug, Clone, Default)]
pub(super) struct Style {
    pub(super) width: Option<usize>,
    pub(super) precision: Option<usize>,
    pub(super) minus: bool,
    pub(super) plus: bool,
    pub(super) sharp: bool,
    pub(super) space: bool,
    pub(super) zero: bool,
    /// `%+v`.
    pub(super) plus_v: bool,
    /// `%#v`: Go syntax.
    pub(super) source: bool,
}

impl Style {
    fn without_zero(&self) -> Self {
        Self { zero: false, ..self.clone() }
    }

    /// Adds a text, filled up to the width.
    fn pad(&self, out: &mut String, text: &str) {
        let missing = self.width.unwrap_or(0).saturating_sub(text.chars().count());
        if self.minus {
            out.push_str(text);
            out.extend(std::iter::repeat_n(' ', missing));
        } else {
            out.extend(std::iter::repeat_n(if self.zero { '0' } else { ' ' }, missing));
            out.push_str(text);
        }
    }
}

/// Appends a value as the verb and style say; a verb that does not fit is told as Go tells it, `%!d(string=x)`.
pub(super) fn write(out: &mut String, style: &Style, verb: char, value: &Value) {
    if verb == 'T' {
        return text(out, style, 's', value.type_name());
    }
    match value {
        Value::Missing | Value::Nil => match verb {
            'v' => style.pad(out, "<nil>"),
            _ => bad_verb(out, verb, value),
        },
        _ if verb == 'p' => bad_verb(out, verb, value),
        Value::Bool(flag) => match verb {
            't' | 'v' => style.pad(out, if *flag { "true" } else { "false" }),
            _ => bad_verb(out, verb, value),
        },
        Value::Int(number, width) => integer(out, style, verb, *number, *width, value),
        Value::Float(number) => floating(out, style, verb, *number, value),
        Value::Text(string) => match verb {
            'v' if style.source => text(out, style, 'q', string),
            'v' => text(out, style, 's', string),
            's' | 'x' | 'X' | 'q' => text(out, style, verb, string),
            _ => bad_verb(out, verb, value),
        },
        Value::Bytes(bytes) => byte_string(out, style, verb, bytes),
        Value::Big(number) => big(out, style, verb, number, value),
        Value::BigFloat(number) => style.pad(out, number),
        Value::List(_) | Value::Map(_) => nested(out, style, verb, value),
    }
}

fn bad_verb(out: &mut String, verb: char, value: &Value) {
    out.push_str("%!");
    out.push(verb);
    out.push('(');
    if value.is_nil() {
        out.push_str("<nil>");
    } else {
        // A formatter that refuses a verb names what its pointer points to.
        out.push_str(value.type_name().trim_start_matches('*'));
        out.push('=');
        write(out, &Style::default(), 'v', value);
    }
    out.push(')');
}

fn integer(out: &mut String, style: &Style, verb: char, number: i64, width: Width, value: &Value) {
    let (negative, size) = (number < 0, number.unsigned_abs());
    match verb {
        'v' if style.source && width == Width::Uint8 => {
            digits(out, &Style { sharp: true, ..style.clone() }, 'x', negative, size)
        }
        'v' | 'd' | 'b' | 'o' | 'O' | 'x' | 'X' => digits(out, style, verb, negative, size),
        'c' => style.pad(out, rune(number).encode_utf8(&mut [0; 4])),
        'q' => {
            let c = rune(number);
            style.pad(out, &go_quote(c.encode_utf8(&mut [0; 4]), '\'', style.plus));
        }
        'U' => {
            let precision = style.precision.unwrap_or(0).max(4);
            let mut shown = format!("U+{number:0precision$X}");
            let c = u32::try_from(number).ok().and_then(char::from_u32);
            if let Some(c) = c.filter(|c| style.sharp && is_printable(*c)) {
                shown.push_str(&format!(" '{c}'"));
            }
            style.without_zero().pad(out, &shown);
        }
        _ => bad_verb(out, verb, value),
    }
}

fn rune(number: i64) -> char {
    u32::try_from(number).ok().and_then(char::from_u32).unwrap_or('\u{fffd}')
}

/// An integer in the base of its verb, with sign, prefix and leading zeros.
fn digits(out: &mut String, style: &Style, verb: char, negative: bool, size: u64) {
    if style.precision == Some(0) && size == 0 {
        return style.without_zero().pad(out, "");
    }
    let body = match verb {
        'b' => format!("{size:b}"),
        'o' | 'O' => format!("{size:o}"),
        'x' => format!("{size:x}"),
        'X' => format!("{size:X}"),
        _ => size.to_string(),
    };
    signed_digits(out, style, verb, negative, body);
}

fn signed_digits(out: &mut String, style: &Style, verb: char, negative: bool, mut body: String) {
    let sign = match (negative, style.plus, style.space) {
        (true, ..) => "-",
        (_, true, _) => "+",
        (_, _, true) => " ",
        _ => "",
    };
    let least = match (style.precision, style.width) {
        (Some(precision), _) => precision,
        // Zeros fill the width as digits, so that they stand behind the sign.
        (None, Some(width)) if style.zero && !style.minus => width.saturating_sub(sign.len()),
        _ => 0,
    };
    if body.len() < least {
        body.insert_str(0, &"0".repeat(least - body.len()));
    }
    let prefix = match verb {
        'O' => "0o",
        'b' if style.sharp => "0b",
        'o' if style.sharp && !body.starts_with('0') => "0",
        'x' if style.sharp => "0x",
        'X' if style.sharp => "0X",
        _ => "",
    };
    style.without_zero().pad(out, &format!("{sign}{prefix}{body}"));
}

fn big(out: &mut String, style: &Style, verb: char, number: &num_bigint::BigInt, value: &Value) {
    let radix = match verb {
        'v' | 'd' | 's' => 10,
        'b' => 2,
        'o' | 'O' => 8,
        'x' | 'X' => 16,
        _ => return bad_verb(out, verb, value),
    };
    let mut body = number.magnitude().to_str_radix(radix);
    if verb == 'X' {
        body.make_ascii_uppercase();
    }
    signed_digits(out, style, verb, number.sign() == num_bigint::Sign::Minus, body);
}

fn floating(out: &mut String, style: &Style, verb: char, number: f64, value: &Value) {
    let (form, precision) = match verb {
        'v' => ('g', style.precision),
        'b' | 'g' | 'G' | 'x' | 'X' => (verb, style.precision),
        'f' | 'e' | 'E' | 'F' => (if verb == 'F' { 'f' } else { verb }, Some(style.precision.unwrap_or(6))),
        _ => return bad_verb(out, verb, value),
    };
    let mut shown = float::format(number, form, precision, false);
    if style.sharp && verb != 'b' {
        let wanted = precision.filter(|_| matches!(verb, 'v' | 'g' | 'G' | 'x' | 'X'));
        let general = matches!(verb, 'v' | 'g' | 'G');
        shown = pointed(&shown, wanted.or(if general { Some(6) } else { None }));
    }
    let sign = match (shown.starts_with('-'), style.plus, style.space) {
        (true, ..) => "-",
        (_, true, _) => "+",
        (_, _, true) => " ",
        _ => "",
    };
    let body = shown.trim_start_matches(['-', '+']);
    let missing = style.width.unwrap_or(0).saturating_sub(body.len() + sign.len());
    if style.zero && !style.minus && missing > 0 && !sign.is_empty() {
        // The sign stands before the zeros that fill the width.
        out.push_str(sign);
        out.extend(std::iter::repeat_n('0', missing));
        out.push_str(body);
    } else {
        style.pad(out, &format!("{sign}{body}"));
    }
}

/// A number with its decimal point kept, and so many significant digits.
fn pointed(shown: &str, significant: Option<usize>) -> String {
    let cut = shown.find(['e', 'E', 'p', 'P']).filter(|_| !shown.contains("0x")).unwrap_or(shown.len());
    let (mantissa, tail) = shown.split_at(cut);
    let mut text = mantissa.to_string();
    let mut have = mantissa.chars().filter(char::is_ascii_digit).skip_while(|c| *c == '0').count();
    if !text.contains('.') {
        if mantissa.trim_start_matches('-') == "0" {
            have += 1;
        }
        text.push('.');
    }
    let missing = significant.unwrap_or(0).saturating_sub(have);
    text.extend(std::iter::repeat_n('0', missing));
    text + tail
}

/// A text as `s`, `q`, `x` or `X`.
fn text(out: &mut String, style: &Style, verb: char, string: &str) {
    let cut: String;
    let string = match style.precision {
        Some(limit) if verb != 'x' && verb != 'X' => {
            cut = string.chars().take(limit).collect();
            &cut
        }
        _ => string,
    };
    match verb {
        'q' if style.sharp && !string.contains(['`', '\u{feff}']) && string.chars().all(backquotes) => {
            style.pad(out, &format!("`{string}`"));
        }
        'q' => style.pad(out, &go_quote(string, '"', style.plus)),
        'x' | 'X' => hexadecimal(out, style, verb, string.as_bytes()),
        _ => style.pad(out, string),
    }
}

/// Whether a raw string may hold the character.
fn backquotes(c: char) -> bool {
    c == '\t' || (c >= ' ' && c != '\u{7f}')
}

fn hexadecimal(out: &mut String, style: &Style, verb: char, bytes: &[u8]) {
    let bytes = &bytes[..style.precision.unwrap_or(bytes.len()).min(bytes.len())];
    let prefix = match (style.sharp, verb) {
        (true, 'x') => "0x",
        (true, _) => "0X",
        _ => "",
    };
    let mut shown = String::new();
    for (at, byte) in bytes.iter().enumerate() {
        if at == 0 || style.space {
            if at > 0 {
                shown.push(' ');
            }
            shown.push_str(prefix);
        }
        shown.push_str(&if verb == 'x' { format!("{byte:02x}") } else { format!("{byte:02X}") });
    }
    style.without_zero().pad(out, &shown);
}

fn byte_string(out: &mut String, style: &Style, verb: char, bytes: &[u8]) {
    match verb {
        'v' | 'd' if style.source => {
            let shown: Vec<String> = bytes.iter().map(|b| format!("{b:#x}")).collect();
            out.push_str(&format!("[]byte{{{}}}", shown.join(", ")));
        }
        's' | 'q' => text(out, style, verb, &String::from_utf8_lossy(bytes)),
        'x' | 'X' => hexadecimal(out, style, verb, bytes),
        _ => {
            let items: Vec<Value> = bytes.iter().map(|b| Value::Int(i64::from(*b), Width::Uint8)).collect();
            sequence(out, style, verb, &items, "[]uint8");
        }
    }
}

fn sequence(out: &mut String, style: &Style, verb: char, items: &[Value], name: &str) {
    if style.source {
        out.push_str(name);
    }
    out.push(if style.source { '{' } else { '[' });
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            out.push_str(if style.source { ", " } else { " " });
        }
        element(out, style, verb, item);
    }
    out.push(if style.source { '}' } else { ']' });
}

/// A value inside a list or map: nil is not filled up to the width.
fn element(out: &mut String, style: &Style, verb: char, item: &Value) {
    match item {
        Value::Missing | Value::Nil if style.source => out.push_str("interface {}(nil)"),
        Value::Missing | Value::Nil => out.push_str("<nil>"),
        _ => write(out, style, verb, item),
    }
}

fn nested(out: &mut String, style: &Style, verb: char, value: &Value) {
    match value {
        Value::List(items) => sequence(out, style, verb, items, value.type_name()),
        Value::Map(fields) => {
            out.push_str(if style.source { value.type_name() } else { "map" });
            out.push(if style.source { '{' } else { '[' });
            for (at, (name, item)) in fields.iter().enumerate() {
                if at > 0 {
                    out.push_str(if style.source { ", " } else { " " });
                }
                write(out, style, verb, &Value::Text(name.clone()));
                out.push(':');
                element(out, style, verb, item);
            }
            out.push(if style.source { '}' } else { ']' });
        }
        _ => bad_verb(out, verb, value),
    }
}
