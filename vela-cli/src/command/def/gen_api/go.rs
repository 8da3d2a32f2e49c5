//! The model → a file of Go, as gofmt writes it: a blank line after each field leaves nothing to align.

use super::model::{Choice, MARK, Model, Shape, Struct, Type};
use super::names::{Names, pascal, quoted};

/// The builder of an Application.
const BASE: &str = include_str!("application.go.txt");

pub(super) fn generate(model: &Model, package: &str) -> String {
    let mut out = format!("// {MARK}\n\npackage {package}\n\n{BASE}");
    // Constants share the scope of types.
    let mut names = model.names.clone();
    model.choices.iter().for_each(|one| out.push_str(&choice(one, &mut names)));
    model.structs.iter().for_each(|one| out.push_str(&structure(model, one)));
    model.types.iter().for_each(|one| out.push_str(&function(model, one, &mut names)));
    out
}

fn choice(one: &Choice, names: &mut Names) -> String {
    let base = if one.values.iter().all(serde_json::Value::is_string) { "string" } else { "int64" };
    let mut out = format!("\n// {0} is one of the values below.\ntype {0} {base}\n", one.name);
    for value in &one.values {
        let (word, literal) = match value.as_str() {
            Some("") => ("Empty".to_owned(), quoted("")),
            Some(text) => (pascal(text), quoted(text)),
            None => (format!("N{}", value.to_string().replace('-', "Minus")), value.to_string()),
        };
        let name = names.fresh(&format!("{}{word}", one.name));
        out.push_str(&format!("\nconst {name} {} = {literal}\n", one.name));
    }
    out
}

fn structure(model: &Model, one: &Struct) -> String {
    if one.fields.is_empty() {
        return format!("\n{}type {} struct{{}}\n", comment("", &one.about), one.name);
    }
    let mut out = format!("\n{}type {} struct {{", comment("", &one.about), one.name);
    let mut names = Names::default();
    for (index, field) in one.fields.iter().enumerate() {
        out.push_str(if index == 0 { "\n" } else { "\n\n" });
        let (type_, may_be_nil) = shape(model, &field.shape);
        let pointer = if field.required || may_be_nil { "" } else { "*" };
        let omit = if field.required { "" } else { ",omitempty" };
        let name = names.fresh(&pascal(&field.name));
        let mut about = field.about.clone();
        if type_.ends_with("any") {
            about.extend(words(model, &field.shape));
        }
        out.push_str(&comment("\t", &about));
        out.push_str(&format!("\t{name} {pointer}{type_} `json:\"{}{omit}\"`", field.name));
    }
    out + "\n}\n"
}

fn function(model: &Model, one: &Type, names: &mut Names) -> String {
    let mut out = String::new();
    if !matches!(one.shape, Shape::Struct(_)) {
        let (type_, _) = shape(model, &one.shape);
        let about: Vec<String> =
            words(model, &one.shape).filter(|_| type_.ends_with("any")).into_iter().collect();
        out.push_str(&format!("\n{}type {} = {type_}\n", comment("", &about), one.name));
    }
    let name = names.fresh(&format!("New{}", one.base));
    let mut about = vec![format!("{name} makes a {} of the type {}.", one.role.noun(), one.type_)];
    about.extend(one.about.iter().cloned());
    let (role, type_) = (one.role.name(), quoted(&one.type_));
    let (taken, given) = match role {
        "Trait" => (String::new(), String::new()),
        _ => ("name string, ".to_owned(), "Name: name, ".to_owned()),
    };
    out.push_str(&format!(
        "\n{}func {name}({taken}properties {}) *{role} {{\n\treturn &{role}{{{given}Type: {type_}, Properties: properties}}\n}}\n",
        comment("", &about),
        one.name,
    ));
    out
}

/// The type, and whether it has a value that says that nothing is given.
fn shape(model: &Model, one: &Shape) -> (String, bool) {
    let named = |text: &str| (text.to_owned(), false);
    match one {
        Shape::Text => named("string"),
        Shape::Integer => named("int64"),
        Shape::Number => named("float64"),
        Shape::Bool => named("bool"),
        Shape::Null | Shape::Any => ("any".to_owned(), true),
        Shape::Struct(index) => named(&model.structs[*index].name),
        Shape::Choice(index) => named(&model.choices[*index].name),
        Shape::List(items) => (format!("[]{}", shape(model, items).0), true),
        Shape::Map(values) => (format!("map[string]{}", shape(model, values).0), true),
        Shape::Union(shapes) => {
            let rest: Vec<&Shape> = shapes.iter().filter(|one| **one != Shape::Null).collect();
            match &rest[..] {
                // A pointer that is nil, where it is written, is null.
                [one] => match shape(model, one) {
                    (type_, true) => (type_, true),
                    (type_, false) => (format!("*{type_}"), true),
                },
                _ => ("any".to_owned(), true),
            }
        }
    }
}

/// The alternatives in words, where Go has no type for them.
fn words(model: &Model, one: &Shape) -> Option<String> {
    match one {
        Shape::Union(shapes) => {
            let each = shapes.iter().map(|one| match one {
                Shape::Null => "nil".to_owned(),
                one => shape(model, one).0,
            });
            let each: Vec<String> = each.collect();
            Some(format!("One of: {}.", each.join(", ")))
        }
        Shape::List(inner) | Shape::Map(inner) => words(model, inner),
        _ => None,
    }
}

fn comment(margin: &str, lines: &[String]) -> String {
    lines.iter().map(|line| format!("{margin}// {line}\n")).collect()
}
