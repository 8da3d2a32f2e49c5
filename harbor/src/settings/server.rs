//! HarborServerConfiguration → whether its server works and takes the account, and whether its rules can be read.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube::api::DynamicObject;
use serde_json::{Value, json};
use vela_runtime::dynamic_watch::TrackedReads;
use vela_runtime::egress::EgressPolicy;

use super::connection;
use super::error::Error;
use super::outcome::Outcome;
use super::reads::Reads;
use super::selection;
use crate::field::Field;
use crate::owner::Owner;

/// Rules of one object at most.
const RULES_AT_MOST: usize = 256;

/// Asks the server; the status of the object. `all` are the objects of its kind.
pub(crate) async fn apply(
    owner: &Owner,
    tracked: &TrackedReads,
    policy: EgressPolicy,
    all: &[Arc<DynamicObject>],
) -> Outcome {
    let status = |status: &str, reason: &str, message: &str| json!({ "status": status, "reason": reason, "message": message });
    match check(owner, tracked, policy, all).await {
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
    policy: EgressPolicy,
    all: &[Arc<DynamicObject>],
) -> Result<String, Error> {
    rules(&owner.spec("rules"))?;
    // Its form is what counts here; which namespaces it selects is asked where one uses the server.
    selection::selects(&owner.spec("namespaceSelector"), &BTreeMap::new())?;
    if owner.spec("default").flag()? {
        only_default(owner, all)?;
    }
    let server = connection::of_configuration(&Reads { owner, tracked }, owner.object()).await?;
    server.is_healthy(policy).await?;
    server.takes_account(policy).await?;
    Ok(server.url)
}

/// A rule names images by their repository, and the project that they come from instead: `docker.io,proxy`.
fn rules(field: &Field<'_>) -> Result<(), crate::error::Error> {
    let rules = field.list()?;
    if rules.len() > RULES_AT_MOST {
        return Err(field.wrong(format!("has more than {RULES_AT_MOST} rules: leave some out")));
    }
    for rule in rules {
        // An expression may have a comma, a project has none.
        let parts = rule.text()?.rsplit_once(',');
        let is_rule =
            parts.is_some_and(|(images, project)| !images.trim().is_empty() && is_project(project.trim()));
        if !is_rule {
            return Err(rule.wrong(
                "must be a repository, a comma and a project of the Harbor, such as \"docker.io,proxy\"",
            ));
        }
    }
    Ok(())
}

fn is_project(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    name.bytes().next().is_some_and(is_letter)
        && name.bytes().all(|byte| is_letter(byte) || matches!(byte, b'.' | b'_' | b'-'))
}

/// At most one is the default: the oldest of those that say so.
fn only_default(owner: &Owner, all: &[Arc<DynamicObject>]) -> Result<(), crate::error::Error> {
    let defaults = all.iter().filter(|one| is_default(one));
    let age = |one: &DynamicObject| {
        let time = one.metadata.creation_timestamp.as_ref().map(|time| time.0);
        (time, one.metadata.name.clone().unwrap_or_default())
    };
    let Some((_, first)) = defaults.map(|one| age(one)).min() else { return Ok(()) };
    if first == owner.name() {
        return Ok(());
    }
    Err(owner.spec("default").wrong(format!(
        "must be false: HarborServerConfiguration {first} is the default already, and only one can be"
    )))
}

fn is_default(object: &DynamicObject) -> bool {
    object.metadata.deletion_timestamp.is_none() && object.data["spec"]["default"] == Value::Bool(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_name_a_repository_and_a_project() {
        let said = |rule: &str| {
            let value = json!([rule]);
            let field = Field::new("HarborServerConfiguration main", "spec.rules", &value);
            rules(&field).map_err(|error| error.to_string())
        };
        for rule in ["docker.io,proxy", "*,all-others", "quay.io/[a-z]{1,3}/.*, team.a_b"] {
            assert_eq!(said(rule), Ok(()), "{rule}");
        }
        for rule in ["docker.io", ",proxy", "docker.io,", "docker.io:proxy", "docker.io,Proxy", "a,-b"] {
            let error = said(rule).unwrap_err();
            assert!(error.contains("spec.rules[0] must be a repository, a comma"), "{rule}: {error}");
        }
        let many = json!(vec!["docker.io,proxy"; RULES_AT_MOST + 1]);
        let error = rules(&Field::new("x", "spec.rules", &many)).unwrap_err().to_string();
        assert!(error.contains("has more than 256 rules"), "{error}");
    }
}
