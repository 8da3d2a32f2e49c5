//! The database of a HarborCluster: PostgreSQL that is named, or a cluster of the operator of Zalando.

use serde_json::json;

use super::super::node::{Copied, Id, Node, kinds};
use super::super::secrets::POSTGRESQL;
use super::image::image;
use super::service::{Cluster, LABEL, Service};
use crate::error::Error;
use crate::field::Field;
use crate::names::LONGEST_NAME;
use crate::owner::Owner;

pub(super) const CONDITION: &str = "DatabaseReady";

const REMEDY: &str = "install the Postgres operator of Zalando, or create the HarborCluster anew with spec.database.kind \
    PostgreSQL and a server of your own in spec.database.spec.postgresql";
const KIND: &str = "Zlando/PostgreSQL";
const PORT: i64 = 5432;
/// The role that owns the databases.
const USER: &str = "harbor";
const DATABASES: [&str; 3] = ["core", "notaryserver", "notarysigner"];
const RELEASE: &str = "12";
const IMAGE: (&str, &str) = ("spilo-12", "1.6-p3");
const SIZE: &str = "1Gi";
const SSL_MODES: [&str; 6] = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"];

pub(super) fn service(cluster: &Cluster<'_>) -> Result<Service, Error> {
    match cluster.spec("database.kind").text()? {
        "PostgreSQL" => Ok(Service::outside(cluster.chosen("database", "postgresql")?.value().clone())),
        KIND => in_cluster(cluster, &cluster.chosen("database", "zlandoPostgreSql")?),
        _ => Err(cluster.spec("database.kind").wrong(format!("must be PostgreSQL or {KIND}"))),
    }
}

/// The team has to be the beginning of the name.
fn name(owner: &Owner) -> Result<(String, String), Error> {
    let team = format!("postgresql-{}", owner.namespace());
    let name = format!("{team}-{}", owner.name());
    match name.len() > LONGEST_NAME {
        true => Err(Error::NameTooLong { object: owner.described().to_owned(), child: name }),
        false => Ok((team, name)),
    }
}

/// The names that the secret of the role may have: that by default, and that of an operator which was installed with Harbor's own charts.
fn credentials(name: &str) -> [Id; 2] {
    let short = format!("{USER}.{name}.credentials");
    [format!("{short}.postgresql.acid.zalan.do"), short].map(|name| Id::new(kinds::SECRET, name))
}

/// The secrets of which it has to be known which of them is there.
pub(super) fn reads(owner: &Owner) -> Result<Vec<Id>, Error> {
    if owner.spec("database.kind").text_or_none()? != Some(KIND) {
        return Ok(Vec::new());
    }
    Ok(credentials(&name(owner)?.1).into())
}

fn in_cluster(cluster: &Cluster<'_>, given: &Field<'_>) -> Result<Service, Error> {
    let (team, name) = name(cluster.owner)?;
    let postgresql = postgresql(cluster, given, &team, &name)?;
    let [by_default, short] = credentials(&name);
    let has_short = cluster.found.get(short.kind, &short.name).is_some();
    let made = if has_short { short } else { by_default };
    let made = Node::awaited(kinds::SECRET, made.name).needs([postgresql.id.clone()]);
    let password = cluster.owner.child("database-password")?;
    let key = Copied { key: POSTGRESQL, from: made.id.clone(), from_key: "password" };
    let secret = Node::copied(&password, vec![key]);
    let needs = vec![postgresql.id.clone(), secret.id.clone()];
    let mode = given.get("sslConfig").text_or("require")?;
    if !SSL_MODES.contains(&mode) {
        return Err(given.get("sslConfig").wrong(format!("must be one of {}", SSL_MODES.join(", "))));
    }
    let connection = json!({
        "hosts": [{ "host": format!("{name}.{}.svc", cluster.owner.namespace()), "port": PORT }],
        "username": USER,
        "passwordRef": password,
        "sslMode": mode,
    });
    let nodes = [postgresql, made, secret].map(|node| node.told_by(CONDITION)).into();
    Ok(Service { nodes, needs, connection })
}

fn postgresql(cluster: &Cluster<'_>, given: &Field<'_>, team: &str, name: &str) -> Result<Node, Error> {
    let databases: serde_json::Map<_, _> =
        DATABASES.iter().map(|database| ((*database).to_owned(), json!(USER))).collect();
    let mut volume = json!({ "size": given.get("storage").text_or(SIZE)? });
    if let Some(class) = given.get("storageClassName").text_or_none()?.filter(|class| !class.is_empty()) {
        volume["storageClass"] = json!(class);
    }
    let mut spec = json!({
        "teamId": team,
        "numberOfInstances": given.get("replicas").number_or(1)?.max(1),
        "volume": volume,
        "users": { USER: ["superuser", "createdb"] },
        "databases": databases,
        "postgresql": { "version": RELEASE },
    });
    if let Some(image) = image(cluster, given, IMAGE)? {
        spec["dockerImage"] = json!(image);
    }
    if let Some(resources) = given.get("resources").set() {
        spec["resources"] = resources.value().clone();
    }
    let labels = json!({ LABEL: cluster.owner.name() });
    let object = json!({ "metadata": { "labels": labels }, "spec": spec });
    Ok(Node::new(kinds::POSTGRESQL, name, object).remedy(REMEDY))
}
