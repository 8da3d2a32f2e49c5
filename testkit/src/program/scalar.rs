//! Scalar expressions for random programs: literals, references, operators, builtins.

use super::Expression;
use super::generate::{Generator, guarded};
use super::scope::Shape;

const WORDS: [&str; 8] =
    ["\"\"", "\"a\"", "\"Hello\"", "\"a-b-c\"", "\"ä€😀\"", "\"tab\\tq\\\"\"", "#\"raw \\n\"#", "\"10\""];
const INTS: [&str; 9] = ["0", "1", "2", "7", "-3", "0x1f", "1_000", "2Ki", "12345678901234567890"];
const FLOATS: [&str; 7] = ["0.5", "1.25", "-2.0", "1e3", "1.0", "3.14159", "1e-2"];

impl Generator {
    /// An expression whose value has the shape.
    pub(super) fn value(&mut self, shape: &Shape, depth: usize) -> Expression {
        if self.wild > 0 && self.random.chance(self.wild) {
            return self.anything(shape, depth);
        }
        if !self.spend() {
            return self.literal(shape);
        }
        if self.random.chance(30)
            && let Some(path) = self.reference(shape, false)
        {
            return path;
        }
        match shape {
            Shape::Int => self.int(depth),
            Shape::Number => self.number(depth),
            Shape::String => self.string(depth),
            Shape::Bool => self.bool(depth),
            Shape::List(item, known) => self.list(item, *known, depth),
            Shape::Struct(fields) => self.structure(fields, depth),
            Shape::Map(value) => self.map(value, depth),
        }
    }

    /// Something that perhaps does not belong here.
    fn anything(&mut self, shape: &Shape, depth: usize) -> Expression {
        match self.random.below(5) {
            0 => {
                let other = self.scalar_shape();
                self.literal(&other)
            }
            1 => self.type_of(shape),
            2 => Expression::text(self.random.word(&["_|_", "null", "_", "{}", "[]", "error(\"no\")"])),
            3 => self.reference(shape, true).unwrap_or_else(|| Expression::text("_")),
            _ => {
                let other = self.shape(depth + 1);
                self.value(&other, depth + 1)
            }
        }
    }

    pub(super) fn reference(&mut self, shape: &Shape, wild: bool) -> Option<Expression> {
        let paths = self.scopes.references(shape, wild, wild && self.cycles);
        self.random.pick(&paths).map(Expression::text)
    }

    /// A value without references.
    pub(super) fn literal(&mut self, shape: &Shape) -> Expression {
        match shape {
            Shape::Int => Expression::text(self.random.word(&INTS)),
            Shape::Number => {
                let word =
                    if self.random.chance(50) { self.random.word(&INTS) } else { self.random.word(&FLOATS) };
                Expression::text(word)
            }
            Shape::String => Expression::text(self.random.word(&WORDS)),
            Shape::Bool => Expression::text(self.random.word(&["true", "false"])),
            Shape::List(item, known) => {
                let more = self.random.below(2);
                Expression::List((0..known + more).map(|_| self.literal(item)).collect())
            }
            Shape::Struct(fields) => Expression::Struct(
                fields
                    .iter()
                    .map(|(name, shape)| super::Declaration::field(name.clone(), self.literal(shape)))
                    .collect(),
            ),
            Shape::Map(value) => {
                let names = ["p", "q", "r"];
                let count = self.random.below(4);
                let fields = names.iter().take(count);
                Expression::Struct(
                    fields.map(|name| super::Declaration::field(*name, self.literal(value))).collect(),
                )
            }
        }
    }

    fn two(&mut self, shape: &Shape, depth: usize) -> Vec<Expression> {
        vec![guarded(self.value(shape, depth)), guarded(self.value(shape, depth))]
    }

    fn int(&mut self, depth: usize) -> Expression {
        let shape = Shape::Int;
        match self.random.below(17) {
            0..=2 => self.literal(&shape),
            3 => Expression::filled("$ + $", self.two(&shape, depth)),
            4 => Expression::filled("$ - $", self.two(&shape, depth)),
            5 => Expression::filled("$ * $", self.two(&shape, depth)),
            6 => {
                let operation = self.random.word(&["div", "mod", "quo", "rem"]);
                let divisor = self.random.word(&["1", "2", "-2", "3", "7", "-5"]);
                Expression::filled(&format!("{operation}($, {divisor})"), vec![self.value(&shape, depth)])
            }
            7 => Expression::filled("-$", vec![guarded(self.value(&shape, depth))]),
            8 => {
                let of = match self.random.below(3) {
                    0 => Shape::String,
                    1 => Shape::List(Box::new(self.scalar_shape()), 0),
                    _ => Shape::Map(Box::new(Shape::Int)),
                };
                Expression::filled("len($)", vec![self.value(&of, depth)])
            }
            9 => Expression::filled("*$ | int", vec![guarded(self.value(&shape, depth))]),
            10 => Expression::filled("*$ | $", self.two(&shape, depth)),
            11 => Expression::filled("int & $", vec![guarded(self.value(&shape, depth))]),
            12 => self.chosen(&shape, depth),
            13 => {
                let list = Shape::List(Box::new(Shape::Int), 1);
                let call = self.random.word(&["list.Max($)", "list.Min($)", "list.Sum($)"]);
                Expression::filled(call, vec![self.value(&list, depth)])
            }
            14 => Expression::filled("strings.Count($, \"a\")", vec![self.value(&Shape::String, depth)]),
            15 => Expression::filled(
                "strconv.Atoi(\"$\")",
                vec![Expression::text(self.random.word(&["12", "-4", "0"]))],
            ),
            _ => Expression::filled("{v: $, w: v}.w", vec![self.value(&shape, depth)]),
        }
    }

    fn number(&mut self, depth: usize) -> Expression {
        let shape = Shape::Number;
        match self.random.below(11) {
            0..=2 => self.literal(&shape),
            3 => Expression::filled("$ + $", self.two(&shape, depth)),
            4 => Expression::filled("$ * $", self.two(&shape, depth)),
            5 => {
                let divisor = self.random.word(&["2", "3", "-8", "0.1", "7"]);
                Expression::filled(&format!("$ / {divisor}"), vec![guarded(self.value(&shape, depth))])
            }
            6 => Expression::filled("number & $", vec![guarded(self.value(&shape, depth))]),
            7 => Expression::filled("$ | *$", self.two(&shape, depth)),
            8 => {
                let call = self.random.word(&[
                    "math.Floor($)",
                    "math.Ceil($)",
                    "math.Abs($)",
                    "math.Round($)",
                    "math.Trunc($)",
                ]);
                Expression::filled(call, vec![self.value(&shape, depth)])
            }
            9 => self.chosen(&shape, depth),
            _ => Expression::filled("$ - $", self.two(&shape, depth)),
        }
    }

    fn string(&mut self, depth: usize) -> Expression {
        let shape = Shape::String;
        match self.random.below(16) {
            0..=2 => self.literal(&shape),
            3 => Expression::filled("$ + $", self.two(&shape, depth)),
            4 | 5 => {
                let inner =
                    [Shape::Int, Shape::String, Shape::Bool, Shape::Number][self.random.below(4)].clone();
                let inner = vec![self.value(&inner, depth), self.value(&shape, depth)];
                Expression::filled("\"<\\($)|\\($)>\"", inner)
            }
            6 => {
                let call = self.random.word(&[
                    "strings.ToUpper($)",
                    "strings.ToLower($)",
                    "strings.TrimSpace($)",
                    "strings.Replace($, \"a\", \"bb\", -1)",
                    "strings.TrimPrefix($, \"a\")",
                    "strings.Repeat($, 2)",
                    "strings.ToTitle($)",
                    "strings.TrimSuffix($, \"c\")",
                ]);
                Expression::filled(call, vec![self.value(&shape, depth)])
            }
            7 => Expression::filled("*$ | string", vec![guarded(self.value(&shape, depth))]),
            8 => Expression::filled("$ | *$", self.two(&shape, depth)),
            9 => Expression::filled("string & $", vec![guarded(self.value(&shape, depth))]),
            10 => Expression::filled(
                "=~\"^[a-zA-Z]*$\" & $",
                vec![Expression::text("$"), Expression::text(self.random.word(&["\"abc\"", "\"Zz\""]))],
            ),
            11 => self.chosen(&shape, depth),
            12 => {
                let list = Shape::List(Box::new(Shape::String), 0);
                Expression::filled("strings.Join($, \",\")", vec![self.value(&list, depth)])
            }
            13 => Expression::filled(
                "strconv.FormatInt($, 10)",
                vec![Expression::text(self.random.word(&INTS[..7]))],
            ),
            14 => Expression::filled(
                "\"\"\"\n\tone \\($)\n\t\ttwo\n\t\"\"\"",
                vec![self.value(&Shape::Int, depth)],
            ),
            _ => Expression::filled("$ * 2", vec![guarded(self.value(&shape, depth))]),
        }
    }

    fn bool(&mut self, depth: usize) -> Expression {
        let shape = Shape::Bool;
        match self.random.below(15) {
            0 | 1 => self.literal(&shape),
            2 | 3 => {
                let of = self.scalar_shape();
                let operator = self.random.word(&["$ == $", "$ != $"]);
                Expression::filled(operator, self.two(&of, depth))
            }
            4 | 5 => {
                let of = [Shape::Int, Shape::Number, Shape::String][self.random.below(3)].clone();
                let operator = self.random.word(&["$ < $", "$ >= $", "$ > $", "$ <= $"]);
                Expression::filled(operator, self.two(&of, depth))
            }
            6 => Expression::filled("$ && $", self.two(&shape, depth)),
            7 => Expression::filled("$ || $", self.two(&shape, depth)),
            8 => Expression::filled("!$", vec![guarded(self.value(&shape, depth))]),
            9 | 10 => self.presence(),
            11 => {
                let operator = self.random.word(&["$ =~ \"a\"", "$ !~ \"^[A-Z]\""]);
                Expression::filled(operator, vec![guarded(self.value(&Shape::String, depth))])
            }
            12 => Expression::filled("strings.Contains($, \"a\")", vec![self.value(&Shape::String, depth)]),
            13 => {
                let list = Shape::List(Box::new(Shape::Int), 0);
                let inner = vec![self.value(&list, depth), self.value(&Shape::Int, depth)];
                Expression::filled("list.Contains($, $)", inner)
            }
            _ => Expression::filled("*$ | bool", vec![guarded(self.value(&shape, depth))]),
        }
    }

    /// Whether something is there: a field that is, one that is not, or one that may be. Operands are what people write,
    /// since the reference takes back its answer for some calculated ones.
    fn presence(&mut self) -> Expression {
        let operator = self.random.word(&["$ != _|_", "$ == _|_"]);
        let any = Shape::Struct(Vec::new());
        let path = match self.reference(&any, false) {
            Some(path) if self.random.chance(70) => {
                let field = self.random.word(&["a", "b", "zz", "k1", "opt"]);
                Expression::filled(&format!("$.{field}"), vec![path])
            }
            _ => {
                let shape = self.scalar_shape();
                match self.reference(&shape, false) {
                    Some(path) => path,
                    None => self.literal(&shape),
                }
            }
        };
        Expression::filled(operator, vec![path])
    }

    /// One of two values by a condition.
    fn chosen(&mut self, shape: &Shape, depth: usize) -> Expression {
        let clause = Expression::filled("if $", vec![self.value(&Shape::Bool, depth)]);
        let body = vec![super::Declaration::Embedding(self.value(shape, depth))];
        let first = Expression::Comprehension { clauses: vec![clause], body, otherwise: None };
        let second = self.value(shape, depth);
        Expression::filled("$[0]", vec![Expression::List(vec![first, second])])
    }

    /// The type of a shape.
    pub(super) fn type_of(&mut self, shape: &Shape) -> Expression {
        match shape {
            Shape::Int => Expression::text("int"),
            Shape::Number => Expression::text("number"),
            Shape::String => Expression::text("string"),
            Shape::Bool => Expression::text("bool"),
            Shape::List(item, _) => Expression::filled("[...$]", vec![self.type_of(item)]),
            Shape::Struct(_) => Expression::text("{...}"),
            Shape::Map(value) => Expression::filled("{[string]: $}", vec![self.type_of(value)]),
        }
    }

    /// A constraint that values of the shape usually meet.
    pub(super) fn constraint(&mut self, shape: &Shape) -> Expression {
        if self.random.chance(50) {
            return self.type_of(shape);
        }
        Expression::text(match shape {
            Shape::Int => self.random.word(&[">=-100000", "!=99", "int & !=4", "<1e30", "number"]),
            Shape::Number => self.random.word(&[">-1e30", "!=99", "int | float"]),
            Shape::String => {
                self.random.word(&["!=\"zz\"", "=~\".*\"", "strings.MaxRunes(1000)", "string | bytes"])
            }
            Shape::Bool => self.random.word(&["true | false", "bool | int"]),
            Shape::List(..) => self.random.word(&["list.MaxItems(50)", "[...]"]),
            Shape::Struct(_) | Shape::Map(_) => {
                self.random.word(&["{...}", "{[string]: _}", "_", "struct.MaxFields(30)"])
            }
        })
    }
}
