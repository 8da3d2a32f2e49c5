//! CUE text in; tokens with spans and the comments before each out.

use crate::{
    diagnostic::{Code, Diagnostic},
    literal::{self, Quotes},
    source::{FileId, Span},
};

/// The kinds of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenKind {
    End,
    /// A comma; `automatic` ones stand at line ends.
    Comma {
        automatic: bool,
    },
    /// Identifiers and keywords alike.
    Ident,
    Int,
    Float,
    /// A whole string or bytes literal.
    Quoted,
    /// Opening quotes, text, `\(`.
    InterpolationStart,
    /// `)`, text, `\(`.
    InterpolationMiddle,
    /// `)`, text, closing quotes.
    InterpolationEnd,
    Attribute,
    Bottom,
    Ellipsis,
    /// Any operator or bracket; the text tells which.
    Symbol(&'static str),
    Bad,
}

/// A token.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) span: Span,
    /// Comments before it: a range of [`Lexed::comments`].
    pub(crate) comments: (u32, u32),
    /// Line ends between the previous token or comment and this one.
    pub(crate) newlines: u32,
}

/// A comment line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CommentToken {
    pub(crate) span: Span,
    /// Line ends before it.
    pub(crate) newlines: u32,
}

/// The tokens of a file.
pub(crate) struct Lexed {
    pub(crate) tokens: Vec<Token>,
    pub(crate) comments: Vec<CommentToken>,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// Operators, longest first.
const SYMBOLS: [&str; 36] = [
    "&&", "||", "==", "!=", "<=", ">=", "=~", "!~", "_|_", "->", "{", "}", "[", "]", "(", ")", ":", "=", "|",
    "&", "+", "-", "*", "/", "<", ">", "!", "?", ".", "~", "%", "^", ";", "\\", "`", "$",
];

/// Splits a text into tokens.
pub(crate) fn lex(text: &str, file: FileId) -> Lexed {
    split(text, file, false)
}

/// The same as releases up to 0.14 did: tripled quotes end a literal wherever they stand.
pub(crate) fn lex_older(text: &str, file: FileId) -> Lexed {
    split(text, file, true)
}

fn split(text: &str, file: FileId, closes_anywhere: bool) -> Lexed {
    let mut lexer = Lexer {
        text,
        file,
        closes_anywhere,
        at: 0,
        insert_comma: false,
        newlines: 0,
        first_comment: 0,
        open: Vec::new(),
        out: Lexed { tokens: Vec::new(), comments: Vec::new(), diagnostics: Vec::new() },
    };
    if text.starts_with('\u{feff}') {
        lexer.at = 3;
    }
    while lexer.step() {}
    lexer.out
}

struct Lexer<'a> {
    text: &'a str,
    file: FileId,
    /// Tripled quotes also end a literal behind text.
    closes_anywhere: bool,
    at: usize,
    insert_comma: bool,
    newlines: u32,
    first_comment: u32,
    /// Open interpolations: the quotes, and how many parentheses are open within.
    open: Vec<(Quotes, u32)>,
    out: Lexed,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn push(&mut self, kind: TokenKind, start: usize, end: usize) {
        let comments = (self.first_comment, self.out.comments.len() as u32);
        self.out.tokens.push(Token {
            kind,
            span: Span::new(self.file, start, end),
            comments,
            newlines: std::mem::take(&mut self.newlines),
        });
        self.first_comment = comments.1;
        self.at = end;
        self.insert_comma = match kind {
            TokenKind::Ident
            | TokenKind::Int
            | TokenKind::Float
            | TokenKind::Quoted
            | TokenKind::InterpolationEnd
            | TokenKind::Attribute
            | TokenKind::Bottom
            | TokenKind::Ellipsis
            | TokenKind::Bad => true,
            TokenKind::Symbol(s) => matches!(s, ")" | "]" | "}" | "?"),
            _ => false,
        };
    }

    fn error(&mut self, message: &str, start: usize, end: usize) {
        self.out.diagnostics.push(Diagnostic::new(Code::Syntax, message, Span::new(self.file, start, end)));
    }

    /// Whether the next line starts with the comma or colon that belongs behind this one.
    fn continues(&self) -> bool {
        let rest = self.rest().trim_start();
        rest.starts_with(',') || rest.starts_with(':')
    }

    fn step(&mut self) -> bool {
        let bytes = self.text.as_bytes();
        while let Some(b) = bytes.get(self.at) {
            match b {
                b'\n' => {
                    if self.insert_comma && !self.continues() {
                        self.push(TokenKind::Comma { automatic: true }, self.at, self.at);
                    }
                    self.newlines += 1;
                    self.at += 1;
                }
                b' ' | b'\t' | b'\r' => self.at += 1,
                b'/' if self.rest().starts_with("//") => {
                    if self.insert_comma {
                        self.push(TokenKind::Comma { automatic: true }, self.at, self.at);
                    }
                    let end = self.at + self.rest().find('\n').unwrap_or(self.rest().len());
                    let trimmed = self.text[self.at..end].trim_end_matches('\r').len();
                    self.out.comments.push(CommentToken {
                        span: Span::new(self.file, self.at, self.at + trimmed),
                        newlines: std::mem::take(&mut self.newlines),
                    });
                    self.at = end;
                }
                _ => break,
            }
        }
        let start = self.at;
        let Some(&first) = bytes.get(start) else {
            if self.insert_comma {
                self.push(TokenKind::Comma { automatic: true }, start, start);
            }
            let is_reported = self.out.tokens.iter().rev().any(|token| token.kind == TokenKind::Bad);
            if !self.open.is_empty() && !is_reported {
                self.error("string literal not terminated", start, start);
            }
            self.push(TokenKind::End, start, start);
            return false;
        };
        match first {
            b',' => self.push(TokenKind::Comma { automatic: false }, start, start + 1),
            b'"' | b'\'' => self.quoted(start),
            b'@' => self.attribute(start),
            b'0'..=b'9' => self.number(start),
            b'.' if bytes.get(start + 1).is_some_and(u8::is_ascii_digit) => self.number(start),
            b'.' if self.rest().starts_with("...") => self.push(TokenKind::Ellipsis, start, start + 3),
            b'_' if self.rest().starts_with("_|_") => self.push(TokenKind::Bottom, start, start + 3),
            b'#' => {
                let hashes = self.rest().bytes().take_while(|b| *b == b'#').count();
                if matches!(bytes.get(start + hashes), Some(b'"' | b'\'')) {
                    self.quoted(start)
                } else {
                    self.ident(start)
                }
            }
            _ => self.other(start),
        }
        true
    }

    fn other(&mut self, start: usize) {
        let Some(c) = self.rest().chars().next() else { return };
        if is_letter(c) {
            return self.ident(start);
        }
        if let Some(symbol) = SYMBOLS.iter().find(|s| self.rest().starts_with(**s)) {
            if let Some((_, depth)) = self.open.last_mut() {
                match *symbol {
                    "(" => *depth += 1,
                    ")" if *depth == 0 => return self.continued(start),
                    ")" => *depth -= 1,
                    _ => {}
                }
            }
            if matches!(*symbol, "%" | "^" | ";" | "\\" | "`" | "$" | "->") {
                self.error(&format!("illegal character {symbol:?}"), start, start + symbol.len());
                return self.push(TokenKind::Bad, start, start + symbol.len());
            }
            return self.push(TokenKind::Symbol(symbol), start, start + symbol.len());
        }
        self.error(&format!("illegal character {c:?}"), start, start + c.len_utf8());
        self.push(TokenKind::Bad, start, start + c.len_utf8());
    }

    fn ident(&mut self, start: usize) {
        let mut end = start;
        let rest = &self.text[start..];
        if rest.starts_with("_#") {
            end += 2;
        } else if rest.starts_with('#') {
            end += 1;
        }
        for c in self.text[end..].chars() {
            if !is_letter(c) && !c.is_numeric() {
                break;
            }
            end += c.len_utf8();
        }
        self.push(TokenKind::Ident, start, end);
    }

    fn number(&mut self, start: usize) {
        let bytes = self.text.as_bytes();
        let mut at = start;
        let mut float = false;
        let digits = |mut at: usize, ok: fn(&u8) -> bool| {
            while bytes.get(at).is_some_and(|b| ok(b) || *b == b'_') {
                at += 1;
            }
            at
        };
        if bytes[at] == b'0' && matches!(bytes.get(at + 1), Some(b'x' | b'X' | b'b' | b'o')) {
            at = digits(at + 2, u8::is_ascii_alphanumeric);
        } else {
            at = digits(at, u8::is_ascii_digit);
            if bytes.get(at) == Some(&b'.') && !self.text[at..].starts_with("..") {
                float = true;
                at = digits(at + 1, u8::is_ascii_digit);
            }
            if matches!(bytes.get(at), Some(b'e' | b'E')) {
                float = true;
                at += 1;
                if matches!(bytes.get(at), Some(b'+' | b'-')) {
                    at += 1;
                }
                at = digits(at, u8::is_ascii_digit);
            } else if matches!(bytes.get(at), Some(b'K' | b'M' | b'G' | b'T' | b'P')) {
                float = false;
                at += 1;
                if bytes.get(at) == Some(&b'i') {
                    at += 1;
                }
            }
        }
        if let Err(error) = literal::parse_number(&self.text[start..at]) {
            self.error(&error.message, start, at);
        }
        self.push(if float { TokenKind::Float } else { TokenKind::Int }, start, at);
    }

    /// `@name(body)`: the body is made of balanced brackets and strings, which are read as CUE reads them.
    fn attribute(&mut self, start: usize) {
        let mut at = start + 1;
        for c in self.text[at..].chars() {
            if !is_letter(c) && !c.is_numeric() {
                break;
            }
            at += c.len_utf8();
        }
        let bytes = self.text.as_bytes();
        let named = at > start + 1;
        while matches!(bytes.get(at), Some(b' ' | b'\t')) {
            at += 1;
        }
        if !named || bytes.get(at) != Some(&b'(') {
            self.error("an attribute is written @name(body)", start, at);
            return self.push(TokenKind::Bad, start, at);
        }
        let mut open: Vec<u8> = Vec::new();
        while at < bytes.len() {
            match bytes[at] {
                bracket @ (b'(' | b'[' | b'{') => open.push(bracket),
                bracket @ (b')' | b']' | b'}') => {
                    if open.pop() != Some(opening_of(bracket)) {
                        let text = format!("unexpected '{}' in an attribute", char::from(bracket));
                        self.error(&text, at, at + 1);
                        return self.broken_attribute(start, at);
                    }
                    if open.is_empty() {
                        return self.push(TokenKind::Attribute, start, at + 1);
                    }
                }
                b'\\' => self.error("'\\' means nothing in an attribute outside of strings", at, at + 1),
                b'"' | b'\'' | b'#' => {
                    if let Some((quotes, length)) = Quotes::opening(self.text.get(at..).unwrap_or("")) {
                        match self.attribute_string(at, length, quotes) {
                            Some(end) => at = end,
                            None => return self.broken_attribute(start, at),
                        }
                        continue;
                    }
                }
                _ => {}
            }
            at += 1;
        }
        self.error("attribute not terminated: expected ')'", start, bytes.len());
        self.push(TokenKind::Bad, start, bytes.len());
    }

    /// One mistake costs the rest of the attribute's line.
    fn broken_attribute(&mut self, start: usize, at: usize) {
        let bytes = &self.text.as_bytes()[at..];
        let end = at + bytes.iter().position(|b| *b == b'\n').unwrap_or(bytes.len());
        self.push(TokenKind::Attribute, start, end);
    }

    /// A string within an attribute; gives the offset behind it when it has an end.
    fn attribute_string(&mut self, start: usize, opening: usize, quotes: Quotes) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let (closing, escape) = (quotes.closing(), format!("\\{}", "#".repeat(quotes.hashes)));
        let mut at = start + opening;
        while at < bytes.len() {
            let rest = &bytes[at..];
            if rest.starts_with(closing.as_bytes()) {
                at += closing.len();
                let text = self.text.get(start..at).unwrap_or("");
                if !quotes.multiline && literal::unquote(text).is_err() {
                    self.error("this string in an attribute cannot be read", start, at);
                }
                return Some(at);
            }
            if bytes[at] == b'\n' && !quotes.multiline {
                break;
            }
            if rest.starts_with(escape.as_bytes()) {
                at += escape.len();
                if bytes.get(at) == Some(&b'(') {
                    self.error("an attribute cannot hold an interpolation", at - escape.len(), at + 1);
                    return None;
                }
            }
            at += 1;
        }
        self.error("string not terminated in an attribute", start, at);
        None
    }

    fn quoted(&mut self, start: usize) {
        let Some((quotes, length)) = Quotes::opening(self.rest()) else {
            return self.push(TokenKind::Bad, start, start + 1);
        };
        self.body(start, start + length, quotes, TokenKind::Quoted, TokenKind::InterpolationStart);
    }

    fn continued(&mut self, start: usize) {
        let Some((quotes, _)) = self.open.pop() else { return };
        self.body(start, start + 1, quotes, TokenKind::InterpolationEnd, TokenKind::InterpolationMiddle);
    }

    /// Whether only white space stands before `at` on its line. Tripled quotes end a literal only there.
    fn starts_line(&self, from: usize, at: usize) -> bool {
        let before = self.text.get(from..at).unwrap_or("");
        before.rfind('\n').is_some_and(|line| before[line..].trim().is_empty())
    }

    /// Text up to the closing quotes or the next `\(`.
    fn body(&mut self, start: usize, from: usize, quotes: Quotes, whole: TokenKind, part: TokenKind) {
        let closing = quotes.closing();
        let escape = format!("\\{}", "#".repeat(quotes.hashes));
        let bytes = self.text.as_bytes();
        let mut at = from;
        while at < bytes.len() {
            let rest = &bytes[at..];
            if rest.starts_with(closing.as_bytes())
                && (!quotes.multiline || self.closes_anywhere || self.starts_line(from, at))
            {
                return self.push(whole, start, at + closing.len());
            }
            if rest.starts_with(escape.as_bytes()) {
                at += escape.len();
                if bytes.get(at) == Some(&b'(') {
                    self.open.push((quotes, 0));
                    return self.push(part, start, at + 1);
                }
                at += 1;
                continue;
            }
            if rest[0] == b'\n' && !quotes.multiline {
                break;
            }
            at += 1;
        }
        let at = at.min(bytes.len());
        self.error("string literal not terminated", start, at);
        self.push(TokenKind::Bad, start, at);
    }
}

fn is_letter(c: char) -> bool {
    c == '_' || c == '$' || c.is_alphabetic()
}

fn opening_of(closing: u8) -> u8 {
    match closing {
        b')' => b'(',
        b']' => b'[',
        _ => b'{',
    }
}
