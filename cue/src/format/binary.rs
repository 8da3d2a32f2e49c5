//! An operator with both sides in; its layout out: spaces where the operators around bind less.

use super::spacing::{Printer, Wish};
use crate::ast::{BinaryOp, Expr, ExprKind, UnaryOp};
use crate::source::Span;

impl Printer<'_> {
    pub(super) fn binary(
        &mut self,
        operator: BinaryOp,
        place: Span,
        left: &Expr,
        right: &Expr,
        depth: usize,
    ) {
        let precedence = operator.precedence();
        let blanks = precedence < cutoff(operator, left, right, depth);
        let same = |e: &Expr| matches!(&e.kind, ExprKind::Binary(op, ..) if op.precedence() == precedence);
        self.expr_at(left, precedence, depth + usize::from(!same(left)));
        self.wish(Wish::FIXED);
        if blanks {
            self.wish(Wish::BLANK);
        }
        self.at(place);
        self.symbol(operator.text());
        if self.starts_line(right.span) {
            self.wish(Wish::FEED);
        } else {
            self.wish(Wish::FIXED);
            if blanks {
                self.wish(Wish::BLANK);
            }
        }
        self.expr_at(right, precedence + 1, depth + 1);
    }
}

/// The precedence below which operators get blanks: sums and products in one expression are told apart by them.
fn cutoff(operator: BinaryOp, left: &Expr, right: &Expr, depth: usize) -> u8 {
    let mut found = Levels::default();
    found.collect(operator, left, right);
    if found.clash > 0 {
        return found.clash + 1;
    }
    match (found.sum, found.product, depth) {
        (true, true, 1) => 7,
        (true, true, _) => 6,
        (_, _, 1) => 8,
        _ => 6,
    }
}

#[derive(Default)]
struct Levels {
    sum: bool,
    product: bool,
    clash: u8,
}

impl Levels {
    fn collect(&mut self, operator: BinaryOp, left: &Expr, right: &Expr) {
        let precedence = operator.precedence();
        self.sum |= precedence == 6;
        self.product |= precedence == 7;
        if let ExprKind::Binary(inner, _, l, r) = &left.kind
            && inner.precedence() >= precedence
        {
            self.collect(*inner, l, r);
        }
        match &right.kind {
            ExprKind::Binary(inner, _, l, r) if inner.precedence() > precedence => self.collect(*inner, l, r),
            ExprKind::Unary(inner, _) => match (operator, inner) {
                (BinaryOp::Divide, UnaryOp::Default) => self.clash = 8,
                (BinaryOp::Add, UnaryOp::Plus) | (BinaryOp::Subtract, UnaryOp::Minus) => {
                    self.clash = self.clash.max(6)
                }
                _ => {}
            },
            _ => {}
        }
    }
}
