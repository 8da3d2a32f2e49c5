//! Configs: properties, and the template that they go by → the Secret that holds them, and the objects that go with it; and
//! back. The names of keys, labels and annotations are those of KubeVela, which reads what is written here.
//!
//! ```
//! use serde_json::json;
//! use vela_engine::config::{self, Named};
//!
//! let named = Named { name: "db".to_owned(), namespace: "prod".to_owned() };
//! let made = config::make(&named, &json!({"host": "10.0.0.1"}), None)?;
//! assert_eq!(config::properties(&made.secret)?, json!({"host": "10.0.0.1"}));
//! # Ok::<(), String>(())
//! ```

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value as Json, json};
use vela_cue::value::FieldOptions;
use vela_cue::{Input, Source, Template as CueTemplate, Value};

use crate::definition::DEFAULT_ERA;
use crate::render::findings;
use crate::secrets::Secrets;
use crate::steps;

/// The labels of Secrets of configs and ConfigMaps of templates.
pub const CATALOG: &str = "config.oam.dev/catalog";
/// Its value.
pub const CATALOG_OF_CONFIGS: &str = "velacore-config";
/// The label of a config that names its template.
pub const TYPE: &str = "config.oam.dev/type";
/// The label of an object that a template makes beside the Secret: the name of the config.
pub const OUTPUT_OF: &str = "config.oam.dev/output-of";
const SCOPE: &str = "config.oam.dev/scope";
const ALIAS: &str = "config.oam.dev/alias";
const DESCRIPTION: &str = "config.oam.dev/description";
const SENSITIVE: &str = "config.oam.dev/sensitive";
const TEMPLATE_NAMESPACE: &str = "config.oam.dev/template-namespace";
/// The key of the properties, as JSON.
const PROPERTIES: &str = "input-properties";
/// The key of what names the objects beside the Secret, as JSON.
const REFERENCES: &str = "objects-reference";
/// The beginning of the names of ConfigMaps of templates.
const TEMPLATE_PREFIX: &str = "config-template-";
/// The key of the text of a template.
const TEMPLATE: &str = "template";
/// Objects that one template makes beside the Secret.
const OUTPUTS_AT_MOST: usize = 50;
/// Bytes of the properties of one config: an object takes a mebibyte.
const PROPERTIES_BYTES_AT_MOST: usize = 512 * 1024;

/// Name and namespace of a config.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// Its name.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
}

/// The template of configs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    name: String,
    namespace: String,
    scope: String,
    is_sensitive: bool,
    text: String,
}

/// The objects of one config.
#[derive(Debug, Clone, PartialEq)]
pub struct Made {
    /// The Secret of the config.
    pub secret: Json,
    /// The objects beside it.
    pub outputs: Vec<Json>,
}

impl Template {
    /// The name of the ConfigMap that holds the template of this name.
    pub fn config_map(name: &str) -> String {
        format!("{TEMPLATE_PREFIX}{name}")
    }

    /// The template that a ConfigMap holds.
    ///
    /// # Errors
    /// It holds none.
    pub fn read(config_map: &Json) -> Result<Self, String> {
        let metadata = &config_map["metadata"];
        let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
        let full = text(&metadata["name"]);
        let name = full.strip_prefix(TEMPLATE_PREFIX).unwrap_or(&full).to_owned();
        let script = text(&config_map["data"][TEMPLATE]);
        if script.trim().is_empty() {
            return Err(format!("ConfigMap {full} is no config template: it has no data.{TEMPLATE}"));
        }
        Ok(Self {
            name,
            namespace: text(&metadata["namespace"]),
            scope: text(&metadata["labels"][SCOPE]),
            is_sensitive: metadata["annotations"][SENSITIVE] == "true",
            text: script,
        })
    }

    fn evaluate(&self, named: &Named, properties: &Json) -> Result<Value, String> {
        let title = format!("config template {:?}", self.name);
        let wrong = |found: vela_cue::Diagnostics| first(&title, &found);
        let source =
            Source::new(title.as_str(), format!("{}\ncontext: _\n", self.text)).with_era(DEFAULT_ERA);
        let compiled = CueTemplate::compile_with(&[source], steps::workload()).map_err(wrong)?;
        let context = json!({"name": named.name, "namespace": named.namespace});
        let inputs = [Input::new("context", &context), Input::new("template.parameter", properties)];
        let root = compiled.instantiate(&inputs).root();
        // A condition of the template that uses a property fails where that does not fit: the property says where.
        root.lookup("template.parameter").validate(false).map_err(wrong)?;
        root.validate(false).map_err(wrong)?;
        Ok(root)
    }
}

/// The objects of a config with these properties. Messages repeat none of the properties.
///
/// # Errors
/// The template does not take them, or makes no Secret of them.
pub fn make(named: &Named, properties: &Json, template: Option<&Template>) -> Result<Made, String> {
    let written = properties.to_string();
    if written.len() > PROPERTIES_BYTES_AT_MOST {
        let found = written.len();
        return Err(format!("the config takes {found} bytes; expected at most {PROPERTIES_BYTES_AT_MOST}"));
    }
    let mut made = match template {
        Some(template) => by_template(named, properties, template).map_err(|why| {
            let mut secrets = Secrets::default();
            secrets.add(&json!({"kind": "Secret", "stringData": properties}));
            secrets.hide(&why).into_owned()
        })?,
        None => Made { secret: json!({"type": "Opaque"}), outputs: Vec::new() },
    };
    complete(&mut made.secret, named, template);
    set(&mut made.secret, "data", PROPERTIES, json!(STANDARD.encode(written)));
    if !made.outputs.is_empty() {
        let references: Json = made.outputs.iter().map(reference).collect();
        set(&mut made.secret, "data", REFERENCES, json!(STANDARD.encode(references.to_string())));
    }
    Ok(made)
}

fn by_template(named: &Named, properties: &Json, template: &Template) -> Result<Made, String> {
    let root = template.evaluate(named, properties)?;
    let title = format!("config template {:?}", template.name);
    let data = |value: &Value| value.to_json().map_err(|found| first(&title, &found));
    // The answer of a call is not known here, and no reason to refuse.
    let returned = root.lookup("template.validation").field("$returns").to_json().unwrap_or_default();
    if let Some(message) = returned["message"].as_str().filter(|message| !message.is_empty()) {
        return Err(format!("failed to validate config: {message}"));
    }
    let output = root.lookup("template.output");
    let mut secret = if output.exists() { data(&output)? } else { json!({}) };
    if !secret.is_object() || secret.get("kind").is_some_and(|kind| kind != "Secret") {
        return Err(format!("{title}: its output is no Secret"));
    }
    if secret["type"].as_str().is_none_or(str::is_empty) {
        secret["type"] = json!(format!("/{}", template.name));
    }
    let mut outputs = Vec::new();
    for field in root.lookup("template.outputs").fields(FieldOptions::default()) {
        if outputs.len() == OUTPUTS_AT_MOST {
            return Err(format!("{title}: expected at most {OUTPUTS_AT_MOST} outputs"));
        }
        let mut object = data(&field.value)?;
        let has =
            |path: &str| object.pointer(path).and_then(Json::as_str).is_some_and(|text| !text.is_empty());
        if !["/apiVersion", "/kind", "/metadata/name"].into_iter().all(has) {
            return Err(format!("{title}: outputs.{} is no object with a name", field.name));
        }
        if object["metadata"]["namespace"].as_str().is_none_or(str::is_empty) {
            object["metadata"]["namespace"] = json!(named.namespace);
        }
        put(&mut object, "/metadata", "labels", OUTPUT_OF, json!(named.name));
        outputs.push(object);
    }
    Ok(Made { secret, outputs })
}

/// The first finding, in one line.
fn first(title: &str, found: &vela_cue::Diagnostics) -> String {
    let found = findings(title, found);
    format!("{title}: {}", found.iter().next().map_or("it cannot be evaluated", |one| one.message.as_str()))
}

/// The fields of every Secret of a config.
fn complete(secret: &mut Json, named: &Named, template: Option<&Template>) {
    secret["apiVersion"] = json!("v1");
    secret["kind"] = json!("Secret");
    if !secret["metadata"].is_object() {
        secret["metadata"] = json!({});
    }
    let metadata = &mut secret["metadata"];
    if metadata["name"].as_str().is_none_or(str::is_empty) {
        metadata["name"] = json!(named.name);
    }
    metadata["namespace"] = json!(named.namespace);
    let mut label = |name: &str, value: &str| put(secret, "/metadata", "labels", name, json!(value));
    label(CATALOG, CATALOG_OF_CONFIGS);
    label(TYPE, template.map_or("", |template| template.name.as_str()));
    if let Some(template) = template {
        label(SCOPE, &template.scope);
        let sensitive = json!(template.is_sensitive.to_string());
        put(secret, "/metadata", "annotations", SENSITIVE, sensitive);
        put(secret, "/metadata", "annotations", TEMPLATE_NAMESPACE, json!(template.namespace));
    }
}

/// Sets a field of a struct in the object.
fn set(object: &mut Json, within: &str, name: &str, value: Json) {
    put(object, "", within, name, value);
}

/// The same further down; what stands in the way is no struct and is replaced.
fn put(object: &mut Json, path: &str, within: &str, name: &str, value: Json) {
    let Some(parent) = object.pointer_mut(path).filter(|parent| parent.is_object()) else { return };
    if !parent[within].is_object() {
        parent[within] = Json::Object(Map::new());
    }
    parent[within][name] = value;
}

fn reference(object: &Json) -> Json {
    json!({
        "apiVersion": object["apiVersion"],
        "kind": object["kind"],
        "namespace": object["metadata"]["namespace"],
        "name": object["metadata"]["name"],
    })
}

/// The content of a key of a Secret, as JSON.
fn decoded(secret: &Json, key: &str) -> Option<Json> {
    let bytes = STANDARD.decode(secret["data"][key].as_str()?).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// The properties of a config.
///
/// # Errors
/// They may not be read by steps, or the Secret is no config.
pub fn properties(secret: &Json) -> Result<Json, String> {
    if secret["metadata"]["annotations"][SENSITIVE] == "true" {
        return Err("the config is sensitive".to_owned());
    }
    let name = secret["metadata"]["name"].as_str().unwrap_or_default();
    decoded(secret, PROPERTIES).ok_or_else(|| format!("Secret {name} is no config: it has no {PROPERTIES}"))
}

/// The entry of a config in a list; nothing for one that may not be read, as upstream, or for any other Secret.
pub fn listed(secret: &Json) -> Option<Json> {
    let metadata = &secret["metadata"];
    let text = |name: &str| metadata["annotations"][name].as_str().unwrap_or_default().to_owned();
    let config = properties(secret).ok()?;
    let (alias, description) = (text(ALIAS), text(DESCRIPTION));
    Some(json!({"name": metadata["name"], "alias": alias, "description": description, "config": config}))
}

/// The objects that go with a config, as far as they are named.
pub fn outputs(secret: &Json) -> Vec<Json> {
    let references = decoded(secret, REFERENCES).unwrap_or_default();
    let object = |reference: &Json| {
        json!({
            "apiVersion": reference["apiVersion"],
            "kind": reference["kind"],
            "metadata": {"name": reference["name"], "namespace": reference["namespace"]},
        })
    };
    references.as_array().into_iter().flatten().take(OUTPUTS_AT_MOST).map(object).collect()
}

/// Whether a Secret that is there may become this config.
///
/// # Errors
/// It is no config, or one of another template or type.
pub fn may_change(there: &Json, wanted: &Json) -> Result<(), String> {
    is_config(there)?;
    let template = |secret: &Json| secret["metadata"]["labels"][TYPE].as_str().unwrap_or_default().to_owned();
    if template(there) != template(wanted) {
        return Err("the template of the config can not be changed".to_owned());
    }
    let is_same = there["type"].is_null() || there["type"] == wanted["type"];
    is_same.then_some(()).ok_or_else(|| "the secret type of the config can not be changed".to_owned())
}

/// Is the object a config?
///
/// # Errors
/// It is another one.
pub fn is_config(object: &Json) -> Result<(), String> {
    let is_one = object["metadata"]["labels"][CATALOG] == CATALOG_OF_CONFIGS;
    is_one.then_some(()).ok_or_else(|| format!("it is there and no config: it has no label {CATALOG}"))
}

/// Is the object one that goes with a config?
///
/// # Errors
/// It is another one.
pub fn is_output(object: &Json) -> Result<(), String> {
    let is_one = object["metadata"]["labels"][OUTPUT_OF].is_string();
    is_one
        .then_some(())
        .ok_or_else(|| format!("it is there and goes with no config: it has no label {OUTPUT_OF}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named() -> Named {
        Named { name: "db".to_owned(), namespace: "prod".to_owned() }
    }

    fn template(text: &str) -> Template {
        let config_map = json!({
            "metadata": {
                "name": "config-template-mysql",
                "namespace": "vela-system",
                "labels": {SCOPE: "project"},
                "annotations": {SENSITIVE: "false"},
            },
            "data": {"template": text},
        });
        Template::read(&config_map).unwrap()
    }

    const MYSQL: &str = r#"
metadata: {name: "mysql", scope: "project", sensitive: false}
template: {
	parameter: {
		host:     string
		password: string
	}
	output: {
		type: "example.com/mysql"
		stringData: url: "mysql://\(parameter.host)"
	}
	outputs: provider: {
		apiVersion: "v1"
		kind:       "ConfigMap"
		metadata: name: context.name + "-provider"
		data: host: parameter.host
	}
	if parameter.host == "" {
		validation: $returns: {result: false, message: "no host"}
	}
}
"#;

    #[test]
    fn a_config_without_a_template_is_its_properties() {
        let made = make(&named(), &json!({"a": 1}), None).unwrap();
        let metadata = &made.secret["metadata"];
        assert_eq!((&metadata["name"], &metadata["namespace"]), (&json!("db"), &json!("prod")));
        assert_eq!(
            (&metadata["labels"][CATALOG], &metadata["labels"][TYPE]),
            (&json!("velacore-config"), &json!(""))
        );
        assert_eq!(properties(&made.secret).unwrap(), json!({"a": 1}));
        assert_eq!(made.outputs, Vec::<Json>::new());
        let large = json!({"a": "x".repeat(PROPERTIES_BYTES_AT_MOST)});
        assert!(make(&named(), &large, None).unwrap_err().contains("expected at most"));
    }

    #[test]
    fn a_template_makes_the_secret_and_what_goes_with_it() {
        let given = json!({"host": "10.0.0.1", "password": "hidden-value"});
        let made = make(&named(), &given, Some(&template(MYSQL))).unwrap();
        assert_eq!(made.secret["stringData"]["url"], "mysql://10.0.0.1");
        assert_eq!(
            (&made.secret["type"], &made.secret["kind"]),
            (&json!("example.com/mysql"), &json!("Secret"))
        );
        let metadata = &made.secret["metadata"];
        assert_eq!(
            (&metadata["labels"][TYPE], &metadata["labels"][SCOPE]),
            (&json!("mysql"), &json!("project"))
        );
        assert_eq!(metadata["annotations"][TEMPLATE_NAMESPACE], "vela-system");
        assert_eq!(made.outputs[0]["metadata"]["labels"][OUTPUT_OF], "db");
        assert_eq!(outputs(&made.secret)[0]["metadata"], json!({"name": "db-provider", "namespace": "prod"}));
        let listed = listed(&made.secret).unwrap();
        assert_eq!((&listed["name"], &listed["config"]), (&json!("db"), &given));
    }

    #[test]
    fn what_a_template_does_not_take_is_told_without_it() {
        let wrong = |given: Json| make(&named(), &given, Some(&template(MYSQL))).unwrap_err();
        assert_eq!(wrong(json!({"host": "", "password": "a"})), "failed to validate config: no host");
        let why = wrong(json!({"host": ["hidden-value"], "password": "a"}));
        assert!(why.contains("host") && !why.contains("hidden-value"), "{why}");
        let none = json!({"metadata": {"name": "config-template-x"}, "data": {}});
        assert!(Template::read(&none).unwrap_err().contains("no config template"));
        let odd = template("template: {parameter: {}, output: kind: \"Pod\"}");
        assert!(make(&named(), &json!({}), Some(&odd)).unwrap_err().contains("no Secret"));
    }

    #[test]
    fn what_is_there_decides_whether_it_may_be_changed() {
        let wanted = make(&named(), &json!({}), None).unwrap().secret;
        assert!(may_change(&wanted, &wanted).is_ok());
        let foreign = json!({"metadata": {"name": "db"}});
        assert!(may_change(&foreign, &wanted).unwrap_err().contains("no config"));
        let mut other = wanted.clone();
        other["metadata"]["labels"][TYPE] = json!("mysql");
        assert_eq!(may_change(&other, &wanted).unwrap_err(), "the template of the config can not be changed");
        let mut other = wanted.clone();
        other["type"] = json!("kubernetes.io/tls");
        assert_eq!(
            may_change(&other, &wanted).unwrap_err(),
            "the secret type of the config can not be changed"
        );
        let mut sensitive = wanted;
        sensitive["metadata"]["annotations"] = json!({SENSITIVE: "true"});
        assert_eq!(properties(&sensitive).unwrap_err(), "the config is sensitive");
        assert_eq!(listed(&sensitive), None);
        assert!(is_output(&foreign).is_err());
    }
}
