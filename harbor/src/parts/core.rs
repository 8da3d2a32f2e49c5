//! Core → the API of Harbor, with its file, its secret and its many variables.

use serde_json::{Value, json};

use super::address;
use super::env::{Env, METRICS_PORT};
use super::node::{Node, kinds};
use super::secrets::{POSTGRESQL, SINGLE};
use super::workload::{Part, Pod, has_tls, port, probe, scheme};
use crate::error::Error;
use crate::field::Field;

/// Seconds that a pod may take to end.
const GRACE: i64 = 120;
/// How often liveness is asked for: core does much at its start.
const LIVENESS_PERIOD: i64 = 90;
/// The registries that a proxy project may stand for.
const PROXIED: &str = "docker-hub,harbor,azure-acr,aws-ecr,google-gcr,quay,docker-registry";

pub(super) fn children(part: &Part<'_>) -> Result<Vec<Node>, Error> {
    let components = part.spec("components");
    let secure = has_tls(&components.get("tls"))?;
    let (name, metrics) = (part.child()?, part.spec("metrics"));
    let file = part.file(&name, "app.conf", &configuration(part)?);
    let secret = secret(part, &name)?;
    let mut pod = volumes(part, &name)?;
    let mut ports = vec![port(scheme(secure), if secure { 8443 } else { 8080 })];
    let mut incoming = vec![scheme(secure)];
    if metrics.get("enabled").flag()? {
        ports.push(port("metrics", metrics.get("port").number_or(METRICS_PORT)?));
        incoming.push("metrics");
    }
    let mut liveness = probe("/api/v2.0/ping", scheme(secure), secure);
    liveness["periodSeconds"] = json!(LIVENESS_PERIOD);
    let container = json!({
        "name": "core",
        "image": part.image(&part.spec(""), part.owner, "harbor-core")?,
        "ports": ports,
        "livenessProbe": liveness,
        "readinessProbe": probe("/api/v2.0/ping", scheme(secure), secure),
        "env": environment(part, &name, secure)?,
        "volumeMounts": std::mem::take(&mut pod.mounts),
    });
    let needs = [file.id.clone(), secret.id.clone()];
    let deployment = part.deployment(vec![container], pod, Some(GRACE))?.needs(needs);
    let mut nodes = vec![part.http_service(scheme(secure), secure, &metrics)?, file, secret, deployment];
    nodes.extend(part.ingress_policy(&incoming)?);
    Ok(nodes)
}

fn configuration(part: &Part<'_>) -> Result<String, Error> {
    // The schema's defaults are absent where the whole group is.
    let compressed = match part.spec("http.enableGzip") {
        field if field.is_set() => field.flag()?.to_string(),
        _ => "<nil>".to_owned(),
    };
    Ok(format!(
        "appname = {}\nrunmode = prod\nenablegzip = {compressed}\n\n[prod]\nhttpport = 8080\n",
        part.owner.name()
    ))
}

/// The URLs of the caches, which hold passwords.
fn secret(part: &Part<'_>, name: &str) -> Result<Node, Error> {
    let object = part.owner.described();
    let idle = part.spec("redis.idleTimeout").duration_or(30)?.as_secs();
    let url = |redis: &Field<'_>| {
        Ok::<_, Error>(format!("{}?idle_timeout_seconds={idle}", address::redis(object, redis, part.found)?))
    };
    let mut data = json!({ "_REDIS_URL_CORE": url(&part.spec("redis"))? });
    if let Some(registry) = part.spec("components.registry.redis").set() {
        data["_REDIS_URL_REG"] = json!(url(&registry)?);
    }
    Ok(Node::new(kinds::SECRET, name, json!({ "type": "Opaque", "stringData": data })))
}

fn volumes(part: &Part<'_>, name: &str) -> Result<Pod, Error> {
    let mut pod = Pod::default();
    pod.mount("configuration", "/etc/core/app.conf", Some("app.conf"), true);
    pod.volume("configuration", json!({ "configMap": { "name": name, "optional": false } }));
    pod.mount("encryption", "/etc/core/key", Some("key"), true);
    let key = part.spec("database.encryptionKeyRef").text()?;
    let items = json!([{ "key": SINGLE, "path": "key" }]);
    pod.volume("encryption", json!({ "secret": { "secretName": key, "items": items, "optional": false } }));
    pod.mount("psc", "/etc/core/token", None, false);
    pod.volume("psc", json!({ "emptyDir": {} }));
    pod.mount("token-service-private-key", "/etc/core/private_key.pem", Some("tls.key"), true);
    let token = part.spec("components.tokenService.certificateRef").text()?;
    pod.volume("token-service-private-key", json!({ "secret": { "secretName": token, "optional": false } }));
    if let Some(public) = part.spec("publicCertificateRef").text_or_none()? {
        pod.mount("ca-download", "/etc/core/ca", None, false);
        pod.volume("ca-download", json!({ "secret": { "secretName": public } }));
    }
    pod.certificates(&part.spec("components.tls"), "core", true)?;
    pod.trusted(&part.spec("certificateRefs"))?;
    Ok(pod)
}

fn environment(part: &Part<'_>, name: &str, secure: bool) -> Result<Value, Error> {
    let mut env = Env::default();
    let components = part.spec("components");
    let own = format!("{}://{name}:{}", scheme(secure), if secure { 443 } else { 80 });
    let optional =
        [("WITH_CHARTMUSEUM", "chartRepository"), ("WITH_TRIVY", "trivy"), ("WITH_NOTARY", "notaryServer")];
    for (variable, component) in optional {
        env.value(variable, components.get(component).is_set().to_string());
    }
    let texts = [
        ("AUTH_MODE", part.spec("authMode").text_or("db_auth")?),
        ("CORE_URL", &own),
        ("CORE_LOCAL_URL", &own),
        ("EXT_ENDPOINT", part.spec("externalEndpoint").text()?),
        ("JOBSERVICE_URL", components.get("jobService").get("url").text()?),
        ("PORTAL_URL", components.get("portal").get("url").text()?),
        ("REGISTRY_URL", components.get("registry").get("url").text()?),
        ("REGISTRY_CONTROLLER_URL", components.get("registry").get("controllerURL").text()?),
        ("TOKEN_SERVICE_URL", components.get("tokenService").get("url").text()?),
        ("LOG_LEVEL", part.spec("log.level").text_or("info")?),
        ("CONFIG_PATH", "/etc/core/app.conf"),
        ("RELOAD_KEY", "true"),
        ("SYNC_QUOTA", "true"),
        ("PERMITTED_REGISTRY_TYPES_FOR_PROXY_CACHE", PROXIED),
        ("INTERNAL_TLS_ENABLED", if secure { "true" } else { "false" }),
    ];
    for (variable, value) in texts {
        env.value(variable, value);
    }
    env.value("CFG_EXPIRATION", part.spec("configExpiration").duration_or(5)?.as_secs().to_string());
    env.value("SYNC_REGISTRY", components.get("registry").get("sync").flag()?.to_string());
    database(&mut env, &part.spec("database"))?;
    secrets(&mut env, part, name)?;
    if let Some(charts) = components.get("chartRepository").set() {
        env.value("CHART_REPOSITORY_URL", charts.get("url").text()?);
        env.value("CHART_CACHE_DRIVER", charts.get("cacheDriver").text_or("redis")?);
    }
    if let Some(trivy) = components.get("trivy").set() {
        env.value("TRIVY_ADAPTER_URL", trivy.get("adapterURL").text()?);
    }
    if let Some(notary) = components.get("notaryServer").set() {
        env.value("NOTARY_URL", notary.get("url").text()?);
    }
    env.metrics(&part.spec("metrics"), "core")?;
    env.trace(&part.spec("trace"), "core")?;
    env.proxy(&part.spec("proxy"))?;
    if secure {
        env.tls("/etc/core/ssl/ca.crt", "/etc/core/ssl");
    }
    Ok(env.into_value())
}

fn database(env: &mut Env, database: &Field<'_>) -> Result<(), Error> {
    let (host, port) = address::host(database)?;
    env.value("DATABASE_TYPE", "postgresql")
        .value("POSTGRESQL_HOST", host)
        .value("POSTGRESQL_PORT", port.to_string())
        .value("POSTGRESQL_USERNAME", database.get("username").text_or("")?)
        .value("POSTGRESQL_DATABASE", database.get("database").text_or("")?)
        .value("POSTGRESQL_MAX_IDLE_CONNS", database.get("maxIdleConnections").number_or(50)?.to_string())
        .value("POSTGRESQL_MAX_OPEN_CONNS", database.get("maxOpenConnections").number_or(1000)?.to_string())
        .value("POSTGRESQL_SSLMODE", database.get("parameters").get("sslmode").text_or("")?);
    if let Some(secret) = database.get("passwordRef").text_or_none()? {
        env.secret("POSTGRESQL_PASSWORD", secret, POSTGRESQL);
    }
    Ok(())
}

fn secrets(env: &mut Env, part: &Part<'_>, name: &str) -> Result<(), Error> {
    let registry = part.spec("components.registry");
    let credentials = registry.get("credentials");
    env.value("REGISTRY_CREDENTIAL_USERNAME", credentials.get("username").text()?)
        .secret_if("REGISTRY_CREDENTIAL_PASSWORD", credentials.get("passwordRef").text()?, SINGLE, false)
        .secret_if("HARBOR_ADMIN_PASSWORD", part.spec("adminInitialPasswordRef").text()?, SINGLE, false)
        .secret_if("CORE_SECRET", part.spec("secretRef").text()?, SINGLE, false)
        .secret_if("JOBSERVICE_SECRET", part.spec("components.jobService.secretRef").text()?, SINGLE, false)
        .secret_if("CSRF_KEY", part.spec("csrfKeyRef").text()?, "key", false)
        .secret_if("_REDIS_URL_CORE", name, "_REDIS_URL_CORE", false);
    if registry.get("redis").is_set() {
        env.secret_if("_REDIS_URL_REG", name, "_REDIS_URL_REG", false);
    }
    Ok(())
}
