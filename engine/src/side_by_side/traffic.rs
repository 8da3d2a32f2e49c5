//! Splits requests between revisions: a Service for the pods of each, and the share of each in a VirtualService of Istio.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};
use vela_crds::app_deployment::{HttpRule, Traffic, WeightedTarget};
use vela_crds::labels;

use super::Placed;
use super::revision_objects::{Owner, PlacedComponent};

/// API version of the kind that splits requests.
pub const API_VERSION: &str = "networking.istio.io/v1beta1";
/// That kind.
pub const KIND: &str = "VirtualService";

/// Longest name of a Service.
const NAME_LIMIT: usize = 63;
/// More rules, or targets of one, are refused.
const RULES_AT_MOST: usize = 50;

/// The object that splits the requests.
#[derive(Clone, Debug, PartialEq)]
pub struct Split {
    /// A Service for each revision, component and port that gets requests.
    pub services: Vec<Json>,
    /// The VirtualService.
    pub route: Json,
    /// Revision and component of every target that gets requests.
    pub targets: BTreeSet<(String, String)>,
}

/// A revision with its components.
pub type Revision<'a> = (&'a Placed, &'a [PlacedComponent]);

/// The objects that split the requests. `name` is that of the AppDeployment.
///
/// # Errors
/// All that is wrong with the rules, each with its field.
pub fn split(
    traffic: &Traffic,
    name: &str,
    revisions: &[Revision<'_>],
    owner: &Owner,
) -> Result<Split, String> {
    let (services, targets, wrong) = Default::default();
    let mut reader = Reader { revisions, owner, services, targets, wrong };
    if traffic.hosts.is_empty() {
        reader.wrong.push("spec.traffic.hosts: name the hosts of the requests".to_owned());
    }
    if traffic.http.is_empty() || traffic.http.len() > RULES_AT_MOST {
        reader
            .wrong
            .push(format!("spec.traffic.http: write 1 to {RULES_AT_MOST} rules with weightedTargets"));
    }
    let rules = traffic.http.iter().take(RULES_AT_MOST).enumerate();
    let http: Vec<Json> = rules.map(|(index, rule)| reader.rule(index, rule)).collect();
    if !reader.wrong.is_empty() {
        return Err(reader.wrong.join("; "));
    }
    let mut spec = json!({"hosts": traffic.hosts, "http": http});
    if !traffic.gateways.is_empty() {
        spec["gateways"] = json!(traffic.gateways);
    }
    let route =
        json!({"apiVersion": API_VERSION, "kind": KIND, "metadata": metadata(owner, name), "spec": spec});
    Ok(Split { services: reader.services, route, targets: reader.targets })
}

fn metadata(owner: &Owner, name: &str) -> Json {
    json!({"name": name, "namespace": owner.namespace, "ownerReferences": [owner.reference]})
}

struct Reader<'a> {
    revisions: &'a [Revision<'a>],
    owner: &'a Owner,
    services: Vec<Json>,
    targets: BTreeSet<(String, String)>,
    wrong: Vec<String>,
}

impl Reader<'_> {
    fn rule(&mut self, index: usize, rule: &HttpRule) -> Json {
        let at = format!("spec.traffic.http[{index}]");
        let targets = &rule.weighted_targets;
        if targets.is_empty() || targets.len() > RULES_AT_MOST {
            self.wrong.push(format!("{at}.weightedTargets: name 1 to {RULES_AT_MOST} targets"));
        }
        let targets = targets.iter().take(RULES_AT_MOST);
        let weights: Vec<i64> = match targets.len() {
            1 => vec![targets.clone().next().and_then(|only| only.weight).unwrap_or(100)],
            _ => targets.clone().map(|target| target.weight.unwrap_or(0)).collect(),
        };
        let sum = weights.iter().fold(0i64, |sum, weight| sum.saturating_add(*weight));
        if !weights.is_empty() && (sum != 100 || weights.iter().any(|weight| *weight < 0)) {
            self.wrong
                .push(format!("{at}.weightedTargets: the weights are {sum} together; write parts of 100"));
        }
        let routes: Vec<Json> = targets
            .zip(&weights)
            .enumerate()
            .map(|(index, (target, weight))| {
                self.target(&format!("{at}.weightedTargets[{index}]"), target, *weight)
            })
            .collect();
        let matches: Vec<Json> = rule
            .matches
            .iter()
            .filter_map(|found| Some(json!({"uri": {"prefix": found.uri.as_ref()?.prefix.as_ref()?}})))
            .collect();
        let mut made = json!({"route": routes});
        if !matches.is_empty() {
            made["match"] = json!(matches);
        }
        made
    }

    /// The Service of a target, and its share.
    fn target(&mut self, at: &str, target: &WeightedTarget, weight: i64) -> Json {
        let revision = target.revision_name.as_deref().unwrap_or_default();
        let component = target.component_name.as_deref().unwrap_or_default();
        let port = target.port.unwrap_or(0);
        if !(1..=65_535).contains(&port) {
            self.wrong.push(format!("{at}.port: write a port from 1 to 65535"));
        }
        match self.revisions.iter().find(|(placed, _)| placed.revision == revision) {
            None => self.wrong.push(format!("{at}.revisionName: {revision:?} is not in spec.appRevisions")),
            Some((_, components)) => match components.iter().find(|found| found.name == component) {
                None => {
                    let names: Vec<&str> = components.iter().map(|found| found.name.as_str()).collect();
                    let names = names.join(", ");
                    self.wrong.push(format!(
                        "{at}.componentName: revision {revision} has no component {component:?}; there are {names}"
                    ));
                }
                Some(found) if !found.workload.pointer("/spec/template").is_some_and(Json::is_object) => {
                    self.wrong.push(format!("{at}.componentName: {component} has no pods that get requests"));
                }
                Some(_) => {}
            },
        }
        if weight > 0 {
            self.targets.insert((revision.to_owned(), component.to_owned()));
        }
        let name = format!("{revision}-{component}-{port}");
        if name.len() > NAME_LIMIT {
            self.wrong.push(format!("{at}: the Service {name} would have more than {NAME_LIMIT} characters"));
        }
        let service = json!({
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": metadata(self.owner, &name),
            "spec": {
                "selector": {labels::APP_REVISION: revision, labels::APP_COMPONENT: component},
                "ports": [{"name": "http", "protocol": "TCP", "port": port, "targetPort": port}],
            },
        });
        if !self.services.contains(&service) {
            self.services.push(service);
        }
        json!({"destination": {"host": name, "port": {"number": port}}, "weight": weight})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner() -> Owner {
        let reference = json!({"kind": "AppDeployment", "name": "both", "uid": "u", "controller": true});
        Owner { namespace: "space".to_owned(), reference, label: None, in_place: false }
    }

    fn read(traffic: Json) -> Result<Split, String> {
        let placed = |revision: &str| Placed {
            revision: revision.to_owned(),
            replicas: None,
            path: "spec.appRevisions[0].revisionName".to_owned(),
        };
        let component = |name: &str, workload: Json| PlacedComponent {
            name: name.to_owned(),
            workload,
            others: Vec::new(),
        };
        let components = [
            component("web", json!({"kind": "Deployment", "spec": {"template": {}}})),
            component("note", json!({"kind": "ConfigMap"})),
        ];
        let (first, second) = (placed("shop-v1"), placed("shop-v2"));
        let revisions = [(&first, components.as_slice()), (&second, components.as_slice())];
        split(&serde_json::from_value(traffic).unwrap(), "both", &revisions, &owner())
    }

    fn target(revision: &str, component: &str, port: i64, weight: Json) -> Json {
        json!({"revisionName": revision, "componentName": component, "port": port, "weight": weight})
    }

    #[test]
    fn requests_go_to_the_pods_of_each_revision_by_weight() {
        let targets =
            json!([target("shop-v1", "web", 8000, json!(90)), target("shop-v2", "web", 80, json!(10))]);
        let found = read(json!({
            "hosts": ["shop.example.com"], "gateways": ["gate"],
            "http": [
                {"match": [{"uri": {"prefix": "/new"}}], "weightedTargets": [target("shop-v2", "web", 80, Json::Null)]},
                {"weightedTargets": targets},
            ],
        }))
        .unwrap();
        let names: Vec<&str> =
            found.services.iter().map(|service| service["metadata"]["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["shop-v2-web-80", "shop-v1-web-8000"], "each is made once");
        assert_eq!(found.targets.len(), 2);
        let selector = json!({labels::APP_REVISION: "shop-v2", labels::APP_COMPONENT: "web"});
        assert_eq!(found.services[0]["spec"]["selector"], selector);
        let http = &found.route["spec"]["http"];
        assert_eq!(http[0]["match"], json!([{"uri": {"prefix": "/new"}}]));
        assert_eq!(http[0]["route"][0]["weight"], 100);
        assert_eq!(
            http[1]["route"][0],
            json!({"destination": {"host": "shop-v1-web-8000", "port": {"number": 8000}}, "weight": 90})
        );
        assert_eq!(found.route["spec"]["gateways"], json!(["gate"]));
        assert_eq!(found.route["metadata"]["ownerReferences"][0]["name"], "both");
    }

    #[test]
    fn every_mistake_is_said_at_its_field() {
        let error = read(json!({"http": [
            {"weightedTargets": [
                target("shop-v1", "web", 80, json!(50)),
                target("shop-v3", "web", 0, json!(20)),
                target("shop-v1", "db", 80, json!(20)),
                target("shop-v1", "note", 80, json!(20)),
            ]},
            {},
        ]}))
        .unwrap_err();
        for says in [
            "spec.traffic.hosts: name the hosts",
            "spec.traffic.http[0].weightedTargets: the weights are 110 together",
            "[1].revisionName: \"shop-v3\" is not in spec.appRevisions",
            "[1].port: write a port",
            "[2].componentName: revision shop-v1 has no component \"db\"; there are web, note",
            "[3].componentName: note has no pods",
            "spec.traffic.http[1].weightedTargets: name 1 to",
        ] {
            assert!(error.contains(says), "{says}: {error}");
        }
        let none = read(json!({"hosts": ["a"], "http": []})).unwrap_err();
        assert!(none.contains("write 1 to"), "{none}");
        let long = "a".repeat(60);
        let long =
            json!({"hosts": ["a"], "http": [{"weightedTargets": [target(&long, "web", 80, Json::Null)]}]});
        assert!(read(long).unwrap_err().contains("more than 63 characters"));
    }
}
