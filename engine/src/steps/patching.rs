//! Patches CUE values as `StrategyUnify` and `PatchK8sObject` do, and objects that are read later, for which a patch is kept as
//! data: what its comments ask for stands beside each of its fields.

use serde_json::{Map, Value as Json, json};
use vela_cue::Value;

use crate::render::cue::{Use, markers, tree};
use crate::render::patch::{self, Field, Markers, Tree};

const TOO_DEEP: &str = "it is nested too deeply";

/// The value with the patch applied as the patch's comments ask for.
pub(super) fn patched(value: &Value, change: &Value) -> Result<Json, String> {
    let base = tree(value, Use::Object, 0).ok_or(TOO_DEEP)?;
    let with = tree(change, Use::Patch, 0).ok_or(TOO_DEEP)?;
    apply(&base, &with, &markers(change))
}

fn apply(base: &Tree, with: &Tree, markers: &Markers) -> Result<Json, String> {
    let made = patch::patch(base, with, markers).map_err(|conflict| conflict.to_string())?;
    made.finish().map_err(|open| {
        let open: Vec<String> = open.iter().map(ToString::to_string).collect();
        open.join("; ")
    })
}

/// A patch as data.
pub(super) fn encoded(change: &Value) -> Option<Json> {
    let with = tree(change, Use::Patch, 0)?;
    Some(encoded_field("", &with, &markers(change)))
}

/// An object as a patch that is data changes it.
///
/// # Errors
/// Where the two conflict.
pub fn patched_object(object: &Json, change: &Json) -> Result<Json, String> {
    let Field { value, markers, .. } = decoded_field(change);
    apply(&Tree::from(object), &value, &markers)
}

/// The tree is not deeper than it was allowed to be read.
fn encoded_field(name: &str, value: &Tree, markers: &Markers) -> Json {
    let value = match value {
        Tree::Scalar(value) => json!({"scalar": value}),
        Tree::Struct(fields) => {
            let fields = fields.iter().map(|field| encoded_field(&field.name, &field.value, &field.markers));
            json!({"fields": fields.collect::<Json>()})
        }
        Tree::List(items) => json!({"list": encoded_items(items)}),
        Tree::OpenList(items, _) => json!({"open": encoded_items(items)}),
        // A call without a value yet asks for nothing.
        Tree::Open(constraint) => match constraint.default_value() {
            Some(value) => encoded_field("", &Tree::from(&value), &Markers::default())["value"].clone(),
            None => json!({"fields": []}),
        },
    };
    json!({"name": name, "value": value, "patchKey": markers.patch_key, "strategy": markers.strategy})
}

fn encoded_items(items: &[Tree]) -> Json {
    items.iter().map(|item| encoded_field("", item, &Markers::default())).collect()
}

fn decoded_field(written: &Json) -> Field {
    let text = |field: &str| written[field].as_str().map(str::to_owned);
    let empty = Map::new();
    let value = written["value"].as_object().unwrap_or(&empty);
    let items = |field: &str| {
        let items = value.get(field)?.as_array()?;
        Some(items.iter().map(decoded_field).collect::<Vec<Field>>())
    };
    let values = |items: Vec<Field>| items.into_iter().map(|item| item.value).collect::<Vec<Tree>>();
    let value = if let Some(fields) = items("fields") {
        Tree::Struct(fields)
    } else if let Some(list) = items("list") {
        Tree::List(values(list))
    } else if let Some(list) = items("open") {
        Tree::OpenList(values(list), Vec::new())
    } else {
        Tree::Scalar(value.get("scalar").cloned().unwrap_or_default())
    };
    let markers = Markers { patch_key: text("patchKey"), strategy: text("strategy") };
    Field { name: text("name").unwrap_or_default(), value, markers }
}

#[cfg(test)]
mod tests {
    use vela_cue::{Source, Template};

    use super::*;

    /// The result of a patch on an object, at once and kept as data.
    fn both(patch: &str, object: &Json) -> (Result<Json, String>, Result<Json, String>) {
        let text = format!("value: {object}\npatch: {{\n{patch}\n}}");
        let root = Template::compile(&[Source::new("t", text)]).unwrap().instantiate(&[]).root();
        let change = root.field("patch");
        (patched(&root.field("value"), &change), patched_object(object, &encoded(&change).unwrap()))
    }

    #[test]
    fn a_patch_that_is_data_is_the_same_patch() {
        let object = json!({"spec": {"replicas": 1, "list": [{"name": "a", "x": 1}, {"name": "b", "x": 1}]}});
        for (patch, expected) in [
            ("metadata: labels: a: \"b\"", json!({"metadata": {"labels": {"a": "b"}}})),
            ("spec: {\n// +patchStrategy=retainKeys\nreplicas: 2\n}", json!({"spec": {"replicas": 2}})),
            (
                "spec: {\n// +patchKey=name\nlist: [{name: \"b\", y: 2}, {name: \"c\"}]\n}",
                json!({"spec": {"list": [{"name": "a", "x": 1}, {"name": "b", "x": 1, "y": 2}, {"name": "c"}]}}),
            ),
            ("spec: replicas: *1 | int", json!({"spec": {"replicas": 1}})),
        ] {
            let (at_once, kept) = both(patch, &object);
            let kept = kept.unwrap();
            assert_eq!(at_once.unwrap(), kept, "{patch}");
            for (pointer, value) in
                [("/metadata", &expected["metadata"]), ("/spec/list", &expected["spec"]["list"])]
            {
                if !value.is_null() {
                    assert_eq!(kept.pointer(pointer), Some(value), "{patch}");
                }
            }
            if let Some(replicas) = expected["spec"].get("replicas") {
                assert_eq!(&kept["spec"]["replicas"], replicas, "{patch}");
            }
        }
        let (at_once, kept) = both("spec: replicas: 2", &object);
        assert_eq!(at_once.unwrap_err(), kept.unwrap_err());
    }
}
