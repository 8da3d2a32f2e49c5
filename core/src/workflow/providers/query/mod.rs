//! `vela/query`: what an application consists of, as its record says, what became of it, where it is reached, its events and its logs.

mod logs;
mod place;
mod tree;

use serde_json::{Value, json};
use vela_crds::annotations;
use vela_engine::LOCAL;
use vela_engine::endpoints::endpoints;

use super::provider::{Asked, Called, OwnedObject, Provider, Reach};
use crate::reading::Selection;
use place::elsewhere;
use tree::{Tree, Trees};

/// The revision that changed an object last.
const REVISION: &str = "app.oam.dev/appRevision";

/// Answers all calls of the package.
pub(super) struct Query;

impl Provider for Query {
    const NAMES: &'static [&'static str] = &["query", "ql"];

    async fn call<R: Reach>(reach: &mut R, asked: &mut Asked<'_>) -> Result<Option<Called>, R::Error> {
        let params = asked.params();
        // A tree says what it is of once, in one place.
        let with_tree = params["app"]["withTree"] == true;
        Ok(Some(match asked.question.function.as_str() {
            "listResourcesInApp" => each(reach, asked, |owned, found| vec![resource(owned, found)]).await?,
            "listAppliedResources" if with_tree => trees(reach, asked).await?,
            "listAppliedResources" => each(reach, asked, |owned, found| vec![applied(owned, &found)]).await?,
            "collectServiceEndpoints" => {
                let all = |owned: &OwnedObject, found: Value| {
                    endpoints(&found).into_iter().map(|one| reached(owned, &found, one)).collect()
                };
                each(reach, asked, all).await?
            }
            "collectResources" => collected(reach, asked).await?,
            "searchEvents" => events(reach, asked).await?,
            "collectLogsInPod" => logs::collected(reach, asked).await?,
            _ => return Ok(None),
        }))
    }
}

/// The objects of an application that its record names and the cluster has, or why they cannot be read.
async fn owned<R: Reach>(
    reach: &mut R,
    app: &Value,
    is_meant: impl Fn(&OwnedObject) -> bool,
) -> Result<Result<Vec<(OwnedObject, Value)>, String>, R::Error> {
    let text = |field: &str| app[field].as_str().unwrap_or_default();
    let owned = match reach.owned_objects(text("namespace"), text("name")).await {
        Ok(owned) => owned,
        Err(why) => return Ok(Err(why)),
    };
    let mut all = Vec::new();
    for owned in owned.into_iter().filter(is_meant) {
        match reach.read_object(&owned.object).await? {
            Ok(Some(found)) => all.push((owned, found)),
            // The recorded object does not exist yet, or any more.
            Ok(None) => {}
            Err(why) => return Ok(Err(why)),
        }
    }
    Ok(Ok(all))
}

/// A part of the answer for each object that the filter selects.
async fn each<R: Reach>(
    reach: &mut R,
    asked: &Asked<'_>,
    say: impl Fn(&OwnedObject, Value) -> Vec<Value>,
) -> Result<Called, R::Error> {
    let app = &asked.params()["app"];
    let all = owned(reach, app, |owned| is_meant(owned, &app["filter"])).await?;
    Ok(match all {
        Ok(all) => listed(asked, all.into_iter().flat_map(|(owned, found)| say(&owned, found)).collect()),
        Err(why) => Called::failed(why),
    })
}

/// The objects that the filter selects, each with what is below it.
async fn trees<R: Reach>(reach: &mut R, asked: &Asked<'_>) -> Result<Called, R::Error> {
    let app = &asked.params()["app"];
    let grown = grow(reach, app, |owned| is_meant(owned, &app["filter"])).await?;
    Ok(match grown {
        Ok(grown) => {
            let written = grown.iter().map(|(owned, tree)| {
                let mut applied = applied(owned, tree.root());
                applied["resourceTree"] = tree.written();
                applied
            });
            listed(asked, written.collect())
        }
        Err(why) => Called::failed(why),
    })
}

/// The objects of the filter's kind among those of the application and all below them.
async fn collected<R: Reach>(reach: &mut R, asked: &Asked<'_>) -> Result<Called, R::Error> {
    let app = &asked.params()["app"];
    let filter = &app["filter"];
    let text = |field: &str| filter[field].as_str().unwrap_or_default();
    // The kind is that of what is looked for, which need not be the application's own.
    let place = json!({
        "components": filter["components"], "cluster": filter["cluster"], "clusterNamespace": filter["clusterNamespace"],
    });
    let grown = grow(reach, app, |owned| is_meant(owned, &place)).await?;
    Ok(match grown {
        Ok(grown) => {
            let all = grown.iter().flat_map(|(owned, tree)| {
                let found = tree.of_kind(text("apiVersion"), text("kind"));
                found.map(|(parent, object)| item(owned, parent, object))
            });
            listed(asked, all.collect())
        }
        Err(why) => Called::failed(why),
    })
}

async fn grow<R: Reach>(
    reach: &mut R,
    app: &Value,
    is_meant: impl Fn(&OwnedObject) -> bool,
) -> Result<Result<Vec<(OwnedObject, Tree)>, String>, R::Error> {
    let all = match owned(reach, app, is_meant).await? {
        Ok(all) => all,
        Err(why) => return Ok(Err(why)),
    };
    let mut trees = match Trees::new(reach).await? {
        Ok(trees) => trees,
        Err(why) => return Ok(Err(why)),
    };
    let mut grown = Vec::new();
    for (owned, found) in all {
        match trees.of(reach, found).await? {
            Ok(tree) => grown.push((owned, tree)),
            Err(why) => return Ok(Err(why)),
        }
    }
    Ok(Ok(grown))
}

/// The events about an object.
async fn events<R: Reach>(reach: &mut R, asked: &Asked<'_>) -> Result<Called, R::Error> {
    if let Some(elsewhere) = elsewhere(asked) {
        return Ok(elsewhere);
    }
    let value = &asked.params()["value"];
    let named =
        [("kind", &value["kind"]), ("name", &value["metadata"]["name"]), ("uid", &value["metadata"]["uid"])];
    let fields = named.into_iter().filter_map(|(field, value)| {
        let value = value.as_str().filter(|value| !value.is_empty())?;
        Some((format!("involvedObject.{field}"), value.to_owned()))
    });
    let selection = Selection {
        api_version: "v1".to_owned(),
        kind: "Event".to_owned(),
        namespace: value["metadata"]["namespace"].as_str().unwrap_or_default().to_owned(),
        fields: fields.collect(),
        ..Selection::default()
    };
    if !selection.fields.contains_key("involvedObject.name") {
        return Ok(asked.broken("value names no object: it needs kind and metadata.name"));
    }
    Ok(match reach.list_objects(&selection).await? {
        Ok(events) => listed(asked, events),
        Err(why) => Called::failed(format!("events cannot be read: {why}")),
    })
}

fn listed(asked: &Asked<'_>, list: Vec<Value>) -> Called {
    asked.named("list", "list", Value::Array(list))
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
        && ["", LOCAL].contains(&filter["cluster"].as_str().unwrap_or_default())
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

fn item(owned: &OwnedObject, parent: &Value, object: &Value) -> Value {
    let version = |name: &str| object["metadata"]["annotations"][name].as_str().unwrap_or_default();
    json!({
        "cluster": "",
        "workload": {
            "apiVersion": parent["apiVersion"],
            "kind": parent["kind"],
            "name": parent["metadata"]["name"],
            "namespace": parent["metadata"]["namespace"].as_str().unwrap_or_default(),
        },
        "component": owned.component,
        "object": object,
        "publishVersion": version(annotations::PUBLISH_VERSION),
        "deployVersion": version(annotations::DEPLOY_VERSION),
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

    fn child(api_version: &str, kind: &str, name: &str, owner: &str) -> Value {
        json!({
            "apiVersion": api_version, "kind": kind,
            "metadata": {"name": name, "namespace": "prod", "uid": name, "ownerReferences": [{"uid": owner}]},
        })
    }

    /// An application of one Deployment, whose second ReplicaSet has two pods.
    fn rolled() -> Double {
        let deployment = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "prod", "uid": "web"},
            "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}}, "status": {"readyReplicas": 2},
        });
        let mut former = child("apps/v1", "ReplicaSet", "web-1", "web");
        former["spec"] = json!({"replicas": 0});
        let mut pod = child("v1", "Pod", "web-2-b", "web-2");
        pod["spec"] = json!({"containers": [{"name": "a"}, {"name": "b"}]});
        pod["status"] = json!({
            "phase": "Running",
            "containerStatuses": [{"ready": true, "restartCount": 3}, {"state": {"waiting": {"reason": "CrashLoopBackOff"}}, "restartCount": 4}],
        });
        pod["metadata"]["annotations"] = json!({"app.oam.dev/publishVersion": "v7"});
        let listed = vec![
            child("apps/v1", "ReplicaSet", "other", "elsewhere"),
            child("apps/v1", "ReplicaSet", "web-2", "web"),
            former,
            pod,
            child("v1", "Pod", "web-2-a", "web-2"),
            child("v1", "Pod", "web-1-a", "web-1"),
        ];
        let identity = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "prod"}});
        let owned = OwnedObject { object: identity, component: "web".to_owned(), trait_type: String::new() };
        Double { there: Some(deployment), listed, has_kinds: true, owned: vec![owned], ..Double::default() }
    }

    fn names(nodes: &Value) -> Vec<&str> {
        nodes.as_array().into_iter().flatten().filter_map(|node| node["name"].as_str()).collect()
    }

    #[tokio::test]
    async fn a_tree_has_what_controllers_made() {
        let mut double = rolled();
        let ask = json!({"app": {"name": "shop", "namespace": "prod", "withTree": true}});
        let called = asked(&mut double, question("query", "listAppliedResources", ask)).await;
        let Called::Answer(answer) = called else { panic!("{called:?}") };
        let root = &answer["list"][0]["resourceTree"];
        assert_eq!(
            (&root["kind"], &root["healthStatus"]["statusCode"]),
            (&json!("Deployment"), &json!("Progressing"))
        );
        assert_eq!(names(&root["leafNodes"]), ["web-1", "web-2"]);
        assert_eq!(names(&root["leafNodes"][0]["leafNodes"]), [""; 0], "a former ReplicaSet has no pods");
        let pods = &root["leafNodes"][1]["leafNodes"];
        assert_eq!(names(pods), ["web-2-a", "web-2-b"]);
        assert_eq!(
            pods[1]["additionalInfo"],
            json!({"Ready": "1/2", "Status": "CrashLoopBackOff", "Restarts": 7})
        );
        let labels = &double.selected[0].labels;
        assert_eq!(labels.get("app").map(String::as_str), Some("web"), "{:?}", double.selected);
    }

    #[tokio::test]
    async fn pods_are_collected_with_what_made_them() {
        let mut double = rolled();
        let filter = json!({"apiVersion": "v1", "kind": "Pod", "components": ["web"]});
        let pods = list(&mut double, "query", "collectResources", &filter).await;
        let short: Vec<_> = pods
            .as_array()
            .unwrap()
            .iter()
            .map(|pod| (&pod["object"]["metadata"]["name"], &pod["workload"]["name"], &pod["publishVersion"]))
            .collect();
        assert_eq!(
            short,
            [
                (&json!("web-2-a"), &json!("web-2"), &json!("")),
                (&json!("web-2-b"), &json!("web-2"), &json!("v7"))
            ]
        );
        let none = json!({"apiVersion": "v1", "kind": "Pod", "components": ["db"]});
        assert_eq!(list(&mut rolled(), "query", "collectResources", &none).await, json!([]));
        let services = json!({"apiVersion": "v1", "kind": "Service"});
        let found = list(&mut shop(), "query", "collectResources", &services).await;
        assert_eq!(found[0]["workload"]["kind"], "Service", "an object of the application itself");
    }

    #[tokio::test]
    async fn rules_of_users_and_absent_kinds_are_minded() {
        let rules = "[{parentResourceType: {group: apps, kind: Deployment}, childrenResourceType: [{apiVersion: v1, kind: Pod}]}]";
        let mut double = rolled();
        double.listed.push(child("v1", "Pod", "debug", "web"));
        double.shared = vec![
            json!({"metadata": {"name": "broken"}, "data": {"rules": "{"}}),
            json!({"metadata": {"name": "mine"}, "data": {"rules": rules}}),
        ];
        double.unserved = vec!["apps/v1 ReplicaSet".to_owned()];
        let pods = json!({"apiVersion": "v1", "kind": "Pod"});
        let found = list(&mut double, "query", "collectResources", &pods).await;
        assert_eq!(found.as_array().map(Vec::len), Some(1));
        assert_eq!(found[0]["object"]["metadata"]["name"], "debug");
    }

    #[tokio::test]
    async fn events_of_an_object_are_searched_by_its_name() {
        let event = json!({"apiVersion": "v1", "kind": "Event", "reason": "Pulled"});
        let mut double = Double { listed: vec![event.clone()], ..Double::default() };
        let value =
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-0", "namespace": "prod"}});
        let ask = json!({"value": value, "cluster": "local"});
        let called = asked(&mut double, question("query", "searchEvents", ask)).await;
        assert_eq!(called, Called::Answer(json!({"list": [event]})));
        let selection = &double.selected[0];
        assert_eq!((selection.kind.as_str(), selection.namespace.as_str()), ("Event", "prod"));
        assert_eq!(selection.fields.get("involvedObject.name").map(String::as_str), Some("web-0"));
        let called =
            asked(&mut double, question("query", "searchEvents", json!({"value": {"kind": "Pod"}}))).await;
        assert!(format!("{called:?}").contains("value names no object"), "{called:?}");
        let far = json!({"value": value, "cluster": "east"});
        let called = asked(&mut double, question("query", "searchEvents", far)).await;
        assert_eq!(called, Called::broken("ask: cluster east is not reached: only the local one is"));
    }

    #[tokio::test]
    async fn the_log_of_a_container_is_text_in_base64() {
        let pod = json!({"metadata": {"creationTimestamp": "2026-01-31T08:00:00Z"}});
        let mut double = Double { there: Some(pod), ..Double::default() };
        let ask = json!({"cluster": "", "namespace": "prod", "pod": "web-0", "options": {"container": "web", "previous": true, "tailLines": 5, "sinceSeconds": null}});
        let called = asked(&mut double, question("query", "collectLogsInPod", ask.clone())).await;
        let info = json!({"fromDate": "2026-01-31T08:00:00Z", "toDate": "1970-01-01T00:00:00Z"});
        assert_eq!(called, Called::Answer(json!({"outputs": {"logs": "aGVsbG8K", "info": info}})));
        let asked_for = &double.logs_asked[0];
        assert_eq!(
            (asked_for.container.as_deref(), asked_for.previous, asked_for.tail_lines),
            (Some("web"), true, Some(5))
        );
        let mut gone = Double::default();
        let called = asked(&mut gone, question("query", "collectLogsInPod", ask)).await;
        assert_eq!(
            called,
            Called::Answer(json!({"outputs": {"err": "there is no pod web-0 in namespace prod"}}))
        );
        let wrong = json!({"pod": "web-0", "options": {"sinceTime": "yesterday"}});
        let called = asked(&mut gone, question("query", "collectLogsInPod", wrong)).await;
        assert!(format!("{called:?}").contains("options.sinceTime"), "{called:?}");
    }

    #[tokio::test]
    async fn an_application_out_of_reach_is_reported() {
        let mut unknown = Double { refusal: Some("it is elsewhere".to_owned()), ..shop() };
        for function in ["listResourcesInApp", "collectResources", "listAppliedResources"] {
            let ask = json!({"app": {"name": "shop", "namespace": "dev", "withTree": true}});
            let called = asked(&mut unknown, question("query", function, ask)).await;
            assert_eq!(called, Called::failed("it is elsewhere"), "{function}");
        }
    }
}
