//! What a sandbox holds of another release → what this one brings, with a record, so that `vela install` knows it later.
//!
//! Types that a user edited stay. Nothing is taken away here: what this release has no more stays in the record, and `vela install`
//! takes it away when a user asks for it.

use serde_json::Value;

use super::edits::reason_to_retain;
use super::record::{Entry, Id, Record};
use super::{namespace, put, webhooks};
use crate::cluster::Cluster;
use crate::error::Result;

/// Applies the objects; every kind is served before the first object of that kind comes. Gives a line about each that stays as
/// a user made it. In a new sandbox there is none.
pub(crate) async fn renew(cluster: &Cluster, objects: &[Value], is_new: bool) -> Result<Vec<String>> {
    let home = cluster.system_namespace().await?;
    put(cluster, &namespace(home)).await?;
    let former = if is_new { None } else { Record::read(cluster).await? };
    if let Some(record) = &former {
        put(cluster, &with_new_names(cluster, record, objects).await?.object(home)).await?;
    }
    let (mut entries, mut retained) = (Vec::new(), Vec::new());
    for object in webhooks::standing_first(cluster, objects).await? {
        let id = Id::of(object);
        if !is_new
            && let Some(live) = live(cluster, &id).await?
            && let Some(why) = reason_to_retain(cluster, former.as_ref(), &id, object, &live).await?
        {
            retained.push(format!(
                "{} kept: {why}. `vela install --reset-definitions` brings that of this release.",
                id.title()
            ));
            // An object of a user that has the name never gets into the record.
            if former.as_ref().is_none_or(|record| record.entry(&id).is_some()) {
                entries.push(Entry::edited(&id, &live));
            }
            continue;
        }
        let (_, after) = put(cluster, object).await?;
        entries.push(Entry::written(&id, &after));
    }
    let ids: Vec<Id> = objects.iter().map(Id::of).collect();
    let (flags, others) = former.map(|record| (record.flags, record.entries)).unwrap_or_default();
    entries.extend(others.into_iter().filter(|entry| !ids.contains(&entry.id)));
    let record = Record { version: env!("CARGO_PKG_VERSION").to_owned(), flags, entries };
    put(cluster, &record.object(home)).await?;
    Ok(retained)
}

/// The record with the names that no object has yet, so that what is written next is known where the process ends early.
async fn with_new_names(cluster: &Cluster, record: &Record, objects: &[Value]) -> Result<Record> {
    let mut named = record.clone();
    for id in objects.iter().map(Id::of).filter(|id| record.entry(id).is_none()) {
        if live(cluster, &id).await?.is_none() {
            named.entries.push(Entry::named(id));
        }
    }
    Ok(named)
}

async fn live(cluster: &Cluster, id: &Id) -> Result<Option<kube::api::DynamicObject>> {
    if !cluster.knows(&id.api_version, &id.kind).await? {
        return Ok(None);
    }
    cluster.get(&id.api_version, &id.kind, id.namespace(), &id.name).await
}
