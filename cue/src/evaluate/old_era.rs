//! The extensions of older eras: lists are joined and repeated with operators, and bounds may leave one number.

use super::{Bound, Evaluation, Fault, Term, VertexId, list::MAX_ELEMENTS};
use crate::{
    ast::{BinaryOp, UnaryOp},
    diagnostic::Code,
    ir::{Atom, ExprId},
    packages::Kinds,
};

impl Evaluation {
    /// Whether an expression stands in a text of an older era.
    pub(crate) fn is_old(&self, place: ExprId) -> bool {
        self.program.sources.get(self.span(place).file).is_some_and(|source| source.era.is_old())
    }

    /// `+` and `*` with a list: its value in an older era, else what to write instead.
    pub(crate) fn list_operator(
        &mut self,
        op: BinaryOp,
        a: &Term,
        b: &Term,
        place: ExprId,
    ) -> Option<Result<Term, Fault>> {
        let instead = match (op, self.as_list(a), self.as_list(b)) {
            (BinaryOp::Add, Some(left), Some(right)) => {
                if self.is_old(place) {
                    self.list_operators.push(place);
                    let elements = [self.elements_of(left), self.elements_of(right)].concat();
                    return Some(self.joined_list(&elements, place));
                }
                "addition of lists is superseded by list.Concat([a, b])"
            }
            (BinaryOp::Multiply, Some(list), None) => match self.repeated(list, b, place) {
                Some(result) => return Some(result),
                None => "multiplication of lists is superseded by list.Repeat(a, n)",
            },
            (BinaryOp::Multiply, None, Some(list)) => match self.repeated(list, a, place) {
                Some(result) => return Some(result),
                None => "multiplication of lists is superseded by list.Repeat(a, n)",
            },
            _ => return None,
        };
        Some(Err(self.fault(Code::Eval, instead, place)))
    }

    fn as_list(&self, term: &Term) -> Option<VertexId> {
        match term {
            Term::Vertex(vertex) if self.is_list(*vertex) => Some(*vertex),
            _ => None,
        }
    }

    fn repeated(&mut self, list: VertexId, times: &Term, place: ExprId) -> Option<Result<Term, Fault>> {
        let Term::Atom(Atom::Number { value, is_float: false }) = times else { return None };
        if !self.is_old(place) {
            return None;
        }
        self.list_operators.push(place);
        let elements = self.elements_of(list);
        let Some(times) = value.to_i64().and_then(|n| usize::try_from(n).ok()) else {
            let text = format!("cannot repeat a list {value} times");
            return Some(Err(self.fault(Code::Eval, text, place)));
        };
        if elements.len().saturating_mul(times) > MAX_ELEMENTS {
            return Some(Err(self.too_long(place)));
        }
        Some(self.joined_list(&elements.repeat(times), place))
    }

    fn joined_list(&mut self, elements: &[VertexId], place: ExprId) -> Result<Term, Fault> {
        if elements.len() > MAX_ELEMENTS {
            return Err(self.too_long(place));
        }
        self.room(elements.len() * super::limits::VERTEX_SIZE, place)?;
        Ok(Term::Vertex(self.list_of(elements)))
    }

    fn too_long(&self, place: ExprId) -> Fault {
        self.fault(Code::Budget, format!("a list has more than {MAX_ELEMENTS} elements"), place)
    }

    /// The number that bounds of an older era leave, when it is the only one.
    pub(crate) fn only_number(&self, bounds: &[Bound], kinds: Kinds) -> Option<(Atom, ExprId)> {
        let low = bounds.iter().find(|b| b.op == UnaryOp::GreaterEqual)?;
        let high = bounds.iter().find(|b| b.op == UnaryOp::LessEqual)?;
        let Atom::Number { value, is_float } = &low.limit else { return None };
        let kind = if value.is_integral() && !is_float { Kinds::INT } else { Kinds::FLOAT };
        let others = bounds
            .iter()
            .any(|b| matches!(b.op, UnaryOp::NotEqual | UnaryOp::Equal | UnaryOp::Match | UnaryOp::NotMatch));
        let one = low.limit == high.limit && kinds.meets(kind) && !others;
        (one && self.is_old(low.from) && self.is_old(high.from)).then(|| (low.limit.clone(), low.from))
    }
}
