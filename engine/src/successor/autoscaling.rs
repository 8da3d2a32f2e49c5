//! HorizontalPodAutoscaler from v2beta1 to v2: what is measured and what it should be stand in structures of their own.

use serde_json::{Value as Json, json};

use super::fields::{Fields, rename, spec};

pub(super) fn rewrite(object: &mut Fields) {
    let metrics = spec(object).and_then(|spec| spec.get_mut("metrics")).and_then(Json::as_array_mut);
    for metric in metrics.into_iter().flatten().filter_map(Json::as_object_mut) {
        for source in ["resource", "containerResource", "pods", "object", "external"] {
            if let Some(fields) = metric.get_mut(source).and_then(Json::as_object_mut) {
                self::source(source, fields);
            }
        }
    }
}

fn source(name: &str, fields: &mut Fields) {
    // `target` of an object metric was the object; now it is the value to reach.
    if name == "object" && fields.get("target").is_some_and(|target| target.get("kind").is_some()) {
        rename(fields, "target", "describedObject");
    }
    let mut metric = Fields::new();
    for (old, new) in [("metricName", "name"), ("selector", "selector"), ("metricSelector", "selector")] {
        metric.extend(fields.remove(old).map(|value| (new.to_owned(), value)));
    }
    if !metric.is_empty() {
        fields.entry("metric").or_insert(Json::Object(metric));
    }
    let targets = [
        ("targetAverageUtilization", "Utilization", "averageUtilization"),
        ("targetAverageValue", "AverageValue", "averageValue"),
        ("averageValue", "AverageValue", "averageValue"),
        ("targetValue", "Value", "value"),
    ];
    let mut target = None;
    for (old, type_, new) in targets {
        if let Some(value) = fields.remove(old)
            && target.is_none()
        {
            target = Some(json!({"type": type_, new: value}));
        }
    }
    if let Some(target) = target {
        fields.entry("target").or_insert(target);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::successor::object;

    #[test]
    fn metrics_of_every_source_are_rewritten() {
        let described = json!({"apiVersion": "v1", "kind": "Service", "name": "web"});
        let old = json!({"apiVersion": "autoscaling/v2beta1", "kind": "HorizontalPodAutoscaler", "spec": {"metrics": [
            {"type": "Resource", "resource": {"name": "cpu", "targetAverageUtilization": 60}},
            {"type": "Resource", "resource": {"name": "memory", "targetAverageValue": "1Gi"}},
            {"type": "Pods", "pods": {"metricName": "requests", "targetAverageValue": "10"}},
            {"type": "Object", "object": {"target": described, "metricName": "requests", "targetValue": "2k"}},
            {"type": "External", "external": {"metricName": "queue", "metricSelector": {"matchLabels": {"q": "a"}}, "targetValue": "30"}},
        ]}});
        let new = json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "spec": {"metrics": [
            {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}}},
            {"type": "Resource", "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1Gi"}}},
            {"type": "Pods", "pods": {"metric": {"name": "requests"}, "target": {"type": "AverageValue", "averageValue": "10"}}},
            {"type": "Object", "object": {"describedObject": described, "metric": {"name": "requests"}, "target": {"type": "Value", "value": "2k"}}},
            {"type": "External", "external": {"metric": {"name": "queue", "selector": {"matchLabels": {"q": "a"}}}, "target": {"type": "Value", "value": "30"}}},
        ]}});
        assert_eq!(object(&old), Some(new));
    }
}
