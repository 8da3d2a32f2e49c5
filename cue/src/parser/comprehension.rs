//! Tokens of `for`, `if`, `let` and `try` in; a comprehension out.

use super::{MAX_CLAUSES, Mistake, Parser};
use crate::{ast::*, lexer::TokenKind};

impl Parser<'_> {
    /// Whether a clause starts here rather than a field or name of that word.
    pub(super) fn starts_comprehension(&self) -> bool {
        if self.separator_at(1) {
            return false;
        }
        let next = self.peek(1).kind;
        match self.word() {
            "for" => next == TokenKind::Ident,
            "if" => !matches!(
                next,
                TokenKind::Comma { .. } | TokenKind::End | TokenKind::Symbol("}" | "]" | ")" | "=")
            ),
            "try" => matches!(next, TokenKind::Symbol("{") | TokenKind::Ident),
            "let" => false,
            _ => false,
        }
    }

    pub(super) fn comprehension(&mut self) -> Result<Expr, Mistake> {
        let start = self.span();
        let mut clauses = Vec::new();
        loop {
            let comments = self.leading_comments();
            let from = self.span();
            let kind = match self.word() {
                "for" => self.for_clause()?,
                "if" => {
                    self.advance();
                    ClauseKind::If(self.value()?)
                }
                "let" => {
                    self.advance();
                    ClauseKind::Let(self.binding()?)
                }
                "try" => {
                    if !self.experiment("try") {
                        self.error("a try clause requires @experiment(try)");
                    }
                    self.advance();
                    let bare = self.is_symbol("{") || matches!(self.word(), "for" | "if" | "let" | "try");
                    ClauseKind::Try(if bare { None } else { Some(self.binding()?) })
                }
                _ => {
                    let found = self.found();
                    return Err(
                        self.error(format!("expected a clause or '{{' in a comprehension, found {found}"))
                    );
                }
            };
            if clauses.len() >= MAX_CLAUSES {
                return Err(
                    self.error_at(format!("more than {MAX_CLAUSES} clauses in a comprehension"), from)
                );
            }
            clauses.push(Clause { span: from.to(self.last_span()), kind, comments });
            if matches!(self.kind(), TokenKind::Comma { .. }) {
                self.advance();
            }
            if self.is_symbol("{") {
                break;
            }
        }
        let mut value = self.deeper(Self::struct_lit)?;
        let behind_brace = self.comment_behind_bracket(&mut value);
        self.comments_of_yield(&mut value, behind_brace);
        let mut fallback = None;
        if matches!(self.word(), "else" | "otherwise" | "fallback") && self.peek_symbol(1, "{") {
            self.check_fallback(&clauses);
            if !self.experiment("try") {
                let word = self.word();
                self.error(format!("{word} requires @experiment(try)"));
            }
            let span = self.advance().span;
            let keyword = Ident { span, name: self.text_of(span).to_owned() };
            fallback = Some(Fallback { keyword, value: self.deeper(Self::struct_lit)? });
        }
        let span = start.to(self.last_span());
        Ok(Expr::new(span, ExprKind::Comprehension(Box::new(Comprehension { clauses, value, fallback }))))
    }

    /// `else` goes with one condition, `otherwise` (once `fallback`) with everything else.
    pub(super) fn check_fallback(&mut self, clauses: &[Clause]) {
        let guard = matches!(clauses, [Clause { kind: ClauseKind::If(_) | ClauseKind::Try(_), .. }]);
        match (guard, self.word()) {
            (true, "else") | (false, "otherwise" | "fallback") => {}
            (true, _) => {
                self.error("with a single 'if' or 'try' write 'else'");
            }
            (false, _) => {
                self.error("with 'for' or several clauses write 'otherwise'");
            }
        }
    }

    pub(super) fn for_clause(&mut self) -> Result<ClauseKind, Mistake> {
        self.advance();
        let mut names = Vec::new();
        loop {
            if self.kind() != TokenKind::Ident {
                let found = self.found();
                return Err(self.error(format!("expected a name in a for clause, found {found}")));
            }
            let span = self.advance().span;
            let name = Ident { span, name: self.text_of(span).to_owned() };
            self.check_reserved(&name);
            names.push(name);
            if names.len() == 2 || self.kind() != (TokenKind::Comma { automatic: false }) {
                break;
            }
            self.advance();
        }
        if self.word() != "in" {
            let found = self.found();
            return Err(self.error(format!("expected 'in' in a for clause, found {found}")));
        }
        self.advance();
        let source = self.value()?;
        let mut names = names.into_iter();
        let (first, second) = (names.next(), names.next());
        match (first, second) {
            (Some(value), None) => Ok(ClauseKind::For { key: None, value, source }),
            (key, Some(value)) => Ok(ClauseKind::For { key, value, source }),
            (None, None) => Err(Mistake),
        }
    }
}
