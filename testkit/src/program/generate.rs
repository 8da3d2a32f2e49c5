//! Generates random programs: which fields, of which shapes, and how structs of known shape are declared.

use super::scope::{Scopes, Shape};
use super::{Declaration, Expression, Program, Random};

/// Names of fields; few, so that inner names hide outer ones.
const NAMES: [&str; 10] = ["a", "b", "c", "d", "e", "f", "\"x-y\"", "port", "name", "\"1\""];
/// Parts of expressions a program may have at most, so that a difference is small from the start.
const FUEL: usize = 45;
/// Nesting of structs and lists.
const DEPTH: usize = 3;

/// A definition that struct values may take their fields from.
#[derive(Debug, Clone)]
pub(super) struct Definition {
    pub(super) name: String,
    /// Fields that must be given.
    pub(super) given: Vec<(String, Shape)>,
    /// Every field it has once those are given.
    pub(super) all: Vec<(String, Shape)>,
}

/// The state of writing one program.
pub(super) struct Generator {
    pub(super) random: Random,
    pub(super) scopes: Scopes,
    pub(super) definitions: Vec<Definition>,
    /// Percent of expressions that may be of any shape.
    pub(super) wild: usize,
    /// Whether wild references may lead to a value that is being written.
    pub(super) cycles: bool,
    pub(super) fuel: usize,
    /// Numbers that make the names of variables differ.
    variables: usize,
}

impl Program {
    /// The program of a seed. No value depends on itself.
    #[must_use]
    pub fn random(seed: u64) -> Self {
        Self::generated(seed, false)
    }

    /// The program of a seed, in which values may depend on themselves.
    #[must_use]
    pub fn with_cycles(seed: u64) -> Self {
        Self::generated(seed, true)
    }

    fn generated(seed: u64, cycles: bool) -> Self {
        let mut random = Random::new(seed);
        let wild = if random.chance(40) { 4 } else { 0 };
        let mut generator = Generator::new(random, Scopes::default());
        (generator.wild, generator.cycles) = (wild, cycles);
        generator.program()
    }
}

impl Generator {
    /// A generator of parts that always fit.
    pub(super) fn new(random: Random, scopes: Scopes) -> Self {
        Self { random, scopes, definitions: Vec::new(), wild: 0, cycles: false, fuel: FUEL, variables: 0 }
    }

    fn program(&mut self) -> Program {
        let count = 1 + self.random.below(5);
        let fields = self.fields(count, 0);
        let mut declarations = Vec::new();
        let mut names = fields.clone();
        let mut bodies = Vec::new();
        for number in 0..self.random.below(3) {
            let definition = self.definition(["#A", "#B"][number]);
            names.push((definition.0.name.clone(), Shape::Struct(definition.0.all.clone())));
            bodies.push(definition);
        }
        self.scopes.open(names);
        for (definition, body) in bodies {
            declarations.push(Declaration::field(definition.name.clone(), body));
            self.definitions.push(definition);
        }
        self.declare(&fields, 0, &mut declarations);
        self.scopes.close();
        Program { declarations }
    }

    /// A new name that nothing else has.
    pub(super) fn variable(&mut self, kind: &str) -> String {
        self.variables += 1;
        format!("{kind}{}", self.variables)
    }

    /// Takes a part of the program's size; without any, only the shortest expressions are written.
    pub(super) fn spend(&mut self) -> bool {
        let left = self.fuel > 0;
        self.fuel = self.fuel.saturating_sub(1);
        left
    }

    /// Names with shapes for a struct.
    pub(super) fn fields(&mut self, count: usize, depth: usize) -> Vec<(String, Shape)> {
        let mut names = NAMES;
        self.random.shuffle(&mut names);
        names.into_iter().take(count).map(|name| (name.to_owned(), self.shape(depth))).collect()
    }

    pub(super) fn shape(&mut self, depth: usize) -> Shape {
        let choices = if depth >= DEPTH { 6 } else { 12 };
        match self.random.below(choices) {
            0 | 1 => Shape::Int,
            2 => Shape::Number,
            3 | 4 => Shape::String,
            5 => Shape::Bool,
            6 | 7 => {
                let item = if self.random.chance(70) { self.scalar_shape() } else { self.shape(depth + 1) };
                Shape::List(Box::new(item), self.random.below(4))
            }
            8 => Shape::Map(Box::new(self.scalar_shape())),
            _ => {
                let count = self.random.below(4);
                Shape::Struct(self.fields(count, depth + 1))
            }
        }
    }

    pub(super) fn scalar_shape(&mut self) -> Shape {
        [Shape::Int, Shape::Number, Shape::String, Shape::Bool][self.random.below(4)].clone()
    }

    /// A definition with typed fields: constraints, defaults, optional and required ones.
    fn definition(&mut self, name: &str) -> (Definition, Expression) {
        let count = 1 + self.random.below(3);
        let fields = self.fields(count, DEPTH - 1);
        let mut given = Vec::new();
        let mut all = Vec::new();
        let mut declarations = Vec::new();
        for (field, shape) in fields {
            let constraint = self.constraint(&shape);
            match self.random.below(5) {
                0 => {
                    declarations.push(Declaration::field(format!("{field}?"), constraint));
                }
                1 => {
                    let default = self.literal(&shape);
                    let value = Expression::filled("*$ | $", vec![default, constraint]);
                    declarations.push(Declaration::field(field.clone(), value));
                    all.push((field, shape));
                }
                2 => {
                    declarations.push(Declaration::field(format!("{field}!"), constraint));
                    given.push((field.clone(), shape.clone()));
                    all.push((field, shape));
                }
                _ => {
                    declarations.push(Declaration::field(field.clone(), constraint));
                    given.push((field.clone(), shape.clone()));
                    all.push((field, shape));
                }
            }
        }
        if self.random.chance(15) {
            declarations.push(Declaration::Ellipsis);
        }
        self.random.shuffle(&mut declarations);
        (Definition { name: name.to_owned(), given, all }, Expression::Struct(declarations))
    }

    /// Writes the fields of a struct whose scope is open, in an order of its own, with further declarations.
    pub(super) fn declare(&mut self, fields: &[(String, Shape)], depth: usize, out: &mut Vec<Declaration>) {
        for (name, shape) in fields {
            if self.random.chance(12) {
                self.helper(depth, out);
            }
            self.declare_field(name, shape, depth, out);
            self.scopes.ready(name);
        }
        if self.random.chance(15) {
            self.condition(depth, out);
        }
        if self.random.chance(8) {
            let value = self.constraint(&Shape::Int);
            out.push(Declaration::field(format!("{}?", self.random.word(&["opt", "may"])), value));
        }
        self.random.shuffle(out);
    }

    /// One field, perhaps in two parts or with an alias.
    fn declare_field(&mut self, name: &str, shape: &Shape, depth: usize, out: &mut Vec<Declaration>) {
        let value = self.value(shape, depth + 1);
        match self.random.below(12) {
            0 => {
                out.push(Declaration::field(name, self.type_of(shape)));
                out.push(Declaration::field(name, value));
            }
            1 => {
                let more = self.constraint(shape);
                out.push(Declaration::field(name, Expression::filled("$ & $", vec![guarded(value), more])));
            }
            2 if self.wild > 0 => {
                let again = self.value(shape, depth + 1);
                out.push(Declaration::field(name, value));
                out.push(Declaration::field(name, again));
            }
            3 => {
                let alias = self.variable("X");
                out.push(Declaration::field(format!("{alias}={name}"), value));
                let user = self.variable("u");
                out.push(Declaration::field(user, Expression::text(alias)));
            }
            4 => {
                let dynamic = name.trim_matches('"');
                let label = if self.random.chance(50) {
                    format!("(\"{dynamic}\")")
                } else {
                    format!("\"\\(\"{dynamic}\")\"")
                };
                // A dynamic field gives no name to refer to, so the plain field is declared with its type.
                out.push(Declaration::field(label, value));
                let kind = self.type_of(shape);
                out.push(Declaration::field(name, kind));
            }
            5 => out.push(Declaration::field(name, self.with_own_name(value))),
            _ => out.push(Declaration::field(name, value)),
        }
    }

    /// A struct that refers to itself by a name of its own.
    fn with_own_name(&mut self, value: Expression) -> Expression {
        let Expression::Struct(mut declarations) = value else { return value };
        let alias = self.variable("V");
        let length = Expression::text(format!("len(\"\\({alias}.tag)\")"));
        declarations.push(Declaration::field("self", length));
        declarations.push(Declaration::field("tag", Expression::text("\"t\"")));
        Expression::filled(&format!("{alias}=$"), vec![Expression::Struct(declarations)])
    }

    /// A `let` or a hidden field, and a name for what follows.
    fn helper(&mut self, depth: usize, out: &mut Vec<Declaration>) {
        let shape = self.shape(depth + 1);
        let value = self.value(&shape, depth + 1);
        if self.random.chance(50) {
            let name = self.variable("L");
            let user = self.variable("u");
            out.push(Declaration::Let { name: name.clone(), value });
            // A `let` that nothing refers to is a mistake.
            out.push(Declaration::field(user, Expression::text(name.clone())));
            self.scopes.add(name, shape);
        } else {
            let name = self.variable("_h");
            out.push(Declaration::field(name.clone(), value));
            self.scopes.add(name, shape);
        }
    }

    /// A comprehension that adds a field under a condition.
    fn condition(&mut self, depth: usize, out: &mut Vec<Declaration>) {
        let clause = Expression::filled("if $", vec![self.value(&Shape::Bool, depth + 1)]);
        let name = self.variable("k");
        let shape = self.scalar_shape();
        let value = self.value(&shape, depth + 1);
        let otherwise = if self.random.chance(10) {
            let value = self.value(&shape, depth + 1);
            Some(vec![Declaration::field(name.clone(), value)])
        } else {
            None
        };
        let body = vec![Declaration::field(name, value)];
        out.push(Declaration::Embedding(Expression::Comprehension {
            clauses: vec![clause],
            body,
            otherwise,
        }));
    }
}

/// In parentheses, so that it binds as one operand.
pub(super) fn guarded(expression: Expression) -> Expression {
    Expression::filled("($)", vec![expression])
}
