//! Two scalars and an operator in; a scalar out.

use std::{cmp::Ordering, sync::Arc};

use super::{Evaluation, Fault, Message, Term};
use crate::{
    ast::BinaryOp,
    diagnostic::Code,
    ir::{Atom, ExprId},
};

/// Longest text or list a multiplication may make.
const MAX_REPEATED: i64 = 64 << 20;

/// Most compiled regular expressions that are kept.
const MAX_MATCHERS: usize = 256;

/// Texts up to this length are searched within the time of one step.
const LONG_TEXT: usize = 4096;

/// How two scalars compare, where they do.
pub(crate) fn compare(a: &Atom, b: &Atom) -> Option<Ordering> {
    match (a, b) {
        (Atom::Number { value: x, .. }, Atom::Number { value: y, .. }) => Some(x.cmp(y)),
        (Atom::String(x), Atom::String(y)) => Some(x.cmp(y)),
        (Atom::Bytes(x), Atom::Bytes(y)) => Some(x.cmp(y)),
        (Atom::String(x), Atom::Bytes(y)) => Some(x.as_bytes().cmp(y)),
        (Atom::Bytes(x), Atom::String(y)) => Some((**x).cmp(y.as_bytes())),
        _ => None,
    }
}

impl Evaluation {
    pub(crate) fn bad_operands(&self, op: BinaryOp, a: &Term, b: &Term, place: ExprId) -> Fault {
        let text = format!(
            "invalid operands {} and {} to '{}' (type {} and {})",
            self.term_text(a),
            self.term_text(b),
            op.text(),
            self.term_kinds(a),
            self.term_kinds(b)
        );
        self.fault(Code::Operation, text, place)
    }

    pub(crate) fn atoms(
        &mut self,
        op: BinaryOp,
        a: &Atom,
        b: &Atom,
        sides: [ExprId; 2],
        place: ExprId,
    ) -> Result<Term, Fault> {
        let bad = |this: &Self| {
            let fault = this.bad_operands(op, &Term::Atom(a.clone()), &Term::Atom(b.clone()), place);
            let Message::Text(text) = &fault.0.message else { return fault };
            this.fault_with(Code::Operation, Message::Text(text.clone()), &[place, sides[0], sides[1]])
        };
        let boolean = |b: bool| Ok(Term::Atom(Atom::Bool(b)));
        match op {
            BinaryOp::Equal => return boolean(a == b),
            BinaryOp::NotEqual => return boolean(a != b),
            BinaryOp::Less | BinaryOp::LessEqual | BinaryOp::Greater | BinaryOp::GreaterEqual => {
                let Some(order) = compare(a, b) else { return Err(bad(self)) };
                return boolean(match op {
                    BinaryOp::Less => order.is_lt(),
                    BinaryOp::LessEqual => order.is_le(),
                    BinaryOp::Greater => order.is_gt(),
                    _ => order.is_ge(),
                });
            }
            BinaryOp::Match | BinaryOp::NotMatch => {
                let (Atom::String(text), Atom::String(pattern)) = (a, b) else { return Err(bad(self)) };
                let (text, pattern) = (text.clone(), pattern.clone());
                let found = self.matches_regexp(&pattern, &text, sides[1])?;
                return boolean(found == (op == BinaryOp::Match));
            }
            _ => {}
        }
        match (a, b) {
            (Atom::Number { value: x, is_float: f }, Atom::Number { value: y, is_float: g }) => {
                let float = *f || *g;
                self.work(x.size().saturating_add(y.size()), place)?;
                let integers = |this: &Self| if float { Err(bad(this)) } else { Ok(()) };
                let (result, float) = match op {
                    BinaryOp::Add => (x.add(y), float),
                    BinaryOp::Subtract => (x.sub(y), float),
                    BinaryOp::Multiply => (x.mul(y), float),
                    BinaryOp::Divide => (x.quo(y), true),
                    BinaryOp::Div => (integers(self).map(|()| x.int_div(y))?, false),
                    BinaryOp::Mod => (integers(self).map(|()| x.int_mod(y))?, false),
                    BinaryOp::Quo => (integers(self).map(|()| x.int_quo(y))?, false),
                    BinaryOp::Rem => (integers(self).map(|()| x.int_rem(y))?, false),
                    _ => return Err(bad(self)),
                };
                match result {
                    Ok(value) => {
                        self.take(value.heap_bytes());
                        Ok(Term::Atom(Atom::Number { value, is_float: float }))
                    }
                    Err(error) => {
                        Err(self.fault(Code::Operation, format!("failed arithmetic: {error}"), place))
                    }
                }
            }
            (Atom::String(x), Atom::String(y)) if op == BinaryOp::Add => {
                self.grow(x.len() + y.len(), place)?;
                Ok(Term::Atom(Atom::String(Arc::from([&**x, &**y].concat()))))
            }
            (Atom::Bytes(_) | Atom::String(_), Atom::Bytes(_) | Atom::String(_))
                if op == BinaryOp::Add && a.kinds() == b.kinds() =>
            {
                self.grow(bytes_of(a).len() + bytes_of(b).len(), place)?;
                let bytes = [bytes_of(a), bytes_of(b)].concat();
                Ok(Term::Atom(Atom::Bytes(Arc::from(bytes))))
            }
            (Atom::String(_) | Atom::Bytes(_), Atom::Number { value, is_float: false })
                if op == BinaryOp::Multiply =>
            {
                self.repeat(a, value.to_i64(), place)
            }
            (Atom::Number { value, is_float: false }, Atom::String(_) | Atom::Bytes(_))
                if op == BinaryOp::Multiply =>
            {
                self.repeat(b, value.to_i64(), place)
            }
            _ => Err(bad(self)),
        }
    }

    fn repeat(&mut self, atom: &Atom, count: Option<i64>, place: ExprId) -> Result<Term, Fault> {
        let bytes = bytes_of(atom);
        let Some(count) = count.filter(|n| *n >= 0) else {
            return Err(self.fault(Code::Operation, "cannot convert negative number to uint64", place));
        };
        let length = (bytes.len() as i64).saturating_mul(count);
        if length > MAX_REPEATED {
            return Err(self.fault(Code::Budget, "the repeated text is too long", place));
        }
        self.grow(length as usize, place)?;
        let repeated = bytes.repeat(count as usize);
        Ok(Term::Atom(match atom {
            Atom::Bytes(_) => Atom::Bytes(Arc::from(repeated)),
            _ => Atom::String(Arc::from(String::from_utf8_lossy(&repeated).as_ref())),
        }))
    }

    /// Whether a text matches a regular expression; compiled ones are kept.
    pub(crate) fn matches_regexp(&mut self, pattern: &str, text: &str, place: ExprId) -> Result<bool, Fault> {
        let compiled = match self.matchers.get(pattern) {
            Some(known) => known.clone(),
            None => {
                if self.matchers.len() >= MAX_MATCHERS {
                    self.matchers.clear();
                    let size = std::mem::take(&mut self.matchers_size);
                    self.free(size);
                }
                let (made, size) = crate::regexp::Regexp::compile_sized(pattern);
                let made = std::rc::Rc::new(made);
                self.matchers.insert(pattern.to_owned(), made.clone());
                self.matchers_size += size;
                self.take(size);
                self.room(0, place)?;
                made
            }
        };
        if text.len() > LONG_TEXT {
            self.work(text.len(), place)?;
        }
        match &*compiled {
            Ok(regexp) => Ok(regexp.is_match(text)),
            Err(error) => Err(self.fault(Code::Operation, format!("error parsing regexp: {error}"), place)),
        }
    }
}

fn bytes_of(atom: &Atom) -> &[u8] {
    match atom {
        Atom::String(s) => s.as_bytes(),
        Atom::Bytes(b) => b,
        _ => &[],
    }
}
