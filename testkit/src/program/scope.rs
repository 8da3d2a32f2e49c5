//! The names that a place in a program can refer to, with the shape of their values, innermost first.

/// The known shape of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Shape {
    /// A whole number.
    Int,
    /// Any number.
    Number,
    /// Text.
    String,
    /// `true` or `false`.
    Bool,
    /// Elements of one shape, at least so many.
    List(Box<Shape>, usize),
    /// At least these fields.
    Struct(Vec<(String, Shape)>),
    /// Fields of any name with values of one shape.
    Map(Box<Shape>),
}

impl Shape {
    /// Whether a value of the shape `self` can stand where `wanted` is asked for.
    pub(super) fn suits(&self, wanted: &Self) -> bool {
        match (self, wanted) {
            (Self::Int, Self::Number) => true,
            (Self::List(a, have), Self::List(b, need)) => have >= need && a.suits(b),
            (Self::Struct(have), Self::Struct(need)) => {
                need.iter().all(|(name, shape)| have.iter().any(|(n, s)| n == name && s.suits(shape)))
            }
            (Self::Struct(have), Self::Map(value)) => have.iter().all(|(_, s)| s.suits(value)),
            (Self::Map(a), Self::Map(b)) => a.suits(b),
            (a, b) => a == b,
        }
    }
}

/// One name of a scope.
#[derive(Debug, Clone)]
struct Name {
    name: String,
    shape: Shape,
    /// Its value is written and does not refer to the place that asks.
    ready: bool,
}

/// The scopes around a place, outermost first.
#[derive(Debug, Clone, Default)]
pub(super) struct Scopes(Vec<Vec<Name>>);

/// How far below a name its fields are looked for.
const DEPTH: usize = 3;

impl Scopes {
    /// Opens a scope whose names hide those around it before their values are written.
    pub(super) fn open(&mut self, names: impl IntoIterator<Item = (String, Shape)>) {
        let names = names.into_iter().map(|(name, shape)| Name { name, shape, ready: false });
        self.0.push(names.collect());
    }

    /// Closes the innermost scope.
    pub(super) fn close(&mut self) {
        self.0.pop();
    }

    /// Adds a name to the innermost scope.
    pub(super) fn add(&mut self, name: impl Into<String>, shape: Shape) {
        if let Some(scope) = self.0.last_mut() {
            scope.push(Name { name: name.into(), shape, ready: true });
        }
    }

    /// The value of the name is written.
    pub(super) fn ready(&mut self, name: &str) {
        let scope = self.0.last_mut();
        if let Some(found) = scope.and_then(|scope| scope.iter_mut().find(|n| n.name == name)) {
            found.ready = true;
        }
    }

    /// References to values that can stand where `wanted` is asked for; with `wild`, to values of any shape, and with
    /// `cycles` also to values that are being written.
    pub(super) fn references(&self, wanted: &Shape, wild: bool, cycles: bool) -> Vec<String> {
        let mut found = Vec::new();
        let mut hidden: Vec<&str> = Vec::new();
        for scope in self.0.iter().rev() {
            for name in scope.iter().filter(|n| (n.ready || cycles) && !hidden.contains(&n.name.as_str())) {
                // A quoted field cannot be referred to by its name.
                if !name.name.starts_with('"') {
                    paths(&name.name, &name.shape, wanted, wild, DEPTH, &mut found);
                }
            }
            hidden.extend(scope.iter().map(|n| n.name.as_str()));
        }
        found
    }
}

fn paths(path: &str, shape: &Shape, wanted: &Shape, wild: bool, depth: usize, found: &mut Vec<String>) {
    if wild || shape.suits(wanted) {
        found.push(path.to_owned());
    }
    let Some(depth) = depth.checked_sub(1) else { return };
    match shape {
        Shape::Struct(fields) => {
            for (name, shape) in fields {
                let below = match name.strip_prefix('"') {
                    Some(_) => format!("{path}[{name}]"),
                    None => format!("{path}.{name}"),
                };
                paths(&below, shape, wanted, wild, depth, found);
            }
        }
        Shape::List(item, known) => {
            for index in 0..*known {
                paths(&format!("{path}[{index}]"), item, wanted, wild, depth, found);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inner_names_hide_outer_ones_before_they_can_be_referred_to() {
        let mut scopes = Scopes::default();
        scopes.open([
            ("a".to_owned(), Shape::Int),
            ("b".to_owned(), Shape::Struct(vec![("c".into(), Shape::Int)])),
        ]);
        scopes.ready("a");
        scopes.ready("b");
        assert_eq!(scopes.references(&Shape::Number, false, false), ["a", "b.c"]);
        scopes.open([("a".to_owned(), Shape::String)]);
        assert_eq!(scopes.references(&Shape::Number, false, false), ["b.c"]);
        scopes.close();
        assert_eq!(scopes.references(&Shape::Number, false, false), ["a", "b.c"]);
    }
}
