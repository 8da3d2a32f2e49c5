//! Expressions by precedence climbing, lists, interpolations and comprehensions.

use super::{MAX_CHAIN, Mistake, Parser};
use crate::{ast::*, lexer::TokenKind, literal, source::Span};

impl Parser<'_> {
    pub(super) fn expr(&mut self) -> Expr {
        let span = self.span();
        self.value().unwrap_or_else(|Mistake| Expr::new(span, ExprKind::Bad))
    }

    pub(super) fn value(&mut self) -> Result<Expr, Mistake> {
        self.deeper(|p| p.binary(1))
    }

    /// An expression, or `X=expression`.
    pub(super) fn alias_or_binary(&mut self) -> Result<Expr, Mistake> {
        if self.kind() == TokenKind::Ident && self.peek_symbol(1, "=") {
            let span = self.advance().span;
            let name = Ident { span, name: self.text_of(span).to_owned() };
            self.check_reserved(&name);
            self.advance();
            let value = self.value()?;
            return Ok(Expr::new(span.to(value.span), ExprKind::Alias(name, Box::new(value))));
        }
        self.binary(1)
    }

    fn binary_op(&self) -> Option<BinaryOp> {
        Some(match self.kind() {
            TokenKind::Symbol(s) => match s {
                "|" => BinaryOp::Or,
                "&" => BinaryOp::And,
                "||" => BinaryOp::LogicalOr,
                "&&" => BinaryOp::LogicalAnd,
                "==" => BinaryOp::Equal,
                "!=" => BinaryOp::NotEqual,
                "<" => BinaryOp::Less,
                "<=" => BinaryOp::LessEqual,
                ">" => BinaryOp::Greater,
                ">=" => BinaryOp::GreaterEqual,
                "=~" => BinaryOp::Match,
                "!~" => BinaryOp::NotMatch,
                "+" => BinaryOp::Add,
                "-" => BinaryOp::Subtract,
                "*" => BinaryOp::Multiply,
                "/" => BinaryOp::Divide,
                _ => return None,
            },
            TokenKind::Ident if self.era.is_old() => match self.word() {
                "div" => BinaryOp::Div,
                "mod" => BinaryOp::Mod,
                "quo" => BinaryOp::Quo,
                "rem" => BinaryOp::Rem,
                _ => return None,
            },
            _ => return None,
        })
    }

    /// `7 div 2` was CUE up to 0.10: what is written now says more than a missing comma.
    fn check_infix_word(&mut self, left: &Expr) {
        let word = if self.kind() == TokenKind::Ident { self.word() } else { return };
        if matches!(word, "div" | "mod" | "quo" | "rem") && !self.peek_symbol(1, ":") {
            let left = self.text_of(left.span).to_owned();
            let left = if left.len() > 20 { "a".to_owned() } else { left };
            self.error(format!("{word} between its operands was CUE up to 0.10: write {word}({left}, …)"));
        }
    }

    fn binary(&mut self, least: u8) -> Result<Expr, Mistake> {
        let mut left = self.unary()?;
        let mut length = 0;
        loop {
            let Some(op) = self.binary_op() else {
                self.check_infix_word(&left);
                break;
            };
            if op.precedence() < least {
                break;
            }
            length += 1;
            if length > MAX_CHAIN {
                return Err(self.error(format!("more than {MAX_CHAIN} operands in a row")));
            }
            let op_span = self.advance().span;
            if self.token().newlines > 0 && self.starts_field() {
                let message = format!("expected a value behind '{}', found the next field", op.text());
                return Err(self.error_at(message, op_span));
            }
            let comments = self.leading_comments();
            let mut right = self.deeper(|p| p.binary(op.precedence() + 1))?;
            right.comments.splice(0..0, comments);
            left = Expr::new(
                left.span.to(right.span),
                ExprKind::Binary(op, op_span, Box::new(left), Box::new(right)),
            );
        }
        Ok(left)
    }

    /// Whether a name or string with a colon behind it stands here.
    fn starts_field(&self) -> bool {
        matches!(self.kind(), TokenKind::Ident | TokenKind::Quoted) && self.separator_at(1)
    }

    fn unary(&mut self) -> Result<Expr, Mistake> {
        let op = match self.kind() {
            TokenKind::Symbol(s) => match s {
                "+" => UnaryOp::Plus,
                "-" => UnaryOp::Minus,
                "!" => UnaryOp::Not,
                "*" => UnaryOp::Default,
                "<" => UnaryOp::Less,
                "<=" => UnaryOp::LessEqual,
                ">" => UnaryOp::Greater,
                ">=" => UnaryOp::GreaterEqual,
                "!=" => UnaryOp::NotEqual,
                "==" => UnaryOp::Equal,
                "=~" => UnaryOp::Match,
                "!~" => UnaryOp::NotMatch,
                _ => return self.primary(),
            },
            _ => return self.primary(),
        };
        let start = self.advance().span;
        let operand = self.deeper(Self::unary)?;
        Ok(Expr::new(start.to(operand.span), ExprKind::Unary(op, Box::new(operand))))
    }

    fn primary(&mut self) -> Result<Expr, Mistake> {
        let mut expr = self.operand()?;
        let mut length = 0;
        loop {
            length += 1;
            if length > MAX_CHAIN {
                return Err(self.error(format!("more than {MAX_CHAIN} selectors or calls in a row")));
            }
            let start = expr.span;
            match self.kind() {
                TokenKind::Symbol(".") => {
                    self.advance();
                    let label = self.selector()?;
                    expr = Expr::new(start.to(label.span), ExprKind::Selector(Box::new(expr), label));
                }
                TokenKind::Symbol("[") => {
                    self.advance();
                    let low = if self.is_symbol(":") { None } else { Some(Box::new(self.value()?)) };
                    let kind = if self.eat(":").is_some() {
                        self.automatic_comma();
                        let high = if self.is_symbol("]") { None } else { Some(Box::new(self.value()?)) };
                        ExprKind::Slice(Box::new(expr), low, high)
                    } else {
                        let Some(index) = low else { return Err(self.error("expected an index")) };
                        ExprKind::Index(Box::new(expr), index)
                    };
                    if matches!(self.kind(), TokenKind::Comma { .. }) {
                        self.advance();
                    }
                    let end = self.expect("]", "behind an index")?;
                    expr = Expr::new(start.to(end), kind);
                }
                TokenKind::Symbol("(") => {
                    self.advance();
                    let mut arguments = Vec::new();
                    while !self.is_symbol(")") {
                        let comments = self.leading_comments();
                        let mut argument = self.value()?;
                        argument.comments.splice(0..0, comments);
                        arguments.push(argument);
                        if !matches!(self.kind(), TokenKind::Comma { .. }) {
                            break;
                        }
                        self.advance();
                    }
                    let comments = self.closing_comments();
                    if let Some(last) = arguments.last_mut() {
                        last.comments.extend(comments);
                    }
                    let end = self.expect(")", "behind the arguments of a call")?;
                    expr = Expr::new(start.to(end), ExprKind::Call(Box::new(expr), arguments));
                }
                TokenKind::Ellipsis => {
                    let end = self.advance().span;
                    if !self.experiment("explicitopen") {
                        self.error_at("postfix ... operator requires @experiment(explicitopen)", end);
                    }
                    expr = Expr::new(start.to(end), ExprKind::Open(Box::new(expr)));
                }
                TokenKind::Symbol("?") if !self.peek_symbol(1, ":") => {
                    let end = self.advance().span;
                    if !self.experiment("try") {
                        self.error_at("a reference marked ? requires @experiment(try)", end);
                    }
                    expr = Expr::new(start.to(end), ExprKind::Try(Box::new(expr)));
                }
                _ => return Ok(expr),
            }
        }
    }

    fn selector(&mut self) -> Result<Label, Mistake> {
        let span = self.span();
        let text = self.text_of(span).to_owned();
        let kind = match self.kind() {
            TokenKind::Ident if text != "_" => LabelKind::Ident(text),
            // Only plain quotes: neither raw nor multi-line, nor bytes.
            TokenKind::Quoted if text.starts_with('"') && !text.starts_with("\"\"") => {
                self.check_quoted(&text, span);
                LabelKind::String(text)
            }
            _ => {
                let found = self.found();
                return Err(self.error(format!("expected a field name behind '.', found {found}")));
            }
        };
        self.advance();
        Ok(Label { span, kind })
    }

    fn check_quoted(&mut self, text: &str, span: Span) {
        let error = match literal::unquote(text) {
            Err(error) => error,
            Ok(_) => match self.check_closing(text) {
                Ok(()) => return,
                Err(error) => error,
            },
        };
        if !error.is_unpaired_surrogate() {
            let at = (span.start + error.offset as u32).min(span.end);
            self.error_at(error.message, Span { start: at, ..span });
        }
    }

    /// Older releases also read a multi-line literal that is closed behind text.
    fn check_closing(&self, text: &str) -> Result<(), literal::LiteralError> {
        let Some((quotes, start)) = literal::Quotes::opening(text).filter(|_| !self.era.is_old()) else {
            return Ok(());
        };
        let body = text.get(start..text.len().saturating_sub(quotes.closing().len())).unwrap_or_default();
        literal::check_closing(quotes, &[body]).map_err(|mut error| {
            error.offset += start;
            error
        })
    }

    fn operand(&mut self) -> Result<Expr, Mistake> {
        let span = self.span();
        let text = self.text_of(span).to_owned();
        let kind = match self.kind() {
            TokenKind::Ident => match self.word() {
                "null" => ExprKind::Literal(LiteralKind::Null, text),
                "true" | "false" => ExprKind::Literal(LiteralKind::Bool, text),
                _ => ExprKind::Ident(text),
            },
            TokenKind::Int => ExprKind::Literal(LiteralKind::Int, text),
            TokenKind::Float => ExprKind::Literal(LiteralKind::Float, text),
            TokenKind::Bottom => ExprKind::Bottom,
            TokenKind::Quoted => {
                self.check_quoted(&text, span);
                let bytes = text.trim_start_matches('#').starts_with('\'');
                ExprKind::Literal(if bytes { LiteralKind::Bytes } else { LiteralKind::String }, text)
            }
            TokenKind::InterpolationStart => return self.interpolation(),
            TokenKind::Symbol("{") => return self.deeper(Self::struct_lit),
            TokenKind::Symbol("[") => return self.deeper(Self::list),
            TokenKind::Symbol("(") => {
                self.advance();
                let inner = self.value()?;
                self.automatic_comma();
                let end = self.expect(")", "behind an expression")?;
                return Ok(Expr::new(span.to(end), ExprKind::Paren(Box::new(inner))));
            }
            TokenKind::Bad => {
                self.advance();
                return Err(Mistake);
            }
            _ => {
                let found = self.found();
                return Err(self.error(format!("expected a value, found {found}")));
            }
        };
        self.advance();
        Ok(Expr::new(span, kind))
    }

    fn list(&mut self) -> Result<Expr, Mistake> {
        let start = self.advance().span;
        let mut list = ListLit::default();
        while !self.is_symbol("]") && self.kind() != TokenKind::End {
            let comments = self.leading_comments();
            let mut element = if self.kind() == TokenKind::Ellipsis {
                let span = self.advance().span;
                let ends = matches!(self.kind(), TokenKind::Comma { .. } | TokenKind::Symbol("]"));
                let inner = if ends { None } else { Some(Box::new(self.value()?)) };
                let span = inner.as_ref().map_or(span, |e| span.to(e.span));
                Expr::new(span, ExprKind::Ellipsis(inner))
            } else if self.kind() == TokenKind::Ident && self.starts_comprehension() {
                self.comprehension()?
            } else {
                self.alias_or_binary()?
            };
            self.comments_of_element(&mut element);
            element.comments.splice(0..0, comments);
            let last = matches!(element.kind, ExprKind::Ellipsis(_));
            list.elements.push(element);
            let comma = matches!(self.kind(), TokenKind::Comma { .. });
            if comma {
                self.advance();
            }
            if let (Some(comment), Some(element)) = (self.line_comment(), list.elements.last_mut()) {
                element.comments.push(comment);
            }
            if !comma {
                break;
            }
            if last && !self.is_symbol("]") {
                let found = self.found();
                return Err(self.error(format!("expected ']' behind the ellipsis of a list, found {found}")));
            }
        }
        list.comments = self.closing_comments();
        list.close = self.expect("]", "at the end of a list")?;
        Ok(Expr::new(start.to(list.close), ExprKind::List(list)))
    }

    fn interpolation(&mut self) -> Result<Expr, Mistake> {
        let start = self.advance().span;
        let first = self.text_of(start);
        let Some((quotes, length)) = literal::Quotes::opening(first) else { return Err(Mistake) };
        let escape = 2 + quotes.hashes;
        let closing = quotes.closing();
        let open = first[..length].to_owned();
        let inner = |span: Span, front: usize, back: usize| Span {
            start: span.start + front as u32,
            end: span.end.saturating_sub(back as u32).max(span.start + front as u32),
            ..span
        };
        let span = inner(start, length, escape);
        let mut parts = vec![InterpolationPart::Text(span, self.text_of(span).to_owned())];
        loop {
            let value = self.value()?;
            parts.push(InterpolationPart::Expr(value));
            self.automatic_comma();
            match self.kind() {
                TokenKind::InterpolationMiddle => {
                    let span = inner(self.advance().span, 1, escape);
                    parts.push(InterpolationPart::Text(span, self.text_of(span).to_owned()));
                }
                TokenKind::InterpolationEnd => {
                    let token = self.advance().span;
                    let span = inner(token, 1, closing.len());
                    parts.push(InterpolationPart::Text(span, self.text_of(span).to_owned()));
                    let texts: Vec<(Span, &str)> = parts
                        .iter()
                        .filter_map(|p| match p {
                            InterpolationPart::Text(span, text) => Some((*span, text.as_str())),
                            InterpolationPart::Expr(_) => None,
                        })
                        .collect();
                    let segments: Vec<&str> = texts.iter().map(|t| t.1).collect();
                    let read = literal::unquote_segments(quotes, &segments).map(drop);
                    let closed = || match self.era.is_old() {
                        true => Ok(()),
                        false => literal::check_closing(quotes, &segments),
                    };
                    if let Err(error) = read.and_then(|()| closed())
                        && !error.is_unpaired_surrogate()
                    {
                        let base = texts.get(error.segment).map_or(start, |t| t.0);
                        let at = (base.start + error.offset as u32).min(base.end);
                        self.error_at(error.message, Span { start: at, end: base.end.max(at), ..base });
                    }
                    let whole = start.to(token);
                    return Ok(Expr::new(
                        whole,
                        ExprKind::Interpolation(Interpolation { open, parts, close: closing }),
                    ));
                }
                _ => {
                    let found = self.found();
                    return Err(self.error(format!("expected ')' for string interpolation, found {found}")));
                }
            }
        }
    }
}
