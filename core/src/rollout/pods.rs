//! A workload → what makes its pods, and the pods.

use serde_json::Value;
use vela_runtime::dynamic_watch::TrackedReads;

use crate::application::fetch::json;

/// The makers of a workload's pods, and the pods.
pub(super) async fn of(look: &TrackedReads, workload: &Value) -> Result<(Vec<Value>, Vec<Value>), String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (namespace, uid) = (text(&workload["metadata"]["namespace"]), text(&workload["metadata"]["uid"]));
    let owned = async |api_version: &str, kind: &str, uid: &str| {
        let found =
            look.owned_by(api_version, kind, &namespace, uid).await.map_err(|error| error.to_string())?;
        Ok::<Vec<Value>, String>(found.iter().map(|object| json(object)).collect())
    };
    let makers = match workload["kind"].as_str() {
        Some("Deployment") => owned("apps/v1", "ReplicaSet", &uid).await?,
        _ => Vec::new(),
    };
    let mut pods = owned("v1", "Pod", &uid).await?;
    for maker in &makers {
        // Those of former templates have none that matter.
        if maker["spec"]["replicas"].as_i64() != Some(0) {
            pods.extend(owned("v1", "Pod", &text(&maker["metadata"]["uid"])).await?);
        }
    }
    Ok((makers, pods))
}
