//! Mutates an AppRollout, whose plan is completed, and validates it.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use vela_crds::RolloutPlan;
use vela_engine::application_configuration::rolled_components::rolled;
use vela_engine::application_configuration::{API_VERSION, KIND};
use vela_engine::rollout::plan::{self, Distribution, Finding};
use vela_engine::rollout::spelling::{CONFIGURATIONS, Misspelled, Spelling};
use vela_engine::{ObjectKey, Snapshot};

use crate::application::ApiVersion;
use crate::fields;
use crate::review::{Operation, Review};
use crate::verdict::{Cause, Refusal, Verdict};

/// Fills in the strategy, and batches where their number and the size are given.
pub fn mutate(review: &Review, version: ApiVersion) -> Verdict {
    let mut object = review.object.clone();
    if is_without_content(&object) {
        return Verdict::allowed();
    }
    let named = |field: &&str| object["spec"][*field].as_str().is_some_and(|name| !name.is_empty());
    let sources = ["sourceAppRevisionName", "sourceApplicationName"];
    let is_rollout = version == ApiVersion::V1alpha2 || sources.iter().any(named);
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else {
        return Verdict::bad_request("spec", "expected an object");
    };
    if version == ApiVersion::V1alpha2 && spec.get("revertOnDelete").is_none_or(Value::is_null) {
        spec.insert("revertOnDelete".to_owned(), json!(false));
    }
    let plan = spec.entry("rolloutPlan").or_insert_with(|| json!({}));
    let Some(plan) = plan.as_object_mut() else {
        return Verdict::bad_request("spec.rolloutPlan", "expected an object");
    };
    let how = match version {
        ApiVersion::V1alpha2 => Distribution::RestLast,
        ApiVersion::V1beta1 => Distribution::RoundRobin,
    };
    if let Err(finding) = plan::complete(plan, is_rollout.then_some(how)) {
        return Verdict::refused(Refusal::Invalid, vec![cause(finding)]);
    }
    Verdict::changed(review, &object)
}

/// Is it an ApplicationDeployment of release 0.3? It asks for nothing.
fn is_without_content(object: &Value) -> bool {
    let fields = ["targetApplicationName", "sourceApplicationName", "rolloutPlan"];
    object["kind"] == "ApplicationDeployment" && fields.iter().all(|field| object["spec"][*field].is_null())
}

/// The revisions and configurations that must be there to judge a rollout.
pub fn references(review: &Review) -> BTreeSet<ObjectKey> {
    let named = |spelling: Spelling| {
        let names =
            spelling.fields().into_iter().filter_map(move |field| review.object["spec"][field].as_str());
        names.filter(|name| !name.is_empty()).map(move |name| key(review, spelling, name))
    };
    [Spelling::Revisions, Spelling::Configurations].into_iter().flat_map(named).collect()
}

/// The ends of a rollout of this spelling.
fn key(review: &Review, spelling: Spelling, name: &str) -> ObjectKey {
    match spelling {
        Spelling::Revisions => revision_key(review, name),
        Spelling::Configurations => ObjectKey::local(API_VERSION, KIND, review.object_namespace(), name),
    }
}

fn revision_key(review: &Review, name: &str) -> ObjectKey {
    ObjectKey::local("core.oam.dev/v1beta1", "ApplicationRevision", review.object_namespace(), name)
}

/// Judges a rollout with the revisions it goes from and to.
pub fn validate(review: &Review, snapshot: &Snapshot) -> Verdict {
    if !review.concerns_a_living_object() || review.keeps_the_spec() {
        return Verdict::allowed();
    }
    if is_without_content(&review.object) {
        return Verdict::allowed();
    }
    let mut causes = fields::metadata(&review.object);
    let spelling = Spelling::of(&review.object["spec"]);
    causes.extend(match &spelling {
        Ok(Spelling::Configurations) => configurations(review, snapshot),
        Err(wrong) if !wrong.missing || wrong.field == CONFIGURATIONS[0] => vec![misspelled(wrong)],
        Ok(Spelling::Revisions) | Err(_) => revisions(review, snapshot),
    });
    let plan = &review.object["spec"]["rolloutPlan"];
    causes.extend(plan::check(plan).into_iter().chain(plan::missing(plan)).map(cause));
    causes.extend(ended(review));
    Verdict::refused(Refusal::Invalid, causes)
}

/// The errors in the plan of a rollout, at their fields.
fn cause(finding: Finding) -> Cause {
    let field = format!("spec.rolloutPlan.{}", finding.path);
    let field = field.trim_end_matches('.');
    match finding.missing {
        true => Cause::required(field, finding.message),
        false => Cause::invalid(field, finding.message),
    }
}

fn misspelled(wrong: &Misspelled) -> Cause {
    let field = format!("spec.{}", wrong.field);
    match wrong.missing {
        true => Cause::required(field, wrong.message.clone()),
        false => Cause::invalid(field, wrong.message.clone()),
    }
}

/// The errors in the configurations that a rollout goes between.
fn configurations(review: &Review, snapshot: &Snapshot) -> Vec<Cause> {
    let spec = &review.object["spec"];
    let [to, from] = CONFIGURATIONS;
    let name = |field: &str| spec[field].as_str().unwrap_or_default();
    let source = Some(name(from)).filter(|name| !name.is_empty());
    let mut causes: Vec<Cause> =
        Spelling::Configurations.differ(name(to), source).err().iter().map(misspelled).collect();
    let mut found = |field: &str, name: &str| {
        let found = snapshot.object(&key(review, Spelling::Configurations, name));
        if found.is_none() {
            let namespace = review.object_namespace();
            let message = format!(
                "{KIND} {name:?} not found in namespace {namespace:?}; an Application in the v1alpha2 form with the annotation \
                 app.oam.dev/rollout-template stores <application>-v<N>"
            );
            causes.push(Cause::not_found(format!("spec.{field}"), message));
        }
        found
    };
    let target = found(to, name(to));
    let from = source.map(|name| found(from, name));
    let (Some(target), Some(from)) = (target, from.map_or(Some(None), |from| from.map(Some))) else {
        return causes;
    };
    let listed = spec["componentList"].as_array().into_iter().flatten();
    let listed: Vec<String> = listed.filter_map(Value::as_str).map(str::to_owned).collect();
    if let (true, Err(why)) = (causes.is_empty(), rolled(&listed, target, from)) {
        causes.push(Cause::invalid("spec.componentList", why));
    }
    causes
}

fn revisions(review: &Review, snapshot: &Snapshot) -> Vec<Cause> {
    let spec = &review.object["spec"];
    let name = |field: &str| spec[field].as_str().unwrap_or_default();
    let (target, source) = (name("targetAppRevisionName"), name("sourceAppRevisionName"));
    let mut causes = Vec::new();
    if target.is_empty() {
        causes.push(Cause::required("spec.targetAppRevisionName", "a rollout needs the revision to go to"));
    }
    let from = Some(source).filter(|name| !name.is_empty());
    causes.extend(Spelling::Revisions.differ(target, from).err().iter().map(misspelled));
    let mut components = |field: &str, name: &str| {
        if name.is_empty() {
            return None;
        }
        let path = format!("spec.{field}");
        let Some(revision) = snapshot.object(&revision_key(review, name)) else {
            let message = format!(
                "ApplicationRevision {name:?} not found in namespace {:?}",
                review.object_namespace()
            );
            causes.push(Cause::not_found(path, message));
            return None;
        };
        let components = components_of(revision);
        if components.is_none() {
            causes.push(Cause::invalid(path, format!("ApplicationRevision {name:?} holds no components")));
        }
        components
    };
    let to = components("targetAppRevisionName", target);
    let from = components("sourceAppRevisionName", source);
    let common: Option<BTreeSet<String>> = match (to, from) {
        (Some(to), None) if source.is_empty() => Some(to),
        (Some(to), Some(from)) => Some(to.intersection(&from).cloned().collect()),
        _ => None,
    };
    causes.extend(component_list(&spec["componentList"], common.as_ref()));
    causes
}

fn component_list(list: &Value, common: Option<&BTreeSet<String>>) -> Vec<Cause> {
    let path = "spec.componentList";
    let listed: Vec<&str> = list.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut causes = Vec::new();
    let Some(common) = common else { return causes };
    let names = || common.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    if listed.is_empty() && common.len() != 1 {
        let message = format!(
            "name the components to roll out: source and target have {} in common ({})",
            common.len(),
            names()
        );
        causes.push(Cause::too_many(path, message));
    }
    for name in listed.iter().filter(|name| !common.contains(**name)) {
        let message = format!("component {name:?} is not in both source and target; common are: {}", names());
        causes.push(Cause::invalid(path, message));
    }
    causes
}

/// The names of the components of a revision, in the form of today or that of release 1.0.
fn components_of(revision: &Value) -> Option<BTreeSet<String>> {
    let spec = &revision["spec"];
    let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let components = spec.pointer("/applicationConfiguration/spec/components").and_then(Value::as_array);
    if let Some(components) = components {
        let name = |entry: &Value| {
            let of_revision = |revision: String| revision.rsplit_once('-').map(|(name, _)| name.to_owned());
            text(&entry["revisionName"]).and_then(of_revision).or_else(|| text(&entry["componentName"]))
        };
        return Some(components.iter().filter_map(name).collect());
    }
    let components = spec.pointer("/application/spec/components")?.as_array()?;
    Some(components.iter().filter_map(|component| text(&component["name"])).collect())
}

/// A rollout that ended keeps its plan: a new one has another target or source.
fn ended(review: &Review) -> Option<Cause> {
    let (old, new) = (&review.old_object, &review.object);
    let state = old["status"]["rollingState"].as_str().unwrap_or_default();
    let same = |field: &str| old["spec"][field] == new["spec"][field];
    let plan = |object: &Value| {
        let written = object["spec"]["rolloutPlan"].clone();
        serde_json::from_value::<RolloutPlan>(written.clone()).map_err(|_| written)
    };
    (review.operation == Operation::Update
        && ["rolloutSucceed", "rolloutFailed"].contains(&state)
        && [Spelling::Revisions, Spelling::Configurations]
            .iter()
            .all(|each| each.fields().into_iter().all(same))
        && plan(old) != plan(new))
    .then(|| {
        let message =
            "a successful or failed rollout cannot be modified without changing the target or the source";
        Cause::invalid("spec.rolloutPlan", message)
    })
}
