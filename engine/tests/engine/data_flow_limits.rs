//! Values between workloads and traits: what is too large, too random or too recorded for a file of cases.

use serde_json::{Value as Json, json};
use vela_engine::application_configuration as ac;
use vela_engine::application_configuration::data::{self, Objects};
use vela_engine::{Document, Snapshot, manifest};

use super::data_flow::{Case, foo, from, observed, operation, pair, store, stored};

#[test]
fn deep_filters_are_refused_and_long_chains_are_no_circle() {
    let nested = format!("${}", "[?(@".repeat(50));
    assert!(pair(json!({"fieldPath": nested}), json!({}), json!({})).rendered().is_err());
    let gives = |name: &str, takes: &str| {
        json!({"dataOutputs": [{"name": name, "fieldPath": "status.x"}],
               "dataInputs": [{"valueFrom": {"dataOutputName": takes}, "toFieldPaths": ["spec.x"]}]})
    };
    let names: Vec<String> = (0..500).map(|n| format!("c{n}")).collect();
    let chain: Vec<_> = (0..500)
        .map(|n| {
            let mut entry = gives(&names[n], &names[(n + 1) % 500]);
            if n == 499 {
                entry["dataInputs"] = json!([]);
            }
            (names[n].as_str(), json!({}), entry)
        })
        .collect();
    Case::new(&chain).rendered().unwrap();
}

#[test]
fn two_outputs_share_a_store_by_field_in_one_write() {
    let gives = |path: &str, takes: Option<&str>| {
        let mut entry = json!({"dataOutputs": [{"outputStore": store(json!([operation("add", path, "", from("spec.s"))]))}]});
        if let Some(takes) = takes {
            entry["dataInputs"] =
                json!([{"inputStore": store(json!([operation("add", "spec.in", "", from(takes))]))}]);
        }
        entry
    };
    let case = Case::new(&[
        ("a", json!({}), gives("data.a", None)),
        ("b", json!({}), gives("data.b", Some("data.a"))),
        ("c", json!({}), gives("data.c", Some("data.b"))),
    ]);
    let objects: Vec<Json> =
        ["a", "b", "c"].iter().map(|name| foo(name, json!({"spec": {"s": name}}))).collect();
    let live = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "store", "namespace": "ns"},
        "data": {"a": "1", "b": "2"}});
    let mut all = objects.clone();
    all.push(live.clone());
    let (rendered, plans) = case.fill(&all).unwrap();
    assert_eq!(rendered.components()[2].workload.object["spec"], json!({"in": "2"}));
    assert_eq!(plans.len(), 1);
    let applied = observed(&objects);
    let made = plans[0].content(rendered.document(), Some(&live), |key| applied.get(key)).unwrap().unwrap();
    assert_eq!(made["data"], json!({"a": "a", "b": "b", "c": "c"}));
    let none: Objects = Objects::new();
    assert_eq!(plans[0].content(rendered.document(), Some(&live), |key| none.get(key)).unwrap(), None);
}

#[test]
fn filling_again_gives_the_same() {
    // Seeded: values, lists, keys and stores at random; what a reconcile makes of objects that have its result is the same.
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = move |below: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed % below
    };
    for round in 0..300 {
        let mut value = |depth: u64| {
            fn make(next: &mut dyn FnMut(u64) -> u64, depth: u64) -> Json {
                match next(if depth == 0 { 3 } else { 6 }) {
                    0 => json!(next(5).to_string()),
                    1 => json!(next(5)),
                    2 => json!(next(2) == 0),
                    3 => (0..next(4)).map(|_| make(next, depth - 1)).collect(),
                    4 => (0..next(4)).map(|_| json!({"name": next(3).to_string(), "v": next(3)})).collect(),
                    _ => json!({"k": make(next, depth - 1)}),
                }
            }
            make(&mut next, depth)
        };
        let (given, own, kept) = (value(3), value(2), value(2));
        let own_list = if own.is_array() { own } else { json!([own]) };
        let keys = if round % 2 == 0 { json!(["name"]) } else { json!([]) };
        let case = Case::new(&[
            (
                "source",
                json!({}),
                json!({"dataOutputs": [
                {"name": "out", "fieldPath": "status.v"},
                {"outputStore": store(json!([operation("add", "data.k", "l.-", from("status.v")), operation("add", "data.raw", "", from("status.v"))]))}]}),
            ),
            (
                "sink",
                json!({"l": own_list, "free": kept}),
                json!({"dataInputs": [
                {"valueFrom": {"dataOutputName": "out"}, "toFieldPaths": ["spec.l", "spec.new"], "strategyMergeKeys": keys}]}),
            ),
        ]);
        let given = if given.is_array() { given } else { json!([given]) };
        let source = foo("source", json!({"status": {"v": given}}));
        let live = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "store", "namespace": "ns"},
            "data": {"k": "{\"l\":[]}"}});
        let (first, plans) = case.fill(&[source.clone(), live.clone()]).unwrap();
        let made = plans[0].content(first.document(), Some(&live), |_| Some(&source)).unwrap().unwrap();
        let sink = first.components()[1].workload.object.clone();
        let (second, plans) = case.fill(&[source.clone(), made.clone(), sink.clone()]).unwrap();
        assert_eq!(second.components()[1].workload.object, sink, "round {round}");
        assert_eq!(
            plans[0].content(second.document(), Some(&made), |_| Some(&source)).unwrap(),
            None,
            "round {round}"
        );
        // Merging by keys into its own result changes nothing either.
        if round % 2 == 0 && given.as_array().unwrap().iter().all(|one| one["name"].is_string()) {
            let again = Case::new(&[
                ("source", json!({}), json!({"dataOutputs": [{"name": "out", "fieldPath": "status.v"}]})),
                (
                    "sink",
                    json!({"l": sink["spec"]["l"]}),
                    json!({"dataInputs": [
                    {"valueFrom": {"dataOutputName": "out"}, "toFieldPaths": ["spec.l"], "strategyMergeKeys": ["name"]}]}),
                ),
            ]);
            let (third, _) = again.fill(&[source]).unwrap();
            assert_eq!(
                third.components()[1].workload.object["spec"]["l"],
                sink["spec"]["l"],
                "round {round}"
            );
        }
    }
}

#[test]
fn limits_are_told_with_a_place() {
    let big = "x".repeat(data::VALUE_LIMIT + 1);
    let case = pair(json!({"fieldPath": "status.v"}), json!({"toFieldPaths": ["spec.v"]}), json!({}));
    let error = case.error(&[foo("source", json!({"status": {"v": big}}))]);
    assert!(error.contains("the value of output \"out\" is too large"), "{error}");
    let error =
        stored(&[operation("add", "data.k", "", from("spec.v"))], None, json!({"v": big})).unwrap_err();
    assert!(error.contains("larger than 1048576 bytes"), "{error}");
    let conditions = vec![json!({"op": "notEmpty"}); data::LIST_LIMIT + 1];
    let error = pair(json!({"fieldPath": "x", "conditions": conditions}), json!({}), json!({})).error(&[]);
    assert!(
        error.contains("more than 256 entries\n  field: spec.components[0].dataOutputs[0].conditions"),
        "{error}"
    );
    let error = pair(json!({"fieldPath": "x".repeat(data::PATH_LIMIT + 1)}), json!({}), json!({})).error(&[]);
    assert!(error.contains("the path is longer than 1024 bytes"), "{error}");
    let outputs: Vec<Json> =
        (0..=data::FLOW_LIMIT / 2).map(|n| json!({"name": n.to_string(), "fieldPath": "x"})).collect();
    let entry = json!({"dataOutputs": outputs});
    let mut other = entry.clone();
    for (n, output) in other["dataOutputs"].as_array_mut().unwrap().iter_mut().enumerate() {
        output["name"] = json!(format!("o{n}"));
    }
    let error = Case::new(&[("a", json!({}), entry), ("b", json!({}), other)]).error(&[]);
    assert!(error.contains("may have 10000 data inputs and outputs together"), "{error}");
    let many: Vec<Json> = (0..1100).map(|n| json!({"name": n.to_string()})).collect();
    let input = json!({"toFieldPaths": ["spec.v"], "strategyMergeKeys": ["name"]});
    let case = pair(json!({"fieldPath": "status.v"}), input, json!({}));
    let error = case.error(&[foo("source", json!({"status": {"v": many}}))]);
    assert!(error.contains("too long to be merged by keys"), "{error}");
}

#[test]
fn the_recorded_configurations_give_the_real_results() {
    for run in ["dep-conditions", "dep-valuefrom"] {
        let folder = vela_testkit::cases::folder("conformance/runs-v1.0").join(run);
        let input = std::fs::read_to_string(folder.join("step1/input.yaml")).unwrap();
        let mut snapshot = Snapshot::default();
        let mut configuration = Json::Null;
        for document in manifest::read("input.yaml", &input).unwrap() {
            let mut object = document.into_value();
            object["metadata"]["namespace"] = json!(run);
            match object["kind"] == ac::KIND {
                true => configuration = object,
                false => snapshot.insert_object(object),
            }
        }
        let recorded = std::fs::read_to_string(folder.join("step1/objects.yaml")).unwrap();
        let recorded = manifest::read("objects.yaml", &recorded).unwrap();
        let find =
            |kind: &str| recorded.iter().find(|document| document.kind() == kind).unwrap().value().clone();
        let document = Document::from_object(configuration);
        let mut rendered = ac::render(&ac::parse(&document, &snapshot).unwrap(), &snapshot).unwrap();
        let mut source = find("Foo");
        data::fill(&mut rendered, &observed(std::slice::from_ref(&source))).unwrap();
        assert_eq!(
            serde_json::to_value(rendered.unsatisfied()).unwrap(),
            find("ApplicationConfiguration")["status"]["dependency"]["unsatisfied"]
        );
        source["status"]["state"] = json!("running");
        let mut rendered = ac::render(&ac::parse(&document, &snapshot).unwrap(), &snapshot).unwrap();
        data::fill(&mut rendered, &observed(&[source])).unwrap();
        assert_eq!(rendered.components()[1].workload.object["spec"], json!({"key": "test-value"}), "{run}");
    }
}
