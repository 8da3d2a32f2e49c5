//! The properties of a component from flags, in the shape that its type declares. Asks nothing.

use serde_json::{Map, Value, json};
use vela_engine::nearest::advice;
use vela_engine::parameters::Parameter;

use crate::args::Init;
use crate::error::{Error, Result};

/// What the flags say.
pub(super) fn of_flags(type_: &str, schema: &Parameter, args: &Init) -> Result<Value> {
    let mut properties = Map::new();
    if let Some(image) = &args.image {
        child(type_, schema, "image")?;
        properties.insert("image".to_owned(), json!(image));
    }
    if !args.ports.is_empty() {
        let (name, value) = ports(type_, schema, &args.ports)?;
        properties.insert(name.to_owned(), value);
    }
    if !args.env.is_empty() {
        properties.insert("env".to_owned(), variables(child(type_, schema, "env")?, &args.env));
    }
    let mut properties = Value::Object(properties);
    for (path, text) in &args.set {
        set(type_, schema, &mut properties, path, text)?;
    }
    Ok(properties)
}

/// The parameters that must be given and are not.
pub(super) fn missing<'a>(schema: &'a Parameter, properties: &Value) -> Vec<&'a Parameter> {
    let is_missing = |one: &&Parameter| {
        one.required
            && one.condition.is_none()
            && one.default.is_none()
            && properties.get(&one.name).is_none()
    };
    schema.children.iter().filter(is_missing).collect()
}

/// A value as the parameter takes it; else what it should look like.
pub(in crate::command) fn typed(parameter: &Parameter, text: &str) -> std::result::Result<Value, String> {
    let json = || serde_json::from_str::<Value>(text);
    let value = match parameter.type_.as_str() {
        "string" => json!(text),
        "int" => json!(text.parse::<i64>().map_err(|_| "it is a whole number".to_owned())?),
        "bool" => json!(text.parse::<bool>().map_err(|_| "it is true or false".to_owned())?),
        "number" => {
            json!(text.parse::<f64>().ok().filter(|number| number.is_finite()).ok_or("it is a number")?)
        }
        "[]string" if !text.trim_start().starts_with('[') => {
            text.split(',').map(|item| json!(item.trim())).collect()
        }
        list if list.starts_with("[]") => {
            json().ok().filter(Value::is_array).ok_or("it is a list, written as JSON: [1, 2]")?
        }
        map if map == "object" || map.starts_with("map[") => json()
            .ok()
            .filter(Value::is_object)
            .ok_or("it is an object, written as JSON: {\"name\": \"value\"}")?,
        _ => json().unwrap_or_else(|_| json!(text)),
    };
    let is_one = !value.is_array() && !value.is_object();
    if is_one && !parameter.allowed.is_empty() && !parameter.allowed.contains(&value) {
        let all: Vec<String> = parameter.allowed.iter().map(ToString::to_string).collect();
        return Err(format!("it is one of {}", all.join(", ")));
    }
    Ok(value)
}

fn child<'a>(type_: &str, schema: &'a Parameter, name: &str) -> Result<&'a Parameter> {
    schema.children.iter().find(|one| one.name == name).ok_or_else(|| {
        let hint = advice(name, "parameter", schema.children.iter().map(|one| one.name.as_str()));
        let error = Error::user(format!("the type {type_} has no parameter {name:?}"));
        error.hint(hint.unwrap_or_else(|| format!("`vela show {type_}` lists its parameters"))).into()
    })
}

/// The parameter for ports, and its value: types declare a list of objects, a list of numbers, or one number.
fn ports(type_: &str, schema: &Parameter, ports: &[u16]) -> Result<(&'static str, Value)> {
    if let Some(list) = schema.children.iter().find(|one| one.name == "ports") {
        let is_exposed = list.children.iter().any(|one| one.name == "expose");
        let one = |port: &u16| match (list.children.is_empty(), is_exposed) {
            (true, _) => json!(port),
            (false, true) => json!({"port": port, "expose": true}),
            (false, false) => json!({"port": port}),
        };
        return Ok(("ports", ports.iter().map(one).collect()));
    }
    child(type_, schema, "port")?;
    match ports {
        [port] => Ok(("port", json!(port))),
        _ => Err(Error::user(format!("the type {type_} takes one port")).hint("give --port once").into()),
    }
}

fn variables(parameter: &Parameter, pairs: &[(String, String)]) -> Value {
    match parameter.type_.starts_with("[]") {
        true => pairs.iter().map(|(name, value)| json!({"name": name, "value": value})).collect(),
        false => Value::Object(pairs.iter().map(|(name, value)| (name.clone(), json!(value))).collect()),
    }
}

/// Sets what a dotted path names.
fn set(type_: &str, schema: &Parameter, properties: &mut Value, path: &str, text: &str) -> Result<()> {
    let mut parameter = schema;
    let mut at = properties;
    let any = Parameter { type_: "any".to_owned(), ..Parameter::default() };
    for name in path.split('.') {
        // What is in a map, or in what the type leaves open, has any name.
        let is_open = parameter.children.is_empty() && !std::ptr::eq(parameter, schema)
            || parameter.type_.starts_with("map[");
        parameter = if is_open { &any } else { child(type_, parameter, name)? };
        let wrong = || Error::user(format!("--set {path}: what stands before {name:?} is no object"));
        at = at.as_object_mut().ok_or_else(wrong)?.entry(name).or_insert_with(|| json!({}));
    }
    *at = typed(parameter, text).map_err(|expected| {
        Error::user(format!("--set {path}: {text:?} cannot be taken: {expected}"))
            .hint(format!("`vela show {type_}` describes it"))
    })?;
    Ok(())
}
