//! Builds the claims of disks that outlive their pods, and decides what may be done with one that is there.
//!
//! A claim has no owner: a user who deletes a workload, or takes a disk out of it, does not say that the data may go.
//! The workload of that name finds it again.

use serde_json::{Value, json};
use vela_crds::annotations::DISK_OF;
use vela_crds::containerized_workload::{ContainerizedWorkload, VolumeResource, VolumeSharingPolicy};

use super::{Error, KIND, identity};

/// Where a claim says how large it is.
const SIZE: &str = "/spec/resources/requests/storage";

/// The claims of a workload, one for each disk that outlives its pods.
///
/// # Errors
/// A size that is none, and two disks of one name that differ; each names its field.
pub fn claims(workload: &ContainerizedWorkload) -> Result<Vec<Value>, Error> {
    let identity = identity(workload)?;
    let mut claims: Vec<Value> = Vec::new();
    for (field, volume) in volumes(workload).filter(|(_, volume)| outlives_pods(volume)) {
        let size = volume.disk.as_ref().map_or("", |disk| disk.required.as_str());
        if bytes(size).is_none() {
            let message = format!("{size:?} is no size of a disk; write a quantity such as 10Gi");
            return Err(Error::new(identity.place(&format!("{field}.disk.required")), message));
        }
        let claim = json!({
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {
                "name": name(identity.name, &volume.name),
                "namespace": identity.namespace,
                "labels": identity.labels(),
                "annotations": { DISK_OF: identity.name },
            },
            "spec": {
                "accessModes": [access_mode(volume)],
                "resources": { "requests": { "storage": size } },
            },
        });
        match claims.iter().find(|other| other["metadata"]["name"] == claim["metadata"]["name"]) {
            Some(other) if *other == claim => {}
            Some(_) => {
                let message = "is another disk than the one of that name in another container; give it the same size and \
                               sharing policy, or another name";
                return Err(Error::new(identity.place(&field), message));
            }
            None => claims.push(claim),
        }
    }
    Ok(claims)
}

/// Whether the claim that is there can be used as it is; false when it has to grow.
///
/// # Errors
/// It belongs to another owner, or can never become the wanted claim: why, and what to do.
pub fn is_large_enough(live: &Value, wanted: &Value) -> Result<bool, String> {
    let of = |claim: &Value| claim["metadata"]["annotations"][DISK_OF].as_str().map(str::to_owned);
    let text = |claim: &Value| claim.pointer(SIZE).and_then(Value::as_str).unwrap_or_default().to_owned();
    if of(live) != of(wanted) {
        let whose = of(live).map_or_else(|| "no workload".to_owned(), |name| format!("{KIND} {name}"));
        let meant = of(wanted).unwrap_or_default();
        return Err(format!(
            "it exists as the disk of {whose}; give the volume another name, or annotate the claim with {DISK_OF}={meant} \
             where it is meant"
        ));
    }
    if live["spec"]["accessModes"] != wanted["spec"]["accessModes"] {
        return Err(format!(
            "its accessModes {} can never become {}; go back to the former sharing policy, or copy the data to a volume of \
             another name",
            live["spec"]["accessModes"], wanted["spec"]["accessModes"]
        ));
    }
    Ok(bytes(&text(live)) >= bytes(&text(wanted)))
}

/// Name of the claim of a disk.
pub(super) fn name(workload: &str, volume: &str) -> String {
    format!("{workload}-{volume}")
}

/// Is it a disk that stays when pods go?
pub(super) fn outlives_pods(volume: &VolumeResource) -> bool {
    volume.disk.as_ref().is_some_and(|disk| !disk.ephemeral)
}

/// Is there a disk that only one pod may have, so that the old pod must let go before the new one can begin?
pub(super) fn is_any_exclusive(workload: &ContainerizedWorkload) -> bool {
    volumes(workload).any(|(_, volume)| {
        outlives_pods(volume) && volume.sharing_policy != Some(VolumeSharingPolicy::Shared)
    })
}

fn access_mode(volume: &VolumeResource) -> &'static str {
    match volume.sharing_policy {
        Some(VolumeSharingPolicy::Shared) => "ReadWriteMany",
        Some(VolumeSharingPolicy::Exclusive) | None => "ReadWriteOnce",
    }
}

/// Every volume with its field.
fn volumes(workload: &ContainerizedWorkload) -> impl Iterator<Item = (String, &VolumeResource)> {
    workload.spec.containers.iter().enumerate().flat_map(|(index, container)| {
        let volumes = container.resources.iter().flat_map(|resources| &resources.volumes);
        volumes
            .enumerate()
            .map(move |(at, volume)| (format!("spec.containers[{index}].resources.volumes[{at}]"), volume))
    })
}

/// A quantity of Kubernetes as a number, exact enough to see which of two is larger.
fn bytes(quantity: &str) -> Option<f64> {
    let end = quantity.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(quantity.len());
    let (number, suffix) = quantity.split_at(end);
    let factor = match suffix {
        "" => 1.0,
        "m" => 1e-3,
        "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        "P" => 1e15,
        "E" => 1e18,
        "Ki" => 1024_f64,
        "Mi" => 1024_f64.powi(2),
        "Gi" => 1024_f64.powi(3),
        "Ti" => 1024_f64.powi(4),
        "Pi" => 1024_f64.powi(5),
        "Ei" => 1024_f64.powi(6),
        other => 10_f64.powi(other.strip_prefix(['e', 'E'])?.parse().ok()?),
    };
    let bytes = number.parse::<f64>().ok()? * factor;
    (bytes.is_finite() && bytes > 0.0).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_compared_by_what_they_mean() {
        assert!(bytes("1Gi") > bytes("1G") && bytes("1025Mi") > bytes("1Gi") && bytes("1e3") == bytes("1k"));
        assert_eq!(bytes("1.5Ki"), Some(1536.0));
        for wrong in ["", "Gi", "half", "-1Gi", "0", "1e999", "1Xi", "nan", "inf"] {
            assert_eq!(bytes(wrong), None, "{wrong}");
        }
    }
}
