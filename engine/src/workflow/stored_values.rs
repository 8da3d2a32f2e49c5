//! The ConfigMap that the status of a run names → the values between its steps, and changed values → the JSON Patch of the
//! ConfigMap. Reads and writes no cluster.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use super::run_status::RunStatus;
use super::values::RunValues;
use super::verbs::Unsteerable;

/// Where the ConfigMap says which logs steps have.
const LOG_CONFIG: &str = "logConfig";

/// The ConfigMap with the values between the steps of a run.
#[derive(Debug, Clone, Default)]
pub struct StoredValues {
    /// Nothing where it is not there: then there are no values, and nothing to write.
    object: Option<Json>,
    /// The values in it.
    pub values: RunValues,
}

impl StoredValues {
    /// The name of the ConfigMap, in the namespace of the application.
    pub fn name_of(run: &RunStatus) -> Option<&str> {
        run.context.as_ref()?["name"].as_str().filter(|name| !name.is_empty())
    }

    /// Reads the ConfigMap of that name, where there is one.
    ///
    /// # Errors
    /// The values in it are neither JSON nor CUE.
    pub fn read(object: Option<Json>) -> Result<Self, Unsteerable> {
        let data = object.as_ref().map(data).unwrap_or_default();
        let values = RunValues::read(&data).map_err(|why| {
            let name = object.as_ref().and_then(|object| object["metadata"]["name"].as_str());
            Unsteerable {
                message: format!(
                    "the values of the workflow in ConfigMap {:?} cannot be read: {why}",
                    name.unwrap_or_default()
                ),
                hint: "restart the whole workflow: leave out the step".to_owned(),
            }
        })?;
        Ok(Self { object, values })
    }

    /// Where the logs of steps are, by step, as KubeVela and definitions with `op.#Log` write it.
    pub fn log_sources(&self) -> Json {
        let written = self.object.as_ref().and_then(|object| data(object).remove(LOG_CONFIG));
        written.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
    }

    /// The operations of RFC 6902 that write the values, over the version of the ConfigMap that was read and no other;
    /// nothing where nothing changed.
    pub(super) fn patch(&self) -> Option<Vec<Json>> {
        let object = self.object.as_ref()?;
        let before = data(object);
        let wanted = changed(&before, &self.values);
        let version = &object["metadata"]["resourceVersion"];
        (before != wanted).then(|| {
            vec![
                json!({"op": "add", "path": "/metadata/resourceVersion", "value": version}),
                json!({"op": "add", "path": "/data", "value": wanted}),
            ]
        })
    }
}

/// The data with other values in it. What the values know nothing of stays, such as where logs are.
fn changed(before: &BTreeMap<String, String>, values: &RunValues) -> BTreeMap<String, String> {
    let known = RunValues::read(before).map(|known| known.to_data()).unwrap_or_default();
    let kept = before.iter().filter(|(name, _)| !known.contains_key(*name));
    let mut data: BTreeMap<String, String> = kept.map(|(name, text)| (name.clone(), text.clone())).collect();
    data.extend(values.to_data());
    data
}

/// What a ConfigMap holds.
fn data(object: &Json) -> BTreeMap<String, String> {
    let fields = object["data"].as_object().into_iter().flatten();
    fields.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored() -> StoredValues {
        let data = json!({"vars": r#"{"made":1}"#, "a.calls": r#"[{"path":"post"}]"#, "logConfig": "{}"});
        let metadata = json!({"name": "values", "resourceVersion": "7"});
        StoredValues::read(Some(json!({"metadata": metadata, "data": data}))).unwrap()
    }

    #[test]
    fn what_the_values_know_nothing_of_stays() {
        let mut stored = stored();
        assert_eq!(stored.patch(), None, "nothing changed");
        stored.values = RunValues::default();
        let operations = stored.patch().unwrap();
        assert_eq!(operations[0]["value"], "7", "another version is a conflict");
        let after = &operations[1]["value"];
        assert_eq!((&after["logConfig"], &after["vars"]), (&json!("{}"), &json!("{}")));
        assert_eq!(after.get("a.calls"), None, "what a step recorded goes with it");
    }

    #[test]
    fn values_that_cannot_be_read_are_told() {
        let object = json!({"metadata": {"name": "values"}, "data": {"vars": "[1]"}});
        let why = StoredValues::read(Some(object)).unwrap_err();
        assert!(why.message.contains("ConfigMap \"values\"") && why.hint.contains("whole"), "{why:?}");
        let none = StoredValues::read(None).unwrap();
        assert_eq!((none.patch(), none.log_sources()), (None, Json::Null));
    }
}
