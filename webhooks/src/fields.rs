//! Validates the parts of an object that every kind has.

use serde_json::Value;
use vela_engine::names::{NAME_AT_MOST, is_subdomain};

use crate::verdict::Cause;

/// The errors in the metadata of an object in a namespace.
pub(crate) fn metadata(object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let metadata = &object["metadata"];
    if !metadata.is_object() {
        return vec![Cause::required("metadata", "an object needs metadata with a name")];
    }
    match metadata["name"].as_str().unwrap_or_default() {
        // The API server makes the name later.
        "" if metadata["generateName"].as_str().is_some_and(|prefix| !prefix.is_empty()) => {}
        "" => causes.push(Cause::required("metadata.name", "name or generateName is required")),
        name if !is_subdomain(name) => causes.push(Cause::invalid(
            "metadata.name",
            format!(
                "{name:?} is no DNS-1123 subdomain: write at most {NAME_AT_MOST} lower case letters, digits, '-' or '.', with a letter or digit at both ends"
            ),
        )),
        _ => {}
    }
    for field in ["labels", "annotations"] {
        let texts = metadata[field].as_object().into_iter().flatten().filter(|(_, value)| !value.is_string());
        for (key, _) in texts {
            causes.push(Cause::invalid(format!("metadata.{field}[{key:?}]"), "expected a string"));
        }
        if !metadata[field].is_null() && !metadata[field].is_object() {
            causes.push(Cause::invalid(format!("metadata.{field}"), "expected a map of strings"));
        }
    }
    causes
}
