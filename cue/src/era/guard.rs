//! A field with a guard that refuses some of its numbers in; the bounds it stands for out.
//!
//! `x?: *45 | int & {if x < 1 {_|_}}` was how definitions for CUE 0.9 and before gave a field a range. The newest release
//! refuses a struct beside `int`, so in the older eras the guard is read as the bound it means: `*45 | int & >=1`.

use crate::ast::{BinaryOp, ClauseKind, DeclKind, Expr, ExprKind, LiteralKind, StructLit, UnaryOp};

/// Most nested operands that are looked through.
const MAX_DEPTH: u32 = 32;

/// A guard struct and the bounds it stands for.
pub(crate) struct Guard<'a> {
    /// The struct with the guards.
    pub(crate) literal: &'a Expr,
    /// Operator and number of each bound.
    pub(crate) bounds: Vec<(UnaryOp, &'a Expr)>,
}

/// The guards of a field named `label`, among the operands of `&`, `|` and `*` in its value.
pub(crate) fn guards<'a>(label: &str, value: &'a Expr) -> Vec<Guard<'a>> {
    let mut found = Vec::new();
    collect(label, value, false, MAX_DEPTH, &mut found);
    found
}

fn collect<'a>(label: &str, value: &'a Expr, beside: bool, depth: u32, found: &mut Vec<Guard<'a>>) {
    if depth == 0 {
        return;
    }
    match &value.kind {
        ExprKind::Paren(inner) | ExprKind::Unary(UnaryOp::Default, inner) => {
            collect(label, inner, beside, depth - 1, found);
        }
        ExprKind::Binary(op @ (BinaryOp::And | BinaryOp::Or), _, left, right) => {
            let beside = beside || *op == BinaryOp::And;
            collect(label, left, beside, depth - 1, found);
            collect(label, right, beside, depth - 1, found);
        }
        // Alone, a struct of guards is a struct.
        ExprKind::Struct(literal) if beside => {
            if let Some(bounds) = bounds(label, literal) {
                found.push(Guard { literal: value, bounds });
            }
        }
        _ => {}
    }
}

/// The value with bounds in place of its guards, when it has any.
pub(crate) fn lowered(label: &str, value: &Expr) -> Option<Expr> {
    let guards = guards(label, value);
    if guards.is_empty() {
        return None;
    }
    let mut value = value.clone();
    replace(&mut value, &guards);
    Some(value)
}

fn replace(value: &mut Expr, guards: &[Guard<'_>]) {
    if let Some(guard) = guards.iter().find(|guard| guard.literal.span == value.span)
        && matches!(value.kind, ExprKind::Struct(_))
    {
        let bounds = guard
            .bounds
            .iter()
            .map(|(op, limit)| Expr::new(value.span, ExprKind::Unary(*op, Box::new((*limit).clone()))));
        let joined = bounds.reduce(|left, right| {
            Expr::new(
                value.span,
                ExprKind::Binary(BinaryOp::And, value.span, Box::new(left), Box::new(right)),
            )
        });
        if let Some(joined) = joined {
            *value = joined;
        }
        return;
    }
    match &mut value.kind {
        ExprKind::Paren(inner) | ExprKind::Unary(UnaryOp::Default, inner) => replace(inner, guards),
        ExprKind::Binary(BinaryOp::And | BinaryOp::Or, _, left, right) => {
            replace(left, guards);
            replace(right, guards);
        }
        _ => {}
    }
}

/// The bounds of a struct of nothing but guards.
fn bounds<'a>(label: &str, literal: &'a StructLit) -> Option<Vec<(UnaryOp, &'a Expr)>> {
    let mut out = Vec::new();
    for decl in &literal.decls {
        let DeclKind::Embed(Expr { kind: ExprKind::Comprehension(guard), .. }) = &decl.kind else {
            return None;
        };
        let [clause] = guard.clauses.as_slice() else { return None };
        let ClauseKind::If(condition) = &clause.kind else { return None };
        if guard.fallback.is_some() || !is_bottom(&guard.value) {
            return None;
        }
        refused(label, condition, MAX_DEPTH, &mut out)?;
    }
    (!out.is_empty()).then_some(out)
}

/// `{_|_}`.
fn is_bottom(value: &Expr) -> bool {
    let ExprKind::Struct(literal) = &value.kind else { return false };
    matches!(literal.decls.as_slice(), [only] if matches!(&only.kind, DeclKind::Embed(e) if matches!(e.kind, ExprKind::Bottom)))
}

/// The rest when the condition refuses: `x < 1 || x > 9` leaves `>=1` and `<=9`.
fn refused<'a>(
    label: &str,
    condition: &'a Expr,
    depth: u32,
    out: &mut Vec<(UnaryOp, &'a Expr)>,
) -> Option<()> {
    let depth = depth.checked_sub(1)?;
    match &condition.kind {
        ExprKind::Paren(inner) => refused(label, inner, depth, out),
        ExprKind::Binary(BinaryOp::LogicalOr, _, left, right) => {
            refused(label, left, depth, out)?;
            refused(label, right, depth, out)
        }
        ExprKind::Binary(op, _, left, right) => {
            let (op, limit) = if is_name(left, label) && is_number(right) {
                (*op, right)
            } else if is_name(right, label) && is_number(left) {
                (turned(*op), left)
            } else {
                return None;
            };
            let left_over = match op {
                BinaryOp::Less => UnaryOp::GreaterEqual,
                BinaryOp::LessEqual => UnaryOp::Greater,
                BinaryOp::Greater => UnaryOp::LessEqual,
                BinaryOp::GreaterEqual => UnaryOp::Less,
                BinaryOp::Equal => UnaryOp::NotEqual,
                _ => return None,
            };
            out.push((left_over, limit));
            Some(())
        }
        _ => None,
    }
}

fn is_name(expr: &Expr, label: &str) -> bool {
    matches!(&expr.kind, ExprKind::Ident(name) if name == label)
}

fn is_number(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Literal(kind, _) => matches!(kind, LiteralKind::Int | LiteralKind::Float),
        ExprKind::Unary(UnaryOp::Minus, inner) => is_number(inner),
        _ => false,
    }
}

/// The comparison with its sides exchanged.
fn turned(op: BinaryOp) -> BinaryOp {
    match op {
        BinaryOp::Less => BinaryOp::Greater,
        BinaryOp::LessEqual => BinaryOp::GreaterEqual,
        BinaryOp::Greater => BinaryOp::Less,
        BinaryOp::GreaterEqual => BinaryOp::LessEqual,
        other => other,
    }
}
