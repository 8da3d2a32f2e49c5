//! What a former release installed and this one no longer has → what goes, and what stays and why.
//!
//! Only what the record names goes, and only where it is still the object that was installed. Data of users never goes with it:
//! a kind with objects stays, and a definition that is edited or used.

use kube::api::DynamicObject;
use serde_json::json;
use vela_engine::DefinitionKind;

use crate::applications::enumerated;
use crate::cluster::Cluster;
use crate::command::def;
use crate::command::uninstall;
use crate::error::Result;
use crate::installation::edits::{edited, is_written_by_us};
use crate::installation::record::{Entry, Id, Record};

/// What becomes of a leftover.
pub(super) enum Fate {
    /// It is not there any more.
    Gone,
    Goes,
    /// And why.
    Stays(String),
}

/// The entries of the record that no flag of this release brings.
pub(super) fn of(record: Option<&Record>, known: &[Id]) -> Vec<Entry> {
    let entries = record.map(|record| record.entries.as_slice()).unwrap_or_default();
    entries.iter().filter(|entry| !known.contains(&entry.id)).cloned().collect()
}

/// What becomes of one of them; only looks.
pub(super) async fn fate(cluster: &Cluster, record: &Record, entry: &Entry) -> Result<Fate> {
    let Id { api_version, kind, name, .. } = &entry.id;
    if !cluster.knows(api_version, kind).await? {
        return Ok(Fate::Gone);
    }
    let Some(live) = cluster.get(api_version, kind, entry.id.namespace(), name).await? else {
        return Ok(Fate::Gone);
    };
    if let Some(why) = not_ours(entry, &live) {
        return Ok(Fate::Stays(why));
    }
    let why = match kind.as_str() {
        "Namespace" => Some("it may hold objects of others".to_owned()),
        "CustomResourceDefinition" => objects_of(cluster, &live).await?,
        kind => match DefinitionKind::from_kind(kind) {
            Some(kind) => use_of(cluster, record, entry, kind, &live).await?,
            None => None,
        },
    };
    Ok(why.map_or(Fate::Goes, Fate::Stays))
}

fn not_ours(entry: &Entry, live: &DynamicObject) -> Option<String> {
    let is_other = !entry.uid.is_empty() && live.metadata.uid.as_deref() != Some(entry.uid.as_str());
    if is_other {
        return Some("it was made anew since".to_owned());
    }
    (!is_written_by_us(live)).then(|| "vela owns no field of it".to_owned())
}

async fn objects_of(cluster: &Cluster, live: &DynamicObject) -> Result<Option<String>> {
    let objects = uninstall::stored(cluster, &json!(live)).await?;
    Ok((!objects.is_empty()).then(|| format!("its objects would go with it: {}", enumerated(&objects))))
}

async fn use_of(
    cluster: &Cluster,
    record: &Record,
    entry: &Entry,
    kind: DefinitionKind,
    live: &DynamicObject,
) -> Result<Option<String>> {
    if let Some(why) = edited(Some(record), &entry.id, live) {
        return Ok(Some(why));
    }
    let users = def::users_of(cluster, kind, &entry.id.namespace, &entry.id.name).await?;
    Ok((!users.is_empty()).then(|| format!("it is used by {}", enumerated(&users))))
}

/// Webhook configurations go before anything is written: their server may be one that this release has no more.
pub(super) fn is_registration(entry: &Entry) -> bool {
    entry.id.kind.ends_with("WebhookConfiguration")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_flag_of_this_release_brings_is_no_leftover() {
        let object = |name: &str| json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}});
        let entry = |name: &str| Entry { id: Id::of(&object(name)), uid: String::new(), generation: 0 };
        let record = Record {
            version: String::new(),
            flags: Vec::new(),
            entries: vec![entry("old"), entry("webhook")],
        };
        let found = of(Some(&record), &[Id::of(&object("webhook"))]);
        assert_eq!(found, [entry("old")]);
        assert!(of(None, &[]).is_empty());
    }
}
