//! Template text in, tokens out: text, and the words between `{{` and `}}`.

/// A word of an action, or the text between actions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Left,
    Right,
    Space,
    Pipe,
    Comma,
    Declare,
    Assign,
    OpenParenthesis,
    CloseParenthesis,
    Dot,
    Field,
    Variable,
    Identifier,
    Keyword,
    Bool,
    Nil,
    Number,
    Character,
    String,
    RawString,
    /// Any other printable character.
    Other,
    End,
}

/// A token and where it stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token<'t> {
    pub(super) kind: Kind,
    pub(super) text: &'t str,
    pub(super) at: usize,
}

/// The error and its place.
pub(super) type Mistake = (usize, String);

const KEYWORDS: [&str; 10] =
    ["block", "break", "continue", "define", "else", "end", "if", "range", "template", "with"];

/// Blanks inside actions and those that `{{-` and `-}}` take away.
fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

fn is_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

/// All tokens of a template; the last one is [`Kind::End`].
pub(super) fn tokens(source: &str) -> Result<Vec<Token<'_>>, Mistake> {
    let mut lexer = Lexer { source, at: 0, out: Vec::new() };
    lexer.run()?;
    lexer.push(Kind::End, source.len());
    Ok(lexer.out)
}

struct Lexer<'t> {
    source: &'t str,
    at: usize,
    out: Vec<Token<'t>>,
}

impl<'t> Lexer<'t> {
    fn rest(&self) -> &'t str {
        &self.source[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Adds the token from `start` up to here.
    fn push(&mut self, kind: Kind, start: usize) {
        self.out.push(Token { kind, text: &self.source[start..self.at], at: start });
    }

    fn run(&mut self) -> Result<(), Mistake> {
        let mut trim = false;
        while self.at < self.source.len() {
            let rest = self.rest();
            let open = rest.find("{{");
            let body = &rest[..open.unwrap_or(rest.len())];
            let after = open.map(|open| &rest[open + 2..]);
            let left_trim = after.is_some_and(trims_left);
            let mut kept = body;
            let mut start = self.at;
            if trim {
                kept = kept.trim_start_matches(is_blank);
                start += body.len() - kept.len();
            }
            if left_trim {
                kept = kept.trim_end_matches(is_blank);
            }
            if !kept.is_empty() {
                self.out.push(Token { kind: Kind::Text, text: kept, at: start });
            }
            let Some(open) = open else {
                self.at = self.source.len();
                break;
            };
            self.at += open;
            trim = self.action(left_trim)?;
        }
        Ok(())
    }

    /// One action from its `{{`; whether text after it loses its leading blanks.
    fn action(&mut self, left_trim: bool) -> Result<bool, Mistake> {
        let start = self.at;
        self.at += 2;
        let inside = if left_trim { &self.rest()[2..] } else { self.rest() };
        if inside.starts_with("/*") {
            self.at = self.source.len() - inside.len();
            return self.comment(start);
        }
        self.push(Kind::Left, start);
        self.at = self.source.len() - inside.len();
        let mut open = 0usize;
        loop {
            let trims = trims_right(self.rest());
            if trims || self.rest().starts_with("}}") {
                if open > 0 {
                    return Err((self.at, "unclosed left paren".into()));
                }
                let start = self.at;
                self.at += if trims { 4 } else { 2 };
                self.push(Kind::Right, start);
                return Ok(trims);
            }
            self.word(&mut open)?;
        }
    }

    fn comment(&mut self, start: usize) -> Result<bool, Mistake> {
        let Some(end) = self.rest().find("*/") else {
            return Err((start, "unclosed comment".into()));
        };
        self.at += end + 2;
        let trims = trims_right(self.rest());
        if !trims && !self.rest().starts_with("}}") {
            return Err((start, "comment ends before closing delimiter".into()));
        }
        self.at += if trims { 4 } else { 2 };
        Ok(trims)
    }

    fn word(&mut self, open: &mut usize) -> Result<(), Mistake> {
        let start = self.at;
        let Some(c) = self.peek() else {
            return Err((start, "unclosed action".into()));
        };
        self.at += c.len_utf8();
        let kind = match c {
            _ if is_blank(c) => {
                // A blank before ` -}}` belongs to the delimiter.
                while self.peek().is_some_and(is_blank) && !trims_right(self.rest()) {
                    self.at += 1;
                }
                Kind::Space
            }
            '=' => Kind::Assign,
            ':' => {
                if self.peek() != Some('=') {
                    return Err((start, "expected :=".into()));
                }
                self.at += 1;
                Kind::Declare
            }
            '|' => Kind::Pipe,
            ',' => Kind::Comma,
            '(' => {
                *open += 1;
                Kind::OpenParenthesis
            }
            ')' => {
                *open = open.checked_sub(1).ok_or((start, "unexpected right paren".to_string()))?;
                Kind::CloseParenthesis
            }
            '"' | '\'' => {
                self.quoted(start, c)?;
                if c == '"' { Kind::String } else { Kind::Character }
            }
            '`' => {
                let Some(end) = self.rest().find('`') else {
                    return Err((start, "unterminated raw quoted string".into()));
                };
                self.at += end + 1;
                Kind::RawString
            }
            '$' => self.name(Kind::Variable, Kind::Variable)?,
            '.' if !self.peek().is_some_and(|c| c.is_ascii_digit()) => self.name(Kind::Field, Kind::Dot)?,
            '.' | '+' | '-' | '0'..='9' => {
                self.at = start;
                self.number(start)?
            }
            _ if is_word(c) => self.identifier(start)?,
            _ if c.is_ascii() && !c.is_ascii_control() => Kind::Other,
            _ => {
                let shown = format!("unrecognized character in action: U+{:04X}", u32::from(c));
                return Err((start, shown));
            }
        };
        self.push(kind, start);
        Ok(())
    }

    fn quoted(&mut self, start: usize, quote: char) -> Result<(), Mistake> {
        let what = if quote == '"' { "quoted string" } else { "character constant" };
        loop {
            let c = self.peek().filter(|c| *c != '\n');
            let Some(mut c) = c else { return Err((start, format!("unterminated {what}"))) };
            self.at += c.len_utf8();
            if c == quote {
                return Ok(());
            }
            if c == '\\' {
                c = match self.peek().filter(|c| *c != '\n') {
                    Some(c) => c,
                    None => return Err((start, format!("unterminated {what}"))),
                };
                self.at += c.len_utf8();
            }
        }
    }

    /// The name after `.` or `$`; alone it is `bare`.
    fn name(&mut self, named: Kind, bare: Kind) -> Result<Kind, Mistake> {
        if self.ends_here() {
            return Ok(bare);
        }
        self.letters()?;
        Ok(named)
    }

    fn identifier(&mut self, start: usize) -> Result<Kind, Mistake> {
        self.letters()?;
        Ok(match &self.source[start..self.at] {
            "true" | "false" => Kind::Bool,
            "nil" => Kind::Nil,
            word if KEYWORDS.contains(&word) => Kind::Keyword,
            _ => Kind::Identifier,
        })
    }

    fn letters(&mut self) -> Result<(), Mistake> {
        while let Some(c) = self.peek().filter(|c| is_word(*c)) {
            self.at += c.len_utf8();
        }
        match self.peek() {
            Some(c) if !self.ends_here() => {
                Err((self.at, format!("bad character U+{:04X} '{c}'", u32::from(c))))
            }
            _ => Ok(()),
        }
    }

    /// Whether a name may end here.
    fn ends_here(&self) -> bool {
        match self.peek() {
            None => true,
            Some(c) if is_blank(c) => true,
            Some('.' | ',' | '|' | ':' | ')' | '(') => true,
            _ => self.rest().starts_with("}}"),
        }
    }

    fn number(&mut self, start: usize) -> Result<Kind, Mistake> {
        let length = number_length(self.rest());
        self.at += length;
        if length == 0 || self.peek().is_some_and(is_word) {
            let end = self.at + self.peek().map_or(0, char::len_utf8);
            return Err((start, format!("bad number syntax: {:?}", &self.source[start..end])));
        }
        Ok(Kind::Number)
    }
}

/// `- ` after `{{`.
fn trims_left(after: &str) -> bool {
    after.strip_prefix('-').is_some_and(|rest| rest.starts_with(is_blank))
}

/// ` -}}`.
fn trims_right(rest: &str) -> bool {
    rest.strip_prefix(is_blank).is_some_and(|rest| rest.starts_with("-}}"))
}

/// How many bytes of the text are one number; zero when there is no digit.
fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    let digits = |at: &mut usize, accepts: fn(&u8) -> bool| {
        let start = *at;
        while bytes.get(*at).is_some_and(|b| accepts(b) || *b == b'_') {
            *at += 1;
        }
        *at > start
    };
    let (accepts, radix): (fn(&u8) -> bool, u32) = match (bytes.get(at), bytes.get(at + 1)) {
        (Some(b'0'), Some(b'x' | b'X')) => (u8::is_ascii_hexdigit, 16),
        (Some(b'0'), Some(b'o' | b'O')) => (|b| (b'0'..=b'7').contains(b), 8),
        (Some(b'0'), Some(b'b' | b'B')) => (|b| matches!(b, b'0' | b'1'), 2),
        _ => (u8::is_ascii_digit, 10),
    };
    if radix != 10 {
        at += 2;
    }
    let mut any = digits(&mut at, accepts);
    if bytes.get(at) == Some(&b'.') {
        at += 1;
        any |= digits(&mut at, accepts);
    }
    let marks: &[u8] = if radix == 16 { b"pP" } else { b"eE" };
    if matches!(radix, 10 | 16) && bytes.get(at).is_some_and(|b| marks.contains(b)) {
        at += 1;
        at += usize::from(matches!(bytes.get(at), Some(b'+' | b'-')));
        digits(&mut at, u8::is_ascii_digit);
    }
    if any { at } else { 0 }
}
