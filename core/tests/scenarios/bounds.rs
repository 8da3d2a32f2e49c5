//! How far applications reach that act for no author: into no other namespace, to no right, to no token.

use serde_json::{Value, json};
use vela_core::options::Bounds;
use vela_core::{Options, Process};

use super::configuration::{complaint, configuration, named};
use super::test_cluster::{TestCluster, application, until_or};

const NEW: &str = "core.oam.dev/v1beta1";
const OLD: &str = "core.oam.dev/v1alpha2";
const TOKEN: &str = "kubernetes.io/service-account-token";

/// A component type that makes whatever its parameters say, and tells its data in the status, cut to pieces.
fn anything(cluster: &TestCluster) -> Value {
    let template = "output: {apiVersion: \"v1\", kind: \"ConfigMap\"}\noutputs: made: parameter.made\nparameter: {made: {...}}\n";
    let status = "import (\"strings\", \"encoding/base64\")\n\
        message: strings.Join([for k, v in context.outputs.made.data {\n\
        \tstrings.Join(strings.Split(\"\\(base64.Decode(null, v))\", \"\"), \"_\")\n}], \"_\")\n";
    json!({
        "apiVersion": NEW, "kind": "ComponentDefinition",
        "metadata": {"name": "anything", "namespace": cluster.namespace},
        "spec": {
            "workload": {"definition": {"apiVersion": "v1", "kind": "ConfigMap"}},
            "status": {"customStatus": status},
            "schematic": {"cue": {"template": template}},
        },
    })
}

fn making(name: &str, made: &Value) -> Value {
    application(name, &[json!({"name": name, "type": "anything", "properties": {"made": made}})])
}

fn object(api_version: &str, kind: &str, namespace: Option<&str>, name: &str) -> Value {
    let mut object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}});
    if let Some(namespace) = namespace {
        object["metadata"]["namespace"] = json!(namespace);
    }
    object
}

async fn refused(cluster: &TestCluster, name: &str, words: &[&str]) {
    let status = || async {
        let found = cluster.application(name).await;
        found["status"]["conditions"].to_string().replace('\\', "")
    };
    until_or(&format!("{name}: {words:?}"), status, |said| words.iter().all(|word| said.contains(word)))
        .await;
}

#[tokio::test]
async fn nothing_is_made_elsewhere_and_no_rights_are_given() {
    let cluster = TestCluster::new().await;
    cluster.create(anything(&cluster)).await;
    let mut token = object("v1", "Secret", None, "token");
    token["type"] = json!(TOKEN);
    token["metadata"]["annotations"] = json!({"kubernetes.io/service-account.name": "vela-core"});
    let mut system_token = token.clone();
    system_token["metadata"]["namespace"] = json!("vela-system");
    let rbac = "rbac.authorization.k8s.io/v1";
    let (elsewhere, rights) = ("--allow-cross-namespace", "--allow-granting-rights");
    let cases = [
        ("map", object("v1", "ConfigMap", Some("kube-system"), "map"), "kube-system/map", elsewhere),
        ("space", object("v1", "Namespace", None, "space"), "Namespace space", elsewhere),
        ("token", token, "Secret", rights),
        ("system", system_token, "Secret vela-system/token", rights),
        ("role", object(rbac, "Role", None, "role"), "Role", rights),
        ("binding", object(rbac, "ClusterRoleBinding", None, "binding"), "ClusterRoleBinding", rights),
        // A kind of which only the cluster knows that it has no namespaces.
        (
            "tracker",
            object("core.oam.dev/v1beta1", "ResourceTracker", None, "tracker"),
            "whole cluster",
            elsewhere,
        ),
    ];
    for (name, made, words, flag) in &cases {
        cluster.create(making(name, made)).await;
        refused(&cluster, name, &[words, flag, "spec.components[0]"]).await;
        assert_eq!(cluster.get("v1", "ConfigMap", name).await, None, "nothing of {name} is made");
    }
    // What a person wrote is not held by it.
    for (name, ..) in &cases {
        cluster.delete(NEW, "Application", name).await;
        cluster.gone(NEW, "Application", name).await;
    }
}

#[tokio::test]
async fn a_configuration_stays_in_its_namespace_too() {
    let cluster = TestCluster::new().await;
    let workload = object("v1", "ConfigMap", Some("kube-system"), "words");
    let component = json!({"apiVersion": OLD, "kind": "Component", "metadata": {"name": "words"}, "spec": {"workload": workload}});
    cluster.create(component).await;
    cluster.create(configuration("shop", named(&["words"]))).await;
    complaint(&cluster, "shop", "ConfigMap kube-system/words").await;
    complaint(&cluster, "shop", "--allow-cross-namespace").await;
}

/// An operator's word, as in releases of KubeVela: each flag allows what it says and no more.
#[tokio::test]
async fn an_operator_may_allow_it() {
    let mut cluster = TestCluster::without_controllers().await;
    let bounds = Bounds { no_rights: false, ..Bounds::SAFE };
    let options = Options { bounds, ..Options::default() };
    cluster.start_as(Process { options, ..Process::default() });
    cluster.create(anything(&cluster)).await;
    let rbac = "rbac.authorization.k8s.io/v1";
    cluster.create(making("role", &object(rbac, "Role", None, "role"))).await;
    cluster.phase("role", "running").await;
    assert!(cluster.get(rbac, "Role", "role").await.is_some());
    cluster.create(making("roles", &object(rbac, "ClusterRole", None, "roles"))).await;
    refused(&cluster, "roles", &["ClusterRole roles", "--allow-cross-namespace"]).await;
}

/// The values of a Secret appear in no message, however a template turns them.
#[tokio::test]
async fn a_status_tells_nothing_of_a_secret() {
    let cluster = TestCluster::new().await;
    cluster.create(anything(&cluster)).await;
    let mut secret = object("v1", "Secret", None, "keys");
    secret["data"] = json!({"a": "c3dvcmRmaXNoLWFuZC1tb3JlLW9mLWl0"});
    cluster.create(making("keys", &secret)).await;
    cluster.phase("keys", "running").await;
    cluster.quiet().await;
    let status = cluster.application("keys").await["status"].to_string();
    assert!(!status.contains("s_w_o_r_d") && !status.contains("swordfish"), "{status}");
    assert!(status.contains("h_i_d_d_e_n") || status.contains("[hidden]"), "{status}");
}
