//! Expressions, comprehensions and literals.

use super::spacing::{Printer, Relation, Wish};
use crate::ast::{
    Clause, ClauseKind, CommentPlace, Comprehension, Expr, ExprKind, Ident, Interpolation, InterpolationPart,
    ListLit, LiteralKind, StructLit,
};
use crate::source::Span;

/// Binds stronger than every infix operator.
const UNARY: u8 = 8;
const HIGHEST: u8 = 9;

/// Multi-line literals deeper than this keep their own indentation.
const DEEPEST_REINDENT: usize = 6;

impl Printer<'_> {
    pub(super) fn expr(&mut self, expr: &Expr) {
        self.expr_at(expr, 0, 1);
    }

    /// `binding` is the strength of the operator around, `depth` grows with nesting and takes blanks away.
    pub(super) fn expr_at(&mut self, expr: &Expr, binding: u8, depth: usize) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            self.comments(&expr.comments, &[CommentPlace::Above, CommentPlace::Doc]);
            self.bare(expr, binding, depth);
            self.comments(&expr.comments, &[CommentPlace::Line, CommentPlace::Inside]);
        });
    }

    fn bare(&mut self, expr: &Expr, binding: u8, depth: usize) {
        match &expr.kind {
            ExprKind::Bad | ExprKind::Bottom => {
                self.at(expr.span);
                self.symbol("_|_");
            }
            ExprKind::Ident(name) => {
                self.at(expr.span);
                self.literal(name, false);
            }
            ExprKind::Literal(kind, text) => {
                self.at(expr.span);
                let shown = self.literal_text(*kind, text);
                self.literal(&shown, *kind == LiteralKind::Int);
            }
            ExprKind::Interpolation(interpolation) => self.interpolation(expr.span, interpolation, depth),
            ExprKind::Struct(literal) => self.structure(expr.span, literal),
            ExprKind::List(literal) => self.list(expr.span, literal),
            ExprKind::Ellipsis(element) => {
                self.at(expr.span);
                self.symbol("...");
                self.ellipsis_type(element.as_deref());
            }
            ExprKind::Unary(operator, operand) => {
                let parenthesized = UNARY < binding;
                if parenthesized {
                    self.symbol("(");
                    self.wish(Wish::FIXED);
                }
                self.at(expr.span);
                self.symbol(operator.text());
                self.wish(Wish::FIXED);
                self.expr_at(operand, UNARY, depth);
                if parenthesized {
                    self.symbol(")");
                }
            }
            ExprKind::Binary(operator, place, left, right) => {
                if operator.precedence() < binding {
                    self.symbol("(");
                    self.wish(Wish::FIXED);
                    self.expr_at(expr, 0, depth.saturating_sub(1).max(1));
                    self.symbol(")");
                } else {
                    self.binary(*operator, *place, left, right, depth);
                }
            }
            ExprKind::Paren(inner) => {
                if matches!(inner.kind, ExprKind::Paren(_)) {
                    self.expr_at(inner, 0, depth);
                } else {
                    self.at(expr.span);
                    self.symbol("(");
                    self.expr_at(inner, 0, depth.saturating_sub(1).max(1));
                    self.at_end(expr.span);
                    self.symbol(")");
                }
            }
            ExprKind::Selector(operand, label) => {
                if self.selector(operand, label, depth) {
                    self.wish(Wish::UNINDENT);
                }
            }
            ExprKind::Index(operand, index) => {
                self.expr_at(operand, HIGHEST, 1);
                self.at(self.next_byte(operand.span, b'['));
                self.symbol("[");
                self.expr_at(index, 0, depth + 1);
                self.at_end(expr.span);
                self.symbol("]");
            }
            ExprKind::Slice(operand, low, high) => {
                self.expr_at(operand, HIGHEST, 1);
                self.at(self.next_byte(operand.span, b'['));
                self.symbol("[");
                if let Some(low) = low {
                    self.expr_at(low, 0, depth + 1);
                }
                let binary = |e: &Option<Box<Expr>>| {
                    e.as_ref().is_some_and(|e| matches!(e.kind, ExprKind::Binary(..)))
                };
                let blanks = depth <= 1 && low.is_some() && high.is_some() && (binary(low) || binary(high));
                if blanks {
                    self.wish(Wish::BLANK);
                }
                self.symbol(":");
                if blanks {
                    self.wish(Wish::BLANK);
                }
                if let Some(high) = high {
                    self.expr_at(high, 0, depth + 1);
                }
                self.symbol("]");
            }
            ExprKind::Call(function, arguments) => self.call(expr.span, function, arguments, depth),
            ExprKind::Alias(name, value) => {
                self.at(name.span);
                self.literal(&name.name, false);
                self.at(self.next_byte(name.span, b'='));
                self.symbol("=");
                self.expr(value);
            }
            ExprKind::Open(operand) => {
                self.expr_at(operand, HIGHEST, depth);
                self.symbol("...");
            }
            ExprKind::Try(operand) => {
                self.expr_at(operand, HIGHEST, depth);
                self.symbol("?");
            }
            ExprKind::Comprehension(comprehension) => self.comprehension(comprehension),
        }
    }

    /// The closing bracket, the last byte of the span.
    fn at_end(&mut self, span: Span) {
        if !span.is_none() && span.end > span.start {
            self.at(Span { start: span.end - 1, ..span });
        }
    }

    fn call(&mut self, span: Span, function: &Expr, arguments: &[Expr], depth: usize) {
        let depth = if arguments.len() > 1 { depth + 1 } else { depth };
        let indented = match &function.kind {
            ExprKind::Selector(operand, label) => {
                let comments = &function.comments;
                self.comments(comments, &[CommentPlace::Above, CommentPlace::Doc]);
                let indented = self.selector(operand, label, depth);
                self.comments(comments, &[CommentPlace::Line]);
                indented
            }
            _ => {
                self.expr_at(function, HIGHEST, depth);
                false
            }
        };
        self.at(self.next_byte(function.span, b'('));
        self.symbol("(");
        for argument in arguments {
            self.comments(&argument.comments, &[CommentPlace::Above, CommentPlace::Doc, CommentPlace::Line]);
            self.bare(argument, 0, depth);
            self.wish(Wish::COMMA | Wish::BLANK);
            self.comments(&argument.comments, &[CommentPlace::Inside]);
        }
        self.wish(Wish::TRAILING | Wish::NO_BLANK);
        self.at_end(span);
        self.symbol(")");
        if indented {
            self.wish(Wish::UNINDENT);
        }
    }

    /// Whether the label stands on its own, indented line.
    fn selector(&mut self, operand: &Expr, label: &crate::ast::Label, depth: usize) -> bool {
        self.expr_at(operand, HIGHEST, depth);
        self.symbol(".");
        if self.starts_line(label.span) {
            self.wish(Wish::INDENT | Wish::FEED);
            self.label(label);
            return true;
        }
        self.wish(Wish::NO_BLANK);
        self.label(label);
        false
    }

    fn structure(&mut self, span: Span, literal: &StructLit) {
        let outer = self.one_line;
        if literal.decls.len() <= 1 && literal.comments.is_empty() && self.on_one_line(span) {
            self.one_line = true;
        }
        let mut feed = self.feed();
        let mut space = Wish::NO_BLANK;
        let placed = literal.braces
            && literal.decls.first().is_some_and(|d| self.relation(d.span) != Relation::Unknown);
        if literal.decls.is_empty() {
            if literal.comments.is_empty() {
                feed = Wish::BLANK | Wish::FIXED;
            }
        } else if !placed {
            space |= Wish::LINE | Wish::FIXED;
        }
        if literal.braces {
            self.at(span);
        }
        self.symbol("{");
        let line = self.line;
        self.wish(space | feed | Wish::INDENT);
        self.brace_on_line = true;
        let followed = literal.comments.iter().any(|group| group.place == CommentPlace::Inside);
        self.decls(&literal.decls, followed);
        self.closing(&literal.comments, &literal.decls);
        self.wish(Wish::UNINDENT);
        let mut space = Wish::NO_BLANK;
        if self.line != line {
            space |= Wish::LINE;
            if !matches!(self.last, '}' | ']') {
                space |= Wish::FIXED;
            }
        }
        self.wish(space);
        self.at(literal.close);
        self.symbol("}");
        self.one_line = outer;
    }

    fn list(&mut self, span: Span, literal: &ListLit) {
        let mut space = Wish::NO_BLANK | Wish::INDENT;
        if literal.elements.is_empty() && literal.comments.is_empty() {
            space |= Wish::BLANK | Wish::FIXED;
        }
        self.at(span);
        self.symbol("[");
        self.wish(space);
        let bare = self.omits_commas(literal);
        for (index, element) in literal.elements.iter().enumerate() {
            if index > 0 && bare {
                self.wish(Wish::SEPARATOR);
            }
            self.comments(&element.comments, &[CommentPlace::Above, CommentPlace::Doc]);
            match &element.kind {
                ExprKind::Ellipsis(kind) => {
                    self.at(element.span);
                    self.symbol("...");
                    if let Some(kind) = kind
                        && !matches!(&kind.kind, ExprKind::Ident(name) if name == "_")
                    {
                        self.bare(kind, 0, 1);
                    }
                }
                _ => self.bare(element, 0, 1),
            }
            if !bare {
                self.wish(Wish::COMMA | Wish::BLANK);
            }
            self.comments(&element.comments, &[CommentPlace::Line, CommentPlace::Inside]);
        }
        self.wish(Wish::TRAILING | Wish::NO_BLANK);
        self.comments(
            &literal.comments,
            &[CommentPlace::Inside, CommentPlace::Above, CommentPlace::Doc, CommentPlace::Line],
        );
        self.wish(Wish::UNINDENT | Wish::NO_BLANK);
        self.at(literal.close);
        self.symbol("]");
    }

    /// Lists whose source leaves out commas at line ends stay without them.
    fn omits_commas(&self, literal: &ListLit) -> bool {
        if let [only] = &literal.elements[..] {
            return self.comma_between(only.span, literal.close) == Some(false);
        }
        literal.elements.windows(2).any(|pair| self.comma_between(pair[0].span, pair[1].span) == Some(false))
    }

    fn comprehension(&mut self, comprehension: &Comprehension) {
        for (index, clause) in comprehension.clauses.iter().enumerate() {
            self.comments(&clause.comments, &[CommentPlace::Above, CommentPlace::Doc]);
            if index > 0 {
                self.wish(Wish::BLANK);
            }
            self.clause(clause);
            self.comments(&clause.comments, &[CommentPlace::Line, CommentPlace::Inside]);
        }
        self.wish(Wish::BLANK | Wish::FIXED);
        self.expr(&comprehension.value);
        if let Some(fallback) = &comprehension.fallback {
            self.wish(Wish::BLANK);
            self.at(fallback.keyword.span);
            let one_condition =
                matches!(&comprehension.clauses[..], [only] if !matches!(only.kind, ClauseKind::For { .. }));
            self.symbol(if one_condition { "else" } else { "otherwise" });
            self.wish(Wish::BLANK);
            self.expr(&fallback.value);
        }
    }

    fn clause(&mut self, clause: &Clause) {
        self.at(clause.span);
        match &clause.kind {
            ClauseKind::For { key, value, source } => {
                self.literal("for", false);
                self.wish(Wish::BLANK | Wish::INDENT);
                if let Some(key) = key {
                    self.name(key);
                    self.symbol(",");
                    self.wish(Wish::BLANK);
                }
                self.name(value);
                self.wish(Wish::BLANK);
                self.literal("in", false);
                self.wish(Wish::BLANK);
                self.expr(source);
                self.unindent();
            }
            ClauseKind::If(condition) => {
                self.literal("if", false);
                self.wish(Wish::BLANK | Wish::INDENT);
                self.expr(condition);
                self.unindent();
            }
            ClauseKind::Let(binding) => {
                self.symbol("let");
                self.wish(Wish::BLANK | Wish::FIXED | Wish::INDENT);
                self.binding(binding);
                self.unindent();
            }
            ClauseKind::Try(binding) => {
                self.symbol("try");
                if let Some(binding) = binding {
                    self.wish(Wish::BLANK | Wish::FIXED | Wish::INDENT);
                    self.binding(binding);
                    self.unindent();
                }
            }
        }
    }

    fn name(&mut self, name: &Ident) {
        self.at(name.span);
        self.literal(&name.name, false);
    }

    fn interpolation(&mut self, span: Span, interpolation: &Interpolation, depth: usize) {
        let mut pending = interpolation.open.clone();
        let mut place = span;
        let last = interpolation.parts.len().saturating_sub(1);
        let multiline = interpolation.open.trim_start_matches('#').len() > 1;
        let escape = format!(
            "\\{}(",
            "#".repeat(interpolation.open.len() - interpolation.open.trim_start_matches('#').len())
        );
        for (index, part) in interpolation.parts.iter().enumerate() {
            match part {
                InterpolationPart::Text(_, raw) => {
                    pending.push_str(raw);
                    pending.push_str(if index == last { &interpolation.close } else { &escape });
                    let outer = self.collapsing;
                    self.collapsing |= !multiline && index > 0;
                    self.at(place);
                    self.collapsing = outer;
                    self.literal(&pending, false);
                    pending.clear();
                    if !multiline {
                        continue;
                    }
                    // The line breaks around an expression are both there or both not.
                    if let Some(InterpolationPart::Expr(next)) = interpolation.parts.get(index + 1) {
                        let end = self.next_byte(next.span, b')');
                        if self.starts_line(end) && !self.starts_line(next.span) {
                            self.wish(Wish::LINE | Wish::FIXED);
                        }
                    }
                }
                InterpolationPart::Expr(inner) => {
                    let outer = self.collapsing;
                    self.collapsing |= !multiline;
                    self.expr_at(inner, 0, depth + 1);
                    self.collapsing = outer;
                    pending.push(')');
                    place = self.next_byte(inner.span, b')');
                    if multiline && self.starts_line(inner.span) && !self.starts_line(place) {
                        self.wish(Wish::LINE | Wish::FIXED);
                    }
                }
            }
        }
    }

    fn literal_text(&self, kind: LiteralKind, text: &str) -> String {
        let lower_exponent = |text: String| match text.find('E') {
            Some(at) if at + 1 < text.len() && !text.starts_with("0x") && !text.starts_with("0X") => {
                text.to_lowercase()
            }
            _ => text,
        };
        match kind {
            LiteralKind::String | LiteralKind::Bytes => self.reindented(text),
            LiteralKind::Int => match text.find('.') {
                Some(at) if text[at + 1..].starts_with(|c: char| c > '9' && c != '_') => {
                    lower_exponent(format!("{}0{}", &text[..=at], &text[at + 1..]))
                }
                _ => lower_exponent(text.to_string()),
            },
            LiteralKind::Float => lower_exponent(match text.find('.') {
                Some(0) => format!("0{text}"),
                Some(at) if at + 1 == text.len() => format!("{text}0"),
                Some(at) if text[at + 1..].starts_with(|c: char| c > '9' && c != '_') => {
                    format!("{}0{}", &text[..=at], &text[at + 1..])
                }
                _ => text.to_string(),
            }),
            LiteralKind::Null | LiteralKind::Bool => text.to_string(),
        }
    }

    /// A multi-line literal with its lines moved to the indentation at hand.
    fn reindented(&self, text: &str) -> String {
        let body = text.trim_start_matches('#');
        let multiline = body.starts_with("\"\"\"") || body.starts_with("'''");
        let Some(last_line) = text.rfind('\n').filter(|_| multiline && self.tabs() < DEEPEST_REINDENT) else {
            return text.to_string();
        };
        let closing = &text[last_line + 1..];
        let old = &closing[..closing.len() - closing.trim_start().len()];
        let new = "\t".repeat(self.tabs() + 1);
        if old == new { text.to_string() } else { text.replace(&format!("\n{old}"), &format!("\n{new}")) }
    }
}
