//! Registry → its configuration file, in the terms of the registry of the Distribution project.

use serde_json::{Map, Value, json};

use super::address;
use super::workload::Part;
use crate::duration;
use crate::error::Error;
use crate::field::Field;

/// Where images are stored within the pod.
pub(super) const ROOT: &str = "/var/lib/registry";
/// Where the key of a Google account is mounted.
pub(super) const GOOGLE: &str = "/etc/gcs/gcs-key.json";

/// The drivers that a Registry may have.
const DRIVERS: [&str; 6] = ["filesystem", "s3", "swift", "azure", "gcs", "inmemory"];

/// The one driver of a storage.
pub(super) fn driver(storage: &Field<'_>) -> Result<&'static str, Error> {
    let mut given = DRIVERS.into_iter().filter(|driver| storage.get(driver).is_set());
    match (given.next(), given.next()) {
        (Some(driver), None) => Ok(driver),
        (None, _) => Err(storage.wrong(format!("must have one of {}", DRIVERS.join(", ")))),
        (Some(one), Some(other)) => {
            Err(storage.wrong(format!("has {one} and {other}: only 1 storage can be configured, remove one")))
        }
    }
}

/// The file of a Registry.
pub(super) fn registry(part: &Part<'_>, secure: bool) -> Result<Value, Error> {
    let mut file = json!({
        "version": 0.1,
        "log": log(part)?,
        "http": http(part, secure)?,
        "storage": storage(part)?,
        "compatibility": {
            "schema1": { "enabled": part.spec("compatibility.schema1.enabled").flag()? },
        },
        "validation": validation(&part.spec("validation"))?,
        "notifications": notifications(&part.spec("notifications"))?,
        "health": health(&part.spec("health"))?,
    });
    if let Some(redis) = part.spec("redis").set() {
        file["redis"] = cache(&redis)?;
    }
    if let Some(auth) = auth(&part.spec("authentication"))? {
        file["auth"] = auth;
    }
    let middlewares = part.spec("middlewares");
    let mut all = Vec::new();
    for kind in ["registry", "repository", "storage"] {
        for middleware in middlewares.get(kind).list()? {
            all.push(json!({ "name": middleware.get("name").text()? }));
        }
    }
    if !all.is_empty() {
        file["middleware"] = json!({ "registry": all });
    }
    let reporting = part.spec("reporting").map()?;
    if !reporting.is_empty() {
        file["reporting"] = json!(reporting);
    }
    Ok(file)
}

/// Copies a duration, as Go writes it, where it is given.
fn time(file: &mut Value, name: &str, field: &Field<'_>) -> Result<(), Error> {
    if let Some(time) = field.duration()? {
        file[name] = json!(duration::format(time));
    }
    Ok(())
}

fn log(part: &Part<'_>) -> Result<Value, Error> {
    let log = part.spec("log");
    let mut file = json!({
        "accesslog": { "disabled": log.get("accessLog").get("disabled").flag()? },
        "level": log.get("level").text_or("info")?,
        "formatter": log.get("formatter").text_or("text")?,
    });
    if let Some(fields) = log.get("fields").set() {
        file["fields"] = fields.value().clone();
    }
    Ok(file)
}

fn http(part: &Part<'_>, secure: bool) -> Result<Value, Error> {
    let http = part.spec("http");
    let mut file = json!({
        "net": http.get("net").text_or("tcp")?,
        "addr": ":5000",
        "http2": { "disabled": http.get("http2").get("disabled").flag()? },
        "host": http.get("host").text_or("")?,
        "relativeurls": http.get("relativeURLs").flag_or(true)?,
    });
    if let Some(headers) = http.get("headers").set() {
        file["headers"] = headers.value().clone();
    }
    if let Some(prefix) = http.get("prefix").text_or_none()? {
        file["prefix"] = json!(prefix);
    }
    time(&mut file, "draintimeout", &http.get("drainTimeout"))?;
    if let Some(debug) = http.get("debug").set() {
        let prometheus = debug.get("prometheus");
        file["debug"] = json!({
            "addr": format!(":{}", debug.get("port").number_or(5001)?),
            "prometheus": {
                "enabled": prometheus.get("enabled").flag()?,
                "path": prometheus.get("path").text_or("/metrics")?,
            },
        });
    }
    if secure {
        file["tls"] =
            json!({ "certificate": "/etc/registry/ssl/tls.crt", "key": "/etc/registry/ssl/tls.key" });
    }
    Ok(file)
}

fn storage(part: &Part<'_>) -> Result<Value, Error> {
    let storage = part.spec("storage");
    let purging = storage.get("maintenance").get("uploadPurging");
    let mut upload = json!({
        "enabled": purging.get("enabled").flag()?,
        "dryRun": purging.get("dryRun").flag()?,
    });
    if purging.get("enabled").flag()? {
        time(&mut upload, "age", &purging.get("age"))?;
        time(&mut upload, "interval", &purging.get("interval"))?;
    }
    let read_only = storage.get("maintenance").get("readOnly").get("enabled").flag()?;
    let mut file = json!({
        "cache": { "blobdescriptor": storage.get("cache").get("blobdescriptor").text_or("inmemory")? },
        "maintenance": { "uploadPurging": upload, "readOnly": { "enabled": read_only } },
        "redirect": { "disable": storage.get("redirect").get("disable").flag()? },
    });
    if storage.get("delete").get("enabled").flag()? {
        file["delete"] = json!({ "enabled": true });
    }
    let drivers = storage.get("driver");
    let name = driver(&drivers)?;
    let given = drivers.get(name);
    file[name] = match name {
        "filesystem" => json!({
            "rootdirectory": ROOT,
            "maxthreads": given.get("maxthreads").number_or(100)?,
        }),
        "s3" => plain(&given, &["secretkeyRef", "certificateRef"], &[]),
        "swift" => plain(
            &given,
            &["passwordRef", "secretkeyRef"],
            &[("tenantID", "tenantid"), ("domainID", "domainid")],
        ),
        "azure" => {
            plain(&given, &["accountkeyRef"], &[("baseURL", "realm"), ("pathPrefix", "rootdirectory")])
        }
        "gcs" => {
            let names = [("pathPrefix", "rootdirectory"), ("chunkSize", "chunksize")];
            let mut file = plain(&given, &["keyDataRef"], &names);
            file["keyfile"] = json!(GOOGLE);
            file
        }
        _ => json!({}),
    };
    Ok(file)
}

/// The fields of a driver under the names of the file, without those that name secrets.
fn plain(given: &Field<'_>, secrets: &[&str], names: &[(&str, &str)]) -> Value {
    let mut file = Map::new();
    for (name, value) in given.value().as_object().into_iter().flatten() {
        if !secrets.contains(&name.as_str()) {
            let other = names.iter().find(|(field, _)| field == name).map(|(_, other)| *other);
            file.insert(other.unwrap_or(name).to_owned(), value.clone());
        }
    }
    Value::Object(file)
}

fn cache(redis: &Field<'_>) -> Result<Value, Error> {
    let pool = redis.get("pool");
    let mut file = json!({
        "addr": address::redis_address(redis)?,
        "db": redis.get("database").number_or(0)?,
        "pool": {
            "maxidle": pool.get("maxIdle").number_or(3)?,
            "maxactive": pool.get("maxActive").number_or(5)?,
            "idletimeout": duration::format(pool.get("idleTimeout").duration_or(30)?),
        },
    });
    if let Some(set) = redis.get("sentinelMasterSet").text_or_none()?.filter(|set| !set.is_empty()) {
        file["sentinelMasterSet"] = json!(set);
    }
    for (name, field) in
        [("dialtimeout", "dialTimeout"), ("readtimeout", "readTimeout"), ("writetimeout", "writeTimeout")]
    {
        time(&mut file, name, &redis.get(field))?;
    }
    Ok(file)
}

fn auth(authentication: &Field<'_>) -> Result<Option<Value>, Error> {
    if let Some(file) = authentication.get("htPasswd").set() {
        return Ok(Some(json!({ "htpasswd": { "realm": file.get("realm").text()? } })));
    }
    if let Some(token) = authentication.get("token").set() {
        return Ok(Some(json!({ "token": {
            "realm": token.get("realm").text()?,
            "service": token.get("service").text()?,
            "issuer": token.get("issuer").text()?,
            "autoredirect": token.get("autoredirect").flag()?,
        } })));
    }
    let Some(silly) = authentication.get("silly").set() else { return Ok(None) };
    let (realm, service) = (silly.get("realm").text()?, silly.get("service").text()?);
    Ok(Some(json!({ "silly": { "realm": realm, "service": service } })))
}

fn validation(validation: &Field<'_>) -> Result<Value, Error> {
    let mut file = json!({ "disabled": validation.get("disabled").flag()? });
    let urls = validation.get("manifests").get("urls");
    let (allow, deny) = (urls.get("allow").texts()?, urls.get("deny").texts()?);
    if !(allow.is_empty() && deny.is_empty()) {
        file["manifests"] = json!({ "urls": { "allow": allow, "deny": deny } });
    }
    Ok(file)
}

fn notifications(notifications: &Field<'_>) -> Result<Value, Error> {
    let references = notifications.get("events").get("includeReferences").flag_or(true)?;
    let mut file = json!({ "events": { "includereferences": references } });
    let mut endpoints = Vec::new();
    for endpoint in notifications.get("endpoints").list()? {
        let mut one = json!({
            "name": endpoint.get("name").text()?,
            "url": endpoint.get("url").text()?,
            "disabled": endpoint.get("disabled").flag()?,
            "threshold": endpoint.get("threshold").number_or(3)?,
        });
        time(&mut one, "timeout", &endpoint.get("timeout"))?;
        time(&mut one, "backoff", &endpoint.get("backoff"))?;
        if let Some(headers) = endpoint.get("headers").set() {
            one["headers"] = headers.value().clone();
        }
        let ignored = endpoint.get("ignoredMediaTypes").texts()?;
        if !ignored.is_empty() {
            one["ignoredmediatypes"] = json!(ignored);
        }
        if let Some(ignore) = endpoint.get("ignore").set() {
            let (types, actions) = (ignore.get("mediaTypes").texts()?, ignore.get("actions").texts()?);
            one["ignore"] = json!({ "mediatypes": types, "actions": actions });
        }
        endpoints.push(one);
    }
    if !endpoints.is_empty() {
        file["endpoints"] = json!(endpoints);
    }
    Ok(file)
}

fn health(health: &Field<'_>) -> Result<Value, Error> {
    let driver = health.get("storageDriver");
    let mut one = json!({ "enabled": driver.get("enabled").flag_or(true)? });
    time(&mut one, "interval", &driver.get("interval"))?;
    if let Some(threshold) = driver.get("threshold").number()? {
        one["threshold"] = json!(threshold);
    }
    let mut file = json!({ "storagedriver": one });
    for (name, source, place) in
        [("file", "path", "file"), ("http", "uri", "uri"), ("tcp", "address", "addr")]
    {
        let mut checks = Vec::new();
        for check in health.get(name).list()? {
            let mut one = json!({ place: check.get(source).text()? });
            time(&mut one, "interval", &check.get("interval"))?;
            time(&mut one, "timeout", &check.get("timeout"))?;
            for number in ["threshold", "statuscode"] {
                if let Some(value) = check.get(number).number()? {
                    one[number] = json!(value);
                }
            }
            if let Some(headers) = check.get("headers").set() {
                one["headers"] = headers.value().clone();
            }
            checks.push(one);
        }
        if !checks.is_empty() {
            file[name] = json!(checks);
        }
    }
    Ok(file)
}
