//! The model → a module of Python 3.8 or newer.

use serde_json::Value;

use super::model::{Choice, MARK, Model, Shape, Struct, Type};
use super::names::{Names, python, quoted, snake};

/// The builder of an Application.
const BASE: &str = include_str!("application.py.txt");

pub(super) fn generate(model: &Model) -> String {
    let mut out = format!("# {MARK}\n\n{BASE}");
    model.structs.iter().for_each(|one| out.push_str(&class(model, one)));
    let mut functions = Names::default();
    model.types.iter().for_each(|one| out.push_str(&function(model, one, &mut functions)));
    out
}

fn class(model: &Model, one: &Struct) -> String {
    let mut out = format!("\n\n{}@_dataclasses.dataclass\nclass {}:\n", comment("", &one.about), one.name);
    if one.fields.is_empty() {
        out.push_str("    pass\n");
    }
    let mut names = Names::default();
    for field in &one.fields {
        let name = names.fresh(&python(&field.name));
        let type_ = shape(model, &field.shape);
        let type_ = if field.required { type_ } else { format!("_t.Optional[{type_}]") };
        let mut given = Vec::new();
        if !field.required {
            given.push("default=None".to_owned());
        }
        if name != field.name {
            given.push(format!("metadata={{\"name\": {}}}", quoted(&field.name)));
        }
        let value = match (&given[..], field.required) {
            ([], _) => String::new(),
            ([_], false) => " = None".to_owned(),
            (given, _) => format!(" = _dataclasses.field({})", given.join(", ")),
        };
        out.push_str(&comment("    ", &field.about));
        out.push_str(&format!("    {name}: {type_}{value}\n"));
    }
    out
}

fn function(model: &Model, one: &Type, names: &mut Names) -> String {
    let mut out = String::new();
    if !matches!(one.shape, Shape::Struct(_)) {
        out.push_str(&format!("\n\n{} = {}\n", one.name, shape(model, &one.shape)));
    }
    let about = if one.about.is_empty() {
        vec![format!("A {} of the type {}.", one.role.noun(), one.type_)]
    } else {
        one.about.clone()
    };
    let noun = one.role.noun().replace(' ', "_");
    let name = names.fresh(&snake(&format!("{}_{noun}", one.type_)));
    let role = one.role.name();
    let properties = match one.optional {
        true => format!("properties: _t.Optional[{}] = None", one.name),
        false => format!("properties: {}", one.name),
    };
    let (taken, given) = match role {
        "Trait" => (properties, String::new()),
        _ => (format!("name: str, {properties}"), "name, ".to_owned()),
    };
    out.push_str(&format!(
        "\n\n{}def {name}({taken}) -> {role}:\n    return {role}({}, {given}properties)\n",
        comment("", &about),
        quoted(&one.type_),
    ));
    out
}

fn shape(model: &Model, one: &Shape) -> String {
    match one {
        Shape::Text => "str".to_owned(),
        Shape::Integer => "int".to_owned(),
        Shape::Number => "float".to_owned(),
        Shape::Bool => "bool".to_owned(),
        Shape::Null => "None".to_owned(),
        Shape::Any => "_t.Any".to_owned(),
        // An alias is evaluated, and names what stands above it.
        Shape::Struct(index) => model.structs[*index].name.clone(),
        Shape::Choice(index) => choice(&model.choices[*index]),
        Shape::List(items) => format!("_t.List[{}]", shape(model, items)),
        Shape::Map(values) => format!("_t.Dict[str, {}]", shape(model, values)),
        Shape::Union(shapes) => {
            let each: Vec<String> = shapes.iter().map(|one| shape(model, one)).collect();
            format!("_t.Union[{}]", each.join(", "))
        }
    }
}

fn choice(one: &Choice) -> String {
    let literal = |value: &Value| match value.as_str() {
        Some(text) => quoted(text),
        None => value.to_string(),
    };
    format!("_t.Literal[{}]", one.values.iter().map(literal).collect::<Vec<_>>().join(", "))
}

fn comment(margin: &str, lines: &[String]) -> String {
    lines.iter().map(|line| format!("{margin}# {line}\n")).collect()
}
