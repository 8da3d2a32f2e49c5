//! Nothing is dropped in silence: every parameter of every built-in definition, misspelt at every depth, is told with the
//! place of its name.

use serde_json::{Map, Value as Json, json};
use vela_engine::definition::record;
use vela_engine::{Code, Definition, DefinitionKind, Diagnostic, Templates, check, manifest};

use crate::snapshots;

/// What stands behind a name to misspell it.
const SLIP: &str = "Qq";

/// A value that a schema allows, and the JSON pointers of all names in it that the schema declares.
#[derive(Clone)]
struct Sample {
    value: Json,
    names: Vec<String>,
}

impl Sample {
    fn plain(value: Json) -> Self {
        Self { value, names: Vec::new() }
    }

    fn names_below<'a>(&'a self, key: &'a str) -> impl Iterator<Item = String> + 'a {
        let key = key.replace('~', "~0").replace('/', "~1");
        self.names.iter().map(move |name| format!("/{key}{name}"))
    }
}

/// Values of a schema that together use everything it declares.
fn samples(schema: &Json) -> Vec<Sample> {
    for word in ["oneOf", "anyOf", "allOf"] {
        if let Some(alternatives) = schema.get(word).and_then(Json::as_array).filter(|all| !all.is_empty()) {
            return alternatives.iter().flat_map(samples).collect();
        }
    }
    if let Some(value) = schema.get("enum").and_then(Json::as_array).and_then(|all| all.first()) {
        return vec![Sample::plain(value.clone())];
    }
    if let Some(fields) = schema.get("properties").and_then(Json::as_object) {
        return objects(fields);
    }
    let below = |word: &str| schema.get(word).filter(|inner| inner.is_object()).map(samples);
    let wrapped = |inner: Vec<Sample>, key: &str, wrap: &dyn Fn(Json) -> Json| -> Vec<Sample> {
        let wrap =
            |one: Sample| Sample { names: one.names_below(key).collect(), value: wrap(one.value.clone()) };
        inner.into_iter().map(wrap).collect()
    };
    if let Some(default) = schema.get("default").filter(|value| value.is_string() || value.is_number()) {
        return vec![Sample::plain(default.clone())];
    }
    match schema.get("type").and_then(Json::as_str) {
        Some("array") => match below("items") {
            Some(inner) => wrapped(inner, "0", &|value| json!([value])),
            None => vec![Sample::plain(json!([]))],
        },
        Some("integer" | "number") => vec![Sample::plain(json!(1))],
        Some("boolean") => vec![Sample::plain(json!(true))],
        Some("string") => vec![Sample::plain(json!("1"))],
        _ => match below("additionalProperties") {
            Some(inner) => wrapped(inner, "key", &|value| json!({"key": value})),
            None => vec![Sample::plain(json!({}))],
        },
    }
}

/// All fields at once, and each further value of a field beside the first ones of the others.
fn objects(fields: &Map<String, Json>) -> Vec<Sample> {
    let all: Vec<(&String, Vec<Sample>)> =
        fields.iter().map(|(name, schema)| (name, samples(schema))).collect();
    let most = all.iter().map(|(_, values)| values.len()).max().unwrap_or(1);
    let object = |round: usize| {
        let mut made = Sample::plain(json!({}));
        for (name, values) in &all {
            let Some(value) = values.get(round).or(values.first()) else { continue };
            made.value[name.as_str()] = value.value.clone();
            made.names.push(format!("/{name}"));
            made.names.extend(value.names_below(name));
        }
        made
    };
    (0..most).map(object).collect()
}

/// The value with the name at the pointer misspelt.
fn misspelt(value: &Json, pointer: &str) -> Json {
    let mut value = value.clone();
    let (around, name) = pointer.rsplit_once('/').unwrap();
    let fields = value.pointer_mut(around).unwrap().as_object_mut().unwrap();
    let inner = fields.remove(name).unwrap();
    fields.insert(format!("{name}{SLIP}"), inner);
    value
}

/// An application that gives these parameters to the definition, written over many lines.
fn application(definition: &Definition, parameters: &Json) -> String {
    let one = |name: &str| json!([{"name": name, "type": definition.name(), "properties": parameters}]);
    let web = json!({"name": "web", "type": "webservice", "properties": {"image": "nginx", "port": 80}});
    let spec = match definition.kind() {
        DefinitionKind::Trait => {
            let mut web = web;
            web["traits"] = json!([{"type": definition.name(), "properties": parameters}]);
            json!({"components": [web]})
        }
        DefinitionKind::Policy => json!({"components": [web], "policies": one("policy")}),
        DefinitionKind::WorkflowStep => json!({"components": [web], "workflow": {"steps": one("step")}}),
        _ => json!({"components": one("web")}),
    };
    let application = json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": "Application", "metadata": {"name": "shop"},
        "spec": spec,
    });
    serde_json::to_string_pretty(&application).unwrap()
}

/// Whether the finding tells of the misspelt name, and points at it.
fn tells(finding: &Diagnostic, text: &str, name: &str) -> bool {
    let place = finding.manifest.as_ref();
    let there = place.and_then(|place| {
        let line = text.lines().nth(place.line as usize - 1)?;
        line.get(place.column as usize - 1..)
    });
    let points = there.is_some_and(|there| there.trim_start_matches('"').starts_with(name));
    match finding.code {
        Code::UnknownParameter | Code::UnknownField => points && finding.message.contains(name),
        // The evaluator refuses what a definition does not name: that is told, too.
        // Where there is a choice, only that no alternative takes it.
        _ => finding.message.contains(name) || finding.message.contains("empty disjunction"),
    }
}

#[test]
fn every_misspelt_parameter_of_every_built_in_is_told() {
    let (snapshot, templates) = (snapshots::built_in(), Templates::new());
    let (mut count, mut silent) = (0, Vec::new());
    for definition in snapshot.definitions() {
        let Some(schema) = record::schema(definition) else { continue };
        for sample in samples(&schema) {
            for pointer in &sample.names {
                let name = format!("{}{SLIP}", pointer.rsplit('/').next().unwrap());
                let text = application(definition, &misspelt(&sample.value, pointer));
                let document = manifest::read("app.yaml", &text).unwrap().as_slice()[0].clone();
                let found = check(&document, &snapshot, &templates);
                count += 1;
                if !found.iter().any(|finding| tells(finding, &text, &name)) {
                    silent.push(format!("{definition} {pointer}\n{found}"));
                }
            }
        }
    }
    println!("{count} names misspelt");
    assert!(count > 500, "{count}");
    assert!(silent.is_empty(), "{} of {count} are not told:\n{}", silent.len(), silent.join("\n\n"));
}

#[test]
fn what_is_spelt_right_is_not_told() {
    let (snapshot, templates) = (snapshots::built_in(), Templates::new());
    for definition in snapshot.definitions() {
        let Some(schema) = record::schema(definition) else { continue };
        for sample in samples(&schema) {
            let text = application(definition, &sample.value);
            let document = manifest::read("app.yaml", &text).unwrap().as_slice()[0].clone();
            let found = check(&document, &snapshot, &templates);
            let wrong: Vec<_> = found.iter().filter(|f| f.code == Code::UnknownParameter).collect();
            assert!(wrong.is_empty(), "{definition}: {wrong:?}\n{text}");
        }
    }
}

const APPLICATION: &str = r#"{
  "apiVersion": "core.oam.dev/v1beta1", "kind": "Application",
  "metadata": {"name": "shop", "labels": {"a": "b"}, "annotations": {"c": "d"}},
  "spec": {
    "components": [{
      "name": "web", "type": "webservice", "properties": {"image": "nginx"}, "dependsOn": ["db"],
      "inputs": [{"from": "address", "parameterKey": "host"}],
      "traits": [{"type": "labels", "properties": {"e": "f"}}]
    }, {
      "name": "db", "type": "webservice", "properties": {"image": "nginx"},
      "outputs": [{"name": "address", "valueFrom": "output.metadata.name"}]
    }],
    "policies": [{"name": "p", "type": "topology", "properties": {"clusters": ["local"]}}],
    "workflow": {"mode": {"steps": "DAG", "subSteps": "DAG"}, "steps": [{
      "name": "s", "type": "apply-component", "properties": {"component": "web"}, "timeout": "1m", "if": "always",
      "inputs": [{"from": "x", "parameterKey": "y"}], "outputs": [{"name": "x", "valueFrom": "y"}],
      "meta": {"alias": "z"}, "dependsOn": ["t"]
    }]},
    "rolloutPlan": {
      "rolloutStrategy": "IncreaseFirst", "targetSize": 2, "numBatches": 1, "batchPartition": 0, "paused": false,
      "rolloutBatches": [{"replicas": 2, "maxUnavailable": 1, "instanceInterval": 1, "podList": [],
        "batchRolloutWebhooks": [{"type": "pre-batch-rollout", "name": "h", "url": "https://example.com", "method": "GET"}],
        "canaryMetric": [{"name": "m", "metricsRange": {"min": 1, "max": 2}, "interval": "1m",
          "provider": {"address": "http://example.com"}, "query": "q"}]}],
      "rolloutWebhooks": [{"type": "finalize-rollout", "name": "h", "url": "https://example.com", "expectedStatus": [200]}]
    }
  }
}"#;

/// The pointers of all names whose meaning the kind fixes.
fn fixed_names(value: &Json, at: &str, into: &mut Vec<String>) {
    match value {
        Json::Object(fields) => {
            for (name, inner) in fields {
                let here = format!("{at}/{name}");
                if !["labels", "annotations", "properties"].contains(&name.as_str()) {
                    fixed_names(inner, &here, into);
                }
                into.push(here);
            }
        }
        Json::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                fixed_names(item, &format!("{at}/{index}"), into);
            }
        }
        _ => {}
    }
}

#[test]
fn every_misspelt_field_of_the_application_itself_is_told() {
    let (snapshot, templates) = (snapshots::built_in(), Templates::new());
    let application: Json = serde_json::from_str(APPLICATION).unwrap();
    let (mut names, mut silent) = (Vec::new(), Vec::new());
    fixed_names(&application, "", &mut names);
    // Without these two the text is not known to be an Application.
    for pointer in names.iter().filter(|name| !["/apiVersion", "/kind"].contains(&name.as_str())) {
        let name = format!("{}{SLIP}", pointer.rsplit('/').next().unwrap());
        let text = serde_json::to_string_pretty(&misspelt(&application, pointer)).unwrap();
        let document = manifest::read("app.yaml", &text).unwrap().as_slice()[0].clone();
        let found = check(&document, &snapshot, &templates);
        let is_reported =
            |finding: &&Diagnostic| finding.code == Code::UnknownField && finding.message.contains(&name);
        let place = found.iter().find(is_reported).and_then(|finding| finding.manifest.clone());
        let line = place.and_then(|place| text.lines().nth(place.line as usize - 1));
        if !line.is_some_and(|line| line.contains(&name)) {
            silent.push(format!("{pointer}\n{found}"));
        }
    }
    assert!(
        names.len() > 60 && silent.is_empty(),
        "{} of {}:\n{}",
        silent.len(),
        names.len(),
        silent.join("\n\n")
    );
}

#[test]
fn strictly_what_would_come_to_nothing_is_an_error() {
    let text = r#"
apiVersion: core.oam.dev/v1beta1
kind: Application
metadata: {name: shop}
spec:
  components:
  - name: web
    type: webservice
    properties: {image: nginx, env: [{name: A, valeu: b}]}
"#;
    let document = manifest::read("app.yaml", text).unwrap().as_slice()[0].clone();
    let rendered =
        vela_engine::dry_run::render(&document, &snapshots::built_in(), &Templates::new()).unwrap();
    let warned = rendered.warnings().to_string();
    assert!(warned.starts_with("app.yaml:9:48: warning[unknown_parameter]: "), "{warned}");
    let refused = rendered.strictly().unwrap_err().to_string();
    for part in [
        "app.yaml:9:48: error[unknown_parameter]: ",
        "\"valeu\" in parameter env[0]",
        "did you mean \"value\"?",
    ] {
        assert!(refused.contains(part), "{part}: {refused}");
    }
}
