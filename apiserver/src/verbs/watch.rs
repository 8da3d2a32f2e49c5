//! Watch: a resource version in, every later change out as one JSON line each, until the time is over.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures::stream;
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::convert::{converted, object_json};
use super::resource_version::{check_not_future, expired};
use super::storage::History;
use crate::catalog::{Catalog, Resource};
use crate::clock::Clock;
use crate::http::{Place, Query, ResponseBody, Shape};
use crate::object;
use crate::selector::Selector;
use crate::status::{ApiError, ApiResult};
use crate::store::{Entry, Event, EventKind, RevisionReceiver};
use crate::table::table;

/// How long a watch without `timeoutSeconds` lives.
const TIMEOUT: Duration = Duration::from_secs(60 * 60);
/// How often a quiet watch sends a bookmark.
const BOOKMARK_EVERY: Duration = Duration::from_secs(60);
/// Events taken from the store at once: bounds the size of one piece of the answer.
const BATCH_EVENTS: usize = 256;

/// The selection of a watch for as long as it lives.
#[derive(Debug)]
pub(crate) struct WatchSource<H> {
    pub(crate) store: H,
    pub(crate) clock: Clock,
    /// Cancelled when the server ends.
    pub(crate) closing: CancellationToken,
}

/// The state of one watch.
struct Watching<H> {
    source: WatchSource<H>,
    resource: Arc<Resource>,
    namespace: Option<String>,
    selector: Selector,
    shape: Shape,
    include_object: String,
    revisions: RevisionReceiver,
    /// The client has seen everything up to here.
    seen: u64,
    bookmarks: bool,
    /// Bytes that were ready when the watch began.
    first: Option<Bytes>,
    headed: bool,
    end: Instant,
    ended: bool,
}

/// Answers with the changes of what the path and the selectors name.
pub(crate) fn watch<H>(
    source: WatchSource<H>,
    catalog: &Catalog,
    place: &Place,
    query: &Query,
    shape: Shape,
) -> ApiResult<ResponseBody>
where
    H: History + Send + 'static,
{
    let resource =
        catalog.find(&place.group, &place.version, &place.plural).ok_or_else(ApiError::no_such_path)?.clone();
    if place.namespace.is_some() && !resource.namespaced {
        return Err(ApiError::no_such_path());
    }
    resource.require("watch")?;
    let mut selector = Selector::read(&resource, query)?;
    if let Some(name) = &place.name {
        selector = Selector::parse(query.text("labelSelector"), &format!("metadata.name={name}"))?;
    }
    let timeout = query.number("timeoutSeconds")?.filter(|s| *s > 0).map_or(TIMEOUT, Duration::from_secs);
    let asked = query.number("resourceVersion")?.unwrap_or(0);
    let streaming = query.flag("sendInitialEvents");
    if streaming && query.text("resourceVersionMatch") != "NotOlderThan" {
        return Err(ApiError::bad_request(
            "resourceVersionMatch: Invalid value: must be NotOlderThan when sendInitialEvents is set",
        ));
    }
    // The receiver is taken before the look at the store, so that no change falls between them.
    let revisions = source.store.subscribe(&resource.store);
    let mut watching = Watching {
        source,
        namespace: place.namespace.clone(),
        selector,
        shape,
        include_object: query.text("includeObject").to_owned(),
        revisions,
        seen: asked,
        bookmarks: query.flag("allowWatchBookmarks"),
        first: None,
        headed: false,
        end: Instant::now() + timeout.min(TIMEOUT * 24),
        ended: false,
        resource,
    };
    let declined = query.get("sendInitialEvents").is_some() && !streaming;
    if streaming || (asked == 0 && !declined) {
        check_not_future(&watching.source.store, asked)?;
        watching.start_with_everything(streaming);
    } else if asked == 0 {
        watching.seen = watching.source.store.revision();
    } else {
        // The stream tells a client that it is too far behind, as on a real server; the answer itself is no refusal.
        check_not_future(&watching.source.store, asked)?;
    }
    let lines = stream::unfold(watching, |mut watching| async move {
        let bytes = watching.next().await?;
        Some((Ok::<_, std::convert::Infallible>(Frame::data(bytes)), watching))
    });
    Ok(StreamBody::new(lines).boxed_unsync())
}

impl<H: History> Watching<H> {
    fn start_with_everything(&mut self, streaming: bool) {
        let (entries, revision) = self.source.store.list(&self.resource.store, self.namespace.as_deref());
        self.seen = revision;
        let mut out = BytesMut::new();
        for entry in entries {
            if self.wants(&entry) {
                self.line(&mut out, "ADDED", &entry);
            }
        }
        if streaming && self.bookmarks {
            self.bookmark(&mut out, true);
        }
        self.first = Some(out.freeze()).filter(|b| !b.is_empty());
    }

    fn wants(&self, entry: &Arc<Entry>) -> bool {
        self.selector.is_empty() || self.selector.matches(&converted(&self.resource, &entry.opened()))
    }

    /// The next piece of the answer; nothing when the watch is over.
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        if self.ended {
            return None;
        }
        let mut quiet_until = Instant::now() + BOOKMARK_EVERY;
        loop {
            self.revisions.mark_seen();
            match self.source.store.events_after(&self.resource.store, self.seen, BATCH_EVENTS) {
                Err(error) => {
                    self.ended = true;
                    let line = json!({ "type": "ERROR", "object": expired(error).status() });
                    return Some(Bytes::from(format!("{line}\n")));
                }
                Ok((events, complete_to)) => {
                    self.seen = complete_to;
                    let mut out = BytesMut::new();
                    for event in &events {
                        self.event(&mut out, event);
                    }
                    if !out.is_empty() {
                        return Some(out.freeze());
                    }
                    if events.len() == BATCH_EVENTS {
                        continue;
                    }
                }
            }
            let wake = if self.bookmarks { quiet_until.min(self.end) } else { self.end };
            tokio::select! {
                biased;
                changed = self.revisions.changed() => if changed.is_err() { return None },
                () = self.source.closing.cancelled() => return None,
                () = tokio::time::sleep_until(wake) => {
                    self.ended = Instant::now() >= self.end;
                    if self.bookmarks {
                        let mut out = BytesMut::new();
                        self.bookmark(&mut out, false);
                        return Some(out.freeze());
                    }
                    if self.ended {
                        return None;
                    }
                    quiet_until = Instant::now() + BOOKMARK_EVERY;
                }
            }
        }
    }

    /// A change may bring an object into the selection or take it out of it.
    fn event(&mut self, out: &mut BytesMut, event: &Event) {
        if self.namespace.as_ref().is_some_and(|ns| *ns != event.key.namespace) {
            return;
        }
        let before = event.previous.as_ref().filter(|entry| self.wants(entry)).cloned();
        match event.kind {
            EventKind::Deleted if before.is_some() => self.line(out, "DELETED", &event.entry),
            EventKind::Deleted => {}
            EventKind::Added | EventKind::Modified => match (before, self.wants(&event.entry)) {
                (None, true) => self.line(out, "ADDED", &event.entry),
                (Some(_), true) => self.line(out, "MODIFIED", &event.entry),
                // The last state that was in the selection, with the version of the change that took it out.
                (Some(before), false) => {
                    let mut gone = before.value().clone();
                    object::set_meta(&mut gone, "resourceVersion", event.revision.to_string());
                    self.line(out, "DELETED", &Arc::new(Entry::new(gone, event.revision)));
                }
                (None, false) => {}
            },
        }
    }

    fn line(&mut self, out: &mut BytesMut, kind: &str, entry: &Arc<Entry>) {
        out.extend_from_slice(format!("{{\"type\":\"{kind}\",\"object\":").as_bytes());
        match self.shape {
            Shape::Object => out.extend_from_slice(&object_json(&self.resource, entry)),
            Shape::Metadata | Shape::MetadataList => {
                out.extend_from_slice(object::partial(&entry.opened()).to_string().as_bytes());
            }
            Shape::Table => {
                let version = entry.revision().to_string();
                let entry = entry.opened();
                let rows = [converted(&self.resource, &entry)];
                let meta = json!({ "resourceVersion": version });
                let now = self.source.clock.now();
                let table = table(&self.resource, &rows, meta, now, &self.include_object, !self.headed);
                self.headed = true;
                out.extend_from_slice(table.to_string().as_bytes());
            }
        }
        out.extend_from_slice(b"}\n");
    }

    fn bookmark(&self, out: &mut BytesMut, initial_end: bool) {
        let mut metadata = json!({ "resourceVersion": self.seen.to_string() });
        if initial_end {
            metadata["annotations"] = json!({ "k8s.io/initial-events-end": "true" });
        }
        let object: Value = match self.shape {
            Shape::Object => json!({ "kind": self.resource.kind, "apiVersion": self.resource.api_version,
                                     "metadata": metadata }),
            Shape::Metadata | Shape::MetadataList => {
                json!({ "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata })
            }
            Shape::Table => {
                json!({ "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata,
                        "columnDefinitions": [], "rows": [] })
            }
        };
        out.extend_from_slice(format!("{}\n", json!({ "type": "BOOKMARK", "object": object })).as_bytes());
    }
}
