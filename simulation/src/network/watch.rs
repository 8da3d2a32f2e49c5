//! Open watches of controllers, whose lines wait until a schedule lets them through or loses them.

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http_body::{Body as _, Frame};
use http_body_util::Full;
use vela_apiserver::ResponseBody;

use super::process::Process;
use crate::sabotage::Sabotage;

/// One open watch.
pub(crate) struct Watch {
    pub(crate) process: Process,
    /// What is watched, for the trace.
    pub(crate) path: String,
    pub(crate) lines: VecDeque<Bytes>,
    permits: usize,
    lost: Option<Lost>,
    waker: Option<Waker>,
}

/// How a watch ends before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lost {
    /// The connection breaks; the client goes on where it was.
    Broken,
    /// The server has forgotten that version: the client must list again.
    Expired,
}

/// All open watches; clones are the same.
#[derive(Clone)]
pub(crate) struct Watches {
    state: Arc<Mutex<State>>,
}

struct State {
    watches: BTreeMap<u64, Watch>,
    next: u64,
    sabotage: Option<Sabotage>,
    /// Everything goes through at once.
    open: bool,
}

impl Watches {
    pub(super) fn new(sabotage: Option<Sabotage>) -> Self {
        let state = State { watches: BTreeMap::new(), next: 0, sabotage, open: false };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new watch, whose lines wait.
    pub(super) fn begin(&self, process: Process, path: String, inner: ResponseBody) -> Body {
        let mut state = self.lock();
        state.next += 1;
        let id = state.next;
        let watch = Watch { process, path, lines: VecDeque::new(), permits: 0, lost: None, waker: None };
        state.watches.insert(id, watch);
        Body::Watch { id, inner: Some(inner), watches: self.clone() }
    }

    /// Let every line through from now on.
    pub(super) fn open(&self) {
        let mut state = self.lock();
        state.open = true;
        state.watches.values_mut().filter_map(|watch| watch.waker.take()).for_each(Waker::wake);
    }

    /// Nothing reaches a process any more.
    pub(super) fn kill(&self, process: Process) {
        self.lock().watches.retain(|_, watch| watch.process != process);
    }

    /// Let this many lines of a watch through.
    pub(crate) fn deliver(&self, watch: u64, lines: usize) {
        if let Some(watch) = self.lock().watches.get_mut(&watch) {
            watch.permits += lines;
            if let Some(waker) = watch.waker.take() {
                waker.wake();
            }
        }
    }

    /// Let every line that waits through; says whether there was one.
    pub(crate) fn deliver_all(&self) -> bool {
        let ready: Vec<(u64, usize)> = {
            let state = self.lock();
            let waiting = state.watches.iter().map(|(id, watch)| (*id, watch.lines.len()));
            waiting.filter(|(_, lines)| *lines > 0).collect()
        };
        ready.iter().for_each(|(id, lines)| self.deliver(*id, *lines));
        !ready.is_empty()
    }

    /// End a watch before its time; lines not delivered are lost with it.
    pub(crate) fn lose(&self, watch: u64, how: Lost) {
        if let Some(watch) = self.lock().watches.get_mut(&watch) {
            watch.lost = Some(how);
            if let Some(waker) = watch.waker.take() {
                waker.wake();
            }
        }
    }

    /// All of them, in the order in which they began.
    pub(crate) fn all(&self) -> Vec<u64> {
        self.lock().watches.keys().copied().collect()
    }

    /// Those of which lines wait.
    pub(crate) fn ready(&self) -> Vec<u64> {
        let state = self.lock();
        state.watches.iter().filter(|(_, watch)| !watch.lines.is_empty()).map(|(id, _)| *id).collect()
    }

    /// How many lines of it wait.
    pub(crate) fn lines(&self, watch: u64) -> usize {
        self.lock().watches.get(&watch).map_or(0, |watch| watch.lines.len())
    }

    /// What is watched by whom, for the trace.
    pub(crate) fn name(&self, watch: u64) -> String {
        let name = |watch: &Watch| {
            format!("{} of process {}", watch.path.split('?').next().unwrap_or_default(), watch.process)
        };
        self.lock().watches.get(&watch).map(name).unwrap_or_default()
    }
}

/// The body of an answer.
pub(crate) enum Body {
    Whole(Full<Bytes>),
    Watch { id: u64, inner: Option<ResponseBody>, watches: Watches },
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Self::Whole(body) => Pin::new(body).poll_frame(context),
            Self::Watch { id, inner, watches } => {
                let fetched = fetch(inner, context);
                watches.lock().poll_frame(*id, &fetched, inner.is_none(), context)
            }
        }
    }
}

impl State {
    fn poll_frame(
        &mut self,
        id: u64,
        fetched: &[Bytes],
        ended: bool,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let Some(watch) = self.watches.get_mut(&id) else { return Poll::Pending };
        match watch.lost {
            Some(Lost::Broken) => return Poll::Ready(None),
            Some(Lost::Expired) => {
                watch.lost = Some(Lost::Broken);
                return Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(EXPIRED)))));
            }
            None => {}
        }
        for bytes in fetched {
            let known = watch.lines.len();
            split(bytes, &mut watch.lines);
            let Some(sabotage) = self.sabotage else { continue };
            for line in watch.lines.iter_mut().skip(known) {
                *line = sabotage.line(&watch.path, line);
            }
        }
        if (self.open || watch.permits > 0)
            && let Some(line) = watch.lines.pop_front()
        {
            watch.permits = watch.permits.saturating_sub(1);
            tracing::debug!(process = watch.process, path = watch.path, ?line, "watch line");
            return Poll::Ready(Some(Ok(Frame::data(line))));
        }
        if ended && watch.lines.is_empty() {
            return Poll::Ready(None);
        }
        watch.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

const EXPIRED: &[u8] =
    b"{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\
    \"status\":\"Failure\",\"message\":\"too old resource version\",\"reason\":\"Expired\",\"code\":410}}\n";

/// What the server has to say by now; at its end the body is dropped.
fn fetch(inner: &mut Option<ResponseBody>, context: &mut Context<'_>) -> Vec<Bytes> {
    let mut fetched = Vec::new();
    while let Some(body) = inner {
        match Pin::new(body).poll_frame(context) {
            Poll::Ready(Some(Ok(frame))) => fetched.extend(frame.into_data()),
            Poll::Ready(Some(Err(never))) => match never {},
            Poll::Ready(None) => *inner = None,
            Poll::Pending => break,
        }
    }
    fetched
}

/// Bookmarks only spare relists; here they would be steps in which nothing happens.
fn split(bytes: &Bytes, lines: &mut VecDeque<Bytes>) {
    let mut start = 0;
    for (at, _) in bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n') {
        let line = bytes.slice(start..=at);
        start = at + 1;
        let bookmark = line.starts_with(b"{\"object\"") && line.ends_with(b"\"BOOKMARK\"}\n");
        if !bookmark {
            lines.push_back(line);
        }
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        if let Self::Watch { id, watches, .. } = self {
            watches.lock().watches.remove(id);
        }
    }
}
