//! One Appfile → one Application; finds what is wrong with the Appfile itself. What is wrong with parameters the engine says.

use serde_json::{Map, Value, json};
use vela_engine::field_path::{self, Segment, type_name};
use vela_engine::nearest::{advice, did_you_mean};
use vela_engine::{Code, Diagnostic, Diagnostics, Document, names};

use super::origin::{Origin, Service};
use super::types::Types;

/// The type of a service that names none.
const DEFAULT_TYPE: &str = "webservice";
/// What may stand beside the services; the times are what KubeVela wrote.
const FIELDS: [&str; 5] = ["name", "services", "secrets", "createTime", "updateTime"];

/// What was read.
pub(super) struct Read {
    pub(super) application: Value,
    pub(super) origin: Origin,
    pub(super) found: Diagnostics,
}

/// Reads an Appfile; the Application means nothing where errors were found.
pub(super) fn read(document: &Document, types: &Types<'_>, namespace: &str) -> Read {
    let mut reader = Reader { document, types, found: Diagnostics::new() };
    let name = reader.head();
    let mut components = Vec::new();
    let mut services = Vec::new();
    for (service, value) in reader.services() {
        if let Some((component, origin)) = reader.service(&service, &value) {
            components.push(component);
            services.push(origin);
        }
    }
    let application = json!({
        "apiVersion": "core.oam.dev/v1beta1",
        "kind": "Application",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"components": components},
    });
    let title = Document::from_object(application.clone()).title();
    let origin = Origin { title, appfile: document.clone(), services };
    Read { application, origin, found: reader.found }
}

struct Reader<'a> {
    document: &'a Document,
    types: &'a Types<'a>,
    found: Diagnostics,
}

impl Reader<'_> {
    fn error(&mut self, code: Code, path: &[&str], message: String, hint: Option<String>) {
        let found = Diagnostic::error(code, message).hint_opt(hint);
        self.found.push(found.at(self.document, path_of(path)));
    }

    fn error_at_key(&mut self, code: Code, path: &[&str], message: String, hint: Option<String>) {
        let found = Diagnostic::error(code, message).hint_opt(hint);
        self.found.push(found.at_key(self.document, path_of(path)));
    }

    /// Everything but the services; gives the name.
    fn head(&mut self) -> String {
        let value = self.document.value().clone();
        for field in value.as_object().into_iter().flat_map(Map::keys) {
            if !FIELDS.contains(&field.as_str()) {
                let hint = advice(field, "field", FIELDS);
                let message = format!("an Appfile has no field {field:?}");
                self.error_at_key(Code::UnknownField, &[field], message, hint);
            }
        }
        if value.get("secrets").is_some_and(|secrets| !secrets.is_null()) {
            let message = "nothing reads the `secrets` of an Appfile";
            let hint = "write a Secret as a manifest of its own, and leave `secrets` out";
            let found = Diagnostic::warning(Code::UnknownField, message).hint(hint);
            self.found.push(found.at_key(self.document, "secrets"));
        }
        match value.get("name") {
            None | Some(Value::Null) => {
                let hint = Some("write `name: NAME` on a line of its own".to_owned());
                self.error(Code::MissingField, &[], "the Appfile has no name".to_owned(), hint);
            }
            Some(Value::String(name)) if names::is_subdomain(name) => return name.clone(),
            Some(Value::String(name)) => {
                let message = format!("{name:?} cannot be the name of an application");
                let hint =
                    Some("a name has lower-case letters, digits, '-' and '.' only, and at most 253 of them");
                self.error(Code::WrongType, &["name"], message, hint.map(str::to_owned));
            }
            Some(other) => {
                let message = format!("the name is a string, found {}", type_name(other));
                self.error(Code::WrongType, &["name"], message, None);
            }
        }
        String::new()
    }

    fn services(&mut self) -> Map<String, Value> {
        match self.document.value().get("services") {
            Some(Value::Object(services)) if !services.is_empty() => services.clone(),
            Some(Value::Object(_) | Value::Null) | None => {
                let message = "the Appfile has no service".to_owned();
                let hint = "write at least one under `services`: its name, and below it its image".to_owned();
                self.error_at_key(Code::MissingField, &["services"], message, Some(hint));
                Map::new()
            }
            Some(other) => {
                let message = format!("services are a map from name to service, found {}", type_name(other));
                self.error(Code::WrongType, &["services"], message, None);
                Map::new()
            }
        }
    }

    /// A component, and where its parts stand.
    fn service(&mut self, name: &str, value: &Value) -> Option<(Value, Service)> {
        let at = |rest: &[&'static str]| [&["services", name][..], rest].concat();
        let Some(fields) = value.as_object() else {
            let message = format!("the service {name:?} is a map, found {}", type_name(value));
            self.error(Code::WrongType, &at(&[]), message, None);
            return None;
        };
        let type_ = match fields.get("type") {
            None | Some(Value::Null) => DEFAULT_TYPE,
            Some(Value::String(type_)) => type_,
            Some(other) => {
                let message = format!("the type of a service is a string, found {}", type_name(other));
                self.error(Code::WrongType, &at(&["type"]), message, None);
                return None;
            }
        };
        let known = self.types.parameters(type_);
        let declares = |key: &str| known.iter().any(|one| one == key);
        let mut properties = Map::new();
        let mut traits = Vec::new();
        let mut scopes = Value::Null;
        let mut names = Vec::new();
        for (key, value) in fields {
            match key.as_str() {
                "type" => {}
                "build" => self.build(name, fields),
                "config" if !declares("config") => self.config(name),
                "scopes" if !declares("scopes") => scopes = value.clone(),
                key if self.types.is_trait(key) && (value.is_object() || value.is_null()) => {
                    let value = if value.is_null() { json!({}) } else { value.clone() };
                    names.push(key.to_owned());
                    traits.push(json!({"type": key, "properties": value}));
                }
                key if self.types.is_trait(key) && !declares(key) => self.no_map(name, key, type_, value),
                _ => drop(properties.insert(key.clone(), value.clone())),
            }
        }
        let mut component = json!({"name": name, "type": type_, "properties": properties});
        if !traits.is_empty() {
            component["traits"] = Value::Array(traits);
        }
        if !scopes.is_null() {
            component["scopes"] = scopes;
        }
        let has_type = fields.get("type").is_some_and(|type_| !type_.is_null());
        let mut words = known;
        words.extend(self.types.traits().into_iter().map(str::to_owned));
        Some((component, Service { name: name.to_owned(), has_type, traits: names, words }))
    }

    fn no_map(&mut self, service: &str, key: &str, type_: &str, value: &Value) {
        let message = format!("the trait {key:?} takes a map of its parameters, found {}", type_name(value));
        let near = did_you_mean(key, self.types.parameters(type_).iter().map(String::as_str));
        let hint = near.unwrap_or_else(|| format!("`vela show {key}` lists the parameters of the trait"));
        self.error(Code::WrongType, &["services", service, key], message, Some(hint));
    }

    /// Images are built by the tools for that; what would be typed is told.
    fn build(&mut self, service: &str, fields: &Map<String, Value>) {
        let image = match fields.get("image") {
            Some(Value::String(image)) if !image.is_empty() => image.as_str(),
            _ => {
                let message = format!("the service {service:?} has `build`, but no `image` to build");
                let hint = Some("write `image: REGISTRY/NAME:TAG` beside it".to_owned());
                self.error_at_key(Code::MissingField, &["services", service, "build"], message, hint);
                return;
            }
        };
        let docker = |field: &str, usual: &str| {
            let written = fields["build"].pointer(&format!("/docker/{field}")).and_then(Value::as_str);
            written.unwrap_or(usual).to_owned()
        };
        let (file, context) = (docker("file", "Dockerfile"), docker("context", "."));
        let is_kind = fields["build"].pointer("/push/local").and_then(Value::as_str) == Some("kind");
        let push = if is_kind { "kind load docker-image" } else { "docker push" };
        let hint = format!(
            "run `docker build -t {image} -f {file} {context}` and `{push} {image}` (podman and nerdctl take the same words), then \
             leave `build` out"
        );
        let message = "vela builds no images".to_owned();
        self.error_at_key(Code::NotSupported, &["services", service, "build"], message, Some(hint));
    }

    fn config(&mut self, service: &str) {
        let message = "vela has no configs of users yet".to_owned();
        let hint = "write a ConfigMap or Secret as a manifest of its own, name it in `env` or `volumeMounts`, and leave `config` out";
        let path = ["services", service, "config"];
        self.error_at_key(Code::NotSupported, &path, message, Some(hint.to_owned()));
    }
}

fn path_of(names: &[&str]) -> String {
    let segments: Vec<Segment> = names.iter().map(|name| Segment::Field((*name).to_owned())).collect();
    field_path::format(&segments)
}
