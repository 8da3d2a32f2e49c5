//! A namespace that asks for a project, beside `vela-harbor` with the rights of its account and a Harbor that is played.

use k8s_openapi::ByteString;
use serde_json::{Value, json};
use vela_e2e::Result;
use vela_e2e::objects::{Cluster, text, until};
use vela_e2e::operator::Operator;
use vela_e2e::programs::beside;
use vela_e2e::target::Target;

use super::registry::Registry;
use super::{until_gone, until_it_is};
use crate::{CONVERGE_DEADLINE, nothing_is_left, scenario};

const GOHARBOR: &str = "goharbor.io/v1beta1";
const HOME: &str = "harbor-operator";
const SERVER: &str = "HarborServerConfiguration";
const BINDING: (&str, &str, &str) = (GOHARBOR, "PullSecretBinding", "harbor-project");
const PULL_SECRET: (&str, &str, &str) = ("v1", "Secret", "harbor-project-pull");
const ACCOUNT: (&str, &str, &str) = ("v1", "ServiceAccount", "default");

/// The Harbor as the cluster knows it. Others use the cluster, so it is no default.
async fn connect(target: &Target, registry: &Registry) -> Result<()> {
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "access"},
        "stringData": {"accessKey": "admin", "accessSecret": "pass-word-77"},
    });
    target.cluster().create(&secret).await?;
    let credential = json!({"namespace": target.namespace(), "accessSecretRef": "access"});
    let spec = json!({"serverURL": registry.url(), "version": "2.5.1", "accessCredential": credential});
    let server = json!({
        "apiVersion": GOHARBOR, "kind": SERVER, "metadata": {"name": target.namespace()}, "spec": spec,
    });
    target.cluster().create(&server).await
}

async fn ask(target: &Target, project: Value) -> Result<()> {
    let mut annotations = json!({"goharbor.io/project": project, "goharbor.io/harbor": target.namespace()});
    if project.is_null() {
        annotations["goharbor.io/robot"] = Value::Null;
    }
    let patch = json!({"metadata": {"annotations": annotations}});
    target.cluster().patch("v1", "Namespace", target.namespace(), &patch).await.map(drop)
}

/// Waits until pods of the namespace can pull with what the Harbor took; the binding.
async fn bound(target: &Target, registry: &Registry) -> Result<Value> {
    let cluster = target.cluster();
    let binding = until_it_is(cluster, BINDING, |binding| binding["status"]["status"] == "ready").await?;
    let spec = json!({
        "harborServerConfig": target.namespace(), "projectId": "1", "robotId": "1", "serviceAccount": "default",
    });
    assert_eq!(binding["spec"], spec);
    let (api_version, kind, name) = PULL_SECRET;
    let secret = cluster.get(api_version, kind, name).await?.ok_or("the binding made no Secret")?;
    let file: ByteString = serde_json::from_value(secret["data"][".dockerconfigjson"].clone())?;
    let file: Value = serde_json::from_slice(&file.0)?;
    let url = registry.url();
    let login = &file["auths"][url.trim_start_matches("http://")];
    let stored = registry.stored();
    let robot = stored.robots.first().ok_or("the Harbor has no robot account")?;
    assert!(!robot.secret.is_empty());
    assert_eq!((text(login, "/username"), text(login, "/password")), (&*robot.login(), &*robot.secret));
    until_it_is(cluster, ACCOUNT, |account| {
        let named = account["imagePullSecrets"].as_array();
        named.into_iter().flatten().filter(|secret| secret["name"] == name).count() == 1
    })
    .await?;
    let project = &stored.projects[0];
    until_it_is(cluster, ("v1", "Namespace", target.namespace()), |namespace| {
        let noted = &namespace["metadata"]["annotations"];
        noted["goharbor.io/project"] == project.as_str() && noted["goharbor.io/robot"] == "1"
    })
    .await?;
    Ok(binding)
}

/// An operator that is killed and comes back finds what was made, and a binding that went meanwhile is made again.
async fn killed(
    target: &Target,
    registry: &Registry,
    operator: &mut Operator,
    start: impl Fn() -> Result<Operator>,
) -> Result<()> {
    let before = bound(target, registry).await?;
    operator.judge(Ok(()))?;
    operator.kill();
    let (api_version, kind, name) = BINDING;
    target.cluster().delete(api_version, kind, name).await?;
    *operator = start()?;
    let is_new = |binding: &Value| binding["metadata"]["uid"] != before["metadata"]["uid"];
    until_it_is(target.cluster(), BINDING, is_new).await?;
    bound(target, registry).await.map(drop)
}

/// A binding of its name that people made stays as it is, and the namespace is told why nothing is bound.
async fn foreign_binding(target: &Target, registry: &Registry) -> Result<()> {
    let cluster = target.cluster();
    ask(target, Value::Null).await?;
    until_gone(cluster, BINDING).await?;
    until_gone(cluster, PULL_SECRET).await?;
    let (api_version, kind, name) = BINDING;
    let spec = json!({
        "harborServerConfig": target.namespace(), "projectId": "1", "robotId": "1", "serviceAccount": "other",
    });
    let of_people =
        json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, "spec": spec});
    cluster.create(&of_people).await?;
    ask(target, json!("*")).await?;
    let said = format!("cannot change PullSecretBinding {}/{name}", target.namespace());
    is_said(&cluster.within("default"), &said).await?;
    let found = cluster.get(api_version, kind, name).await?.ok_or("the binding of people is gone")?;
    assert_eq!((&found["spec"], &found["metadata"]["ownerReferences"]), (&spec, &Value::Null));
    cluster.delete(api_version, kind, name).await?;
    bound(target, registry).await.map(drop)
}

/// Waits until an event says this; those about namespaces lie in `default`.
async fn is_said(events: &Cluster, words: &str) -> Result<()> {
    until("an event says what is in the way", CONVERGE_DEADLINE, async || {
        let all = events.list("events.k8s.io/v1", "Event").await.map_err(|error| error.to_string())?;
        match all.iter().any(|event| text(event, "/note").contains(words)) {
            true => Ok(()),
            false => Err(format!("none of {} events says {words}", all.len())),
        }
    })
    .await
}

#[test]
fn a_namespace_has_a_project_through_kill_and_foreigners() {
    scenario(async {
        let target = Target::open("projects").await?;
        target.vela(&["install", "--harbor"], "")?.ok()?;
        let kubeconfig = target.program_account(HOME, "vela-harbor").await?;
        let program = beside("vela-harbor", "vela-harbor")?;
        let lease = format!("--leader-election-namespace={HOME}");
        let start = || Operator::start(&program, &kubeconfig, target.home(), &[&lease]);
        let registry = Registry::open().await?;
        let mut operator = start()?;
        let lived = async {
            connect(&target, &registry).await?;
            ask(&target, json!("*")).await?;
            killed(&target, &registry, &mut operator, start).await?;
            foreign_binding(&target, &registry).await?;
            // What is in the Harbor stays there, and was made once.
            ask(&target, Value::Null).await?;
            until_gone(target.cluster(), BINDING).await?;
            assert_eq!(registry.stored().asked, ["POST projects", "POST robots"]);
            target.cluster().delete(GOHARBOR, SERVER, target.namespace()).await?;
            target.cluster().delete("v1", "Secret", "access").await?;
            nothing_is_left(&target).await
        };
        let lived = lived.await;
        operator.judge(lived)
    });
}
