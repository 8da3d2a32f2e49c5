//! Registry and the RegistryController of its name → one Deployment that stores images, with two Services and files.

use serde_json::{Value, json};

use super::env::Env;
use super::node::{Node, kinds};
use super::registry_file::{self, GOOGLE, ROOT};
use super::secrets::{REDIS, SINGLE};
use super::workload::{Part, Pod, has_tls, port, probe, scheme, yaml};
use crate::error::Error;
use crate::field::Field;
use crate::owner::Owner;

/// The RegistryController that belongs to a Registry: the one of its name.
fn controller(part: &Part<'_>) -> Result<Owner, Error> {
    let name = part.owner.name();
    match part.found.get("RegistryController", name) {
        Some(object) => Owner::new(object.clone()),
        None => Err(Error::Missing {
            object: part.owner.described().to_owned(),
            field: "metadata.name".to_owned(),
            kind: "RegistryController".to_owned(),
            name: name.to_owned(),
        }),
    }
}

pub(super) fn children(part: &Part<'_>) -> Result<Vec<Node>, Error> {
    let controller = controller(part)?;
    let tls = part.spec("http.tls");
    let secure = has_tls(&tls)?;
    let (name, other) = (part.child()?, part.owner.child("registryctl")?);
    let metrics = part.spec("http.debug");
    let mut pod = Pod::default();
    pod.mount("registry-config", "/etc/registry", None, false);
    pod.volume("registry-config", json!({ "configMap": { "name": name, "optional": false } }));
    let mut env = Env::default();
    let required = authentication(part, &mut env, &mut pod)?;
    pod.certificates(&tls, "registry", true)?;
    pod.trusted(&part.spec("certificateRefs"))?;
    storage(part, &mut env, &mut pod)?;
    env.proxy(&part.spec("proxy"))?;
    let mut ports = vec![port("api", 5000)];
    if let Some(debug) = metrics.clone().set() {
        ports.push(port("metrics", debug.get("port").number_or(5001)?));
    }
    let container = json!({
        "name": "registry",
        "image": part.image(&part.spec(""), part.owner, "registry-photon")?,
        "args": ["serve", "/etc/registry/config.yml"],
        "ports": ports,
        "livenessProbe": probe("/", "api", secure),
        "readinessProbe": probe("/", "api", secure),
        "env": env.clone().into_value(),
        "volumeMounts": pod.mounts,
    });
    let control = control(part, &controller, env, &mut pod)?;
    let control_secure = has_tls(&controller.spec("tls"))?;
    let file = part.file(&name, "config.yml", &yaml(&registry_file::registry(part, secure)?));
    let control_file = part.file(&other, "config.yml", &yaml(&control_file(&controller, control_secure)?));
    let mut nodes = services(part, &controller, [secure, control_secure], [&name, &other])?;
    let needs: Vec<_> = required.iter().map(|node| node.id.clone()).collect();
    nodes.extend(required);
    pod.mounts.clear();
    let deployment = part
        .deployment(vec![container, control], pod, None)?
        .needs([file.id.clone(), control_file.id.clone()])
        .needs(needs);
    nodes.extend([file, control_file, deployment]);
    let incoming: &[&str] = if metrics.is_set() { &["api", "metrics"] } else { &["api"] };
    nodes.extend(part.ingress_policy(incoming)?);
    Ok(nodes)
}

fn services(
    part: &Part<'_>,
    controller: &Owner,
    [secure, control_secure]: [bool; 2],
    [name, other]: [&str; 2],
) -> Result<Vec<Node>, Error> {
    let (metrics, number) = (part.spec("http.debug"), if secure { 443 } else { 80 });
    let network = part.spec("network");
    let service = match metrics.set() {
        Some(debug) => {
            let at = debug.get("port").number_or(5001)?;
            let service = part.service(name, &[("api", number), ("metrics", at)], &network)?;
            Part::scraped(service, at, debug.get("prometheus").get("path").text_or("/metrics")?)
        }
        None => part.service(name, &[("api", number)], &network)?,
    };
    let number = if control_secure { 443 } else { 80 };
    let ports = [(scheme(control_secure), number)];
    Ok(vec![service, part.service(other, &ports, &controller.spec("network"))?])
}

/// The object that a secret has to exist for: the graph waits for it.
fn authentication(part: &Part<'_>, env: &mut Env, pod: &mut Pod) -> Result<Vec<Node>, Error> {
    let mut required = Vec::new();
    let mut require = |field: &Field<'_>| {
        let name = field.text()?;
        required.push(Node::required(kinds::SECRET, name, field.path()));
        Ok::<_, Error>(name.to_owned())
    };
    if let Some(secret) = part.spec("http.secretRef").set() {
        let name = require(&secret)?;
        env.secret_if("REGISTRY_HTTP_SECRET", &name, "REGISTRY_HTTP_SECRET", false);
    }
    if let Some(secret) = part.spec("redis.passwordRef").text_or_none()? {
        env.secret_if("REGISTRY_REDIS_PASSWORD", secret, REDIS, true);
    }
    if let Some(reference) = part.spec("compatibility.schema1.certificateRef").text_or_none()? {
        env.value(
            "REGISTRY_COMPATIBILITY_SCHEMA1_SIGNINGKEYFILE",
            "/etc/registry/compatibility-schema1/tls.key",
        );
        pod.mount("compatibility-schema1-certificate", "/etc/registry/compatibility-schema1", None, true);
        pod.volume("compatibility-schema1-certificate", json!({ "secret": { "secretName": reference } }));
    }
    if let Some(file) = part.spec("authentication.htPasswd").set() {
        let name = require(&file.get("secretRef"))?;
        env.value("REGISTRY_AUTH_HTPASSWD_PATH", "/etc/registry/auth/htpasswd");
        pod.mount("authentication-htpasswd", "/etc/registry/auth", None, true);
        let items = json!([{ "key": "htpasswd", "path": "htpasswd" }]);
        let source = json!({ "secretName": name, "items": items, "optional": false });
        pod.volume("authentication-htpasswd", json!({ "secret": source }));
    }
    if let Some(token) = part.spec("authentication.token").set() {
        let name = require(&token.get("certificateRef"))?;
        env.value("REGISTRY_AUTH_TOKEN_ROOTCERTBUNDLE", "/etc/registry/token/tls.crt");
        pod.mount("authentication-token", "/etc/registry/token", None, true);
        pod.volume("authentication-token", json!({ "secret": { "secretName": name } }));
    }
    let driver = part.spec("storage.driver");
    for (driver_name, field) in [("s3", "secretkeyRef"), ("swift", "passwordRef"), ("swift", "secretkeyRef")]
    {
        if let Some(secret) = driver.get(driver_name).get(field).set() {
            require(&secret)?;
        }
    }
    let mut seen = std::collections::BTreeSet::new();
    required.retain(|node| seen.insert(node.id.clone()));
    Ok(required)
}

fn storage(part: &Part<'_>, env: &mut Env, pod: &mut Pod) -> Result<(), Error> {
    let driver = part.spec("storage.driver");
    let secret = |env: &mut Env, variable: &str, field: Field<'_>| {
        if let Some(name) = field.text_or_none()? {
            env.secret_if(variable, name, SINGLE, false);
        }
        Ok::<_, Error>(())
    };
    match registry_file::driver(&driver)? {
        "filesystem" => {
            let files = driver.get("filesystem");
            pod.mount("storage", ROOT, files.get("prefix").text_or_none()?, false);
            pod.volume("storage", files.get("volumeSource").or_empty());
        }
        "s3" => {
            secret(env, "REGISTRY_STORAGE_S3_SECRETKEY", driver.get("s3").get("secretkeyRef"))?;
            if let Some(certificate) = driver.get("s3").get("certificateRef").text_or_none()? {
                pod.mount("storage-certificate", "/harbor_cust_cert/storage.crt", Some("ca.crt"), true);
                pod.volume("storage-certificate", json!({ "secret": { "secretName": certificate } }));
            }
        }
        "swift" => {
            secret(env, "REGISTRY_STORAGE_SWIFT_PASSWORD", driver.get("swift").get("passwordRef"))?;
            secret(env, "REGISTRY_STORAGE_SWIFT_SECRETKEY", driver.get("swift").get("secretkeyRef"))?;
        }
        "azure" => {
            secret(env, "REGISTRY_STORAGE_AZURE_ACCOUNTKEY", driver.get("azure").get("accountkeyRef"))?
        }
        "gcs" => {
            let key = driver.get("gcs").get("keyDataRef").text()?;
            pod.mount("gcs-key", GOOGLE, Some("gcs-key.json"), true);
            let items = json!([{ "key": "GCS_KEY_DATA", "path": "gcs-key.json" }]);
            pod.volume("gcs-key", json!({ "secret": { "secretName": key, "items": items } }));
        }
        _ => {
            env.value("REGISTRY_STORAGE", "inmemory");
        }
    }
    Ok(())
}

/// The second container, which sees what the first one sees.
fn control(part: &Part<'_>, controller: &Owner, mut env: Env, pod: &mut Pod) -> Result<Value, Error> {
    let secure = has_tls(&controller.spec("tls"))?;
    let authentication = controller.spec("authentication");
    for (variable, field) in [("JOBSERVICE_SECRET", "jobServiceSecretRef"), ("CORE_SECRET", "coreSecretRef")]
    {
        if let Some(secret) = authentication.get(field).text_or_none()? {
            env.secret(variable, secret, SINGLE);
        }
    }
    env.trace(&part.spec("trace"), "registryctl")?;
    pod.mount("registryctl-config", "/etc/registryctl", None, false);
    if let Some(secret) = controller.spec("tls.certificateRef").text_or_none()? {
        let volume = "ctl-internal-certificates";
        pod.mount(volume, "/harbor_cust_cert/ctl-ca.crt", Some("ca.crt"), true);
        pod.mount(volume, "/etc/registryctl/ssl", None, true);
        pod.volume(volume, json!({ "secret": { "secretName": secret } }));
    }
    let other = part.owner.child("registryctl")?;
    pod.volume("registryctl-config", json!({ "configMap": { "name": other, "optional": false } }));
    Ok(json!({
        "name": "registryctl",
        "image": part.image(&controller.spec(""), controller, "harbor-registryctl")?,
        "ports": [port("http", 8080), port("https", 8443)],
        "livenessProbe": probe("/api/health", scheme(secure), secure),
        "readinessProbe": probe("/api/health", scheme(secure), secure),
        "env": env.into_value(),
        "volumeMounts": pod.mounts,
    }))
}

fn control_file(controller: &Owner, secure: bool) -> Result<Value, Error> {
    let mut file = json!({
        "protocol": scheme(secure),
        "port": if secure { 8443 } else { 8080 },
        "log_level": controller.spec("log.level").text_or("info")?,
        "registry_config": "/etc/registry/config.yml",
    });
    if secure {
        file["https_config"] =
            json!({ "cert": "/etc/registryctl/ssl/tls.crt", "key": "/etc/registryctl/ssl/tls.key" });
    }
    Ok(file)
}
