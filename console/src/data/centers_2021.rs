//! Capability centers as the REST API of early 2021 sends and lists them. Reads and writes nothing.

use kube::api::DynamicObject;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use vela_engine::{DefinitionKind, names};

use crate::commands::{NewCenter, Offer};
use crate::data::api_2021;
use crate::error::Error;

/// A capability center that shall be.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CenterBody {
    /// Its name; one of this name is replaced.
    #[schemars(length(min = 1, max = 63))]
    name: String,
    /// Where its definitions lie, as `vela cap center config` takes it.
    address: String,
    /// What the server of the address is shown; empty for nothing.
    #[serde(default)]
    token: String,
}

impl CenterBody {
    /// The center, if it can have this name.
    pub(crate) fn wanted(self) -> Result<NewCenter, Error> {
        let Self { name, address, token } = self;
        if !names::is_label(&name) {
            let name: String = name.chars().take(100).collect();
            return Err(Error::Invalid(format!(
                "name: {name:?} cannot be a center: write lower-case letters, digits and inner '-', at most 63 of them"
            )));
        }
        if address.is_empty() {
            return Err(Error::Invalid("address: it is empty; give where definitions lie".to_owned()));
        }
        Ok(NewCenter { name, address, token: Some(token).filter(|token| !token.is_empty()) })
    }
}

/// What centers have of these kinds, and is not installed.
pub(crate) fn offered(installed: &[Value], offers: Vec<Offer>, kinds: &[DefinitionKind]) -> Vec<Value> {
    let mut found = Vec::new();
    for Offer { center, definition } in offers {
        let kind = definition["kind"].as_str().and_then(DefinitionKind::from_kind);
        let (Some(kind), Ok(object)) = (kind, serde_json::from_value::<DynamicObject>(definition)) else {
            continue;
        };
        let mut shown = api_2021::shown(kind, &object);
        let is_there = |one: &Value| one["name"] == shown["name"] && one["type"] == shown["type"];
        if kinds.contains(&kind) && !installed.iter().any(is_there) {
            shown["center"] = json!(center);
            shown["status"] = json!("uninstalled");
            found.push(shown);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_installed_is_not_offered() {
        let offer = |kind: &str, name: &str| Offer {
            center: "team".to_owned(),
            definition: json!({"apiVersion": "core.oam.dev/v1beta1", "kind": kind, "metadata": {"name": name}, "spec": {}}),
        };
        let installed = [json!({"name": "page", "type": "componentType"})];
        let offers = vec![
            offer("ComponentDefinition", "page"),
            offer("TraitDefinition", "page"),
            offer("PolicyDefinition", "other"),
            offer("Nothing", "other"),
        ];
        let found = offered(&installed, offers, &[DefinitionKind::Component, DefinitionKind::Trait]);
        let [one] = &found[..] else { panic!("{found:?}") };
        assert_eq!((&one["type"], &one["center"]), (&json!("trait"), &json!("team")));
        assert_eq!(one["status"], "uninstalled");
    }

    #[test]
    fn a_center_has_a_name_and_an_address() {
        let of = |text: &str| serde_json::from_str::<CenterBody>(text).unwrap().wanted();
        let wanted = of("{\"name\": \"team\", \"address\": \"a\", \"token\": \"\"}").ok().unwrap();
        assert!(wanted.token.is_none());
        for (text, words) in [
            ("{\"name\": \"../a\", \"address\": \"a\"}", "name: \"../a\""),
            ("{\"name\": \"a\", \"address\": \"\"}", "address"),
        ] {
            let said = of(text).err().unwrap().to_string();
            assert!(said.contains(words), "{said}");
        }
    }
}
