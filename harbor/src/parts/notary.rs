//! NotaryServer and NotarySigner → the signatures of images of older releases.

use serde_json::{Value, json};

use super::address;
use super::env::Env;
use super::node::{Node, kinds};
use super::secrets::POSTGRESQL;
use super::workload::{Part, Pod, has_tls, port};
use crate::error::Error;
use crate::field::Field;

/// The port of a server within its pod.
const SERVER_PORT: i64 = 4443;
/// The port of a signer, within its pod and outside.
const SIGNER_PORT: i64 = 7899;

pub(super) fn server(part: &Part<'_>) -> Result<Vec<Node>, Error> {
    let name = part.child()?;
    let secure = has_tls(&part.spec("tls"))?;
    let mut pod = Pod::default();
    pod.mount("config", "/etc/notary-server", None, false);
    pod.volume("config", json!({ "configMap": { "name": name } }));
    let certificates = [
        ("trust-certificates", part.spec("trustService.remote.certificateRef")),
        ("certificates", part.spec("tls.certificateRef")),
        ("auth-certificates", part.spec("authentication.token.certificateRef")),
    ];
    for (volume, field) in certificates {
        certificate(&mut pod, volume, "/etc/notary-server", &field)?;
    }
    let mut container = json!({
        "name": "notaryserver",
        "image": part.image(&part.spec(""), part.owner, "notary-server-photon")?,
        "ports": [port("api", SERVER_PORT)],
        "volumeMounts": std::mem::take(&mut pod.mounts),
    });
    let database = part.spec("storage.postgres");
    start(part, &mut container, &database, "server")?;
    let service = part.service(&name, &[("api", if secure { 443 } else { 80 })], &part.spec("network"))?;
    let mut nodes = vec![service];
    nodes.extend(with_file(part, container, pod, ("server.json", server_file(part, secure)?))?);
    nodes.extend(part.ingress_policy(&["api"])?);
    Ok(nodes)
}

pub(super) fn signer(part: &Part<'_>) -> Result<Vec<Node>, Error> {
    let name = part.child()?;
    let mut pod = Pod::default();
    pod.mount("config", "/etc/notary-signer", None, false);
    pod.volume("config", json!({ "configMap": { "name": name } }));
    let own = part.spec("authentatication.certificateRef");
    own.text()?;
    certificate(&mut pod, "certificates", "/etc/notary-signer", &own)?;
    let aliases = part.spec("storage.aliasesRef").text()?;
    let mut container = json!({
        "name": "notarysigner",
        "image": part.image(&part.spec(""), part.owner, "notary-signer-photon")?,
        "ports": [port("api", SIGNER_PORT)],
        "envFrom": [{ "prefix": "NOTARY_SIGNER_", "secretRef": { "name": aliases, "optional": false } }],
        "volumeMounts": std::mem::take(&mut pod.mounts),
    });
    start(part, &mut container, &part.spec("storage.postgres"), "signer")?;
    let mut nodes = vec![part.service(&name, &[("api", SIGNER_PORT)], &part.spec("network"))?];
    nodes.extend(with_file(part, container, pod, ("signer.json", signer_file(part)?))?);
    Ok(nodes)
}

/// The file, what it is made of, and the Deployment that reads it.
fn with_file(part: &Part<'_>, container: Value, pod: Pod, file: (&str, Value)) -> Result<Vec<Node>, Error> {
    let text = format!("{:#}\n", file.1);
    let mut file = part.file(&part.child()?, file.0, &text);
    let mut nodes = Vec::new();
    let password = part.spec("storage.postgres.passwordRef");
    if let Some(secret) = password.text_or_none()? {
        let required = Node::required(kinds::SECRET, secret, password.path());
        file = file.needs([required.id.clone()]);
        nodes.push(required);
    }
    let deployment = part.deployment(vec![container], pod, None)?.needs([file.id.clone()]);
    nodes.extend([file, deployment]);
    Ok(nodes)
}

fn certificate(pod: &mut Pod, volume: &str, directory: &str, field: &Field<'_>) -> Result<(), Error> {
    if let Some(secret) = field.text_or_none()? {
        pod.mount(volume, &format!("{directory}/{volume}"), None, false);
        pod.volume(volume, json!({ "secret": { "secretName": secret } }));
    }
    Ok(())
}

/// How the program starts: after the migration of its database, where that is on.
fn start(part: &Part<'_>, container: &mut Value, database: &Field<'_>, which: &str) -> Result<(), Error> {
    let run = format!("notary-{which} -config /etc/notary-{which}/{which}.json");
    if !part.spec("migrationEnabled").flag()? {
        container["command"] = json!([format!("notary-{which}")]);
        container["args"] = json!(["-config", format!("/etc/notary-{which}/{which}.json")]);
        return Ok(());
    }
    let url = address::postgresql(database, "$(secretDatabase)")?;
    container["command"] = json!(["/bin/sh"]);
    container["args"] =
        json!(["-c", format!("migrate-patch -database={url} && /migrations/migrate.sh && {run}")]);
    let mut env = Env::default();
    if let Some(secret) = database.get("passwordRef").text_or_none()? {
        env.secret("secretDatabase", secret, POSTGRESQL);
    }
    env.value("DB_URL", url)
        .value("SERVICE_NAME", format!("notary_{which}"))
        .value("MIGRATIONS_PATH", format!("/migrations/{which}/postgresql"));
    container["env"] = env.into_value();
    Ok(())
}

fn storage(part: &Part<'_>) -> Result<Value, Error> {
    let database = part.spec("storage.postgres");
    let password = address::password(part.owner.described(), &database, part.found)?;
    Ok(json!({ "backend": "postgres", "db_url": address::postgresql(&database, &password)? }))
}

/// How long clients may keep what they read, in seconds.
fn caching() -> Value {
    json!({ "max_age": { "current_metadata": 300, "consistent_metadata": 31_536_000 } })
}

fn server_file(part: &Part<'_>, secure: bool) -> Result<Value, Error> {
    let mut server = json!({ "http_addr": format!(":{SERVER_PORT}") });
    if secure {
        server["tls_cert_file"] = json!("/etc/notary-server/certificates/tls.crt");
        server["tls_key_file"] = json!("/etc/notary-server/certificates/tls.key");
    }
    let mut trust = json!({ "type": "local" });
    if let Some(remote) = part.spec("trustService.remote").set() {
        trust = json!({
            "type": "remote",
            "hostname": remote.get("host").text()?,
            "port": remote.get("port").number_or(443)?.to_string(),
            "key_algorithm": remote.get("keyAlgorithm").text_or("ecdsa")?,
        });
        if remote.get("certificateRef").is_set() {
            let at = |name: &str| json!(format!("/etc/notary-server/trust-certificates/{name}"));
            trust["tls_ca_file"] = at("ca.crt");
            trust["tls_client_cert"] = at("tls.crt");
            trust["tls_client_key"] = at("tls.key");
        }
    }
    let mut file = json!({
        "server": server,
        "trust_service": trust,
        "logging": { "level": part.spec("logging.level").text_or("info")? },
        "storage": storage(part)?,
        "caching": caching(),
    });
    if let Some(token) = part.spec("authentication.token").set() {
        file["auth"] = json!({ "type": "token", "options": {
            "realm": token.get("realm").text()?,
            "service": token.get("service").text()?,
            "issuer": token.get("issuer").text()?,
            "rootcertbundle": "/etc/notary-server/auth-certificates/tls.crt",
            "autoredirect": token.get("autoredirect").flag_or(true)?.to_string(),
        } });
    }
    Ok(file)
}

fn signer_file(part: &Part<'_>) -> Result<Value, Error> {
    let at = |name: &str| format!("/etc/notary-signer/certificates/{name}");
    let mut storage = storage(part)?;
    storage["default_alias"] = json!("default");
    Ok(json!({
        "server": {
            "grpc_addr": format!(":{SIGNER_PORT}"),
            "tls_cert_file": at("tls.crt"),
            "tls_key_file": at("tls.key"),
            "client_ca_file": at("ca.crt"),
        },
        "logging": { "level": part.spec("logging.level").text_or("info")? },
        "storage": storage,
        "caching": caching(),
    }))
}
