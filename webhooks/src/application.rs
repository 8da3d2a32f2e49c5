//! Validates an Application that is created or changed: it may enter if it renders.

use std::collections::BTreeMap;

use serde_json::Value;
use vela_crds::annotations::ROLLOUT_TEMPLATE;
use vela_engine::parse::contradiction;
use vela_engine::render::{Rendered, Role, State};
use vela_engine::{Code, Diagnostic, Diagnostics, Document, Snapshot, Templates, dry_run, graph, immutable};

use crate::review::{Operation, Review};
use crate::strictness::Strictness;
use crate::verdict::{Cause, Verdict};

/// The API version of a path, whose rules hold where the versions differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApiVersion {
    /// `core.oam.dev/v1alpha2`.
    V1alpha2,
    /// `core.oam.dev/v1beta1`.
    V1beta1,
}

/// Judges an Application by a dry render with everything the snapshot knows.
///
/// Deletions, objects that go away and updates that keep the spec always pass but for the rules of annotations: a
/// definition that broke later must not hold back a finalizer or a status.
pub fn validate(review: &Review, version: ApiVersion, snapshot: &Snapshot, templates: &Templates) -> Verdict {
    validate_strictly(review, version, (snapshot, templates), Strictness::default())
}

/// The same, as strictly as the operator wants it.
pub fn validate_strictly(
    review: &Review,
    version: ApiVersion,
    (snapshot, templates): (&Snapshot, &Templates),
    strictness: Strictness,
) -> Verdict {
    if !review.concerns_a_living_object() {
        return Verdict::allowed();
    }
    let mut causes = rollout_template(review, version);
    let document = Document::from_object(review.object.clone());
    if review.keeps_the_spec() {
        causes.extend(new_contradiction(review, &document));
        return Verdict { causes, ..Verdict::allowed() };
    }
    let rendered = dry_run::render(&document, snapshot, templates);
    if let Ok(rendered) = &rendered {
        causes.extend(same_outputs(rendered));
    }
    let graph = rendered.and_then(graph::graph).map_err(|first| {
        // A render stops at the phase that fails; the author gets the mistakes of all phases in one refusal.
        let all = vela_engine::check(&document, snapshot, templates);
        if all.has_errors() { all } else { first }
    });
    let mut verdict = match &graph {
        Ok(graph) => found(graph.warnings(), strictness),
        Err(diagnostics) => found(diagnostics, strictness),
    };
    if review.operation == Operation::Update && review.old_object.is_object() {
        let former = Document::from_object(review.old_object.clone());
        let changed = immutable::changes(&former, &document, snapshot);
        causes.extend(changed.iter().map(Cause::from_diagnostic));
    }
    if version == ApiVersion::V1beta1 {
        causes.extend(batches(&review.object["spec"]["rolloutPlan"]));
    }
    verdict.causes.extend(causes);
    verdict.warnings.extend(deprecated(&review.object));
    verdict
}

/// An update of annotations alone that makes them contradict each other. An update of annotations that contradict each
/// other already must pass, for the sake of finalizers.
fn new_contradiction(review: &Review, document: &Document) -> Option<Cause> {
    let contradiction = contradiction(document)?;
    let former = Document::from_object(review.old_object.clone());
    self::contradiction(&former).is_none().then(|| Cause::from_diagnostic(&contradiction))
}

/// A parameter that looks like a declared one is a slip, and refused. One that resembles nothing is warned of, unless the
/// operator is strict: KubeVela takes it, and templates are shared by people who give them more than every version of them
/// reads.
fn found(diagnostics: &Diagnostics, strictness: Strictness) -> Verdict {
    let is_slip = |diagnostic: &Diagnostic| {
        let looks_like_another =
            || diagnostic.hint.as_deref().is_some_and(|hint| hint.starts_with("did you mean"));
        diagnostic.code == Code::UnknownParameter
            && (strictness.undeclared_parameters || looks_like_another())
    };
    let mut verdict = Verdict::default();
    for diagnostic in diagnostics.iter() {
        match is_slip(diagnostic) {
            true => verdict.causes.push(Cause::from_diagnostic(diagnostic)),
            false => verdict.add(diagnostic),
        }
    }
    verdict
}

/// The seed: a rollout is asked for when the application is made, or never. Later: the annotation says `true`.
fn rollout_template(review: &Review, version: ApiVersion) -> Vec<Cause> {
    let annotation = |object: &Value| object["metadata"]["annotations"].get(ROLLOUT_TEMPLATE).cloned();
    let Some(new) = annotation(&review.object) else { return Vec::new() };
    let path = format!("metadata.annotations[{ROLLOUT_TEMPLATE:?}]");
    match version {
        ApiVersion::V1alpha2 => {
            let added = review.operation == Operation::Update && annotation(&review.old_object).is_none();
            let message = "the annotation may be set when the application is made and removed later, but not added: \
                           make the application anew";
            if added { vec![Cause::invalid(path, message)] } else { Vec::new() }
        }
        ApiVersion::V1beta1 => match new.as_str() {
            Some("" | "true") => Vec::new(),
            _ => vec![Cause::invalid(path, format!("expected \"true\" or nothing, found {new}"))],
        },
    }
}

/// Two objects of one component under one name of `outputs`: templates find only one of them.
fn same_outputs(rendered: &Rendered) -> Vec<Cause> {
    let mut causes = Vec::new();
    // Further places of a component repeat it.
    for component in rendered.components().iter().take(rendered.app_file().components().len()) {
        let State::Ready(objects) = &component.state else { continue };
        let mut names: BTreeMap<&str, String> = BTreeMap::new();
        for object in objects {
            let (name, by) = match &object.role {
                Role::Workload | Role::Policy { .. } => continue,
                Role::Auxiliary { resource } => (resource, "the component itself".to_owned()),
                Role::Trait { type_, index, resource } => (resource, format!("traits[{index}] ({type_})")),
            };
            if name.is_empty() {
                continue;
            }
            if let Some(first) = names.get(name.as_str()) {
                let message =
                    format!("outputs items name must be unique: {name:?} is made by {first} and by {by}");
                causes.push(Cause {
                    reason: "FieldValueDuplicate",
                    ..Cause::invalid(format!("spec.components[{}]", component.index), message)
                });
            } else {
                names.insert(name, by);
            }
        }
    }
    causes
}

/// Requires batches in the plan of an Application: vela adds them later only where the plan gives `targetSize` and `numBatches`.
fn batches(plan: &Value) -> Option<Cause> {
    let is_missing = |field: &str| plan[field].is_null();
    (plan.is_object()
        && is_missing("rolloutBatches")
        && (is_missing("targetSize") || is_missing("numBatches")))
    .then(|| {
        Cause::required(
            "spec.rolloutPlan.rolloutBatches",
            "the rollout plan must have batches: write them, or targetSize and numBatches",
        )
    })
}

fn deprecated(object: &Value) -> Option<String> {
    (object["apiVersion"] == "core.oam.dev/v1alpha2").then(|| {
        "core.oam.dev/v1alpha2 Application is deprecated; write core.oam.dev/v1beta1 (settings are properties, a \
         trait's name is its type)"
            .to_owned()
    })
}
