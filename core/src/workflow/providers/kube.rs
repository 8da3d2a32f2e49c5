//! `vela/kube`: objects are applied, patched, read, listed and deleted.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use vela_engine::{LOCAL, ObjectKey, steps};

use super::provider::{Asked, Called, Provider, Reach};
use crate::reading::{Selection, is_plain};

/// Objects that one call applies.
const OBJECTS_AT_MOST: usize = 500;
/// Objects that one call deletes by their labels.
const DELETED_AT_MOST: usize = 500;

/// Answers all calls of the package.
pub(super) struct Kube;

impl Provider for Kube {
    const NAMES: &'static [&'static str] = &["kube", "op", "ql"];

    async fn call<R: Reach>(reach: &mut R, asked: &mut Asked<'_>) -> Result<Option<Called>, R::Error> {
        let function = asked.question.function.as_str();
        if !["apply", "apply-in-parallel", "patch", "read", "list", "delete"].contains(&function) {
            return Ok(None);
        }
        let cluster = asked.text("cluster");
        if !["", LOCAL].contains(&cluster) {
            let message = format!("cluster {cluster:?}: other clusters are not supported yet");
            return Ok(Some(asked.broken(message)));
        }
        let called = match function {
            "apply" => apply(reach, asked).await?,
            "apply-in-parallel" => apply_all(reach, asked).await?,
            "patch" => patch(reach, asked).await?,
            "read" => read(reach, asked).await?,
            "list" => list(reach, asked).await?,
            _ => delete(reach, asked).await?,
        };
        Ok(Some(called))
    }
}

async fn apply<R: Reach>(reach: &mut R, asked: &Asked<'_>) -> Result<Called, R::Error> {
    let object = &asked.params()["value"];
    if let Err(message) = check(object, &IDENTITY) {
        return Ok(asked.broken(message));
    }
    Ok(match reach.apply_object(object.clone()).await? {
        Ok(live) => asked.named("value", "value", live),
        Err(why) => Called::failed(why),
    })
}

/// One after the other: an order of their own they have by what they name.
async fn apply_all<R: Reach>(reach: &mut R, asked: &Asked<'_>) -> Result<Called, R::Error> {
    let objects = asked.params()["value"].as_array().cloned().unwrap_or_default();
    if objects.len() > OBJECTS_AT_MOST {
        let message = format!("value: expected at most {OBJECTS_AT_MOST} objects, found {}", objects.len());
        return Ok(asked.broken(message));
    }
    for (at, object) in objects.iter().enumerate() {
        if let Err(message) = check(object, &IDENTITY) {
            return Ok(asked.broken(format!("value[{at}]: {message}")));
        }
    }
    let mut applied = Vec::with_capacity(objects.len());
    for object in objects {
        match reach.apply_object(object).await? {
            Ok(live) => applied.push(live),
            Err(why) => return Ok(Called::failed(why)),
        }
    }
    Ok(asked.named("value", "value", Value::Array(applied)))
}

/// The object has to be there; what the patch does not fit fails the step.
async fn patch<R: Reach>(reach: &mut R, asked: &Asked<'_>) -> Result<Called, R::Error> {
    let object = &asked.params()["value"];
    if let Err(message) = check(object, &IDENTITY) {
        return Ok(asked.broken(message));
    }
    let key = ObjectKey::of(object);
    let live = match reach.read_object(object).await? {
        Ok(Some(live)) => live,
        Ok(None) => return Ok(Called::failed(format!("{key} not found"))),
        Err(why) => return Ok(Called::failed(why)),
    };
    let Some(change) = &asked.question.patch else {
        return Ok(asked.broken("patch: expected a struct"));
    };
    Ok(match steps::patched(&live, change) {
        Ok(wanted) => match reach.change_object(&live, wanted).await? {
            Ok(changed) => asked.named("result", "result", changed),
            Err(why) => Called::failed(why),
        },
        Err(why) => Called::failed(format!("{key}: {why}")),
    })
}

/// A failed read is an answer: the step decides its meaning.
async fn read<R: Reach>(reach: &mut R, asked: &Asked<'_>) -> Result<Called, R::Error> {
    let object = &asked.params()["value"];
    if let Err(message) = check(object, &IDENTITY) {
        return Ok(asked.broken(message));
    }
    Ok(match reach.read_object(object).await? {
        Ok(Some(live)) => asked.named("value", "value", live),
        Ok(None) => asked.named("err", "err", json!(format!("{} not found", ObjectKey::of(object)))),
        Err(why) => asked.named("err", "err", json!(why)),
    })
}

async fn list<R: Reach>(reach: &mut R, asked: &Asked<'_>) -> Result<Called, R::Error> {
    // Upstream reads the kind from `value`, and declares it as `resource`.
    let declared = &asked.params()["resource"];
    let resource = if declared.is_object() { declared } else { &asked.params()["value"] };
    let selection = match selection(resource, &asked.params()["filter"]) {
        Ok(selection) => selection,
        Err(message) => return Ok(asked.broken(message)),
    };
    Ok(match reach.list_objects(&selection).await? {
        Ok(items) => {
            let Selection { api_version, kind, .. } = selection;
            let list = json!({"apiVersion": api_version, "kind": format!("{kind}List"), "items": items});
            asked.named("values", "list", list)
        }
        Err(why) => asked.named("err", "err", json!(why)),
    })
}

/// By its name, or all that a filter selects. The answer names the remaining objects, and the step decides what that
/// means.
async fn delete<R: Reach>(reach: &mut R, asked: &Asked<'_>) -> Result<Called, R::Error> {
    let object = &asked.params()["value"];
    let filter = &asked.params()["filter"];
    let mut errors = Vec::new();
    if filter.is_object() {
        let mut selection = match selection(object, filter) {
            Ok(selection) => selection,
            Err(message) => return Ok(asked.broken(message)),
        };
        if selection.namespace.is_empty() {
            selection.namespace = namespace(object);
        }
        match reach.list_objects(&selection).await? {
            Ok(found) if found.len() > DELETED_AT_MOST => errors.push(format!(
                "the filter selects {} objects; at most {DELETED_AT_MOST} are deleted by one call, so none is",
                found.len()
            )),
            Ok(found) => {
                for object in &found {
                    errors.extend(reach.delete_object(object).await?.err());
                }
            }
            Err(why) => errors.push(why),
        }
    } else if let Err(message) = check(object, &IDENTITY) {
        return Ok(asked.broken(message));
    } else {
        errors.extend(reach.delete_object(object).await?.err());
    }
    Ok(match errors.is_empty() {
        true => Called::nothing(),
        false => asked.named("err", "err", json!(errors.join("; "))),
    })
}

/// The reference to an object.
const IDENTITY: [&str; 3] = ["/apiVersion", "/kind", "/metadata/name"];

/// Is everything there that names it?
fn check(object: &Value, fields: &[&str]) -> Result<(), String> {
    for field in fields {
        let text = object.pointer(field).and_then(Value::as_str).unwrap_or_default();
        if text.is_empty() {
            let name = field.trim_start_matches('/').replace('/', ".");
            return Err(format!("the object has no {name}; write it under value"));
        }
    }
    Ok(())
}

fn namespace(object: &Value) -> String {
    object["metadata"]["namespace"].as_str().unwrap_or_default().to_owned()
}

fn selection(resource: &Value, filter: &Value) -> Result<Selection, String> {
    check(resource, &IDENTITY[..2])?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut labels = BTreeMap::new();
    for (name, value) in filter["matchingLabels"].as_object().into_iter().flatten() {
        match value.as_str().filter(|value| is_plain(name) && (value.is_empty() || is_plain(value))) {
            Some(value) => labels.insert(name.clone(), value.to_owned()),
            None => return Err(format!("filter.matchingLabels: {name:?} is no label with a text")),
        };
    }
    Ok(Selection {
        api_version: text(&resource["apiVersion"]),
        kind: text(&resource["kind"]),
        namespace: text(&filter["namespace"]),
        labels,
        ..Selection::default()
    })
}

#[cfg(test)]
mod tests {
    use vela_engine::workflow::StepOutcome;

    use super::super::test_double::{Double, asked, question};
    use super::*;

    fn config_map() -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
    }

    fn broken(called: Called) -> String {
        match called {
            Called::Ended(StepOutcome::Broken { message }) => message,
            called => panic!("{called:?}"),
        }
    }

    #[tokio::test]
    async fn objects_are_applied_by_both_packages() {
        for provider in ["kube", "op"] {
            let mut double = Double::default();
            let params = json!({"cluster": "", "value": config_map()});
            let called = asked(&mut double, question(provider, "apply", params)).await;
            assert_eq!(called, Called::Answer(json!({"value": config_map()})));
            let params = json!({"cluster": "local", "value": [config_map(), config_map()]});
            let called = asked(&mut double, question(provider, "apply-in-parallel", params)).await;
            assert_eq!(called, Called::Answer(json!({"value": [config_map(), config_map()]})));
            assert_eq!(double.applied.len(), 3);
        }
    }

    #[tokio::test]
    async fn what_cannot_be_applied_fails_the_step() {
        let mut double = Double { refusal: Some("forbidden".to_owned()), ..Double::default() };
        for (function, value) in [("apply", config_map()), ("apply-in-parallel", json!([config_map()]))] {
            let called = asked(&mut double, question("kube", function, json!({"value": value}))).await;
            assert_eq!(called, Called::failed("forbidden"));
        }
        let nameless = json!({"apiVersion": "v1", "kind": "ConfigMap"});
        let called = asked(&mut double, question("kube", "apply", json!({"value": nameless}))).await;
        assert!(broken(called).contains("metadata.name"));
        let ask = question("kube", "apply-in-parallel", json!({"value": [config_map(), nameless]}));
        assert!(broken(asked(&mut double, ask).await).contains("value[1]: the object has no metadata.name"));
        let far = json!({"cluster": "far", "value": config_map()});
        assert!(broken(asked(&mut double, question("kube", "apply", far)).await).contains("far"));
    }

    #[tokio::test]
    async fn an_object_is_read_and_its_absence_told() {
        let params = || json!({"cluster": "local", "value": config_map()});
        let mut double = Double { there: Some(config_map()), ..Double::default() };
        let called = asked(&mut double, question("kube", "read", params())).await;
        assert_eq!(called, Called::Answer(json!({"value": config_map()})));
        let mut nothing = Double::default();
        let called = asked(&mut nothing, question("op", "read", params())).await;
        assert_eq!(called, Called::Answer(json!({"err": "ConfigMap a not found"})));
        let mut refused = Double { refusal: Some("forbidden".to_owned()), ..Double::default() };
        let called = asked(&mut refused, question("kube", "read", params())).await;
        assert_eq!(called, Called::Answer(json!({"err": "forbidden"})));
    }

    #[tokio::test]
    async fn an_object_is_patched_as_its_comments_ask() {
        let params = json!({"value": config_map(), "patch": {}});
        let value = json!({"fields": [{"name": "data", "value": {"fields": [
            {"name": "a", "value": {"scalar": "b"}, "strategy": "retainKeys"}]}}]});
        let mut ask = question("kube", "patch", params);
        ask.patch = Some(json!({"name": "", "value": value}));
        let mut there = config_map();
        there["data"] = json!({"a": "a", "c": "c"});
        let mut double = Double { there: Some(there.clone()), ..Double::default() };
        there["data"]["a"] = json!("b");
        let called = asked(&mut double, ask.clone()).await;
        assert_eq!(called, Called::Answer(json!({"result": there})));
        let called = asked(&mut Double::default(), ask.clone()).await;
        assert_eq!(called, Called::failed("ConfigMap a not found"));
        ask.patch = None;
        assert!(broken(asked(&mut double, ask).await).contains("patch: expected"));
    }

    #[tokio::test]
    async fn objects_are_listed_by_kind_namespace_and_labels() {
        let kind = json!({"apiVersion": "v1", "kind": "ConfigMap"});
        for (field, provider, answer) in [("resource", "kube", "values"), ("value", "op", "list")] {
            let mut double = Double { listed: vec![config_map()], ..Double::default() };
            let mut params = json!({"filter": {"namespace": "prod", "matchingLabels": {"app.io/a": "b"}}});
            params[field] = kind.clone();
            let Called::Answer(read) = asked(&mut double, question(provider, "list", params)).await else {
                panic!("it is listed")
            };
            assert_eq!(
                (&read[answer]["kind"], &read[answer]["items"][0]),
                (&json!("ConfigMapList"), &config_map())
            );
            let selected = &double.selected[0];
            assert_eq!((selected.namespace.as_str(), selected.labels["app.io/a"].as_str()), ("prod", "b"));
        }
        let mut refused = Double { refusal: Some("forbidden".to_owned()), ..Double::default() };
        let called = asked(&mut refused, question("kube", "list", json!({"resource": kind}))).await;
        assert_eq!(called, Called::Answer(json!({"err": "forbidden"})));
        let wrong = json!({"resource": kind, "filter": {"matchingLabels": {"a": "b,c!=d"}}});
        assert!(
            broken(asked(&mut refused, question("kube", "list", wrong)).await).contains("matchingLabels")
        );
    }

    #[tokio::test]
    async fn objects_are_deleted_by_name_or_by_labels() {
        let mut double = Double { listed: vec![config_map(), config_map()], ..Double::default() };
        let called = asked(&mut double, question("kube", "delete", json!({"value": config_map()}))).await;
        assert_eq!((called, double.deleted.len()), (Called::nothing(), 1));
        let jobs =
            json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a", "namespace": "prod"}});
        let params = json!({"value": jobs, "filter": {"matchingLabels": {"a": "b"}}});
        let called = asked(&mut double, question("op", "delete", params.clone())).await;
        assert_eq!((called, double.deleted.len()), (Called::nothing(), 3));
        assert_eq!(double.selected[0].namespace, "prod", "that of the object where the filter says none");
        double.listed = vec![config_map(); DELETED_AT_MOST + 1];
        let called = asked(&mut double, question("op", "delete", params.clone())).await;
        assert!(
            matches!(&called, Called::Answer(answer) if answer["err"].to_string().contains("so none is"))
        );
        assert_eq!(double.deleted.len(), 3);
        let mut refused = Double { refusal: Some("it stays".to_owned()), ..Double::default() };
        let called = asked(&mut refused, question("op", "delete", json!({"value": config_map()}))).await;
        assert_eq!(called, Called::Answer(json!({"err": "it stays"})));
        let called = asked(&mut refused, question("op", "delete", json!({"value": {}}))).await;
        assert!(broken(called).contains("apiVersion"));
    }
}
