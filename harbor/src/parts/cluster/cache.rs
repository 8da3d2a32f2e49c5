//! The cache of a HarborCluster: Redis that is named, or a RedisFailover of the operator of spotahome.

use serde_json::{Value, json};

use super::super::node::{Generated, Id, Node, Password, kinds};
use super::super::secrets::REDIS;
use super::image::{claim, image, pull};
use super::service::{Cluster, LABEL, Service};
use crate::error::Error;
use crate::field::Field;

pub(super) const CONDITION: &str = "CacheReady";

const REMEDY: &str = "install the Redis operator of spotahome, or create the HarborCluster anew with spec.cache.kind Redis \
    and a server of your own in spec.cache.spec.redis";
/// Where sentinels listen, and what they call the servers they watch.
const SENTINELS: (i64, &str) = (26379, "mymaster");
const IMAGE: (&str, &str) = ("redis", "5.0-alpine");
const SIZE: &str = "1Gi";
const PASSWORD: Password = Password { length: 32, digits: 8, specials: 0 };

pub(super) fn service(cluster: &Cluster<'_>) -> Result<Service, Error> {
    match cluster.spec("cache.kind").text()? {
        "Redis" => Ok(Service::outside(cluster.chosen("cache", "redis")?.value().clone())),
        "RedisFailover" => in_cluster(cluster, &cluster.chosen("cache", "redisFailover")?),
        _ => Err(cluster.spec("cache.kind").wrong("must be Redis or RedisFailover")),
    }
}

fn in_cluster(cluster: &Cluster<'_>, given: &Field<'_>) -> Result<Service, Error> {
    let name = cluster.owner.child("redis")?;
    let keys = vec![("password", Generated::Password(PASSWORD)), (REDIS, Generated::Same("password"))];
    let secret = Node::secret(&name, json!({ "metadata": { "labels": labels(cluster) } }), keys);
    let server = given.get("server");
    let mut redis = container(cluster, given)?;
    redis["replicas"] = json!(server.get("replicas").number_or(1)?);
    if let Some(resources) = server.get("resources").set() {
        redis["resources"] = resources.value().clone();
    }
    // The operator deletes the claims with the object unless this says otherwise.
    redis["storage"] = json!({
        "keepAfterDeletion": true,
        "persistentVolumeClaim": { "metadata": { "name": name }, "spec": claim(&server, SIZE)? },
    });
    let mut sentinel = container(cluster, given)?;
    sentinel["replicas"] = json!(given.get("sentinel").get("replicas").number_or(1)?);
    let object = json!({
        "metadata": { "labels": labels(cluster) },
        "spec": { "redis": redis, "sentinel": sentinel, "auth": { "secretPath": name } },
    });
    let failover = Node::new(kinds::REDIS_FAILOVER, &name, object).needs([secret.id.clone()]).remedy(REMEDY);
    // A RedisFailover has no status: what its operator makes of it tells how it is.
    let servers = Node::awaited(kinds::STATEFUL_SET, format!("rfr-{name}")).needs([failover.id.clone()]);
    let sentinels = Node::awaited(kinds::DEPLOYMENT, format!("rfs-{name}")).needs([failover.id.clone()]);
    let needs: Vec<Id> = [&secret, &servers, &sentinels].map(|node| node.id.clone()).into();
    let (port, set) = SENTINELS;
    let connection = json!({
        "host": format!("rfs-{name}"),
        "port": port,
        "sentinelMasterSet": set,
        "passwordRef": name,
    });
    let nodes = [secret, failover, servers, sentinels].map(|node| node.told_by(CONDITION)).into();
    Ok(Service { nodes, needs, connection })
}

fn labels(cluster: &Cluster<'_>) -> Value {
    json!({ LABEL: cluster.owner.name() })
}

fn container(cluster: &Cluster<'_>, given: &Field<'_>) -> Result<Value, Error> {
    let mut container = json!({});
    if let Some(image) = image(cluster, given, IMAGE)? {
        container["image"] = json!(image);
    }
    for field in ["imagePullPolicy", "imagePullSecrets"] {
        if let Some(value) = pull(cluster, given, field) {
            container[field] = value;
        }
    }
    Ok(container)
}
