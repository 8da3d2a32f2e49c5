//! Trivy → the scanner of images, with its variables and its caches.

use serde_json::{Value, json};

use super::address;
use super::env::Env;
use super::node::{Node, kinds};
use super::workload::{Part, Pod, has_tls, port, probe, scheme};
use crate::duration;
use crate::error::Error;
use crate::field::Field;

const CACHE: &str = "/home/scanner/.cache";

pub(super) fn children(part: &Part<'_>) -> Result<Vec<Node>, Error> {
    let server = part.spec("server");
    let tls = server.get("tls");
    let secure = has_tls(&tls)?;
    let name = part.child()?;
    let variables = Node::new(kinds::CONFIG_MAP, &name, json!({ "data": variables(part)? }));
    let url = address::redis(part.owner.described(), &part.spec("redis"), part.found)?;
    let urls = ["SCANNER_REDIS_URL", "SCANNER_STORE_REDIS_URL", "SCANNER_JOB_QUEUE_REDIS_URL"];
    let urls: serde_json::Map<String, Value> =
        urls.into_iter().map(|variable| (variable.to_owned(), json!(url))).collect();
    let secret = Node::new(kinds::SECRET, &name, json!({ "type": "Opaque", "stringData": urls }));
    let mut pod = volumes(part)?;
    pod.certificates(&tls, "harbor", false)?;
    pod.trusted(&part.spec("certificateRefs"))?;
    let number = if secure { 8443 } else { 8080 };
    let container = json!({
        "name": "trivy",
        "image": part.image(&part.spec(""), part.owner, "trivy-adapter-photon")?,
        "ports": [port("http", 8080), port("https", 8443)],
        "livenessProbe": probe("/probe/healthy", number, secure),
        "readinessProbe": probe("/probe/ready", number, secure),
        "env": environment(part, number, secure)?,
        "envFrom": [{ "configMapRef": { "name": name } }, { "secretRef": { "name": name } }],
        "volumeMounts": std::mem::take(&mut pod.mounts),
    });
    let mut needs = vec![variables.id.clone(), secret.id.clone()];
    let mut nodes = vec![part.service(
        &name,
        &[(scheme(secure), if secure { 443 } else { 80 })],
        &part.spec("network"),
    )?];
    let token = part.spec("update.githubTokenRef");
    if let Some(token_secret) = token.text_or_none()? {
        let required = Node::required(kinds::SECRET, token_secret, token.path());
        needs.push(required.id.clone());
        nodes.push(required);
    }
    nodes.extend([variables, secret]);
    nodes.push(part.deployment(vec![container], pod, None)?.needs(needs));
    nodes.extend(part.ingress_policy(&[scheme(secure)])?);
    Ok(nodes)
}

fn volumes(part: &Part<'_>) -> Result<Pod, Error> {
    let mut pod = Pod::default();
    for (volume, path) in [("reports", "reports"), ("cache", "trivy")] {
        let storage = part.spec("storage").get(volume);
        pod.mount(volume, &format!("{CACHE}/{path}"), storage.get("prefix").text_or_none()?, false);
        let source = storage.get("volumeSource");
        pod.volume(volume, if source.is_set() { source.or_empty() } else { json!({ "emptyDir": {} }) });
    }
    let server = part.spec("server");
    for (at, secret) in server.get("tokenServiceCertificateAuthorityRefs").texts()?.iter().enumerate() {
        let volume = format!("public-certificates-{at}");
        pod.mount(&volume, &format!("/harbor_cust_cert/{at}-ca.crt"), Some("ca.crt"), true);
        pod.volume(&volume, json!({ "secret": { "secretName": secret } }));
    }
    for (at, secret) in server.get("clientCertificateAuthorityRefs").texts()?.iter().enumerate() {
        let volume = format!("client-certificate-authority-{at}");
        pod.mount(&volume, &client_authority(at), Some("ca.crt"), true);
        pod.volume(&volume, json!({ "secret": { "secretName": secret } }));
    }
    Ok(pod)
}

fn client_authority(at: usize) -> String {
    format!("/etc/harbor/ssl/authorities/{at}-ca.crt")
}

fn environment(part: &Part<'_>, number: i64, secure: bool) -> Result<Value, Error> {
    let mut env = Env::default();
    env.value("SCANNER_API_SERVER_ADDR", format!(":{number}"));
    let timeout = part.spec("timeout").duration_or(5 * 60)?;
    env.value("SCANNER_TRIVY_TIMEOUT", duration::format(timeout));
    if let Some(secret) = part.spec("update.githubTokenRef").text_or_none()? {
        env.secret("SCANNER_TRIVY_GITHUB_TOKEN", secret, "github-token");
    }
    if secure {
        let authorities = part.spec("server.clientCertificateAuthorityRefs").texts()?.len();
        let authorities: Vec<_> = (0..authorities).map(client_authority).collect();
        env.value("SCANNER_API_SERVER_TLS_CERTIFICATE", "/etc/harbor/ssl/tls.crt")
            .value("SCANNER_API_SERVER_TLS_KEY", "/etc/harbor/ssl/tls.key")
            .value("SCANNER_API_SERVER_CLIENT_CAS", authorities.join(","));
    }
    env.proxy(&part.spec("proxy"))?;
    Ok(env.into_value())
}

fn variables(part: &Part<'_>) -> Result<Value, Error> {
    let (server, redis, pool) = (part.spec("server"), part.spec("redis"), part.spec("redis.pool"));
    let time = |field: Field<'_>, seconds| Ok::<_, Error>(duration::format(field.duration_or(seconds)?));
    let list = |field: Field<'_>, otherwise: &str| {
        let texts = field.texts()?;
        Ok::<_, Error>(if texts.is_empty() { otherwise.to_owned() } else { texts.join(",") })
    };
    Ok(json!({
        "SCANNER_LOG_LEVEL": part.spec("log.level").text_or("info")?,
        "SCANNER_API_SERVER_READ_TIMEOUT": time(server.get("readTimeout"), 15)?,
        "SCANNER_API_SERVER_WRITE_TIMEOUT": time(server.get("writeTimeout"), 15)?,
        "SCANNER_API_SERVER_IDLE_TIMEOUT": time(server.get("idleTimeout"), 60)?,
        "SCANNER_TRIVY_CACHE_DIR": format!("{CACHE}/trivy"),
        "SCANNER_TRIVY_REPORTS_DIR": format!("{CACHE}/reports"),
        "SCANNER_TRIVY_DEBUG_MODE": server.get("debugMode").flag()?.to_string(),
        "SCANNER_TRIVY_IGNORE_UNFIXED": server.get("ignoreUnfixed").flag()?.to_string(),
        "SCANNER_TRIVY_INSECURE": server.get("insecure").flag()?.to_string(),
        "SCANNER_TRIVY_SKIP_UPDATE": part.spec("update.skip").flag()?.to_string(),
        "SCANNER_TRIVY_OFFLINE_SCAN": part.spec("offlineScan").flag()?.to_string(),
        "SCANNER_TRIVY_SEVERITY": list(part.spec("severities"), "UNKNOWN,LOW,MEDIUM,HIGH,CRITICAL")?,
        "SCANNER_TRIVY_VULN_TYPE": list(part.spec("vulnerabilityTypes"), "os,library")?,
        "SCANNER_STORE_REDIS_NAMESPACE": redis.get("namespace").text_or("harbor.scanner.trivy:store")?,
        "SCANNER_STORE_REDIS_SCAN_JOB_TTL": time(redis.get("jobs").get("scanTTL"), 60 * 60)?,
        "SCANNER_JOB_QUEUE_REDIS_NAMESPACE":
            redis.get("jobs").get("Namespace").text_or("harbor.scanner.trivy:job-queue")?,
        "SCANNER_JOB_QUEUE_WORKER_CONCURRENCY": "1",
        "SCANNER_REDIS_POOL_MAX_ACTIVE": pool.get("maxActive").number_or(5)?.to_string(),
        "SCANNER_REDIS_POOL_MAX_IDLE": pool.get("maxIdle").number_or(5)?.to_string(),
        "SCANNER_REDIS_POOL_IDLE_TIMEOUT": time(pool.get("idleTimeout"), 5 * 60)?,
        "SCANNER_REDIS_POOL_CONNECTION_TIMEOUT": time(pool.get("connectionTimeout"), 1)?,
        "SCANNER_REDIS_POOL_READ_TIMEOUT": time(pool.get("readTimeout"), 1)?,
        "SCANNER_REDIS_POOL_WRITE_TIMEOUT": time(pool.get("writeTimeout"), 1)?,
    }))
}
