//! Answers of the REST API and pages over a cluster with one application.

use serde_json::{Value, json};

use crate::cluster::{Cluster, SECRET};

#[tokio::test]
async fn applications_are_listed_in_short() {
    let cluster = Cluster::with_shop().await;
    for path in ["/api/v1/applications", "/api/v1/namespaces/default/applications"] {
        let (status, body) = cluster.json(path).await;
        assert_eq!(status, 200, "{body}");
        assert_eq!(
            (&body["kind"], &body["counts"]),
            (&json!("ApplicationSummaryList"), &json!({"healthy": 1}))
        );
        let app = &body["items"][0];
        assert_eq!((&app["metadata"]["name"], &app["phase"]), (&json!("shop"), &json!("running")));
        let cart = json!({"name": "cart", "type": "webservice", "traits": ["scaler"], "health": "healthy",
            "message": "Ready:1/1"});
        assert_eq!(app["components"][0], cart);
    }
    let empty = ["/api/v1/namespaces/kube-system/applications", "/api/v1/applications?search=nowhere"];
    for path in empty.into_iter().chain(["/api/v1/applications?health=unhealthy"]) {
        assert_eq!(cluster.json(path).await.1["items"], json!([]), "{path}");
    }
    assert_eq!(
        cluster.json("/api/v1/applications?search=WEBSERV").await.1["items"].as_array().unwrap().len(),
        1
    );
}

#[tokio::test]
async fn a_tree_goes_down_to_pods_and_says_what_is_missing() {
    let cluster = Cluster::with_shop().await;
    let (status, tree) = cluster.json("/api/v1/namespaces/default/applications/shop/tree").await;
    assert_eq!(status, 200, "{tree}");
    assert_eq!((&tree["identity"], &tree["complete"]), (&json!("abc"), &json!(true)));
    let found = |name: &str| -> Value {
        tree["objects"].as_array().unwrap().iter().find(|node| node["name"] == name).unwrap().clone()
    };
    assert_eq!(found("cart-config")["health"], "healthy");
    assert_eq!(
        (&found("lost")["health"], &found("lost")["message"]),
        (&json!("missing"), &json!("does not exist"))
    );
    let pod = &found("cart")["children"][0];
    assert_eq!((&pod["kind"], &pod["health"]), (&json!("Pod"), &json!("unhealthy")));
    assert!(pod["message"].as_str().unwrap().contains("CrashLoopBackOff"), "{pod}");
}

#[tokio::test]
async fn no_answer_holds_what_a_secret_contains() {
    let cluster = Cluster::with_shop().await;
    let base = "/namespaces/default/applications/shop";
    for path in [
        base.to_owned(),
        format!("/api/v1{base}"),
        format!("/api/v1{base}/tree"),
        format!("/api/v1{base}/compare?from=shop-v1&to=shop-v2"),
        format!("{base}/compare?from=shop-v1&to=shop-v2"),
    ] {
        let (status, text) = cluster.text(&path).await;
        assert_eq!(status, 200, "{path}: {text}");
        assert!(!text.contains(SECRET), "{path}: {text}");
    }
    assert!(cluster.text(&format!("/api/v1{base}/tree")).await.1.contains("cart-secret"));
}

#[tokio::test]
async fn revisions_are_listed_and_compared() {
    let cluster = Cluster::with_shop().await;
    let base = "/api/v1/namespaces/default/applications/shop";
    let (_, list) = cluster.json(&format!("{base}/revisions")).await;
    let names: Vec<&Value> = list["items"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names, [&json!("shop-v2"), &json!("shop-v1")]);
    let (_, found) = cluster.json(&format!("{base}/compare?from=shop-v1&to=shop-v2")).await;
    let path = "components[0].properties.image";
    assert_eq!(found["fields"], json!([{"path": path, "from": "nginx:1", "to": "nginx:2"}]));
    assert_eq!(found["definitions"], json!(["componentDefinitions/webservice"]));
    let (status, said) = cluster.json(&format!("{base}/compare?from=shop-v1&to=shop-v9")).await;
    assert_eq!(status, 404, "{said}");
    assert!(said["message"].as_str().unwrap().contains("has no revision \"shop-v9\""), "{said}");
    assert_eq!(cluster.json(&format!("{base}/compare?from=shop-v1")).await.0, 400);
}

#[tokio::test]
async fn events_of_an_application_and_its_objects_are_shown() {
    let cluster = Cluster::with_shop().await;
    let (_, list) = cluster.json("/api/v1/namespaces/default/applications/shop/events").await;
    let reasons: Vec<&Value> = list["items"].as_array().unwrap().iter().map(|one| &one["reason"]).collect();
    assert_eq!(reasons, [&json!("BackOff"), &json!("Applied")], "{list}");
}

#[tokio::test]
async fn types_are_listed_and_one_has_its_parameters() {
    let cluster = Cluster::with_shop().await;
    let (_, list) = cluster.json("/api/v1/definitions").await;
    assert_eq!(list["items"][0]["name"], "page", "{list}");
    let path = "namespaces/default/definitions/componentdefinitions/page";
    let (status, found) = cluster.json(&format!("/api/v1/{path}")).await;
    assert_eq!(status, 200, "{found}");
    let image = &found["parameters"]["parameters"][0];
    assert_eq!(
        (&image["name"], &image["type"], &image["required"]),
        (&json!("image"), &json!("string"), &json!(true))
    );
    let (_, page) = cluster.text(&format!("/{path}")).await;
    assert!(page.contains("<code>image</code>") && page.contains("required"), "{page}");
    assert_eq!(cluster.json("/api/v1/namespaces/default/definitions/pods/page").await.0, 404);
}

#[tokio::test]
async fn pages_escape_what_objects_say() {
    let cluster = Cluster::with_shop().await;
    let (status, page) = cluster.text("/namespaces/default/applications/shop").await;
    assert_eq!(status, 200);
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{page}");
    assert!(!page.contains("<script>") && !page.contains(" style=") && !page.contains(" onclick="), "{page}");
    for words in ["vela workflow resume shop -n default", "CrashLoopBackOff", "from shop-v1"] {
        assert!(page.contains(words), "{words}: {page}");
    }
}

#[tokio::test]
async fn a_thousand_applications_are_shown_in_pages() {
    let cluster = Cluster::new().await;
    for number in 0..1000 {
        cluster.create(crate::cluster::application(&format!("app-{number:04}"))).await;
    }
    cluster.until("/api/v1/applications?limit=1", |list| list["metadata"]["remainingItemCount"] == 999).await;
    let (_, page) = cluster.text("/").await;
    assert_eq!(page.matches("<tr>").count(), 51, "a head and fifty rows");
    assert!(page.contains("950 more") && page.len() < 100_000, "{}", page.len());
    let (mut seen, mut next) = (0, String::new());
    loop {
        let (_, list) = cluster.json(&format!("/api/v1/applications?limit=300{next}")).await;
        seen += list["items"].as_array().unwrap().len();
        match list["metadata"]["continue"].as_str() {
            Some(token) => next = format!("&continue={token}"),
            None => break,
        }
    }
    assert_eq!(seen, 1000);
}

#[tokio::test]
async fn changes_come_as_events() {
    let cluster = Cluster::with_shop().await;
    let mut list = cluster.events("/api/v1/watch/applications").await;
    list.until("event: ready").await;
    cluster.create(crate::cluster::application("late")).await;
    let text = list.until("\"name\":\"late\"").await;
    assert!(text.contains("event: changed") && text.contains("\"type\":\"ADDED\""), "{text}");
    let mut one = cluster.events("/api/v1/watch/namespaces/default/applications/shop").await;
    let text = one.until("cart-config").await;
    assert!(text.contains("event: changed") && !text.contains(SECRET), "{text}");
}
