//! Where a Harbor keeps images and charts → the driver of its Registry and of its ChartMuseum.

use serde_json::{Value, json};

use super::stack::{Stack, copy};
use crate::error::Error;
use crate::field::Field;
use crate::validation::STORAGES;

/// The one storage of a Harbor.
pub(super) fn kind(stack: &Stack<'_>) -> Result<&'static str, Error> {
    let storage = stack.spec("imageChartStorage");
    let mut given = STORAGES.into_iter().filter(|kind| storage.get(kind).is_set());
    match (given.next(), given.next()) {
        (Some(kind), None) => Ok(kind),
        (None, _) => {
            Err(storage.wrong(format!("has no storage configuration: give one of {}", STORAGES.join(", "))))
        }
        (Some(one), Some(other)) => {
            Err(storage.wrong(format!("has {one} and {other}: only 1 storage can be configured, remove one")))
        }
    }
}

fn claim(claim: &Field<'_>) -> Result<Value, Error> {
    let mut source = json!({ "claimName": claim.get("claimName").text()? });
    if claim.get("readOnly").flag()? {
        source["readOnly"] = json!(true);
    }
    Ok(json!({ "persistentVolumeClaim": source }))
}

/// The driver of the Registry.
pub(super) fn registry(stack: &Stack<'_>) -> Result<Value, Error> {
    let kind = kind(stack)?;
    let given = stack.spec("imageChartStorage").get(kind);
    if kind != "filesystem" {
        return Ok(json!({ kind: given.value() }));
    }
    let volume = given.get("registryPersistentVolume");
    let mut driver = json!({ "volumeSource": claim(&volume)? });
    copy(&mut driver, "maxthreads", &volume.get("maxthreads"));
    copy(&mut driver, "prefix", &volume.get("prefix"));
    Ok(json!({ kind: driver }))
}

/// The driver of ChartMuseum, which has other names for the same.
pub(super) fn charts(stack: &Stack<'_>) -> Result<Value, Error> {
    let kind = kind(stack)?;
    let given = stack.spec("imageChartStorage").get(kind);
    let renamed = |names: &[(&str, &str)]| {
        let mut driver = json!({});
        for (name, field) in names {
            copy(&mut driver, name, &given.get(field));
        }
        driver
    };
    Ok(match kind {
        "filesystem" => {
            let own = given.get("chartPersistentVolume");
            let volume = if own.is_set() { own } else { given.get("registryPersistentVolume") };
            let mut driver = json!({ "volumeSource": claim(&volume)? });
            copy(&mut driver, "prefix", &volume.get("prefix"));
            json!({ "filesystem": driver })
        }
        "s3" => json!({ "amazon": renamed(&[
            ("accessKeyID", "accesskey"),
            ("accessSecretRef", "secretkeyRef"),
            ("bucket", "bucket"),
            ("endpoint", "regionendpoint"),
            ("prefix", "rootdirectory"),
            ("region", "region"),
        ]) }),
        "swift" => json!({ "openstack": renamed(&[
            ("authenticationURL", "authurl"),
            ("container", "container"),
            ("domain", "domain"),
            ("domainID", "domainID"),
            ("passwordRef", "passwordRef"),
            ("prefix", "prefix"),
            ("region", "region"),
            ("tenant", "tenant"),
            ("tenantID", "tenantID"),
            ("username", "username"),
        ]) }),
        "azure" => json!({ "azure": given.value() }),
        _ => json!({ "gcs": renamed(&[
            ("bucket", "bucket"),
            ("chunksize", "chunkSize"),
            ("keyDataSecretRef", "keyDataRef"),
            ("pathPrefix", "pathPrefix"),
        ]) }),
    })
}
