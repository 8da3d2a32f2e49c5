//! Finds the labels and ports of a workload's pods, from the workload, its children and its definition.

use serde_json::{Map, Value};
use vela_crds::labels as keys;

use super::definition::Definition;
use super::{at, labels};
use crate::field_path;

/// A port that a container listens on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Port {
    /// Its name; may be empty.
    pub name: String,
    /// Its number.
    pub number: i64,
    /// Its protocol; TCP where none is written.
    pub protocol: String,
}

/// The pods behind a workload: how to select them and where they listen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pods {
    /// Labels that every pod has.
    pub selector: Map<String, Value>,
    /// Ports in the order of the containers; at least one.
    pub ports: Vec<Port>,
}

/// The ports of all containers of a pod spec, in their order.
#[must_use]
pub fn ports(pod_spec: &Value) -> Vec<Port> {
    let list = |value: &Value, field: &str| value[field].as_array().cloned().unwrap_or_default();
    let mut ports = Vec::new();
    for container in list(pod_spec, "containers") {
        for port in list(&container, "ports") {
            let Some(number) = port["containerPort"].as_i64() else { continue };
            let name = port["name"].as_str().unwrap_or_default().to_owned();
            let protocol = port["protocol"].as_str().unwrap_or("TCP").to_owned();
            ports.push(Port { name, number, protocol });
        }
    }
    ports
}

/// The pods that the template of an object describes, if it has one with ports.
#[must_use]
pub fn of_template(object: &Value) -> Option<Pods> {
    let template = at(&object["spec"], "template")?;
    let ports = ports(&template["spec"]);
    (!ports.is_empty()).then(|| Pods { selector: labels(template), ports })
}

/// The labels that tell one component of one application from all others, or all labels where there are none of them.
#[must_use]
pub fn identifying(all: &Map<String, Value>) -> Map<String, Value> {
    let own: Map<String, Value> = [keys::APP_NAME, keys::APP_COMPONENT]
        .into_iter()
        .filter_map(|key| Some((key.to_owned(), all.get(key)?.clone())))
        .collect();
    if own.is_empty() { all.clone() } else { own }
}

/// Finds the pods of a workload: where its definition says they are, else in the first template with ports of the
/// workload and its children.
#[must_use]
pub fn discover(definition: &Definition, workload: &Value, children: &[Value]) -> Option<Pods> {
    if let Some(path) = &definition.pod_spec_path {
        let spec = field_path::find(workload, path).ok().flatten()?;
        let ports = ports(spec);
        let selector = selector_at(workload, path);
        return (!ports.is_empty()).then_some(Pods { selector, ports });
    }
    if definition.podspecable {
        return of_template(workload);
    }
    std::iter::once(workload).chain(children).find_map(of_template)
}

/// The labels of the pods whose spec is at `path`: those of the workload, unless a template around the pod spec gives
/// its pods other ones; a selector that no pod carries would lead nowhere.
fn selector_at(workload: &Value, path: &str) -> Map<String, Value> {
    let own = identifying(&labels(workload));
    let template =
        path.strip_suffix(".spec").and_then(|path| field_path::find(workload, path).ok().flatten());
    let given = template.map(labels).unwrap_or_default();
    let carried = own.iter().all(|(key, value)| given.get(key) == Some(value));
    if given.is_empty() || carried { own } else { given }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn deployment(ports: Value) -> Value {
        json!({
            "kind": "Deployment", "metadata": {"labels": {"app.oam.dev/name": "a", "x": "y"}},
            "spec": {"template": {
                "metadata": {"labels": {"pod": "p"}},
                "spec": {"containers": [{"name": "c"}, {"name": "d", "ports": ports}]},
            }},
        })
    }

    #[test]
    fn ports_are_read_in_order_with_their_protocol() {
        let pods = of_template(&deployment(json!([
            {"containerPort": 80, "name": "http"}, {"containerPort": 53, "protocol": "UDP"}, {"hostPort": 1}
        ])))
        .unwrap();
        let read: Vec<_> =
            pods.ports.iter().map(|p| (p.name.as_str(), p.number, p.protocol.as_str())).collect();
        assert_eq!(read, [("http", 80, "TCP"), ("", 53, "UDP")]);
        assert_eq!(of_template(&deployment(json!([]))), None);
    }

    #[test]
    fn a_path_of_the_definition_says_where_the_pods_are() {
        let at = |path: &str| Definition { pod_spec_path: Some(path.into()), ..Definition::default() };
        // A custom kind whose pods carry the labels of the workload.
        let custom = json!({
            "metadata": {"labels": {"app.oam.dev/name": "a", "app.oam.dev/component": "c", "x": "y"}},
            "spec": {"pods": {"containers": [{"ports": [{"containerPort": 7}]}]}},
        });
        let pods = discover(&at("spec.pods"), &custom, &[]).unwrap();
        assert_eq!(
            Value::Object(pods.selector),
            json!({"app.oam.dev/name": "a", "app.oam.dev/component": "c"})
        );
        // A Deployment's pods carry what its template says.
        let pods =
            discover(&at("spec.template.spec"), &deployment(json!([{"containerPort": 7}])), &[]).unwrap();
        assert_eq!(Value::Object(pods.selector), json!({"pod": "p"}));
        assert_eq!(discover(&at("spec.nowhere"), &custom, &[]), None);
    }

    #[test]
    fn without_a_path_the_first_template_with_ports_counts() {
        let workload = json!({"metadata": {"labels": {"x": "y"}}, "spec": {}});
        let children = [json!({"kind": "Service"}), deployment(json!([{"containerPort": 9}]))];
        let found = discover(&Definition::default(), &workload, &children).unwrap();
        assert_eq!((Value::Object(found.selector), found.ports[0].number), (json!({"pod": "p"}), 9));
        let podspecable = Definition { podspecable: true, ..Definition::default() };
        assert_eq!(discover(&podspecable, &workload, &children), None);
    }
}
