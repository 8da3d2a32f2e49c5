//! A pattern in Go's syntax in, the same pattern in the syntax of the `regex` crate out.

use std::iter::Peekable;
use std::str::Chars;

/// Largest count in `a{n}`.
const MAX_REPEAT: u32 = 1000;

/// Deepest nesting of groups.
const MAX_DEPTH: usize = 250;

/// The translated pattern, or what is wrong with it in Go's words.
pub(super) fn translate(pattern: &str) -> Result<String, String> {
    let mut translator = Translator {
        rest: pattern.chars().peekable(),
        out: String::new(),
        depth: 0,
        names: Vec::new(),
        repeatable: false,
        repeated: false,
    };
    translator.run()?;
    Ok(translator.out)
}

struct Translator<'a> {
    rest: Peekable<Chars<'a>>,
    out: String,
    depth: usize,
    names: Vec<String>,
    /// Whether something stands before that an operator can repeat.
    repeatable: bool,
    /// Whether it is already repeated.
    repeated: bool,
}

impl Translator<'_> {
    fn run(&mut self) -> Result<(), String> {
        while let Some(c) = self.rest.next() {
            match c {
                '\\' => self.escape()?,
                '[' => {
                    self.class()?;
                    self.atom();
                }
                '(' => self.group()?,
                ')' => {
                    if self.depth == 0 {
                        return Err("unexpected )".into());
                    }
                    self.depth -= 1;
                    self.out.push(')');
                    self.atom();
                }
                '|' => {
                    self.out.push('|');
                    self.nothing();
                }
                '*' | '+' | '?' => self.repeat(&c.to_string())?,
                '{' => match self.counted() {
                    Some(text) => {
                        let bounds: Vec<u32> = text.split(',').filter_map(|n| n.parse().ok()).collect();
                        let digits_fit = text
                            .split(',')
                            .all(|n| n.is_empty() || n.parse::<u32>().is_ok_and(|n| n <= MAX_REPEAT));
                        if !digits_fit || (bounds.len() == 2 && bounds[0] > bounds[1]) {
                            return Err(format!("invalid repeat count: `{{{text}}}`"));
                        }
                        self.repeat(&format!("{{{text}}}"))?;
                    }
                    None => self.literal('{'),
                },
                '^' | '$' => {
                    // `$` without flag m means the end of the text in both.
                    self.out.push(c);
                    self.atom();
                }
                '.' => {
                    self.out.push('.');
                    self.atom();
                }
                other => self.literal(other),
            }
        }
        if self.depth > 0 { Err("missing closing )".into()) } else { Ok(()) }
    }

    fn atom(&mut self) {
        (self.repeatable, self.repeated) = (true, false);
    }

    fn nothing(&mut self) {
        (self.repeatable, self.repeated) = (false, false);
    }

    fn literal(&mut self, c: char) {
        push_literal(&mut self.out, c);
        self.atom();
    }

    fn repeat(&mut self, operator: &str) -> Result<(), String> {
        if !self.repeatable {
            return Err(format!("missing argument to repetition operator: `{operator}`"));
        }
        if self.repeated {
            return Err(format!("invalid nested repetition operator: `{operator}`"));
        }
        self.out.push_str(operator);
        if self.rest.next_if_eq(&'?').is_some() {
            self.out.push('?');
        }
        self.repeated = true;
        Ok(())
    }

    /// The text between braces if they hold a count; consumes it only then.
    fn counted(&mut self) -> Option<String> {
        let mut ahead = self.rest.clone();
        let mut text = String::new();
        loop {
            match ahead.next()? {
                '}' => break,
                c if c.is_ascii_digit() || (c == ',' && !text.is_empty() && !text.contains(',')) => {
                    text.push(c)
                }
                _ => return None,
            }
        }
        if text.is_empty() {
            return None;
        }
        self.rest = ahead;
        Some(text)
    }

    fn group(&mut self) -> Result<(), String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err("expression nests too deeply".into());
        }
        self.out.push('(');
        self.nothing();
        if self.rest.next_if_eq(&'?').is_none() {
            return Ok(());
        }
        let mut head = String::new();
        loop {
            match self.rest.next() {
                Some(c @ (':' | ')' | '>')) => {
                    head.push(c);
                    break;
                }
                Some(c) => head.push(c),
                None => return Err(format!("missing closing ): `(?{head}`")),
            }
        }
        if let Some(name) = head.strip_prefix("P<").or_else(|| head.strip_prefix('<')) {
            let Some(name) = name.strip_suffix('>') else {
                return Err(format!("invalid named capture: `(?{head}`"));
            };
            let valid = !name.is_empty()
                && name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric())
                && !name.starts_with(|c: char| c.is_ascii_digit());
            if !valid {
                return Err(format!("invalid named capture: `(?{head}`"));
            }
            // A name may stand twice in Go; the first group keeps it.
            if !self.names.iter().any(|known| known == name) {
                self.out.push_str(&format!("?P<{name}>"));
                self.names.push(name.to_string());
            }
            return Ok(());
        }
        let flags = &head[..head.len() - 1];
        let known = flags.chars().all(|c| "imsU-".contains(c))
            && flags.matches('-').count() <= 1
            && !flags.ends_with('-');
        if !known || head.ends_with('>') {
            return Err(format!("invalid or unsupported Perl syntax: `(?{head}`"));
        }
        self.out.push('?');
        self.out.push_str(&head);
        if head.ends_with(')') {
            self.depth -= 1;
            if flags.is_empty() {
                return Err("missing argument to repetition operator: `?`".into());
            }
        }
        Ok(())
    }

    fn escape(&mut self) -> Result<(), String> {
        let Some(c) = self.rest.next() else {
            return Err("trailing backslash at end of expression".into());
        };
        match c {
            'Q' => {
                while let Some(c) = self.rest.next() {
                    if c == '\\' && self.rest.next_if_eq(&'E').is_some() {
                        break;
                    }
                    self.literal(c);
                }
                return Ok(());
            }
            'E' => return Ok(()),
            'A' => self.out.push_str("\\A"),
            'z' => self.out.push_str("\\z"),
            'b' => self.out.push_str("(?-u:\\b)"),
            // Only the Unicode form is allowed on text; on ASCII word characters it is the complement all the same.
            'B' => self.out.push_str("(?-u:\\B)"),
            'd' | 's' | 'w' | 'D' | 'S' | 'W' => {
                self.out.push('[');
                self.out.push_str(perl_class(c));
                self.out.push(']');
            }
            'p' | 'P' => {
                let class = self.unicode_class(c)?;
                self.out.push_str(&class);
            }
            'C' => return Err("invalid escape sequence: `\\C`".into()),
            _ => {
                let value = self.character_escape(c)?;
                push_literal(&mut self.out, value);
            }
        }
        self.atom();
        Ok(())
    }

    /// The character that `\c…` stands for.
    fn character_escape(&mut self, c: char) -> Result<char, String> {
        let value = match c {
            'a' => 7,
            'f' => 12,
            't' => 9,
            'n' => 10,
            'r' => 13,
            'v' => 11,
            'x' => {
                let mut digits = String::new();
                if self.rest.next_if_eq(&'{').is_some() {
                    while let Some(d) = self.rest.next_if(char::is_ascii_hexdigit) {
                        digits.push(d);
                    }
                    if self.rest.next() != Some('}') {
                        digits.clear();
                    }
                } else {
                    digits.extend((0..2).filter_map(|_| self.rest.next_if(char::is_ascii_hexdigit)));
                    if digits.len() < 2 {
                        digits.clear();
                    }
                }
                u32::from_str_radix(&digits, 16).map_err(|_| "invalid escape sequence: `\\x`".to_string())?
            }
            // A single digit 1 to 7 would be a backreference.
            '1'..='7' if !matches!(self.rest.peek(), Some('0'..='7')) => {
                return Err(format!("invalid escape sequence: `\\{c}`"));
            }
            '0'..='7' => {
                let mut value = c.to_digit(8).unwrap_or(0);
                for _ in 0..2 {
                    if let Some(digit) = self.rest.next_if(|d| ('0'..='7').contains(d)) {
                        value = value * 8 + digit.to_digit(8).unwrap_or(0);
                    }
                }
                value
            }
            _ if c.is_ascii_punctuation() => return Ok(c),
            _ => return Err(format!("invalid escape sequence: `\\{c}`")),
        };
        char::from_u32(value).ok_or_else(|| format!("invalid escape sequence: `\\{c}`"))
    }

    fn unicode_class(&mut self, letter: char) -> Result<String, String> {
        let mut name = String::new();
        match self.rest.next() {
            Some('{') => loop {
                match self.rest.next() {
                    Some('}') => break,
                    Some(c) => name.push(c),
                    None => return Err(format!("invalid character class range: `\\{letter}{{{name}`")),
                }
            },
            Some(c) => name.push(c),
            None => return Err(format!("invalid character class range: `\\{letter}`")),
        }
        let (negated, plain) = name.strip_prefix('^').map_or((false, name.as_str()), |rest| (true, rest));
        let valid = !plain.is_empty() && plain.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !valid {
            return Err(format!("invalid character class range: `\\{letter}{{{name}}}`"));
        }
        let letter = if negated == (letter == 'p') { 'P' } else { 'p' };
        Ok(format!("\\{letter}{{{plain}}}"))
    }

    fn class(&mut self) -> Result<(), String> {
        self.out.push('[');
        if self.rest.next_if_eq(&'^').is_some() {
            self.out.push('^');
        }
        let mut first = true;
        loop {
            let Some(c) = self.rest.next() else {
                return Err("missing closing ]".into());
            };
            match c {
                ']' if !first => break,
                '[' if self.rest.peek() == Some(&':') && self.named_class()? => {}
                '\\' if matches!(self.rest.peek(), Some('d' | 's' | 'w' | 'D' | 'S' | 'W' | 'p' | 'P')) => {
                    let letter = self.rest.next().unwrap_or('d');
                    let class = if letter.eq_ignore_ascii_case(&'p') {
                        self.unicode_class(letter)?
                    } else {
                        perl_class(letter).to_string()
                    };
                    self.out.push_str(&class);
                }
                _ => self.class_range(c, first)?,
            }
            first = false;
        }
        self.out.push(']');
        Ok(())
    }

    fn class_range(&mut self, c: char, first: bool) -> Result<(), String> {
        if c == '-' && !first && !matches!(self.rest.peek(), Some(']')) {
            // A `-` in the middle that starts no range is refused, unless it begins one itself.
            let mut ahead = self.rest.clone();
            ahead.next();
            if !(self.rest.peek() == Some(&'-') && ahead.peek() != Some(&']')) {
                return Err("invalid character class range: `-`".into());
            }
        }
        let low = self.class_character(c)?;
        push_class_literal(&mut self.out, low);
        let mut ahead = self.rest.clone();
        if ahead.next() != Some('-') || matches!(ahead.peek(), Some(']') | None) {
            return Ok(());
        }
        self.rest = ahead;
        let Some(next) = self.rest.next() else {
            return Err("missing closing ]".into());
        };
        let high = self.class_character(next)?;
        if high < low {
            return Err(format!("invalid character class range: `{low}-{high}`"));
        }
        self.out.push('-');
        push_class_literal(&mut self.out, high);
        Ok(())
    }

    fn class_character(&mut self, c: char) -> Result<char, String> {
        if c != '\\' {
            return Ok(c);
        }
        match self.rest.next() {
            Some(c) => self.character_escape(c),
            None => Err("trailing backslash at end of expression".into()),
        }
    }

    /// `[:alpha:]` after its `[`; false, with nothing consumed, if it is not closed.
    fn named_class(&mut self) -> Result<bool, String> {
        let mut ahead = self.rest.clone();
        ahead.next();
        let mut name = String::new();
        while let Some(c) = ahead.next() {
            if c == ':' && ahead.peek() == Some(&']') {
                ahead.next();
                let plain = name.strip_prefix('^').unwrap_or(&name);
                const NAMES: &str =
                    " alnum alpha ascii blank cntrl digit graph lower print punct space upper word xdigit ";
                if !NAMES.contains(&format!(" {plain} ")) {
                    return Err(format!("invalid character class range: `[:{name}:]`"));
                }
                self.out.push_str(&format!("[:{name}:]"));
                self.rest = ahead;
                return Ok(true);
            }
            if !(c.is_ascii_alphabetic() || c == '^') {
                return Ok(false);
            }
            name.push(c);
        }
        Ok(false)
    }
}

/// Perl's classes are ASCII in Go.
fn perl_class(letter: char) -> &'static str {
    match letter {
        'd' => "0-9",
        'D' => "[^0-9]",
        's' => "\\t\\n\\f\\r\\x20",
        'S' => "[^\\t\\n\\f\\r\\x20]",
        'w' => "0-9A-Za-z_",
        _ => "[^0-9A-Za-z_]",
    }
}

fn push_literal(out: &mut String, c: char) {
    if c.is_ascii_punctuation() && c != '_' && !"<>%&!\"'`,:;=@/~-#".contains(c) {
        out.push('\\');
        out.push(c);
    } else {
        out.push(c);
    }
}

fn push_class_literal(out: &mut String, c: char) {
    if c.is_ascii_punctuation() && c != '_' {
        out.push_str(&format!("\\x{:02x}", u32::from(c)));
    } else if c.is_whitespace() || c.is_control() {
        out.push_str(&format!("\\x{{{:x}}}", u32::from(c)));
    } else {
        out.push(c);
    }
}
