//! Builds one Ingress for each rule of a Route, in the version that the cluster serves.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde_json::{Map, Value, json};
use vela_crds::standard_oam_dev::Route;
use vela_crds::standard_oam_dev::route::{BackendService, RouteRule};

use super::super::{Error, Identity};
use super::{KIND, Provider, is_cluster_issuer, provider};

/// The API version of Ingresses since Kubernetes 1.19…
pub const V1: &str = "networking.k8s.io/v1";
/// …and the one before, gone with 1.22.
pub const V1BETA1: &str = "networking.k8s.io/v1beta1";

/// The Ingresses of a route: one for each rule that leads to a Service; none for a host that only this machine knows.
///
/// # Errors
/// Two rules whose Ingresses would have one name.
pub fn ingresses(route: &Route, rules: &[RouteRule], api_version: &str) -> Result<Vec<Value>, Error> {
    let identity = Identity::of(route, KIND)?;
    let host = route.spec.host.as_str();
    if host.is_empty() || host.contains("localhost") || host.contains("127.0.0.1") {
        return Ok(Vec::new());
    }
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    let mut made = Vec::new();
    for (index, rule) in rules.iter().enumerate() {
        let Some(service) = rule.backend.as_ref().and_then(|backend| backend.backend_service.as_ref()) else {
            continue;
        };
        let name = name(identity.name, rule, index);
        if let Some(other) = names.insert(name.clone(), index) {
            let message =
                format!("its Ingress would be named {name} like that of rules[{other}]; rename the rule");
            return Err(Error::new(identity.place(&format!("spec.rules[{index}].name")), message));
        }
        let mut metadata = json!({
            "name": name,
            "namespace": identity.namespace,
            "annotations": annotations(route, rule),
            "ownerReferences": identity.owner(),
        });
        if let Some(labels) = &route.metadata.labels {
            metadata["labels"] = json!(labels);
        }
        made.push(json!({
            "apiVersion": api_version,
            "kind": "Ingress",
            "metadata": metadata,
            "spec": spec(route, rule, service, &name, api_version),
        }));
    }
    Ok(made)
}

fn name(route: &str, rule: &RouteRule, index: usize) -> String {
    match rule.name.as_deref() {
        None | Some("") => format!("{route}-{index}"),
        Some(rule) => format!("{route}-{rule}"),
    }
}

/// The Secret, and so the Certificate, of an Ingress.
#[must_use]
pub fn certificate(ingress: &str) -> String {
    format!("{ingress}-cert")
}

fn annotations(route: &Route, rule: &RouteRule) -> Map<String, Value> {
    let (provider, _) = provider(route);
    let mut annotations = Map::new();
    let mut add = |key: &str, value: String| annotations.insert(key.to_owned(), Value::String(value));
    add("kubernetes.io/ingress.class", provider.class().to_owned());
    if let Some(tls) = &route.spec.tls {
        let key = if is_cluster_issuer(tls) { "cluster-issuer" } else { "issuer" };
        add(&format!("cert-manager.io/{key}"), tls.issuer_name.clone().unwrap_or_default());
    }
    let seconds = |timeout: Option<i64>| timeout.filter(|seconds| *seconds != 0).map(|s| s.to_string());
    let backend = rule.backend.clone().unwrap_or_default();
    match provider {
        Provider::Nginx => {
            if let Some(target) = rule.rewrite_target.as_ref().filter(|target| !target.is_empty()) {
                add("nginx.ingress.kubernetes.io/rewrite-target", target.clone());
            }
            if !rule.custom_headers.is_empty() {
                let snippet = rule.custom_headers.iter().fold(String::new(), |mut text, (key, value)| {
                    let _ = writeln!(text, "more_set_headers \"{key}: {value}\";");
                    text
                });
                add("nginx.ingress.kubernetes.io/configuration-snippet", snippet);
            }
            if let Some(seconds) = seconds(backend.send_timeout) {
                add("nginx.ingress.kubernetes.io/proxy-send-timeout", seconds);
            }
            if let Some(seconds) = seconds(backend.read_timeout) {
                add("nginx.ingress.kubernetes.io/proxy-read-timeout", seconds);
            }
        }
        Provider::Contour => {
            if let Some(seconds) = seconds(backend.read_timeout) {
                add("projectcontour.io/response-timeout", seconds);
            }
        }
    }
    annotations
}

fn spec(route: &Route, rule: &RouteRule, service: &BackendService, name: &str, api_version: &str) -> Value {
    let old = api_version == V1BETA1;
    let mut path = if old {
        json!({ "backend": { "serviceName": service.service_name, "servicePort": service.port } })
    } else {
        let port = match &service.port {
            IntOrString::Int(number) => json!({ "number": number }),
            // A number in quotes is a number all the same.
            IntOrString::String(text) => match text.parse::<i32>() {
                Ok(number) => json!({ "number": number }),
                Err(_) => json!({ "name": text }),
            },
        };
        json!({
            // The default of the older version.
            "pathType": "ImplementationSpecific",
            "backend": { "service": { "name": service.service_name, "port": port } },
        })
    };
    if let Some(written) = rule.path.as_ref().filter(|path| !path.is_empty()) {
        path["path"] = json!(written);
    }
    let mut spec = json!({ "rules": [{ "host": route.spec.host, "http": { "paths": [path] } }] });
    if route.spec.tls.is_some() {
        spec["tls"] = json!([{ "hosts": [route.spec.host], "secretName": certificate(name) }]);
    }
    if let Some(default) = &rule.default_backend {
        let mut resource = json!({ "kind": default.kind, "name": default.name });
        if let Some((group, _)) = default.api_version.split_once('/') {
            resource["apiGroup"] = json!(group);
        }
        let field = if old { "backend" } else { "defaultBackend" };
        spec[field] = json!({ "resource": resource });
    }
    spec
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(spec: Value) -> Route {
        serde_json::from_value(json!({
            "apiVersion": super::super::super::API_VERSION, "kind": KIND,
            "metadata": {"name": "r", "namespace": "ns", "uid": "u-1", "labels": {"x": "y"}}, "spec": spec,
        }))
        .unwrap()
    }

    fn made(spec: Value) -> Vec<Value> {
        let route = route(spec);
        ingresses(&route, &route.spec.rules.clone(), V1).unwrap()
    }

    fn rule(mut more: Value) -> Value {
        more["backend"]["backendService"] = json!({"port": 80, "serviceName": "s"});
        more
    }

    #[test]
    fn every_rule_with_a_service_has_an_ingress() {
        let made = made(
            json!({"host": "shop.example", "rules": [rule(json!({"name": "a", "path": "/a"})), {}, rule(json!({}))]}),
        );
        let names: Vec<&Value> = made.iter().map(|ingress| &ingress["metadata"]["name"]).collect();
        assert_eq!(names, ["r-a", "r-2"]);
        assert_eq!(made[0]["metadata"]["labels"], json!({"x": "y"}));
        assert_eq!(made[0]["metadata"]["annotations"], json!({"kubernetes.io/ingress.class": "nginx"}));
        assert_eq!(
            made[0]["spec"],
            json!({"rules": [{"host": "shop.example", "http": {"paths": [{
                "path": "/a", "pathType": "ImplementationSpecific",
                "backend": {"service": {"name": "s", "port": {"number": 80}}},
            }]}}]})
        );
        assert_eq!(made[1]["spec"]["rules"][0]["http"]["paths"][0]["path"], Value::Null);
    }

    #[test]
    fn a_host_only_this_machine_knows_has_no_ingress() {
        for host in ["", "localhost", "my.localhost:8080", "127.0.0.1"] {
            assert!(made(json!({"host": host, "rules": [rule(json!({}))]})).is_empty(), "{host}");
        }
    }

    #[test]
    fn tls_names_its_issuer_and_its_secret() {
        let of = |tls: Value| {
            made(json!({"host": "h", "tls": tls, "rules": [rule(json!({"name": "a"}))]})).remove(0)
        };
        let own = of(json!({"issuerName": "i"}));
        assert_eq!(own["metadata"]["annotations"]["cert-manager.io/issuer"], "i");
        assert_eq!(own["spec"]["tls"], json!([{"hosts": ["h"], "secretName": "r-a-cert"}]));
        let cluster = of(json!({"issuerName": "i", "type": "ClusterIssuer"}));
        assert_eq!(cluster["metadata"]["annotations"]["cert-manager.io/cluster-issuer"], "i");
        assert_eq!(cluster["metadata"]["annotations"]["cert-manager.io/issuer"], Value::Null);
    }

    #[test]
    fn what_a_provider_can_do_is_an_annotation() {
        let all = json!({
            "rewriteTarget": "/", "customHeaders": {"B": "2", "A": "1"}, "backend": {"sendTimeout": 5, "readTimeout": 7},
        });
        let of = |provider: &str| {
            made(json!({"host": "h", "provider": provider, "rules": [rule(all.clone())]})).remove(0)["metadata"]
                ["annotations"]
                .clone()
        };
        assert_eq!(
            of("nginx"),
            json!({
                "kubernetes.io/ingress.class": "nginx",
                "nginx.ingress.kubernetes.io/rewrite-target": "/",
                "nginx.ingress.kubernetes.io/configuration-snippet":
                    "more_set_headers \"A: 1\";\nmore_set_headers \"B: 2\";\n",
                "nginx.ingress.kubernetes.io/proxy-send-timeout": "5",
                "nginx.ingress.kubernetes.io/proxy-read-timeout": "7",
            })
        );
        assert_eq!(
            of("contour"),
            json!({"kubernetes.io/ingress.class": "contour", "projectcontour.io/response-timeout": "7"})
        );
    }

    #[test]
    fn a_default_backend_is_named_by_its_group() {
        let default = json!({"apiVersion": "store.example/v1", "kind": "Bucket", "name": "b"});
        let with = json!({"host": "h", "rules": [rule(json!({"defaultBackend": default}))]});
        let resource = json!({"resource": {"apiGroup": "store.example", "kind": "Bucket", "name": "b"}});
        assert_eq!(made(with.clone())[0]["spec"]["defaultBackend"], resource);
        let route = route(with);
        let old = ingresses(&route, &route.spec.rules.clone(), V1BETA1).unwrap().remove(0);
        assert_eq!(old["spec"]["backend"], resource);
        let backend = &old["spec"]["rules"][0]["http"]["paths"][0];
        assert_eq!(*backend, json!({"backend": {"serviceName": "s", "servicePort": 80}}));
    }

    #[test]
    fn two_rules_of_one_name_are_refused() {
        let route = route(json!({"host": "h", "rules": [rule(json!({"name": "1"})), rule(json!({}))]}));
        let error = ingresses(&route, &route.spec.rules.clone(), V1).unwrap_err();
        assert!(error.place.ends_with("spec.rules[1].name"), "{error}");
    }
}
