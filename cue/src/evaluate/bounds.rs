//! Bounds and types of scalars: added, checked against each other and against the value.

use std::cmp::Ordering;

use super::{Bound, Evaluation, Fault, Message, Term, VertexId, arithmetic::compare};
use crate::{
    ast::UnaryOp,
    diagnostic::Code,
    ir::{Atom, ExprId},
    number::Rounding,
    packages::Kinds,
};

/// Kinds as people write them.
pub(crate) fn kinds_text(kinds: Kinds) -> String {
    if kinds == Kinds::TOP {
        return "_".into();
    }
    // A number is named last, an int or a float by itself before the texts.
    let number = kinds.meets(Kinds::INT) && kinds.meets(Kinds::FLOAT);
    let mut names = Vec::new();
    for (kind, name) in [
        (Kinds::NULL, "null"),
        (Kinds::BOOL, "bool"),
        (Kinds::INT, "int"),
        (Kinds::FLOAT, "float"),
        (Kinds::STRING, "string"),
        (Kinds::BYTES, "bytes"),
        (Kinds::FUNC, "func"),
        (Kinds::LIST, "list"),
        (Kinds::STRUCT, "struct"),
    ] {
        if kinds.meets(kind) && !(number && Kinds::NUMBER.meets(kind)) {
            names.push(name);
        }
    }
    if number {
        names.push("number");
    }
    match names.as_slice() {
        [] => "_|_".into(),
        [one] => (*one).into(),
        many => format!("({})", many.join("|")),
    }
}

impl Evaluation {
    pub(crate) fn add_bound(
        &mut self,
        vertex: VertexId,
        op: UnaryOp,
        term: Term,
        from: ExprId,
    ) -> Result<(), Fault> {
        let Term::Atom(limit) = term else {
            if op == UnaryOp::NotEqual {
                return Ok(());
            }
            return Err(self.fault(
                Code::Operation,
                format!("cannot use a struct or list with {}", op.text()),
                from,
            ));
        };
        let kinds = match (op, &limit) {
            (UnaryOp::NotEqual, Atom::Null) => Kinds(Kinds::TOP.0 & !Kinds::NULL.0),
            (UnaryOp::NotEqual, _) => match limit.kinds() {
                k if k.meets(Kinds::NUMBER) => Kinds::NUMBER,
                k => k,
            },
            (UnaryOp::Equal, _) => limit.kinds(),
            (UnaryOp::Match | UnaryOp::NotMatch, Atom::String(pattern)) => {
                let pattern = pattern.clone();
                self.matches_regexp(&pattern, "", from)?;
                Kinds::STRING.or(Kinds::BYTES)
            }
            (UnaryOp::Match | UnaryOp::NotMatch, _) => {
                return Err(self.fault(
                    Code::Operation,
                    format!("cannot use {} with {}", self.atom_text(&limit), op.text()),
                    from,
                ));
            }
            (_, Atom::Number { .. }) => Kinds::NUMBER,
            (_, Atom::String(_)) => Kinds::STRING,
            (_, Atom::Bytes(_)) => Kinds::BYTES,
            (_, Atom::Null | Atom::Bool(_)) => {
                return Err(self.fault(
                    Code::Operation,
                    format!("cannot use {} with {}", self.atom_text(&limit), op.text()),
                    from,
                ));
            }
        };
        let kinds = if matches!(op, UnaryOp::Match | UnaryOp::NotMatch) { Kinds::STRING } else { kinds };
        self.add_kinds(vertex, kinds, from);
        self.put(vertex, |v| &mut v.bounds, Bound { op, limit, from });
        Ok(())
    }

    /// Checks the scalar of a vertex, or the bounds among themselves.
    pub(crate) fn finish_scalar(&mut self, vertex: VertexId) {
        if self.v(vertex).bounds.is_empty() {
            return;
        }
        let bounds = self.v(vertex).bounds.clone();
        if let Some(atom) = self.v(vertex).atom.clone() {
            for bound in &bounds {
                match self.satisfies(&atom, bound) {
                    Ok(true) => {}
                    Ok(false) => {
                        let by = self.v(vertex).atom_by;
                        let (value, limit) = (atom.clone(), bound.limit.clone());
                        let message = Message::OutOfBound { value, op: bound.op, limit };
                        let fault = self.fault_with(Code::OutOfBound, message, &[bound.from, by]);
                        self.set_fault(vertex, fault);
                    }
                    Err(fault) => self.set_fault(vertex, fault),
                }
            }
            return;
        }
        self.simplify(vertex);
        let bounds = self.v(vertex).bounds.clone();
        let kinds = self.v(vertex).kinds;
        if let Some((atom, from)) = self.only_number(&bounds, kinds) {
            return self.add_atom(vertex, atom, from);
        }
        for (at, low) in bounds.iter().enumerate() {
            for (other, high) in bounds.iter().enumerate() {
                if at == other || !is_low(low.op) || !is_high(high.op) {
                    continue;
                }
                let Some(order) = compare(&low.limit, &high.limit) else { continue };
                let strict = low.op == UnaryOp::Greater || high.op == UnaryOp::Less;
                let mut empty = order == Ordering::Greater || (order == Ordering::Equal && strict);
                if let (false, Kinds::INT, Some(a), Some(b)) = (empty, kinds, ceil(low), floor(high)) {
                    empty = a > b;
                }
                if empty {
                    let text = format!(
                        "incompatible bounds {}{} and {}{}",
                        low.op.text(),
                        self.atom_text(&low.limit),
                        high.op.text(),
                        self.atom_text(&high.limit)
                    );
                    let fault = self.fault_with(Code::Conflict, Message::Text(text), &[low.from, high.from]);
                    return self.set_fault(vertex, fault);
                }
            }
        }
    }

    /// Drops bounds that others imply.
    fn simplify(&mut self, vertex: VertexId) {
        let mut kept: Vec<Bound> = Vec::new();
        for bound in self.v(vertex).bounds.clone() {
            let mut needed = true;
            kept.retain(|old| {
                if !needed {
                    return true;
                }
                if old.op == bound.op && old.limit == bound.limit {
                    needed = false;
                    return true;
                }
                let same_side =
                    (is_low(old.op) && is_low(bound.op)) || (is_high(old.op) && is_high(bound.op));
                if same_side {
                    let Some(order) = compare(&old.limit, &bound.limit) else { return true };
                    let old_is_tighter = match order {
                        Ordering::Equal => matches!(old.op, UnaryOp::Less | UnaryOp::Greater),
                        Ordering::Greater => is_low(old.op),
                        Ordering::Less => is_high(old.op),
                    };
                    if old_is_tighter {
                        needed = false;
                        return true;
                    }
                    return false;
                }
                true
            });
            if needed {
                kept.push(bound);
            }
        }
        self.vm(vertex).bounds = kept;
    }

    pub(crate) fn satisfies(&mut self, atom: &Atom, bound: &Bound) -> Result<bool, Fault> {
        match bound.op {
            UnaryOp::NotEqual => Ok(*atom != bound.limit),
            UnaryOp::Equal => Ok(*atom == bound.limit),
            UnaryOp::Match | UnaryOp::NotMatch => {
                let text = match atom {
                    Atom::String(text) => text.to_string(),
                    Atom::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                    _ => return Ok(false),
                };
                let Atom::String(pattern) = &bound.limit else { return Ok(false) };
                let found = self.matches_regexp(&pattern.clone(), &text, bound.from)?;
                Ok(found == (bound.op == UnaryOp::Match))
            }
            op => Ok(compare(atom, &bound.limit).is_some_and(|order| match op {
                UnaryOp::Less => order.is_lt(),
                UnaryOp::LessEqual => order.is_le(),
                UnaryOp::Greater => order.is_gt(),
                _ => order.is_ge(),
            })),
        }
    }
}

fn is_low(op: UnaryOp) -> bool {
    matches!(op, UnaryOp::Greater | UnaryOp::GreaterEqual)
}

fn is_high(op: UnaryOp) -> bool {
    matches!(op, UnaryOp::Less | UnaryOp::LessEqual)
}

/// The least integer above a low bound.
fn ceil(bound: &Bound) -> Option<i64> {
    let (least, exact) = rounded(bound, Rounding::Ceil)?;
    if exact && bound.op == UnaryOp::Greater { least.checked_add(1) } else { Some(least) }
}

/// The greatest integer below a high bound.
fn floor(bound: &Bound) -> Option<i64> {
    let (most, exact) = rounded(bound, Rounding::Floor)?;
    if exact && bound.op == UnaryOp::Less { most.checked_sub(1) } else { Some(most) }
}

/// Digits before or behind the point of the first that counts, in limits that are rounded: others take too long.
const INTEGER_DIGITS: i64 = 18;

/// The limit as an integer, and whether it was one; nothing for limits of more than 64 bits.
fn rounded(bound: &Bound, rounding: Rounding) -> Option<(i64, bool)> {
    let Atom::Number { value, .. } = &bound.limit else { return None };
    if value.adjusted_exponent().abs() > INTEGER_DIGITS {
        return None;
    }
    let integer = i64::try_from(value.to_integral(rounding)).ok()?;
    Some((integer, value.is_integral()))
}
