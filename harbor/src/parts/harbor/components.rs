//! The parts that every Harbor has: Registry, RegistryController, Core, JobService.

use serde_json::{Value, json};

use super::super::node::{Id, Node, kinds};
use super::secrets::REGISTRY_USER;
use super::stack::{Stack, copy, extend, put};
use super::storage;
use crate::error::Error;

/// How long a log of a job stays.
const LOGS_STAY: &str = "14h0m0s";

fn credentials(stack: &Stack<'_>) -> Result<Value, Error> {
    Ok(json!({ "username": REGISTRY_USER, "passwordRef": stack.part("registry-basicauth")? }))
}

pub(super) fn registry(stack: &Stack<'_>) -> Result<Node, Error> {
    let (component, redirect) = (stack.spec("registry"), stack.spec("imageChartStorage.redirect.disable"));
    let mut spec = stack.component(&component, "registry-photon")?;
    let mut http = json!({
        "secretRef": stack.part("registry-http")?,
        "relativeURLs": component.get("relativeURLs").flag_or(true)?,
        "http2": {},
    });
    put(&mut http, "tls", stack.tls("registry")?);
    let metrics = component.get("metrics");
    if metrics.get("enabled").flag()? {
        let mut debug = json!({ "prometheus": { "enabled": true } });
        copy(&mut debug, "port", &metrics.get("port"));
        copy(&mut debug["prometheus"], "path", &metrics.get("path"));
        http["debug"] = debug;
    }
    let mut redis = stack.redis(1)?;
    redis["pool"] = json!({});
    let mut middlewares = json!({});
    copy(&mut middlewares, "storage", &component.get("storageMiddlewares"));
    let fields = json!({
        "authentication": { "htPasswd": {
            "realm": "harbor-registry-basic-realm",
            "secretRef": stack.part("registry-basicauth")?,
        } },
        "compatibility": { "schema1": {} },
        "health": { "storageDriver": {} },
        "http": http,
        "log": { "accessLog": {}, "level": stack.level("registry")? },
        "middlewares": middlewares,
        "notifications": { "events": {} },
        "redis": redis,
        "storage": {
            "cache": { "blobdescriptor": "redis" },
            "delete": {},
            "driver": storage::registry(stack)?,
            "maintenance": {
                "readOnly": {},
                "uploadPurging": { "enabled": true, "age": "168h0m0s", "interval": "24h0m0s" },
            },
            "redirect": { "disable": redirect.flag()? },
        },
        "validation": { "disabled": true, "manifests": { "urls": {} } },
    });
    extend(&mut spec, fields);
    copy(&mut spec, "certificateRefs", &component.get("certificateRefs"));
    copy(&mut spec, "trace", &stack.spec("trace"));
    stack.proxy(&mut spec, "registry")?;
    let needs = [stack.secret("registry-basicauth")?, stack.secret("registry-http")?];
    Ok(stack.node("Registry", spec).needs(stack.certificate("registry")?).needs(needs))
}

pub(super) fn registry_controller(stack: &Stack<'_>) -> Result<Node, Error> {
    let component = stack.spec("registryctl");
    let mut spec = stack.component(&component, "harbor-registryctl")?;
    extend(
        &mut spec,
        json!({
            "registryRef": stack.name,
            "log": { "level": stack.level("registryctl")? },
            "authentication": {
                "coreSecretRef": stack.part("core-secret")?,
                "jobServiceSecretRef": stack.part("jobservice-secret")?,
            },
        }),
    );
    put(&mut spec, "tls", stack.tls("registryctl")?);
    // It runs in the pods of the Registry, and has to be able to be where the volume is.
    if storage::kind(stack)? == "filesystem" {
        for field in ["nodeSelector", "tolerations"] {
            if spec[field].is_null() {
                copy(&mut spec, field, &stack.spec("registry").get(field));
            }
        }
    }
    Ok(stack.node("RegistryController", spec).needs(stack.certificate("registryctl")?).unchecked())
}

pub(super) fn core(stack: &Stack<'_>) -> Result<Node, Error> {
    let component = stack.spec("core");
    let mut spec = stack.component(&component, "harbor-core")?;
    let mut components = json!({
        "jobService": { "url": stack.url("jobservice")?, "secretRef": stack.part("jobservice-secret")? },
        "portal": { "url": stack.url("portal")? },
        "registry": {
            "url": stack.url("registry")?,
            "controllerURL": stack.url("registryctl")?,
            "credentials": credentials(stack)?,
            "redis": stack.redis(1)?,
            "storageProviderName": storage::kind(stack)?,
        },
        "tokenService": {
            "url": format!("{}/service/token", stack.url("core")?),
            "certificateRef": stack.part("core-tokencert")?,
        },
    });
    put(&mut components, "tls", stack.tls("core")?);
    if stack.spec("chartmuseum").is_set() {
        components["chartRepository"] = json!({ "url": stack.url("chartmuseum")? });
    }
    if stack.spec("trivy").is_set() {
        components["trivy"] = json!({ "url": stack.url("trivy")?, "adapterURL": stack.url("trivy")? });
    }
    if stack.spec("notary").is_set() {
        components["notaryServer"] = json!({ "url": stack.url("notaryserver")? });
    }
    let mut database = stack.database("core")?;
    database["encryptionKeyRef"] = json!(stack.part("core-encryptionkey")?);
    extend(
        &mut spec,
        json!({
            "adminInitialPasswordRef": stack.spec("harborAdminPasswordRef").text()?,
            "components": components,
            "csrfKeyRef": stack.part("core-csrf")?,
            "database": database,
            "externalEndpoint": stack.spec("externalURL").text()?,
            "http": {},
            "log": { "level": stack.level("core")? },
            "redis": stack.redis(0)?,
            "secretRef": stack.part("core-secret")?,
        }),
    );
    copy(&mut spec, "publicCertificateRef", &stack.spec("expose.core.tls.certificateRef"));
    copy(&mut spec, "certificateRefs", &component.get("certificateRefs"));
    copy(&mut spec, "metrics", &component.get("metrics"));
    copy(&mut spec, "trace", &stack.spec("trace"));
    stack.proxy(&mut spec, "core")?;
    let needs = [
        Id::new(kinds::CERTIFICATE, stack.part("core-tokencert")?),
        stack.secret("registry-basicauth")?,
        stack.secret("core-csrf")?,
        stack.secret("core-secret")?,
        stack.secret("core-encryptionkey")?,
    ];
    Ok(stack.node("Core", spec).needs(stack.certificate("core")?).needs(needs))
}

pub(super) fn job_service(stack: &Stack<'_>) -> Result<Node, Error> {
    let component = stack.spec("jobservice");
    let mut spec = stack.component(&component, "harbor-jobservice")?;
    let (level, port) = (stack.level("jobservice")?, stack.port());
    let mut pool = json!({ "redisPool": stack.redis(2)? });
    copy(&mut pool, "workers", &component.get("workerCount"));
    extend(
        &mut spec,
        json!({
            "core": { "url": format!("{}:{port}", stack.url("core")?), "secretRef": stack.part("core-secret")? },
            "jobLoggers": { "files": [{ "level": level, "sweeper": LOGS_STAY }] },
            "loggers": { "stdout": { "level": level } },
            "registry": {
                "url": stack.url("registry")?,
                "controllerURL": format!("{}:{port}", stack.url("registryctl")?),
                "credentials": credentials(stack)?,
            },
            "secretRef": stack.part("jobservice-secret")?,
            "tokenService": { "url": format!("{}/service/token", stack.url("core")?) },
            "workerPool": pool,
        }),
    );
    put(&mut spec, "tls", stack.tls("jobservice")?);
    copy(&mut spec, "certificateRefs", &component.get("certificateRefs"));
    copy(&mut spec, "metrics", &component.get("metrics"));
    copy(&mut spec, "trace", &stack.spec("trace"));
    stack.proxy(&mut spec, "jobservice")?;
    let needs = [
        Id::new(kinds::goharbor("Core"), &stack.name),
        stack.secret("core-secret")?,
        stack.secret("jobservice-secret")?,
    ];
    Ok(stack.node("JobService", spec).needs(stack.certificate("jobservice")?).needs(needs))
}
