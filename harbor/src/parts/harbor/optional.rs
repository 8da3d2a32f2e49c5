//! The parts that a Harbor may have: Portal, ChartMuseum, Exporter, Trivy, NotaryServer, NotarySigner.

use serde_json::{Value, json};

use super::super::node::{Id, Node, kinds};
use super::stack::{Stack, copy, extend, put};
use super::storage;
use crate::duration;
use crate::error::Error;
use crate::field::Field;

pub(super) fn children(stack: &Stack<'_>) -> Result<Vec<Node>, Error> {
    let mut nodes = Vec::new();
    if let Some(component) = stack.spec("portal").set() {
        let mut spec = stack.component(&component, "harbor-portal")?;
        put(&mut spec, "tls", stack.tls("portal")?);
        nodes.push(stack.node("Portal", spec).needs(stack.certificate("portal")?));
    }
    if let Some(component) = stack.spec("chartmuseum").set() {
        nodes.push(chart_museum(stack, &component)?);
    }
    if let Some(component) = stack.spec("exporter").set() {
        nodes.push(exporter(stack, &component)?);
    }
    if let Some(component) = stack.spec("trivy").set() {
        nodes.push(trivy(stack, &component)?);
    }
    if let Some(notary) = stack.spec("notary").set() {
        nodes.push(notary_server(stack, &notary)?);
        nodes.push(notary_signer(stack, &notary)?);
    }
    Ok(nodes)
}

fn chart_museum(stack: &Stack<'_>, component: &Field<'_>) -> Result<Node, Error> {
    let mut spec = stack.component(component, "chartmuseum-photon")?;
    let mut driver = storage::charts(stack)?;
    driver["maxStorageObject"] = json!(0);
    let mut chart = json!({
        "storage": driver,
        "index": { "parallelLimit": 0 },
        "postFormFieldName": {},
        "repo": {},
    });
    if component.get("absoluteUrl").flag()? {
        chart["url"] = json!(stack.spec("externalURL").text()?);
    }
    let mut server = json!({});
    put(&mut server, "tls", stack.tls("chartmuseum")?);
    extend(
        &mut spec,
        json!({
            "authentication": { "anonymousGet": false, "basicAuthRef": stack.part("core-secret")? },
            "cache": { "redis": stack.redis(3)? },
            "chart": chart,
            "disable": {},
            "log": { "debug": stack.level("chartmuseum")? == "debug", "json": true },
            "server": server,
        }),
    );
    copy(&mut spec, "certificateRefs", &component.get("certificateRefs"));
    let node = stack.node("ChartMuseum", spec);
    Ok(node.needs(stack.certificate("chartmuseum")?).needs([stack.secret("core-secret")?]))
}

fn exporter(stack: &Stack<'_>, component: &Field<'_>) -> Result<Node, Error> {
    let mut spec = stack.component(component, "harbor-exporter")?;
    let mut database = stack.database("core")?;
    database["encryptionKeyRef"] = json!(stack.part("core-encryptionkey")?);
    extend(
        &mut spec,
        json!({
            "core": { "url": format!("{}:{}", stack.url("core")?, stack.port()) },
            "database": database,
            "jobservice": { "redisPool": stack.redis(2)? },
            "log": { "level": stack.level("exporter")? },
        }),
    );
    if let Some(cache) = component.get("cache").set() {
        let mut times = json!({});
        for field in ["duration", "cleanInterval"] {
            if let Some(time) = cache.get(field).duration()? {
                times[field] = json!(duration::format(time));
            }
        }
        spec["cache"] = times;
    }
    copy(&mut spec, "port", &component.get("port"));
    copy(&mut spec, "path", &component.get("path"));
    put(&mut spec, "tls", stack.tls("exporter")?);
    let core = Id::new(kinds::goharbor("Core"), &stack.name);
    Ok(stack.node("Exporter", spec).needs(stack.certificate("exporter")?).needs([core]))
}

fn trivy(stack: &Stack<'_>, component: &Field<'_>) -> Result<Node, Error> {
    let mut spec = stack.component(component, "trivy-adapter-photon")?;
    let volume = |field: &str| {
        let claim = component.get("storage").get(field);
        if !claim.is_set() {
            return Ok::<_, Error>(json!({ "volumeSource": { "emptyDir": {} } }));
        }
        let mut source = json!({ "claimName": claim.get("claimName").text()? });
        if claim.get("readOnly").flag()? {
            source["readOnly"] = json!(true);
        }
        let mut storage = json!({ "volumeSource": { "persistentVolumeClaim": source } });
        copy(&mut storage, "prefix", &claim.get("prefix"));
        Ok(storage)
    };
    let mut redis = stack.redis(5)?;
    redis["pool"] = json!({});
    redis["jobs"] = json!({});
    let mut update = json!({ "skip": component.get("skipUpdate").flag()? });
    copy(&mut update, "githubTokenRef", &component.get("githubTokenRef"));
    let mut server = json!({});
    put(&mut server, "tls", stack.tls("trivy")?);
    if let Some(public) = stack.spec("expose.core.tls.certificateRef").text_or_none()? {
        server["tokenServiceCertificateAuthorityRefs"] = json!([public]);
    }
    extend(
        &mut spec,
        json!({
            "offlineScan": component.get("offlineScan").flag()?,
            "redis": redis,
            "server": server,
            "storage": {
                "cache": volume("cachePersistentVolume")?,
                "reports": volume("reportsPersistentVolume")?,
            },
            "update": update,
        }),
    );
    copy(&mut spec, "certificateRefs", &component.get("certificateRefs"));
    stack.proxy(&mut spec, "trivy")?;
    Ok(stack.node("Trivy", spec).needs(stack.certificate("trivy")?))
}

fn notary_server(stack: &Stack<'_>, notary: &Field<'_>) -> Result<Node, Error> {
    let mut spec = stack.component(&notary.get("server"), "notary-server-photon")?;
    let own = stack.part("notaryserver-authentication")?;
    let url = stack.spec("externalURL").text()?.trim_end_matches('/').to_owned();
    extend(
        &mut spec,
        json!({
            "authentication": { "token": {
                "certificateRef": stack.part("core-tokencert")?,
                "issuer": "harbor-token-issuer",
                "realm": format!("{url}/service/token"),
                "service": "harbor-notary",
            } },
            "trustService": { "remote": {
                "certificateRef": own,
                "host": stack.part("notarysigner")?,
                "port": 7899,
            } },
        }),
    );
    shared(stack, notary, &mut spec, "notaryserver")?;
    put(&mut spec, "tls", stack.tls("notaryserver")?);
    let node = stack.node("NotaryServer", spec).needs(stack.certificate("notaryserver")?);
    Ok(node.needs([Id::new(kinds::CERTIFICATE, own)]))
}

fn notary_signer(stack: &Stack<'_>, notary: &Field<'_>) -> Result<Node, Error> {
    let mut spec = stack.component(&notary.get("signer"), "notary-signer-photon")?;
    let (own, key) = (stack.part("notarysigner-authentication")?, "notarysigner-encryption-key");
    spec["authentatication"] = json!({ "certificateRef": own });
    shared(stack, notary, &mut spec, "notarysigner")?;
    spec["storage"]["aliasesRef"] = json!(stack.part(key)?);
    let needs = [Id::new(kinds::CERTIFICATE, own), stack.secret(key)?];
    Ok(stack.node("NotarySigner", spec).needs(needs))
}

fn shared(stack: &Stack<'_>, notary: &Field<'_>, spec: &mut Value, part: &str) -> Result<(), Error> {
    extend(
        spec,
        json!({
            "logging": { "level": stack.level(part)? },
            "migrationEnabled": notary.get("migrationEnabled").flag_or(true)?,
            "storage": { "postgres": stack.database(part)? },
        }),
    );
    Ok(())
}
