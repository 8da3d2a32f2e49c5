//! Values between workloads and traits: the cases of `tests/data/data_flow`, and what must come of each.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};
use vela_engine::application_configuration::data::{self, Objects, StorePlan};
use vela_engine::application_configuration::{self as ac, Rendered, graph};
use vela_engine::{Diagnostics, Document, ObjectKey, Snapshot};

pub(crate) const FOO: &str = "example.com/v1";

/// Components with what flows between them, and what becomes of it with each state of the objects.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Flow {
    name: String,
    /// Of a component `source`, for the `input` of a component `sink` whose template has `spec`.
    output: Option<Json>,
    input: Option<Json>,
    #[serde(default)]
    spec: Json,
    /// Entries of the configuration, with the `name` of the component and the `spec` of its template.
    #[serde(default)]
    components: Vec<Json>,
    tries: Vec<Try>,
}

/// What is live, and what must come out; what is not said is not compared.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Try {
    live: Vec<Json>,
    /// The spec of the sink's workload, for which nothing waits.
    sink: Option<Json>,
    annotations: BTreeMap<String, Json>,
    /// Why the sink's workload waits, and nothing else.
    waits: Option<String>,
    unsatisfied: Option<Json>,
    /// All workloads and traits that wait.
    waiting: Option<Vec<String>>,
    specs: BTreeMap<String, Json>,
    stores: Option<usize>,
    objects: Option<usize>,
    /// Parts of the diagnostics: those that are there, there once, and not there.
    error: Vec<String>,
    once: Vec<String>,
    absent: Vec<String>,
}

/// A source with one condition, and its state.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Condition {
    condition: Json,
    state: Json,
    waits: Option<String>,
}

/// Operations on a store, and what they make of it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Operations {
    /// What stands in `data.k` before.
    text: Option<String>,
    operations: Vec<Vec<Json>>,
    #[serde(default)]
    source: Json,
    live: Option<Json>,
    store: Option<Json>,
    data: Option<Json>,
    #[serde(default)]
    unchanged: bool,
    #[serde(default)]
    error: Vec<String>,
}

fn cases<T: DeserializeOwned>(file: &str) -> Vec<T> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/data_flow").join(file);
    serde_saphyr::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn or_empty(value: &Json) -> Json {
    if value.is_null() { json!({}) } else { value.clone() }
}

fn key(api_version: &str, kind: &str, name: &str) -> ObjectKey {
    ObjectKey::local(api_version, kind, "ns", name)
}

pub(crate) fn foo(name: &str, rest: Json) -> Json {
    let mut object = json!({"apiVersion": FOO, "kind": "Foo", "metadata": {"name": name, "namespace": "ns"}});
    object.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    object
}

pub(crate) fn observed(objects: &[Json]) -> Objects {
    objects.iter().map(|object| (ObjectKey::of(object), object.clone())).collect()
}

/// A configuration of components whose workloads are Foos of their names, with these specs.
pub(crate) struct Case {
    configuration: Json,
    snapshot: Snapshot,
}

impl Case {
    pub(crate) fn new(components: &[(&str, Json, Json)]) -> Self {
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

    pub(crate) fn rendered(&self) -> Result<Rendered, Diagnostics> {
        let document = Document::from_object(self.configuration.clone());
        ac::render(&ac::parse(&document, &self.snapshot)?, &self.snapshot)
    }

    pub(crate) fn fill(&self, objects: &[Json]) -> Result<(Rendered, Vec<StorePlan>), Diagnostics> {
        let mut rendered = self.rendered()?;
        let plans = data::fill(&mut rendered, &observed(objects))?;
        Ok((rendered, plans))
    }

    pub(crate) fn error(&self, objects: &[Json]) -> String {
        self.fill(objects).unwrap_err().to_string()
    }
}

/// `source` gives an output, `sink` takes it as this input, with `spec` in its template.
pub(crate) fn pair(output: Json, input: Json, spec: Json) -> Case {
    let (mut output, mut input) = (output, input);
    output["name"] = json!("out");
    input["valueFrom"] = json!({"dataOutputName": "out"});
    Case::new(&[
        ("source", json!({}), json!({"dataOutputs": [output]})),
        ("sink", spec, json!({"dataInputs": [input]})),
    ])
}

/// An object as a case writes it: a Foo unless it says otherwise.
fn live(written: &Json) -> Json {
    let mut object = written.clone();
    let fields = object.as_object_mut().unwrap();
    if let Some(name) = fields.remove("name") {
        fields.insert("metadata".to_owned(), json!({"name": name, "namespace": "ns"}));
    }
    fields.entry("apiVersion").or_insert_with(|| json!(FOO));
    fields.entry("kind").or_insert_with(|| json!("Foo"));
    object
}

impl Flow {
    fn case(&self) -> Case {
        if let (Some(output), Some(input)) = (&self.output, &self.input) {
            return pair(output.clone(), input.clone(), or_empty(&self.spec));
        }
        let components: Vec<(String, Json, Json)> = self.components.iter().map(component).collect();
        let components: Vec<_> = components
            .iter()
            .map(|(name, spec, entry)| (name.as_str(), spec.clone(), entry.clone()))
            .collect();
        Case::new(&components)
    }
}

fn component(written: &Json) -> (String, Json, Json) {
    let mut entry = written.clone();
    let fields = entry.as_object_mut().unwrap();
    let name = fields.remove("name").unwrap().as_str().unwrap().to_owned();
    let spec = fields.remove("spec").unwrap_or_else(|| json!({}));
    (name, spec, entry)
}

impl Try {
    fn judge(&self, case: &Case, what: &str) {
        let objects: Vec<Json> = self.live.iter().map(live).collect();
        if !(self.error.is_empty() && self.once.is_empty() && self.absent.is_empty()) {
            return self.judge_error(&case.error(&objects), what);
        }
        let (rendered, plans) = case.fill(&objects).map_err(|error| format!("{what}: {error}")).unwrap();
        let unsatisfied = rendered.unsatisfied();
        let parts = parts(&rendered);
        if let Some(spec) = &self.sink {
            assert_eq!(unsatisfied, [], "{what}");
            assert_eq!(&parts["sink"].0["spec"], spec, "{what}");
        }
        for (name, value) in &self.annotations {
            assert_eq!(&parts["sink"].0["metadata"]["annotations"][name], value, "{what}");
        }
        if let Some(reason) = &self.waits {
            let reasons: Vec<&String> = unsatisfied.iter().map(|one| &one.reason).collect();
            assert_eq!(reasons, [reason], "{what}");
        }
        if self.sink.is_some() || self.waits.is_some() {
            assert_eq!(parts["sink"].1, self.waits.is_some(), "{what}");
        }
        if let Some(all) = &self.unsatisfied {
            assert_eq!(&serde_json::to_value(unsatisfied).unwrap(), all, "{what}");
        }
        if let Some(names) = &self.waiting {
            let waiting: Vec<&String> =
                parts.iter().filter(|(_, part)| part.1).map(|(name, _)| name).collect();
            assert_eq!(waiting, names.iter().collect::<Vec<_>>(), "{what}");
        }
        for (name, spec) in &self.specs {
            assert_eq!(&parts[name].0["spec"], spec, "{what}: {name}");
        }
        if let Some(count) = self.stores {
            assert_eq!(plans.len(), count, "{what}");
        }
        if let Some(count) = self.objects {
            assert_eq!(graph(rendered).unwrap().objects().count(), count, "{what}");
        }
    }

    fn judge_error(&self, error: &str, what: &str) {
        for part in &self.error {
            assert!(error.contains(part), "{what}: {part}\n---- is not in:\n{error}");
        }
        for part in &self.once {
            assert_eq!(error.matches(part.as_str()).count(), 1, "{what}: {part} in\n{error}");
        }
        for part in &self.absent {
            assert!(!error.contains(part), "{what}: {part}\n---- is in:\n{error}");
        }
    }
}

/// Workloads by the names of their components and traits by component and kind, and whether they wait.
fn parts(rendered: &Rendered) -> BTreeMap<String, (Json, bool)> {
    let mut parts = BTreeMap::new();
    for component in rendered.components() {
        let name = component.workload.object["metadata"]["name"].as_str().unwrap().to_owned();
        for trait_ in &component.traits {
            let kind = trait_.object["kind"].as_str().unwrap();
            parts.insert(format!("{name}/{kind}"), (trait_.object.clone(), trait_.unsatisfied));
        }
        parts.insert(name, (component.workload.object.clone(), component.workload.unsatisfied));
    }
    parts
}

#[test]
fn values_flow_as_the_cases_say() {
    let flows: Vec<Flow> = cases("flows.yaml");
    for flow in &flows {
        let case = flow.case();
        for (number, one) in flow.tries.iter().enumerate() {
            one.judge(&case, &format!("{}, try {}", flow.name, number + 1));
        }
    }
}

#[test]
fn conditions_give_the_first_reason_in_the_known_words() {
    for Condition { condition, state, waits } in cases::<Condition>("conditions.yaml") {
        let output = json!({"fieldPath": "status.key", "conditions": [condition]});
        let case = pair(output, json!({"toFieldPaths": ["spec.key"]}), json!({}));
        let source = json!({"name": "source", "status": {"key": "v", "state": state}});
        let sink = waits.is_none().then(|| json!({"key": "v"}));
        Try { live: vec![source], sink, waits, ..Try::default() }.judge(&case, &condition.to_string());
    }
}

#[test]
fn operations_make_stores_as_the_cases_say() {
    for case in cases::<Operations>("stores.yaml") {
        let what = format!("{:?} {:?}", case.text, case.operations);
        let text = case.text.iter().map(|text| {
            operation("add", "data", "", json!(json!({"k": text}).to_string().replace('\\', "\\\\")))
        });
        let written = case.operations.iter().map(|parts| {
            let part = |number: usize| parts.get(number).and_then(Json::as_str).unwrap_or_default();
            operation(part(0), part(1), part(2), parts.get(3).cloned().unwrap_or_default())
        });
        let operations: Vec<Json> = text.chain(written).collect();
        let live = case.live.map(|mut live| {
            let fields = live.as_object_mut().unwrap();
            fields.insert("apiVersion".to_owned(), json!("v1"));
            fields.insert("kind".to_owned(), json!("ConfigMap"));
            fields.entry("metadata").or_insert_with(|| json!({"name": "store", "namespace": "ns"}));
            live
        });
        let made = stored(&operations, live, or_empty(&case.source));
        match made {
            Err(error) => {
                assert!(!case.error.is_empty(), "{what}: {error}");
                case.error.iter().for_each(|part| assert!(error.contains(part), "{what}: {error}"));
            }
            Ok(made) => {
                assert!(case.error.is_empty(), "{what}: {made:?}");
                assert_eq!(made.is_none(), case.unchanged, "{what}: {made:?}");
                let made = made.unwrap_or_default();
                assert_eq!(case.store.as_ref().unwrap_or(&made), &made, "{what}");
                assert_eq!(case.data.as_ref().unwrap_or(&made["data"]), &made["data"], "{what}");
            }
        }
    }
}

#[test]
fn what_a_configuration_looks_at_is_wanted() {
    let input = json!({"toFieldPaths": ["spec.key"], "conditions": [{"op": "notEmpty"}]});
    let case = pair(json!({"fieldPath": "status.key"}), input, json!({}));
    assert_eq!(
        data::wanted(&case.rendered().unwrap()),
        [key(FOO, "Foo", "sink"), key(FOO, "Foo", "source")].into()
    );
}

pub(crate) fn store(operations: Json) -> Json {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "store", "operations": operations})
}

pub(crate) fn operation(op: &str, to: &str, data: &str, value: Json) -> Json {
    let mut operation = json!({"type": "jsonPatch", "op": op, "toFieldPath": to, "toDataPath": data});
    match value {
        Json::String(value) => operation["value"] = json!(value),
        Json::Object(_) => operation["valueFrom"] = value,
        _ => {}
    }
    operation
}

pub(crate) fn from(path: &str) -> Json {
    json!({"fieldPath": path})
}

/// What the operations make of a store, given the source's spec.
pub(crate) fn stored(operations: &[Json], live: Option<Json>, spec: Json) -> Result<Option<Json>, String> {
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
        assert_eq!(again, None, "a second reconcile writes nothing");
    }
    Ok(made)
}
