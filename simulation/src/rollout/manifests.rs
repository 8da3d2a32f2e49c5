//! The writes of people in schedules of rollouts: one component type, one application, its rollouts.

use serde_json::{Value, json};
use vela_embedded::objects::component_definition;

use super::plan::Plan;
use super::{COMPONENT, Kind};
use crate::model::NAMESPACE;

/// Pods of the third revision come this late.
const LATE_SECONDS: i64 = 20;

/// An AppRollout.
pub(super) fn object(kind: Kind, name: &str, target: &str, source: Option<&str>, plan: &Plan) -> Value {
    let [to, from] = kind.fields();
    json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": "AppRollout",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {to: target, from: source.unwrap_or_default(), "rolloutPlan": plan.write()},
    })
}

/// The application whose revisions are recorded only.
pub(super) fn application(kind: Kind, value: i64) -> Value {
    json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": "Application",
        "metadata": {
            "name": "shop", "namespace": NAMESPACE,
            "annotations": {"app.oam.dev/rollout-template": "true"},
        },
        "spec": {"components": [component(kind, value)]},
    })
}

/// The first two revisions are well, pods of the third come late, and those of the fourth are never ready.
pub(super) fn component(kind: Kind, value: i64) -> Value {
    let fails = if value == 4 { "simulate-fail-not-ready" } else { "well" };
    let late = if value == 3 { LATE_SECONDS } else { 0 };
    // The word for the parameters is what tells the older form.
    let parameters = if kind == Kind::Configured { "settings" } else { "properties" };
    json!({
        "name": COMPONENT, "type": kind.type_name(),
        parameters: {"image": format!("serve:{value}-{fails}"), "late": late.to_string()},
    })
}

/// The component type whose workloads are of this kind.
pub(super) fn definition(kind: Kind) -> Value {
    let (workload, template) = match kind {
        Kind::Deployment | Kind::Configured => ("Deployment", SERVE),
        Kind::StatefulSet => ("StatefulSet", KEEP),
    };
    component_definition(NAMESPACE, kind.type_name(), ("apps/v1", workload), template)
}

const SERVE: &str = r#"apiVersion: apps/v1
kind: Deployment
spec:
  replicas: 2
  selector:
    matchLabels:
      component: {{context.name}}
  template:
    metadata:
      labels:
        component: {{context.name}}
      annotations:
        simulate.vela.dev/start-seconds: "{{parameter.late}}"
    spec:
      containers:
      - name: main
        image: {{parameter.image}}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{context.name}}-settings
data:
  image: {{parameter.image}}
"#;

const KEEP: &str = r#"apiVersion: apps/v1
kind: StatefulSet
spec:
  replicas: 2
  serviceName: {{context.name}}
  selector:
    matchLabels:
      component: {{context.name}}
  template:
    metadata:
      labels:
        component: {{context.name}}
      annotations:
        simulate.vela.dev/start-seconds: "{{parameter.late}}"
    spec:
      containers:
      - name: main
        image: {{parameter.image}}
"#;
