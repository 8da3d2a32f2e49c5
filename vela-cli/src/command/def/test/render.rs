//! A test → what its application makes, as a dry run without a cluster shows it, and the health with the live objects.

use serde_json::{Map, Value};
use vela_engine::health::{self, ComponentHealth};
use vela_engine::{ClusterVersion, Diagnostics, Document, Observed, Templates, dry_run, graph};
use vela_snapshot::{Files, Reader};

use super::file::{Test, is_named};
use crate::error::Result;
use crate::offline::{self, NoCluster, RenderInputs};

/// The definitions of one file, ready to be used many times.
pub(super) struct Renderer {
    reader: Reader<Files<NoCluster>>,
    templates: Templates,
}

/// What a test made.
pub(super) struct Made {
    pub(super) objects: Vec<Value>,
    /// That of the first component.
    pub(super) health: ComponentHealth,
}

impl Made {
    /// What was made, in words.
    pub(super) fn titles(&self) -> String {
        let title = |object: &Value| {
            let text =
                |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
            format!("{} {}", text("/kind"), text("/metadata/name"))
        };
        match self.objects.is_empty() {
            true => "nothing is made".to_owned(),
            false => format!("made: {}", self.objects.iter().map(title).collect::<Vec<_>>().join(", ")),
        }
    }
}

impl Renderer {
    pub(super) fn new(definitions: &[Document]) -> Result<Self> {
        let definitions: Vec<&Document> = definitions.iter().collect();
        let reader = offline::built_in(ClusterVersion::newest(), &definitions)?;
        Ok(Self { reader, templates: Templates::default() })
    }

    /// What admission would say about the definitions, beside each other.
    pub(super) async fn faults(&self, definitions: &[Document]) -> Result<Diagnostics> {
        let definitions: Vec<&Document> = definitions.iter().collect();
        let unread = |error| offline::unread(None, error);
        let inputs = RenderInputs::read(&self.reader, Vec::new(), &definitions, unread).await?;
        Ok(inputs.faults(&self.templates))
    }

    /// What the test makes, or the messages of what is wrong with it.
    pub(super) async fn made(&self, test: &Test) -> std::result::Result<Made, Vec<String>> {
        let application = Document::from_object(test.application());
        let snapshot = self.reader.application(&test.namespace, &application).await;
        let snapshot = match snapshot {
            Ok(snapshot) => snapshot,
            // What is wrong with a definition is expected of some tests.
            Err(error) => return Err(offline::unread(None, error).texts().to_vec()),
        };
        let rendered = dry_run::render(&application, &snapshot, &self.templates);
        let graph = match rendered.and_then(|rendered| rendered.strictly()).and_then(graph::graph) {
            Ok(graph) => graph,
            Err(found) => {
                let errors = found.iter().filter(|finding| finding.is_error());
                return Err(errors.map(ToString::to_string).collect());
            }
        };
        let objects: Vec<Value> = graph.objects().map(|object| object.object.clone()).collect();
        let mut observed = Observed::new();
        for object in &objects {
            let live = test.live.iter().filter(|live| is_named(live, object));
            observed.insert(live.fold(object.clone(), merged));
        }
        let health = health::component(&graph, 0, &observed, &self.templates);
        Ok(Made { objects, health })
    }
}

/// An object with the fields of another over it.
fn merged(below: Value, over: &Value) -> Value {
    match (below, over) {
        (Value::Object(mut below), Value::Object(over)) => {
            for (name, value) in over {
                let before = below.remove(name).unwrap_or(Value::Object(Map::new()));
                below.insert(name.clone(), merged(before, value));
            }
            Value::Object(below)
        }
        (_, over) => over.clone(),
    }
}
