//! A format and arguments in, the text of Go's `Sprintf`, `Sprint` and `Sprintln` out.

use super::format::{Style, write};
use super::value::Value;

/// Widest field; a wider one is told as an error inside the text, as Go does.
const MAX_WIDTH: i64 = 1_000_000;

/// The texts of all values; a blank stands between two that are no texts, or between all of them.
pub(super) fn print(values: &[Value], line: bool) -> String {
    let mut out = String::new();
    let mut after_text = true;
    for (at, value) in values.iter().enumerate() {
        let is_text = matches!(value, Value::Text(_));
        if at > 0 && (line || (!is_text && !after_text)) {
            out.push(' ');
        }
        write(&mut out, &Style::default(), 'v', value);
        after_text = is_text;
    }
    if line {
        out.push('\n');
    }
    out
}

/// `Sprintf`; more than `limit` bytes are cut off where they begin, for the caller to refuse.
pub(super) fn printf(format: &str, values: &[Value], limit: usize) -> String {
    let mut printer = Printer { rest: format, values, next: 0, reordered: false, out: String::new() };
    while !printer.rest.is_empty() && printer.out.len() <= limit {
        printer.step();
    }
    printer.extra();
    printer.out
}

struct Printer<'f> {
    rest: &'f str,
    values: &'f [Value],
    next: usize,
    reordered: bool,
    out: String,
}

impl Printer<'_> {
    /// The text up to the next verb, and that verb.
    fn step(&mut self) {
        let Some(at) = self.rest.find('%') else {
            self.out.push_str(self.rest);
            self.rest = "";
            return;
        };
        self.out.push_str(&self.rest[..at]);
        self.rest = &self.rest[at + 1..];
        let mut style = self.flags();
        let mut bad_index = false;
        let mut indexed = self.index(&mut bad_index);
        if self.rest.starts_with('*') {
            self.rest = &self.rest[1..];
            match self.count() {
                Some(width) => {
                    style.minus |= width < 0;
                    style.width = usize::try_from(width.unsigned_abs()).ok();
                }
                None => self.out.push_str("%!(BADWIDTH)"),
            }
            indexed = false;
        } else {
            style.width = self.digits();
            bad_index |= indexed && style.width.is_some();
        }
        if self.rest.starts_with('.') {
            self.rest = &self.rest[1..];
            bad_index |= indexed;
            indexed = self.index(&mut bad_index);
            if self.rest.starts_with('*') {
                self.rest = &self.rest[1..];
                match self.count() {
                    Some(precision) if precision >= 0 => style.precision = usize::try_from(precision).ok(),
                    _ => self.out.push_str("%!(BADPREC)"),
                }
                indexed = false;
            } else {
                style.precision = Some(self.digits().unwrap_or(0));
            }
        }
        if !indexed {
            self.index(&mut bad_index);
        }
        self.verb(style, bad_index);
    }

    fn verb(&mut self, mut style: Style, bad_index: bool) {
        let Some(verb) = self.rest.chars().next() else {
            self.out.push_str("%!(NOVERB)");
            return;
        };
        self.rest = &self.rest[verb.len_utf8()..];
        if verb == '%' {
            self.out.push('%');
            return;
        }
        if bad_index {
            self.out.push_str(&format!("%!{verb}(BADINDEX)"));
            return;
        }
        let Some(value) = self.values.get(self.next) else {
            self.out.push_str(&format!("%!{verb}(MISSING)"));
            return;
        };
        if verb == 'v' {
            style.source = std::mem::take(&mut style.sharp);
            style.plus_v = std::mem::take(&mut style.plus);
        }
        self.next += 1;
        write(&mut self.out, &style, verb, value);
    }

    fn flags(&mut self) -> Style {
        let mut style = Style::default();
        while let Some(c) = self.rest.chars().next() {
            match c {
                '#' => style.sharp = true,
                '0' => style.zero = true,
                '+' => style.plus = true,
                '-' => style.minus = true,
                ' ' => style.space = true,
                _ => break,
            }
            self.rest = &self.rest[1..];
        }
        style.zero &= !style.minus;
        style
    }

    fn digits(&mut self) -> Option<usize> {
        let length = self.rest.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, rest) = self.rest.split_at(length);
        let value = digits.parse::<i64>().ok().filter(|n| *n <= MAX_WIDTH);
        self.rest = rest;
        value.and_then(|n| usize::try_from(n).ok())
    }

    /// A width or precision taken from the arguments.
    fn count(&mut self) -> Option<i64> {
        let value = self.values.get(self.next);
        self.next += usize::from(value.is_some());
        match value {
            Some(Value::Int(number, _)) if number.abs() <= MAX_WIDTH => Some(*number),
            _ => None,
        }
    }

    /// `[3]`: the argument that comes next.
    fn index(&mut self, bad: &mut bool) -> bool {
        let Some(inner) = self.rest.strip_prefix('[') else { return false };
        self.reordered = true;
        let Some((number, rest)) = inner.split_once(']') else {
            self.rest = inner;
            *bad = true;
            return false;
        };
        self.rest = rest;
        match number.parse::<usize>().ok().filter(|n| (1..=self.values.len()).contains(n)) {
            Some(number) => {
                self.next = number - 1;
                true
            }
            None => {
                *bad = true;
                false
            }
        }
    }

    /// Arguments that no verb used.
    fn extra(&mut self) {
        if self.reordered || self.next >= self.values.len() {
            return;
        }
        self.out.push_str("%!(EXTRA ");
        for (at, value) in self.values[self.next..].iter().enumerate() {
            if at > 0 {
                self.out.push_str(", ");
            }
            if value.is_nil() {
                self.out.push_str("<nil>");
            } else {
                self.out.push_str(value.type_name());
                self.out.push('=');
                write(&mut self.out, &Style::default(), 'v', value);
            }
        }
        self.out.push(')');
    }
}
