//! Tokens in; a syntax tree and all mistakes out. A mistake costs one declaration, not the file.

mod comprehension;
mod decl;
mod expr;

use crate::{
    ast::{Comment, CommentGroup, CommentPlace, Comments, Expr, ExprKind, File},
    diagnostic::{Code, Diagnostic},
    era::Era,
    lexer::{self, Lexed, Token, TokenKind},
    source::{FileId, Source, Span},
};

/// Deepest nesting of expressions that is read; real files stay below 50.
pub(crate) const MAX_DEPTH: u32 = 1_000;

/// Most operands, selectors or calls in a row: each makes the tree one level deeper.
pub(crate) const MAX_CHAIN: u32 = 2_000;

/// Most clauses of one comprehension: each opens a level of names.
pub(crate) const MAX_CLAUSES: usize = 100;

/// Most mistakes reported for one file.
const MAX_DIAGNOSTICS: usize = 100;

/// Parses a source. The tree is always there; what could not be read is `Bad` in it.
pub fn parse(source: &Source, id: FileId) -> (File, Vec<Diagnostic>) {
    let (file, found) = parse_tokens(source, id, lexer::lex(&source.text, id));
    if found.is_empty() || !source.era.is_old() {
        return (file, found);
    }
    // A text that the newest release reads means the same in every era; only a text that it refuses is read as it was.
    let (older, still_wrong) = parse_tokens(source, id, lexer::lex_older(&source.text, id));
    if still_wrong.is_empty() { (older, still_wrong) } else { (file, found) }
}

fn parse_tokens(source: &Source, id: FileId, lexed: Lexed) -> (File, Vec<Diagnostic>) {
    let mut parser = Parser::new(&source.text, id, lexed);
    parser.era = source.era;
    let file = parser.file();
    (file, parser.finish())
}

/// Parses a text that is one expression.
///
/// # Errors
/// All mistakes, in the order of the text.
pub fn parse_expr(source: &Source, id: FileId) -> Result<crate::ast::Expr, Vec<Diagnostic>> {
    let lexed = lexer::lex(&source.text, id);
    let mut parser = Parser::new(&source.text, id, lexed);
    parser.era = source.era;
    let expr = parser.expr();
    parser.automatic_comma();
    if parser.kind() != TokenKind::End {
        let found = parser.found();
        parser.error(format!("expected the end of the expression, found {found}"));
    }
    let diagnostics = parser.finish();
    if diagnostics.is_empty() { Ok(expr) } else { Err(diagnostics) }
}

/// Signals that a mistake was recorded and the declaration is lost.
pub(super) struct Mistake;

pub(super) struct Parser<'a> {
    text: &'a str,
    file: FileId,
    lexed: Lexed,
    at: usize,
    depth: u32,
    /// Comments up to this one are already attached.
    comment: u32,
    /// Open braces of structs around the token at hand.
    pub(super) braces: u32,
    /// Whether the last declaration was lost: a stray bracket behind it is no mistake of its own.
    pub(super) after_mistake: bool,
    pub(super) experiments: Vec<String>,
    /// The era of the source.
    pub(super) era: Era,
    diagnostics: Vec<Diagnostic>,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str, file: FileId, mut lexed: Lexed) -> Self {
        let diagnostics = std::mem::take(&mut lexed.diagnostics);
        Self {
            text,
            file,
            lexed,
            at: 0,
            depth: 0,
            comment: 0,
            braces: 0,
            after_mistake: false,
            experiments: Vec::new(),
            era: Era::default(),
            diagnostics,
        }
    }

    fn finish(mut self) -> Vec<Diagnostic> {
        self.diagnostics.sort_by_key(|d| d.span().start);
        self.diagnostics.dedup_by(|a, b| a.span() == b.span());
        self.diagnostics.truncate(MAX_DIAGNOSTICS);
        self.diagnostics
    }

    pub(super) fn token(&self) -> Token {
        self.peek(0)
    }

    pub(super) fn peek(&self, ahead: usize) -> Token {
        let last = self.lexed.tokens.len() - 1;
        self.lexed.tokens[(self.at + ahead).min(last)]
    }

    pub(super) fn kind(&self) -> TokenKind {
        self.token().kind
    }

    pub(super) fn span(&self) -> Span {
        self.token().span
    }

    pub(super) fn text_of(&self, span: Span) -> &'a str {
        self.text.get(span.start as usize..span.end as usize).unwrap_or("")
    }

    /// The end of the last token read.
    pub(super) fn last_span(&self) -> Span {
        let mut at = self.at;
        while at > 0 {
            at -= 1;
            let token = self.lexed.tokens[at];
            if token.kind != (TokenKind::Comma { automatic: true }) {
                return token.span;
            }
        }
        Span::new(self.file, 0, 0)
    }

    pub(super) fn advance(&mut self) -> Token {
        let token = self.token();
        if self.at + 1 < self.lexed.tokens.len() {
            self.at += 1;
        }
        token
    }

    pub(super) fn is_symbol(&self, symbol: &str) -> bool {
        matches!(self.kind(), TokenKind::Symbol(s) if s == symbol)
    }

    pub(super) fn peek_symbol(&self, ahead: usize, symbol: &str) -> bool {
        matches!(self.peek(ahead).kind, TokenKind::Symbol(s) if s == symbol)
    }

    pub(super) fn eat(&mut self, symbol: &str) -> Option<Span> {
        self.is_symbol(symbol).then(|| self.advance().span)
    }

    pub(super) fn expect(&mut self, symbol: &str, place: &str) -> Result<Span, Mistake> {
        match self.eat(symbol) {
            Some(span) => Ok(span),
            None => {
                let found = self.found();
                Err(self.error(format!("expected '{symbol}' {place}, found {found}")))
            }
        }
    }

    pub(super) fn word(&self) -> &'a str {
        if self.kind() == TokenKind::Ident { self.text_of(self.span()) } else { "" }
    }

    pub(super) fn found(&self) -> String {
        match self.kind() {
            TokenKind::End => "the end of the file".into(),
            TokenKind::Comma { automatic: true } => "the end of the line".into(),
            _ => {
                let text: String = self.text_of(self.span()).chars().take(40).collect();
                format!("'{text}'")
            }
        }
    }

    pub(super) fn error(&mut self, message: impl Into<String>) -> Mistake {
        let span = self.span();
        self.error_at(message, span)
    }

    pub(super) fn error_at(&mut self, message: impl Into<String>, span: Span) -> Mistake {
        self.diagnostics.push(Diagnostic::new(Code::Syntax, message, span));
        Mistake
    }

    pub(super) fn automatic_comma(&mut self) {
        if self.kind() == (TokenKind::Comma { automatic: true }) {
            self.advance();
        }
    }

    /// Runs `f` one level deeper, within the depth limit and with enough stack.
    pub(super) fn deeper<T>(
        &mut self,
        f: impl FnOnce(&mut Self) -> Result<T, Mistake>,
    ) -> Result<T, Mistake> {
        if self.depth >= MAX_DEPTH {
            let span = self.span();
            self.at = self.lexed.tokens.len() - 1;
            return Err(self.error_at(format!("nested deeper than {MAX_DEPTH} levels"), span));
        }
        self.depth += 1;
        let result = stacker::maybe_grow(128 * 1024, 1024 * 1024, || f(self));
        self.depth -= 1;
        result
    }

    /// Skips to the end of the declaration that starts at `first_token`, not beyond the enclosing brace.
    ///
    /// Brackets opened in the declaration are skipped with what is in them. One that is never closed would take the
    /// rest of the file along, so a line that starts no deeper than the declaration also ends it.
    pub(super) fn recover(&mut self, first_token: usize) {
        self.after_mistake = true;
        // A parse that gave up altogether is not looked through again by everything around it.
        if matches!(self.token().kind, TokenKind::End) {
            return;
        }
        let margin = self.column(self.lexed.tokens[first_token].span);
        let mut depth = 0u32;
        for token in &self.lexed.tokens[first_token..self.at] {
            match token.kind {
                TokenKind::Symbol("{" | "[" | "(") => depth += 1,
                TokenKind::Symbol("}" | "]" | ")") => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        loop {
            let token = self.token();
            let closes = matches!(token.kind, TokenKind::Symbol("}" | "]" | ")"));
            match token.kind {
                TokenKind::End => return,
                TokenKind::Comma { .. } if depth == 0 => return,
                TokenKind::Symbol("{" | "[" | "(") => depth += 1,
                TokenKind::Symbol("}")
                    if self.braces > 0
                        && (depth == 0 || (token.newlines > 0 && self.column(token.span) < margin)) =>
                {
                    return;
                }
                _ if closes => depth = depth.saturating_sub(1),
                _ if token.newlines > 0 && self.at > first_token && self.column(token.span) <= margin => {
                    return;
                }
                _ => {}
            }
            self.advance();
        }
    }

    /// Bytes before a place on its line.
    fn column(&self, span: Span) -> usize {
        let before = self.text.get(..span.start as usize).unwrap_or("");
        before.len() - before.rfind('\n').map_or(0, |at| at + 1)
    }

    /// The comments before the current token that no node took yet, as doc and free comments.
    pub(super) fn leading_comments(&mut self) -> Comments {
        let token = self.token();
        self.groups(token.comments.1, token.newlines)
    }

    /// The comments between a colon and the value; one behind the colon is no doc comment.
    pub(super) fn value_comments(&mut self) -> Comments {
        let first = self.token().comments.0.max(self.comment);
        let behind_colon =
            first < self.token().comments.1 && self.lexed.comments[first as usize].newlines == 0;
        let mut groups = self.leading_comments();
        if behind_colon && let Some(group) = groups.first_mut() {
            group.place = CommentPlace::Above;
        }
        groups
    }

    fn groups(&mut self, until: u32, newlines_after: u32) -> Comments {
        let mut groups: Comments = Vec::new();
        while self.comment < until {
            let comment = self.lexed.comments[self.comment as usize];
            self.comment += 1;
            let line = Comment { span: comment.span, text: self.text_of(comment.span).to_owned() };
            let behind_token = self.comment > 1
                && self.lexed.comments[self.comment as usize - 2].newlines == 0
                && self.lexed.comments[self.comment as usize - 2].span.start > 0;
            match groups.last_mut() {
                // A comment behind a token is a group of its own.
                Some(group) if comment.newlines <= 1 && !behind_token => group.lines.push(line),
                _ => groups.push(CommentGroup {
                    place: CommentPlace::Above,
                    lines: vec![line],
                    blank_before: comment.newlines > 1,
                }),
            }
        }
        if newlines_after <= 1
            && let Some(last) = groups.last_mut()
        {
            last.place = CommentPlace::Doc;
        }
        groups
    }

    /// A comment on the line of the token just read.
    pub(super) fn line_comment(&mut self) -> Option<CommentGroup> {
        let token = self.token();
        let (first, until) = (token.comments.0.max(self.comment), token.comments.1);
        if first >= until || self.lexed.comments[first as usize].newlines > 0 || self.at == 0 {
            return None;
        }
        let comment = self.lexed.comments[first as usize];
        self.comment = first + 1;
        let text = self.text_of(comment.span).to_owned();
        Some(CommentGroup {
            place: CommentPlace::Line,
            lines: vec![Comment { span: comment.span, text }],
            blank_before: false,
        })
    }

    /// Takes the comment on the line of the opening bracket out of a struct or list.
    pub(super) fn comment_behind_bracket(&self, value: &mut Expr) -> Option<CommentGroup> {
        let comments = match &mut value.kind {
            ExprKind::Struct(literal) => match literal.decls.first_mut() {
                Some(first) => &mut first.comments,
                None => &mut literal.comments,
            },
            ExprKind::List(literal) => match literal.elements.first_mut() {
                Some(first) => &mut first.comments,
                None => &mut literal.comments,
            },
            _ => return None,
        };
        let start = comments.first()?.lines.first()?.span.start;
        let between = self.text.get(value.span.start as usize..start as usize)?;
        if between.contains('\n') {
            return None;
        }
        let mut group = comments.remove(0);
        group.place = CommentPlace::Line;
        Some(group)
    }

    /// The comments at the braces of the struct a comprehension yields are its own, not those of its last declaration.
    pub(super) fn comments_of_yield(&self, value: &mut Expr, behind_brace: Option<CommentGroup>) {
        let ExprKind::Struct(literal) = &mut value.kind else { return };
        if literal.decls.is_empty() {
            let mut own: Comments = behind_brace.into_iter().chain(literal.comments.drain(..)).collect();
            own.iter_mut().for_each(|group| group.place = CommentPlace::Line);
            value.comments.extend(own);
            return;
        }
        if let Some(last) = literal.comments.last_mut()
            && let Some(line) = last.lines.last()
        {
            let between = self.text.get(line.span.end as usize..literal.close.start as usize).unwrap_or("");
            if between.bytes().filter(|b| *b == b'\n').count() <= 1 {
                last.place = CommentPlace::Above;
            }
        }
        literal.comments.extend(behind_brace);
    }

    /// A struct or list that is an element hands the comments at its brackets on: they stand behind the element's comma.
    pub(super) fn comments_of_element(&self, element: &mut Expr) {
        let mut moved: Comments = self.comment_behind_bracket(element).into_iter().collect();
        let (comments, close, empty) = match &mut element.kind {
            ExprKind::Struct(literal) => (&mut literal.comments, literal.close, literal.decls.is_empty()),
            ExprKind::List(literal) => (&mut literal.comments, literal.close, literal.elements.is_empty()),
            _ => return,
        };
        if empty {
            moved.append(comments);
        } else if let Some(last) = comments.last().and_then(|group| group.lines.last()) {
            let between = self.text.get(last.span.end as usize..close.start as usize).unwrap_or("");
            if between.bytes().filter(|b| *b == b'\n').count() <= 1 {
                moved.extend(comments.pop());
            }
        }
        element.comments.extend(moved);
    }

    /// Comments before a closing bracket or the end.
    pub(super) fn closing_comments(&mut self) -> Comments {
        let mut groups = self.leading_comments();
        for group in &mut groups {
            group.place = CommentPlace::Inside;
        }
        groups
    }
}
