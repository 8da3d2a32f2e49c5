//! Ingress from v1beta1 to v1: backends name their service in a structure, and paths say how they match.

use serde_json::{Value as Json, json};

use super::fields::{Fields, rename, spec};

/// The default of v1beta1: the Ingress controller decides.
const PATH_TYPE: &str = "ImplementationSpecific";

pub(super) fn rewrite(object: &mut Fields) {
    let Some(spec) = spec(object) else { return };
    rename(spec, "backend", "defaultBackend");
    if let Some(fields) = spec.get_mut("defaultBackend").and_then(Json::as_object_mut) {
        backend(fields);
    }
    let rules = spec.get_mut("rules").and_then(Json::as_array_mut);
    for rule in rules.into_iter().flatten() {
        let paths = rule.pointer_mut("/http/paths").and_then(Json::as_array_mut);
        for path in paths.into_iter().flatten().filter_map(Json::as_object_mut) {
            if path.get("pathType").is_none_or(Json::is_null) {
                path.insert("pathType".to_owned(), json!(PATH_TYPE));
            }
            if let Some(fields) = path.get_mut("backend").and_then(Json::as_object_mut) {
                backend(fields);
            }
        }
    }
}

fn backend(fields: &mut Fields) {
    let (name, port) = (fields.remove("serviceName"), fields.remove("servicePort"));
    if name.is_none() && port.is_none() {
        return;
    }
    let mut service = Fields::new();
    service.extend(name.map(|name| ("name".to_owned(), name)));
    let port = port.map(|port| match port.as_str().map(str::parse::<u16>) {
        Some(Ok(number)) => json!({"number": number}),
        Some(Err(_)) => json!({"name": port}),
        None => json!({"number": port}),
    });
    service.extend(port.map(|port| ("port".to_owned(), port)));
    fields.entry("service").or_insert(Json::Object(service));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::successor::object;

    #[test]
    fn backends_and_paths_are_rewritten() {
        let old = json!({
            "apiVersion": "extensions/v1beta1",
            "kind": "Ingress",
            "metadata": {"name": "web", "annotations": {"kubernetes.io/ingress.class": "nginx"}},
            "spec": {
                "backend": {"serviceName": "rest", "servicePort": "http"},
                "rules": [
                    {"host": "a.example.com", "http": {"paths": [
                        {"path": "/", "backend": {"serviceName": "web", "servicePort": 80}},
                        {"path": "/b", "pathType": "Prefix", "backend": {"resource": {"kind": "Bucket", "name": "b"}}},
                        {"backend": {"serviceName": "web", "servicePort": "8080"}},
                    ]}},
                    {"host": "b.example.com"},
                ],
            },
        });
        let new = json!({
            "apiVersion": "networking.k8s.io/v1",
            "kind": "Ingress",
            "metadata": {"name": "web", "annotations": {"kubernetes.io/ingress.class": "nginx"}},
            "spec": {
                "defaultBackend": {"service": {"name": "rest", "port": {"name": "http"}}},
                "rules": [
                    {"host": "a.example.com", "http": {"paths": [
                        {"path": "/", "pathType": "ImplementationSpecific", "backend": {"service": {"name": "web", "port": {"number": 80}}}},
                        {"path": "/b", "pathType": "Prefix", "backend": {"resource": {"kind": "Bucket", "name": "b"}}},
                        {"pathType": "ImplementationSpecific", "backend": {"service": {"name": "web", "port": {"number": 8080}}}},
                    ]}},
                    {"host": "b.example.com"},
                ],
            },
        });
        assert_eq!(object(&old), Some(new));
    }

    #[test]
    fn what_is_no_ingress_in_shape_is_left_to_the_server_to_refuse() {
        for spec in [
            json!(null),
            json!([]),
            json!({"rules": "none"}),
            json!({"rules": [1, {"http": {"paths": [2]}}]}),
        ] {
            let old = json!({"apiVersion": "networking.k8s.io/v1beta1", "kind": "Ingress", "spec": spec});
            let new = json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "spec": spec});
            assert_eq!(object(&old), Some(new));
        }
    }
}
