//! ChartMuseum → the store of charts of older releases.

use serde_json::{Value, json};

use super::address;
use super::env::Env;
use super::node::Node;
use super::secrets::{REDIS, SINGLE};
use super::workload::{Part, Pod, has_tls, port, probe, scheme, yaml};
use crate::error::Error;

/// Where a volume with charts is mounted.
const CHARTS: &str = "/mnt/chartstorage";
/// Where the key of a Google account is mounted.
const GOOGLE: &str = "/etc/gcs/gcs-key.json";

pub(super) fn children(part: &Part<'_>) -> Result<Vec<Node>, Error> {
    let tls = part.spec("server.tls");
    let secure = has_tls(&tls)?;
    let name = part.child()?;
    let file = part.file(&name, "config.yaml", &yaml(&configuration(part, secure)?));
    let mut pod = Pod::default();
    pod.mount("config", "/etc/chartmuseum", None, false);
    pod.volume("config", json!({ "configMap": { "name": name, "optional": false } }));
    let mut env = environment(part)?;
    storage(part, &mut env, &mut pod)?;
    pod.certificates(&tls, "chartmuseum", true)?;
    pod.trusted(&part.spec("certificateRefs"))?;
    let container = json!({
        "name": "chartmuseum",
        "image": part.image(&part.spec(""), part.owner, "chartmuseum-photon")?,
        "ports": [port("http", 8080), port("https", 8443)],
        "livenessProbe": probe("/health", scheme(secure), secure),
        "readinessProbe": probe("/health", scheme(secure), secure),
        "env": env.into_value(),
        "volumeMounts": std::mem::take(&mut pod.mounts),
    });
    let port = if secure { 443 } else { 80 };
    let service = part.service(&name, &[(scheme(secure), port)], &part.spec("network"))?;
    let deployment = part.deployment(vec![container], pod, None)?.needs([file.id.clone()]);
    let mut nodes = vec![service, file, deployment];
    nodes.extend(part.ingress_policy(&[scheme(secure)])?);
    Ok(nodes)
}

fn environment(part: &Part<'_>) -> Result<Env, Error> {
    let mut env = Env::default();
    env.value("CONFIG", "/etc/chartmuseum/config.yaml");
    let tolerance = part.spec("chart.index.storageTimestampTolerance").duration_or(1)?;
    env.value("STORAGE_TIMESTAMP_TOLERANCE", crate::duration::format(tolerance));
    if let Some(secret) = part.spec("authentication.basicAuthRef").text_or_none()? {
        env.secret("BASIC_AUTH_USER", secret, "username").secret("BASIC_AUTH_PASS", secret, "password");
    }
    if let Some(url) = part.spec("chart.url").text_or_none()?.filter(|url| !url.is_empty()) {
        env.value("CHART_URL", url);
    }
    if let Some(secret) = part.spec("cache.redis.passwordRef").text_or_none()? {
        env.secret_if("CACHE_REDIS_PASSWORD", secret, REDIS, false);
    }
    Ok(env)
}

fn storage(part: &Part<'_>, env: &mut Env, pod: &mut Pod) -> Result<(), Error> {
    let storage = part.spec("chart.storage");
    let texts = |env: &mut Env, driver: &str, names: &[(&str, &str)]| {
        for (variable, field) in names {
            let field = storage.get(driver).get(field);
            if let Some(text) = field.text_or_none()?.filter(|text| !text.is_empty()) {
                env.value(variable, text);
            }
        }
        Ok::<_, Error>(())
    };
    let secret = |env: &mut Env, variable: &str, driver: &str, field: &str| {
        if let Some(secret) = storage.get(driver).get(field).text_or_none()? {
            env.secret_if(variable, secret, SINGLE, false);
        }
        Ok::<_, Error>(())
    };
    if let Some(amazon) = storage.get("amazon").set() {
        env.value("STORAGE", "amazon").value("STORAGE_AMAZON_BUCKET", amazon.get("bucket").text()?);
        texts(
            env,
            "amazon",
            &[
                ("STORAGE_AMAZON_PREFIX", "prefix"),
                ("STORAGE_AMAZON_REGION", "region"),
                ("STORAGE_AMAZON_ENDPOINT", "endpoint"),
                ("STORAGE_AMAZON_SSE", "serverSideEncryption"),
                ("AWS_ACCESS_KEY_ID", "accessKeyID"),
            ],
        )?;
        return secret(env, "AWS_SECRET_ACCESS_KEY", "amazon", "accessSecretRef");
    }
    if let Some(openstack) = storage.get("openstack").set() {
        env.value("STORAGE", "openstack")
            .value("STORAGE_OPENSTACK_CONTAINER", openstack.get("container").text()?)
            .value("OS_AUTH_URL", openstack.get("authenticationURL").text()?);
        texts(
            env,
            "openstack",
            &[
                ("STORAGE_OPENSTACK_PREFIX", "prefix"),
                ("STORAGE_OPENSTACK_REGION", "region"),
                ("OS_PROJECT_NAME", "tenant"),
                ("OS_PROJECT_ID", "tenantID"),
                ("OS_DOMAIN_NAME", "domain"),
                ("OS_DOMAIN_ID", "domainID"),
                ("OS_USERNAME", "username"),
                ("OS_USERID", "userid"),
            ],
        )?;
        return secret(env, "OS_PASSWORD", "openstack", "passwordRef");
    }
    if storage.get("azure").is_set() {
        env.value("STORAGE", "microsoft");
        texts(
            env,
            "azure",
            &[
                ("STORAGE_MICROSOFT_CONTAINER", "container"),
                ("STORAGE_MICROSOFT_PREFIX", "pathPrefix"),
                ("AZURE_STORAGE_ACCOUNT", "accountname"),
                ("AZURE_BASE_URL", "baseURL"),
            ],
        )?;
        return secret(env, "AZURE_STORAGE_ACCESS_KEY", "azure", "accountkeyRef");
    }
    if let Some(google) = storage.get("gcs").set() {
        env.value("STORAGE", "google").value("STORAGE_GOOGLE_BUCKET", google.get("bucket").text()?);
        texts(env, "gcs", &[("STORAGE_GOOGLE_PREFIX", "pathPrefix")])?;
        env.value("GOOGLE_APPLICATION_CREDENTIALS", GOOGLE);
        pod.mount("gcs-key", GOOGLE, Some("gcs-key.json"), true);
        let key = google.get("keyDataSecretRef").text()?;
        let items = json!([{ "key": "GCS_KEY_DATA", "path": "gcs-key.json" }]);
        pod.volume("gcs-key", json!({ "secret": { "secretName": key, "items": items } }));
        return Ok(());
    }
    let files = storage.get("filesystem");
    if !files.is_set() {
        return Err(storage.wrong("must have one of filesystem, amazon, openstack, azure and gcs"));
    }
    let prefix = files.get("prefix").text_or_none()?.filter(|prefix| !prefix.is_empty());
    env.value("STORAGE", "local");
    let root =
        prefix.map_or(CHARTS.to_owned(), |prefix| format!("{CHARTS}/{}", prefix.trim_start_matches('/')));
    env.value("STORAGE_LOCAL_ROOTDIR", root);
    pod.mount("storage", CHARTS, prefix, false);
    pod.volume("storage", files.get("volumeSource").or_empty());
    Ok(())
}

fn configuration(part: &Part<'_>, secure: bool) -> Result<Value, Error> {
    let (chart, disable, log) = (part.spec("chart"), part.spec("disable"), part.spec("log"));
    let authentication = part.spec("authentication");
    let mut auth = json!({ "anonymous.get": authentication.get("anonymousGet").flag()? });
    if let Some(bearer) = authentication.get("bearer").set() {
        auth["bearer"] = json!({
            "realm": bearer.get("realm").text()?,
            "service": bearer.get("service").text()?,
        });
    }
    let name = |field: &str| chart.get("postFormFieldName").get(field).text_or_none();
    let mut file = json!({
        "port": if secure { 8443 } else { 8080 },
        "allow.overwrite": chart.get("allowOverwrite").flag_or(true)?,
        "auth": auth,
        "context.path": "",
        "debug": log.get("debug").flag()?,
        "depth": chart.get("repo").get("depth").number_or(0)?,
        "disable": {
            "api": disable.get("api").flag()?,
            "delete": disable.get("delete").flag()?,
            "force.overwrite": disable.get("forceOverwrite").flag()?,
            "metrics": disable.get("metrics").flag()?,
            "statefiles": disable.get("statefiles").flag()?,
        },
        "index.limit": chart.get("index").get("parallelLimit").number_or(0)?,
        "log": { "health": log.get("health").flag()?, "json": log.get("json").flag()? },
        "max": {
            "storage.objects": chart.get("storage").get("maxStorageObject").number_or(0)?,
            "upload.size": part.spec("server.maxUploadSize").number_or(0)?,
        },
        "chart.post.form.field.name": name("chart")?,
        "prov.post.form.field.name": name("provenance")?,
    });
    if let Some(redis) = part.spec("cache.redis").set() {
        file["cache"] = json!("redis");
        let database = redis.get("database").number_or(0)?;
        file["cache.redis"] = json!({ "addr": address::redis_address(&redis)?, "db": database });
    }
    if secure {
        let at = |name: &str| format!("/etc/chartmuseum/ssl/{name}");
        file["tls"] = json!({ "ca.cert": at("ca.crt"), "cert": at("tls.crt"), "key": at("tls.key") });
    }
    Ok(file)
}
