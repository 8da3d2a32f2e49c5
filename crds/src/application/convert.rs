//! Conversion of Applications between v1alpha2 and v1beta1, on plain JSON so that nothing is lost.

use serde_json::{Map, Value, json};

/// API version of the old spelling.
const V1ALPHA2: &str = "core.oam.dev/v1alpha2";
/// API version of the new spelling.
const V1BETA1: &str = "core.oam.dev/v1beta1";

/// Why an object could not be converted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConvertError {
    /// The object is something else.
    #[error("unsupported type {api_version} {kind}: expected core.oam.dev/v1alpha2 or v1beta1 Application")]
    UnsupportedType {
        /// API version found.
        api_version: String,
        /// Kind found.
        kind: String,
    },
    /// One place is spelled both ways.
    #[error("{path}: has both `{old}` (v1alpha2) and `{new}` (v1beta1); keep one of them")]
    BothSpellings {
        /// Place in the object.
        path: String,
        /// Key of v1alpha2.
        old: &'static str,
        /// Key of v1beta1.
        new: &'static str,
    },
    /// One place has the wrong shape.
    #[error("{path}: expected {expected}, found {found}")]
    WrongShape {
        /// Place in the object.
        path: String,
        /// What should stand there.
        expected: &'static str,
        /// What stands there.
        found: &'static str,
    },
}

/// Whether the Application was written in the v1alpha2 form.
///
/// The spelling decides where there is one (`settings`, or a trait's `name`); an Application
/// without either is of the form its `apiVersion` says.
pub fn is_v1alpha2_form(application: &Value) -> bool {
    let mut new_spelling = false;
    for component in list(&application["spec"]["components"]) {
        if component.get("settings").is_some() {
            return true;
        }
        new_spelling |= component.get("properties").is_some();
        for one in list(&component["traits"]) {
            if one.get("name").is_some() {
                return true;
            }
            new_spelling |= one.get("type").is_some();
        }
    }
    !new_spelling && application["apiVersion"] == V1ALPHA2
}

/// The Application in the spelling of v1beta1.
pub fn to_v1beta1(application: Value) -> Result<Value, ConvertError> {
    convert(application, V1BETA1, ("settings", "properties"), ("name", "type"))
}

/// The Application in the spelling of v1alpha2.
pub fn to_v1alpha2(application: Value) -> Result<Value, ConvertError> {
    convert(application, V1ALPHA2, ("properties", "settings"), ("type", "name"))
}

fn convert(
    mut application: Value,
    target: &str,
    component_keys: (&'static str, &'static str),
    trait_keys: (&'static str, &'static str),
) -> Result<Value, ConvertError> {
    let api_version = application["apiVersion"].as_str().unwrap_or_default();
    let kind = application["kind"].as_str().unwrap_or_default();
    if kind != "Application" || (api_version != V1ALPHA2 && api_version != V1BETA1) {
        return Err(ConvertError::UnsupportedType {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
        });
    }
    application["apiVersion"] = json!(target);
    let Some(components) = application.pointer_mut("/spec/components") else {
        return Ok(application);
    };
    for (i, component) in array(components, "spec.components")?.iter_mut().enumerate() {
        let path = format!("spec.components[{i}]");
        let component = object(component, &path)?;
        rename(component, component_keys, &path)?;
        // A converted component always says that it has no traits and scopes, so that both
        // versions of an object compare equal after a round trip.
        component.entry("scopes").or_insert_with(|| json!({}));
        let traits = component.entry("traits").or_insert_with(|| json!([]));
        let traits_path = format!("{path}.traits");
        for (j, one) in array(traits, &traits_path)?.iter_mut().enumerate() {
            let path = format!("{traits_path}[{j}]");
            rename(object(one, &path)?, trait_keys, &path)?;
        }
    }
    Ok(application)
}

fn rename(
    object: &mut Map<String, Value>,
    (from, to): (&'static str, &'static str),
    path: &str,
) -> Result<(), ConvertError> {
    let Some(value) = object.remove(from) else { return Ok(()) };
    if object.contains_key(to) {
        let (old, new) = match from {
            "settings" | "name" => (from, to),
            _ => (to, from),
        };
        return Err(ConvertError::BothSpellings { path: path.to_owned(), old, new });
    }
    object.insert(to.to_owned(), value);
    Ok(())
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn array<'a>(value: &'a mut Value, path: &str) -> Result<&'a mut Vec<Value>, ConvertError> {
    if value.is_null() {
        *value = json!([]);
    }
    let found = shape(value);
    value.as_array_mut().ok_or_else(|| ConvertError::WrongShape {
        path: path.to_owned(),
        expected: "a list",
        found,
    })
}

fn object<'a>(value: &'a mut Value, path: &str) -> Result<&'a mut Map<String, Value>, ConvertError> {
    let found = shape(value);
    value.as_object_mut().ok_or_else(|| ConvertError::WrongShape {
        path: path.to_owned(),
        expected: "a map",
        found,
    })
}

fn shape(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a map",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn old() -> Value {
        json!({
            "apiVersion": V1ALPHA2, "kind": "Application", "metadata": {"name": "a", "labels": {"x": "y"}},
            "spec": {"components": [{
                "name": "web", "type": "webservice", "settings": {"image": "nginx", "name": "kept"},
                "traits": [{"name": "scaler", "properties": {"type": "kept"}}],
                "scopes": {"healthscopes.core.oam.dev": "h"}
            }], "rolloutPlan": {"paused": true}},
            "status": {"status": "running"}
        })
    }

    #[test]
    fn converts_and_comes_back() {
        let new = to_v1beta1(old()).unwrap();
        assert_eq!(new["apiVersion"], V1BETA1);
        let component = &new["spec"]["components"][0];
        assert_eq!(component["properties"], json!({"image": "nginx", "name": "kept"}));
        assert_eq!(component["traits"][0], json!({"type": "scaler", "properties": {"type": "kept"}}));
        assert_eq!(to_v1alpha2(new).unwrap(), old());
    }

    #[test]
    fn fills_absent_traits_and_scopes() {
        let app = json!({"apiVersion": V1ALPHA2, "kind": "Application",
            "spec": {"components": [{"name": "web", "type": "webservice", "settings": {}}]}});
        let component = &to_v1beta1(app).unwrap()["spec"]["components"][0];
        assert_eq!(component["traits"], json!([]));
        assert_eq!(component["scopes"], json!({}));
    }

    #[test]
    fn tells_the_form() {
        assert!(is_v1alpha2_form(&old()));
        let mut stored = old();
        stored["apiVersion"] = json!(V1BETA1);
        assert!(is_v1alpha2_form(&stored));
        assert!(!is_v1alpha2_form(&to_v1beta1(old()).unwrap()));
    }

    #[test]
    fn refuses_other_types_and_double_spelling() {
        let error = to_v1beta1(json!({"apiVersion": "v1", "kind": "Pod"})).unwrap_err();
        assert!(error.to_string().contains("v1 Pod"), "{error}");
        let mut both = old();
        both["spec"]["components"][0]["properties"] = json!({});
        let error = to_v1beta1(both).unwrap_err();
        assert!(error.to_string().starts_with("spec.components[0]: has both"), "{error}");
        let wrong = json!({"apiVersion": V1BETA1, "kind": "Application", "spec": {"components": [3]}});
        let error = to_v1beta1(wrong).unwrap_err();
        assert_eq!(error.to_string(), "spec.components[0]: expected a map, found a number");
    }
}
