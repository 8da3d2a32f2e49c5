//! Compares built-in traits on one component, in the order given, with what the real patch strategy makes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::json::Json;

/// The recorded files; each is a scope of its own.
const FILES: [&str; 2] = ["cases", "triples"];

/// Keys of labels and annotations that an Application's render adds and the patch strategy does not.
const ADDED: [&str; 3] = ["app.oam.dev/", "workload.oam.dev/", "trait.oam.dev/"];

/// Objects nested deeper are compared as they are.
const DEPTH: usize = 64;

/// A case as found.
pub(super) struct Found {
    pub(super) scope: String,
    pub(super) name: String,
    pub(super) input: Input,
}

/// One component with its traits, and the recorded Deployment; nothing where the traits must be refused.
pub(super) struct Input {
    component: Arc<serde_json::Value>,
    traits: serde_json::Value,
    output: Option<serde_json::Value>,
}

/// The cases of the folder.
pub(super) fn find(folder: &Path) -> Result<Vec<Found>, String> {
    let base = folder.join("base.json");
    if !base.is_file() {
        return Ok(Vec::new());
    }
    let component = Arc::new(read(&base)?["component"].take());
    let mut cases = Vec::new();
    for scope in FILES {
        let path = folder.join(format!("{scope}.jsonl"));
        let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        for (number, line) in text.lines().enumerate() {
            let mut case: serde_json::Value =
                serde_json::from_str(line).map_err(|e| format!("{}:{}: {e}", path.display(), number + 1))?;
            let traits = case["traits"].take();
            let types: Vec<&str> =
                traits.as_array().into_iter().flatten().filter_map(|one| one["type"].as_str()).collect();
            let name = format!("{scope}:{} {}", number + 1, types.join(", "));
            let output = case.get_mut("output").map(serde_json::Value::take);
            let input = Input { component: Arc::clone(&component), traits, output };
            cases.push(Found { scope: scope.to_owned(), name, input });
        }
    }
    Ok(cases)
}

fn read(path: &Path) -> Result<serde_json::Value, String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    serde_json::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))
}

impl Input {
    /// Whether the traits must be refused.
    pub(super) fn must_fail(&self) -> bool {
        self.output.is_none()
    }

    /// Writes the Application into `folder`.
    pub(super) fn write(&self, folder: &Path) -> Result<PathBuf, String> {
        let mut component = (*self.component).clone();
        component["traits"] = self.traits.clone();
        let application = serde_json::json!({
            "apiVersion": "core.oam.dev/v1beta1",
            "kind": "Application",
            "metadata": { "name": "app", "namespace": "default" },
            "spec": { "components": [component] },
        });
        let path = folder.join("traits.json");
        std::fs::write(&path, application.to_string()).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(path)
    }

    /// Compares the Deployment of a dry run with the recorded one.
    pub(super) fn compare(&self, stdout: &str) -> Result<(), String> {
        let list: serde_json::Value = serde_json::from_str(stdout).map_err(|e| format!("not JSON: {e}"))?;
        let objects = list["items"].as_array().into_iter().flatten();
        let deployment = objects.into_iter().find(|object| object["kind"] == "Deployment");
        let (Some(actual), Some(expected)) = (deployment, &self.output) else {
            return Err("no Deployment".to_owned());
        };
        let (actual, expected) = (plain(actual)?, plain(expected)?);
        if actual == expected { Ok(()) } else { Err(format!("{actual:?} instead of {expected:?}")) }
    }
}

/// What both sides have in common: without what a render adds, and without empty objects.
fn plain(object: &serde_json::Value) -> Result<Json, String> {
    let mut object = object.clone();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("namespace");
    }
    strip(&mut object, 0);
    Json::parse(&object.to_string())
}

fn strip(value: &mut serde_json::Value, depth: usize) {
    if depth > DEPTH {
        return;
    }
    match value {
        serde_json::Value::Object(fields) => {
            for (name, value) in fields.iter_mut() {
                if let (true, Some(keys)) =
                    (matches!(name.as_str(), "labels" | "annotations"), value.as_object_mut())
                {
                    keys.retain(|key, _| !ADDED.iter().any(|prefix| key.starts_with(prefix)));
                }
                strip(value, depth + 1);
            }
            fields.retain(|_, value| value.as_object().is_none_or(|inner| !inner.is_empty()));
        }
        serde_json::Value::Array(items) => items.iter_mut().for_each(|item| strip(item, depth + 1)),
        _ => {}
    }
}
