//! A test file → its tests. What is wrong with the file is an error at its place.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value, json};
use vela_engine::Document;

use crate::error::{Error, Result};

/// Tests of one file.
const MOST_TESTS: usize = 1_000;
/// The ends of the files that a test file of the same name may be about.
const DEFINITIONS: [&str; 4] = ["cue", "yaml", "yml", "json"];
/// What stands before the end of the name of a test file.
const TEST: &str = ".test.";

/// A document as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    /// Relative to the test file.
    #[serde(default)]
    definitions: Vec<PathBuf>,
    /// Read one by one, so that what is wrong is told at the test.
    tests: Vec<Value>,
}

/// The tests of a document.
#[derive(Debug)]
pub(super) struct Tests {
    /// The files of definitions that they are about.
    pub(super) definitions: Vec<PathBuf>,
    pub(super) tests: Vec<Test>,
}

/// What is rendered, and what is expected of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Test {
    /// Where it is in the file.
    #[serde(skip)]
    pub(super) path: String,
    pub(super) name: String,
    /// A component as an Application has it.
    component: Option<Map<String, Value>>,
    /// The spec of an Application.
    application: Option<Map<String, Value>>,
    #[serde(default = "default_namespace")]
    pub(super) namespace: String,
    /// Objects as the cluster has them, in part.
    #[serde(default)]
    pub(super) live: Vec<Value>,
    #[serde(default)]
    pub(super) expect: Expect,
}

/// What a test expects. Only what is written is compared.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Expect {
    /// Each is a part of an object that is made.
    #[serde(default)]
    pub(super) objects: Vec<Value>,
    /// Each is a part of no object that is made.
    #[serde(default)]
    pub(super) absent: Vec<Value>,
    /// Texts that errors have.
    #[serde(default)]
    pub(super) errors: Vec<String>,
    pub(super) status: Option<Status>,
}

/// The state of the component, with the objects of `live`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Status {
    pub(super) healthy: Option<bool>,
    pub(super) message: Option<String>,
    #[serde(default)]
    pub(super) traits: Vec<TraitStatus>,
}

/// The state of a trait of the component.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TraitStatus {
    #[serde(rename = "type")]
    pub(super) type_: String,
    pub(super) healthy: Option<bool>,
    pub(super) message: Option<String>,
}

fn default_namespace() -> String {
    "default".to_owned()
}

impl Tests {
    pub(super) fn read(document: &Document, file: &Path) -> Result<Self> {
        let reader = Reader { document };
        let written: Written = reader.typed("", document.value())?;
        if written.tests.is_empty() || written.tests.len() > MOST_TESTS {
            return Err(reader.wrong("tests", &format!("expected 1 to {MOST_TESTS} tests")).into());
        }
        let tests = written.tests.iter().enumerate().map(|(index, value)| {
            let path = format!("tests[{index}]");
            let test: Test = reader.typed(&path, value)?;
            reader.complete(Test { path, ..test })
        });
        let tests = tests.collect::<Result<_>>()?;
        let folder = file.parent().unwrap_or(Path::new(""));
        let definitions = match written.definitions.is_empty() {
            true => vec![beside(file).ok_or_else(|| {
                let error = reader.wrong("tests", "no file beside this one has the definition");
                error.hint("write definitions: [FILE, …], or name the test file after it: NAME.test.yaml beside NAME.cue")
            })?],
            false => written.definitions.iter().map(|path| folder.join(path)).collect(),
        };
        Ok(Self { definitions, tests })
    }
}

impl Test {
    /// The application that is rendered.
    pub(super) fn application(&self) -> Value {
        let spec = match (&self.application, &self.component) {
            (Some(spec), _) => Value::Object(spec.clone()),
            (None, component) => {
                let mut component = component.clone().unwrap_or_default();
                component.entry("name").or_insert_with(|| json!("test"));
                json!({"components": [component]})
            }
        };
        json!({
            "apiVersion": "core.oam.dev/v1beta1", "kind": "Application",
            "metadata": {"name": "test", "namespace": self.namespace}, "spec": spec,
        })
    }
}

/// Is it the object that these fields name: by kind, and by API version, name and namespace where they are written?
pub(super) fn is_named(fields: &Value, object: &Value) -> bool {
    let is = |path: &&str| fields.pointer(path).is_none_or(|wanted| object.pointer(path) == Some(wanted));
    ["/kind", "/apiVersion", "/metadata/name", "/metadata/namespace"].iter().all(is)
}

/// The file of definitions that a test file has its name of.
fn beside(file: &Path) -> Option<PathBuf> {
    let name = file.file_name()?.to_str()?;
    let stem = name.rfind(TEST).map(|at| &name[..at])?;
    let files = DEFINITIONS.iter().map(|end| file.with_file_name(format!("{stem}.{end}")));
    files.into_iter().find(|file| file.is_file())
}

struct Reader<'a> {
    document: &'a Document,
}

impl Reader<'_> {
    fn typed<T: serde::de::DeserializeOwned>(&self, path: &str, value: &Value) -> Result<T> {
        serde_json::from_value(value.clone()).map_err(|error| {
            let message = error.to_string();
            // Serde names an unknown field, but not where it is.
            let unknown = message.strip_prefix("unknown field `").and_then(|rest| rest.split('`').next());
            let below = self.document.places().below(path);
            let is_it =
                |at: &String| unknown.is_some_and(|name| at == name || at.ends_with(&format!(".{name}")));
            let field = below.into_iter().map(|(at, _)| at).find(is_it);
            let at = match (path, field) {
                (path, None) => path.to_owned(),
                ("", Some(field)) => field,
                (path, Some(field)) => format!("{path}.{field}"),
            };
            self.wrong(&at, &message).into()
        })
    }

    /// What no type says.
    fn complete(&self, test: Test) -> Result<Test> {
        let path = &test.path;
        if test.component.is_some() == test.application.is_some() {
            let error = self.wrong(path, "a test has either a component or an application");
            let hint = "component: {type: …, properties: …, traits: […]}, or application: {components: […]}";
            return Err(error.hint(hint).into());
        }
        let lists = [
            ("live", &test.live),
            ("expect.objects", &test.expect.objects),
            ("expect.absent", &test.expect.absent),
        ];
        for (name, objects) in lists {
            for (index, object) in objects.iter().enumerate() {
                if !object.get("kind").is_some_and(Value::is_string) {
                    return Err(self
                        .wrong(&format!("{path}.{name}[{index}]"), "an object needs its kind")
                        .into());
                }
            }
        }
        let expect = &test.expect;
        let expects_more = !expect.objects.is_empty() || expect.status.is_some();
        if expects_more && !expect.errors.is_empty() {
            let message = "where errors are expected there are no objects and no status";
            return Err(self.wrong(&format!("{path}.expect.errors"), message).into());
        }
        if expect.status.is_some() && test.component.is_none() {
            let message = "the status is that of a component: write component instead of application";
            return Err(self.wrong(&format!("{path}.expect.status"), message).into());
        }
        Ok(test)
    }

    fn wrong(&self, path: &str, message: &str) -> Error {
        match self.document.places().key(path) {
            Some(place) => Error::user(format!("{place}: {message}")),
            None => Error::user(format!("{path}: {message}")),
        }
    }
}
