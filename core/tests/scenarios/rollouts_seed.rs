//! Rollouts as early 2021 wrote them: between the configurations of an Application in the v1alpha2 form, whole and turned, by a
//! plan inside, taken back, and told what is wrong.

use serde_json::{Value, json};

use super::pod_bounds::PodBounds;
use super::rollouts::{batches, has, has_no_owner, pods};
use super::test_cluster::{TestCluster, until, until_or};

const V1ALPHA2: &str = "core.oam.dev/v1alpha2";
const V1BETA1: &str = "core.oam.dev/v1beta1";
const AC: &str = "ApplicationConfiguration";
const MARK: &str = "app.oam.dev/rolling-components";
/// The two kinds that say the same.
const KINDS: [(&str, &str); 2] = [(V1BETA1, "AppRollout"), (V1ALPHA2, "ApplicationDeployment")];
/// Pods of the component.
const SIZE: i64 = 4;

fn component(name: &str, image: &str) -> Value {
    json!({"name": name, "type": "web", "settings": {"image": image, "replicas": SIZE}})
}

fn rolling(components: Value) -> Value {
    json!({
        "apiVersion": V1ALPHA2, "kind": "Application",
        "metadata": {"name": "shop", "annotations": {"app.oam.dev/rollout-template": "true"}},
        "spec": {"components": components},
    })
}

fn rollout((api_version, kind): (&str, &str), names: [&str; 2], plan: Value) -> Value {
    let mut spec = json!({"targetApplicationName": names[0], "rolloutPlan": plan});
    if !names[1].is_empty() {
        spec["sourceApplicationName"] = json!(names[1]);
    }
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "release"}, "spec": spec})
}

async fn change(cluster: &TestCluster, components: Value) {
    cluster.patch(V1BETA1, "Application", "shop", json!({"spec": {"components": components}})).await;
}

async fn configuration(cluster: &TestCluster, name: &str, status: &str) -> Value {
    let what = format!("{name} is {status}");
    let found = until_or(
        &what,
        || cluster.get(V1ALPHA2, AC, name),
        |found| found.as_ref().is_some_and(|found| found["status"]["rollingStatus"] == status),
    );
    found.await.unwrap()
}

async fn state(cluster: &TestCluster, (api_version, kind): (&str, &str), wanted: &str) -> Value {
    let what = format!("the {kind} is {wanted}");
    let found = until_or(
        &what,
        || cluster.get(api_version, kind, "release"),
        |found| found.as_ref().is_some_and(|found| found["status"]["rollingState"] == wanted),
    );
    found.await.unwrap()
}

async fn says(cluster: &TestCluster, (api_version, kind): (&str, &str), words: &str) {
    let conditions = |found: &Option<Value>| {
        found.as_ref().is_some_and(|found| found["status"]["conditions"].to_string().contains(words))
    };
    until_or(words, || cluster.get(api_version, kind, "release"), conditions).await;
}

/// Two revisions: the first runs, and the second waits for a rollout.
async fn two(cluster: &TestCluster) {
    cluster.create(rolling(json!([component("front", "nginx:1")]))).await;
    has(cluster, "front-v1", SIZE).await;
    change(cluster, json!([component("front", "nginx:2")])).await;
    configuration(cluster, "shop-v2", "RollingTemplated").await;
}

#[tokio::test]
pub(super) async fn the_second_revision_waits_for_either_kind_of_rollout() {
    for kind in KINDS {
        let cluster = TestCluster::new().await;
        let bounds = PodBounds::follow(cluster.api("apps/v1", "Deployment").await);
        cluster.create(rolling(json!([component("front", "nginx:1")]))).await;
        has(&cluster, "front-v1", SIZE).await;
        drop(bounds);
        let bounds = PodBounds::follow(cluster.api("apps/v1", "Deployment").await);
        change(&cluster, json!([component("front", "nginx:2")])).await;
        let second = configuration(&cluster, "shop-v2", "RollingTemplated").await;
        assert_eq!(second["metadata"]["annotations"][MARK], "front");
        let first = cluster.get(V1ALPHA2, AC, "shop-v1").await.unwrap();
        assert!(first["metadata"]["annotations"][MARK].is_null(), "it runs as before");
        let waiting = cluster.deployment("front-v2").await.unwrap();
        assert_eq!(waiting["spec"]["paused"], true);
        let service = cluster.get("v1", "Service", "front").await.unwrap();
        assert_eq!(service["metadata"]["ownerReferences"][0]["name"], "shop-v1", "it belongs to what runs");
        cluster.quiet().await;
        assert_eq!(pods(&cluster, "front-v2").await.1, 0);
        cluster.create(rollout(kind, ["shop-v2", "shop-v1"], batches(&[1, 1, 2]))).await;
        state(&cluster, kind, "rolloutSucceed").await;
        has(&cluster, "front-v2", SIZE).await;
        configuration(&cluster, "shop-v1", "InactiveAfterRollingCompleted").await;
        let second = configuration(&cluster, "shop-v2", "RollingComplete").await;
        assert!(second["metadata"]["annotations"][MARK].is_null());
        assert!(second["metadata"]["annotations"]["app.oam.dev/rollout-template"].is_null());
        let service = || async { cluster.get("v1", "Service", "front").await.unwrap_or_default() };
        until_or("the target has the Service", service, |service| {
            service["metadata"]["ownerReferences"][0]["name"] == "shop-v2"
        })
        .await;
        cluster.quiet().await;
        let (source, target) =
            (cluster.deployment("front-v1").await.unwrap(), cluster.deployment("front-v2").await.unwrap());
        assert_eq!((pods(&cluster, "front-v1").await.0, pods(&cluster, "front-v2").await), (0, (SIZE, SIZE)));
        assert_ne!(target["spec"]["paused"], true);
        assert!(has_no_owner(&source) && has_no_owner(&target), "{target:#}");
        assert!(cluster.deployment("front").await.is_none());
        bounds.assert_held(SIZE, SIZE + 2);
    }
}

#[tokio::test]
async fn a_rollout_is_turned_and_taken_back_within_its_bounds() {
    let kind = KINDS[0];
    let cluster = TestCluster::new().await;
    two(&cluster).await;
    let bounds = PodBounds::follow(cluster.api("apps/v1", "Deployment").await);
    let mut plan = batches(&[1, 3]);
    plan["batchPartition"] = json!(0);
    cluster.create(rollout(kind, ["shop-v2", "shop-v1"], plan)).await;
    has(&cluster, "front-v2", 1).await;
    has(&cluster, "front-v1", SIZE - 1).await;
    change(&cluster, json!([component("front", "nginx:3")])).await;
    configuration(&cluster, "shop-v3", "RollingTemplated").await;
    let turned =
        json!({"spec": {"targetApplicationName": "shop-v3", "rolloutPlan": {"batchPartition": null}}});
    cluster.patch(V1BETA1, "AppRollout", "release", turned).await;
    until("it goes to the third", || async {
        let found = cluster.get(V1BETA1, "AppRollout", "release").await.unwrap();
        found["status"]["lastTargetAppRevision"] == "shop-v3"
            && found["status"]["rollingState"] == "rolloutSucceed"
    })
    .await;
    has(&cluster, "front-v3", SIZE).await;
    assert_eq!((pods(&cluster, "front-v1").await.0, pods(&cluster, "front-v2").await.0), (0, 0));
    // And back, to a configuration that is a mere record by now.
    let back = json!({"spec": {"targetApplicationName": "shop-v1", "sourceApplicationName": "shop-v3"}});
    cluster.patch(V1BETA1, "AppRollout", "release", back).await;
    until("it is back", || async {
        let found = cluster.get(V1BETA1, "AppRollout", "release").await.unwrap();
        found["status"]["lastTargetAppRevision"] == "shop-v1"
            && found["status"]["rollingState"] == "rolloutSucceed"
    })
    .await;
    has(&cluster, "front-v1", SIZE).await;
    configuration(&cluster, "shop-v3", "InactiveAfterRollingCompleted").await;
    configuration(&cluster, "shop-v1", "RollingComplete").await;
    cluster.quiet().await;
    bounds.assert_held(SIZE, SIZE + 3);
}

#[tokio::test]
async fn a_rollout_deleted_half_way_goes_back_where_it_says_so() {
    for reverts in [true, false] {
        let kind = KINDS[1];
        let cluster = TestCluster::new().await;
        two(&cluster).await;
        let mut plan = batches(&[1, 3]);
        plan["batchPartition"] = json!(0);
        let mut release = rollout(kind, ["shop-v2", "shop-v1"], plan);
        release["spec"]["revertOnDelete"] = json!(reverts);
        cluster.create(release).await;
        has(&cluster, "front-v2", 1).await;
        has(&cluster, "front-v1", SIZE - 1).await;
        cluster.delete(kind.0, kind.1, "release").await;
        cluster.gone(kind.0, kind.1, "release").await;
        let left = if reverts { (SIZE, 0) } else { (SIZE - 1, 1) };
        cluster.quiet().await;
        let found = (pods(&cluster, "front-v1").await.0, pods(&cluster, "front-v2").await.0);
        assert_eq!(found, left, "no other client changes the sizes");
    }
}

#[tokio::test]
async fn a_plan_inside_an_older_application_is_carried_out() {
    let cluster = TestCluster::new().await;
    let mut shop = rolling(json!([component("front", "nginx:1"), component("back", "nginx:1")]));
    shop["metadata"]["annotations"] = Value::Null;
    shop["spec"]["rolloutPlan"] = batches(&[2, 2]);
    shop["spec"]["rolloutPlan"]["rolloutStrategy"] = json!("IncreaseFirst");
    cluster.create(shop).await;
    has(&cluster, "front-v1", SIZE).await;
    has(&cluster, "back-v1", SIZE).await;
    let back = cluster.deployment("back-v1").await.unwrap();
    let bounds = PodBounds::follow(cluster.api("apps/v1", "Deployment").await);
    change(&cluster, json!([component("front", "nginx:2"), component("back", "nginx:1")])).await;
    has(&cluster, "front-v2", SIZE).await;
    let found = || cluster.get(V1BETA1, "AppRollout", "shop");
    let done = until_or("it has succeeded", found, |found| {
        found.as_ref().is_some_and(|found| found["status"]["rollingState"] == "rolloutSucceed")
    })
    .await
    .unwrap();
    assert_eq!(done["spec"]["targetApplicationName"], "shop-v2");
    assert_eq!(done["spec"]["sourceApplicationName"], "shop-v1");
    cluster.phase("shop", "running").await;
    assert_eq!(pods(&cluster, "front-v1").await.0, 0);
    let after = cluster.deployment("back-v1").await.unwrap();
    assert_eq!(after["metadata"]["uid"], back["metadata"]["uid"], "what did not change is not rolled");
    assert!(cluster.deployment("back-v2").await.is_none());
    // Once more, from what was reached.
    change(&cluster, json!([component("front", "nginx:3"), component("back", "nginx:1")])).await;
    has(&cluster, "front-v3", SIZE).await;
    let found = cluster.get(V1BETA1, "AppRollout", "shop").await.unwrap();
    assert_eq!(found["spec"]["sourceApplicationName"], "shop-v2");
    cluster.quiet().await;
    bounds.assert_held(2 * SIZE, 2 * SIZE + 2);
}

#[tokio::test]
async fn what_cannot_be_meant_is_told_with_its_field() {
    let cluster = TestCluster::new().await;
    two(&cluster).await;
    let kind = KINDS[0];
    let plan = || batches(&[1, 3]);
    let mut mixed = rollout(kind, ["shop-v2", ""], plan());
    mixed["spec"]["sourceAppRevisionName"] = json!("shop-v1");
    let mut of_revisions = rollout(kind, ["", ""], plan());
    of_revisions["spec"] = json!({
        "targetAppRevisionName": "shop-v2", "sourceAppRevisionName": "shop-v1", "rolloutPlan": plan(),
    });
    for (object, words) in [
        (mixed, "spec.targetApplicationName: spec.sourceAppRevisionName is written, too"),
        (
            rollout(kind, ["shop-v2", "shop-v9"], plan()),
            "spec.sourceApplicationName: ApplicationConfiguration",
        ),
        (
            rollout(kind, ["shop-v1", "shop-v1"], plan()),
            "spec.sourceApplicationName: source and target are both shop-v1",
        ),
        (of_revisions, "spec.targetAppRevisionName: shop-v2 is a revision of Application"),
    ] {
        cluster.create(object).await;
        says(&cluster, kind, words).await;
        assert_eq!(pods(&cluster, "front-v1").await, (SIZE, SIZE));
        cluster.delete(kind.0, kind.1, "release").await;
        cluster.gone(kind.0, kind.1, "release").await;
    }
    cluster.create(rollout(kind, ["shop-v2", "shop-v1"], batches(&[1, 1]))).await;
    state(&cluster, kind, "rolloutFailed").await;
    says(&cluster, kind, "batch size mismatch").await;
    has(&cluster, "front-v1", SIZE).await;
    assert_eq!(pods(&cluster, "front-v2").await.1, 0);
}

#[tokio::test]
async fn a_component_with_another_name_is_another_one() {
    let cluster = TestCluster::new().await;
    cluster.create(rolling(json!([component("front", "nginx:1")]))).await;
    has(&cluster, "front-v1", SIZE).await;
    change(&cluster, json!([component("site", "nginx:2")])).await;
    has(&cluster, "site-v1", SIZE).await;
    cluster.create(rollout(KINDS[0], ["shop-v2", "shop-v1"], batches(&[1, 3]))).await;
    says(&cluster, KINDS[0], "shop-v2 has site, shop-v1 has front").await;
    cluster.quiet().await;
    assert_eq!(pods(&cluster, "front-v1").await, (SIZE, SIZE), "no pod is lost");
}

#[tokio::test]
async fn an_object_of_0_3_without_content_is_left_alone() {
    let cluster = TestCluster::new().await;
    let empty = json!({"apiVersion": V1ALPHA2, "kind": "ApplicationDeployment", "metadata": {"name": "release"}, "spec": {}});
    cluster.create(empty).await;
    cluster.quiet().await;
    let found = cluster.get(V1ALPHA2, "ApplicationDeployment", "release").await.unwrap();
    assert!(found["status"].is_null() && found["metadata"]["finalizers"].is_null(), "{found:#}");
}
