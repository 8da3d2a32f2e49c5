//! The values between the steps of a run, in the ConfigMap that its status names.

use std::collections::BTreeMap;

use kube::ResourceExt as _;
use kube::api::{DynamicObject, PatchParams};
use serde_json::{Value, json};
use vela_engine::workflow::{RunStatus, RunValues};

use super::steer::json_patch;
use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::ownership::FIELD_MANAGER;
use crate::pointer::text;

/// Where the ConfigMap says which logs steps have.
const LOG_CONFIG: &str = "logConfig";

/// The ConfigMap with the values between the steps of a run.
pub(super) struct StoredValues {
    /// Nothing where it is not there: then there are no values, and nothing to write.
    object: Option<DynamicObject>,
    /// What is in it.
    pub(super) values: RunValues,
}

impl StoredValues {
    /// Reads what the run refers to.
    pub(super) async fn read(cluster: &Cluster, run: &RunStatus) -> Result<Self> {
        let name = run.context.as_ref().map_or("", |context| text(context, "/name"));
        let object = match name.is_empty() {
            true => None,
            false => cluster.get("v1", "ConfigMap", None, name).await?,
        };
        let data = object.as_ref().map(data).unwrap_or_default();
        let values = RunValues::read(&data).map_err(|why| {
            Error::user(format!("the values of the workflow in ConfigMap {name:?} cannot be read: {why}"))
                .hint("restart the whole workflow: leave out --step")
        })?;
        Ok(Self { object, values })
    }

    /// Where the logs of steps are, by step, as KubeVela and definitions with `op.#Log` write it.
    pub(super) fn log_sources(&self) -> Value {
        let written = self.object.as_ref().and_then(|object| data(object).remove(LOG_CONFIG));
        written.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
    }

    /// Writes them. Says whether they are written: not where another writer changed the ConfigMap since it was read.
    pub(super) async fn write(&self, cluster: &Cluster) -> Result<bool> {
        let Some(object) = self.object.as_ref() else { return Ok(true) };
        let before = data(object);
        let wanted = changed(&before, &self.values);
        if before == wanted {
            return Ok(true);
        }
        let name = object.name_any();
        let patch = json_patch(vec![
            json!({"op": "add", "path": "/metadata/resourceVersion", "value": object.metadata.resource_version}),
            json!({"op": "add", "path": "/data", "value": wanted}),
        ])?;
        let api = cluster.api("v1", "ConfigMap", None).await?;
        let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        match api.patch(&name, &params, &patch).await {
            Ok(_) => Ok(true),
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(false),
            Err(error) => Err(cluster.failure(&format!("change ConfigMap {name}"), &error)),
        }
    }
}

/// The data with other values in it. What the values know nothing of stays, such as where logs are.
fn changed(before: &BTreeMap<String, String>, values: &RunValues) -> BTreeMap<String, String> {
    let known = RunValues::read(before).map(|known| known.to_data()).unwrap_or_default();
    let mut data: BTreeMap<String, String> =
        before.iter().filter(|(name, _)| !known.contains_key(*name)).map(own).collect();
    data.extend(values.to_data());
    data
}

fn own((name, text): (&String, &String)) -> (String, String) {
    (name.clone(), text.clone())
}

/// What a ConfigMap holds.
fn data(object: &DynamicObject) -> BTreeMap<String, String> {
    let fields = object.data.get("data").and_then(Value::as_object).into_iter().flatten();
    fields.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_values_know_nothing_of_stays() {
        let entries = [("vars", r#"{"made": 1}"#), ("a.calls", r#"[{"path": "post"}]"#), ("logConfig", "{}")];
        let before: BTreeMap<String, String> =
            entries.map(|(name, text)| (name.to_owned(), text.to_owned())).into();
        assert_eq!(changed(&before, &RunValues::read(&before).unwrap()).len(), 3);
        let after = changed(&before, &RunValues::default());
        assert_eq!(after.get("logConfig").map(String::as_str), Some("{}"));
        assert_eq!(after.get("vars").map(String::as_str), Some("{}"));
        assert_eq!(after.get("a.calls"), None, "what a step recorded goes with it");
    }
}
