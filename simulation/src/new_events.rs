//! The events of a server's store since a checker looked last, in their order.

use vela_apiserver::ApiServer;
use vela_apiserver::store::Event;

/// More events of one resource between two looks are not read.
const EVENTS_AT_MOST: usize = 4096;

/// The events after the revision `seen`, which becomes the present one.
pub(crate) fn after(server: &ApiServer, seen: &mut u64) -> Vec<Event> {
    let store = server.store();
    if store.revision() == *seen {
        return Vec::new();
    }
    let mut events = Vec::new();
    for (resource, latest) in store.resources() {
        if latest > *seen
            && let Ok((new, _)) = store.events_after(&resource, *seen, EVENTS_AT_MOST)
        {
            events.extend(new);
        }
    }
    events.sort_by_key(|event| event.revision);
    *seen = store.revision();
    events
}
