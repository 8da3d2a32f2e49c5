//! A trait as the REST API of early 2021 sends it, with values as texts → the components of an application with it, or without
//! it. Writes nothing.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use vela_engine::parameters::Parameter;

use crate::data::flags_2021::{self, Flag, agree};
use crate::error::Error;
use crate::find;

/// A trait that a component shall have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct TraitBody {
    /// Its type.
    pub(crate) name: String,
    /// Its values.
    #[serde(default)]
    flags: Vec<Flag>,
    /// The environment, as the path has it.
    #[serde(default)]
    env_name: Option<String>,
    /// The application, as the path has it.
    #[serde(default)]
    app_name: Option<String>,
    /// The component, as the path has it.
    #[serde(default)]
    component_name: Option<String>,
    /// `false` where it is given.
    #[serde(default)]
    staging: Option<String>,
}

impl TraitBody {
    /// The same, if it is for the component of the path.
    pub(crate) fn at(self, env: &str, app: &str, component: &str) -> Result<Self, Error> {
        agree(&[
            ("envName", &self.env_name, env),
            ("appName", &self.app_name, app),
            ("componentName", &self.component_name, component),
        ])?;
        if self.staging.as_deref().is_some_and(|staging| !["", "false"].contains(&staging)) {
            return Err(Error::Invalid(
                "staging: what is sent is written at once; leave it out, or say \"false\"".to_owned(),
            ));
        }
        if !find::is_name(&self.name) {
            let name: String = self.name.chars().take(100).collect();
            return Err(Error::Invalid(format!("name: {name:?} cannot be a type of traits")));
        }
        Ok(self)
    }

    /// The trait as an application has it, its values of the types that its definition says.
    pub(crate) fn with_values(&self, parameters: &[Parameter]) -> Result<Value, Error> {
        let what = format!("the trait {}", self.name);
        let properties = flags_2021::properties(&what, &self.flags, parameters)?;
        Ok(match properties.is_empty() {
            true => json!({"type": self.name}),
            false => json!({"type": self.name, "properties": properties}),
        })
    }
}

/// The components of a stored application, one of them with this trait, in place of one of its type.
pub(crate) fn attached(application: &Value, component: &str, new: &Value) -> Result<Value, Error> {
    changed(application, component, |traits| {
        match traits.iter_mut().find(|one| one["type"] == new["type"]) {
            Some(former) => *former = new.clone(),
            None => traits.push(new.clone()),
        }
        Ok(())
    })
}

/// The components of a stored application, one of them without the trait of this type.
pub(crate) fn detached(application: &Value, component: &str, name: &str) -> Result<Value, Error> {
    changed(application, component, |traits| {
        let before = traits.len();
        traits.retain(|one| one["type"] != name);
        match traits.len() < before {
            true => Ok(()),
            false => Err(Error::NotFound(format!("the component {component} has no trait {name:?}"))),
        }
    })
}

fn changed(
    application: &Value,
    component: &str,
    change: impl FnOnce(&mut Vec<Value>) -> Result<(), Error>,
) -> Result<Value, Error> {
    let mut components = application["spec"]["components"].as_array().cloned().unwrap_or_default();
    let Some(found) = components.iter_mut().find(|one| one["name"] == component) else {
        let app = application["metadata"]["name"].as_str().unwrap_or_default();
        return Err(Error::NotFound(format!("the application {app} has no component {component:?}")));
    };
    let mut traits = found["traits"].as_array().cloned().unwrap_or_default();
    change(&mut traits)?;
    match found.as_object_mut() {
        Some(found) if traits.is_empty() => drop(found.remove("traits")),
        Some(found) => drop(found.insert("traits".to_owned(), Value::Array(traits))),
        None => {}
    }
    Ok(Value::Array(components))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(text: &str) -> Result<TraitBody, Error> {
        serde_json::from_str::<TraitBody>(text).unwrap().at("env", "app", "web")
    }

    #[test]
    fn values_have_the_types_of_the_definition() {
        let parameter = |name: &str, type_: &str| Parameter {
            name: name.to_owned(),
            type_: type_.to_owned(),
            ..Parameter::default()
        };
        let parameters =
            [parameter("replicas", "int"), parameter("on", "bool"), parameter("labels", "map[string]string")];
        let of = |flags: &str| {
            body(&format!("{{\"name\": \"scaler\", \"flags\": [{flags}]}}")).unwrap().with_values(&parameters)
        };
        let flag = |name: &str, value: &str| format!("{{\"name\": \"{name}\", \"value\": \"{value}\"}}");
        let all = [flag("replicas", "3"), flag("on", "true"), flag("labels", "a: b")].join(",");
        let expected = json!({"replicas": 3, "on": true, "labels": {"a": "b"}});
        assert_eq!(of(&all).unwrap(), json!({"type": "scaler", "properties": expected}));
        assert_eq!(of("").unwrap(), json!({"type": "scaler"}));
        let twice = [flag("on", "true"), flag("on", "false")].join(",");
        for (flags, words) in [
            (flag("replicas", "three"), "flags[0]: replicas: \"three\" is no whole number"),
            (flag("replica", "3"), "flags[0]: the trait scaler has no parameter \"replica\""),
            (twice, "flags[1]: on is given twice"),
        ] {
            let said = of(&flags).unwrap_err().to_string();
            assert!(said.starts_with(words), "{said}");
        }
    }

    #[test]
    fn a_body_for_another_component_is_refused() {
        assert!(body("{\"name\": \"a\", \"appName\": \"app\", \"staging\": \"false\"}").is_ok());
        for (text, words) in [
            ("{\"name\": \"a\", \"appName\": \"other\"}", "appName: the body says \"other\""),
            ("{\"name\": \"a\", \"componentName\": \"other\"}", "componentName"),
            ("{\"name\": \"a\", \"staging\": \"true\"}", "staging"),
            ("{\"name\": \"../a\"}", "name: \"../a\""),
        ] {
            let said = body(text).unwrap_err().to_string();
            assert!(said.contains(words), "{said}");
        }
    }

    #[test]
    fn a_trait_takes_the_place_of_one_of_its_type() {
        let scaler = |replicas: u8| json!({"type": "scaler", "properties": {"replicas": replicas}});
        let with = |traits: Value| json!({"spec": {"components": [{"name": "web", "traits": traits}, {"name": "db"}]}});
        let two = with(json!([scaler(1), {"type": "other"}]));
        let after = attached(&two, "web", &scaler(2)).unwrap();
        assert_eq!(after[0]["traits"], json!([scaler(2), {"type": "other"}]));
        assert_eq!(attached(&two, "db", &scaler(2)).unwrap()[1]["traits"], json!([scaler(2)]));
        assert_eq!(detached(&two, "web", "other").unwrap()[0]["traits"], json!([scaler(1)]));
        assert_eq!(detached(&with(json!([scaler(1)])), "web", "scaler").unwrap()[0], json!({"name": "web"}));
        assert!(matches!(detached(&two, "web", "absent"), Err(Error::NotFound(_))));
        assert!(matches!(attached(&two, "absent", &scaler(2)), Err(Error::NotFound(_))));
    }
}
