//! The objects that a cluster needs before it understands applications: our kinds, namespaces, definitions.

use serde_json::{Value, json};

/// Our kinds, as people apply them.
///
/// # Errors
///
/// The text of a kind cannot be read; a test of the kinds proves that it can.
pub fn kinds() -> Result<Vec<Value>, String> {
    vela_crds::crd_values().map_err(|error| error.to_string())
}

/// A namespace.
#[must_use]
pub fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

/// A component type whose workload is of this kind, from a handlebars template: rendering it costs next to nothing.
#[must_use]
pub fn component_definition(
    namespace: &str,
    name: &str,
    (api_version, kind): (&str, &str),
    template: &str,
) -> Value {
    json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": "ComponentDefinition",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "workload": {"definition": {"apiVersion": api_version, "kind": kind}},
            "schematic": {"handlebars": {"template": template}},
        },
    })
}
