//! Fills in what the schemas of goharbor.io say of absent fields, so that a part is written as it is stored.
//!
//! A field that is applied as an empty object may come back without the defaults it was stored with; saying them all leaves
//! nothing to the server.

use std::collections::BTreeMap;

use serde_json::Value;
use vela_crds::GenerateError;

/// The schemas of the stored versions, by kind.
#[derive(Debug)]
pub(crate) struct Defaults(BTreeMap<String, Value>);

impl Defaults {
    /// Those of every kind of goharbor.io.
    ///
    /// # Errors
    /// The kinds cannot be generated.
    pub(crate) fn new() -> Result<Self, GenerateError> {
        let mut schemas = BTreeMap::new();
        for crd in vela_crds::harbor_crds()? {
            let kind = crd.spec.names.kind;
            for version in crd.spec.versions.into_iter().filter(|version| version.storage) {
                let schema = version.schema.and_then(|schema| schema.open_api_v3_schema);
                let schema = serde_json::to_value(schema)
                    .map_err(|source| GenerateError::Schema { crd: kind.clone(), source })?;
                schemas.insert(kind.clone(), schema);
            }
        }
        Ok(Self(schemas))
    }

    /// The settings of a Harbor, as a HarborConfiguration names them.
    pub(crate) fn settings(&self) -> impl Iterator<Item = &str> {
        let schema = self.0.get("HarborConfiguration").and_then(|schema| {
            schema.pointer("/properties/spec/properties/configuration/properties")?.as_object()
        });
        schema.into_iter().flatten().map(|(name, _)| name.as_str())
    }

    /// Completes an object; one of another kind stays as it is.
    pub(crate) fn fill(&self, object: &mut Value) {
        if let Some(schema) = object["kind"].as_str().and_then(|kind| self.0.get(kind)) {
            fill(schema, object);
        }
    }
}

fn fill(schema: &Value, value: &mut Value) {
    if let Some(items) = value.as_array_mut() {
        items.iter_mut().for_each(|item| fill(&schema["items"], item));
        return;
    }
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        if value.is_object() && value[name].is_null() && !field["default"].is_null() {
            value[name] = field["default"].clone();
        }
        if let Some(inner) = value.get_mut(name) {
            fill(field, inner);
        }
    }
}
