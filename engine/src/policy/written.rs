//! The policies of a spec as they are written.

use serde_json::{Map, Value as Json};

/// The type of policies that say where components go.
pub(super) const TOPOLOGY: &str = "topology";

/// The name of a policy; one is made up where there is none, as upstream.
pub(super) fn name_of(name: &str, type_: &str, index: usize) -> String {
    if name.is_empty() { format!("{type_}-auto-gen-{index}") } else { name.to_owned() }
}

/// The names of the policies that a spec writes; one is made up where there is none, as upstream.
pub(crate) fn written_names(spec: &Map<String, Json>) -> impl Iterator<Item = String> {
    written(spec).map(|(name, _, _)| name)
}

/// Name, type and the whole of each policy.
pub(super) fn written(spec: &Map<String, Json>) -> impl Iterator<Item = (String, &str, &Json)> {
    let policies = spec.get("policies").and_then(Json::as_array).into_iter().flatten().enumerate();
    policies.map(|(index, policy)| {
        let type_ = policy["type"].as_str().unwrap_or_default();
        let name = name_of(policy["name"].as_str().unwrap_or_default(), type_, index);
        (name, type_, policy)
    })
}
