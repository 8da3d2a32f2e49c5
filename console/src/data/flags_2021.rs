//! What bodies of the REST API of early 2021 have in common: values as texts → properties of the types that a definition says,
//! and names that have to be those of the path. Writes nothing.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use vela_engine::nearest::advice;
use vela_engine::parameters::Parameter;

use crate::data::form;
use crate::error::Error;

/// Values in one body.
const FLAGS_AT_MOST: usize = 256;

/// The value of a parameter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Flag {
    /// The parameter.
    name: String,
    /// Its value; a text, and YAML for what is neither text, number nor switch.
    value: String,
}

/// The properties that the flags of a type are; `what` is the type in messages, such as `the trait scaler`.
pub(crate) fn properties(
    what: &str,
    flags: &[Flag],
    parameters: &[Parameter],
) -> Result<Map<String, Value>, Error> {
    if flags.len() > FLAGS_AT_MOST {
        return Err(Error::Invalid(format!("flags: there are more than {FLAGS_AT_MOST}")));
    }
    let mut properties = Map::new();
    for (index, Flag { name, value }) in flags.iter().enumerate() {
        let wrong = |why: String| Error::Invalid(format!("flags[{index}]: {why}"));
        let Some(parameter) = parameters.iter().find(|parameter| parameter.name == *name) else {
            let name: String = name.chars().take(100).collect();
            let known = parameters.iter().map(|parameter| parameter.name.as_str());
            let advice = advice(&name, "parameter", known).map(|advice| format!("; {advice}"));
            return Err(wrong(format!("{what} has no parameter {name:?}{}", advice.unwrap_or_default())));
        };
        let value = form::value(parameter, value).map_err(|why| wrong(format!("{name}: {why}")))?;
        if properties.insert(name.clone(), value.unwrap_or_default()).is_some() {
            return Err(wrong(format!("{name} is given twice")));
        }
    }
    // What is empty is not given.
    properties.retain(|_, value| !value.is_null());
    Ok(properties)
}

/// Refuses a body that names another object than the path; of each field, what the body says and what the path.
pub(crate) fn agree(given: &[(&str, &Option<String>, &str)]) -> Result<(), Error> {
    for (field, given, path) in given {
        if let Some(given) = given.as_deref().filter(|given| !given.is_empty() && given != path) {
            let given: String = given.chars().take(100).collect();
            return Err(Error::Invalid(format!(
                "{field}: the body says {given:?} and the path {path:?}; write the same in both, or leave it out"
            )));
        }
    }
    Ok(())
}
