//! An Application as PolicyDefinitions of the scope `Application` leave it: what the policies said, and which they were.

use std::sync::Arc;

use serde_json::{Map, Value as Json, json};

use crate::definition::Definition;
use crate::diagnostic::Diagnostics;
use crate::manifest::Document;

/// The scope of a PolicyDefinition that changes the application itself.
const APPLICATION: &str = "Application";

/// Whether the PolicyDefinition changes applications instead of making objects.
pub(crate) fn changes_applications(definition: &Definition) -> bool {
    definition.text(&["scope"]) == APPLICATION
}

/// Whether the PolicyDefinition acts on every application in its reach.
pub fn is_global(definition: &Json) -> bool {
    definition.pointer("/spec/global") == Some(&Json::Bool(true))
}

/// Where an application got a policy from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// Its `spec.policies` names it.
    Explicit,
    /// The definition acts on every application.
    Global,
}

impl Source {
    /// As the status tells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Explicit => "explicit",
            Self::Global => "global",
        }
    }
}

/// What became of one policy.
#[derive(Debug, Clone, PartialEq)]
pub struct AppliedPolicy {
    /// Its name; of a global one that of its definition.
    pub name: String,
    /// Its type: the name of the definition as it was asked for.
    pub type_: String,
    /// Namespace of the definition; "" where it came from a file.
    pub namespace: String,
    /// Content hash of the definition.
    pub hash: String,
    /// Whether the application names it.
    pub source: Source,
    /// What it says: some of `components`, `workflow`, `policies`, `labels`, `annotations` and `ctx`. Nothing where it was
    /// skipped or failed.
    pub output: Option<Map<String, Json>>,
    /// Whether the spec differs by it.
    pub changes_spec: bool,
    /// Whether it failed.
    pub failed: bool,
    /// Why it was skipped or failed; "" otherwise.
    pub message: String,
}

impl AppliedPolicy {
    /// How many entries of an object it says.
    fn count(&self, field: &str) -> usize {
        self.output.as_ref().and_then(|output| output.get(field)?.as_object()).map_or(0, Map::len)
    }

    /// As `status.appliedApplicationPolicies` tells it.
    pub fn to_json(&self) -> Json {
        let mut report = json!({
            "name": self.name,
            "type": self.type_,
            "namespace": self.namespace,
            "source": self.source.as_str(),
            "applied": self.output.is_some(),
            "specModified": self.changes_spec,
            "labelsCount": self.count("labels"),
            "annotationsCount": self.count("annotations"),
            "hasContext": self.count("ctx") > 0,
            "revisionHash": self.hash,
        });
        if self.failed {
            report["error"] = json!(true);
        }
        if !self.message.is_empty() {
            report["message"] = json!(self.message);
        }
        report
    }
}

/// An application after its policies, in the order in which they acted.
#[derive(Debug, Clone)]
pub struct Transformed {
    /// The application as its author wrote it.
    pub(crate) written: Document,
    /// The application as the policies leave it.
    pub(crate) document: Document,
    /// The definitions of those that acted or failed, each with the type it was asked for as.
    pub(crate) definitions: Vec<(String, Arc<Definition>)>,
    /// `context.custom` of the templates of its components.
    pub(crate) custom: Map<String, Json>,
    /// Each policy in reach, also those that were skipped.
    pub(crate) applied: Vec<AppliedPolicy>,
    /// Errors of policies that the application names, warnings about others.
    pub(crate) found: Diagnostics,
}

/// Two are equal that come from one application by the same definitions: the rest follows from these.
impl PartialEq for Transformed {
    fn eq(&self, other: &Self) -> bool {
        self.written.value() == other.written.value()
            && self.document.value() == other.document.value()
            && self.definitions == other.definitions
    }
}

impl Transformed {
    /// The application as its author wrote it.
    pub fn written(&self) -> &Document {
        &self.written
    }

    /// The application as the policies leave it.
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// What became of each policy, in the order in which they acted.
    pub fn applied(&self) -> &[AppliedPolicy] {
        &self.applied
    }

    /// Each policy that acted, with the application before and after it.
    pub fn stages(&self) -> Vec<(&AppliedPolicy, Json, Json)> {
        let mut before = self.written.value().clone();
        let mut stages = Vec::with_capacity(self.applied.len());
        for policy in &self.applied {
            let Some(output) = &policy.output else { continue };
            let after = changed(&before, output);
            stages.push((policy, std::mem::replace(&mut before, after.clone()), after));
        }
        stages
    }

    /// `context.custom` of the templates of its components.
    pub fn custom(&self) -> &Map<String, Json> {
        &self.custom
    }

    /// Errors of policies that the application names, warnings about others.
    pub fn found(&self) -> &Diagnostics {
        &self.found
    }
}

/// Lists and objects of the spec that a policy says take the place of the former ones; labels and annotations go beside those
/// that are there.
pub(crate) fn changed(application: &Json, output: &Map<String, Json>) -> Json {
    let mut value = application.clone();
    for (field, said) in output {
        match field.as_str() {
            "components" | "workflow" | "policies" => {
                if let Some(spec) = value.get_mut("spec").and_then(Json::as_object_mut) {
                    spec.insert(field.clone(), said.clone());
                }
            }
            "labels" | "annotations" => {
                let Some(metadata) = value.get_mut("metadata").and_then(Json::as_object_mut) else {
                    continue;
                };
                let all = metadata.entry(field.clone()).or_insert_with(|| Json::Object(Map::new()));
                if all.is_null() {
                    *all = Json::Object(Map::new());
                }
                if let (Some(all), Some(said)) = (all.as_object_mut(), said.as_object()) {
                    all.extend(said.clone());
                }
            }
            // `ctx` is kept beside the application.
            _ => {}
        }
    }
    value
}
