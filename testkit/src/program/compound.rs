//! Expressions of lists, structs and maps for random programs: literals, comprehensions, definitions, embeddings.

use super::generate::{Definition, Generator, guarded};
use super::scope::Shape;
use super::{Declaration, Expression};

impl Generator {
    pub(super) fn list(&mut self, item: &Shape, known: usize, depth: usize) -> Expression {
        let whole = Shape::List(Box::new(item.clone()), known);
        match self.random.below(14) {
            0..=4 => {
                let more = self.random.below(3);
                let mut items: Vec<Expression> = (0..known + more).map(|_| self.value(item, depth)).collect();
                if self.random.chance(10) {
                    items.push(Expression::text("..."));
                }
                Expression::List(items)
            }
            5 => {
                let inner = vec![self.type_of(item), guarded(self.value(&whole, depth))];
                Expression::filled("[...$] & $", inner)
            }
            6 | 7 if known == 0 => self.list_comprehension(item, depth),
            8 => {
                let rest = Shape::List(Box::new(item.clone()), 0);
                let inner = vec![self.value(&whole, depth), self.value(&rest, depth)];
                Expression::filled("list.Concat([$, $])", inner)
            }
            9 => Expression::filled("list.Reverse($)", vec![self.value(&whole, depth)]),
            10 if known == 0 && *item == Shape::String => {
                Expression::filled("strings.Split($, \"-\")", vec![self.value(&Shape::String, depth)])
            }
            11 if *item == Shape::Int => {
                Expression::filled("list.Sort($, list.Ascending)", vec![self.value(&whole, depth)])
            }
            12 => Expression::filled("list.Repeat($, 2)", vec![self.value(&whole, depth)]),
            13 => {
                let list = self.value(&whole, depth);
                Expression::filled("*$ | [...]", vec![guarded(list)])
            }
            _ => self.literal(&whole),
        }
    }

    fn list_comprehension(&mut self, item: &Shape, depth: usize) -> Expression {
        let (clauses, variables) = self.clauses(depth);
        self.scopes.open([]);
        for (name, shape) in variables {
            self.scopes.add(name, shape);
        }
        let mut clauses = clauses;
        if self.random.chance(40) {
            clauses.push(Expression::filled("if $", vec![self.value(&Shape::Bool, depth)]));
        }
        let body = match item {
            Shape::Struct(fields) if self.random.chance(60) => {
                let mut declarations = Vec::new();
                self.scopes.open(fields.clone());
                self.declare(fields, depth, &mut declarations);
                self.scopes.close();
                declarations
            }
            _ => vec![Declaration::Embedding(self.value(item, depth))],
        };
        self.scopes.close();
        let mut items = vec![Expression::Comprehension { clauses, body, otherwise: None }];
        if self.random.chance(25) {
            items.push(self.value(item, depth));
        }
        self.random.shuffle(&mut items);
        Expression::List(items)
    }

    /// A `for` over something, perhaps with a `let`, and what its variables hold.
    fn clauses(&mut self, depth: usize) -> (Vec<Expression>, Vec<(String, Shape)>) {
        let element = self.scalar_shape();
        let over_list = self.random.chance(60);
        let source = if over_list {
            Shape::List(Box::new(element.clone()), 0)
        } else {
            Shape::Map(Box::new(element.clone()))
        };
        let source = self.value(&source, depth);
        let (key, value) = (self.variable("i"), self.variable("v"));
        let key_shape = if over_list { Shape::Int } else { Shape::String };
        let mut variables = vec![(value.clone(), element.clone())];
        let mut clauses = Vec::new();
        if self.random.chance(60) {
            clauses.push(Expression::filled(&format!("for {key}, {value} in $"), vec![source]));
            variables.push((key, key_shape));
        } else {
            clauses.push(Expression::filled(&format!("for {value} in $"), vec![source]));
        }
        if self.random.chance(15) {
            let name = self.variable("t");
            clauses.push(Expression::text(format!("let {name} = {value}")));
            // Using it in a condition keeps it from being an unused name.
            clauses.push(Expression::text(format!("if {name} != _|_")));
            variables.push((name, element));
        }
        (clauses, variables)
    }

    pub(super) fn map(&mut self, value: &Shape, depth: usize) -> Expression {
        let whole = Shape::Map(Box::new(value.clone()));
        match self.random.below(8) {
            0 | 1 => {
                let mut declarations: Vec<Declaration> = Vec::new();
                for name in ["p", "q", "\"r-s\""].into_iter().take(self.random.below(4)) {
                    let value = self.value(value, depth);
                    declarations.push(Declaration::field(name, value));
                }
                Expression::Struct(declarations)
            }
            2..=4 => Expression::Struct(vec![self.field_comprehension(value, depth)]),
            5 => {
                let pattern = match self.random.below(3) {
                    0 => "{[string]: $} & $",
                    1 => "{[=~\"^[a-z]\"]: $} & $",
                    _ => "{[!=\"zz\"]: $} & $",
                };
                let inner = vec![self.constraint(value), guarded(self.value(&whole, depth))];
                Expression::filled(pattern, inner)
            }
            6 => Expression::Struct(vec![Declaration::Embedding(self.value(&whole, depth))]),
            _ => self.literal(&whole),
        }
    }

    /// `for … {"\(key)": value}`.
    fn field_comprehension(&mut self, value: &Shape, depth: usize) -> Declaration {
        let (clauses, variables) = self.clauses(depth);
        self.scopes.open([]);
        let key = variables.iter().find(|(name, _)| name.starts_with('i')).cloned();
        for (name, shape) in variables {
            self.scopes.add(name, shape);
        }
        let label = match key {
            Some((name, _)) => format!("\"n\\({name})\""),
            None => "only".to_owned(),
        };
        let body = match label.as_str() {
            // Every round declares this field; a value that does not depend on the round unifies with itself.
            "only" => self.literal(value),
            _ => self.value(value, depth),
        };
        self.scopes.close();
        let body = vec![Declaration::field(label, body)];
        Declaration::Embedding(Expression::Comprehension { clauses, body, otherwise: None })
    }

    pub(super) fn structure(&mut self, fields: &[(String, Shape)], depth: usize) -> Expression {
        if self.random.chance(25)
            && let Some(definition) = self.definition_for(fields)
        {
            return self.instance(&definition, depth);
        }
        match self.random.below(12) {
            0 => {
                // Fields from an embedded struct, the rest beside it.
                let (embedded, rest) = fields.split_at(self.random.below(fields.len() + 1));
                let embedded = self.block(embedded, depth);
                let Expression::Struct(mut declarations) = self.block(rest, depth) else { return embedded };
                declarations.push(Declaration::Embedding(embedded));
                Expression::Struct(declarations)
            }
            1 => {
                let (left, right) = fields.split_at(self.random.below(fields.len() + 1));
                Expression::filled("$ & $", vec![self.block(left, depth), self.block(right, depth)])
            }
            2 => {
                let block = self.block(fields, depth);
                Expression::filled("*$ | {...}", vec![block])
            }
            3 => {
                // Alternatives told apart by a field that one of them has.
                let block = self.block(fields, depth);
                let kind = self.random.word(&["one", "two"]);
                let text =
                    format!("({{kind: \"one\", ...}} | {{kind: \"two\", ...}}) & {{kind: \"{kind}\"}} & $");
                Expression::filled(&text, vec![block])
            }
            4 => Expression::filled("close($)", vec![self.block(fields, depth)]),
            _ => self.block(fields, depth),
        }
    }

    fn block(&mut self, fields: &[(String, Shape)], depth: usize) -> Expression {
        let mut declarations = Vec::new();
        self.scopes.open(fields.to_vec());
        self.declare(fields, depth, &mut declarations);
        self.scopes.close();
        Expression::Struct(declarations)
    }

    fn definition_for(&mut self, fields: &[(String, Shape)]) -> Option<Definition> {
        let wanted = Shape::Struct(fields.to_vec());
        let suiting: Vec<Definition> = self
            .definitions
            .iter()
            .filter(|d| Shape::Struct(d.all.clone()).suits(&wanted))
            .cloned()
            .collect();
        self.random.pick(&suiting).cloned()
    }

    /// A definition with the fields that must be given, by unification or by embedding.
    fn instance(&mut self, definition: &Definition, depth: usize) -> Expression {
        let name = Expression::text(definition.name.clone());
        let mut block = self.block(&definition.given, depth);
        if self.wild > 0
            && self.random.chance(15)
            && let Expression::Struct(declarations) = &mut block
        {
            declarations.push(Declaration::field("extra", Expression::text("1")));
        }
        if self.random.chance(30)
            && let Expression::Struct(declarations) = &mut block
        {
            declarations.insert(0, Declaration::Embedding(name));
            return block;
        }
        Expression::filled("$ & $", vec![name, block])
    }
}
