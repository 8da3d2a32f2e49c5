//! Revisions of an Application that run side by side, as the AppDeployments and ApplicationContexts of release 1.0 ask for: which
//! objects they are, and who gets the requests.
//!
//! ```text
//! AppDeployment ─placements─▶ which revisions, in which sizes
//! revision, rendered ─placed─▶ its objects under names of their own ─traffic─▶ Services and their shares
//! ```

pub mod revision_objects;
pub mod traffic;

use vela_crds::AppDeploymentSpec;
use vela_crds::app_deployment::Placement;

/// More revisions of one AppDeployment are refused.
const REVISIONS_AT_MOST: usize = 20;

/// A revision that is to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The ApplicationRevision.
    pub revision: String,
    /// How many pods each of its workloads has; what the revision says where nothing is said.
    pub replicas: Option<i64>,
    /// Field path of the name, for messages.
    pub path: String,
}

/// The revisions that an AppDeployment names, in its order.
///
/// # Errors
/// All that is wrong with them, each with its field.
pub fn placements(spec: &AppDeploymentSpec) -> Result<Vec<Placed>, String> {
    let mut wrong = Vec::new();
    let count = spec.app_revisions.len();
    if count > REVISIONS_AT_MOST {
        return Err(format!("spec.appRevisions has {count} entries, {REVISIONS_AT_MOST} at most"));
    }
    let mut placed: Vec<Placed> = Vec::with_capacity(count);
    for (index, entry) in spec.app_revisions.iter().enumerate() {
        let at = format!("spec.appRevisions[{index}]");
        let path = format!("{at}.revisionName");
        let revision = entry.revision_name.clone().unwrap_or_default();
        if revision.is_empty() {
            wrong.push(format!("{path}: name an ApplicationRevision, <application>-v<N>"));
        } else if placed.iter().any(|other| other.revision == revision) {
            wrong.push(format!("{path}: {revision} is named twice; write one entry with the sum"));
        }
        let replicas = replicas(&at, &entry.placement, &mut wrong);
        placed.push(Placed { revision, replicas, path });
    }
    if wrong.is_empty() { Ok(placed) } else { Err(wrong.join("; ")) }
}

/// The size in this cluster, the only one there is.
fn replicas(at: &str, placements: &[Placement], wrong: &mut Vec<String>) -> Option<i64> {
    let mut sizes = Vec::new();
    for (index, placement) in placements.iter().enumerate() {
        let at = format!("{at}.placement[{index}]");
        let selector = placement.cluster_selector.as_ref();
        let is_elsewhere = selector.is_some_and(|selector| {
            !selector.labels.is_empty() || selector.name.as_ref().is_some_and(|name| !name.is_empty())
        });
        if is_elsewhere {
            wrong.push(format!(
                "{at}.clusterSelector: other clusters are not supported yet; without the selector the revision runs in this one"
            ));
        }
        let replicas = placement.distribution.as_ref().and_then(|distribution| distribution.replicas);
        if replicas.is_some_and(|replicas| replicas < 0) {
            wrong.push(format!("{at}.distribution.replicas: write a number from 0"));
        }
        sizes.push(replicas);
    }
    if sizes.len() > 1 {
        wrong.push(format!("{at}.placement: there is one cluster, so write one placement with the sum"));
    }
    sizes.first().copied().flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    fn read(revisions: Json) -> Result<Vec<Placed>, String> {
        placements(&serde_json::from_value(json!({"appRevisions": revisions})).unwrap())
    }

    #[test]
    fn each_revision_has_its_size() {
        let found = read(json!([
            {"revisionName": "shop-v1", "placement": [{"distribution": {"replicas": 2}}]},
            {"revisionName": "shop-v2"},
        ]))
        .unwrap();
        let sizes: Vec<_> = found.iter().map(|one| (one.revision.as_str(), one.replicas)).collect();
        assert_eq!(sizes, [("shop-v1", Some(2)), ("shop-v2", None)]);
    }

    #[test]
    fn what_cannot_be_done_is_said_at_its_field() {
        let size = |replicas: i64| json!({"distribution": {"replicas": replicas}});
        for (revisions, says) in [
            (json!([{}]), "spec.appRevisions[0].revisionName: name an"),
            (
                json!([{"revisionName": "a-v1"}, {"revisionName": "a-v1"}]),
                "[1].revisionName: a-v1 is named twice",
            ),
            (
                json!([{"revisionName": "a-v1", "placement": [{"clusterSelector": {"name": "prod"}}]}]),
                "[0].placement[0].clusterSelector: other clusters are not supported yet",
            ),
            (
                json!([{"revisionName": "a-v1", "placement": [{"clusterSelector": {"labels": {"a": "b"}}}]}]),
                "clusterSelector",
            ),
            (
                json!([{"revisionName": "a-v1", "placement": [size(1), size(2)]}]),
                "one placement with the sum",
            ),
            (json!([{"revisionName": "a-v1", "placement": [size(-1)]}]), "a number from 0"),
            (json!(vec![json!({"revisionName": "a-v1"}); 21]), "20 at most"),
        ] {
            let error = read(revisions.clone()).unwrap_err();
            assert!(error.contains(says), "{revisions}: {error}");
        }
        let empty_selector = json!([{"revisionName": "a-v1", "placement": [{"clusterSelector": {}}]}]);
        assert!(read(empty_selector).is_ok());
    }
}
