//! Core Events go after a while, as kube-apiserver lets them go.

use super::act::stored;
use crate::object;
use crate::verbs::{Context, DeleteOptions, delete_object};

/// How long core Events are kept, as kube-apiserver does by default.
const EVENT_TTL: jiff::SignedDuration = jiff::SignedDuration::from_hours(1);
/// Events kept at most, so that a crash loop cannot fill the store within the hour.
const EVENTS_MAX: usize = 10_000;

/// Deletes Events that are too old for their readers.
pub(super) fn expire(context: &Context<'_>) {
    let Ok(resource) = stored(context, "events") else { return };
    let now = context.clock.now();
    let mut events = context.store.list(&resource.store, None).0;
    // The newest last: what was written last is kept longest.
    events.sort_by_key(|event| event.revision());
    let too_many = events.len().saturating_sub(EVENTS_MAX);
    for (at, event) in events.iter().enumerate() {
        if at >= too_many {
            let event = event.shared();
            let seen = ["lastTimestamp", "eventTime"].iter().find_map(|field| event[*field].as_str());
            let seen = seen.unwrap_or_else(|| object::meta(&event, "creationTimestamp"));
            let seen = seen.parse::<jiff::Timestamp>();
            if !seen.is_ok_and(|seen| now.duration_since(seen) > EVENT_TTL) {
                // Those after it were written later.
                break;
            }
        }
        let (namespace, name) = (object::namespace(event), object::name(event));
        if let Err(error) = delete_object(context, &resource, namespace, name, &DeleteOptions::default()) {
            tracing::debug!(message = error.message, "old event not deleted yet");
        }
    }
}
