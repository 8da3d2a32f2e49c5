//! Alice, Bob and an unknown author on a real control plane: an application does what its author could, as RBAC has it.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use vela_e2e::Result;
use vela_e2e::objects::{Cluster, until};
use vela_e2e::programs::programs;
use vela_e2e::target::Target;

use crate::{CONVERGE_DEADLINE, GONE_DEADLINE, on_a_control_plane};

const APP: (&str, &str) = ("core.oam.dev/v1beta1", "Application");
const RBAC: &str = "rbac.authorization.k8s.io/v1";
const VERBS: &[&str] = &["get", "list", "create", "update", "patch", "delete"];

/// A `vela-core` under its own account that acts for authors; it ends with this.
struct Core {
    child: Child,
    log: std::path::PathBuf,
}

impl Drop for Core {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            let log = std::fs::read_to_string(&self.log).unwrap_or_default();
            eprintln!(
                "--- end of the log of vela-core\n{}",
                log.lines().rev().take(30).collect::<Vec<_>>().join("\n")
            );
        }
    }
}

/// A name that no other scenario has.
fn named(target: &Target, what: &str) -> String {
    format!("{}-{what}", target.namespace())
}

/// Installs what authors need, registers the webhooks for these namespaces, and starts the controller.
async fn start(target: &Target, namespaces: &[&str]) -> Result<Core> {
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let url = format!("https://127.0.0.1:{port}");
    let words = ["install", "--print", "--webhook-url", &url, "--authenticate-application"];
    let printed = target.vela(&words, "")?.ok()?.out;
    let mut installed = 0;
    for document in printed.split("\n---\n") {
        let mut object: Value = serde_saphyr::from_str(document)?;
        let hooks = object["kind"].as_str().is_some_and(|kind| kind.ends_with("WebhookConfiguration"));
        if hooks {
            let names =
                json!([{"key": "kubernetes.io/metadata.name", "operator": "In", "values": namespaces}]);
            for webhook in object["webhooks"].as_array_mut().into_iter().flatten() {
                for rule in webhook["rules"].as_array_mut().into_iter().flatten() {
                    // They are in no namespace, and every scenario has some.
                    if let Some(resources) = rule["resources"].as_array_mut() {
                        resources.retain(|resource| resource != "resourcetrackers");
                    }
                }
                webhook["namespaceSelector"] = json!({"matchExpressions": names});
            }
            let authors = object["metadata"]["name"] == "vela-core-authors";
            object["metadata"]["name"] = json!(named(target, if authors { "authors" } else { "all" }));
        } else if object["metadata"]["name"] == "vela-core-impersonate" {
            // Another scenario that installs without authors takes the usual one away.
            let name = named(target, "impersonate");
            if object["roleRef"].is_object() {
                object["roleRef"]["name"] = json!(name);
            }
            object["metadata"]["name"] = json!(name);
        } else {
            continue;
        }
        target.cluster().apply(&object).await?;
        installed += 1;
    }
    assert_eq!(installed, 6, "two roles' objects, four configurations");
    let account = target.account("vela-system", "vela-core").await?;
    let secret = format!("--webhook-cert-secret={}", target.namespace());
    let log = target.home().join("vela-core.log");
    let child = Command::new(&programs()?.core)
        .env_remove("KUBECONFIG")
        .env("HOME", target.home())
        .arg("--kubeconfig")
        .arg(account)
        .args(["--metrics-addr=0", "--health-addr=0", "--use-webhook", "--authenticate-application"])
        .args([&format!("--webhook-port={port}"), &secret, "--webhook-hosts=127.0.0.1"])
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(&log)?)
        .spawn()?;
    Ok(Core { child, log })
}

/// Gives a person these resources of the namespace, and applications.
async fn grant(admin: &Cluster, user: &str, resources: &[&str]) -> Result<()> {
    let rules = json!([
        {"apiGroups": ["core.oam.dev"], "resources": ["applications"], "verbs": VERBS},
        {"apiGroups": ["", "apps"], "resources": resources, "verbs": VERBS},
    ]);
    grant_rules(admin, user, &rules).await
}

async fn grant_rules(admin: &Cluster, user: &str, rules: &Value) -> Result<()> {
    let name = format!("{user}-may");
    let (namespace, group) = (admin.namespace(), "rbac.authorization.k8s.io");
    admin
        .apply(&json!({"apiVersion": RBAC, "kind": "Role", "metadata": {"name": name, "namespace": namespace}, "rules": rules}))
        .await?;
    admin
        .apply(&json!({"apiVersion": RBAC, "kind": "RoleBinding", "metadata": {"name": name, "namespace": namespace},
            "roleRef": {"apiGroup": group, "kind": "Role", "name": name},
            "subjects": [{"apiGroup": group, "kind": "User", "name": user}]}))
        .await?;
    Ok(())
}

fn component(name: &str, image: &str) -> Value {
    json!({"name": name, "type": "webservice", "properties": {"image": image}})
}

/// An application of a Deployment, a Secret and a ClusterRole.
fn application(name: &str, image: &str, objects: &[Value]) -> Value {
    let mut components = vec![component(&format!("{name}-web"), image)];
    components.extend(objects.iter().map(|object| {
        json!({"name": object["kind"].as_str().unwrap_or_default().to_lowercase(), "type": "k8s-objects",
            "properties": {"objects": [object]}})
    }));
    json!({"apiVersion": APP.0, "kind": APP.1, "metadata": {"name": name}, "spec": {"components": components}})
}

fn secret() -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "keys"}, "stringData": {"key": "value"}})
}

async fn reports(cluster: &Cluster, name: &str, words: &[&str]) -> Result<()> {
    until(&format!("{name} says {words:?}"), CONVERGE_DEADLINE, async || {
        let found = cluster.get(APP.0, APP.1, name).await.map_err(|error| error.to_string())?;
        let said = found.unwrap_or_default()["status"]["conditions"].to_string().replace('\\', "");
        if words.iter().all(|word| said.contains(word)) { Ok(()) } else { Err(said) }
    })
    .await
}

async fn there(cluster: &Cluster, (version, kind): (&str, &str), name: &str, there: bool) -> Result<()> {
    until(&format!("{kind} {name} is there: {there}"), GONE_DEADLINE, async || {
        let found = cluster.get(version, kind, name).await.map_err(|error| error.to_string())?;
        if found.is_some() == there {
            Ok(())
        } else {
            Err(format!("{:?}", found.map(|found| found["status"].clone())))
        }
    })
    .await
}

async fn stamp(cluster: &Cluster, name: &str) -> Result<String> {
    let found = cluster.get(APP.0, APP.1, name).await?.unwrap_or_default();
    Ok(vela_e2e::objects::text(&found, "/metadata/annotations/app.oam.dev~1username").to_owned())
}

#[test]
#[ignore = "needs a real control plane: cargo xtask e2e --real"]
fn an_application_does_what_its_author_could() {
    on_a_control_plane(async {
        let target = Target::alone("authors").await?;
        let admin = target.cluster();
        let (own, going, outside) = (
            target.namespace(),
            format!("{}-going", target.namespace()),
            format!("{}-out", target.namespace()),
        );
        for name in [&going, &outside] {
            admin
                .create(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}))
                .await?;
        }
        let _core = start(&target, &[own, &going]).await?;
        grant(admin, "alice", &["deployments"]).await?;
        grant(admin, "bob", &["deployments", "secrets"]).await?;
        let (alice, bob) = (target.person("alice", &["dev"]).await?, target.person("bob", &[]).await?);
        alice_is_refused_what_she_may_not(&target, &alice).await?;
        bob_takes_over_and_loses_his_right(&target, &bob).await?;
        a_forged_revision_gives_nothing(&target, &alice).await?;
        an_unknown_author_is_not_executed(&admin.within(&outside)).await?;
        a_namespace_goes_with_its_rights(&admin.within(&going), &alice.within(&going)).await?;
        for kind in ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"] {
            for what in ["all", "authors"] {
                admin.delete("admissionregistration.k8s.io/v1", kind, &named(&target, what)).await?;
            }
        }
        admin.delete(RBAC, "ClusterRoleBinding", &named(&target, "impersonate")).await?;
        admin.within("vela-system").delete("v1", "Secret", own).await
    });
}

async fn alice_is_refused_what_she_may_not(target: &Target, alice: &Cluster) -> Result<()> {
    let role = json!({"apiVersion": RBAC, "kind": "ClusterRole", "metadata": {"name": target.namespace()}, "rules": []});
    let mut shop = application("shop", "nginx:1", &[secret(), role]);
    // Admission replaces a claimed author.
    shop["metadata"]["annotations"] = json!({"app.oam.dev/username": "bob"});
    until("the webhooks answer", CONVERGE_DEADLINE, async || {
        alice.apply(&shop).await.map(|_| ()).map_err(|error| error.to_string())
    })
    .await?;
    assert_eq!(stamp(alice, "shop").await?, "alice");
    there(alice, ("apps/v1", "Deployment"), "shop-web", true).await?;
    let namespace = format!("in the namespace \"{}\"", target.namespace());
    reports(
        alice,
        "shop",
        &["Secret", "User \"alice\" cannot", "resource \"secrets\"", &namespace, "give alice"],
    )
    .await?;
    reports(alice, "shop", &["resource \"clusterroles\"", "at the cluster scope"]).await?;
    assert_eq!(target.cluster().get("v1", "Secret", "keys").await?, None);
    assert_eq!(target.cluster().get(RBAC, "ClusterRole", target.namespace()).await?, None);
    Ok(())
}

async fn bob_takes_over_and_loses_his_right(target: &Target, bob: &Cluster) -> Result<()> {
    let admin = target.cluster();
    let spec = application("shop", "nginx:2", &[secret()])["spec"].clone();
    bob.replace_spec(APP.0, APP.1, "shop", &spec).await?;
    assert_eq!(stamp(bob, "shop").await?, "bob");
    there(bob, ("v1", "Secret"), "keys", true).await?;
    until("the application runs", CONVERGE_DEADLINE, async || {
        let found =
            bob.get(APP.0, APP.1, "shop").await.map_err(|error| error.to_string())?.unwrap_or_default();
        if found["status"]["status"] == "running" { Ok(()) } else { Err(found["status"].to_string()) }
    })
    .await?;
    grant(admin, "bob", &["secrets"]).await?;
    // A role counts from the moment the authorizer has seen it.
    until("bob has lost the right", CONVERGE_DEADLINE, async || {
        match bob.get("apps/v1", "Deployment", "shop-web").await {
            Err(error) if error.to_string().contains("forbidden") => Ok(()),
            other => Err(format!("{other:?}")),
        }
    })
    .await?;
    bob.delete(APP.0, APP.1, "shop").await?;
    reports(bob, "shop", &["CannotDelete", "User \"bob\" cannot delete resource \"deployments\""]).await?;
    assert!(admin.get("apps/v1", "Deployment", "shop-web").await?.is_some());
    // The way the condition shows: a user who has the right writes it.
    grant(admin, "carol", &["deployments", "secrets"]).await?;
    let carol = target.person("carol", &[]).await?;
    let touched = json!({"apiVersion": APP.0, "kind": APP.1,
        "metadata": {"name": "shop", "annotations": {"authored": "by carol"}}});
    carol.apply(&touched).await?;
    there(admin, APP, "shop", false).await?;
    there(admin, ("apps/v1", "Deployment"), "shop-web", false).await
}

/// A user who may write revisions and rollouts only, and kinds that make others, makes nothing by them.
async fn a_forged_revision_gives_nothing(target: &Target, alice: &Cluster) -> Result<()> {
    let admin = target.cluster();
    let kinds = ["applicationrevisions", "approllouts"];
    grant_rules(
        admin,
        "mallory",
        &json!([
            {"apiGroups": ["core.oam.dev"], "resources": kinds, "verbs": VERBS},
            {"apiGroups": ["standard.oam.dev"], "resources": ["podspecworkloads"], "verbs": VERBS},
        ]),
    )
    .await?;
    let mallory = target.person("mallory", &[]).await?;
    grant(admin, "alice", &["deployments"]).await?;
    let mut pay = application("pay", "nginx:1", &[]);
    pay["metadata"]["annotations"] = json!({"app.oam.dev/rollout-template": "true"});
    alice.apply(&pay).await?;
    there(admin, ("core.oam.dev/v1beta1", "ApplicationRevision"), "pay-v1", true).await?;
    let copied =
        admin.get("core.oam.dev/v1beta1", "ApplicationRevision", "pay-v1").await?.unwrap_or_default();
    let spec: Value = serde_json::from_str(&copied["spec"].to_string().replace("nginx:1", "evil:1"))?;
    let forged = json!({"apiVersion": "core.oam.dev/v1beta1", "kind": "ApplicationRevision",
        "metadata": {"name": "pay-v7", "labels": copied["metadata"]["labels"]}, "spec": spec});
    let refused = until("the forged revision is refused", CONVERGE_DEADLINE, async || {
        match mallory.apply(&forged).await {
            Err(error) if error.to_string().contains("records of vela-core") => Ok(()),
            other => Err(format!("{:?}", other.map(|_| ()))),
        }
    });
    refused.await?;
    let plan = json!({"targetSize": 1, "rolloutBatches": [{"replicas": 1}]});
    let rollout = json!({"apiVersion": "core.oam.dev/v1beta1", "kind": "AppRollout", "metadata": {"name": "pay"},
        "spec": {"targetAppRevisionName": "pay-v1", "rolloutPlan": plan}});
    mallory.apply(&rollout).await?;
    let containers = json!([{"name": "a", "image": "evil:1", "securityContext": {"privileged": true}}]);
    let pods = json!({"apiVersion": "standard.oam.dev/v1alpha1", "kind": "PodSpecWorkload", "metadata": {"name": "pods"},
        "spec": {"replicas": 1, "podSpec": {"containers": containers}}});
    mallory.apply(&pods).await?;
    for (version, kind, name) in [
        ("core.oam.dev/v1beta1", "AppRollout", "pay"),
        ("standard.oam.dev/v1alpha1", "PodSpecWorkload", "pods"),
    ] {
        until("it is told whose right is missing", CONVERGE_DEADLINE, async || {
            let found =
                admin.get(version, kind, name).await.map_err(|error| error.to_string())?.unwrap_or_default();
            let status = found["status"].to_string();
            if status.contains("mallory") && status.contains("cannot") { Ok(()) } else { Err(status) }
        })
        .await?;
    }
    assert_eq!(admin.get("apps/v1", "Deployment", "pods").await?, None);
    assert_eq!(admin.get("apps/v1", "Deployment", "pay-web-v1").await?, None);
    mallory.delete("core.oam.dev/v1beta1", "AppRollout", "pay").await?;
    alice.delete(APP.0, APP.1, "pay").await?;
    there(admin, APP, "pay", false).await
}

/// Where admission is not registered the author of a write is unknown.
async fn an_unknown_author_is_not_executed(outside: &Cluster) -> Result<()> {
    outside.create(&application("orphan", "nginx:1", &[])).await?;
    reports(outside, "orphan", &["not executed", "app.oam.dev/username"]).await?;
    assert_eq!(outside.get("apps/v1", "Deployment", "orphan-web").await?, None);
    Ok(())
}

async fn a_namespace_goes_with_its_rights(admin: &Cluster, alice: &Cluster) -> Result<()> {
    grant(admin, "alice", &["deployments"]).await?;
    until("the application is written", CONVERGE_DEADLINE, async || {
        alice
            .apply(&application("brief", "nginx:1", &[]))
            .await
            .map(|_| ())
            .map_err(|error| error.to_string())
    })
    .await?;
    there(admin, ("apps/v1", "Deployment"), "brief-web", true).await?;
    admin.delete("v1", "Namespace", admin.namespace()).await?;
    there(admin, ("v1", "Namespace"), admin.namespace(), false).await
}
