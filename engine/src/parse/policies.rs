//! Parses `spec.policies` into policies with the definitions of their types.

use serde_json::{Map, Value as Json};

use super::{Parser, Policy};
use crate::definition::DefinitionKind;
use crate::diagnostic::Code;
use crate::policy;
use crate::transformed::Transformed;

impl<'a> Parser<'a> {
    pub(super) fn policies(&mut self, spec: &'a Map<String, Json>) -> Vec<Policy> {
        let mut policies: Vec<Policy> = Vec::new();
        for (index, value) in self.list("spec.policies", spec.get("policies")).iter().enumerate() {
            let path = format!("spec.policies[{index}]");
            let fields = self.object(&path, Some(value));
            self.known_fields(&path, fields, &["name", "type", "properties"]);
            let Some(type_) = self.required_type(&path, fields, "type", "a policy") else { continue };
            self.named_version(&path, &type_, DefinitionKind::Policy);
            self.known_policy(&path, &type_);
            let name = fields.get("name").and_then(Json::as_str).unwrap_or("").to_owned();
            if !name.is_empty() && policies.iter().any(|policy| policy.name == name) {
                self.error(
                    Code::DuplicateName,
                    &format!("{path}.name"),
                    format!("policy name {name:?} is used twice"),
                    None,
                );
            }
            let properties = self.properties(&path, fields, "properties");
            let definition = match policy::is_built_in(&type_) {
                true => None,
                false => self.snapshot.definition(DefinitionKind::Policy, &type_).cloned(),
            };
            policies.push(Policy { name, type_, properties, path, definition });
        }
        policies
    }

    /// A policy that changes applications acted before, unless another policy brought it.
    pub(super) fn were_run(&mut self, policies: &[Policy], transformed: Option<&Transformed>) {
        for policy in policies.iter().filter(|policy| policy.changes_application()) {
            let mut applied = transformed.into_iter().flat_map(Transformed::applied);
            if self.found.has_errors() || applied.any(|applied| applied.type_ == policy.type_) {
                continue;
            }
            let message = format!("policy type {:?} changes applications, and was not run", policy.type_);
            let hint = "a policy of the scope Application acts where the author of a v1beta1 Application names it, not where \
                        another policy adds it; vela-core may run with --feature-gates=EnableApplicationScopedPolicies=false";
            let path = format!("{}.type", policy.path);
            self.error(Code::NotSupported, &path, message, Some(hint.to_owned()));
        }
    }
}
