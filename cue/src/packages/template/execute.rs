//! A read template and data in, text out.

use super::functions;
use super::parser::{Branch, Command, List, Node, Pipeline, Place, Templates, Term, Word};
use super::printf::print;
use super::value::{Value, Width};
use super::{Failure, number::Number};

/// Longest text that a template makes.
const MAX_OUTPUT: usize = super::super::arguments::MAX_RESULT;

/// Most nodes and rounds of one execution: ends a loop over a huge number.
const MAX_STEPS: usize = 10_000_000;

/// Deepest calls of templates by templates.
const MAX_DEPTH: usize = 1_000;

/// Stack left when a deeper call gets a new piece, and the size of that piece.
const STACK: (usize, usize) = (128 << 10, 1 << 20);

/// How a list ended.
#[derive(PartialEq)]
enum Flow {
    On,
    Break,
    Continue,
}

pub(super) struct Execution<'t> {
    source: &'t str,
    templates: &'t Templates,
    out: String,
    steps: usize,
    depth: usize,
}

/// Variables of one template, and its name for errors.
struct Scope<'t> {
    name: &'t str,
    variables: Vec<(String, Value)>,
}

type Outcome = Result<Value, Failure>;

/// The text that the template makes of the data.
pub(super) fn execute(source: &str, templates: &Templates, data: Value) -> Result<String, Failure> {
    let mut execution = Execution { source, templates, out: String::new(), steps: 0, depth: 0 };
    let Some(list) = templates.get("") else { return Ok(String::new()) };
    let mut scope = Scope { name: "", variables: vec![("$".into(), data.clone())] };
    execution.list(&mut scope, &data, list)?;
    Ok(execution.out)
}

impl<'t> Execution<'t> {
    fn fail<T>(&self, scope: &Scope<'_>, place: Place, message: &str) -> Result<T, Failure> {
        let (line, column) = super::text::line_and_column(self.source, place.at);
        let shown = self.source.get(place.start..place.end).unwrap_or_default();
        Err(Failure::error(format!(
            "template: :{line}:{column}: executing {:?} at <{shown}>: {message}",
            scope.name
        )))
    }

    fn step(&mut self) -> Result<(), Failure> {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return Err(Failure::Budget(format!("template stopped after {MAX_STEPS} steps")));
        }
        Ok(())
    }

    fn list(&mut self, scope: &mut Scope<'t>, dot: &Value, list: &'t List) -> Result<Flow, Failure> {
        for node in list {
            self.step()?;
            let flow = self.node(scope, dot, node)?;
            if flow != Flow::On {
                return Ok(flow);
            }
            if self.out.len() > MAX_OUTPUT {
                return Err(Failure::Budget(format!("template made more than {MAX_OUTPUT} bytes")));
            }
        }
        Ok(Flow::On)
    }

    fn node(&mut self, scope: &mut Scope<'t>, dot: &Value, node: &'t Node) -> Result<Flow, Failure> {
        match node {
            Node::Text(text) => self.out.push_str(text),
            Node::Action(pipeline) => {
                let value = self.pipeline(scope, dot, pipeline)?;
                if pipeline.variables.is_empty() {
                    self.print(&value);
                }
            }
            Node::If(branch) | Node::With(branch) => {
                let known = scope.variables.len();
                let value = self.pipeline(scope, dot, &branch.pipeline)?;
                let flow = match (value.is_true(), node) {
                    (true, Node::With(_)) => self.list(scope, &value, &branch.body)?,
                    (true, _) => self.list(scope, dot, &branch.body)?,
                    (false, _) => self.list(scope, dot, &branch.otherwise)?,
                };
                scope.variables.truncate(known);
                return Ok(flow);
            }
            Node::Range(branch) => {
                let known = scope.variables.len();
                let flow = self.range(scope, dot, branch)?;
                scope.variables.truncate(known);
                return Ok(flow);
            }
            Node::Break => return Ok(Flow::Break),
            Node::Continue => return Ok(Flow::Continue),
            Node::Call { name, pipeline, place } => {
                self.invoke(scope, dot, name, pipeline.as_ref(), *place)?;
            }
        }
        Ok(Flow::On)
    }

    fn print(&mut self, value: &Value) {
        match value {
            Value::Missing | Value::Nil => self.out.push_str("<no value>"),
            Value::Text(text) => self.out.push_str(text),
            other => self.out.push_str(&print(std::slice::from_ref(other), false)),
        }
    }

    fn invoke(
        &mut self,
        scope: &mut Scope<'t>,
        dot: &Value,
        name: &'t str,
        pipeline: Option<&'t Pipeline>,
        place: Place,
    ) -> Result<(), Failure> {
        let templates = self.templates;
        let Some(list) = templates.get(name) else {
            return self.fail(scope, place, &format!("template {name:?} not defined"));
        };
        if self.depth == MAX_DEPTH {
            let text = format!("template {name:?} calls itself more than {MAX_DEPTH} times");
            return Err(Failure::Budget(text));
        }
        self.depth += 1;
        let value = match pipeline {
            Some(pipeline) => self.pipeline(scope, dot, pipeline)?,
            None => Value::Missing,
        };
        let mut inner = Scope { name, variables: vec![("$".into(), value.clone())] };
        stacker::maybe_grow(STACK.0, STACK.1, || self.list(&mut inner, &value, list))?;
        self.depth -= 1;
        Ok(())
    }

    fn range(&mut self, scope: &mut Scope<'t>, dot: &Value, branch: &'t Branch) -> Result<Flow, Failure> {
        let value = self.pipeline(scope, dot, &branch.pipeline)?;
        let count = match &value {
            Value::Missing | Value::Nil => 0,
            Value::List(items) => items.len(),
            Value::Bytes(bytes) => bytes.len(),
            Value::Map(fields) => fields.len(),
            Value::Int(number, _) => {
                if branch.pipeline.variables.len() > 1 {
                    let text = format!("can't use {number} to iterate over more than one variable");
                    return self.fail(scope, branch.pipeline.place, &text);
                }
                usize::try_from(*number).unwrap_or(0)
            }
            other => {
                let shown = print(std::slice::from_ref(other), false);
                return self.fail(scope, branch.pipeline.place, &format!("range can't iterate over {shown}"));
            }
        };
        if count == 0 {
            return self.list(scope, dot, &branch.otherwise);
        }
        for at in 0..count {
            let (index, element) = match &value {
                Value::List(items) => (Value::int(at), items[at].clone()),
                Value::Bytes(bytes) => (Value::int(at), Value::Int(i64::from(bytes[at]), Width::Uint8)),
                Value::Map(fields) => (Value::Text(fields[at].0.clone()), fields[at].1.clone()),
                Value::Int(_, width) => (Value::Missing, Value::Int(i64::try_from(at).unwrap_or(0), *width)),
                _ => break,
            };
            self.step()?;
            if self.round(scope, branch, index, element)? == Flow::Break {
                break;
            }
        }
        Ok(Flow::On)
    }

    /// One round of a loop: its variables, then its body.
    fn round(
        &mut self,
        scope: &mut Scope<'t>,
        branch: &'t Branch,
        index: Value,
        element: Value,
    ) -> Result<Flow, Failure> {
        let names = &branch.pipeline.variables;
        let values = match names.len() {
            0 => vec![],
            1 => vec![element.clone()],
            _ => vec![index, element.clone()],
        };
        let known = scope.variables.len();
        for (at, value) in values.into_iter().enumerate() {
            if branch.pipeline.assigns {
                self.assign(scope, branch.pipeline.place, &names[at], value)?;
            } else if let Some(slot) = scope.variables.get_mut(known - names.len() + at) {
                // The pipeline itself has made the variables.
                slot.1 = value;
            }
        }
        let flow = self.list(scope, &element, &branch.body)?;
        scope.variables.truncate(known);
        Ok(flow)
    }

    fn assign(&self, scope: &mut Scope<'t>, place: Place, name: &str, value: Value) -> Result<(), Failure> {
        match scope.variables.iter_mut().rev().find(|(known, _)| known == name) {
            Some(slot) => {
                slot.1 = value;
                Ok(())
            }
            None => self.fail(scope, place, &format!("undefined variable: {name}")),
        }
    }

    fn pipeline(&mut self, scope: &mut Scope<'t>, dot: &Value, pipeline: &'t Pipeline) -> Outcome {
        let mut value = None;
        for command in &pipeline.commands {
            value = Some(self.command(scope, dot, command, value)?);
        }
        let value = value.unwrap_or(Value::Missing);
        for name in &pipeline.variables {
            if pipeline.assigns {
                self.assign(scope, pipeline.place, name, value.clone())?;
            } else {
                scope.variables.push((name.clone(), value.clone()));
            }
        }
        Ok(value)
    }

    fn command(
        &mut self,
        scope: &mut Scope<'t>,
        dot: &Value,
        command: &'t Command,
        last: Option<Value>,
    ) -> Outcome {
        let Some((first, rest)) = command.words.split_first() else { return Ok(Value::Missing) };
        if let Term::Function(name) = &first.kind {
            return self.function(scope, dot, name, rest, last, [command.place, first.place]);
        }
        if matches!(first.kind, Term::Nil) && rest.is_empty() && last.is_none() {
            return self.fail(scope, first.place, "nil is not a command");
        }
        if !rest.is_empty() || last.is_some() {
            if let Term::Field(names) | Term::Chain(_, names) = &first.kind {
                let name = names.last().map(String::as_str).unwrap_or_default();
                let text = format!("{name} is not a method but has arguments");
                return self.fail(scope, first.place, &text);
            }
            let shown = self.source.get(first.place.start..first.place.end).unwrap_or_default();
            let text = format!("can't give argument to non-function {shown}");
            return self.fail(scope, first.place, &text);
        }
        self.word(scope, dot, first)
    }

    fn word(&mut self, scope: &mut Scope<'t>, dot: &Value, word: &'t Word) -> Outcome {
        Ok(match &word.kind {
            Term::Dot => dot.clone(),
            Term::Nil => Value::Nil,
            Term::Bool(value) => Value::Bool(*value),
            Term::Number(Number::Int(value)) => Value::Int(*value, Width::Int),
            Term::Number(Number::Float(value)) => Value::Float(*value),
            Term::Number(Number::TooLarge) => {
                let shown = self.source.get(word.place.start..word.place.end).unwrap_or_default();
                return self.fail(scope, word.place, &format!("{shown} overflows int"));
            }
            Term::Text(text) => Value::text(text.as_str()),
            Term::Function(name) => return self.function(scope, dot, name, &[], None, [word.place; 2]),
            Term::Field(names) => return self.fields(scope, dot.clone(), names, word.place),
            Term::Variable(name, names) => {
                let value = scope.variables.iter().rev().find(|(known, _)| known == name);
                let Some((_, value)) = value else {
                    return self.fail(scope, word.place, &format!("undefined variable: {name}"));
                };
                let value = value.clone();
                return self.fields(scope, value, names, word.place);
            }
            Term::Pipeline(pipeline) => return self.pipeline(scope, dot, pipeline),
            Term::Chain(inner, names) => {
                let value = self.word(scope, dot, inner)?;
                return self.fields(scope, value, names, word.place);
            }
        })
    }

    fn fields(&self, scope: &Scope<'_>, value: Value, names: &[String], place: Place) -> Outcome {
        let mut value = value;
        for (at, name) in names.iter().enumerate() {
            let kind = if at == 0 { value.type_name() } else { "interface {}" };
            value = match &value {
                Value::Missing => Value::Missing,
                Value::Map(_) => value.get(name).cloned().unwrap_or(Value::Missing),
                Value::Nil => {
                    let text = format!("nil pointer evaluating interface {{}}.{name}");
                    return self.fail(scope, place, &text);
                }
                _ => {
                    return self.fail(scope, place, &format!("can't evaluate field {name} in type {kind}"));
                }
            };
        }
        Ok(value)
    }

    fn function(
        &mut self,
        scope: &mut Scope<'t>,
        dot: &Value,
        name: &'t str,
        words: &'t [Word],
        last: Option<Value>,
        [place, own]: [Place; 2],
    ) -> Outcome {
        let count = words.len() + usize::from(last.is_some());
        let (least, most) = functions::arity(name);
        if count < least || count > most {
            let wanted =
                if least == most { format!("want {least}") } else { format!("want at least {least}") };
            let text = format!("wrong number of args for {name}: {wanted} got {count}");
            return self.fail(scope, own, &text);
        }
        if name == "and" || name == "or" {
            return self.logic(scope, dot, name == "or", words, last);
        }
        let mut arguments = Vec::with_capacity(count);
        for word in words {
            let value = self.word(scope, dot, word)?;
            if name == "printf" && arguments.is_empty() && !matches!(value, Value::Text(_)) {
                let shown = if value.is_nil() {
                    "invalid value; expected string".to_string()
                } else {
                    format!("wrong type for value; expected string; got {}", value.type_name())
                };
                return self.fail(scope, word.place, &shown);
            }
            arguments.push(value);
        }
        arguments.extend(last);
        self.step()?;
        match functions::call(name, &arguments, MAX_OUTPUT) {
            Ok(Value::Text(text)) if text.len() > MAX_OUTPUT => {
                Err(Failure::Budget(format!("{name} made more than {MAX_OUTPUT} bytes")))
            }
            Ok(value) => Ok(value),
            Err(message) => self.fail(scope, place, &format!("error calling {name}: {message}")),
        }
    }

    /// The first argument that decides; later ones are not evaluated.
    fn logic(
        &mut self,
        scope: &mut Scope<'t>,
        dot: &Value,
        is_or: bool,
        words: &'t [Word],
        last: Option<Value>,
    ) -> Outcome {
        let mut value = Value::Missing;
        for word in words {
            value = self.word(scope, dot, word)?;
            if value.is_true() == is_or {
                return Ok(value);
            }
        }
        Ok(last.unwrap_or(value))
    }
}
