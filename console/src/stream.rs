//! Server-sent events: changes of applications, one application whenever it or its objects changed, and lines of logs.

use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::stream::{BoxStream, Stream, StreamExt as _, unfold};
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};
use serde::Serialize;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{OwnedSemaphorePermit, broadcast};
use tokio::time::{Instant, MissedTickBehavior, interval, timeout_at};

use crate::answer::Body;
use crate::data::applications::WatchEvent;
use crate::data::logs::Line;
use crate::error::Error;

/// A stream without news says that it is there.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// A stream ends after this, and the browser begins the next.
const LONGEST: Duration = Duration::from_secs(600);
/// The interval between two looks at the objects of an application that a browser follows.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// How long a browser waits before it connects again, in milliseconds.
const BEGIN: &str = "retry: 2000\nevent: ready\ndata: {}\n\n";

/// A place among the streams, given back when the stream ends.
pub(crate) type Place = OwnedSemaphorePermit;

/// Every change of applications that pass, from now on.
pub(crate) fn changes(
    changes: broadcast::Receiver<Arc<WatchEvent>>,
    namespace: Option<String>,
    place: Place,
) -> Body {
    let end = Instant::now() + LONGEST;
    let events = unfold((changes, namespace, place), move |(mut changes, namespace, place)| async move {
        let heartbeat = Instant::now() + HEARTBEAT;
        loop {
            let text = match timeout_at(heartbeat.min(end), changes.recv()).await {
                _ if Instant::now() >= end => return None,
                Err(_) => ":\n\n".to_owned(),
                Ok(Ok(change)) => {
                    let is_elsewhere = |namespace: &String| *namespace != change.object.metadata.namespace;
                    if namespace.as_ref().is_some_and(is_elsewhere) {
                        continue;
                    }
                    event("changed", change.as_ref())
                }
                // A browser that reads slower than objects change reads the list anew.
                Ok(Err(RecvError::Lagged(_))) => "event: resync\ndata: {}\n\n".to_owned(),
                Ok(Err(RecvError::Closed)) => return None,
            };
            return Some((text, (changes, namespace, place)));
        }
    });
    body(events)
}

/// The values of `look`, each that differs from the one before; ends after a failure.
pub(crate) fn looks<T, F>(look: impl Fn() -> F + Clone + Send + 'static, place: Place) -> Body
where
    T: Serialize + Send,
    F: Future<Output = Result<T, Error>> + Send,
{
    let mut ticks = interval(LOOK_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let end = Instant::now() + LONGEST;
    let state = Some((ticks, String::new(), place));
    let events = unfold(state, move |state| {
        let look = look.clone();
        async move {
            let (mut ticks, last, place) = state?;
            let heartbeat = Instant::now() + HEARTBEAT;
            loop {
                ticks.tick().await;
                if Instant::now() >= end {
                    return None;
                }
                match look().await {
                    Err(error) => return Some((event("failed", &error.to_json()), None)),
                    Ok(found) => {
                        let text = event("changed", &found);
                        if text != last {
                            return Some((text.clone(), Some((ticks, text, place))));
                        }
                    }
                }
                if Instant::now() >= heartbeat {
                    return Some((":\n\n".to_owned(), Some((ticks, last, place))));
                }
            }
        }
    });
    body(events)
}

/// The lines of logs as they come; says at the end that there are no more, so that a browser does not ask again.
pub(crate) fn lines(lines: BoxStream<'static, Line>, place: Place) -> Body {
    let end = Instant::now() + LONGEST;
    let events = unfold(Some((lines, place)), move |state| async move {
        let (mut lines, place) = state?;
        let text = match timeout_at((Instant::now() + HEARTBEAT).min(end), lines.next()).await {
            _ if Instant::now() >= end => return None,
            Err(_) => ":\n\n".to_owned(),
            Ok(Some(Ok(line))) => event("line", &line),
            Ok(Some(Err(error))) => event("failed", &error.to_json()),
            Ok(None) => return Some(("event: end\ndata: {}\n\n".to_owned(), None)),
        };
        Some((text, Some((lines, place))))
    });
    body(events)
}

/// JSON has no line ends of its own, so that it is one line of data.
fn event(name: &str, data: &impl Serialize) -> String {
    format!("event: {name}\ndata: {}\n\n", serde_json::to_string(data).unwrap_or_default())
}

fn body(events: impl Stream<Item = String> + Send + 'static) -> Body {
    let begin = futures::stream::once(async { BEGIN.to_owned() });
    let frames = begin.chain(events).map(|text| Ok::<_, Infallible>(Frame::data(Bytes::from(text))));
    StreamBody::new(frames).boxed_unsync()
}
