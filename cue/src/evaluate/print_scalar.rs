//! A vertex without a concrete value in; the kinds, bounds and checks that are left out, as short as the reference has them.

use super::{
    Bound, VertexId,
    printing::{Printing, expr, joined},
    syntax::kinds_syntax,
};
use crate::{
    ast::{BinaryOp, Expr as Syntax, ExprKind, UnaryOp},
    ir::{Atom, Callee},
    number::Decimal,
    packages::Kinds,
    source::Span,
};

/// Bits of the sized integer types.
const SIZES: [u32; 5] = [8, 16, 32, 64, 128];

/// The sized float types with their largest value.
const FLOATS: [(&str, &str); 2] = [
    ("float32", "3.40282346638528859811704183484516925440e+38"),
    ("float64", "1.797693134862315708145274237317043567981e+308"),
];

/// The largest code point.
const LAST_RUNE: &str = "1114111";

pub(super) fn constraints(printing: &mut Printing<'_>, own: VertexId) -> Syntax {
    let v = printing.evaluation.v(own);
    let (kinds, bounds, checks) = (v.kinds, v.bounds.clone(), v.checks.clone());
    let mut implied = implied(&bounds);
    for check in &checks {
        if let Callee::Package(function) = check.callee
            && let Some(first) = function.parameters.first()
        {
            implied = Kinds(implied.0 & first.kinds.0);
        }
    }
    let typed = (bounds.is_empty() && checks.is_empty()) || (kinds != implied && kinds != Kinds::TOP);
    let is_int = kinds == Kinds::INT;
    if checks.is_empty()
        && (is_int || kinds == Kinds::NUMBER)
        && let Some(name) = range_name(&bounds, is_int)
    {
        return expr(ExprKind::Ident(name));
    }
    let mut parts = Vec::new();
    let (lower, upper) = extremes(&bounds);
    let mut others: Vec<((u32, u32), Syntax)> = Vec::new();
    let place = |printing: &Printing<'_>, id| {
        let span = printing.evaluation.span(id);
        (span.file.0, span.start)
    };
    if let (Some(lower), Some(upper)) = (lower, upper) {
        if is_int {
            let negative = number(&bounds[lower]).is_some_and(Decimal::is_negative);
            parts.push(expr(ExprKind::Ident(if negative { "int" } else { "uint" }.into())));
            let from_zero = bounds[lower].op == UnaryOp::GreaterEqual
                && number(&bounds[lower]).is_some_and(|limit| limit.to_cue(false) == "0");
            if !from_zero {
                parts.push(bound_syntax(printing, &bounds[lower]));
            }
        } else {
            parts.push(bound_syntax(printing, &bounds[lower]));
        }
        parts.push(bound_syntax(printing, &bounds[upper]));
        for bound in bounds.iter().filter(|bound| !is_range(bound)) {
            others.push((place(printing, bound.from), bound_syntax(printing, bound)));
        }
    } else {
        if typed {
            parts.push(kinds_syntax(kinds, Span::NONE));
        }
        for bound in &bounds {
            others.push((place(printing, bound.from), bound_syntax(printing, bound)));
        }
    }
    for check in &checks {
        let at = place(printing, check.conjunct.expr);
        let Some(mut call) = printing.source_syntax(check.conjunct.expr) else { continue };
        let arguments = check.arguments.iter().map(|argument| printing.term(argument)).collect();
        call = match call.kind {
            ExprKind::Call(function, _) => expr(ExprKind::Call(function, arguments)),
            // A function that is only named is called with nothing but the value.
            named => expr(ExprKind::Call(Box::new(expr(named)), arguments)),
        };
        others.push((at, call));
    }
    others.sort_by_key(|other| other.0);
    parts.extend(others.into_iter().map(|other| other.1));
    joined(BinaryOp::And, parts).unwrap_or_else(|| expr(ExprKind::Ident("_".into())))
}

fn bound_syntax(printing: &Printing<'_>, bound: &Bound) -> Syntax {
    let limit = expr(printing.evaluation.atom_syntax(&bound.limit));
    expr(ExprKind::Unary(bound.op, Box::new(limit)))
}

fn number(bound: &Bound) -> Option<&Decimal> {
    match &bound.limit {
        Atom::Number { value, .. } => Some(value),
        _ => None,
    }
}

fn is_range(bound: &Bound) -> bool {
    number(bound).is_some()
        && matches!(bound.op, UnaryOp::Less | UnaryOp::LessEqual | UnaryOp::Greater | UnaryOp::GreaterEqual)
}

/// The kinds that bounds leave by themselves.
fn implied(bounds: &[Bound]) -> Kinds {
    let mut kinds = Kinds::TOP.0;
    for bound in bounds {
        kinds &= match (&bound.limit, bound.op) {
            (Atom::Null, UnaryOp::NotEqual) => continue,
            (Atom::Number { .. }, _) => Kinds::NUMBER.0,
            (_, UnaryOp::Match | UnaryOp::NotMatch) => Kinds::STRING.0 | Kinds::BYTES.0,
            (limit, _) => limit.kinds().0,
        };
    }
    let text = Kinds::STRING.0 | Kinds::BYTES.0;
    if kinds == text {
        kinds = Kinds::STRING.0;
    }
    Kinds(kinds)
}

/// The tightest lower and upper bound by number.
fn extremes(bounds: &[Bound]) -> (Option<usize>, Option<usize>) {
    let (mut lower, mut upper) = (None, None);
    for (index, bound) in bounds.iter().enumerate().filter(|(_, bound)| is_range(bound)) {
        match bound.op {
            UnaryOp::Greater | UnaryOp::GreaterEqual => lower = Some(index),
            _ => upper = Some(index),
        }
    }
    (lower, upper)
}

/// The predeclared name of a range of integers.
fn range_name(bounds: &[Bound], is_int: bool) -> Option<String> {
    let limit = |op| {
        let bound = bounds.iter().find(|bound| bound.op == op)?;
        number(bound).map(|value| value.to_cue(!is_int))
    };
    let lower = limit(UnaryOp::GreaterEqual)?;
    if !is_int {
        let upper = limit(UnaryOp::LessEqual)?;
        let known = FLOATS.iter().find(|(_, most)| upper == *most && lower == format!("-{most}"));
        return known.filter(|_| bounds.len() == 2).map(|(name, _)| (*name).to_owned());
    }
    match bounds {
        [_] => (lower == "0").then(|| "uint".to_owned()),
        [_, _] => {
            let upper = limit(UnaryOp::LessEqual)?;
            if lower == "0" && upper == LAST_RUNE {
                return Some("rune".into());
            }
            SIZES.iter().find_map(|bits| {
                let power = |bits: u32| num_bigint::BigInt::from(1u8) << bits;
                if lower == "0" && upper == (power(*bits) - 1u8).to_string() {
                    return Some(format!("uint{bits}"));
                }
                let half = power(bits - 1);
                let matches = lower == (-half.clone()).to_string() && upper == (half - 1u8).to_string();
                matches.then(|| format!("int{bits}"))
            })
        }
        _ => None,
    }
}
