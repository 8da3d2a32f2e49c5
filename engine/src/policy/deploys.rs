//! The `deploy` steps of a workflow → what the override policies that each of them names make of the components.
//!
//! As with policies without a workflow this is done to what is written, before anything is resolved.

use std::borrow::Cow;

use serde_json::{Map, Value as Json};

use super::written::written;
use super::{cloud, environments, overrides};
use crate::definition::version::base_name;
use crate::workflow::{DEPLOY_TO_ENV, applies_by_calls, applies_several};

/// More components are not made of those written, by all steps together: each would be rendered.
const CHANGED_AT_MOST: usize = 5_000;

/// The components of one step.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Deployment {
    /// Field path of the step.
    pub(crate) step: String,
    /// The components as its policies change them; nothing where it names no such policy.
    pub(crate) components: Option<Vec<Json>>,
    /// They would be too many.
    pub(crate) is_beyond: bool,
    /// What their names have behind those that are written.
    pub(crate) suffix: String,
}

/// The components of the steps of a spec, in the order written, with those in groups.
pub(crate) fn deployments(spec: &Map<String, Json>, limit: usize) -> Vec<Deployment> {
    let Some(written) = spec.get("components").and_then(Json::as_array).filter(|all| all.len() <= limit)
    else {
        return Vec::new();
    };
    let with_steps = environments::with_steps(spec);
    let spec = with_steps.as_ref().unwrap_or(spec);
    let mut left = CHANGED_AT_MOST;
    let deployed = |(path, step): (String, &Json)| {
        let named: Vec<Cow<'_, Json>> =
            names(spec, step).iter().filter_map(|name| named(spec, name)).collect();
        let env = env_of(step);
        let suffix = env.map_or_else(String::new, cloud::suffix);
        if named.is_empty() {
            // An environment that is not there has no components, and the plan says so.
            let components = env.map(|_| Vec::new());
            return Deployment { step: path, components, is_beyond: false, suffix };
        }
        let mut components = written.clone();
        for policy in named {
            overrides::apply(&policy, &mut components, limit);
        }
        if let Some(env) = env {
            components = cloud::in_environment(components, env);
        }
        let is_beyond = components.len() > left;
        left = left.saturating_sub(components.len());
        if is_beyond {
            components.clear();
        }
        Deployment { step: path, components: Some(components), is_beyond, suffix }
    };
    steps(spec).map(deployed).collect()
}

/// The names of the policies by which a step of a spec goes; `deploy2env` and `deploy-cloud-resource` go by an
/// environment of one.
pub(crate) fn names<'s>(spec: &Map<String, Json>, step: &'s Json) -> Vec<Cow<'s, str>> {
    let type_ = step["type"].as_str().map(base_name).unwrap_or_default();
    if type_ == DEPLOY_TO_ENV || applies_by_calls(type_) {
        return environments::chosen(spec, &step["properties"]).map(Cow::Owned).into_iter().collect();
    }
    named_policies(step).map(Cow::Borrowed).collect()
}

/// The environment whose names the components of a step have.
fn env_of(step: &Json) -> Option<&str> {
    let type_ = step["type"].as_str().map(base_name)?;
    applies_by_calls(type_).then(|| step["properties"]["env"].as_str().unwrap_or_default())
}

/// The names of policies that a step writes.
pub(crate) fn named_policies(step: &Json) -> impl Iterator<Item = &str> {
    let names = step.pointer("/properties/policies").and_then(Json::as_array);
    names.into_iter().flatten().filter_map(Json::as_str)
}

/// The steps of a spec that apply several components, with their field paths.
pub(crate) fn steps(spec: &Map<String, Json>) -> impl Iterator<Item = (String, &Json)> {
    let steps = spec.get("workflow").and_then(|workflow| workflow.get("steps")).and_then(Json::as_array);
    let all = steps.into_iter().flatten().enumerate().flat_map(|(index, step)| {
        let path = format!("spec.workflow.steps[{index}]");
        let below = step.get("subSteps").and_then(Json::as_array).into_iter().flatten().enumerate();
        let of_group: Vec<(String, &Json)> =
            below.map(|(number, sub)| (format!("{path}.subSteps[{number}]"), sub)).collect();
        std::iter::once((path, step)).chain(of_group)
    });
    let applies = |type_: &str| applies_several(type_) || applies_by_calls(type_);
    all.filter(move |(_, step)| step["type"].as_str().is_some_and(|type_| applies(base_name(type_))))
}

/// The properties of the override policy of this name, or what differs in the environment of this name.
fn named<'s>(spec: &'s Map<String, Json>, wanted: &str) -> Option<Cow<'s, Json>> {
    let is_meant =
        |(name, type_, _): &(String, &str, &Json)| name == wanted && base_name(type_) == overrides::TYPE;
    match written(spec).find(is_meant) {
        Some((_, _, policy)) => policy.get("properties").map(Cow::Borrowed),
        None => environments::changes(spec, wanted),
    }
}
