//! Exporter → figures of Harbor for Prometheus.

use serde_json::{Value, json};

use super::address;
use super::env::{Env, METRICS_PORT};
use super::node::Node;
use super::secrets::POSTGRESQL;
use super::workload::{Part, Pod, port, probe};
use crate::error::Error;

/// Where the jobs of a Harbor stand in its cache, unless an object says otherwise.
const JOBS_NAMESPACE: &str = "harbor_job_service_namespace";

pub(super) fn children(part: &Part<'_>) -> Result<Vec<Node>, Error> {
    let name = part.child()?;
    let at = part.spec("port").number_or(METRICS_PORT)?;
    let path = part.spec("path").text_or("/metrics")?;
    let mut pod = Pod::default();
    pod.certificates(&part.spec("tls"), "exporter", true)?;
    let container = json!({
        "name": "exporter",
        "image": part.image(&part.spec(""), part.owner, "harbor-exporter")?,
        "args": ["-log-level", part.spec("log.level").text_or("info")?],
        "ports": [port("metrics", at)],
        "livenessProbe": probe("/", "metrics", false),
        "readinessProbe": probe("/", "metrics", false),
        "env": environment(part, at, path)?,
        "volumeMounts": std::mem::take(&mut pod.mounts),
    });
    let service = part.service(&name, &[("metrics", at)], &part.spec("network"))?;
    let mut nodes = vec![Part::scraped(service, at, path), part.deployment(vec![container], pod, None)?];
    nodes.extend(part.ingress_policy(&["metrics"])?);
    Ok(nodes)
}

fn environment(part: &Part<'_>, at: i64, path: &str) -> Result<Value, Error> {
    let (url, cache, database) = (part.spec("core.url"), part.spec("cache"), part.spec("database"));
    let (scheme, rest) =
        url.text()?.split_once("://").ok_or_else(|| url.wrong("must begin with http:// or https://"))?;
    let authority = rest.split('/').next().unwrap_or_default();
    let (host, port) =
        authority.rsplit_once(':').unwrap_or((authority, if scheme == "https" { "443" } else { "80" }));
    let (database_host, database_port) = address::host(&database)?;
    let mut env = Env::default();
    env.value("LOG_LEVEL", part.spec("log.level").text_or("info")?)
        .value("HARBOR_EXPORTER_PORT", at.to_string())
        .value("HARBOR_EXPORTER_METRICS_PATH", path)
        .value("HARBOR_EXPORTER_METRICS_ENABLED", "true")
        .value("HARBOR_EXPORTER_CACHE_TIME", cache.get("duration").duration_or(30)?.as_secs().to_string())
        .value(
            "HARBOR_EXPORTER_CACHE_CLEAN_INTERVAL",
            cache.get("cleanInterval").duration_or(4 * 60 * 60)?.as_secs().to_string(),
        )
        .value("HARBOR_METRIC_NAMESPACE", "harbor")
        .value("HARBOR_METRIC_SUBSYSTEM", "exporter")
        .value("HARBOR_SERVICE_SCHEME", scheme)
        .value("HARBOR_SERVICE_HOST", host)
        .value("HARBOR_SERVICE_PORT", port)
        .value("HARBOR_DATABASE_HOST", database_host)
        .value("HARBOR_DATABASE_PORT", database_port.to_string())
        .value("HARBOR_DATABASE_USERNAME", database.get("username").text_or("")?)
        .value("HARBOR_DATABASE_DBNAME", database.get("database").text_or("")?)
        .value("HARBOR_DATABASE_SSLMODE", database.get("parameters").get("sslmode").text_or("")?)
        .value(
            "HARBOR_DATABASE_MAX_IDLE_CONNS",
            database.get("maxIdleConnections").number_or(50)?.to_string(),
        )
        .value(
            "HARBOR_DATABASE_MAX_OPEN_CONNS",
            database.get("maxOpenConnections").number_or(1000)?.to_string(),
        );
    if let Some(secret) = database.get("passwordRef").text_or_none()? {
        env.secret("HARBOR_DATABASE_PASSWORD", secret, POSTGRESQL);
    }
    if let Some(pool) = part.spec("jobservice.redisPool").set() {
        env.value("HARBOR_REDIS_URL", address::redis(part.owner.described(), &pool, part.found)?)
            .value("HARBOR_REDIS_NAMESPACE", pool.get("namespace").text_or(JOBS_NAMESPACE)?)
            .value("HARBOR_REDIS_TIMEOUT", pool.get("idleTimeout").duration_or(30)?.as_secs().to_string());
    }
    Ok(env.into_value())
}
