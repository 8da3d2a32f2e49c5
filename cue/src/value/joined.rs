//! A value and a further conjunct, another value or data, in; their unification out.

use std::{rc::Rc, sync::Arc};

use super::{Value, path::segments};
use crate::{
    evaluate::VertexId,
    input::{Input, Positions},
    packages::Data,
    plain::json_data,
};

impl Value {
    /// Both values at once. A value of another instance is brought as it is known there.
    pub fn unify(&self, other: &Self) -> Self {
        let (Some(a), Some(b)) = (self.vertex, other.vertex) else {
            return if self.vertex.is_some() { self.clone() } else { other.clone() };
        };
        if Rc::ptr_eq(&self.evaluation, &other.evaluation) {
            let made = self.evaluation.borrow_mut().joined(a, b);
            return self.at(Some(made));
        }
        let mut evaluation = self.evaluation.borrow_mut();
        let brought = evaluation.transfer(&mut other.evaluation.borrow_mut(), b);
        let made = brought.map(|expr| {
            evaluation.note_input(expr);
            let conjunct = evaluation.plain(expr);
            let added = evaluation.inline(conjunct, VertexId::NONE);
            evaluation.joined(a, added)
        });
        drop(evaluation);
        self.at(made)
    }

    /// The value with data added at a path, as a patch does.
    pub fn fill(&self, path: &str, json: &serde_json::Value) -> Self {
        self.with_data(json_data(json), &segments(path), None)
    }

    /// The value with an input added at its path.
    pub fn fill_input(&self, input: &Input<'_>) -> Self {
        self.with_data(json_data(input.value), &segments(input.path), input.positions.clone())
    }

    fn with_data(&self, data: Data, path: &[String], positions: Option<Arc<dyn Positions>>) -> Self {
        let Some(vertex) = self.vertex else { return self.clone() };
        let mut evaluation = self.evaluation.borrow_mut();
        let made = match evaluation.input(data, path, true, positions) {
            Some(expr) => {
                let conjunct = evaluation.plain(expr);
                let added = evaluation.inline(conjunct, VertexId::NONE);
                evaluation.joined(vertex, added)
            }
            None => vertex,
        };
        drop(evaluation);
        self.at(Some(made))
    }
}
