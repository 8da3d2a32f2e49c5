//! Policy `env-binding`: environments, each with a place, the components that go there and what differs of them. A `deploy2env` step
//! deploys to one of them; the policy counts as one of topology and one of override for each.

use std::borrow::Cow;

use serde_json::{Map, Value as Json, json};

use super::overrides::{self, text};
use super::written::{TOPOLOGY, written};
use crate::definition::version::base_name;
use crate::workflow::DEPLOY_TO_ENV;

/// Its type, as applications name it.
pub(super) const TYPES: [&str; 2] = ["env-binding", "envbinding"];

/// The name under which steps go by an environment. No policy has a name with a slash.
pub(super) fn title(policy: &str, env: &str) -> String {
    format!("{policy}/{env}")
}

/// The environments of the policies of a spec: name of the policy, name of the environment, the whole.
fn environments(spec: &Map<String, Json>) -> impl Iterator<Item = (String, &str, &Json)> {
    let bindings = written(spec).filter(|(_, type_, _)| TYPES.contains(&base_name(type_)));
    bindings.flat_map(|(policy, _, whole)| {
        let envs = whole.pointer("/properties/envs").and_then(Json::as_array).into_iter().flatten();
        envs.filter_map(move |env| Some((policy.clone(), text(env, "name")?, env)))
    })
}

/// How many policies of environments there are.
pub(crate) fn bindings(spec: &Map<String, Json>) -> usize {
    written(spec).filter(|(_, type_, _)| TYPES.contains(&base_name(type_))).count()
}

/// What the properties of a `deploy2env` step name: the environment, of the first policy that is one of environments where it names no policy.
pub(crate) fn chosen(spec: &Map<String, Json>, properties: &Json) -> Option<String> {
    let env = text(properties, "env")?;
    let mut bindings = written(spec).filter(|(_, type_, _)| TYPES.contains(&base_name(type_)));
    let policy = match text(properties, "policy") {
        Some(policy) => policy.to_owned(),
        None => bindings.next()?.0,
    };
    Some(title(&policy, env))
}

/// What differs in an environment, as the properties of an override policy.
pub(super) fn changes<'s>(spec: &'s Map<String, Json>, wanted: &str) -> Option<Cow<'s, Json>> {
    let (_, _, env) = environments(spec).find(|(policy, env, _)| title(policy, env) == wanted)?;
    let parts = [("components", "/patch/components"), ("selector", "/selector/components")];
    let fields = parts.into_iter().filter_map(|(field, path)| {
        Some((field.to_owned(), env.pointer(path).filter(|value| !value.is_null())?.clone()))
    });
    Some(Cow::Owned(Json::Object(fields.collect())))
}

/// The spec with a step for each environment, where it writes no step and no other policy says where components go.
pub(crate) fn with_steps(spec: &Map<String, Json>) -> Option<Map<String, Json>> {
    let says_more =
        |(_, type_, _): (String, &str, &Json)| [TOPOLOGY, overrides::TYPE].contains(&base_name(type_));
    if overrides::has_steps(spec) || written(spec).any(says_more) {
        return None;
    }
    let step = |(policy, env, _): (String, &str, &Json)| {
        let name = format!("deploy-{policy}-{env}");
        json!({"name": name, "type": DEPLOY_TO_ENV, "properties": {"policy": policy, "env": env}})
    };
    let steps: Vec<Json> = environments(spec).map(step).collect();
    if steps.is_empty() {
        return None;
    }
    let mut spec = spec.clone();
    let workflow = json!({"mode": {"steps": "DAG", "subSteps": "DAG"}, "steps": steps});
    spec.insert("workflow".to_owned(), workflow);
    Some(spec)
}
