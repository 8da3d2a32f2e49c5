//! Random, well-formed CUE programs, and every program that is one step smaller.
//!
//! The programs know the types of what they refer to, so that most of them evaluate; a `wild` one takes some of its parts
//! from anywhere, so that it may fail. They are trees of our own and not of the evaluator: what is tested must not make
//! its own tests.

mod compound;
mod conjuncts;
mod generate;
mod random;
mod scalar;
mod scope;
mod shrink;

use std::fmt::{self, Display, Formatter, Write as _};

pub use conjuncts::conjuncts;
pub use random::Random;

/// A file of declarations. Its imports follow from the packages it names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Program {
    /// In the order they are written.
    pub declarations: Vec<Declaration>,
}

/// One declaration of a struct.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Declaration {
    /// `label: value`; the label with its `?`, `!`, brackets or alias.
    Field {
        /// What stands before the colon.
        label: Expression,
        /// What stands after it.
        value: Expression,
    },
    /// `let name = value`.
    Let {
        /// The name.
        name: String,
        /// The value.
        value: Expression,
    },
    /// A value that is unified with the struct, or a comprehension that adds fields.
    Embedding(Expression),
    /// `...`
    Ellipsis,
}

/// An expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expression {
    /// Text with expressions in it.
    Parts(Vec<Part>),
    /// `{...}`
    Struct(Vec<Declaration>),
    /// `[...]`
    List(Vec<Expression>),
    /// `for … if … {…} else {…}`
    Comprehension {
        /// `for k, v in x`, `if c`, `let x = y`, in order.
        clauses: Vec<Expression>,
        /// What it adds.
        body: Vec<Declaration>,
        /// What it adds when it would add nothing.
        otherwise: Option<Vec<Declaration>>,
    },
}

/// A piece of an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Written as it stands.
    Text(String),
    /// Written in its place.
    Inner(Expression),
}

impl Expression {
    /// Text without parts.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Parts(vec![Part::Text(text.into())])
    }

    /// `template` with an expression for each `$`.
    #[must_use]
    pub fn filled(template: &str, inner: Vec<Expression>) -> Self {
        let mut parts = Vec::new();
        let mut inner = inner.into_iter();
        for (index, text) in template.split('$').enumerate() {
            if index > 0
                && let Some(expression) = inner.next()
            {
                parts.push(Part::Inner(expression));
            }
            if !text.is_empty() {
                parts.push(Part::Text(text.to_owned()));
            }
        }
        Self::Parts(parts)
    }
}

impl Declaration {
    /// A field.
    pub fn field(label: impl Into<String>, value: Expression) -> Self {
        Self::Field { label: Expression::text(label), value }
    }
}

/// Packages a program may name; a program imports those it does name.
const PACKAGES: [&str; 6] = ["list", "math", "regexp", "strconv", "strings", "struct"];

impl Display for Program {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let mut body = String::new();
        for declaration in &self.declarations {
            writeln!(body, "{declaration}")?;
        }
        if body.contains("} else {") {
            out.write_str("@experiment(try)\n\n")?;
        }
        out.write_str(&imports(&body))?;
        out.write_str(&body)
    }
}

/// The imports of the packages that a text names.
#[must_use]
pub fn imports(text: &str) -> String {
    let named = PACKAGES.iter().filter(|package| names(text, package));
    named.map(|package| format!("import \"{package}\"\n")).collect()
}

/// Whether the text uses `package.` as a name of its own.
fn names(text: &str, package: &str) -> bool {
    let used = format!("{package}.");
    text.match_indices(&used).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '#' | '.' | '"'))
    })
}

impl Display for Declaration {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field { label, value } => write!(out, "{label}: {value}"),
            Self::Let { name, value } => write!(out, "let {name} = {value}"),
            Self::Embedding(value) => write!(out, "{value}"),
            Self::Ellipsis => out.write_str("..."),
        }
    }
}

impl Display for Expression {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parts(parts) => parts.iter().try_for_each(|part| match part {
                Part::Text(text) => out.write_str(text),
                Part::Inner(expression) => write!(out, "{expression}"),
            }),
            Self::Struct(declarations) => block(out, declarations),
            Self::List(items) => {
                out.write_char('[')?;
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.write_str(", ")?;
                    }
                    write!(out, "{item}")?;
                }
                out.write_char(']')
            }
            Self::Comprehension { clauses, body, otherwise } => {
                for clause in clauses {
                    write!(out, "{clause} ")?;
                }
                block(out, body)?;
                if let Some(otherwise) = otherwise {
                    out.write_str(" else ")?;
                    block(out, otherwise)?;
                }
                Ok(())
            }
        }
    }
}

fn block(out: &mut Formatter<'_>, declarations: &[Declaration]) -> fmt::Result {
    out.write_char('{')?;
    for (index, declaration) in declarations.iter().enumerate() {
        if index > 0 {
            out.write_str(", ")?;
        }
        write!(out, "{declaration}")?;
    }
    out.write_char('}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_imports_what_it_names_and_nothing_else() {
        let call = Expression::filled("strings.ToUpper($)", vec![Expression::text("\"a\"")]);
        let program = Program {
            declarations: vec![
                Declaration::field("a", call),
                Declaration::field("b", Expression::text("x.list.y")),
            ],
        };
        assert_eq!(program.to_string(), "import \"strings\"\na: strings.ToUpper(\"a\")\nb: x.list.y\n");
    }

    #[test]
    fn programs_of_a_seed_are_always_the_same() {
        assert_eq!(Program::random(7), Program::random(7));
        assert_ne!(Program::random(7), Program::random(8));
    }
}
