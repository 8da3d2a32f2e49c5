//! The model → a module of TypeScript.

use super::model::{MARK, Model, Shape, Struct, Type};
use super::names::{is_plain, lower_first, quoted};

/// The builder of an Application.
const BASE: &str = include_str!("application.ts.txt");

pub(super) fn generate(model: &Model) -> String {
    let mut out = format!("// {MARK}\n\n{BASE}");
    model.structs.iter().for_each(|one| out.push_str(&interface(model, one)));
    model.types.iter().for_each(|one| out.push_str(&function(model, one)));
    out
}

fn interface(model: &Model, one: &Struct) -> String {
    let mut out = format!("\n{}export interface {} {{\n", comment("", &one.about), one.name);
    for field in &one.fields {
        let name = if is_plain(&field.name) { field.name.clone() } else { quoted(&field.name) };
        let mark = if field.required { "" } else { "?" };
        out.push_str(&comment("  ", &field.about));
        out.push_str(&format!("  {name}{mark}: {};\n", shape(model, &field.shape)));
    }
    out + "}\n"
}

fn function(model: &Model, one: &Type) -> String {
    let mut out = String::new();
    if !matches!(one.shape, Shape::Struct(_)) {
        out.push_str(&format!("\nexport type {} = {};\n", one.name, shape(model, &one.shape)));
    }
    let about = if one.about.is_empty() {
        vec![format!("A {} of the type {}.", one.role.noun(), one.type_)]
    } else {
        one.about.clone()
    };
    let (name, role, type_) = (lower_first(&one.base), one.role.name(), quoted(&one.type_));
    let default = if one.optional { " = {}" } else { "" };
    let properties = format!("properties: {}{default}", one.name);
    let (taken, given) = match role {
        "Trait" => (properties, format!("{type_}, properties")),
        _ => (format!("name: string, {properties}"), format!("{type_}, name, properties")),
    };
    out.push('\n');
    out.push_str(&comment("", &about));
    out.push_str(&format!("export function {name}({taken}): {role} {{\n  return new {role}({given});\n}}\n"));
    out
}

fn shape(model: &Model, one: &Shape) -> String {
    let literal = |value: &serde_json::Value| match value.as_str() {
        Some(text) => quoted(text),
        None => value.to_string(),
    };
    match one {
        Shape::Text => "string".to_owned(),
        Shape::Integer | Shape::Number => "number".to_owned(),
        Shape::Bool => "boolean".to_owned(),
        Shape::Null => "null".to_owned(),
        Shape::Any => "unknown".to_owned(),
        Shape::Struct(index) => model.structs[*index].name.clone(),
        Shape::Choice(index) => {
            model.choices[*index].values.iter().map(literal).collect::<Vec<_>>().join(" | ")
        }
        Shape::List(items) => format!("Array<{}>", shape(model, items)),
        Shape::Map(values) => format!("Record<string, {}>", shape(model, values)),
        Shape::Union(shapes) => shapes.iter().map(|one| shape(model, one)).collect::<Vec<_>>().join(" | "),
    }
}

fn comment(margin: &str, lines: &[String]) -> String {
    match lines {
        [] => String::new(),
        [one] => format!("{margin}/** {one} */\n"),
        many => {
            let lines: String = many.iter().map(|line| format!("{margin} * {line}\n")).collect();
            format!("{margin}/**\n{lines}{margin} */\n")
        }
    }
}
