//! Random values with fields in common, so that unifying them is more than a conflict.

use super::generate::Generator;
use super::scope::{Scopes, Shape};
use super::{Declaration, Expression, Random};

/// Expressions without references for one struct: each gives of each field its value, a constraint, a choice, or nothing.
#[must_use]
pub fn conjuncts(seed: u64, count: usize) -> Vec<Expression> {
    let mut generator = Generator::new(Random::new(seed), Scopes::default());
    let size = 1 + generator.random.below(4);
    let fields = generator.fields(size, 1);
    let values: Vec<Expression> = fields.iter().map(|(_, shape)| generator.literal(shape)).collect();
    let mut conjunct = || {
        let mut declarations = Vec::new();
        for ((name, shape), value) in fields.iter().zip(&values) {
            declarations.extend(generator.about(name, shape, value));
        }
        if generator.random.chance(10) {
            return Expression::filled("close($)", vec![Expression::Struct(declarations)]);
        }
        if generator.random.chance(10) {
            declarations.push(Declaration::Ellipsis);
        }
        generator.random.shuffle(&mut declarations);
        Expression::Struct(declarations)
    };
    (0..count).map(|_| conjunct()).collect()
}

impl Generator {
    /// What one conjunct says of a field.
    fn about(&mut self, name: &str, shape: &Shape, value: &Expression) -> Option<Declaration> {
        let label = match self.random.below(8) {
            0 => format!("{name}?"),
            1 => format!("{name}!"),
            _ => name.to_owned(),
        };
        let said = match self.random.below(8) {
            0 | 1 => value.clone(),
            2 | 3 => self.constraint(shape),
            4 => Expression::filled("*$ | $", vec![value.clone(), self.type_of(shape)]),
            5 => Expression::filled("$ | $", vec![self.literal(shape), value.clone()]),
            6 => Expression::filled("*$ | $", vec![self.literal(shape), value.clone()]),
            _ => return None,
        };
        Some(Declaration::Field { label: Expression::text(label), value: said })
    }
}
