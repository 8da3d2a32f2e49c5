//! An object of goharbor.io in, everything that is wrong with it out. Pure: the webhook refuses such an object, and the reconciler says the
//! same in a condition where no webhook runs.
//!
//! | file | what it judges |
//! |---|---|
//! | `harbor` | Harbor, and what a HarborCluster has in common with it |
//! | `cluster` | HarborCluster; what its defaulting takes away |
//! | `part` | JobService and Registry |
//! | `version` | which release may follow which |
//! | `url` | the external URL |
//! | `invalid` | one mistake, and how all of them are said |

mod cluster;
mod harbor;
mod invalid;
mod part;
mod url;
mod version;

use serde_json::Value;

use crate::field::Field;

pub(crate) use harbor::STORAGES;

pub use cluster::defaults as cluster_defaults;
pub use invalid::{Invalid, Reason, refusal, sentence};

/// What is wrong with an object, where `old` is the one that it replaces. Kinds without rules of their own have no mistakes.
#[must_use]
pub fn validate(object: &Value, old: Option<&Value>) -> Vec<Invalid> {
    let mut found = Vec::new();
    let spec = Field::new("", "spec", &object["spec"]);
    let before = old.map(|old| Field::new("", "spec", &old["spec"]));
    match object["kind"].as_str().unwrap_or_default() {
        "Harbor" => harbor::check(&spec, before.as_ref(), &mut found),
        "HarborCluster" => cluster::check(&spec, before.as_ref(), &mut found),
        "JobService" => part::job_service(&spec, &mut found),
        "Registry" => part::registry(&spec, &mut found),
        _ => {}
    }
    found
}

/// What is wrong with an object that stands: the same, but its release is not compared with another one.
#[must_use]
pub fn standing(object: &Value) -> Vec<Invalid> {
    validate(object, Some(object))
}
