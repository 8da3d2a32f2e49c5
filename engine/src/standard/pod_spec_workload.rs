//! Builds the Deployment that runs the pods of a PodSpecWorkload and the Service that reaches them.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use vela_crds::standard_oam_dev::PodSpecWorkload;

use super::{Error, Identity, pods};

/// The workload kind.
pub const KIND: &str = "PodSpecWorkload";
/// The label that ties pods and Service to their workload.
pub const SELECTOR: &str = "component.oam.dev/name";
/// On the Deployment: the number of replicas the workload last asked for. While it stays the same, the workload does
/// not disturb users or autoscalers that scale the Deployment.
pub const APPLIED_REPLICAS: &str = "standard.oam.dev/applied-replicas";
/// The Service's first port; the others follow.
const FIRST_PORT: i64 = 8080;
/// Ports of one Service; beyond it the API server would refuse the numbers anyway.
const PORTS_AT_MOST: usize = 1000;

/// The Deployment of a workload: same name, controlled by it. `live` is the Deployment as it is, if there is one.
///
/// # Errors
/// No containers, or a negative number of replicas.
pub fn deployment(workload: &PodSpecWorkload, live: Option<&Value>) -> Result<Value, Error> {
    let identity = Identity::of(workload, KIND)?;
    let mut pod = serde_json::to_value(&workload.spec.pod_spec).unwrap_or_default();
    if pod["containers"].as_array().is_none_or(Vec::is_empty) {
        return Err(Error::new(
            identity.place("spec.podSpec.containers"),
            "is empty; You need at least one container",
        ));
    }
    for list in ["containers", "initContainers"] {
        for container in pod[list].as_array_mut().into_iter().flatten() {
            for port in container["ports"].as_array_mut().into_iter().flatten() {
                if port["protocol"].as_str().unwrap_or_default().is_empty() {
                    port["protocol"] = json!("TCP");
                }
            }
        }
    }
    let selector = selector(&identity);
    let mut annotations = identity.annotations();
    let mut spec = json!({
        "selector": { "matchLabels": selector },
        "template": { "metadata": { "labels": identity.pod_labels(&selector) }, "spec": pod },
    });
    if !annotations.is_empty() {
        spec["template"]["metadata"]["annotations"] = json!(annotations);
    }
    if let Some(replicas) = workload.spec.replicas {
        if replicas < 0 {
            let message = format!("is {replicas}; write 0 or more");
            return Err(Error::new(identity.place("spec.replicas"), message));
        }
        annotations.insert(APPLIED_REPLICAS.to_owned(), json!(replicas.to_string()));
        if !scaled_by_others(replicas, live) {
            spec["replicas"] = json!(replicas);
        }
    }
    Ok(identity.deployment(annotations, spec))
}

fn selector(identity: &Identity<'_>) -> Map<String, Value> {
    Map::from_iter([(SELECTOR.to_owned(), json!(identity.name))])
}

/// True when the live Deployment got these replicas from us before and has others now.
fn scaled_by_others(replicas: i32, live: Option<&Value>) -> bool {
    let Some(live) = live else { return false };
    let applied = live["metadata"]["annotations"][APPLIED_REPLICAS].as_str();
    applied == Some(replicas.to_string().as_str()) && live["spec"]["replicas"] != replicas
}

/// The Service of a workload: its ports are numbered from 8080 on; `None` where no container has a port.
///
/// # Errors
/// More ports than a Service can have.
pub fn service(workload: &PodSpecWorkload) -> Result<Option<Value>, Error> {
    let identity = Identity::of(workload, KIND)?;
    let pod = serde_json::to_value(&workload.spec.pod_spec).unwrap_or_default();
    let ports = pods::ports(&pod);
    if ports.is_empty() {
        return Ok(None);
    }
    if ports.len() > PORTS_AT_MOST {
        let message = format!("have {} ports, {PORTS_AT_MOST} at most", ports.len());
        return Err(Error::new(identity.place("spec.podSpec.containers"), message));
    }
    let several = ports.len() > 1;
    let mut taken = BTreeSet::new();
    let mut service_ports = Vec::new();
    for (number, port) in (FIRST_PORT..).zip(ports) {
        let mut entry = json!({ "port": number, "targetPort": port.number, "protocol": port.protocol });
        // Several ports need a name each; two containers may use the same one.
        let free = !port.name.is_empty() && taken.insert(port.name.clone());
        if free {
            entry["name"] = json!(port.name);
        } else if several {
            entry["name"] = json!(format!("port-{number}"));
        }
        service_ports.push(entry);
    }
    Ok(Some(identity.service(&selector(&identity), service_ports)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workload(spec: Value) -> PodSpecWorkload {
        serde_json::from_value(json!({
            "apiVersion": super::super::API_VERSION, "kind": KIND,
            "metadata": {
                "name": "shop", "namespace": "ns", "uid": "u-1", "labels": {"app": "shop", SELECTOR: "other"},
                "annotations": {"a": "b", "app.oam.dev/last-applied-configuration": "{}"},
            },
            "spec": spec,
        }))
        .unwrap()
    }

    fn two_containers() -> Value {
        json!({"podSpec": {"nodeName": "kept", "containers": [
            {"name": "a", "image": "i", "ports": [{"containerPort": 80, "name": "http"}]},
            {"name": "b", "image": "i", "ports": [{"containerPort": 90, "name": "http"}, {"containerPort": 53, "protocol": "UDP"}]},
        ]}})
    }

    #[test]
    fn the_deployment_runs_the_pods_as_written() {
        let made = deployment(&workload(two_containers()), None).unwrap();
        assert_eq!(made["metadata"]["labels"], json!({"app": "shop", SELECTOR: "other"}));
        assert_eq!(made["metadata"]["annotations"], json!({"a": "b"}));
        assert_eq!(made["metadata"]["ownerReferences"][0]["uid"], "u-1");
        assert_eq!(made["spec"]["replicas"], Value::Null);
        assert_eq!(made["spec"]["selector"]["matchLabels"], json!({SELECTOR: "shop"}));
        let template = &made["spec"]["template"];
        // The selector must find the pods whatever the workload's own labels say.
        assert_eq!(
            template["metadata"],
            json!({"labels": {"app": "shop", SELECTOR: "shop"}, "annotations": {"a": "b"}})
        );
        assert_eq!(template["spec"]["nodeName"], "kept");
        let protocols: Vec<&Value> = template["spec"]["containers"][1]["ports"]
            .as_array()
            .unwrap()
            .iter()
            .map(|port| &port["protocol"])
            .collect();
        assert_eq!(protocols, ["TCP", "UDP"]);
    }

    #[test]
    fn ports_are_numbered_over_all_containers() {
        let made = service(&workload(two_containers())).unwrap().unwrap();
        assert_eq!(made["metadata"]["labels"], made["spec"]["selector"]);
        assert_eq!(
            made["spec"]["ports"],
            json!([
                {"name": "http", "port": 8080, "targetPort": 80, "protocol": "TCP"},
                {"name": "port-8081", "port": 8081, "targetPort": 90, "protocol": "TCP"},
                {"name": "port-8082", "port": 8082, "targetPort": 53, "protocol": "UDP"},
            ])
        );
        let one = json!({"podSpec": {"containers": [{"name": "a", "ports": [{"containerPort": 80}]}]}});
        let made = service(&workload(one)).unwrap().unwrap();
        assert_eq!(made["spec"]["ports"], json!([{"port": 8080, "targetPort": 80, "protocol": "TCP"}]));
        assert_eq!(service(&workload(json!({"podSpec": {"containers": [{"name": "a"}]}}))).unwrap(), None);
    }

    #[test]
    fn replicas_are_set_once_and_then_left_to_scalers() {
        let mut spec = two_containers();
        spec["replicas"] = json!(2);
        let first = deployment(&workload(spec.clone()), None).unwrap();
        assert_eq!(
            (&first["spec"]["replicas"], &first["metadata"]["annotations"][APPLIED_REPLICAS]),
            (&json!(2), &json!("2"))
        );
        let mut live = first.clone();
        assert_eq!(deployment(&workload(spec.clone()), Some(&live)).unwrap()["spec"]["replicas"], 2);
        live["spec"]["replicas"] = json!(7);
        assert_eq!(
            deployment(&workload(spec.clone()), Some(&live)).unwrap()["spec"]["replicas"],
            Value::Null
        );
        // A new wish of the workload counts again.
        spec["replicas"] = json!(3);
        assert_eq!(deployment(&workload(spec), Some(&live)).unwrap()["spec"]["replicas"], 3);
    }

    #[test]
    fn what_no_webhook_refused_is_refused_here() {
        let mut spec = two_containers();
        spec["replicas"] = json!(-1);
        let error = deployment(&workload(spec), None).unwrap_err();
        assert_eq!(error.place, "PodSpecWorkload shop: spec.replicas");
        let error = deployment(&workload(json!({"podSpec": {"containers": []}})), None).unwrap_err();
        assert!(error.to_string().contains("You need at least one container"), "{error}");
    }
}
