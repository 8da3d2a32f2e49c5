//! Builds one ConfigMap for each configuration file that is written in a workload.

use serde_json::{Value, json};
use vela_crds::containerized_workload::ContainerizedWorkload;

use super::{Error, identity};

/// The ConfigMaps of a workload, controlled by its Deployment, so that they go with it.
///
/// # Errors
/// A workload or a Deployment without a name or uid.
pub fn config_maps(workload: &ContainerizedWorkload, deployment_uid: &str) -> Result<Vec<Value>, Error> {
    let identity = identity(workload)?;
    let mut maps: Vec<Value> = Vec::new();
    for container in &workload.spec.containers {
        for file in &container.config {
            let Some(value) = &file.value else { continue };
            let map = json!({
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {
                    "name": name(identity.name, &container.name, &file.path),
                    "namespace": identity.namespace,
                    "labels": identity.labels(),
                    "annotations": identity.annotations(),
                    "ownerReferences": [{
                        "apiVersion": "apps/v1", "kind": "Deployment", "name": identity.name, "uid": deployment_uid,
                        "controller": true, "blockOwnerDeletion": true,
                    }],
                },
                "data": { split(&file.path).1: value },
            });
            maps.push(map);
        }
    }
    Ok(maps)
}

/// Name of the ConfigMap of one file: stable, and different for every path.
pub(super) fn name(workload: &str, container: &str, path: &str) -> String {
    format!("{workload}-{container}-{}", fnv1a(path.as_bytes()))
}

/// The folder with its final slash, and the file name.
pub(super) fn split(path: &str) -> (&str, &str) {
    path.rfind('/').map_or(("/", path), |slash| path.split_at(slash + 1))
}

/// The 32-bit FNV-1a hash.
fn fnv1a(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_split_into_its_folder_and_its_name() {
        assert_eq!(split("/test/configfile/config"), ("/test/configfile/", "config"));
        assert_eq!(split("/config"), ("/", "config"));
        assert_eq!(split("config"), ("/", "config"));
    }

    #[test]
    fn the_hash_is_the_one_the_field_uses() {
        assert_eq!(fnv1a(b""), 2_166_136_261);
        assert_eq!(
            name("example-component", "wordpress", "/test/configfile/config"),
            "example-component-wordpress-1582584990"
        );
    }
}
