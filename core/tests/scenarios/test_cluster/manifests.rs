//! What scenarios are about, as people write it: definitions small enough to read here, and applications of them.

use serde_json::{Value, json};
use vela_embedded::objects::component_definition;

/// Definitions small enough to read here, in the second template language.
pub(super) fn definitions(namespace: &str) -> Vec<Value> {
    let web = r#"apiVersion: apps/v1
kind: Deployment
spec:
  replicas: {{parameter.replicas}}
  selector:
    matchLabels:
      app.oam.dev/component: {{context.name}}
  template:
    metadata:
      labels:
        app.oam.dev/component: {{context.name}}
    spec:
      containers:
      - name: main
        image: {{parameter.image}}
        resources:
          limits:
            cpu: "0.5"
---
apiVersion: v1
kind: Service
metadata:
  name: {{context.name}}
spec:
  selector:
    app.oam.dev/component: {{context.name}}
  ports:
  - port: 80
"#;
    let settings = "apiVersion: v1\nkind: ConfigMap\ndata:\n  text: {{parameter.text}}\n";
    [("web", web, "apps/v1", "Deployment"), ("settings", settings, "v1", "ConfigMap")]
        .into_iter()
        .map(|(name, template, version, kind)| {
            component_definition(namespace, name, (version, kind), template)
        })
        .collect()
}

/// A web component.
pub(crate) fn web(name: &str, image: &str) -> Value {
    json!({"name": name, "type": "web", "properties": {"image": image, "replicas": 2}})
}

/// An application of these components.
pub(crate) fn application(name: &str, components: &[Value]) -> Value {
    json!({
        "apiVersion": "core.oam.dev/v1beta1",
        "kind": "Application",
        "metadata": {"name": name},
        "spec": {"components": components},
    })
}
