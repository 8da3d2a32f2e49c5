//! Gives every program that is one step smaller, the largest steps first.

use super::{Declaration, Expression, Part, Program};

/// What an expression is replaced by when its inside does not matter.
const SMALLEST: [&str; 5] = ["1", "\"a\"", "true", "{}", "[]"];

impl Program {
    /// Programs with a declaration, an element or an expression less.
    #[must_use]
    pub fn smaller(&self) -> Vec<Self> {
        let mut programs: Vec<Self> =
            declarations(&self.declarations).into_iter().map(|declarations| Self { declarations }).collect();
        programs.sort_by_key(|program| program.to_string().len());
        let own = self.to_string().len();
        programs.retain(|program| program.to_string().len() < own);
        programs
    }
}

/// Every shorter or simpler sequence of declarations.
fn declarations(of: &[Declaration]) -> Vec<Vec<Declaration>> {
    let mut made = without(of);
    for (index, declaration) in of.iter().enumerate() {
        for smaller in one_declaration(declaration) {
            made.push(replaced(of, index, vec![smaller]));
        }
        // The fields of an embedded struct or comprehension may stand by themselves.
        if let Declaration::Embedding(
            Expression::Struct(inner) | Expression::Comprehension { body: inner, .. },
        ) = declaration
        {
            made.push(replaced(of, index, inner.clone()));
        }
    }
    made
}

/// A sequence without one half, and without each item.
fn without<T: Clone>(of: &[T]) -> Vec<Vec<T>> {
    let mut made = Vec::new();
    if of.len() > 3 {
        let (left, right) = of.split_at(of.len() / 2);
        made.extend([left.to_vec(), right.to_vec()]);
    }
    for index in 0..of.len() {
        made.push(replaced(of, index, Vec::new()));
    }
    made
}

fn replaced<T: Clone>(of: &[T], index: usize, by: Vec<T>) -> Vec<T> {
    let mut made = of.to_vec();
    made.splice(index..=index, by);
    made
}

fn one_declaration(of: &Declaration) -> Vec<Declaration> {
    match of {
        Declaration::Field { label, value } => {
            let values = expressions(value).into_iter();
            let mut made: Vec<Declaration> =
                values.map(|value| Declaration::Field { label: label.clone(), value }).collect();
            let text = label.to_string();
            if let Some((_, plain)) = text.split_once('=').filter(|_| text.starts_with('X')) {
                made.push(Declaration::field(plain, value.clone()));
            }
            made
        }
        Declaration::Let { name, value } => expressions(value)
            .into_iter()
            .map(|value| Declaration::Let { name: name.clone(), value })
            .collect(),
        Declaration::Embedding(value) => expressions(value).into_iter().map(Declaration::Embedding).collect(),
        Declaration::Ellipsis => Vec::new(),
    }
}

/// Simpler expressions for one: a constant, one of its parts, or the same with a simpler part.
fn expressions(of: &Expression) -> Vec<Expression> {
    let mut made: Vec<Expression> = match of {
        Expression::Comprehension { .. } => Vec::new(),
        _ => SMALLEST.iter().map(|text| Expression::text(*text)).collect(),
    };
    match of {
        Expression::Parts(parts) => {
            for (index, part) in parts.iter().enumerate() {
                let Part::Inner(inner) = part else { continue };
                made.push(inner.clone());
                for smaller in expressions(inner) {
                    made.push(Expression::Parts(replaced(parts, index, vec![Part::Inner(smaller)])));
                }
            }
        }
        Expression::Struct(of) => {
            made.extend(declarations(of).into_iter().map(Expression::Struct));
            if let [Declaration::Embedding(only)] = of.as_slice()
                && !matches!(only, Expression::Comprehension { .. })
            {
                made.push(only.clone());
            }
            made.extend(of.iter().filter_map(|declaration| match declaration {
                Declaration::Field { value, .. } => Some(value.clone()),
                _ => None,
            }));
        }
        Expression::List(items) => {
            made.extend(without(items).into_iter().map(Expression::List));
            made.extend(items.iter().filter(|i| !matches!(i, Expression::Comprehension { .. })).cloned());
            for (index, item) in items.iter().enumerate() {
                made.extend(
                    expressions(item)
                        .into_iter()
                        .map(|item| Expression::List(replaced(items, index, vec![item]))),
                );
                if let Expression::Comprehension { clauses, body, .. } = item {
                    if let [Declaration::Embedding(only)] = body.as_slice() {
                        made.push(Expression::List(replaced(items, index, vec![only.clone()])));
                    }
                    let inner = clauses.iter().flat_map(inner);
                    made.extend(inner.map(|i| Expression::List(replaced(items, index, vec![i]))));
                }
            }
        }
        Expression::Comprehension { clauses, body, otherwise } => {
            made.extend(comprehensions(clauses, body, otherwise.as_deref()));
        }
    }
    made
}

/// The expressions that stand directly in another.
fn inner(of: &Expression) -> Vec<Expression> {
    let Expression::Parts(parts) = of else { return Vec::new() };
    let inner = parts.iter().filter_map(|part| match part {
        Part::Inner(inner) => Some(inner.clone()),
        Part::Text(_) => None,
    });
    inner.collect()
}

fn comprehensions(
    clauses: &[Expression],
    body: &[Declaration],
    otherwise: Option<&[Declaration]>,
) -> Vec<Expression> {
    let made = |clauses: Vec<Expression>, body: Vec<Declaration>, otherwise: Option<Vec<Declaration>>| {
        Expression::Comprehension { clauses, body, otherwise }
    };
    let fallback = || otherwise.map(<[Declaration]>::to_vec);
    let mut all = Vec::new();
    if otherwise.is_some() {
        all.push(made(clauses.to_vec(), body.to_vec(), None));
    }
    if clauses.len() > 1 {
        for fewer in without(clauses).into_iter().filter(|fewer| !fewer.is_empty()) {
            all.push(made(fewer, body.to_vec(), fallback()));
        }
    }
    for (index, clause) in clauses.iter().enumerate() {
        let Expression::Parts(parts) = clause else { continue };
        for (at, part) in parts.iter().enumerate() {
            let Part::Inner(inner) = part else { continue };
            for smaller in expressions(inner) {
                let clause = Expression::Parts(replaced(parts, at, vec![Part::Inner(smaller)]));
                all.push(made(replaced(clauses, index, vec![clause]), body.to_vec(), fallback()));
            }
        }
    }
    for smaller in declarations(body) {
        all.push(made(clauses.to_vec(), smaller, fallback()));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shrinking_finds_the_one_field_that_matters() {
        let matters = |program: &Program| program.to_string().contains("list.Reverse(");
        let mut program = (0..500).map(Program::random).find(matters).expect("some program reverses a list");
        while let Some(next) = program.smaller().into_iter().find(matters) {
            assert!(next.to_string().len() < program.to_string().len());
            program = next;
        }
        // What stays is the import, a field, the call, and the least that stands in it.
        assert!(program.to_string().len() < 45, "{program}");
    }
}
