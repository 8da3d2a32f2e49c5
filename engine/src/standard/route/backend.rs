//! Fills the backend of a Route's rules from the Services of its workload, or gives the Service to make.

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde_json::{Map, Value, json};
use vela_crds::standard_oam_dev::Route;
use vela_crds::standard_oam_dev::route::{BackendService, RouteRule};

use super::super::definition::Definition;
use super::super::{API_VERSION, Error, Identity, pods};
use super::KIND;

/// The rule of a route that has none.
const AUTO_CREATED: &str = "auto-created";
/// Rules of one route.
const RULES_AT_MOST: usize = 500;

/// True while a rule does not know its Service.
#[must_use]
pub fn needs_discovery(rules: &[RouteRule]) -> bool {
    rules.is_empty() || rules.iter().any(|rule| service_name(rule).is_none())
}

/// The Service a rule leads to.
fn service_name(rule: &RouteRule) -> Option<&str> {
    let service = rule.backend.as_ref()?.backend_service.as_ref()?;
    Some(service.service_name.as_str()).filter(|name| !name.is_empty())
}

/// Leads the rules that lack a Service to the first matching port of this one.
pub fn fill(rules: &mut Vec<RouteRule>, service: &Value) {
    let Some(name) = service["metadata"]["name"].as_str() else { return };
    let ports = service["spec"]["ports"].as_array().cloned().unwrap_or_default();
    if rules.is_empty() && !ports.is_empty() {
        rules.push(RouteRule { name: Some(AUTO_CREATED.to_owned()), ..RouteRule::default() });
    }
    for rule in rules.iter_mut().filter(|rule| service_name(rule).is_none()) {
        let Some(port) = ports.iter().find(|port| matches(rule, port)) else { continue };
        let number = match (port["port"].as_i64().and_then(|n| i32::try_from(n).ok()), port["port"].as_str())
        {
            (Some(number), _) => IntOrString::Int(number),
            (None, Some(text)) => IntOrString::String(text.to_owned()),
            (None, None) => continue,
        };
        rule.backend.get_or_insert_default().backend_service =
            Some(BackendService { port: number, service_name: name.to_owned() });
    }
}

/// A rule without a port takes any; else the port of the pods must be the one the rule names.
fn matches(rule: &RouteRule, port: &Value) -> bool {
    let wanted = rule.backend.as_ref().and_then(|backend| backend.backend_service.as_ref()).map(|s| &s.port);
    let wanted = match wanted {
        None | Some(IntOrString::Int(0)) => return true,
        Some(IntOrString::String(text)) if text.is_empty() || text == "0" => return true,
        Some(IntOrString::Int(number)) => number.to_string(),
        Some(IntOrString::String(text)) => text.clone(),
    };
    // A Service that names no port of the pods uses its own.
    let target = if port["targetPort"].is_null() { &port["port"] } else { &port["targetPort"] };
    match target {
        Value::String(text) => *text == wanted,
        Value::Number(number) => number.to_string() == wanted,
        _ => false,
    }
}

/// The Service made for a route whose workload has none: named as the route, controlled by it.
///
/// # Errors
/// No port can be found.
pub fn service(
    route: &Route,
    definition: &Definition,
    workload: &Value,
    children: &[Value],
) -> Result<Value, Error> {
    let identity = Identity::of(route, KIND)?;
    let pods = pods::discover(definition, workload, children).ok_or_else(|| {
        let message = "no port was found on the workload or its children; give a container a port, or name the \
                       Service of every rule in rules[].backend.backendService";
        Error::new(identity.place("spec.rules"), message)
    })?;
    if pods.selector.is_empty() {
        let message = "the pods of the workload have no labels, so that no Service can select them";
        return Err(Error::new(identity.place("spec.workloadRef"), message));
    }
    let mut numbers = BTreeSet::new();
    // One number may be open for two protocols; a route speaks TCP only.
    let ports: Vec<&pods::Port> = pods.ports.iter().filter(|port| numbers.insert(port.number)).collect();
    let mut taken = BTreeSet::new();
    let service_ports: Vec<Value> = ports
        .iter()
        .map(|port| {
            let mut entry = json!({ "port": port.number, "targetPort": port.number, "protocol": "TCP" });
            if ports.len() > 1 {
                let free = !port.name.is_empty() && taken.insert(port.name.clone());
                let name = if free { port.name.clone() } else { format!("port-{}", port.number) };
                entry["name"] = json!(name);
            }
            entry
        })
        .collect();
    let all: Map<String, Value> =
        route.metadata.labels.iter().flatten().map(|(key, value)| (key.clone(), json!(value))).collect();
    Ok(json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": identity.name,
            "namespace": identity.namespace,
            "labels": pods::identifying(&all),
            "ownerReferences": identity.owner(),
        },
        "spec": { "type": "ClusterIP", "selector": pods.selector, "ports": service_ports },
    }))
}

/// The rules of a route as written.
///
/// # Errors
/// More rules than one route may have.
pub fn rules(route: &Route) -> Result<Vec<RouteRule>, Error> {
    let rules = &route.spec.rules;
    if rules.len() > RULES_AT_MOST {
        let place = Identity::of(route, KIND)?.place("spec.rules");
        return Err(Error::new(place, format!("has {} entries, {RULES_AT_MOST} at most", rules.len())));
    }
    Ok(rules.clone())
}

/// True for a Service among the children that other objects made, not the route itself.
#[must_use]
pub fn is_service_of_workload(object: &Value, route: &Route) -> bool {
    let uid = route.metadata.uid.as_deref().unwrap_or_default();
    let owners = object["metadata"]["ownerReferences"].as_array();
    let ours = owners.into_iter().flatten().any(|owner| {
        owner["controller"] == true && owner["uid"] == uid && owner["apiVersion"] == API_VERSION
    });
    object["apiVersion"] == "v1" && object["kind"] == "Service" && !ours
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(rules: Value) -> Route {
        serde_json::from_value(json!({
            "apiVersion": API_VERSION, "kind": KIND,
            "metadata": {
                "name": "r", "namespace": "ns", "uid": "u-1",
                "labels": {"app.oam.dev/name": "a", "app.oam.dev/component": "c", "x": "y"},
            },
            "spec": {"host": "h", "rules": rules},
        }))
        .unwrap()
    }

    fn filled(rules_: Value, services: &[Value]) -> Value {
        let mut rules = rules(&route(rules_)).unwrap();
        services.iter().for_each(|service| fill(&mut rules, service));
        json!(rules)
    }

    fn service_of(name: &str, ports: Value) -> Value {
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": {"ports": ports}})
    }

    #[test]
    fn a_rule_needs_a_service_with_a_name() {
        let needs = |rules_: Value| needs_discovery(&rules(&route(rules_)).unwrap());
        assert!(needs(json!([])) && needs(json!([{}])) && needs(json!([{"backend": {"readTimeout": 1}}])));
        assert!(needs(json!([{"backend": {"backendService": {"port": 80, "serviceName": ""}}}])));
        assert!(!needs(json!([{"backend": {"backendService": {"port": 80, "serviceName": "s"}}}])));
    }

    #[test]
    fn the_port_of_the_pods_decides_the_port_of_the_service() {
        let service =
            service_of("s", json!([{"port": 443, "targetPort": 8443}, {"port": 80, "targetPort": 8080}]));
        let rules = filled(
            json!([{"backend": {"sendTimeout": 3, "backendService": {"port": 8080, "serviceName": ""}}}]),
            std::slice::from_ref(&service),
        );
        assert_eq!(
            rules[0]["backend"],
            json!({"sendTimeout": 3, "backendService": {"port": 80, "serviceName": "s"}})
        );
        // A rule without a port takes the first one, a rule with a Service keeps it, one that matches nothing waits.
        let named = json!({"backend": {"backendService": {"port": 1, "serviceName": "other"}}});
        let nothing = json!({"backend": {"backendService": {"port": "web", "serviceName": ""}}});
        let rules = filled(json!([{}, named, nothing]), &[service]);
        assert_eq!(rules[0]["backend"]["backendService"], json!({"port": 443, "serviceName": "s"}));
        assert_eq!((&rules[1], &rules[2]), (&named, &nothing));
        let by_name = service_of("t", json!([{"port": 9, "targetPort": "web"}]));
        assert_eq!(filled(json!([nothing]), &[by_name])[0]["backend"]["backendService"]["port"], 9);
    }

    #[test]
    fn a_route_without_rules_gets_one_and_the_first_service_wins() {
        let (first, second) = (service_of("a", json!([{"port": 1}])), service_of("b", json!([{"port": 2}])));
        let rules = filled(json!([]), &[service_of("none", json!([])), first, second]);
        assert_eq!(
            rules,
            json!([{"name": "auto-created", "backend": {"backendService": {"port": 1, "serviceName": "a"}}}])
        );
    }

    #[test]
    fn a_service_is_made_from_the_ports_of_the_pods() {
        let workload = |ports: Value| {
            json!({"kind": "Deployment", "spec": {"template": {
                "metadata": {"labels": {"pod": "p"}}, "spec": {"containers": [{"ports": ports}]},
            }}})
        };
        let made = |ports: Value| service(&route(json!([])), &Definition::default(), &workload(ports), &[]);
        let one = made(json!([{"containerPort": 8000, "name": "default"}])).unwrap();
        assert_eq!(one["metadata"]["name"], "r");
        assert_eq!(one["metadata"]["labels"], json!({"app.oam.dev/name": "a", "app.oam.dev/component": "c"}));
        assert_eq!(one["spec"]["selector"], json!({"pod": "p"}));
        assert_eq!(one["spec"]["ports"], json!([{"port": 8000, "targetPort": 8000, "protocol": "TCP"}]));
        assert!(!is_service_of_workload(&one, &route(json!([]))));
        let several = made(json!([
            {"containerPort": 1, "name": "web"}, {"containerPort": 2, "name": "web"}, {"containerPort": 2, "protocol": "UDP"},
        ]))
        .unwrap();
        let names: Vec<&Value> =
            several["spec"]["ports"].as_array().unwrap().iter().map(|port| &port["name"]).collect();
        assert_eq!(names, ["web", "port-2"]);
        let error = made(json!([])).unwrap_err().to_string();
        assert!(error.contains("Route r: spec.rules: no port"), "{error}");
    }
}
