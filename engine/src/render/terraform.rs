//! Builds the Configuration object for a terraform schematic; the terraform controller carries it out.

use serde_json::{Map, Value as Json, json};

/// Fields of a Configuration that a definition may preset and parameters may set; every other parameter is a variable.
const SETTINGS: [&str; 7] = [
    "writeConnectionSecretToRef",
    "providerRef",
    "deleteResource",
    "forceDelete",
    "customRegion",
    "inlineCredentials",
    "gitCredentialsSecretReference",
];

/// Makes the object; fails with what is wrong with the schematic.
///
/// `annotations` are those of the definition: tools find the console's address and the like in them.
pub(super) fn render(
    schematic: &Json,
    annotations: Option<&Json>,
    parameter: &Json,
    namespace: &str,
) -> Result<Json, String> {
    let text = |key: &str| schematic.get(key).and_then(Json::as_str).unwrap_or("");
    let configuration = text("configuration");
    if configuration.is_empty() {
        return Err("schematic.terraform.configuration must say what to carry out".to_owned());
    }
    let mut spec = Map::new();
    spec.insert("gitRef".to_owned(), json!({}));
    match text("type") {
        "" | "hcl" => {
            spec.insert("hcl".to_owned(), json!(configuration));
        }
        "remote" => {
            spec.insert("remote".to_owned(), json!(configuration));
            if !text("path").is_empty() {
                spec.insert("path".to_owned(), json!(text("path")));
            }
        }
        other => return Err(format!("schematic.terraform.type is {other:?}; it must be hcl or remote")),
    }
    let mut variables = parameter.as_object().cloned().unwrap_or_default();
    for setting in SETTINGS {
        let given = variables.remove(setting);
        if let Some(value) =
            given.or_else(|| schematic.get(setting).cloned()).filter(|value| !value.is_null())
        {
            spec.insert(setting.to_owned(), value);
        }
    }
    if let Some(secret) = spec.get_mut("writeConnectionSecretToRef").and_then(Json::as_object_mut) {
        if secret.get("name").and_then(Json::as_str).is_none_or(str::is_empty) {
            return Err("writeConnectionSecretToRef must have a name".to_owned());
        }
        secret.entry("namespace").or_insert_with(|| json!(namespace));
    }
    spec.insert("variable".to_owned(), Json::Object(variables));
    Ok(json!({
        "apiVersion": "terraform.core.oam.dev/v1beta2",
        "kind": "Configuration",
        "metadata": {
            "annotations": annotations.cloned().unwrap_or_else(|| json!({})),
            "creationTimestamp": null,
        },
        "spec": spec,
        "status": {"apply": {}, "destroy": {}},
    }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::render;

    #[test]
    fn settings_and_variables_are_parted() {
        let schematic = json!({"configuration": "https://example.com/m.git", "type": "remote", "path": "vpc",
            "providerRef": {"name": "default"}, "deleteResource": false});
        let parameter = json!({"cidr": "10.0.0.0/8", "providerRef": {"name": "own"},
            "writeConnectionSecretToRef": {"name": "conn"}});
        let made = render(&schematic, Some(&json!({"a": "b"})), &parameter, "shop").unwrap();
        let spec = json!({
            "gitRef": {}, "remote": "https://example.com/m.git", "path": "vpc", "deleteResource": false,
            "providerRef": {"name": "own"}, "variable": {"cidr": "10.0.0.0/8"},
            "writeConnectionSecretToRef": {"name": "conn", "namespace": "shop"},
        });
        assert_eq!(made["spec"], spec);
        assert_eq!(made["metadata"]["annotations"], json!({"a": "b"}));
        let inline = render(&json!({"configuration": "output x {}"}), None, &json!(null), "shop").unwrap();
        assert_eq!(inline["spec"], json!({"gitRef": {}, "hcl": "output x {}", "variable": {}}));
        assert!(render(&json!({"configuration": "x", "type": "json"}), None, &json!({}), "shop").is_err());
        assert!(render(&json!({}), None, &json!({}), "shop").is_err());
        let nameless = json!({"writeConnectionSecretToRef": {"namespace": "shop"}});
        assert!(render(&json!({"configuration": "x"}), None, &nameless, "shop").is_err());
    }
}
