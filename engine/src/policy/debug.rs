//! Policy `debug`: what each step of the workflow saw is recorded for people.

use serde_json::Value as Json;

use crate::definition::version::base_name;

/// The type of the policy.
pub(super) const TYPE: &str = "debug";

/// Does the application have such a policy?
pub fn is_debugged(application: &Json) -> bool {
    let policies = application.pointer("/spec/policies").and_then(Json::as_array);
    let mut types = policies.into_iter().flatten().filter_map(|policy| policy["type"].as_str());
    types.any(|type_| base_name(type_) == TYPE)
}
