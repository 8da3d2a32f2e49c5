//! Asks a person on a terminal for the parameters of a type: first those that must be given, then, on request, the others.

use serde_json::{Value, json};
use vela_engine::parameters::Parameter;

use super::properties;
use crate::error::{Error, Result};
use crate::prompt;
use crate::screen::Screen;

/// How often one parameter is asked for.
const MOST_TRIES: usize = 5;

/// Adds the answers to the properties.
pub(super) fn ask(schema: &Parameter, given: &mut Value, screen: &mut Screen) -> Result<()> {
    for one in properties::missing(schema, given) {
        add(given, one, one_answer(one, true, screen)?);
    }
    let is_open =
        |one: &&Parameter| one.condition.is_none() && is_simple(one) && given.get(&one.name).is_none();
    let optional: Vec<&Parameter> = schema.children.iter().filter(is_open).collect();
    if optional.is_empty() {
        return Ok(());
    }
    let answer =
        prompt::line(&format!("Go through {} optional parameters, too? [y/N]", optional.len()), screen)?;
    if !matches!(answer.to_lowercase().as_str(), "y" | "yes") {
        return Ok(());
    }
    for one in optional {
        add(given, one, one_answer(one, false, screen)?);
    }
    Ok(())
}

fn add(given: &mut Value, parameter: &Parameter, answer: Option<Value>) {
    if let (Some(properties), Some(answer)) = (given.as_object_mut(), answer) {
        properties.insert(parameter.name.clone(), answer);
    }
}

/// What fits on one line of an answer.
fn is_simple(parameter: &Parameter) -> bool {
    matches!(parameter.type_.as_str(), "string" | "int" | "number" | "bool" | "[]string")
}

fn one_answer(parameter: &Parameter, is_required: bool, screen: &mut Screen) -> Result<Option<Value>> {
    let question = question(parameter, is_required);
    for _ in 0..MOST_TRIES {
        let text = prompt::line(&question, screen)?;
        if text.is_empty() && !is_required {
            return Ok(None);
        }
        if text.is_empty() {
            screen.say(&format!("{} must be given.", parameter.name));
            continue;
        }
        match properties::typed(parameter, &text) {
            Ok(value) => return Ok(Some(value)),
            Err(expected) => screen.say(&format!("{text:?} cannot be taken: {expected}.")),
        }
    }
    Err(Error::user(format!("{} was not given", parameter.name)).into())
}

fn question(parameter: &Parameter, is_required: bool) -> String {
    let about = match parameter.description.as_str() {
        "" => String::new(),
        description => format!(" - {}", description.replace('\n', " ")),
    };
    let default = match (&parameter.default, is_required) {
        (Some(default), _) => format!(" [{}]", if default.is_null() { json!("") } else { default.clone() }),
        (None, true) => String::new(),
        (None, false) => " [none]".to_owned(),
    };
    format!("{} ({}){about}{default}:", parameter.name, parameter.type_)
}
