//! CustomResourceDefinition from v1beta1 to v1: everything stands below its version, and there must be a schema.

use serde_json::{Value as Json, json};

use super::fields::{Fields, rename, spec};

/// A schema nested deeper than the API server itself takes is left as it is, for the server to refuse.
const DEEPEST: usize = 64;

const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";

pub(super) fn rewrite(object: &mut Fields) {
    let Some(spec) = spec(object) else { return };
    // v1beta1 pruned nothing unless it said so.
    let prunes = spec.remove("preserveUnknownFields") == Some(json!(false));
    let mut common = Fields::new();
    for (old, new) in [
        ("validation", "schema"),
        ("subresources", "subresources"),
        ("additionalPrinterColumns", "additionalPrinterColumns"),
    ] {
        common.extend(spec.remove(old).map(|value| (new.to_owned(), value)));
    }
    if let Some(name) = spec.remove("version")
        && spec.get("versions").and_then(Json::as_array).is_none_or(Vec::is_empty)
    {
        spec.insert("versions".to_owned(), json!([{"name": name, "served": true, "storage": true}]));
    }
    let versions = spec.get_mut("versions").and_then(Json::as_array_mut);
    for version in versions.into_iter().flatten().filter_map(Json::as_object_mut) {
        for (name, value) in &common {
            version.entry(name.clone()).or_insert_with(|| value.clone());
        }
        self::version(version, prunes);
    }
    conversion(spec);
}

fn version(fields: &mut Fields, prunes: bool) {
    let columns = fields.get_mut("additionalPrinterColumns").and_then(Json::as_array_mut);
    for column in columns.into_iter().flatten().filter_map(Json::as_object_mut) {
        rename(column, "JSONPath", "jsonPath");
    }
    let schema = fields.entry("schema").or_insert_with(|| json!({}));
    let Some(schema) = schema.as_object_mut() else { return };
    let root = schema.entry("openAPIV3Schema").or_insert_with(|| json!({}));
    let Some(root) = root.as_object_mut() else { return };
    root.entry("type").or_insert_with(|| json!("object"));
    structural(root, prunes, DEEPEST);
    // These three have a schema of their own, to which nothing may be added.
    let properties = root.get_mut("properties").and_then(Json::as_object_mut);
    for own in properties.into_iter().flat_map(|properties| {
        properties.iter_mut().filter(|(name, _)| ["apiVersion", "kind", "metadata"].contains(&name.as_str()))
    }) {
        own.1.as_object_mut().and_then(|fields| fields.remove(PRESERVE));
    }
}

/// A v1 schema says a type everywhere, and says it where fields that it does not name are kept.
fn structural(schema: &mut Fields, prunes: bool, depth: usize) {
    if depth == 0 {
        return;
    }
    let has = |name: &str, schema: &Fields| schema.get(name).is_some_and(Json::is_object);
    if !schema.contains_key("type") && schema.get("x-kubernetes-int-or-string") != Some(&json!(true)) {
        let type_ = match () {
            () if has("properties", schema) || has("additionalProperties", schema) => Some("object"),
            () if has("items", schema) => Some("array"),
            () => None,
        };
        match type_ {
            Some(type_) => schema.insert("type".to_owned(), json!(type_)),
            // Whatever it is, it may stay.
            None => schema.insert(PRESERVE.to_owned(), json!(true)),
        };
    }
    let object = schema.get("type") == Some(&json!("object"));
    if object && !prunes && !has("additionalProperties", schema) {
        schema.insert(PRESERVE.to_owned(), json!(true));
    }
    for below in ["items", "additionalProperties"] {
        if let Some(below) = schema.get_mut(below).and_then(Json::as_object_mut) {
            structural(below, prunes, depth - 1);
        }
    }
    let properties = schema.get_mut("properties").and_then(Json::as_object_mut);
    for property in properties.into_iter().flat_map(|properties| properties.values_mut()) {
        if let Some(property) = property.as_object_mut() {
            structural(property, prunes, depth - 1);
        }
    }
}

/// The address of a conversion webhook moved into a structure.
fn conversion(spec: &mut Fields) {
    let Some(conversion) = spec.get_mut("conversion").and_then(Json::as_object_mut) else { return };
    let mut webhook = Fields::new();
    for (old, new) in
        [("webhookClientConfig", "clientConfig"), ("conversionReviewVersions", "conversionReviewVersions")]
    {
        webhook.extend(conversion.remove(old).map(|value| (new.to_owned(), value)));
    }
    if conversion.get("strategy") == Some(&json!("Webhook")) && !webhook.is_empty() {
        webhook.entry("conversionReviewVersions").or_insert_with(|| json!(["v1beta1"]));
        conversion.insert("webhook".to_owned(), Json::Object(webhook));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use crate::successor::object;

    fn rewritten(spec: &Json) -> Json {
        let old = json!({"apiVersion": "apiextensions.k8s.io/v1beta1", "kind": "CustomResourceDefinition", "spec": spec});
        object(&old).map(|new| new["spec"].clone()).unwrap_or_default()
    }

    #[test]
    fn a_definition_without_schema_keeps_everything() {
        let names = json!({"kind": "Foo", "plural": "foos"});
        let spec = rewritten(
            &json!({"group": "example.com", "names": names, "scope": "Namespaced", "version": "v1"}),
        );
        let expected = json!({"group": "example.com", "names": names, "scope": "Namespaced", "versions": [
            {"name": "v1", "served": true, "storage": true,
             "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}},
        ]});
        assert_eq!(spec, expected);
    }

    #[test]
    fn what_held_for_all_versions_stands_in_each() {
        let spec = rewritten(&json!({
            "versions": [{"name": "v1", "served": true, "storage": true}, {"name": "v2", "served": true, "storage": false}],
            "version": "v1",
            "additionalPrinterColumns": [{"name": "Age", "type": "date", "JSONPath": ".metadata.creationTimestamp"}],
            "subresources": {"status": {}},
            "preserveUnknownFields": false,
            "validation": {"openAPIV3Schema": {"properties": {
                "metadata": {"type": "object"},
                "spec": {"properties": {"list": {"items": {"type": "string"}}, "any": {}, "map": {"additionalProperties": {"type": "string"}}}},
            }}},
        }));
        for version in spec["versions"].as_array().unwrap() {
            assert_eq!(version["additionalPrinterColumns"][0]["jsonPath"], ".metadata.creationTimestamp");
            assert_eq!(version["subresources"], json!({"status": {}}));
            let schema = &version["schema"]["openAPIV3Schema"];
            let expected = json!({"type": "object", "properties": {
                "metadata": {"type": "object"},
                "spec": {"type": "object", "properties": {
                    "list": {"type": "array", "items": {"type": "string"}},
                    "any": {"x-kubernetes-preserve-unknown-fields": true},
                    "map": {"type": "object", "additionalProperties": {"type": "string"}},
                }},
            }});
            assert_eq!(*schema, expected);
        }
        assert!(spec.get("validation").is_none() && spec.get("preserveUnknownFields").is_none());
    }

    #[test]
    fn nothing_is_pruned_that_was_not_pruned_before() {
        let spec = rewritten(
            &json!({"version": "v1", "validation": {"openAPIV3Schema": {"type": "object", "properties": {
                "metadata": {"type": "object"}, "spec": {"type": "object", "properties": {"a": {"type": "string"}}},
            }}}}),
        );
        let schema = &spec["versions"][0]["schema"]["openAPIV3Schema"];
        assert_eq!(schema["x-kubernetes-preserve-unknown-fields"], true);
        assert_eq!(schema["properties"]["spec"]["x-kubernetes-preserve-unknown-fields"], true);
        assert_eq!(schema["properties"]["metadata"], json!({"type": "object"}));
    }

    #[test]
    fn a_conversion_webhook_keeps_its_address() {
        let config = json!({"url": "https://example.com/convert"});
        let spec = rewritten(
            &json!({"version": "v1", "conversion": {"strategy": "Webhook", "webhookClientConfig": config}}),
        );
        let expected = json!({"strategy": "Webhook", "webhook": {"clientConfig": config, "conversionReviewVersions": ["v1beta1"]}});
        assert_eq!(spec["conversion"], expected);
    }
}
