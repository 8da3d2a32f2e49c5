//! Harbors beside `vela-harbor`, which has no right but those that `vela install --harbor` gives its account.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use vela_e2e::Result;
use vela_e2e::expected::documents;
use vela_e2e::objects::{Cluster, text, until};
use vela_e2e::operator::Operator;
use vela_e2e::programs::beside;
use vela_e2e::target::{Target, is_real};

use super::{certificates, until_it_is};
use crate::{CONVERGE_DEADLINE, nothing_is_left, scenario};

const GOHARBOR: &str = "goharbor.io/v1beta1";
const HOME: &str = "harbor-operator";
const PARTS: [&str; 4] = ["core", "jobservice", "portal", "registry"];

fn condition<'a>(object: &'a Value, name: &str) -> &'a Value {
    let conditions = object["status"]["conditions"].as_array();
    conditions.into_iter().flatten().find(|one| one["type"] == name).unwrap_or(&Value::Null)
}

fn is_healthy(object: &Value) -> bool {
    ["InProgress", "Failed"].iter().all(|name| condition(object, name)["status"] == "False")
        && object["status"]["observedGeneration"] == object["metadata"]["generation"]
}

/// The objects of a recorded case.
fn case(name: &str) -> Result<Vec<Value>> {
    let folder = vela_testkit::cases::folder("conformance/harbor").join("cases").join(name);
    documents(&std::fs::read_to_string(folder.join("input.yaml"))?)
}

/// Waits until a Harbor or HarborCluster is healthy, while certificates are issued.
async fn healthy(cluster: &Cluster, kind: &str, name: &str) -> Result<Value> {
    until(&format!("{kind} {name} is healthy"), CONVERGE_DEADLINE, async || {
        certificates::issue(cluster).await.map_err(|error| error.to_string())?;
        let found = cluster.get(GOHARBOR, kind, name).await.map_err(|error| error.to_string())?;
        let found = found.ok_or("it is not there")?;
        if is_healthy(&found) { Ok(found) } else { Err(found["status"]["conditions"].to_string()) }
    })
    .await
}

/// A claim that is bound: where a scheduler runs, pods wait for that.
async fn bound_claim(target: &Target) -> Result<()> {
    if !is_real() {
        return Ok(());
    }
    let (name, namespace) = (format!("{}-blobs", target.namespace()), target.namespace());
    let volume = json!({
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "",
            "hostPath": {"path": "/none"}, "claimRef": {"namespace": namespace, "name": "blobs"},
        },
    });
    target.cluster().create(&volume).await
}

/// The pod templates of all parts, and the pods that there are of them.
async fn parts(cluster: &Cluster) -> Result<BTreeMap<&'static str, (Value, Vec<String>)>> {
    let pods = cluster.list("v1", "Pod").await?;
    let mut parts = BTreeMap::new();
    for part in PARTS {
        let name = format!("tiny-harbor-{part}");
        let found = cluster.get("apps/v1", "Deployment", &name).await?;
        let found = found.ok_or_else(|| format!("there is no Deployment {name}"))?;
        let replica_set = format!("{name}-");
        let mut of_part: Vec<String> = pods
            .iter()
            .filter(|pod| text(pod, "/metadata/ownerReferences/0/name").starts_with(&replica_set))
            .map(|pod| text(pod, "/metadata/name").to_owned())
            .collect();
        of_part.sort();
        parts.insert(part, (found["spec"]["template"].clone(), of_part));
    }
    Ok(parts)
}

/// The minimal Harbor, until its pods run; a changed setting rolls the pods that read it, and no others.
async fn harbor(target: &Target) -> Result<()> {
    let cluster = target.cluster();
    bound_claim(target).await?;
    for mut object in case("stack-minimal")? {
        if object["kind"] == "PersistentVolumeClaim" {
            object["spec"]["storageClassName"] = json!("");
        }
        cluster.create(&object).await?;
    }
    let token = "Certificate.cert-manager.io";
    until_it_is(cluster, (GOHARBOR, "Harbor", "tiny"), |harbor| {
        let failed = condition(harbor, "Failed");
        failed["reason"] == "dependencyStatus" && text(failed, "/message").starts_with(token)
    })
    .await?;
    healthy(cluster, "Harbor", "tiny").await?;
    let before = parts(cluster).await?;
    for (part, (_, pods)) in &before {
        if pods.is_empty() {
            return Err(format!("{part} has no pods").into());
        }
    }
    let secret = |cluster: Cluster| async move {
        let found = cluster.get("v1", "Secret", "tiny-harbor-registry-basicauth").await?;
        Ok::<_, vela_e2e::Failure>(found.ok_or("the registry has no password")?["data"].clone())
    };
    let password = secret(cluster.clone()).await?;
    cluster.patch(GOHARBOR, "Harbor", "tiny", &json!({"spec": {"logLevel": "debug"}})).await?;
    healthy(cluster, "Harbor", "tiny").await?;
    let after = until("the pods of core are others", CONVERGE_DEADLINE, async || {
        let after = parts(cluster).await.map_err(|error| error.to_string())?;
        let rolled = after["core"].1.iter().all(|pod| !before["core"].1.contains(pod));
        if rolled { Ok(after) } else { Err(format!("{:?}", after["core"].1)) }
    })
    .await?;
    // The file of the portal says nothing of the log.
    assert_eq!(before["portal"], after["portal"], "the portal rolled for nothing");
    assert_ne!(before["core"].0, after["core"].0);
    assert_eq!(password, secret(cluster.clone()).await?, "a password is made once");
    Ok(())
}

/// A Service of others stands where a Portal would have its own.
async fn foreign_child(cluster: &Cluster) -> Result<()> {
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "door-portal"},
        "spec": {"ports": [{"port": 9000}], "selector": {"app": "other"}},
    });
    cluster.create(&service).await?;
    let before = cluster.get("v1", "Service", "door-portal").await?;
    for object in case("part-portal")? {
        cluster.create(&object).await?;
    }
    let portal = until_it_is(cluster, (GOHARBOR, "Portal", "door"), |portal| {
        condition(portal, "Failed")["reason"] == "dependencySpec"
    })
    .await?;
    let said = text(condition(&portal, "Failed"), "/message");
    assert!(said.contains("Service") && said.contains("door-portal"), "{said}");
    assert_eq!(cluster.get("v1", "Service", "door-portal").await?, before);
    // When it goes, the Portal gets its own.
    cluster.delete("v1", "Service", "door-portal").await?;
    until_it_is(cluster, (GOHARBOR, "Portal", "door"), is_healthy).await.map(drop)
}

/// A HarborCluster whose services are outside makes a Harbor; what sets that up says why it cannot, as no Harbor answers.
async fn harbor_cluster(cluster: &Cluster) -> Result<()> {
    let object = json!({
        "apiVersion": GOHARBOR, "kind": "HarborCluster", "metadata": {"name": "hc"},
        "spec": {
            "version": "2.5.1", "externalURL": "https://hub.example.invalid", "harborAdminPasswordRef": "admin-pw",
            "expose": {"core": {"ingress": {"host": "hub.example.invalid"}}},
            "core": {"tokenIssuer": {"name": "token-issuer", "kind": "Issuer"}}, "jobservice": {}, "registry": {}, "portal": {},
            "cache": {"kind": "Redis", "spec": {"redis": {"host": "cache.example.net", "port": 6379}}},
            "database": {"kind": "PostgreSQL", "spec": {"postgresql": {
                "hosts": [{"host": "pg.example.net", "port": 5432}], "username": "u", "passwordRef": "pg-pw"}}},
            "storage": {"kind": "S3", "spec": {"s3": {"bucket": "b", "region": "r"}}},
        },
    });
    cluster.create(&object).await?;
    healthy(cluster, "HarborCluster", "hc").await?;
    let harbor = cluster.get(GOHARBOR, "Harbor", "hc-harbor").await?.ok_or("no Harbor was made")?;
    assert_eq!(harbor["metadata"]["ownerReferences"][0]["kind"], "HarborCluster");
    let configuration = json!({
        "apiVersion": GOHARBOR, "kind": "HarborConfiguration", "metadata": {"name": "login"},
        "spec": {"harborClusterRef": "hc", "configuration": {"selfRegistration": false}},
    });
    cluster.create(&configuration).await?;
    let failed = until_it_is(cluster, (GOHARBOR, "HarborConfiguration", "login"), |object| {
        object["status"]["status"] == "Fail"
    })
    .await?;
    let (reason, said) = (text(&failed, "/status/reason"), text(&failed, "/status/message"));
    assert!(!reason.is_empty() && said.contains("hub.example.invalid"), "{}", failed["status"]);
    until_it_is(cluster, (GOHARBOR, "HarborCluster", "hc"), |object| {
        condition(object, "ConfigurationReady")["status"] == "False"
    })
    .await
    .map(drop)
}

/// What was made goes with its owners; what users made stays until they delete it.
async fn deletion(target: &Target) -> Result<()> {
    let cluster = target.cluster();
    for (kind, name) in
        [("HarborConfiguration", "login"), ("HarborCluster", "hc"), ("Harbor", "tiny"), ("Portal", "door")]
    {
        cluster.delete(GOHARBOR, kind, name).await?;
    }
    for (api_version, kind, name) in [
        ("v1", "Secret", "admin-pw"),
        ("v1", "Secret", "pg-pw"),
        ("v1", "PersistentVolumeClaim", "blobs"),
        (certificates::CERT_MANAGER, "Issuer", "token-issuer"),
    ] {
        cluster.delete(api_version, kind, name).await.map_err(|error| format!("{kind} {name}: {error}"))?;
    }
    nothing_is_left(target).await
}

#[test]
fn harbors_live_with_the_rights_of_the_account() {
    scenario(async {
        let target = Target::open("harbor").await?;
        target.vela(&["install", "--harbor"], "")?.ok()?;
        certificates::install(target.cluster()).await?;
        let kubeconfig = target.program_account(HOME, "vela-harbor").await?;
        let program = beside("vela-harbor", "vela-harbor")?;
        let lease = format!("--leader-election-namespace={HOME}");
        let operator = Operator::start(&program, &kubeconfig, target.home(), &[&lease])?;
        let lived = async {
            harbor(&target).await?;
            foreign_child(target.cluster()).await?;
            harbor_cluster(target.cluster()).await?;
            deletion(&target).await
        };
        operator.judge(lived.await)
    });
}
