//! Conversion of Applications between v1alpha2 and v1beta1, on plain JSON so that nothing is lost.
//!
//! What the other version cannot say stands in an annotation until the object comes back: in which form its author
//! wrote it, places that were written in the other version's spelling all the same, and lists that were not there.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::annotations::CONVERSION;

/// API version of the old spelling.
const V1ALPHA2: &str = "core.oam.dev/v1alpha2";
/// API version of the new spelling.
const V1BETA1: &str = "core.oam.dev/v1beta1";

/// Why an object could not be converted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConvertError {
    /// The object is something else.
    #[error(
        "unsupported type {api_version:?} {kind:?}: expected core.oam.dev/v1alpha2 or core.oam.dev/v1beta1 Application"
    )]
    UnsupportedType {
        /// API version found.
        api_version: String,
        /// Kind found.
        kind: String,
    },
    /// The version to convert to is unknown.
    #[error(
        "unsupported version {0:?} of Application: expected core.oam.dev/v1alpha2 or core.oam.dev/v1beta1"
    )]
    UnsupportedVersion(String),
}

/// What the other version cannot say. Places are indices of components and traits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Record {
    /// API version of the form the author wrote, where the spelling tells another one.
    #[serde(skip_serializing_if = "String::is_empty")]
    written: String,
    /// Components that have the spelling of the version the object was converted to.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    components: BTreeSet<usize>,
    /// Traits of which the same is true.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    traits: BTreeSet<(usize, usize)>,
    /// Components without a list of traits.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    without_traits: BTreeSet<usize>,
    /// Components without a map of scopes.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    without_scopes: BTreeSet<usize>,
    /// The object had no annotations at all.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    bare: bool,
}

/// A key in the spelling of one version and in that of another.
type Pair = (&'static str, &'static str);

/// Keys of components and traits that differ.
struct Spelling {
    component: Pair,
    of_trait: Pair,
}

const TO_NEW: Spelling = Spelling { component: ("settings", "properties"), of_trait: ("name", "type") };
const TO_OLD: Spelling = Spelling { component: ("properties", "settings"), of_trait: ("type", "name") };

/// Whether the Application was written in the v1alpha2 form.
///
/// What a conversion recorded decides, then the spelling where there is one (`settings`, or a trait's `name`); an
/// Application without either is of the form its `apiVersion` says.
pub fn is_v1alpha2_form(application: &Value) -> bool {
    match record(application).map(|record| record.written).as_deref() {
        Some(V1ALPHA2) => true,
        Some(V1BETA1) => false,
        _ => is_spelled_as_v1alpha2(application),
    }
}

fn is_spelled_as_v1alpha2(application: &Value) -> bool {
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

/// The Application in another version. Whatever has the shape of one is converted, also with mistakes in it: a stored
/// object that could not be converted could be neither read nor mended.
///
/// # Errors
/// It is no Application, or there is no such version.
pub fn convert(mut application: Value, version: &str) -> Result<Value, ConvertError> {
    let api_version = application["apiVersion"].as_str().unwrap_or_default();
    let kind = application["kind"].as_str().unwrap_or_default();
    if kind != "Application" || (api_version != V1ALPHA2 && api_version != V1BETA1) {
        return Err(ConvertError::UnsupportedType {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
        });
    }
    let spelling = match version {
        V1ALPHA2 => &TO_OLD,
        V1BETA1 => &TO_NEW,
        _ => return Err(ConvertError::UnsupportedVersion(version.to_owned())),
    };
    if api_version == version {
        return Ok(application);
    }
    let written = if is_v1alpha2_form(&application) { V1ALPHA2 } else { V1BETA1 };
    let former = record(&application);
    application["apiVersion"] = json!(version);
    let mut new = respell(&mut application, spelling, former.as_ref());
    if former.is_none() {
        fill(&mut application, &mut new);
    }
    let bare = former.as_ref().is_some_and(|record| record.bare);
    remove_record(&mut application, bare);
    if is_spelled_as_v1alpha2(&application) != (written == V1ALPHA2) {
        new.written = written.to_owned();
    }
    write_record(&mut application, new);
    Ok(application)
}

/// The Application as its author wrote it, as far as a conversion changed the form: who reads it goes by the spelling.
pub fn as_written(mut application: Value) -> Value {
    if application["kind"] != "Application" {
        return application;
    }
    let Some(record) = record(&application) else { return application };
    let spelling = match record.written.as_str() {
        V1ALPHA2 => &TO_OLD,
        V1BETA1 => &TO_NEW,
        _ => return application,
    };
    respell(&mut application, spelling, Some(&record));
    remove_record(&mut application, record.bare);
    application
}

/// Writes every place in another spelling, but those that had it from the begin; they are told.
fn respell(application: &mut Value, spelling: &Spelling, former: Option<&Record>) -> Record {
    let mut found = Record::default();
    let components = application.pointer_mut("/spec/components").and_then(Value::as_array_mut);
    for (i, component) in components.into_iter().flatten().enumerate() {
        let Some(component) = component.as_object_mut() else { continue };
        let kept = former.is_some_and(|record| record.components.contains(&i));
        if !kept && !rename(component, spelling.component) {
            found.components.insert(i);
        }
        let traits = component.get_mut("traits").and_then(Value::as_array_mut);
        for (j, one) in traits.into_iter().flatten().enumerate() {
            let Some(one) = one.as_object_mut() else { continue };
            let kept = former.is_some_and(|record| record.traits.contains(&(i, j)));
            if !kept && !rename(one, spelling.of_trait) {
                found.traits.insert((i, j));
            }
        }
        let Some(former) = former else { continue };
        for (without, field) in [(&former.without_traits, "traits"), (&former.without_scopes, "scopes")] {
            let is_empty =
                component.get(field).is_some_and(|value| *value == json!([]) || *value == json!({}));
            if without.contains(&i) && is_empty {
                component.remove(field);
            }
        }
    }
    found
}

/// A converted component says that it has no traits and scopes, as clients of the other version expect it.
fn fill(application: &mut Value, record: &mut Record) {
    let components = application.pointer_mut("/spec/components").and_then(Value::as_array_mut);
    for (i, component) in components.into_iter().flatten().enumerate() {
        let Some(component) = component.as_object_mut() else { continue };
        if !component.contains_key("traits") {
            component.insert("traits".to_owned(), json!([]));
            record.without_traits.insert(i);
        }
        if !component.contains_key("scopes") {
            component.insert("scopes".to_owned(), json!({}));
            record.without_scopes.insert(i);
        }
    }
}

/// False where the place has the other spelling already, perhaps beside this one: then it stays as it is.
fn rename(object: &mut Map<String, Value>, (from, to): Pair) -> bool {
    if object.contains_key(to) {
        return false;
    }
    if let Some(value) = object.remove(from) {
        object.insert(to.to_owned(), value);
    }
    true
}

fn record(application: &Value) -> Option<Record> {
    serde_json::from_str(application["metadata"]["annotations"][CONVERSION].as_str()?).ok()
}

fn remove_record(application: &mut Value, bare: bool) {
    let Some(metadata) = application.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) else { return };
    annotations.remove(CONVERSION);
    if bare && annotations.is_empty() {
        metadata.remove("annotations");
    }
}

fn write_record(application: &mut Value, mut record: Record) {
    if record == Record::default() {
        return;
    }
    let Some(object) = application.as_object_mut() else { return };
    let metadata = object.entry("metadata").or_insert_with(|| json!({}));
    let Some(metadata) = metadata.as_object_mut() else { return };
    record.bare = !metadata.contains_key("annotations");
    let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
    if let Some(annotations) = annotations.as_object_mut() {
        annotations.insert(CONVERSION.to_owned(), json!(json!(record).to_string()));
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
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
            }, {"name": "bare", "type": "worker"}], "rolloutPlan": {"paused": true}},
            "status": {"status": "running"}
        })
    }

    #[test]
    fn converts_and_comes_back() {
        let new = convert(old(), V1BETA1).unwrap();
        assert_eq!(new["apiVersion"], V1BETA1);
        let component = &new["spec"]["components"][0];
        assert_eq!(component["properties"], json!({"image": "nginx", "name": "kept"}));
        assert_eq!(component["traits"][0], json!({"type": "scaler", "properties": {"type": "kept"}}));
        assert_eq!(convert(new, V1ALPHA2).unwrap(), old());
    }

    #[test]
    fn fills_absent_traits_and_scopes() {
        let component = &convert(old(), V1BETA1).unwrap()["spec"]["components"][1];
        assert_eq!(component["traits"], json!([]));
        assert_eq!(component["scopes"], json!({}));
    }

    #[test]
    fn what_a_person_added_on_the_way_stays() {
        let mut new = convert(old(), V1BETA1).unwrap();
        new["spec"]["components"][1]["traits"] = json!([{"type": "scaler"}]);
        new["spec"]["components"][1]["properties"] = json!({"cmd": []});
        new["metadata"]["annotations"]["mine"] = json!("1");
        let back = convert(new, V1ALPHA2).unwrap();
        let component = &back["spec"]["components"][1];
        assert_eq!(component["traits"], json!([{"name": "scaler"}]));
        assert_eq!(component["settings"], json!({"cmd": []}));
        assert_eq!(back["metadata"]["annotations"], json!({"mine": "1"}));
    }

    #[test]
    fn the_form_that_was_written_survives() {
        assert!(is_v1alpha2_form(&old()));
        let stored = convert(old(), V1BETA1).unwrap();
        assert!(is_v1alpha2_form(&stored));
        let read = as_written(stored);
        assert_eq!(read["spec"]["components"], old()["spec"]["components"]);
        assert_eq!((&read["apiVersion"], &read["metadata"]), (&json!(V1BETA1), &old()["metadata"]));
        let new = json!({"apiVersion": V1BETA1, "kind": "Application", "metadata": {"name": "n"},
            "spec": {"components": [{"name": "web", "type": "webservice", "properties": {}}]}});
        let shown = convert(new.clone(), V1ALPHA2).unwrap();
        assert!(shown["spec"]["components"][0].get("settings").is_some());
        assert!(!is_v1alpha2_form(&shown));
        assert_eq!(convert(shown, V1BETA1).unwrap(), new);
    }

    #[test]
    fn a_stored_object_in_the_other_spelling_stays_as_it_is() {
        let mut stored = old();
        stored["apiVersion"] = json!(V1BETA1);
        assert!(is_v1alpha2_form(&stored));
        let shown = convert(stored.clone(), V1ALPHA2).unwrap();
        assert!(shown["spec"]["components"][0].get("settings").is_some());
        assert_eq!(convert(shown, V1BETA1).unwrap(), stored);
    }

    #[test]
    fn mistakes_are_no_reason_to_fail() {
        for spec in [
            json!(null),
            json!(3),
            json!({"components": 3}),
            json!({"components": [3, null, {"traits": {}}]}),
        ] {
            let object = json!({"apiVersion": V1BETA1, "kind": "Application", "metadata": {"name": "a"}, "spec": spec});
            let there = convert(object.clone(), V1ALPHA2).unwrap();
            assert_eq!(convert(there, V1BETA1).unwrap(), object);
        }
        let mut both = old();
        both["spec"]["components"][0]["properties"] = json!({});
        let there = convert(both.clone(), V1BETA1).unwrap();
        assert_eq!(convert(there, V1ALPHA2).unwrap(), both);
    }

    #[test]
    fn other_types_and_versions_are_refused() {
        let error = convert(json!({"apiVersion": "v1", "kind": "Pod"}), V1BETA1).unwrap_err();
        assert!(error.to_string().contains("\"v1\" \"Pod\""), "{error}");
        let error = convert(old(), "core.oam.dev/v2").unwrap_err();
        assert!(error.to_string().contains("core.oam.dev/v2"), "{error}");
        assert!(convert(Value::Null, V1BETA1).is_err());
    }
}
