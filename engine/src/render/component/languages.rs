//! Renders definitions that are not written in CUE.

use serde_json::{Value as Json, json};

use crate::definition::{Definition, Language};
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::field_path;
use crate::render::patch::Tree;
use crate::render::{cue, helm, kube, terraform};

/// The name of a chart's release among the outputs of its component.
pub(super) const RELEASE: &str = "release";

/// Objects of no known origin.
pub(super) fn plain(output: &Json, outputs: Vec<(String, Tree)>) -> cue::Component {
    cue::Component { output: Tree::from(output), outputs, origin: None }
}

pub(super) fn kube_object(definition: &Definition, parameter: &Json) -> Result<Json, Diagnostics> {
    let Language::Kube { template, parameters } = definition.language() else {
        return Err(Diagnostic::error(Code::BadDefinition, "not a kube schematic").into());
    };
    kube::render(template, parameters, parameter).map_err(|findings| {
        findings
            .into_iter()
            .map(|(name, mut finding)| {
                finding.path = "parameter".to_owned();
                if !name.is_empty() {
                    field_path::push_field(&mut finding.path, &name);
                }
                finding
            })
            .collect()
    })
}

/// The bare workload that traits patch, the release and the repository.
pub(super) fn helm_objects(
    definition: &Definition,
    parameter: &Json,
    context: &Json,
) -> Result<cue::Component, Diagnostics> {
    let Language::Helm { release, repository } = definition.language() else {
        return Err(Diagnostic::error(Code::BadDefinition, "not a helm schematic").into());
    };
    let made = helm::render(release, repository, parameter, context)
        .map_err(|message| Diagnostic::error(Code::BadDefinition, message))?;
    let workload = match definition.workload_kind() {
        Some((api_version, kind)) => json!({ "apiVersion": api_version, "kind": kind }),
        None => json!({}),
    };
    let outputs = vec![
        (RELEASE.to_owned(), Tree::from(&made.release)),
        ("repository".to_owned(), Tree::from(&made.repository)),
    ];
    Ok(plain(&workload, outputs))
}

pub(super) fn terraform_object(
    definition: &Definition,
    parameter: &Json,
    context: &Json,
) -> Result<Json, Diagnostics> {
    let Language::Terraform(schematic) = definition.language() else {
        return Err(Diagnostic::error(Code::BadDefinition, "not a terraform schematic").into());
    };
    let annotations = definition.object().pointer("/metadata/annotations").filter(|found| found.is_object());
    let namespace = context.get("namespace").and_then(Json::as_str).unwrap_or("default");
    terraform::render(schematic, annotations, parameter, namespace)
        .map_err(|message| Diagnostic::error(Code::BadDefinition, message).into())
}

/// The name of a document from a text template: its kind in lower case.
pub(super) fn resource_name(object: &Json) -> String {
    object.get("kind").and_then(Json::as_str).unwrap_or("").to_lowercase()
}

/// Documents of a text template: `patch:` changes the workload, every other document is an object.
pub(super) fn text_trait(documents: Vec<Json>) -> cue::Trait {
    let mut made = cue::Trait::default();
    for document in documents {
        match document.get("patch").filter(|_| document.get("kind").is_none()) {
            Some(patch) => made.patch = Some(cue::Patch::plain(Tree::from(patch))),
            None => made.outputs.push((resource_name(&document), Tree::from(&document))),
        }
    }
    made
}
