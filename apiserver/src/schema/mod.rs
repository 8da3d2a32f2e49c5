//! The schemas of custom resources: compiled once per version, then pruning, defaulting and validation.
mod compile;
mod defaults;
mod formats;
mod node;
mod prune;
mod validate;

use serde_json::Value;

pub(crate) use self::node::{Kind, Node};
use crate::cause::Cause;

/// The schema of one version of a custom resource, compiled.
pub struct Structural {
    root: Node,
    rules: Option<kube_cel::CompiledSchema>,
    source: Value,
}

impl std::fmt::Debug for Structural {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Structural").field("root", &self.root).finish_non_exhaustive()
    }
}

impl Structural {
    /// Compiles `openAPIV3Schema`; the causes name what makes it not a structural schema.
    pub fn compile(open_api_v3_schema: &Value) -> Result<Structural, Vec<Cause>> {
        let (root, rules) = compile::compile(open_api_v3_schema)?;
        Ok(Structural { root, rules, source: open_api_v3_schema.clone() })
    }

    /// The root of the schema.
    pub(crate) fn root(&self) -> &Node {
        &self.root
    }

    /// The schema it was compiled from.
    pub fn source(&self) -> &Value {
        &self.source
    }

    /// Drops unknown fields and gives back their paths.
    pub fn prune(&self, object: &mut Value) -> Vec<String> {
        prune::prune(&self.root, object)
    }

    /// Fills in defaults; a `null` where a default stands and null is not allowed counts as absent.
    pub fn apply_defaults(&self, object: &mut Value) {
        defaults::apply(&self.root, object);
    }

    /// Checks the object against the schema and its rules; `old` is the object before an update.
    pub fn validate(&self, new: &Value, old: Option<&Value>) -> Vec<Cause> {
        validate::validate(&self.root, self.rules.as_ref(), new, old)
    }
}

#[cfg(test)]
pub(crate) mod tests;
