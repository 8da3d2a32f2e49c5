//! HarborServerConfiguration → whether its server works and takes the account, and whether its rules can be read.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube::api::DynamicObject;
use serde_json::json;
use vela_runtime::dynamic_watch::TrackedReads;

use super::connection;
use super::egress::Egress;
use super::error::Error;
use super::outcome::Outcome;
use super::reads::Reads;
use super::rule;
use super::selection;
use crate::owner::Owner;

/// Asks the server; the status of the object. `all` are the objects of its kind.
pub(crate) async fn apply(
    owner: &Owner,
    tracked: &TrackedReads,
    egress: &Egress,
    all: &[Arc<DynamicObject>],
) -> Outcome {
    let status = |status: &str, reason: &str, message: &str| json!({ "status": status, "reason": reason, "message": message });
    match check(owner, tracked, egress, all).await {
        Ok(url) => {
            let message = format!("Harbor at {url} is healthy and takes the account");
            Outcome::settled(status("Success", "ServerCheckSuccess", &message))
        }
        Err(error) => {
            let reason = if matches!(error, Error::Spec(_)) { "InvalidSpec" } else { "ServerCheckError" };
            Outcome::failed(status("Fail", reason, &error.to_string()), error.waits_for_change())
        }
    }
}

async fn check(
    owner: &Owner,
    tracked: &TrackedReads,
    egress: &Egress,
    all: &[Arc<DynamicObject>],
) -> Result<String, Error> {
    rule::of_list(&owner.spec("rules"))?;
    // Its form is what counts here; which namespaces it selects is asked where one uses the server.
    selection::selects(&owner.spec("namespaceSelector"), &BTreeMap::new())?;
    if owner.spec("default").flag()? {
        only_default(owner, all)?;
    }
    let server = connection::of_configuration(&Reads { owner, tracked }, owner.object()).await?;
    server.is_healthy(egress).await?;
    server.takes_account(egress).await?;
    Ok(server.url)
}

/// At most one is the default: the oldest of those that say so.
fn only_default(owner: &Owner, all: &[Arc<DynamicObject>]) -> Result<(), crate::error::Error> {
    let default = selection::default_of(all.iter().map(AsRef::as_ref));
    let first = default.and_then(|default| default.metadata.name.as_deref());
    let Some(first) = first.filter(|first| *first != owner.name()) else { return Ok(()) };
    Err(owner.spec("default").wrong(format!(
        "must be false: HarborServerConfiguration {first} is the default already, and only one can be"
    )))
}
