//! JobService → the workers of Harbor, with their file.

use serde_json::{Value, json};

use super::address;
use super::env::{Env, METRICS_PORT};
use super::node::Node;
use super::secrets::SINGLE;
use super::workload::{Part, Pod, has_tls, port, probe, scheme, yaml};
use crate::error::Error;
use crate::field::Field;

/// Seconds that a pod may take to end.
const GRACE: i64 = 120;
const SECONDS_OF_A_DAY: u64 = 24 * 60 * 60;

pub(super) fn children(part: &Part<'_>) -> Result<Vec<Node>, Error> {
    let tls = part.spec("tls");
    let secure = has_tls(&tls)?;
    let (name, metrics) = (part.child()?, part.spec("metrics"));
    let file = part.file(&name, "config.yml", &yaml(&configuration(part, secure)?));
    let mut pod = Pod::default();
    pod.mount("config", "/etc/jobservice", None, false);
    pod.volume("config", json!({ "configMap": { "name": name } }));
    pod.mount("logs", "/var/log/jobs", None, false);
    pod.volume("logs", json!({ "emptyDir": {} }));
    pod.certificates(&tls, "jobservice", true)?;
    for (at, logger) in part.spec("jobLoggers.files").list()?.iter().enumerate() {
        let volume = format!("joblogs-{at}");
        pod.mount(&volume, &format!("/mnt/joblogs/{at}"), None, false);
        let source = logger.get("volume");
        pod.volume(&volume, if source.is_set() { source.or_empty() } else { json!({ "emptyDir": {} }) });
    }
    pod.trusted(&part.spec("certificateRefs"))?;
    let mut ports = vec![port(scheme(secure), if secure { 8443 } else { 8080 })];
    if metrics.get("enabled").flag()? {
        ports.push(port("metrics", metrics.get("port").number_or(METRICS_PORT)?));
    }
    let container = json!({
        "name": "jobservice",
        "image": part.image(&part.spec(""), part.owner, "harbor-jobservice")?,
        "ports": ports,
        "livenessProbe": probe("/api/v1/stats", scheme(secure), secure),
        "readinessProbe": probe("/api/v1/stats", scheme(secure), secure),
        "env": environment(part, secure)?,
        "volumeMounts": std::mem::take(&mut pod.mounts),
    });
    let deployment = part.deployment(vec![container], pod, Some(GRACE))?.needs([file.id.clone()]);
    let mut nodes = vec![part.http_service(scheme(secure), secure, &metrics)?, file, deployment];
    nodes.extend(part.ingress_policy(&[])?);
    Ok(nodes)
}

fn environment(part: &Part<'_>, secure: bool) -> Result<Value, Error> {
    let mut env = Env::default();
    let credentials = part.spec("registry.credentials");
    env.value("CORE_URL", part.spec("core.url").text()?)
        .value("TOKEN_SERVICE_URL", part.spec("tokenService.url").text()?)
        .value("REGISTRY_URL", part.spec("registry.url").text()?)
        .value("REGISTRY_CONTROLLER_URL", part.spec("registry.controllerURL").text()?)
        .value("REGISTRY_CREDENTIAL_USERNAME", credentials.get("username").text()?)
        .secret_if("REGISTRY_CREDENTIAL_PASSWORD", credentials.get("passwordRef").text()?, SINGLE, false)
        .secret_if("CORE_SECRET", part.spec("core.secretRef").text()?, SINGLE, false)
        .secret_if("JOBSERVICE_SECRET", part.spec("secretRef").text()?, SINGLE, false)
        .value("INTERNAL_TLS_ENABLED", secure.to_string());
    env.metrics(&part.spec("metrics"), "jobservice")?;
    env.trace(&part.spec("trace"), "jobservice")?;
    env.proxy(&part.spec("proxy"))?;
    if secure {
        env.tls("/harbor_cust_cert/ca.crt", "/etc/jobservice/ssl");
    }
    Ok(env.into_value())
}

fn configuration(part: &Part<'_>, secure: bool) -> Result<Value, Error> {
    let pool = part.spec("workerPool.redisPool");
    let namespace = format!("jobservice::{}::{}", part.owner.namespace(), part.owner.name());
    let metrics = part.spec("metrics");
    let mut metric = json!({ "enabled": metrics.get("enabled").flag()? });
    if metrics.get("enabled").flag()? {
        metric["path"] = json!(metrics.get("path").text_or("/metrics")?);
        metric["port"] = json!(metrics.get("port").number_or(METRICS_PORT)?);
    }
    let mut file = json!({
        "protocol": scheme(secure),
        "port": if secure { 8443 } else { 8080 },
        "worker_pool": {
            "backend": "redis",
            "redis_pool": {
                // Without a password no user logs in.
                "redis_url": address::redis(part.owner.described(), &pool, part.found)?.replacen("//:@", "//", 1),
                "namespace": pool.get("namespace").text_or(&namespace)?,
                "idle_timeout_second": pool.get("idleTimeout").duration_or(30)?.as_secs(),
            },
        },
        "job_loggers": loggers(&part.spec("jobLoggers"), "/mnt/joblogs")?,
        "metric": metric,
        "loggers": loggers(&part.spec("loggers"), "/mnt/logs")?,
    });
    if secure {
        file["https_config"] =
            json!({ "cert": "/etc/jobservice/ssl/tls.crt", "key": "/etc/jobservice/ssl/tls.key" });
    }
    Ok(file)
}

/// Where logs go: the database, the output, files; `work` is where files are swept.
fn loggers(loggers: &Field<'_>, work: &str) -> Result<Vec<Value>, Error> {
    let mut list = Vec::new();
    if let Some(database) = loggers.get("database").set() {
        let mut logger = json!({ "name": "DB", "level": database.get("level").text_or("INFO")? });
        if let Some(days) = days(&database.get("sweeper"))? {
            logger["sweeper"] = json!({ "duration": days });
        }
        list.push(logger);
    }
    if let Some(output) = loggers.get("stdout").set() {
        list.push(json!({ "name": "STD_OUTPUT", "level": output.get("level").text_or("INFO")? }));
    }
    for (at, file) in loggers.get("files").list()?.iter().enumerate() {
        let mut logger = json!({
            "name": "FILE",
            "level": file.get("level").text_or("INFO")?,
            "settings": { "base_dir": format!("/mnt/joblogs/{at}") },
        });
        if let Some(days) = days(&file.get("sweeper"))? {
            let settings = json!({ "work_dir": format!("{work}/{at}") });
            logger["sweeper"] = json!({ "duration": days, "settings": settings });
        }
        list.push(logger);
    }
    if list.is_empty() {
        return Err(loggers.wrong("must have one of database, files and stdout"));
    }
    Ok(list)
}

fn days(sweeper: &Field<'_>) -> Result<Option<u64>, Error> {
    Ok(sweeper.duration()?.map(|time| time.as_secs() / SECONDS_OF_A_DAY))
}
