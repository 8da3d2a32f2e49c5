//! An object → the addresses at which what is behind it is reached: those of Services and Ingresses, in the form in which
//! KubeVela gives them to workflow steps.

use serde_json::{Value as Json, json};

/// Addresses of one object: more come from a mistake.
const ENDPOINTS_AT_MOST: usize = 200;

/// The endpoints of an object; none where it is of another kind, or has no address yet.
pub fn endpoints(object: &Json) -> Vec<Json> {
    let group = object["apiVersion"].as_str().unwrap_or_default().split('/').next().unwrap_or_default();
    let mut found = match (group, object["kind"].as_str().unwrap_or_default()) {
        ("v1", "Service") => of_service(object),
        ("networking.k8s.io", "Ingress") => of_ingress(object),
        _ => Vec::new(),
    };
    found.truncate(ENDPOINTS_AT_MOST);
    found
}

/// Where a load balancer gave addresses, those; else the name of the Service, which the cluster alone knows.
fn of_service(service: &Json) -> Vec<Json> {
    let balanced = service["spec"]["type"] == "LoadBalancer";
    let hosts = match balanced {
        true => balancers(service),
        false => {
            let name = |field: &str| service["metadata"][field].as_str().unwrap_or_default();
            vec![format!("{}.{}", name("name"), name("namespace"))]
        }
    };
    let ports = service["spec"]["ports"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut endpoints = Vec::new();
    for host in &hosts {
        for port in ports {
            let mut endpoint = json!({
                "protocol": port["protocol"].as_str().unwrap_or("TCP"),
                "host": host,
                "port": port["port"],
            });
            let protocol = port["appProtocol"].as_str().unwrap_or_else(|| usual(&port["port"]));
            set(&mut endpoint, "appProtocol", protocol);
            set(&mut endpoint, "portName", port["name"].as_str().unwrap_or_default());
            if !balanced {
                endpoint["inner"] = json!(true);
            }
            endpoints.push(endpoint);
        }
    }
    endpoints
}

/// Each path at the host of its rule; at the addresses of the Ingress where a rule has none.
fn of_ingress(ingress: &Json) -> Vec<Json> {
    let list = |value: &Json| value.as_array().cloned().unwrap_or_default();
    let hidden = list(&ingress["spec"]["tls"]);
    let is_encrypted = |host: &str| {
        hidden.iter().any(|tls| {
            let hosts = list(&tls["hosts"]);
            hosts.is_empty() || hosts.iter().any(|named| named == host)
        })
    };
    let mut endpoints = Vec::new();
    for rule in list(&ingress["spec"]["rules"]) {
        let hosts = match rule["host"].as_str().filter(|host| !host.is_empty()) {
            Some(host) => vec![host.to_owned()],
            None => balancers(ingress),
        };
        for host in &hosts {
            let (protocol, port) = if is_encrypted(host) { ("https", 443) } else { ("http", 80) };
            for path in list(&rule["http"]["paths"]) {
                let mut endpoint =
                    json!({"protocol": "TCP", "appProtocol": protocol, "host": host, "port": port});
                set(&mut endpoint, "path", path["path"].as_str().unwrap_or_default());
                endpoints.push(endpoint);
            }
        }
    }
    endpoints
}

/// The addresses in the status of a Service or an Ingress.
fn balancers(object: &Json) -> Vec<String> {
    let found = object["status"]["loadBalancer"]["ingress"].as_array().into_iter().flatten();
    let address = |one: &Json| one["hostname"].as_str().or(one["ip"].as_str()).map(str::to_owned);
    found.filter_map(address).collect()
}

/// The usual protocol of a port.
fn usual(port: &Json) -> &'static str {
    match port.as_u64() {
        Some(80 | 8080) => "http",
        Some(443) => "https",
        Some(3306) => "mysql",
        Some(6379) => "redis",
        _ => "",
    }
}

fn set(endpoint: &mut Json, field: &str, text: &str) {
    if !text.is_empty() {
        endpoint[field] = json!(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service(type_: &str, status: &Json) -> Json {
        json!({
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "web", "namespace": "prod"},
            "spec": {"type": type_, "ports": [{"port": 80, "name": "main"}, {"port": 53, "protocol": "UDP"}]},
            "status": status,
        })
    }

    #[test]
    fn a_service_is_reached_by_its_name_or_its_load_balancer() {
        let inner = endpoints(&service("ClusterIP", &json!({})));
        let web = json!({
            "protocol": "TCP", "appProtocol": "http", "host": "web.prod", "port": 80, "portName": "main", "inner": true,
        });
        assert_eq!(inner[0], web);
        assert_eq!(inner[1], json!({"protocol": "UDP", "host": "web.prod", "port": 53, "inner": true}));
        let status =
            json!({"loadBalancer": {"ingress": [{"ip": "10.0.0.1"}, {"hostname": "lb.example.com"}]}});
        let outer = endpoints(&service("LoadBalancer", &status));
        assert_eq!(outer.len(), 4);
        assert_eq!((&outer[0]["host"], &outer[2]["host"]), (&json!("10.0.0.1"), &json!("lb.example.com")));
        assert!(outer.iter().all(|endpoint| endpoint["inner"].is_null()));
        assert!(endpoints(&service("LoadBalancer", &json!({}))).is_empty(), "it has no address yet");
    }

    #[test]
    fn an_ingress_is_reached_at_the_hosts_of_its_rules() {
        let path = |path: &str| json!({"http": {"paths": [{"path": path}]}});
        let (mut named, open) = (path("/shop"), path("/"));
        named["host"] = json!("shop.example.com");
        let ingress = json!({
            "apiVersion": "networking.k8s.io/v1",
            "kind": "Ingress",
            "spec": {"tls": [{"hosts": ["shop.example.com"]}], "rules": [named, open]},
            "status": {"loadBalancer": {"ingress": [{"ip": "10.0.0.1"}]}},
        });
        let found = endpoints(&ingress);
        let shop = json!({
            "protocol": "TCP", "appProtocol": "https", "host": "shop.example.com", "port": 443, "path": "/shop",
        });
        assert_eq!(found[0], shop);
        assert_eq!((&found[1]["host"], &found[1]["port"]), (&json!("10.0.0.1"), &json!(80)));
        assert!(endpoints(&json!({"apiVersion": "v1", "kind": "ConfigMap"})).is_empty());
    }
}
