//! `vela/query`: what an application consists of, as its record says, and where it is reached.

use serde_json::{Value, json};
use vela_engine::endpoints::endpoints;

use super::provider::{Asked, Called, OwnedObject, Provider, Reach};

/// The revision that changed an object last.
const REVISION: &str = "app.oam.dev/appRevision";

/// Answers `query.#ListResourcesInApp`, `query.#ListAppliedResources` and `query.#CollectServiceEndpoints`.
pub(super) struct Query;

impl Provider for Query {
    const NAMES: &'static [&'static str] = &["query", "ql"];

    async fn call<R: Reach>(reach: &mut R, asked: &mut Asked<'_>) -> Result<Option<Called>, R::Error> {
        let function = asked.question.function.as_str();
        if !["listResourcesInApp", "listAppliedResources", "collectServiceEndpoints"].contains(&function) {
            return Ok(None);
        }
        let app = &asked.params()["app"];
        let is_tree = function == "listAppliedResources" && app["withTree"] == true;
        if is_tree {
            return Ok(Some(asked.broken("trees of resources are not answered yet")));
        }
        let text = |field: &str| app[field].as_str().unwrap_or_default();
        let owned = match reach.owned_objects(text("namespace"), text("name")) {
            Ok(owned) => owned.into_iter().filter(|owned| is_meant(owned, &app["filter"])),
            Err(why) => return Ok(Some(Called::failed(why))),
        };
        let mut list = Vec::new();
        for owned in owned {
            let found = match reach.read_object(&owned.object).await? {
                Ok(Some(found)) => found,
                // The recorded object does not exist yet, or any more.
                Ok(None) => continue,
                Err(why) => return Ok(Some(Called::failed(why))),
            };
            match function {
                "listResourcesInApp" => list.push(resource(&owned, found)),
                "listAppliedResources" => list.push(applied(&owned, &found)),
                _ => list.extend(endpoints(&found).into_iter().map(|one| reached(&owned, &found, one))),
            }
        }
        Ok(Some(asked.named("list", "list", Value::Array(list))))
    }
}

/// Does a filter select the object? An empty filter selects all.
fn is_meant(owned: &OwnedObject, filter: &Value) -> bool {
    let object = &owned.object;
    let is = |field: &str, value: &Value| {
        let wanted = filter[field].as_str().unwrap_or_default();
        wanted.is_empty() || value == wanted
    };
    let components = filter["components"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_of_component = components.is_empty() || components.iter().any(|name| *name == owned.component);
    is_of_component
        && is("kind", &object["kind"])
        && is("apiVersion", &object["apiVersion"])
        && is("clusterNamespace", &object["metadata"]["namespace"])
        && ["", "local"].contains(&filter["cluster"].as_str().unwrap_or_default())
}

fn resource(owned: &OwnedObject, found: Value) -> Value {
    let revision = found["metadata"]["labels"][REVISION].as_str().unwrap_or_default().to_owned();
    json!({"cluster": "", "component": owned.component, "revision": revision, "object": found})
}

fn applied(owned: &OwnedObject, found: &Value) -> Value {
    let metadata = &found["metadata"];
    json!({
        "cluster": "",
        "component": owned.component,
        "trait": owned.trait_type,
        "apiVersion": found["apiVersion"],
        "kind": found["kind"],
        "namespace": metadata["namespace"].as_str().unwrap_or_default(),
        "name": metadata["name"],
        "uid": metadata["uid"],
        "resourceVersion": metadata["resourceVersion"],
        "revision": metadata["labels"][REVISION].as_str().unwrap_or_default(),
        "latest": true,
    })
}

fn reached(owned: &OwnedObject, found: &Value, endpoint: Value) -> Value {
    let metadata = &found["metadata"];
    json!({
        "endpoint": endpoint,
        "ref": {
            "apiVersion": found["apiVersion"],
            "kind": found["kind"],
            "namespace": metadata["namespace"],
            "name": metadata["name"],
            "uid": metadata["uid"],
            "resourceVersion": metadata["resourceVersion"],
        },
        "cluster": "",
        "component": owned.component,
    })
}

#[cfg(test)]
mod tests {
    use super::super::test_double::{Double, asked, question};
    use super::*;

    fn service() -> Value {
        json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": {"name": "web", "namespace": "prod", "uid": "u", "labels": {"app.oam.dev/appRevision": "shop-v1"}},
            "spec": {"ports": [{"port": 80}]},
        })
    }

    fn shop() -> Double {
        let identity = json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "prod"},
        });
        let owned = OwnedObject { object: identity, component: "web".to_owned(), trait_type: String::new() };
        Double { there: Some(service()), owned: vec![owned], ..Double::default() }
    }

    async fn list(double: &mut Double, provider: &str, function: &str, filter: &Value) -> Value {
        let params = json!({"app": {"name": "shop", "namespace": "prod", "filter": filter, "withTree": function != "listAppliedResources"}});
        match asked(double, question(provider, function, params)).await {
            Called::Answer(answer) => answer["list"].clone(),
            called @ Called::Ended(_) => panic!("{called:?}"),
        }
    }

    #[tokio::test]
    async fn an_application_is_listed_with_what_it_consists_of() {
        let none = json!({});
        let listed = list(&mut shop(), "query", "listResourcesInApp", &none).await;
        assert_eq!((&listed[0]["component"], &listed[0]["revision"]), (&json!("web"), &json!("shop-v1")));
        assert_eq!(listed[0]["object"], service());
        let listed = list(&mut shop(), "query", "listAppliedResources", &none).await;
        assert_eq!((&listed[0]["kind"], &listed[0]["uid"]), (&json!("Service"), &json!("u")));
        let listed = list(&mut shop(), "query", "collectServiceEndpoints", &none).await;
        assert_eq!(listed[0]["endpoint"]["host"], "web.prod");
        assert_eq!(listed[0]["ref"]["name"], "web");
    }

    #[tokio::test]
    async fn a_filter_selects_and_what_is_gone_is_left_out() {
        for (filter, length) in [
            (json!({"components": ["web"], "kind": "Service", "cluster": "local"}), 1),
            (json!({"components": ["other"]}), 0),
            (json!({"kind": "Ingress"}), 0),
            (json!({"clusterNamespace": "dev"}), 0),
        ] {
            let listed = list(&mut shop(), "query", "listResourcesInApp", &filter).await;
            assert_eq!(listed.as_array().map(Vec::len), Some(length), "{filter}");
        }
        let mut gone = Double { there: None, ..shop() };
        assert_eq!(list(&mut gone, "query", "collectServiceEndpoints", &json!({})).await, json!([]));
    }

    #[tokio::test]
    async fn what_is_not_answered_is_told() {
        let tree = json!({"app": {"name": "shop", "namespace": "prod", "withTree": true}});
        let called = asked(&mut shop(), question("query", "listAppliedResources", tree)).await;
        assert_eq!(called, Called::broken("ask: trees of resources are not answered yet"));
        let mut unknown = Double { refusal: Some("it is elsewhere".to_owned()), ..shop() };
        let ask = json!({"app": {"name": "shop", "namespace": "dev"}});
        let called = asked(&mut unknown, question("query", "listResourcesInApp", ask)).await;
        assert_eq!(called, Called::failed("it is elsewhere"));
    }
}
