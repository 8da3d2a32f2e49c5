//! A component as the REST API of early 2021 sends it, with values as texts → the component of an application, and its place
//! among the others. Writes nothing.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use vela_engine::names;
use vela_engine::parameters::Parameter;

use crate::data::flags_2021::{self, Flag, agree};
use crate::data::traits_2021::TraitBody;
use crate::error::Error;
use crate::find;

/// Traits of one body.
const TRAITS_AT_MOST: usize = 64;

/// A component that an application shall have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct WorkloadBody {
    /// The environment; not needed where the path has it.
    #[serde(default)]
    env_name: Option<String>,
    /// The application; without, its name is that of the component.
    #[serde(default)]
    app_name: Option<String>,
    /// The component; not needed where the path has it.
    #[serde(default)]
    workload_name: Option<String>,
    /// Its type.
    workload_type: String,
    /// Its values.
    #[serde(default)]
    flags: Vec<Flag>,
    /// `false` where it is given.
    #[serde(default)]
    staging: bool,
    /// Traits that it gets, each in place of one of its type.
    #[serde(default)]
    traits: Vec<TraitBody>,
}

/// Where a component is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) env: String,
    pub(crate) app: String,
    pub(crate) component: String,
}

/// A component whose names are right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NewComponent {
    pub(crate) place: Place,
    pub(crate) type_: String,
    flags: Vec<Flag>,
    pub(crate) traits: Vec<TraitBody>,
}

impl WorkloadBody {
    /// The component at the place that the body names.
    pub(crate) fn placed(self) -> Result<NewComponent, Error> {
        let text = |given: &Option<String>| given.clone().unwrap_or_default();
        let (env, component) = (text(&self.env_name), text(&self.workload_name));
        let app = Some(text(&self.app_name)).filter(|app| !app.is_empty());
        let app = app.unwrap_or_else(|| component.clone());
        is_name("envName", &env, find::is_name(&env))?;
        is_name("workloadName", &component, names::is_label(&component))?;
        is_name("appName", &app, find::is_name(&app))?;
        self.at(Place { env, app, component })
    }

    /// The component at the place of a path, if the body names no other.
    pub(crate) fn at(self, place: Place) -> Result<NewComponent, Error> {
        let Self { env_name, app_name, workload_name, workload_type: type_, flags, staging, traits } = self;
        agree(&[
            ("envName", &env_name, &place.env),
            ("appName", &app_name, &place.app),
            ("workloadName", &workload_name, &place.component),
        ])?;
        if staging {
            return Err(Error::Invalid(
                "staging: what is sent is written at once; leave it out, or say false".to_owned(),
            ));
        }
        is_name("workloadType", &type_, find::is_name(&type_))?;
        if traits.len() > TRAITS_AT_MOST {
            return Err(Error::Invalid(format!("traits: there are more than {TRAITS_AT_MOST}")));
        }
        let Place { env, app, component } = &place;
        let of_trait = |(index, one): (usize, TraitBody)| {
            one.at(env, app, component).map_err(|error| Error::Invalid(format!("traits[{index}].{error}")))
        };
        let traits = traits.into_iter().enumerate().map(of_trait).collect::<Result<_, _>>()?;
        Ok(NewComponent { place, type_, flags, traits })
    }
}

fn is_name(field: &str, given: &str, is_one: bool) -> Result<(), Error> {
    if is_one {
        return Ok(());
    }
    let given: String = given.chars().take(100).collect();
    Err(Error::Invalid(format!(
        "{field}: {given:?} cannot be one: write lower-case letters, digits and inner '-'"
    )))
}

impl NewComponent {
    /// The properties of the component, of the types that its definition says.
    pub(crate) fn properties(&self, parameters: &[Parameter]) -> Result<Map<String, Value>, Error> {
        flags_2021::properties(&format!("the type {}", self.type_), &self.flags, parameters)
    }
}

/// A component with its values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Component {
    pub(crate) name: String,
    pub(crate) type_: String,
    pub(crate) properties: Map<String, Value>,
    /// Those that it gets.
    pub(crate) traits: Vec<Value>,
}

impl Component {
    /// The components of an application with this one, over the one of its name. What the body does not name stays as it is:
    /// other traits, and what a component has beside them.
    pub(crate) fn among(&self, application: &Value) -> Value {
        let mut all = application["spec"]["components"].as_array().cloned().unwrap_or_default();
        match all.iter_mut().find(|one| one["name"] == self.name.as_str()) {
            Some(former) => self.over(former),
            None => {
                let mut new = json!({});
                self.over(&mut new);
                all.push(new);
            }
        }
        Value::Array(all)
    }

    fn over(&self, component: &mut Value) {
        component["name"] = json!(self.name);
        component["type"] = json!(self.type_);
        let mut traits = component["traits"].as_array().cloned().unwrap_or_default();
        for new in &self.traits {
            match traits.iter_mut().find(|one| one["type"] == new["type"]) {
                Some(former) => *former = new.clone(),
                None => traits.push(new.clone()),
            }
        }
        let Some(fields) = component.as_object_mut() else { return };
        let mut set = |field: &str, value: Value, is_empty: bool| match is_empty {
            true => drop(fields.remove(field)),
            false => drop(fields.insert(field.to_owned(), value)),
        };
        set("properties", Value::Object(self.properties.clone()), self.properties.is_empty());
        let is_empty = traits.is_empty();
        set("traits", Value::Array(traits), is_empty);
    }
}

/// An application of one component.
pub(crate) fn application(namespace: &str, name: &str, component: &Component) -> Value {
    json!({
        "apiVersion": "core.oam.dev/v1beta1",
        "kind": "Application",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"components": component.among(&Value::Null)},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(text: &str) -> WorkloadBody {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_component_alone_names_its_application() {
        let text = "{\"envName\": \"e\", \"workloadName\": \"web\", \"workloadType\": \"webservice\"}";
        let place = |app: &str| Place { env: "e".into(), app: app.into(), component: "web".into() };
        assert_eq!(body(text).placed().unwrap().place, place("web"));
        let named = text.replace("\"e\",", "\"e\", \"appName\": \"shop\",");
        assert_eq!(body(&named).placed().unwrap().place, place("shop"));
        assert_eq!(body(&named).at(place("shop")).unwrap().type_, "webservice");
        for (from, to, words) in [
            ("\"e\"", "\"\"", "envName: \"\""),
            ("\"web\"", "\"Web\"", "workloadName: \"Web\""),
            ("\"webservice\"", "\"../a\"", "workloadType: \"../a\""),
            ("\"e\"", "\"e\", \"appName\": \"a/b\"", "appName: \"a/b\""),
            ("\"e\"", "\"e\", \"staging\": true", "staging: "),
            (
                "\"e\"",
                "\"e\", \"traits\": [{\"name\": \"a\"}, {\"name\": \"b\", \"appName\": \"c\"}]",
                "traits[1].appName",
            ),
        ] {
            let said = body(&text.replacen(from, to, 1)).placed().unwrap_err().to_string();
            assert!(said.starts_with(words), "{said}");
        }
        let other = body(&named).at(place("store")).unwrap_err().to_string();
        assert!(other.starts_with("appName: the body says \"shop\" and the path \"store\""), "{other}");
    }

    #[test]
    fn what_the_body_does_not_name_stays() {
        let component = |name: &str, traits: Vec<Value>| Component {
            name: name.to_owned(),
            type_: "worker".to_owned(),
            properties: Map::from_iter([("image".to_owned(), json!("b"))]),
            traits,
        };
        let stored = json!({"spec": {"components": [
            {"name": "web", "type": "webservice", "properties": {"image": "a", "port": 1}, "dependsOn": ["db"],
                "traits": [{"type": "scaler", "properties": {"replicas": 1}}, {"type": "other"}]},
            {"name": "db", "type": "worker"}]}});
        let scaler = json!({"type": "scaler", "properties": {"replicas": 2}});
        let after = component("web", vec![scaler.clone()]).among(&stored);
        let expected = json!({"name": "web", "type": "worker", "properties": {"image": "b"}, "dependsOn": ["db"],
            "traits": [scaler, {"type": "other"}]});
        assert_eq!(after, json!([expected, {"name": "db", "type": "worker"}]));
        let new = json!({"name": "new", "type": "worker", "properties": {"image": "b"}});
        let after = component("new", vec![]).among(&stored);
        assert_eq!((after.as_array().unwrap().len(), &after[2]), (3, &new));
        assert_eq!(application("ns", "app", &component("new", vec![]))["spec"]["components"], json!([new]));
    }
}
