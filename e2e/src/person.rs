//! A user with kubectl: applies, patches and deletes, and gets the answers of the API server.

use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams, PostParams, ValidationDirective};
use serde_json::{Map, Value, json};

use crate::Result;
use crate::objects::{Cluster, text};

/// Where kubectl keeps what was applied last.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// The name kubectl writes under.
const MANAGER: &str = "kubectl-client-side-apply";

/// The request of a user.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// `kubectl apply` of one object.
    Apply(Value),
    /// `kubectl patch --type=merge`.
    Merge(Named, Value),
    /// `kubectl patch --type=json`.
    Json(Named, Value),
    /// `kubectl delete`.
    Delete(Named),
}

/// An object as commands name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// The kind in lower case.
    pub kind: String,
    /// Its name.
    pub name: String,
}

/// The answer of the API server: nothing when it obeyed, else the words kubectl would print.
pub type Answer = std::result::Result<(), String>;

/// Does what is asked for, as kubectl does it.
pub async fn ask(cluster: &Cluster, kinds: &crate::contents::Kinds, request: &Request) -> Result<Answer> {
    match request {
        Request::Apply(object) => apply(cluster, object).await,
        Request::Merge(named, patch) => {
            let patch: Patch<Value> = Patch::Merge(patch.clone());
            let api = kinds.named(cluster, &named.kind)?;
            answer(api.patch(&named.name, &PatchParams::default(), &patch).await.map(|_| ()), "")
        }
        Request::Json(named, patch) => {
            let patch: Patch<Value> = Patch::Json(serde_json::from_value(patch.clone())?);
            let api = kinds.named(cluster, &named.kind)?;
            answer(api.patch(&named.name, &PatchParams::default(), &patch).await.map(|_| ()), "")
        }
        Request::Delete(named) => {
            let api = kinds.named(cluster, &named.kind)?;
            answer(api.delete(&named.name, &DeleteParams::background()).await.map(|_| ()), "")
        }
    }
}

/// Creates what is missing; else changes what changed since the last apply, and removes what it had and has no more.
pub async fn apply(cluster: &Cluster, object: &Value) -> Result<Answer> {
    let name = text(object, "/metadata/name");
    let api = match cluster.api(text(object, "/apiVersion"), text(object, "/kind")).await {
        Ok(api) => api,
        Err(error) => return Ok(Err(error.to_string())),
    };
    let wanted = annotated(object, cluster.namespace());
    let Some(live) = api.get_opt(name).await? else {
        let outcome = create(cluster, &api, &wanted).await?;
        return answer(outcome, "error when creating \"STDIN\": ");
    };
    let live = json!(live);
    let before = live["metadata"]["annotations"][LAST_APPLIED].as_str();
    let before: Value = before.and_then(|text| serde_json::from_str(text).ok()).unwrap_or(Value::Null);
    let patch = three_way(&before, &wanted, &live);
    if patch.as_object().is_some_and(Map::is_empty) {
        return Ok(Ok(()));
    }
    let params = PatchParams {
        field_manager: Some(MANAGER.to_owned()),
        field_validation: Some(ValidationDirective::Strict),
        ..PatchParams::default()
    };
    let patch: Patch<Value> = Patch::Merge(patch);
    answer(api.patch(name, &params, &patch).await.map(|_| ()), "error when applying patch: ")
}

/// The client library knows strict validation for patches only, so the request is made by hand.
async fn create(cluster: &Cluster, api: &Api<DynamicObject>, object: &Value) -> Result<kube::Result<()>> {
    let params = PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
    let mut request =
        kube::core::Request::new(api.resource_url()).create(&params, serde_json::to_vec(object)?)?;
    *request.uri_mut() = format!("{}&fieldValidation=Strict", request.uri()).parse()?;
    Ok(cluster.client().request::<Value>(request).await.map(|_| ()))
}

/// The object with itself in the annotation.
fn annotated(object: &Value, namespace: &str) -> Value {
    let mut kept = object.clone();
    if let Some(metadata) = kept["metadata"].as_object_mut() {
        let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
        if let Some(annotations) = annotations.as_object_mut() {
            annotations.remove(LAST_APPLIED);
        }
        metadata.insert("namespace".to_owned(), json!(namespace));
    }
    let mut wanted = kept.clone();
    wanted["metadata"]["annotations"][LAST_APPLIED] = json!(format!("{kept}\n"));
    wanted
}

/// The merge patch from `live` to `wanted` that also removes what `before` had and `wanted` has not.
fn three_way(before: &Value, wanted: &Value, live: &Value) -> Value {
    let mut patch = Map::new();
    let empty = Map::new();
    let (before, live) = (before.as_object().unwrap_or(&empty), live.as_object().unwrap_or(&empty));
    let wanted = wanted.as_object().unwrap_or(&empty);
    for (field, value) in wanted {
        match live.get(field) {
            Some(live) if live == value => {}
            Some(live) if live.is_object() && value.is_object() => {
                let inner = three_way(before.get(field).unwrap_or(&Value::Null), value, live);
                if inner.as_object().is_some_and(|inner| !inner.is_empty()) {
                    patch.insert(field.clone(), inner);
                }
            }
            _ => {
                patch.insert(field.clone(), value.clone());
            }
        }
    }
    for field in before.keys().filter(|field| !wanted.contains_key(*field) && live.contains_key(*field)) {
        patch.insert(field.clone(), Value::Null);
    }
    Value::Object(patch)
}

/// The words of kubectl for an answer of the API server.
fn answer(outcome: kube::Result<()>, doing: &str) -> Result<Answer> {
    match outcome {
        Ok(()) => Ok(Ok(())),
        Err(kube::Error::Api(status)) => {
            let invalid = status.details.filter(|all| status.reason == "Invalid" && !all.causes.is_empty());
            let Some(details) = invalid else {
                let (reason, message) = (&status.reason, &status.message);
                return Ok(Err(format!("Error from server ({reason}): {doing}{message}")));
            };
            let cause =
                |cause: &kube::core::response::StatusCause| format!("{}: {}", cause.field, cause.message);
            let causes: Vec<String> = details.causes.iter().map(cause).collect();
            let list = match causes.as_slice() {
                [one] => one.clone(),
                many => format!("\n* {}", many.join("\n* ")),
            };
            Ok(Err(format!("The {} \"{}\" is invalid: {list}", details.kind, details.name)))
        }
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_apply_removes_its_fields_and_keeps_foreign_ones() {
        let before = json!({"spec": {"a": 1, "b": {"c": 1, "d": 2}}});
        let wanted = json!({"spec": {"b": {"c": 2}}});
        let live = json!({"spec": {"a": 1, "b": {"c": 1, "d": 2}, "theirs": true}});
        assert_eq!(
            three_way(&before, &wanted, &live),
            json!({"spec": {"a": null, "b": {"c": 2, "d": null}}})
        );
        assert_eq!(three_way(&wanted, &wanted, &wanted), json!({}));
    }
}
