//! HarborConfiguration → the configuration of the Harbor of a HarborCluster.

use serde_json::{Map, Value, json};
use vela_runtime::clock;
use vela_runtime::dynamic_watch::TrackedReads;

use super::connection;
use super::egress::Egress;
use super::error::Error;
use super::outcome::Outcome;
use super::reads::Reads;
use crate::owner::Owner;

/// Fields that name secrets.
const SECRETS: [&str; 4] = ["emailPassword", "ldapSearchPassword", "oidcClientSecret", "uaaClientSecret"];

/// Has the Harbor take the configuration; its status.
pub(crate) async fn apply(owner: &Owner, tracked: &TrackedReads, egress: &Egress) -> Outcome {
    let before = &owner.object()["status"];
    match tell(owner, tracked, egress).await {
        Ok(()) => {
            let last = json!({
                "configuration": owner.spec("configuration").or_empty(),
                "harborClusterRef": owner.spec("harborClusterRef").value(),
            });
            // The time of the first success with this spec: a later one changes nothing.
            let is_same = before["status"] == "Success" && before["lastConfiguration"] == last;
            let time =
                if is_same { before["lastApplyTime"].clone() } else { json!(clock::now().to_string()) };
            let status = json!({
                "status": "Success",
                "reason": "ConfigurationApplySuccess",
                "message": "Harbor has the configuration",
                "lastApplyTime": time,
                "lastConfiguration": last,
            });
            Outcome::settled(status)
        }
        Err(error) => {
            let status = json!({ "status": "Fail", "reason": "ConfigurationApplyError", "message": error.to_string() });
            Outcome::failed(status, error.waits_for_change())
        }
    }
}

async fn tell(owner: &Owner, tracked: &TrackedReads, egress: &Egress) -> Result<(), Error> {
    let reads = Reads { owner, tracked };
    let server = connection::of_cluster(&reads, &owner.spec("harborClusterRef")).await?;
    let settings = settings(&reads).await?;
    server.configure(egress, &settings).await
}

/// The settings by their names in Harbor's API, with the contents of secrets.
async fn settings(reads: &Reads<'_>) -> Result<Value, Error> {
    let given = reads.owner.spec("configuration");
    let mut settings = Map::new();
    for (name, value) in given.value().as_object().into_iter().flatten().filter(|(_, value)| !value.is_null())
    {
        let setting = api_name(name);
        let value = match SECRETS.contains(&name.as_str()) {
            true => json!(reads.secret(reads.owner.namespace(), &given.get(name), &setting).await?),
            false => value.clone(),
        };
        settings.insert(setting, value);
    }
    Ok(Value::Object(settings))
}

/// `ldapBaseDn` is `ldap_base_dn` there.
pub(super) fn api_name(field: &str) -> String {
    let mut name = String::with_capacity(field.len());
    for letter in field.chars() {
        if letter.is_ascii_uppercase() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}
