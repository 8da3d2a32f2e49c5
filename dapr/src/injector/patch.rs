//! Collects what is added to a pod, as a JSON patch, and knows the pod as it is after that.

use json_patch::jsonptr::PointerBuf;
use json_patch::{AddOperation, Patch, PatchError, PatchOperation};
use serde_json::{Value, json};

/// A pod with what was added to it.
pub(super) struct Additions {
    pod: Value,
    patch: Patch,
}

impl Additions {
    pub(super) fn to(pod: &Value) -> Self {
        Self { pod: pod.clone(), patch: Patch(Vec::new()) }
    }

    /// The pod as it is now.
    pub(super) fn pod(&self) -> &Value {
        &self.pod
    }

    pub(super) fn patch(self) -> Patch {
        self.patch
    }

    fn add(&mut self, path: PointerBuf, value: Value) -> Result<(), PatchError> {
        let operation = Patch(vec![PatchOperation::Add(AddOperation { path, value })]);
        json_patch::patch(&mut self.pod, &operation)?;
        self.patch.0.extend(operation.0);
        Ok(())
    }

    /// Adds items to a list that may not be there yet.
    pub(super) fn append(&mut self, path: &[&str], items: Vec<Value>) -> Result<(), PatchError> {
        let list = PointerBuf::from_tokens(path.iter().copied());
        if items.is_empty() {
            return Ok(());
        }
        if list.resolve(&self.pod).ok().and_then(Value::as_array).is_none_or(Vec::is_empty) {
            return self.add(list, Value::Array(items));
        }
        items.into_iter().try_for_each(|item| {
            let end = PointerBuf::from_tokens(path.iter().copied().chain(["-"]));
            self.add(end, item)
        })
    }

    /// The same, but for items of a name that is taken.
    pub(super) fn append_named(&mut self, path: &[&str], mut items: Vec<Value>) -> Result<(), PatchError> {
        let list = PointerBuf::from_tokens(path.iter().copied());
        if let Ok(Value::Array(present)) = list.resolve(&self.pod) {
            items.retain(|item| present.iter().all(|other| other["name"] != item["name"]));
        }
        self.append(path, items)
    }

    pub(super) fn label(&mut self, name: &str, value: &str) -> Result<(), PatchError> {
        if !self.pod["metadata"]["labels"].is_object() {
            self.add(PointerBuf::from_tokens(["metadata", "labels"]), json!({}))?;
        }
        self.add(PointerBuf::from_tokens(["metadata", "labels", name]), json!(value))
    }

    /// Mounts a volume in a container, unless its path or the volume is mounted there.
    pub(super) fn mount(&mut self, index: usize, volume: &str, path: &str) -> Result<(), PatchError> {
        let present = list(&self.pod["spec"]["containers"][index]["volumeMounts"]);
        if present.iter().any(|mount| mount["name"] == volume || mount["mountPath"] == path) {
            return Ok(());
        }
        let mounts = ["spec", "containers", &index.to_string(), "volumeMounts"];
        self.append(&mounts, vec![json!({"name": volume, "mountPath": path})])
    }
}

/// The items of a list; none where there is no list.
pub(super) fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_patch_makes_the_pod_that_is_known() {
        let pod = json!({"metadata": {}, "spec": {"containers": [{"name": "a", "env": [{"name": "X", "value": "1"}]}]}});
        let mut additions = Additions::to(&pod);
        additions.label("dapr.io/a~b", "c").unwrap();
        additions.append(&["spec", "volumes"], vec![json!({"name": "v"})]).unwrap();
        additions
            .append_named(&["spec", "volumes"], vec![json!({"name": "v"}), json!({"name": "w"})])
            .unwrap();
        let env = ["spec", "containers", "0", "env"];
        additions.append_named(&env, vec![json!({"name": "X"}), json!({"name": "Y"})]).unwrap();
        for (volume, path) in [("v", "/v"), ("v", "/other"), ("w", "/v")] {
            additions.mount(0, volume, path).unwrap();
        }
        let expected = json!({
            "metadata": {"labels": {"dapr.io/a~b": "c"}},
            "spec": {
                "containers": [{
                    "name": "a", "env": [{"name": "X", "value": "1"}, {"name": "Y"}],
                    "volumeMounts": [{"name": "v", "mountPath": "/v"}],
                }],
                "volumes": [{"name": "v"}, {"name": "w"}],
            },
        });
        assert_eq!(additions.pod(), &expected);
        let mut patched = pod;
        json_patch::patch(&mut patched, &additions.patch()).unwrap();
        assert_eq!(patched, expected);
    }
}
