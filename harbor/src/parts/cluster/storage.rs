//! The storage of a HarborCluster: one that is named, or a Tenant of the operator of MinIO with a bucket.

use serde_json::{Value, json};
use vela_runtime::apply;

use super::super::ingress::{ingress, route};
use super::super::node::{Copied, Generated, Id, Node, Password, kinds};
use super::super::secrets::SINGLE;
use super::image::{claim, image, pull};
use super::service::{Cluster, LABEL, Service};
use crate::error::Error;
use crate::field::Field;
use crate::names::LONGEST_NAME;

pub(super) const CONDITION: &str = "StorageReady";

const REMEDY: &str = "install the operator of MinIO, or create the HarborCluster anew with another spec.storage.kind, \
    such as S3 or FileSystem";
/// Kinds of storage outside of the cluster, the member of the spec, and the field of a Harbor.
const OUTSIDE: [(&str, &str, &str); 5] = [
    ("FileSystem", "fileSystem", "filesystem"),
    ("S3", "s3", "s3"),
    ("Swift", "swift", "swift"),
    ("Azure", "azure", "azure"),
    ("Gcs", "gcs", "gcs"),
];
const PORT: i64 = 9000;
const BUCKET: &str = "harbor";
const REGION: &str = "us-east-1";
const SIZE: &str = "10Gi";
/// The account of Harbor's pods.
const USER: i64 = 10000;
const SERVER: (&str, &str) = ("minio", "RELEASE.2021-10-27T16-29-42Z");
const CLIENT: (&str, &str) = ("mc", "RELEASE.2021-10-07T04-19-58Z");
const PASSWORD: Password = Password { length: 32, digits: 8, specials: 0 };
const ACCESS_KEY: &str = "accesskey";
const SECRET_KEY: &str = "secretkey";
/// Restarts of a pod that cannot make the bucket yet.
const RESTARTS: i64 = 20;
/// Digits of the checksum in the name of a Job, whose pods cannot be changed.
const CHECKSUM: usize = 8;

pub(super) fn service(cluster: &Cluster<'_>) -> Result<Service, Error> {
    let kind = cluster.spec("storage.kind").text()?;
    if kind == "MinIO" {
        return in_cluster(cluster, &cluster.chosen("storage", "minIO")?);
    }
    let known = OUTSIDE.iter().find(|(known, ..)| *known == kind);
    let Some((_, member, field)) = known else {
        let kinds = OUTSIDE.map(|(kind, ..)| kind).join(", ");
        return Err(cluster.spec("storage.kind").wrong(format!("must be one of {kinds}, MinIO")));
    };
    let mut connection = json!({ *field: cluster.chosen("storage", member)?.value() });
    if let Some(redirect) = cluster.spec("storage.spec.redirect").set() {
        connection["redirect"] = json!({ "disable": !redirect.get("enable").flag_or(true)? });
    }
    Ok(Service::outside(connection))
}

fn in_cluster(cluster: &Cluster<'_>, given: &Field<'_>) -> Result<Service, Error> {
    let name = format!("minio-{}", cluster.owner.name());
    let longest = format!("{name}-bucket-{}", "0".repeat(CHECKSUM));
    if longest.len() > LONGEST_NAME {
        return Err(Error::NameTooLong { object: cluster.owner.described().to_owned(), child: longest });
    }
    let (credentials, access_key) = credentials(cluster, given, &name)?;
    let key = Copied { key: SINGLE, from: credentials.id.clone(), from_key: SECRET_KEY };
    let secret = Node::copied(&name, vec![key]);
    let tenant = tenant(cluster, given, &name, &credentials.id)?;
    let endpoint = format!("http://{name}-hl.{}.svc:{PORT}", cluster.owner.namespace());
    let bucket = bucket(cluster, given, (&name, &endpoint), &credentials.id)?.needs([tenant.id.clone()]);
    let needs = [&secret, &bucket].map(|node| node.id.clone()).into();
    let mut nodes = vec![credentials, secret, tenant, bucket];
    let mut s3 = json!({
        "accesskey": access_key,
        "secretkeyRef": name,
        "bucket": BUCKET,
        "region": REGION,
        "regionendpoint": endpoint,
        "secure": false,
        "v4auth": true,
    });
    let redirect = given.get("redirect");
    let is_exposed = redirect.is_set() && redirect.get("enable").flag_or(true)?;
    if is_exposed {
        let expose = redirect.get("expose");
        let host = expose.get("ingress").get("host").text()?;
        let certificate = expose.get("tls").get("certificateRef").text_or_none()?;
        let scheme = if certificate.is_some() { "https" } else { "http" };
        s3["regionendpoint"] = json!(format!("{scheme}://{host}"));
        s3["secure"] = json!(certificate.is_some());
        if let Some(certificate) = certificate {
            s3["certificateRef"] = json!(certificate);
        }
        let annotations = json!({ "nginx.ingress.kubernetes.io/proxy-body-size": "0" });
        let paths = vec![route("/", &format!("{name}-hl"), PORT)];
        nodes.push(ingress(&name, &expose, annotations, paths)?);
    }
    // Clients cannot reach an address that is known in the cluster only.
    let connection = json!({ "s3": s3, "redirect": { "disable": !is_exposed } });
    let nodes = nodes.into_iter().map(|node| node.told_by(CONDITION)).collect();
    Ok(Service { nodes, needs, connection })
}

/// The secret with both keys, and the first of them, which a Harbor names in its spec.
fn credentials(cluster: &Cluster<'_>, given: &Field<'_>, name: &str) -> Result<(Node, String), Error> {
    let field = given.get("secretRef");
    if let Some(secret) = field.text_or_none()?.filter(|secret| !secret.is_empty()) {
        let object = cluster.owner.described();
        let access_key = cluster.found.secret(object, &field, ACCESS_KEY)?;
        cluster.found.secret(object, &field, SECRET_KEY)?;
        return Ok((Node::required(kinds::SECRET, secret, field.path()), access_key));
    }
    let keys = vec![
        (ACCESS_KEY, Generated::Fixed("harbor".to_owned())),
        (SECRET_KEY, Generated::Password(PASSWORD)),
    ];
    Ok((Node::secret(format!("{name}-creds"), json!({}), keys), "harbor".to_owned()))
}

fn tenant(cluster: &Cluster<'_>, given: &Field<'_>, name: &str, credentials: &Id) -> Result<Node, Error> {
    let number = |field: &str| {
        let field = given.get(field);
        field.number()?.filter(|number| *number > 0).ok_or_else(|| field.wrong("must be 1 or more"))
    };
    let mut pool = json!({
        "name": "zone-harbor",
        "servers": number("replicas")?,
        "volumesPerServer": number("volumesPerServer")?,
        "volumeClaimTemplate": match given.get("volumeClaimTemplate").set() {
            Some(template) => template.value().clone(),
            None => json!({ "spec": claim(given, SIZE)? }),
        },
        "securityContext": { "fsGroup": USER, "runAsGroup": USER, "runAsUser": USER },
    });
    if let Some(resources) = given.get("resources").set() {
        pool["resources"] = resources.value().clone();
    }
    let mut spec = json!({
        "pools": [pool],
        "credsSecret": { "name": credentials.name },
        "mountPath": "/export",
        "podManagementPolicy": "Parallel",
        "requestAutoCert": false,
    });
    if let Some(image) = image(cluster, given, SERVER)? {
        spec["image"] = json!(image);
    }
    if let Some(policy) = pull(cluster, given, "imagePullPolicy") {
        spec["imagePullPolicy"] = policy;
    }
    if let Some(first) = pull(cluster, given, "imagePullSecrets").and_then(|secrets| secrets.get(0).cloned())
    {
        spec["imagePullSecret"] = first;
    }
    let object = json!({ "metadata": { "labels": { LABEL: cluster.owner.name() } }, "spec": spec });
    Ok(Node::new(kinds::TENANT, name, object).needs([credentials.clone()]).remedy(REMEDY))
}

/// The Job that makes the bucket, where there is none.
fn bucket(
    cluster: &Cluster<'_>,
    given: &Field<'_>,
    (name, endpoint): (&str, &str),
    credentials: &Id,
) -> Result<Node, Error> {
    let client = given.get("mc");
    let (repository, tag) = CLIENT;
    let image = image(cluster, &client, CLIENT)?.unwrap_or_else(|| format!("minio/{repository}:{tag}"));
    let from = |key: &str| json!({ "secretKeyRef": { "name": credentials.name, "key": key } });
    let script = "mc alias set harbor \"$ENDPOINT\" \"$ACCESS_KEY\" \"$SECRET_KEY\" && \
        mc mb --ignore-existing \"harbor/$BUCKET\"";
    let mut container = json!({
        "name": "bucket",
        "image": image,
        "command": ["sh", "-c", script],
        "env": [
            { "name": "ENDPOINT", "value": endpoint },
            { "name": "BUCKET", "value": BUCKET },
            { "name": "ACCESS_KEY", "valueFrom": from(ACCESS_KEY) },
            { "name": "SECRET_KEY", "valueFrom": from(SECRET_KEY) },
        ],
    });
    if let Some(policy) = pull(cluster, &client, "imagePullPolicy") {
        container["imagePullPolicy"] = policy;
    }
    let mut pod: Value = json!({ "restartPolicy": "OnFailure", "containers": [container] });
    if let Some(secrets) = pull(cluster, &client, "imagePullSecrets") {
        pod["imagePullSecrets"] = secrets;
    }
    let mut checksum = apply::text_hash(&pod.to_string());
    checksum.truncate(CHECKSUM);
    let spec = json!({ "backoffLimit": RESTARTS, "template": { "spec": pod } });
    Ok(Node::new(kinds::JOB, format!("{name}-bucket-{checksum}"), json!({ "spec": spec })))
}
