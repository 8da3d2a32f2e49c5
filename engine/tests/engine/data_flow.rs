//! Values between workloads and traits: every rule on plain data.

use serde_json::{Value as Json, json};
use vela_engine::application_configuration::data::{self, StorePlan, World};
use vela_engine::application_configuration::{self as ac, Rendered, graph};
use vela_engine::{Diagnostics, Document, ObjectKey, Snapshot, manifest};

const FOO: &str = "example.com/v1";

fn key(api_version: &str, kind: &str, name: &str) -> ObjectKey {
    let [api_version, kind, name] = [api_version, kind, name].map(str::to_owned);
    ObjectKey { api_version, kind, namespace: "ns".to_owned(), name }
}

fn foo(name: &str, rest: Json) -> Json {
    let mut object = json!({"apiVersion": FOO, "kind": "Foo", "metadata": {"name": name, "namespace": "ns"}});
    object.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    object
}

fn world(objects: &[Json]) -> World {
    objects.iter().map(|object| (ObjectKey::of(object), object.clone())).collect()
}

/// A configuration of components whose workloads are Foos of their names, with these specs.
struct Case {
    configuration: Json,
    snapshot: Snapshot,
}

impl Case {
    fn new(components: &[(&str, Json, Json)]) -> Self {
        let mut snapshot = Snapshot::default();
        let mut entries = Vec::new();
        for (name, spec, entry) in components {
            let workload =
                json!({"apiVersion": FOO, "kind": "Foo", "metadata": {"name": name}, "spec": spec});
            snapshot.insert_object(json!({
                "apiVersion": ac::API_VERSION, "kind": "Component",
                "metadata": {"name": name, "namespace": "ns"}, "spec": {"workload": workload},
            }));
            let mut entry = entry.clone();
            entry["componentName"] = json!(name);
            entries.push(entry);
        }
        let configuration = json!({
            "apiVersion": ac::API_VERSION, "kind": ac::KIND,
            "metadata": {"name": "app", "namespace": "ns", "uid": "u", "labels": {"state": "running"},
                         "annotations": {"none": ""}},
            "spec": {"components": entries},
        });
        Self { configuration, snapshot }
    }

    fn rendered(&self) -> Result<Rendered, Diagnostics> {
        let document = Document::from_object(self.configuration.clone());
        ac::render(&ac::parse(&document, &self.snapshot)?, &self.snapshot)
    }

    fn fill(&self, objects: &[Json]) -> Result<(Rendered, Vec<StorePlan>), Diagnostics> {
        let mut rendered = self.rendered()?;
        let plans = data::fill(&mut rendered, &world(objects))?;
        Ok((rendered, plans))
    }

    fn error(&self, objects: &[Json]) -> String {
        self.fill(objects).unwrap_err().to_string()
    }
}

/// `source` gives an output, `sink` takes it as this input, with `spec` in its template.
fn pair(output: Json, input: Json, spec: Json) -> Case {
    let (mut output, mut input) = (output, input);
    output["name"] = json!("out");
    input["valueFrom"] = json!({"dataOutputName": "out"});
    Case::new(&[
        ("source", json!({}), json!({"dataOutputs": [output]})),
        ("sink", spec, json!({"dataInputs": [input]})),
    ])
}

fn sink(case: &Case, objects: &[Json]) -> Result<Json, String> {
    let (rendered, _) = case.fill(objects).unwrap();
    let workload = &rendered.components()[1].workload;
    match rendered.unsatisfied() {
        [] => {
            assert!(!workload.unsatisfied);
            Ok(workload.object["spec"].clone())
        }
        [one] => {
            assert!(workload.unsatisfied);
            Err(one.reason.clone())
        }
        more => Err(format!("{more:?}")),
    }
}

#[test]
fn a_source_is_ready_by_the_rules_of_its_value() {
    let plain = pair(json!({"fieldPath": "status.key"}), json!({"toFieldPaths": ["spec.key"]}), json!({}));
    let at = |status: Json| sink(&plain, &[foo("source", json!({"status": status}))]);
    assert_eq!(sink(&plain, &[]), Err("failed to get object (ns/source)".into()));
    assert_eq!(at(json!({})), Err("status.key not found in object".into()));
    assert_eq!(at(json!({"key": ""})), Err("value should not be empty".into()));
    // Only strings must say something: zero, false, empty lists and null are values.
    for value in [json!("x"), json!(0), json!(false), json!({}), json!(null), json!({"a": [1]})] {
        assert_eq!(at(json!({"key": value})), Ok(json!({"key": value})), "{value}");
    }
    assert_eq!(at(json!({"key": []})), Ok(json!({"key": []})));
    // A scalar on the way does not become an object by waiting.
    let error = plain.error(&[foo("source", json!({"status": "odd"}))]);
    assert!(
        error.contains("status.key of Foo ns/source cannot be read: status: expected an object"),
        "{error}"
    );
    assert!(error.contains("field: spec.components[1].dataInputs[0]"), "{error}");
}

#[test]
fn conditions_give_the_first_reason_in_the_known_words() {
    let cases = [
        (
            json!({"op": "eq", "value": "running", "fieldPath": "status.state"}),
            json!("pending"),
            Some("got(pending) expected to be running"),
        ),
        (json!({"op": "eq", "value": "running", "fieldPath": "status.state"}), json!("running"), None),
        (
            json!({"op": "eq", "valueFrom": {"fieldPath": "metadata.labels[state]"}, "fieldPath": "status.state"}),
            json!("running"),
            None,
        ),
        (
            json!({"op": "eq", "valueFrom": {"fieldPath": "metadata.labels.no"}, "fieldPath": "status.state"}),
            json!("x"),
            Some("get valueFrom.fieldPath fail: metadata.labels.no: no such field"),
        ),
        (
            json!({"op": "eq", "valueFrom": {"fieldPath": "spec.components"}, "fieldPath": "status.state"}),
            json!("x"),
            Some("get valueFrom.fieldPath fail: spec.components: not a string"),
        ),
        // A value that is written wins; absent, {} and empty mean nothing was said.
        (
            json!({"op": "eq", "value": "x", "valueFrom": {"fieldPath": "metadata.labels[state]"}, "fieldPath": "status.state"}),
            json!("x"),
            None,
        ),
        (
            json!({"op": "eq", "value": "", "valueFrom": {"fieldPath": ""}, "fieldPath": "status.state"}),
            json!("x"),
            Some("got(x) expected to be "),
        ),
        (json!({"op": "eq", "valueFrom": {}, "fieldPath": "status.state"}), json!(""), None),
        (
            json!({"op": "notEq", "value": "x", "fieldPath": "status.state"}),
            json!("x"),
            Some("got(x) expected not to be x"),
        ),
        (json!({"op": "notEq", "value": "x", "fieldPath": "status.state"}), json!("y"), None),
        // Not equal is a statement about a value that exists.
        (
            json!({"op": "notEq", "value": "x", "fieldPath": "status.no"}),
            json!("y"),
            Some("can't get value to check status.no: no such field"),
        ),
        (
            json!({"op": "notEmpty", "fieldPath": "status.state"}),
            json!(""),
            Some("value should not be empty"),
        ),
        (json!({"op": "notEmpty", "fieldPath": "status.state"}), json!("x"), None),
        (
            json!({"op": "eq", "value": "1", "fieldPath": "status.state"}),
            json!(1),
            Some("can't get value to check status.state: not a string"),
        ),
        // Without a field the value itself is checked, if it is a string.
        (json!({"op": "eq", "value": "v"}), json!("x"), None),
        (json!({"op": "eq", "value": "w"}), json!("x"), Some("got(v) expected to be w")),
    ];
    for (condition, state, reason) in cases {
        let output = json!({"fieldPath": "status.key", "conditions": [condition]});
        let case = pair(output, json!({"toFieldPaths": ["spec.key"]}), json!({}));
        let found = sink(&case, &[foo("source", json!({"status": {"key": "v", "state": state}}))]);
        match reason {
            Some(reason) => assert_eq!(found, Err(reason.to_owned()), "{condition}"),
            None => assert_eq!(found, Ok(json!({"key": "v"})), "{condition}"),
        }
    }
    let conditions = json!([{"op": "notEmpty"}]);
    let case = pair(json!({"fieldPath": "status.n", "conditions": conditions}), json!({}), json!({}));
    assert_eq!(
        sink(&case, &[foo("source", json!({"status": {"n": 1}}))]),
        Err("can't get value to check FieldPath not specified".into())
    );
    // With conditions, an empty string may be the value they ask for.
    let conditions = json!([{"op": "eq", "value": ""}]);
    let output = json!({"fieldPath": "status.s", "conditions": conditions});
    let case = pair(output, json!({"toFieldPaths": ["spec.key"]}), json!({}));
    assert_eq!(sink(&case, &[foo("source", json!({"status": {"s": ""}}))]), Ok(json!({"key": ""})));
    // An output without a field may be waited for.
    let conditions = json!([{"op": "eq", "fieldPath": "status.s", "value": "up"}]);
    let case = pair(json!({"conditions": conditions}), json!({}), json!({"own": 1}));
    assert_eq!(sink(&case, &[foo("source", json!({"status": {"s": "up"}}))]), Ok(json!({"own": 1})));
    assert!(sink(&case, &[foo("source", json!({"status": {"s": "down"}}))]).is_err());
}

#[test]
fn lists_are_appended_or_merged_by_any_key() {
    let entry = |name: &str, value: &str| json!({"name": name, "value": value});
    let fill = |keys: Json, own: Json, value: Json| {
        let input = json!({"toFieldPaths": ["spec.key"], "strategyMergeKeys": keys});
        let case = pair(json!({"fieldPath": "status.key"}), input, json!({"key": own}));
        sink(&case, &[foo("source", json!({"status": {"key": value}}))]).unwrap()["key"].clone()
    };
    let (a, b) = (entry("a", "1"), entry("b", "2"));
    assert_eq!(fill(json!([]), json!([a]), json!([a, b])), json!([a, a, b]), "without keys all are appended");
    assert_eq!(fill(json!(null), json!(null), json!([a])), json!([a]), "an absent list is empty");
    let new = entry("a", "9");
    assert_eq!(fill(json!(["name"]), json!([a, b]), json!([new])), json!([new, b]));
    // The whole element is replaced, not merged.
    let short = json!({"name": "a"});
    assert_eq!(fill(json!(["name"]), json!([a, b]), json!([short])), json!([short, b]));
    // Any key is enough, and the first element that agrees is taken.
    let either = json!({"name": "b", "value": "1"});
    assert_eq!(fill(json!(["name", "value"]), json!([a, b]), json!([either])), json!([either, b]));
    // Without a pair of strings there is nothing to agree in.
    let odd = json!({"name": 1});
    assert_eq!(fill(json!(["name"]), json!([odd]), json!([odd, json!("x")])), json!([odd, odd, "x"]));

    let input = json!({"toFieldPaths": ["spec.key"]});
    let case = pair(json!({"fieldPath": "status.key"}), input, json!({"key": "text"}));
    let error = case.error(&[foo("source", json!({"status": {"key": [1]}}))]);
    assert!(error.contains("spec.key cannot be written: expected an array, found a string"), "{error}");
}

#[test]
fn a_value_goes_to_every_path_and_the_way_is_made() {
    let input = json!({"toFieldPaths": ["spec.a.b[1].c", "metadata.annotations[x.y/z]"]});
    let case = pair(json!({"fieldPath": "status.key"}), input, json!({}));
    let (rendered, _) = case.fill(&[foo("source", json!({"status": {"key": "v"}}))]).unwrap();
    let object = &rendered.components()[1].workload.object;
    assert_eq!(object["spec"], json!({"a": {"b": [null, {"c": "v"}]}}));
    assert_eq!(object["metadata"]["annotations"]["x.y/z"], "v");

    for path in ["metadata.name", "kind", "metadata.namespace", "metadata.ownerReferences"] {
        let case = pair(json!({"fieldPath": "status.key"}), json!({"toFieldPaths": [path]}), json!({}));
        let error = case.error(&[foo("source", json!({"status": {"key": "v"}}))]);
        assert!(error.contains("cannot be changed by data flow"), "{path}: {error}");
    }
}

#[test]
fn json_paths_read_one_place_or_a_list_and_write_to_every_match() {
    let read = |path: &str, status: Json| {
        let case = pair(json!({"fieldPath": path}), json!({"toFieldPaths": ["spec.key"]}), json!({}));
        sink(&case, &[foo("source", json!({"status": status}))])
    };
    let status = json!({"list": [{"n": "a", "v": 1}, {"n": "b", "v": 2}]});
    assert_eq!(read("$.status.list[1].n", status.clone()), Ok(json!({"key": "b"})));
    assert_eq!(read("$['status']['list'][0].v", status.clone()), Ok(json!({"key": 1})));
    assert_eq!(read("$.status.list[*].n", status.clone()), Ok(json!({"key": ["a", "b"]})));
    assert_eq!(read("$.status.list[?(@.n=='b')].v", status.clone()), Ok(json!({"key": [2]})));
    assert_eq!(
        read("$.status.list[?(@.n=='c')].v", status),
        Err("$.status.list[?(@.n=='c')].v not found in object".into())
    );

    let own = json!({"list": [{"n": "a"}, {"n": "b"}]});
    let fill = |path: &str| {
        let case = pair(json!({"fieldPath": "status.v"}), json!({"toFieldPaths": [path]}), own.clone());
        case.fill(&[foo("source", json!({"status": {"v": 7}}))])
            .map(|(rendered, _)| rendered.components()[1].workload.object["spec"].clone())
    };
    assert_eq!(fill("$.spec.list[*].v").unwrap_err().to_string().matches("matches nothing").count(), 1);
    assert_eq!(fill("$.spec.list[?(@.n=='b')]").unwrap(), json!({"list": [{"n": "a"}, 7]}));
    assert_eq!(fill("$.spec.list[*].n").unwrap(), json!({"list": [{"n": 7}, {"n": 7}]}));
    assert_eq!(fill("$.spec.new.deep").unwrap()["new"], json!({"deep": 7}), "a definite path is made");

    for path in ["$..a..b", "$[?(@.a==$.b)]", "$[0,0,0,0,0,0]", "$[", "$.a[", "$.spec[?(]"] {
        let case = pair(json!({"fieldPath": path}), json!({}), json!({}));
        assert!(case.error(&[]).contains("spec.components[0].dataOutputs[0].fieldPath"), "{path}");
    }
    let nested = format!("${}", "[?(@".repeat(50));
    assert!(pair(json!({"fieldPath": nested}), json!({}), json!({})).rendered().is_err());
}

#[test]
fn conditions_of_an_input_are_held_against_the_target_as_it_is() {
    let input = json!({"toFieldPaths": ["spec.key"],
        "conditions": [{"op": "eq", "value": "", "fieldPath": "spec.key"}]});
    let case = pair(json!({"fieldPath": "status.key"}), input, json!({"key": ""}));
    let source = foo("source", json!({"status": {"key": "v"}}));
    assert_eq!(
        sink(&case, std::slice::from_ref(&source)),
        Ok(json!({"key": "v"})),
        "what does not exist may be made"
    );
    let live = |value: &str| foo("sink", json!({"spec": {"key": value}}));
    assert_eq!(sink(&case, &[source.clone(), live("")]), Ok(json!({"key": "v"})));
    assert_eq!(
        sink(&case, &[source.clone(), live("test")]),
        Err("DataInputs Conditions: got(test) expected to be ".into())
    );
    let input = json!({"toFieldPaths": ["spec.key"], "conditions": [{"op": "notEmpty"}]});
    let case = pair(json!({"fieldPath": "status.key"}), input, json!({}));
    assert_eq!(
        sink(&case, &[source, live("x")]),
        Err("DataInputs Conditions: can't get value to check FieldPath not specified".into())
    );
    assert_eq!(
        data::wanted(&case.rendered().unwrap()),
        [key(FOO, "Foo", "sink"), key(FOO, "Foo", "source")].into()
    );
}

#[test]
fn the_first_input_that_waits_stops_its_object_and_no_other() {
    let case = Case::new(&[
        (
            "a",
            json!({}),
            json!({"dataOutputs": [{"name": "x", "fieldPath": "status.x"}, {"name": "y", "fieldPath": "status.y"}],
            "traits": [{"trait": {"apiVersion": FOO, "kind": "Bar", "metadata": {"name": "t"}},
                        "dataInputs": [{"valueFrom": {"dataOutputName": "y"}, "toFieldPaths": ["spec.y"]}]}]}),
        ),
        (
            "b",
            json!({"own": 1}),
            json!({"dataInputs": [
            {"valueFrom": {"dataOutputName": "y"}, "toFieldPaths": ["spec.y"]},
            {"valueFrom": {"dataOutputName": "x"}, "toFieldPaths": ["spec.x", "spec.z"]},
            {"valueFrom": {"dataOutputName": "x"}}]}),
        ),
        ("c", json!({}), json!({})),
    ]);
    let (rendered, _) = case.fill(&[foo("a", json!({"status": {"y": "why"}}))]).unwrap();
    let entries = serde_json::to_value(rendered.unsatisfied()).unwrap();
    assert_eq!(
        entries,
        json!([{"reason": "status.x not found in object",
            "from": {"apiVersion": FOO, "kind": "Foo", "name": "a", "fieldPath": "status.x"},
            "to": {"apiVersion": FOO, "kind": "Foo", "name": "b", "fieldPaths": ["spec.x", "spec.z"]}}])
    );
    let [a, b, c] = rendered.components() else { unreachable!() };
    assert!(!a.workload.unsatisfied && !a.traits[0].unsatisfied && !c.workload.unsatisfied);
    assert!(b.workload.unsatisfied);
    assert_eq!(a.traits[0].object["spec"], json!({"y": "why"}));
    assert_eq!(b.workload.object["spec"], json!({"own": 1}), "what waits is not half filled");
    // What waits is wanted all the same: it is never garbage.
    let graph = graph(rendered).unwrap();
    assert_eq!(graph.objects().count(), 4);
}

#[test]
fn mistakes_are_told_with_their_place_and_the_nearest_name() {
    let case = Case::new(&[
        (
            "a",
            json!({}),
            json!({"dataOutputs": [
            {"name": "key", "fieldPath": "status.key", "conditions": [{"op": "equals", "fieldPath": "x"}, {"operator": "eq"}, {"op": "eq", "value": 5}]},
            {"name": "key", "fieldPath": "status.other"},
            {"name": "bare"},
            {"fieldPath": "x"},
            {"OutputStore": {}},
            {},
            {"outputStore": {"kind": "ConfigMap", "operations": [{"type": "jsonPath", "op": "ad", "toFieldPath": "data..x"}, {"op": "remove"}]}},
            {"name": "", "outputStore": {"apiVersion": "", "kind": "", "name": "", "operations": []}}]}),
        ),
        (
            "b",
            json!({}),
            json!({"dataInputs": [
            {"valueFrom": {"dataOutputName": "kez"}, "toFieldPaths": ["spec..key"]},
            {"valueFrom": {"dataOutputName": "bare"}, "toFieldPaths": ["spec.key", ""]},
            {"toFieldPaths": ["spec.key"]}, {"valueFrom": {}, "inputStore": {}, "conditions": []},
            {"inputStore": {"apiVersion": "v1", "kind": "ConfigMap", "name": "s", "operations": [{"type": "jsonPatch", "op": "add", "toFieldPath": "spec.x"}]}},
            {"conditions": "x"}]}),
        ),
    ]);
    let errors = case.error(&[]);
    for part in [
        "unknown operator \"equals\" of the condition\n  field: spec.components[0].dataOutputs[0].conditions[0].op\n  help: known operators: eq, notEq, notEmpty",
        "unknown field \"operator\"",
        "the condition needs op: one of eq, notEq, notEmpty\n  field: spec.components[0].dataOutputs[0].conditions[1]",
        "expected a string, found a number\n  field: spec.components[0].dataOutputs[0].conditions[2].value",
        "two outputs are called \"key\"; the first is spec.components[0].dataOutputs[0]\n  field: spec.components[0].dataOutputs[1].name",
        "needs a name: nobody can ask for it\n  field: spec.components[0].dataOutputs[3]",
        "unknown field \"OutputStore\"\n  field: spec.components[0].dataOutputs[4].OutputStore\n  help: did you mean \"outputStore\"?",
        "a store needs apiVersion\n  field: spec.components[0].dataOutputs[6].outputStore",
        "a store needs name",
        "unknown type of operation \"jsonPath\"",
        "unknown operator \"ad\" of the operation",
        "did you mean \"add\"?",
        "\"data..x\" has an empty name: a dot too many?",
        "an operation needs type: jsonPatch\n  field: spec.components[0].dataOutputs[6].outputStore.operations[1]",
        "DataOutput does not exist: \"kez\"\n  field: spec.components[1].dataInputs[0].valueFrom.dataOutputName\n  help: did you mean \"key\"?",
        "field: spec.components[1].dataInputs[0].toFieldPaths[0]",
        "output \"bare\" has no fieldPath, so there is no value to write",
        "an empty string says nothing here\n  field: spec.components[1].dataInputs[1].toFieldPaths[1]",
        "the input does not say where its value comes from\n  field: spec.components[1].dataInputs[2]",
        "an operation needs value or valueFrom\n  field: spec.components[1].dataInputs[4].inputStore.operations[0]",
        "expected a list, found a string\n  field: spec.components[1].dataInputs[5].conditions",
    ] {
        assert!(errors.contains(part), "{part}\n---- is not in:\n{errors}");
    }
    assert!(
        !errors.contains("dataOutputs[7]") && !errors.contains("dataInputs[3]"),
        "empty means absent: {errors}"
    );
}

#[test]
fn a_circle_is_refused_with_its_members_named() {
    let gives = |name: &str, takes: &str| {
        json!({"dataOutputs": [{"name": name, "fieldPath": "status.x"}],
               "dataInputs": [{"valueFrom": {"dataOutputName": takes}, "toFieldPaths": ["spec.x"]}]})
    };
    let error = Case::new(&[("a", json!({}), gives("x", "y")), ("b", json!({}), gives("y", "x"))]).error(&[]);
    assert!(error.contains("data flows in a circle: a → b → a"), "{error}");
    assert!(error.contains("field: spec.components[0].dataInputs[0]"), "{error}");
    let error = Case::new(&[("a", json!({}), gives("x", "x"))]).error(&[]);
    assert!(error.contains("data flows in a circle: a → a"), "{error}");
    // The direction is that of the values, and who only depends on the circle is not part of it.
    let error = Case::new(&[
        ("z", json!({}), gives("z", "c")),
        ("a", json!({}), gives("a", "c")),
        ("b", json!({}), gives("b", "a")),
        ("c", json!({}), gives("c", "b")),
    ])
    .error(&[]);
    assert!(error.contains("circle: a → b → c → a"), "{error}");
    assert_eq!(error.matches("circle").count(), 1);

    // A trait and its workload are two objects; a chain of many is no circle.
    let trait_ = |takes: &str| {
        json!({"trait": {"apiVersion": FOO, "kind": "Bar"}, "dataOutputs": [{"name": "t", "fieldPath": "x"}],
        "dataInputs": [{"valueFrom": {"dataOutputName": takes}, "toFieldPaths": ["spec.x"]}]})
    };
    let mut entry = gives("w", "t");
    entry["traits"] = json!([trait_("w")]);
    let error = Case::new(&[("web", json!({}), entry)]).error(&[]);
    assert!(error.contains("circle: web → web/Bar → web"), "{error}");
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

fn store(operations: Json) -> Json {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "store", "operations": operations})
}

fn operation(op: &str, to: &str, data: &str, value: Json) -> Json {
    let mut operation = json!({"type": "jsonPatch", "op": op, "toFieldPath": to, "toDataPath": data});
    match value {
        Json::String(value) => operation["value"] = json!(value),
        Json::Object(_) => operation["valueFrom"] = value,
        _ => {}
    }
    operation
}

fn from(path: &str) -> Json {
    json!({"fieldPath": path})
}

/// What the operations make of a store, given the source's spec.
fn stored(operations: &[Json], live: Option<Json>, spec: Json) -> Result<Option<Json>, String> {
    let output = json!({"dataOutputs": [{"outputStore": store(json!(operations))}]});
    let case = Case::new(&[("source", json!({}), output)]);
    let mut source = foo("source", json!({"spec": spec}));
    source["metadata"]["ownerReferences"] = json!([{"uid": "u"}]);
    let (rendered, plans) = case.fill(std::slice::from_ref(&source)).map_err(|error| error.to_string())?;
    assert_eq!(rendered.unsatisfied(), []);
    let applied = |asked: &ObjectKey| (*asked == ObjectKey::of(&source)).then_some(&source);
    let made =
        plans[0].content(rendered.document(), live.as_ref(), applied).map_err(|error| error.to_string())?;
    if let Some(made) = &made {
        let again = plans[0].content(rendered.document(), Some(made), applied).unwrap();
        assert_eq!(again, None, "a second lap writes nothing");
    }
    Ok(made)
}

#[test]
fn values_are_encoded_as_the_patch_texts_of_the_era() {
    let one = |value: Json, data: &str, spec: Json| {
        stored(
            &[operation("add", "data", "", json!("{}")), operation("add", "data.k", data, value)],
            None,
            spec,
        )
        .map(|made| made.unwrap()["data"]["k"].clone())
    };
    let written = |value: &str, data: &str| one(json!(value), data, json!({})).unwrap();
    assert_eq!(written("{}", ""), json!({}), "bare text is JSON");
    assert_eq!(written("5", ""), json!(5));
    assert_eq!(written("\"{}\"", ""), json!("{}"), "between quotes it is a string");
    assert_eq!(written("\"5\"", ""), json!("5"));
    assert_eq!(written(r#""say \"hi\" \\ there""#, ""), json!(r#"say "hi" \ there"#));
    assert_eq!(written(r#"{\"a\": 1}"#, ""), json!({"a": 1}), "escaped quotes are quotes");
    assert_eq!(
        written(r#"{"a": "x\"y"}"#, ""),
        json!({"a": "x\"y"}),
        "what is JSON only as written stays so"
    );
    assert!(one(json!("text"), "", json!({})).unwrap_err().contains("the value \"text\" is not JSON"));
    // A toDataPath without a text to change: the value is the text, and stays a string.
    assert_eq!(written("5", "x"), json!("5"));
    assert_eq!(written("text", "x"), json!("text"));
    assert_eq!(written("{\"a\":1}", "x"), json!("{\"a\":1}"));
    let read = |data: &str, value: Json| one(from("spec.v"), data, json!({"v": value})).unwrap();
    assert_eq!(read("", json!("a\"b\\c\nd")), json!("a\"b\\c\nd"), "a string arrives as it is");
    assert_eq!(read("", json!(5)), json!(5));
    assert_eq!(read("", json!({"a": [1]})), json!({"a": [1]}));
    assert_eq!(read("x", json!(5)), json!("5"));
    assert_eq!(read("x", json!({"a": 1})), json!("{\"a\":1}"));
}

#[test]
fn documents_in_a_field_are_patched_and_stay_text() {
    let base = |text: &str| {
        operation("add", "data", "", json!(json!({"k": text}).to_string().replace('\\', "\\\\")))
    };
    let patched = |text: &str, operations: &[Json]| {
        let all: Vec<Json> = std::iter::once(base(text)).chain(operations.iter().cloned()).collect();
        stored(&all, None, json!({"n": 5, "s": "x"})).map(|made| made.unwrap()["data"]["k"].clone())
    };
    let k = |op: &str, data: &str, value: Json| operation(op, "data.k", data, value);
    assert_eq!(patched("{}", &[k("add", "a", from("spec.s"))]).unwrap(), r#"{"a":"x"}"#);
    assert_eq!(
        patched("{}", &[k("add", "a", from("spec.n"))]).unwrap(),
        r#"{"a":"5"}"#,
        "numbers become strings"
    );
    assert_eq!(patched("{}", &[k("add", "a.b", json!("\"q\""))]).unwrap(), r#"{"a":{"b":"q"}}"#);
    assert_eq!(patched("{}", &[k("add", "a\\.b", json!("q"))]).unwrap(), r#"{"a.b":"q"}"#);
    assert_eq!(patched("{}", &[k("add", "/a~1b/c", json!("q"))]).unwrap(), r#"{"a/b":{"c":"q"}}"#);
    assert_eq!(patched(r#"{"a":1}"#, &[k("replace", "a", json!("q"))]).unwrap(), r#"{"a":"q"}"#);
    assert_eq!(patched(r#"{"a":[1]}"#, &[k("add", "a.-", json!("q"))]).unwrap(), r#"{"a":[1,"q"]}"#);
    assert_eq!(patched(r#"{"a":[1,2]}"#, &[k("replace", "a.0", json!("q"))]).unwrap(), r#"{"a":["q",2]}"#);
    for op in ["remove", "delete"] {
        assert_eq!(patched(r#"{"a":1,"b":2}"#, &[k(op, "a", Json::Null)]).unwrap(), r#"{"b":2}"#);
        assert_eq!(patched(r#"{"b":2}"#, &[k(op, "no.way", Json::Null)]).unwrap(), r#"{"b":2}"#);
    }
    assert_eq!(patched("{}", &[k("remove", "", Json::Null)]).unwrap(), Json::Null, "the whole field");
    let list = r#"{"l":[{"n":"a"},{"n":"b"}]}"#;
    assert_eq!(
        patched(list, &[k("remove", "$.l[?(@.n=='a')]", Json::Null)]).unwrap(),
        r#"{"l":[{"n":"b"}]}"#
    );
    assert_eq!(
        patched(list, &[k("replace", "$.l[*].n", json!("z"))]).unwrap(),
        r#"{"l":[{"n":"z"},{"n":"z"}]}"#
    );
    assert!(
        patched("no json", &[k("add", "a", json!("q"))])
            .unwrap_err()
            .contains("the text at toFieldPath is not JSON")
    );
    assert!(patched(r#"{"a":[1]}"#, &[k("replace", "a.7", json!("q"))]).is_err());
    assert!(
        patched(r#"{"a":1}"#, &[k("add", "a.b", json!("q"))])
            .unwrap_err()
            .contains("expected an object or a list, found a number")
    );
    // A document that is no text is taken as it is, and becomes one.
    let spec = [operation("add", "data", "k", from("spec.s"))];
    let live = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "store", "namespace": "ns"}, "data": {"a": "b"}});
    assert_eq!(
        stored(&spec, Some(live), json!({"s": "x"})).unwrap().unwrap()["data"],
        r#"{"a":"b","k":"x"}"#
    );
}

#[test]
fn a_store_is_made_with_the_owners_of_its_source_and_written_only_when_it_differs() {
    let operations = [
        operation("add", "data", "", json!("{}")),
        operation("add", "data.a\\.b", "", from("spec.s")),
        operation("add", "metadata.annotations[c.d/e]", "", from("spec.s")),
    ];
    let made = stored(&operations, None, json!({"s": "x"})).unwrap().unwrap();
    assert_eq!(
        made,
        json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a.b": "x"},
            "metadata": {"name": "store", "namespace": "ns", "ownerReferences": [{"uid": "u"}],
                         "annotations": {"c.d/e": "x"}}})
    );
    assert_eq!(stored(&operations, Some(made.clone()), json!({"s": "x"})), Ok(None));
    assert!(stored(&operations, Some(made), json!({"s": "y"})).unwrap().is_some());
    let thief = [operation("add", "metadata.name", "", from("spec.s"))];
    assert!(stored(&thief, None, json!({"s": "y"})).unwrap_err().contains("cannot be changed by data flow"));
}

#[test]
fn a_store_does_not_grow_with_the_laps() {
    let live = |text: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "store", "namespace": "ns"}, "data": {"k": text}});
    let append = [operation("add", "data.k", "-", from("spec.s"))];
    let made = stored(&append, Some(live("[\"a\"]")), json!({"s": "x"})).unwrap().unwrap();
    assert_eq!(made["data"]["k"], r#"["a","x"]"#);
    // Taking the first element away would take another one each time.
    let shrink = [operation("remove", "data.k", "0", Json::Null)];
    let error = stored(&shrink, Some(live("[1,2,3]")), json!({})).unwrap_err();
    assert!(error.contains("change ConfigMap ns/store again each time they run"), "{error}");
    let anew = [operation("add", "data.k", "", json!("\"[1,2,3]\"")), shrink[0].clone()];
    assert_eq!(stored(&anew, Some(live("[1,2,3]")), json!({})).unwrap().unwrap()["data"]["k"], "[2,3]");
}

#[test]
fn two_outputs_into_one_store_are_one_write_and_may_share_it_by_field() {
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
    let applied = world(&objects);
    let made = plans[0].content(rendered.document(), Some(&live), |key| applied.get(key)).unwrap().unwrap();
    assert_eq!(made["data"], json!({"a": "a", "b": "b", "c": "c"}));
    let none: World = World::new();
    assert_eq!(plans[0].content(rendered.document(), Some(&live), |key| none.get(key)).unwrap(), None);

    // What one writes and reads back itself goes round.
    let error = Case::new(&[("a", json!({}), gives("data.a", Some("data.a")))]).error(&[]);
    assert!(error.contains("data flows in a circle: a → ConfigMap store → a"), "{error}");
    let error = Case::new(&[
        ("a", json!({}), gives("data.a", Some("data.b"))),
        ("b", json!({}), gives("data", Some("data.a"))),
    ])
    .error(&[]);
    assert!(error.contains("circle"), "{error}");
}

#[test]
fn stores_that_wait_say_which_operation_waits() {
    let conditional = |mut operation: Json| {
        operation["conditions"] = json!([{"op": "eq", "value": "up", "fieldPath": "status.state"}]);
        operation
    };
    let case = Case::new(&[
        (
            "source",
            json!({}),
            json!({"dataOutputs": [{"outputStore": store(json!([conditional(operation("add", "data.k", "p", from("spec.s")))]))}]}),
        ),
        (
            "sink",
            json!({}),
            json!({"dataInputs": [{"inputStore": store(json!([operation("add", "spec.in", "", json!("{}")), operation("add", "spec.in", "x", from("data.k"))]))}]}),
        ),
    ]);
    let reasons = |objects: &[Json]| {
        let (rendered, plans) = case.fill(objects).unwrap();
        (
            serde_json::to_value(rendered.unsatisfied()).unwrap(),
            plans.len(),
            rendered.components()[1].workload.unsatisfied,
        )
    };
    let source = |state: &str| foo("source", json!({"spec": {"s": "v"}, "status": {"state": state}}));
    let output_waits = |reason: &str| {
        json!({"reason": reason, "from": {"apiVersion": FOO, "kind": "Foo", "name": "source", "fieldPath": "spec.s"},
            "to": {"apiVersion": "v1", "kind": "ConfigMap", "name": "store", "fieldPaths": ["data.k(p)"]}})
    };
    let input_waits = json!({"reason": "failed to get object (ns/store)",
        "from": {"apiVersion": "v1", "kind": "ConfigMap", "name": "store", "fieldPath": "data.k"},
        "to": {"apiVersion": FOO, "kind": "Foo", "name": "sink", "fieldPaths": ["spec.in(x)"]}});
    assert_eq!(
        reasons(&[]),
        (json!([output_waits("failed to get object (ns/source)"), input_waits]), 0, true)
    );
    assert_eq!(
        reasons(&[source("down")]),
        (json!([output_waits("got(down) expected to be up"), input_waits]), 0, true)
    );
    assert_eq!(reasons(&[source("up")]), (json!([input_waits]), 1, true));

    // A store that nothing is read from must be there all the same.
    let case = Case::new(&[(
        "sink",
        json!({}),
        json!({"dataInputs": [{"inputStore": store(json!([operation("add", "spec.in", "", json!("1"))]))}]}),
    )]);
    assert!(case.error(&[]).contains("the input store ConfigMap ns/store does not exist"));
}

#[test]
fn filling_again_gives_the_same() {
    // Seeded: values, lists, keys and stores at random; what a lap makes from a world that has its result is the same.
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
fn the_recorded_configurations_give_what_the_real_controller_said() {
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
        data::fill(&mut rendered, &world(std::slice::from_ref(&source))).unwrap();
        assert_eq!(
            serde_json::to_value(rendered.unsatisfied()).unwrap(),
            find("ApplicationConfiguration")["status"]["dependency"]["unsatisfied"]
        );
        source["status"]["state"] = json!("running");
        let mut rendered = ac::render(&ac::parse(&document, &snapshot).unwrap(), &snapshot).unwrap();
        data::fill(&mut rendered, &world(&[source])).unwrap();
        assert_eq!(rendered.components()[1].workload.object["spec"], json!({"key": "test-value"}), "{run}");
    }
}
