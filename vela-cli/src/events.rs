//! An object → its events, the newest first.

use kube::api::ListParams;
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::error::Result;
use crate::pointer::text;

/// Events of one object that are read: servers forget them after an hour.
const MOST: u32 = 500;

/// What happened to an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Event {
    /// When it happened last.
    pub(crate) last: String,
    pub(crate) is_warning: bool,
    pub(crate) reason: String,
    pub(crate) message: String,
    pub(crate) count: u64,
}

/// The events of the object of this kind and name.
pub(crate) async fn of(cluster: &Cluster, namespace: &str, kind: &str, name: &str) -> Result<Vec<Event>> {
    let api = cluster.api("v1", "Event", Some(namespace)).await?;
    let list = api.list(&ListParams::default().fields(&fields(kind, name)).limit(MOST)).await;
    let list = list.map_err(|error| cluster.failure(&format!("list events of {kind} {name}"), &error))?;
    Ok(sorted(list.items.iter().map(|object| Event::read(&json!(object))).collect()))
}

/// The fields that select the events of an object.
pub(crate) fn fields(kind: &str, name: &str) -> String {
    format!("involvedObject.kind={kind},involvedObject.name={name}")
}

/// What objects of the kind Event tell, the newest first.
pub(crate) fn read<'a>(objects: impl Iterator<Item = &'a Value>) -> Vec<Event> {
    sorted(objects.map(Event::read).collect())
}

fn sorted(mut events: Vec<Event>) -> Vec<Event> {
    events.sort_by(|a, b| b.last.cmp(&a.last));
    events
}

impl Event {
    fn read(object: &Value) -> Self {
        let times =
            ["/series/lastObservedTime", "/lastTimestamp", "/eventTime", "/metadata/creationTimestamp"];
        let last = times.into_iter().map(|path| text(object, path)).find(|time| !time.is_empty());
        let count = ["/series/count", "/count"].into_iter().find_map(|path| object.pointer(path)?.as_u64());
        Self {
            last: last.unwrap_or_default().to_owned(),
            is_warning: text(object, "/type") == "Warning",
            reason: text(object, "/reason").to_owned(),
            message: text(object, "/message").trim().to_owned(),
            count: count.unwrap_or(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_an_event_are_read() {
        let old = json!({"type": "Warning", "reason": "BackOff", "message": "again\n", "count": 7,
            "eventTime": null, "firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": "2026-01-01T00:05:00Z"});
        let old = Event::read(&old);
        assert_eq!((old.last.as_str(), old.count, old.is_warning), ("2026-01-01T00:05:00Z", 7, true));
        assert_eq!(old.message, "again");
        let new = json!({"type": "Normal", "eventTime": "2026-01-01T00:00:00.000000Z", "lastTimestamp": null,
            "series": {"count": 3, "lastObservedTime": "2026-01-01T00:01:00.000000Z"}});
        let new = Event::read(&new);
        assert_eq!((new.last.as_str(), new.count, new.is_warning), ("2026-01-01T00:01:00.000000Z", 3, false));
        assert_eq!(Event::read(&json!({"metadata": {"creationTimestamp": "t"}})).last, "t");
    }
}
