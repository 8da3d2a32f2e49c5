//! An application as `vela ls` prints it: rows of cells, or its name.

use serde_json::Value;

use crate::pointer::text;
use crate::screen::{BAD, GOOD, styled};

/// How far an application is, in the word of its status.
pub(in crate::command) fn phase(application: &Value) -> &str {
    if text(application, "/kind") != "ApplicationConfiguration" {
        return text(application, "/status/status");
    }
    let conditions = application.pointer("/status/conditions").and_then(Value::as_array);
    let mut all = conditions.into_iter().flatten();
    all.find(|condition| text(condition, "/type") == "Synced").map_or("", |synced| text(synced, "/reason"))
}

/// As `kubectl -o name` writes it, so that the line can be given back to it.
pub(super) fn name_of(application: &Value) -> String {
    let kind = text(application, "/kind").to_lowercase();
    format!("{kind}.core.oam.dev/{}", text(application, "/metadata/name"))
}

/// A row for each component, with the name of the application in the first and a branch in the others.
pub(super) fn rows(application: &Value) -> Vec<Vec<String>> {
    let mut rows = component_rows(application);
    let last = rows.len().saturating_sub(1);
    for (index, row) in rows.iter_mut().enumerate().skip(1) {
        row[0] = if index == last { "└─" } else { "├─" }.to_owned();
    }
    rows
}

/// The same with the name of the application in each.
pub(super) fn component_rows(application: &Value) -> Vec<Vec<String>> {
    let none = Vec::new();
    let list = |value: &Value, path: &str| {
        value.pointer(path).and_then(Value::as_array).cloned().unwrap_or_default()
    };
    let components = application.pointer("/spec/components").and_then(Value::as_array).unwrap_or(&none);
    let services = list(application, "/status/services");
    let phase = phase(application).to_owned();
    let created = text(application, "/metadata/creationTimestamp").to_owned();
    let row = |component: &Value| {
        let name = [text(component, "/name"), text(component, "/componentName")].concat();
        let traits: Vec<String> = list(component, "/traits")
            .iter()
            .map(|entry| [text(entry, "/type"), text(entry, "/name"), text(entry, "/trait/kind")].concat())
            .collect();
        let service = services.iter().find(|service| text(service, "/name") == name);
        let healthy = match service.and_then(|service| service.get("healthy")).and_then(Value::as_bool) {
            Some(true) => styled(GOOD, "healthy"),
            Some(false) => styled(BAD, "unhealthy"),
            None => String::new(),
        };
        let app = text(application, "/metadata/name").to_owned();
        let message = service.map_or("", |service| text(service, "/message")).trim().replace('\n', " ");
        let kind = text(component, "/type").to_owned();
        vec![app, name, kind, traits.join(","), phase.clone(), healthy, message, created.clone()]
    };
    components.iter().map(row).collect()
}
