//! Parameters of definitions → structures, choices and shapes that every language can say.

use serde_json::Value;
use vela_engine::parameters::{Parameter, parameters};
use vela_engine::{Definition, DefinitionKind};

use super::names::{Names, comment, is_tag, pascal};

/// Alternatives inside lists inside maps and so on are read down to this depth.
const DEPTH_LIMIT: usize = 32;
/// Names that the builders in every language have.
const TAKEN: &[&str] =
    &["Application", "Component", "NewApplication", "Policy", "Ptr", "Trait", "WorkflowStep"];

/// What a value may be.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Shape {
    Text,
    Integer,
    Number,
    Bool,
    Null,
    Any,
    Struct(usize),
    Choice(usize),
    List(Box<Shape>),
    Map(Box<Shape>),
    Union(Vec<Shape>),
}

/// An object with fields.
#[derive(Debug, Default)]
pub(super) struct Struct {
    pub(super) name: String,
    pub(super) about: Vec<String>,
    /// Those that must be given come first.
    pub(super) fields: Vec<Field>,
}

/// A field of an object.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) about: Vec<String>,
    pub(super) required: bool,
    pub(super) shape: Shape,
}

/// Values of which one is given: all texts, or all whole numbers.
#[derive(Debug)]
pub(super) struct Choice {
    pub(super) name: String,
    pub(super) values: Vec<Value>,
}

/// What a definition is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Component,
    Trait,
    Policy,
    WorkflowStep,
}

/// A definition, with the shape of its properties.
#[derive(Debug)]
pub(super) struct Type {
    /// The type that applications name.
    pub(super) type_: String,
    pub(super) role: Role,
    pub(super) about: Vec<String>,
    /// `WebserviceComponent`: functions are called by it.
    pub(super) base: String,
    /// `WebserviceComponentProperties`.
    pub(super) name: String,
    pub(super) shape: Shape,
    /// May the properties be left out?
    pub(super) optional: bool,
}

/// All that is written into one file.
#[derive(Debug, Default)]
pub(super) struct Model {
    pub(super) types: Vec<Type>,
    pub(super) structs: Vec<Struct>,
    pub(super) choices: Vec<Choice>,
    pub(super) names: Names,
    warnings: Vec<String>,
    /// The definition whose parameters are read.
    current: String,
}

impl Role {
    fn of(definition: &Definition) -> Self {
        match definition.kind() {
            DefinitionKind::Trait => Self::Trait,
            DefinitionKind::Policy => Self::Policy,
            DefinitionKind::WorkflowStep => Self::WorkflowStep,
            DefinitionKind::Component | DefinitionKind::Workload | DefinitionKind::Scope => Self::Component,
        }
    }

    /// The name of its builder.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Component => "Component",
            Self::Trait => "Trait",
            Self::Policy => "Policy",
            Self::WorkflowStep => "WorkflowStep",
        }
    }

    /// The same with the words apart.
    pub(super) fn noun(self) -> &'static str {
        match self {
            Self::Component => "component",
            Self::Trait => "trait",
            Self::Policy => "policy",
            Self::WorkflowStep => "workflow step",
        }
    }
}

impl Model {
    pub(super) fn of(definitions: &[Definition]) -> Self {
        let mut model = Self { names: Names::with(TAKEN), ..Self::default() };
        for definition in definitions {
            model.add(definition);
        }
        model
    }

    /// What could not be said in a type.
    pub(super) fn warnings(&self) -> &[String] {
        &self.warnings
    }

    fn add(&mut self, definition: &Definition) {
        let role = Role::of(definition);
        self.current = format!("{} {}", role.noun(), definition.name());
        let described = parameters(definition);
        let base = self.names.fresh(&format!("{}{}", pascal(definition.name()), role.name()));
        let name = self.names.fresh(&format!("{base}Properties"));
        let root = &described.root;
        let is_open = root.children.is_empty() && described.note.is_some();
        let (shape, optional) = match root.type_.as_str() {
            // Its language declares no parameters, so that any may be given.
            "object" if is_open => (Shape::Map(Box::new(Shape::Any)), true),
            "object" => {
                let index = self.structure(root, &base, name.clone());
                let optional = self.structs[index].fields.iter().all(|field| !field.required);
                (Shape::Struct(index), optional && root.one_of.is_empty())
            }
            type_ => (self.shape(type_, root, &base, 0), false),
        };
        let description = "/metadata/annotations/definition.oam.dev~1description";
        let description =
            definition.object().pointer(description).and_then(Value::as_str).unwrap_or_default();
        let about = [description, described.note.as_deref().unwrap_or_default()];
        let about = about.iter().map(|text| comment(text)).filter(|text| !text.is_empty()).collect();
        let type_ = definition.name().to_owned();
        self.types.push(Type { type_, role, about, base, name, shape, optional });
    }

    /// The object that a parameter is, or has in it. The numbers of those inside are lower.
    fn structure(&mut self, parameter: &Parameter, path: &str, name: String) -> usize {
        let mut fields: Vec<Field> = Vec::new();
        for child in &parameter.children {
            if !is_tag(&child.name) {
                let message =
                    format!("{}: no type has a field for the parameter {:?}", self.current, child.name);
                self.warnings.push(message);
                continue;
            }
            let is_alternative = parameter.one_of.iter().flatten().any(|one| *one == child.name);
            let path = format!("{path}{}", pascal(&child.name));
            let field = Field {
                name: child.name.clone(),
                about: about(child),
                required: child.required && child.condition.is_none() && !is_alternative,
                shape: self.shape(&child.type_, child, &path, 0),
            };
            match fields.iter_mut().find(|known| known.name == field.name) {
                Some(known) => known.or(field),
                None => fields.push(field),
            }
        }
        fields.sort_by_key(|field| !field.required);
        let mut about = Vec::new();
        if !parameter.one_of.is_empty() {
            let sets: Vec<String> = parameter.one_of.iter().map(|names| names.join(" with ")).collect();
            about.push(comment(&format!("Give {}.", sets.join(", or "))));
        }
        self.structs.push(Struct { name, about, fields });
        self.structs.len() - 1
    }

    /// The shape that the words of a type describe. What is inside an object, and the values of a choice, are those of the
    /// parameter.
    fn shape(&mut self, type_: &str, parameter: &Parameter, path: &str, depth: usize) -> Shape {
        if depth > DEPTH_LIMIT {
            return Shape::Any;
        }
        let alternatives = alternatives(type_);
        if alternatives.len() > 1 {
            let mut shapes: Vec<Shape> = Vec::new();
            for one in alternatives {
                let shape = self.shape(one, parameter, path, depth + 1);
                if !shapes.contains(&shape) {
                    shapes.push(shape);
                }
            }
            return Shape::Union(shapes);
        }
        if let Some(items) = type_.strip_prefix("[]") {
            return Shape::List(Box::new(self.shape(items, parameter, path, depth + 1)));
        }
        if let Some(values) = type_.strip_prefix("map[string]") {
            return Shape::Map(Box::new(self.shape(values, parameter, path, depth + 1)));
        }
        if let Some(inner) = type_.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
            return self.shape(inner, parameter, path, depth + 1);
        }
        match type_ {
            "string" => self.choice(parameter, path, Value::is_string).unwrap_or(Shape::Text),
            "int" => self.choice(parameter, path, Value::is_i64).unwrap_or(Shape::Integer),
            "number" => Shape::Number,
            "bool" => Shape::Bool,
            "null" => Shape::Null,
            "object" if parameter.children.is_empty() => Shape::Map(Box::new(Shape::Any)),
            "object" => {
                let name = self.names.fresh(path);
                Shape::Struct(self.structure(parameter, path, name))
            }
            _ => Shape::Any,
        }
    }

    fn choice(&mut self, parameter: &Parameter, path: &str, is_one: fn(&Value) -> bool) -> Option<Shape> {
        let values: Vec<Value> = parameter.allowed.iter().filter(|value| is_one(value)).cloned().collect();
        if values.is_empty() {
            return None;
        }
        let known = self.choices.iter().position(|choice| choice.name == path && choice.values == values);
        let index = known.unwrap_or_else(|| {
            let name = self.names.fresh(path);
            self.choices.push(Choice { name, values });
            self.choices.len() - 1
        });
        Some(Shape::Choice(index))
    }
}

impl Field {
    /// The same, declared again under another condition.
    fn or(&mut self, other: Field) {
        self.required = false;
        if self.shape != other.shape {
            let mut shapes = match std::mem::replace(&mut self.shape, Shape::Any) {
                Shape::Union(shapes) => shapes,
                one => vec![one],
            };
            shapes.push(other.shape);
            self.shape = Shape::Union(shapes);
        }
        for line in other.about {
            if !self.about.contains(&line) {
                self.about.push(line);
            }
        }
    }
}

/// The alternatives of a type: what stands between ` | ` outside brackets.
fn alternatives(type_: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0_usize);
    for (at, c) in type_.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            '|' if depth == 0 => {
                parts.push(type_[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(type_[start..].trim());
    parts
}

/// What is to be known of a parameter, in lines.
fn about(parameter: &Parameter) -> Vec<String> {
    let mut lines = vec![parameter.description.clone()];
    if !parameter.rules.is_empty() {
        lines.push(format!("Rules: {}.", parameter.rules.join(", ")));
    }
    if let Some(default) = &parameter.default {
        lines.push(format!("Default: {default}."));
    }
    if let Some(condition) = &parameter.condition {
        lines.push(format!("Only if {condition}."));
    }
    lines.iter().map(|line| comment(line)).filter(|line| !line.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alternatives_stand_outside_brackets() {
        assert_eq!(alternatives("string | (int | bool) | null"), ["string", "(int | bool)", "null"]);
        assert_eq!(alternatives("[](string | int)"), ["[](string | int)"]);
        assert_eq!(alternatives(""), [""]);
    }

    #[test]
    fn deep_types_end_as_any() {
        let mut model = Model::default();
        let deep = "[]".repeat(1000) + "string";
        let mut shape = model.shape(&deep, &Parameter::default(), "A", 0);
        let mut depth = 0;
        while let Shape::List(items) = shape {
            shape = *items;
            depth += 1;
        }
        assert_eq!((shape, depth), (Shape::Any, DEPTH_LIMIT + 1));
    }
}
