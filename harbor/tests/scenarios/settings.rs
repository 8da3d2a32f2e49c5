//! What sets up a Harbor that runs, against a server in the test that plays the API of a Harbor.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::harbor_api::{Harbor, access, secret, server, setting};
use super::operator::{Cluster, GOHARBOR, NAMESPACE};

#[tokio::test(flavor = "multi_thread")]
async fn a_configuration_reaches_the_harbor_with_its_secrets() {
    let (cluster, harbor) = (Cluster::begin().await, Harbor::begin().await);
    let mut owner = super::cluster::input("external");
    owner["spec"]["externalURL"] = json!(format!("http://127.0.0.1:{}/", harbor.port));
    cluster.create(owner).await;
    cluster.create(secret("admin-pw", json!({"secret": "Quiet-Lamp-77"}))).await;
    let settings = json!({"authMode": "oidc_auth", "oidcClientSecret": "oidc", "selfRegistration": false});
    let spec = json!({"harborClusterRef": "hc", "configuration": settings});
    cluster.create(setting("HarborConfiguration", "login", spec.clone())).await;
    let of = (GOHARBOR, "HarborConfiguration", "login");
    let failed = cluster.until(of, |object| object["status"]["status"] == "Fail").await;
    let said = failed["status"]["message"].as_str().unwrap();
    assert!(said.contains("spec.configuration.oidcClientSecret names Secret oidc"), "{said}");
    assert!(harbor.asked("PUT").is_empty());
    cluster.create(secret("oidc", json!({"oidc_client_secret": "hush"}))).await;
    let done = cluster.until(of, |object| object["status"]["status"] == "Success").await;
    assert_eq!(done["status"]["lastConfiguration"]["configuration"], spec["configuration"]);
    assert!(done["status"]["lastApplyTime"].is_string());
    let asked = harbor.asked("PUT /api/v2.0/configurations ");
    assert_eq!(asked[0].login, "admin:Quiet-Lamp-77");
    let wanted = json!({"auth_mode": "oidc_auth", "oidc_client_secret": "hush", "self_registration": false});
    assert_eq!(asked[0].body, wanted);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_binding_gives_a_robot_to_a_service_account() {
    let (cluster, harbor) = (Cluster::begin().await, Harbor::begin().await);
    // The schema takes no port behind a number, so the address has a path that ends in one.
    let url = format!("http://127.0.0.1:{}/127.0.0.1", harbor.port);
    let credential = json!({"namespace": NAMESPACE, "accessSecretRef": "access"});
    let mut server = setting(
        "HarborServerConfiguration",
        "main",
        json!({"serverURL": url, "version": "2.5.1", "accessCredential": credential}),
    );
    server["metadata"].as_object_mut().unwrap().remove("namespace");
    cluster.create(server).await;
    cluster.create(secret("access", json!({"accessKey": "admin", "accessSecret": "pass"}))).await;
    let spec =
        json!({"harborServerConfig": "main", "projectId": "1", "robotId": "7", "serviceAccount": "builder"});
    cluster.create(setting("PullSecretBinding", "pulls", spec)).await;
    let of = (GOHARBOR, "PullSecretBinding", "pulls");
    let failed = cluster.until(of, |object| object["status"]["status"] == "error").await;
    let said = failed["status"]["message"].as_str().unwrap();
    assert!(said.contains("spec.serviceAccount names ServiceAccount builder"), "{said}");
    let metadata = json!({"name": "builder", "namespace": NAMESPACE});
    let known = json!([{"name": "other"}]);
    cluster
        .create(json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata, "imagePullSecrets": known}))
        .await;
    cluster.until(of, |object| object["status"]["status"] == "ready").await;
    let account = cluster.get("v1", "ServiceAccount", "builder").await.unwrap();
    assert_eq!(account["imagePullSecrets"], json!([{"name": "other"}, {"name": "pulls-pull"}]));
    let secret = cluster.get("v1", "Secret", "pulls-pull").await.unwrap();
    assert_eq!(secret["type"], "kubernetes.io/dockerconfigjson");
    let file = STANDARD.decode(secret["data"][".dockerconfigjson"].as_str().unwrap()).unwrap();
    let file: Value = serde_json::from_slice(&file).unwrap();
    let login = &file["auths"][url.trim_start_matches("http://")];
    assert_eq!(login["username"], "robot$lib+pull");
    let asked = harbor.asked("PATCH /127.0.0.1/api/v2.0/robots/7 ");
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert_eq!(asked[0].body["secret"], login["password"]);
    assert_eq!(asked[0].login, "admin:pass");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_asked_for_its_health_and_its_account() {
    let (cluster, harbor) = (Cluster::begin().await, Harbor::begin().await);
    let kind = "HarborServerConfiguration";
    let rules = |rule: &str| json!({"rules": [rule]});
    for (name, path, more) in [
        ("well", "well", json!({"rules": ["docker.io,proxy"], "namespaceSelector": {}})),
        ("robots", "robots-only", json!({})),
        ("sick", "sick", json!({})),
        ("closed", "closed", json!({})),
        ("ruled", "well", rules("docker.io")),
    ] {
        cluster.create(server(&harbor, name, path, &more)).await;
    }
    let fails = |object: &Value| object["status"]["status"] == "Fail";
    let missing = cluster.until((GOHARBOR, kind, "well"), fails).await;
    let said = missing["status"]["message"].as_str().unwrap();
    assert!(said.contains("spec.accessCredential.accessSecretRef names Secret access"), "{said}");
    cluster.create(access()).await;
    for name in ["well", "robots"] {
        let object = cluster.until((GOHARBOR, kind, name), |one| one["status"]["status"] == "Success").await;
        assert_eq!(object["status"]["reason"], "ServerCheckSuccess");
    }
    for (name, reason, words) in [
        ("sick", "ServerCheckError", "is not healthy; what does not work: redis"),
        ("closed", "ServerCheckError", "refused to take the account with status 401"),
        ("ruled", "InvalidSpec", "HarborServerConfiguration ruled: spec.rules[0] must be a registry"),
    ] {
        let is =
            |object: &Value| object["status"]["message"].as_str().is_some_and(|said| said.contains(words));
        assert_eq!(cluster.until((GOHARBOR, kind, name), is).await["status"]["reason"], reason);
    }
    let asked = harbor.asked("GET /well/127.0.0.1/api/v2.0/users/current ");
    assert_eq!(asked[0].login, "admin:pass");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_is_checked_unless_insecure_says_not_to() {
    let (cluster, harbor) = (Cluster::begin().await, Harbor::with_own_certificate().await);
    cluster.create(access()).await;
    let kind = "HarborServerConfiguration";
    let url = format!("https://127.0.0.1:{}/well/127.0.0.1", harbor.port);
    cluster.create(server(&harbor, "a", "well", &json!({"serverURL": url}))).await;
    let is = |status: &'static str| move |object: &Value| object["status"]["status"] == status;
    let checked = cluster.until((GOHARBOR, kind, "a"), is("Fail")).await;
    let said = checked["status"]["message"].as_str().unwrap();
    assert!(said.contains("certificate"), "{said}");
    assert!(harbor.asked("GET").is_empty(), "no password goes to a server that is not known");
    cluster.patch(GOHARBOR, kind, "a", false, json!({"spec": {"insecure": true}})).await;
    cluster.until((GOHARBOR, kind, "a"), is("Success")).await;
    assert_eq!(harbor.asked("GET /well/127.0.0.1/api/v2.0/users/current ")[0].login, "admin:pass");
    cluster.patch(GOHARBOR, kind, "a", false, json!({"spec": {"insecure": false}})).await;
    cluster.until((GOHARBOR, kind, "a"), is("Fail")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_oldest_server_is_the_default() {
    let (cluster, harbor) = (Cluster::begin().await, Harbor::begin().await);
    cluster.create(access()).await;
    let kind = "HarborServerConfiguration";
    let default = json!({"default": true});
    cluster.create(server(&harbor, "a", "well", &default)).await;
    let is = |status: &'static str| move |object: &Value| object["status"]["status"] == status;
    cluster.until((GOHARBOR, kind, "a"), is("Success")).await;
    cluster.create(server(&harbor, "b", "well", &default)).await;
    let second = cluster.until((GOHARBOR, kind, "b"), is("Fail")).await;
    let said = second["status"]["message"].as_str().unwrap();
    assert!(
        said.contains("spec.default must be false: HarborServerConfiguration a is the default"),
        "{said}"
    );
    // The second one hears that the first one is the default no more.
    cluster.patch(GOHARBOR, kind, "a", false, json!({"spec": {"default": false}})).await;
    cluster.until((GOHARBOR, kind, "b"), is("Success")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_for_the_namespaces_that_it_selects() {
    let (cluster, harbor) = (Cluster::begin().await, Harbor::begin().await);
    let selector = json!({"namespaceSelector": {"matchLabels": {"team": "web"}}});
    cluster.create(server(&harbor, "main", "well", &selector)).await;
    cluster.create(access()).await;
    let metadata = json!({"name": "builder", "namespace": NAMESPACE});
    cluster.create(json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})).await;
    let spec =
        json!({"harborServerConfig": "main", "projectId": "1", "robotId": "7", "serviceAccount": "builder"});
    cluster.create(setting("PullSecretBinding", "pulls", spec)).await;
    let of = (GOHARBOR, "PullSecretBinding", "pulls");
    let failed = cluster.until(of, |object| object["status"]["status"] == "error").await;
    let said = failed["status"]["message"].as_str().unwrap();
    assert!(said.contains("HarborServerConfiguration main is not for namespace n"), "{said}");
    assert!(harbor.asked("PATCH").is_empty());
    cluster
        .patch("v1", "Namespace", NAMESPACE, false, json!({"metadata": {"labels": {"team": "web"}}}))
        .await;
    cluster.until(of, |object| object["status"]["status"] == "ready").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_config_map_becomes_a_configuration_of_its_cluster() {
    let (cluster, harbor) = (Cluster::begin().await, Harbor::begin().await);
    let mut owner = super::cluster::input("external");
    owner["spec"]["externalURL"] = json!(format!("http://127.0.0.1:{}/", harbor.port));
    cluster.create(owner).await;
    let annotations = json!({"goharbor.io/configuration": "hc"});
    let metadata = json!({"name": "old", "namespace": NAMESPACE, "annotations": annotations});
    let data = json!({"config.yaml": "email_tls: true"});
    cluster
        .create(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}))
        .await;
    // A setting that is not known is said by an event, since a ConfigMap has no status.
    cluster.event("old", "\"email_tls\" is no setting").await;
    assert!(cluster.get(GOHARBOR, "HarborConfiguration", "old").await.is_none());
    let data = json!({"data": {"config.yaml": "email_ssl: true\nself_registration: false"}});
    cluster.patch("v1", "ConfigMap", "old", false, data).await;
    let ready = |status: &'static str| {
        move |object: &Value| super::operator::condition(object, "ConfigurationReady")["status"] == status
    };
    let of = (GOHARBOR, "HarborCluster", "hc");
    let failed = cluster.until(of, ready("False")).await;
    let said = super::operator::condition(&failed, "ConfigurationReady")["message"].as_str().unwrap();
    assert!(said.contains("HarborConfiguration old: ") && said.contains("admin-pw"), "{said}");
    cluster.create(secret("admin-pw", json!({"secret": "Quiet-Lamp-77"}))).await;
    let done = cluster.until(of, ready("True")).await;
    assert_eq!(
        super::operator::condition(&done, "ConfigurationReady")["reason"],
        "ConfigurationApplySuccess"
    );
    let asked = harbor.asked("PUT /api/v2.0/configurations ");
    assert_eq!(asked[0].body, json!({"email_ssl": true, "self_registration": false}));
    // Without the annotation there is no configuration, and no condition.
    let gone = json!({"metadata": {"annotations": null}});
    cluster.patch("v1", "ConfigMap", "old", false, gone).await;
    cluster.until(of, |object| super::operator::condition(object, "ConfigurationReady").is_null()).await;
    assert!(cluster.get(GOHARBOR, "HarborConfiguration", "old").await.is_none());
}
