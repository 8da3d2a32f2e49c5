//! A HarborCluster makes its Harbor, asks other operators for what is to run in the cluster, and says which of them is missing.

use serde_json::{Value, json};
use vela_harbor::owner::Owner;
use vela_harbor::parts::{self, Content, Error, Found, Node, Settings, kinds};

use super::operator::{Cluster, GOHARBOR, NAMESPACE, condition, foreign_crd, is_ready};
use super::stage::{documents, split, with_defaults};

const OPERATORS: [(kinds::Kind, &str); 3] = [
    (kinds::REDIS_FAILOVER, "redisfailovers"),
    (kinds::POSTGRESQL, "postgresqls"),
    (kinds::TENANT, "tenants"),
];

/// A recorded input of the conversion.
pub(crate) fn input(name: &str) -> Value {
    let folder = vela_testkit::cases::folder("conformance/harbor").join("conversion");
    let mut object = split(&folder.join(format!("HarborCluster-{name}.yaml"))).remove(0)["object"].take();
    object["metadata"]["namespace"] = json!(NAMESPACE);
    for member in ["/spec/cache/spec/redisFailover", "/spec/database/spec/zlandoPostgreSql"] {
        if let Some(member) = object.pointer_mut(member) {
            member["operatorVersion"] = json!("1.0.0");
        }
    }
    object
}

fn children(object: Value, found: &Found) -> Result<Vec<Node>, Error> {
    parts::children(&Owner::new(with_defaults(object)).unwrap(), found, &Settings::default())
}

fn object<'a>(nodes: &'a [Node], kind: &str) -> &'a Value {
    nodes.iter().find(|node| node.id.kind == kind).unwrap().object().unwrap()
}

#[test]
fn services_outside_are_those_of_the_harbor() {
    let mut cluster = input("external");
    cluster["spec"]["storage"]["spec"]["s3"]["certificateRef"] = json!("authority");
    cluster["spec"]["storage"]["spec"]["redirect"] = json!({"enable": false});
    let nodes = children(cluster, &Found::new()).unwrap();
    assert_eq!(nodes.len(), 1, "{nodes:?}");
    assert_eq!((nodes[0].id.kind, nodes[0].id.name.as_str()), ("Harbor", "hc-harbor"));
    let spec = &object(&nodes, "Harbor")["spec"];
    assert_eq!(spec["redis"], json!({"host": "cache.example.net", "port": 6379}));
    assert_eq!(spec["database"]["hosts"], json!([{"host": "pg.example.net"}]));
    assert_eq!(spec["imageChartStorage"]["s3"]["bucket"], "b");
    assert_eq!(spec["imageChartStorage"]["redirect"], json!({"disable": true}));
    for part in ["core", "jobservice"] {
        assert_eq!(spec[part]["certificateRefs"], json!(["authority"]), "{part}");
    }
    for field in ["cache", "storage"] {
        assert!(spec.get(field).is_none(), "{field}");
    }
    let files = children(input("filesystem"), &Found::new()).unwrap();
    let claim = "/spec/imageChartStorage/filesystem/registryPersistentVolume/claimName";
    assert_eq!(object(&files, "Harbor").pointer(claim).unwrap(), "x");
}

#[test]
fn services_in_the_cluster_are_asked_for_by_their_kinds() {
    let nodes = children(input("incluster"), &Found::new()).unwrap();
    for ((_, kind), _) in OPERATORS {
        let node = nodes.iter().find(|node| node.id.kind == kind).unwrap();
        assert!(node.remedy.is_some_and(|remedy| remedy.contains("install")), "{kind}");
    }
    let database = object(&nodes, "postgresql");
    assert_eq!(database["metadata"]["name"], "postgresql-n-hc");
    assert_eq!(database["spec"]["teamId"], "postgresql-n");
    assert_eq!(database["spec"]["databases"]["notarysigner"], "harbor");
    let pool = &object(&nodes, "Tenant")["spec"]["pools"][0];
    assert_eq!((&pool["servers"], &pool["volumesPerServer"]), (&json!(2), &json!(2)));
    // Without a repository of their own, other operators choose their images.
    assert!(object(&nodes, "Tenant")["spec"].get("image").is_none());
    let spec = &object(&nodes, "Harbor")["spec"];
    assert_eq!(spec["redis"]["sentinelMasterSet"], "mymaster");
    assert_eq!(spec["database"]["hosts"][0]["host"], "postgresql-n-hc.n.svc");
    assert_eq!(spec["imageChartStorage"]["s3"]["regionendpoint"], "http://minio-hc-hl.n.svc:9000");
    let harbor = nodes.last().unwrap();
    let asked = |kind: &str| harbor.needs.iter().any(|id| id.kind == kind);
    assert!(asked("postgresql") && asked("StatefulSet") && asked("Job"), "{:?}", harbor.needs);
}

#[test]
fn an_exposed_storage_and_a_repository_are_used() {
    let mut cluster = input("incluster");
    cluster["spec"]["imageSource"] = json!({"repository": "registry.example.net/mirror"});
    cluster["spec"]["storage"]["spec"]["minIO"]["redirect"] = json!({"enable": true, "expose": {"ingress": {"host": "files.example.net"}, "tls": {"certificateRef": "files"}}});
    cluster["spec"]["storage"]["spec"]["minIO"]["secretRef"] = json!("keys");
    let missing = children(cluster.clone(), &Found::new()).unwrap_err().to_string();
    assert!(missing.contains("spec.storage.spec.minIO.secretRef names Secret keys"), "{missing}");
    let mut found = Found::new();
    found.add(json!({"kind": "Secret", "metadata": {"name": "keys"}, "stringData": {"accesskey": "a", "secretkey": "s"}}));
    let nodes = children(cluster, &found).unwrap();
    let image = &object(&nodes, "Tenant")["spec"]["image"];
    assert_eq!(image, "registry.example.net/mirror/minio:RELEASE.2021-10-27T16-29-42Z");
    let ingress = object(&nodes, "Ingress");
    assert_eq!(ingress["spec"]["rules"][0]["host"], "files.example.net");
    let s3 = &object(&nodes, "Harbor")["spec"]["imageChartStorage"]["s3"];
    assert_eq!((&s3["regionendpoint"], &s3["accesskey"]), (&json!("https://files.example.net"), &json!("a")));
    assert_eq!(s3["certificateRef"], "files");
    let copies = nodes
        .iter()
        .any(|node| matches!(&node.content, Content::Copied(_, keys) if keys[0].from.name == "keys"));
    assert!(copies, "{nodes:?}");
}

#[test]
fn a_name_that_is_too_long_for_the_parts_is_said_first() {
    let mut cluster = input("external");
    cluster["metadata"]["name"] = json!("a".repeat(30));
    let error = children(cluster, &Found::new()).unwrap_err();
    assert!(matches!(error, Error::NameTooLong { .. }), "{error}");
}

async fn with_what_it_names(cluster: &Cluster) {
    let case = documents("stack-minimal", "input.yaml");
    for mut object in case.into_iter().filter(|object| object["kind"] != "Harbor") {
        object["metadata"]["namespace"] = json!(NAMESPACE);
        cluster.create(object).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_with_services_outside_becomes_healthy() {
    let cluster = Cluster::begin().await;
    with_what_it_names(&cluster).await;
    cluster.create(input("external")).await;
    let of = (GOHARBOR, "HarborCluster", "hc");
    let waits = |object: &Value| condition(object, "Failed")["message"] == "Harbor.goharbor.io n/hc-harbor";
    let waiting = cluster.until(of, waits).await;
    assert_eq!(condition(&waiting, "Failed")["reason"], "dependencyStatus");
    assert_eq!(condition(&waiting, "DatabaseReady")["status"], "True");
    assert_eq!(condition(&waiting, "ServiceReady")["status"], "Unknown");
    assert_eq!(waiting["status"]["status"], "provisioning");
    cluster.certificate_is_ready("hc-harbor-harbor-core-tokencert").await;
    let healthy = cluster.until(of, is_ready).await;
    assert_eq!(healthy["status"]["status"], "healthy");
    assert!(healthy["status"]["revision"].as_i64() > waiting["status"]["revision"].as_i64());
    // A change of the cluster is one of its Harbor.
    cluster.patch(GOHARBOR, "HarborCluster", "hc", false, json!({"spec": {"logLevel": "debug"}})).await;
    cluster.until((GOHARBOR, "Harbor", "hc-harbor"), |harbor| harbor["spec"]["logLevel"] == "debug").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_operators_are_named_and_used_once_installed() {
    let cluster = Cluster::begin().await;
    with_what_it_names(&cluster).await;
    cluster.create(input("incluster")).await;
    let of = (GOHARBOR, "HarborCluster", "hc");
    let failed = |object: &Value| condition(object, "Failed")["reason"] == "dependencySpec";
    let object = cluster.until(of, failed).await;
    assert_eq!(object["status"]["status"], "unhealthy");
    for (name, kind, remedy) in [
        ("CacheReady", "RedisFailover.databases.spotahome.com", "spec.cache.kind Redis"),
        ("DatabaseReady", "postgresql.acid.zalan.do", "spec.database.kind PostgreSQL"),
        ("StorageReady", "Tenant.minio.min.io", "another spec.storage.kind"),
    ] {
        let shown = condition(&object, name);
        let message = shown["message"].as_str().unwrap();
        assert_eq!(shown["status"], "False", "{shown}");
        assert!(message.contains(kind) && message.contains(remedy), "{message}");
    }
    assert_eq!(condition(&object, "ServiceReady")["status"], "Unknown");
    assert!(cluster.get(GOHARBOR, "Harbor", "hc-harbor").await.is_none());

    for ((api_version, kind), plural) in OPERATORS {
        cluster.create(foreign_crd(api_version, kind, plural)).await;
    }
    play_operators(&cluster).await;
    let harbor = cluster.until((GOHARBOR, "Harbor", "hc-harbor"), |_| true).await;
    let password = harbor["spec"]["database"]["passwordRef"].as_str().unwrap();
    let secret = cluster.get("v1", "Secret", password).await.unwrap();
    // The password that the database operator made.
    assert_eq!(secret["data"]["postgresql-password"], "c2VjcmV0");
    let creds = cluster.get("v1", "Secret", "minio-hc-creds").await.unwrap();
    let key = cluster.get("v1", "Secret", "minio-hc").await.unwrap();
    assert_eq!(creds["data"]["secretkey"], key["data"]["secret"]);
    cluster.certificate_is_ready("hc-harbor-harbor-core-tokencert").await;
    let healthy = cluster.until(of, is_ready).await;
    assert_eq!(healthy["status"]["status"], "healthy");
}

/// Does what the three operators do.
async fn play_operators(cluster: &Cluster) {
    let (api_version, kind) = kinds::POSTGRESQL;
    cluster.until((api_version, kind, "postgresql-n-hc"), |_| true).await;
    let status = json!({"status": {"PostgresClusterStatus": "Running"}});
    cluster.patch(api_version, kind, "postgresql-n-hc", true, status).await;
    let name = "harbor.postgresql-n-hc.credentials.postgresql.acid.zalan.do";
    let metadata = json!({"name": name, "namespace": NAMESPACE});
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": {"username": "harbor", "password": "secret"}});
    cluster.create(secret).await;
    let (api_version, kind) = kinds::TENANT;
    cluster.until((api_version, kind, "minio-hc"), |_| true).await;
    cluster
        .patch(api_version, kind, "minio-hc", true, json!({"status": {"currentState": "Initialized"}}))
        .await;
    let (api_version, kind) = kinds::REDIS_FAILOVER;
    cluster.until((api_version, kind, "hc-redis"), |_| true).await;
    for (kind, name) in [("StatefulSet", "rfr-hc-redis"), ("Deployment", "rfs-hc-redis")] {
        let labels = json!({"app": name});
        let mut spec = json!({
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "redis", "image": "redis"}]}},
        });
        if kind == "StatefulSet" {
            spec["serviceName"] = json!(name);
        }
        let metadata = json!({"name": name, "namespace": NAMESPACE});
        cluster
            .create(json!({"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": spec}))
            .await;
    }
}
