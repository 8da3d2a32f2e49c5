//! The recorded cases of Services: the same inputs and steps give the same Services, but where Dapr's operator is weak.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use vela_embedded::virtual_time;

use super::cluster::Cluster;

/// What differs from the recordings, and why: `tests/data/differences.yaml`.
struct Differences(Value);

impl Differences {
    fn read() -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/differences.yaml");
        let differences = Self(serde_saphyr::from_str(&fs::read_to_string(path).unwrap()).unwrap());
        for one in differences.services().chain(differences.0["events"].as_array().unwrap()) {
            assert!(one["reason"].as_str().is_some_and(|reason| reason.len() > 20), "{one} has no reason");
        }
        differences
    }

    fn services(&self) -> impl Iterator<Item = &Value> {
        self.0["services"].as_array().unwrap().iter()
    }

    /// The Services that are expected where those were recorded.
    fn expected(&self, case: &str, file: &str, recorded: Vec<Value>) -> Vec<Value> {
        let names = |one: &&Value| {
            one["case"] == case && one["files"].as_array().unwrap().iter().any(|named| named == file)
        };
        let Some(difference) = self.services().find(names) else { return recorded };
        if let Some(instead) = difference["instead"].as_array() {
            return instead.clone();
        }
        let mut changed = recorded;
        for service in &mut changed {
            merge(service, &difference["changed"]);
        }
        changed
    }

    /// Texts that events of a case contain, one event each.
    fn events(&self, case: &str) -> Vec<String> {
        let events = self.0["events"].as_array().unwrap();
        let of_case = events.iter().filter(|one| one["cases"].get(case).is_some());
        let texts = of_case.flat_map(|one| one["cases"][case].as_array().unwrap());
        texts.map(|text| text.as_str().unwrap().to_owned()).collect()
    }
}

fn merge(into: &mut Value, patch: &Value) {
    match (into, patch) {
        (Value::Object(into), Value::Object(patch)) => {
            for (name, value) in patch {
                merge(into.entry(name).or_insert(Value::Null), value);
            }
        }
        (into, patch) => *into = patch.clone(),
    }
}

pub(crate) fn documents(text: &str) -> Vec<Value> {
    // As Kubernetes reads YAML: `y` is a text.
    let options = serde_saphyr::options! { strict_booleans: true };
    let documents: Vec<Value> = serde_saphyr::from_multiple_with_options(text, options).unwrap();
    documents.into_iter().filter(|document| !document.is_null()).collect()
}

/// What happens in a case after its objects were made; the recordings tell it in words.
fn step(cluster: &Cluster, case: &str, number: usize) {
    let port =
        |name: &str, port: u16| json!({"name": name, "port": port, "targetPort": port, "protocol": "TCP"});
    let by_hand = |ports: Value| json!({"spec": {"ports": ports}});
    let changed = [
        port("dapr-http", 80),
        port("dapr-grpc", 50001),
        port("dapr-internal", 50002),
        port("dapr-metrics", 9999),
    ];
    match (case, number) {
        ("change-ports", 1) => {
            let ports = json!({"dapr.io/metrics-port": "9191", "dapr.io/grpc-port": "51001"});
            cluster.annotate(case, "web", &ports);
        }
        ("change-ports", 2) => cluster.annotate(case, "web", &json!({"dapr.io/enable-metrics": "false"})),
        ("drift", 1) => {
            let mut patch = by_hand(json!(changed));
            patch["metadata"] = json!({"labels": {"by": "hand"}, "annotations": {"note": "by hand"}});
            cluster.change(case, "Service", "cart-dapr", &patch);
        }
        ("drift", 2) => {
            let mut ports = cluster.services(case)[0]["spec"]["ports"].clone();
            ports.as_array_mut().unwrap().push(port("fifth", 7000));
            cluster.change(case, "Service", "cart-dapr", &by_hand(ports));
        }
        ("drift", 3) => {
            cluster.change(case, "Service", "cart-dapr", &json!({"metadata": {"ownerReferences": null}}));
        }
        ("drift", 4) => {
            cluster.change(case, "Deployment", "web", &json!({"metadata": {"annotations": {"a": "b"}}}));
        }
        ("enable-later", 1) => {
            cluster.annotate(case, "web", &json!({"dapr.io/enabled": "true", "dapr.io/app-id": "late"}));
        }
        ("fix-later", 1) => cluster.annotate(case, "web", &json!({"dapr.io/app-id": "good"})),
        ("same-app-id-twice" | "same-app-id-deployment-statefulset", 1) => {}
        ("same-app-id-twice", 2) => cluster.delete(case, "Deployment", "one", "Background"),
        ("workload-deleted", 1) => cluster.delete(case, "StatefulSet", "web", "Background"),
        other => panic!("what happens in {other:?}?"),
    }
}

/// A recorded case as it stands in the archive: its objects, and the Services after each step.
struct Case {
    name: String,
    objects: Vec<Value>,
    /// By the name of their file; in the order of steps.
    services: BTreeMap<usize, (String, Vec<Value>)>,
}

fn cases() -> Vec<Case> {
    let folder = vela_testkit::cases::folder("conformance/dapr/services");
    let mut cases: Vec<Case> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let text = |file: &str| fs::read_to_string(path.join(file)).unwrap();
            let files =
                fs::read_dir(&path).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
            let services = files.filter_map(|file| {
                let step = file.strip_prefix("services")?.strip_suffix(".yaml")?;
                let step = step.strip_prefix('-').map_or(0, |number| number.parse().unwrap());
                let documents = documents(&text(&file));
                Some((step, (file, documents)))
            });
            Case {
                name: path.file_name().unwrap().to_str().unwrap().to_owned(),
                objects: documents(&text("input.yaml")),
                services: services.collect(),
            }
        })
        .collect();
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    cases
}

#[test]
fn recorded_services_are_made_and_changed() {
    let (cases, differences) = (cases(), Differences::read());
    assert!(cases.len() >= 33, "only {} cases", cases.len());
    let done = virtual_time::run(async {
        let cluster = Cluster::new();
        let mut wrong = Vec::new();
        for case in &cases {
            cluster.namespace(&case.name);
            case.objects.iter().for_each(|object| cluster.create(&case.name, object));
            for (number, (file, recorded)) in &case.services {
                if *number > 0 {
                    step(&cluster, &case.name, *number);
                }
                cluster.settle().await;
                let expected = differences.expected(&case.name, file, recorded.clone());
                let found = cluster.services(&case.name);
                if found != expected {
                    let texts =
                        [&found, &expected].map(|services| serde_json::to_string_pretty(services).unwrap());
                    wrong.push(format!("{}/{file}: {}\nexpected {}", case.name, texts[0], texts[1]));
                }
            }
            let (events, expected) = (cluster.events(&case.name), differences.events(&case.name));
            let found = expected.iter().all(|text| events.iter().any(|event| event.contains(text)));
            if !found || events.len() != expected.len() {
                wrong.push(format!("{}: events {events:#?}\nexpected {expected:#?}", case.name));
            }
        }
        // Nothing is tried again and again: whatever is wrong waits for a change.
        let reconciles =
            || ["dapr-deployment", "dapr-statefulset"].map(|name| cluster.counts.reconciles(name));
        let before = reconciles();
        cluster.faults.take();
        cluster.pass(Duration::from_secs(600)).await;
        assert_eq!(reconciles(), before, "no reconcile without a change");
        let writes: Vec<_> = cluster.faults.take().into_iter().filter(|entry| entry.writes()).collect();
        assert_eq!(writes, [], "no write without a change");
        assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
    });
    done.unwrap();
}
