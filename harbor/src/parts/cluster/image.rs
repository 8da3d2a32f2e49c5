//! A service in the cluster → its image, where it is not for the other operator to choose.

use serde_json::{Value, json};

use super::service::Cluster;
use crate::error::Error;
use crate::field::Field;

/// The image of a service: its own, or that of the repository that the HarborCluster names. Without both, other operators choose.
pub(super) fn image(
    cluster: &Cluster<'_>,
    service: &Field<'_>,
    (name, tag): (&str, &str),
) -> Result<Option<String>, Error> {
    if let Some(image) = service.get("image").text_or_none()?.filter(|image| !image.is_empty()) {
        return Ok(Some(image.to_owned()));
    }
    let source = cluster.spec("imageSource");
    let Some(repository) = source.get("repository").text_or_none()?.filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let suffix = source.get("tagSuffix").text_or(&cluster.settings.tag_suffix)?;
    Ok(Some(format!("{repository}/{name}:{tag}{suffix}")))
}

/// A field of the service, else that of all images.
pub(super) fn pull(cluster: &Cluster<'_>, service: &Field<'_>, name: &str) -> Option<Value> {
    let own = service.get(name).set();
    own.or_else(|| cluster.spec("imageSource").get(name).set()).map(|field| field.value().clone())
}

/// A claim for so much storage.
pub(super) fn claim(service: &Field<'_>, size: &str) -> Result<Value, Error> {
    let mut spec = json!({
        "accessModes": ["ReadWriteOnce"],
        "resources": { "requests": { "storage": service.get("storage").text_or(size)? } },
    });
    if let Some(class) = service.get("storageClassName").text_or_none()?.filter(|class| !class.is_empty()) {
        spec["storageClassName"] = json!(class);
    }
    Ok(spec)
}
