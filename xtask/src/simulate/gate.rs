//! Requests of controllers in → pending steps that a schedule lets through, breaks or delays; watches line by line.
//!
//! Every request of a controller waits here until somebody lets it through; it is then performed in one go, so that
//! what it changed can be judged before anything else happens. Its answer may come later, or never. The lines of a watch
//! are held back the same way. A process that was killed leaves the requests it had sent: they may still arrive.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::{Method, Request, Response, StatusCode};
use http_body::{Body as _, Frame};
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tower::{BoxError, Service};
use vela_apiserver::{ApiServer, ApiService, ResponseBody};

use super::sabotage::{Memory, Sabotage};

/// One process of the controllers; a restarted one is another.
pub(crate) type Process = u32;

/// A request or an answer on its way.
pub(crate) struct Pending {
    pub(crate) process: Process,
    pub(crate) method: Method,
    /// Path and query.
    pub(crate) path: String,
    stage: Stage,
    /// The store's revision when it was sent.
    sent: u64,
    sender: Option<oneshot::Sender<Result<Response<GateBody>, BoxError>>>,
}

enum Stage {
    Asked(Request<Bytes>),
    Answered(Response<GateBody>),
}

impl Pending {
    /// True while the server has not seen it.
    pub(crate) fn is_asked(&self) -> bool {
        matches!(self.stage, Stage::Asked(_))
    }

    pub(crate) fn writes(&self) -> bool {
        self.method != Method::GET
    }
}

/// A request that the server has performed.
#[derive(Clone, Debug)]
pub(crate) struct Performed {
    pub(crate) process: Process,
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) code: StatusCode,
    /// The store's revision when it was sent.
    pub(crate) sent: u64,
    /// The store's revision before and after.
    pub(crate) revisions: (u64, u64),
}

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

pub(crate) struct State {
    service: ApiService,
    server: ApiServer,
    pub(crate) pending: BTreeMap<u64, Pending>,
    pub(crate) watches: BTreeMap<u64, Watch>,
    pub(crate) performed: Vec<Performed>,
    pub(crate) sabotage: Option<Sabotage>,
    memory: Memory,
    dead: BTreeSet<Process>,
    next: u64,
    /// Everything goes through at once.
    open: bool,
    /// Lists, starts of watches and discovery go through at once.
    reads_open: bool,
    /// Requests performed since the beginning.
    pub(crate) requests: u64,
    /// Lines delivered since the beginning.
    pub(crate) delivered: u64,
    /// Requests that nobody let through one by one since the last look.
    burst: usize,
}

/// So many requests in one step belong to processes that never rest; starting two takes a tenth of it.
const BURST_AT_MOST: usize = 3000;

/// The gate; clones are the same gate.
#[derive(Clone)]
pub(crate) struct Gate {
    state: Arc<Mutex<State>>,
}

impl Gate {
    pub(crate) fn new(server: &ApiServer, sabotage: Option<Sabotage>) -> Self {
        let state = State {
            service: server.service(),
            server: server.clone(),
            pending: BTreeMap::new(),
            watches: BTreeMap::new(),
            performed: Vec::new(),
            sabotage,
            memory: Memory::default(),
            dead: BTreeSet::new(),
            next: 0,
            open: false,
            reads_open: true,
            requests: 0,
            delivered: 0,
            burst: 0,
        };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The service of one process.
    pub(crate) fn gated_service(&self, process: Process) -> GatedService {
        GatedService { gate: self.clone(), process }
    }

    /// Let everything through from now on; what waits goes first, in its order.
    pub(crate) fn open(&self) {
        let waiting: Vec<u64> = self.lock().pending.keys().copied().collect();
        for id in waiting {
            self.pass(id);
        }
        let mut state = self.lock();
        state.open = true;
        state.watches.values_mut().filter_map(|watch| watch.waker.take()).for_each(Waker::wake);
    }

    /// True when processes asked more in one step than anybody may.
    pub(crate) fn is_overrun(&self) -> bool {
        std::mem::take(&mut self.lock().burst) > BURST_AT_MOST
    }

    /// Whether lists, starts of watches and discovery wait, too.
    pub(crate) fn reads_open(&self, open: bool) {
        self.lock().reads_open = open;
    }

    /// The process is gone: nothing reaches it any more, and of its requests only sent writes may still arrive.
    pub(crate) fn kill(&self, process: Process) {
        let mut state = self.lock();
        state.dead.insert(process);
        let (gone, left): (BTreeMap<_, _>, _) =
            std::mem::take(&mut state.pending).into_iter().partition(|(_, pending)| {
                pending.process == process && !(pending.is_asked() && pending.writes())
            });
        state.pending = left;
        for pending in state.pending.values_mut().filter(|pending| pending.process == process) {
            pending.sender = None;
        }
        state.watches.retain(|_, watch| watch.process != process);
        drop(state);
        // An answer that is dropped comes back here to take its watch off the books.
        drop(gone);
    }

    /// Perform it if that is not done yet, and give the answer.
    pub(crate) fn pass(&self, id: u64) {
        self.perform(id);
        self.answer(id);
    }

    /// Perform it; the answer waits.
    pub(crate) fn perform(&self, id: u64) {
        let Some(mut pending) = self.lock().pending.remove(&id) else { return };
        if let Stage::Asked(request) = pending.stage {
            pending.stage = Stage::Answered(self.ask(pending.process, pending.sent, request));
            if pending.sender.is_some() {
                self.lock().pending.insert(id, pending);
            }
        }
    }

    /// Give the answer of a performed request.
    pub(crate) fn answer(&self, id: u64) {
        let Some(pending) = self.lock().pending.remove(&id) else { return };
        if let (Stage::Answered(response), Some(sender)) = (pending.stage, pending.sender) {
            let _ = sender.send(Ok(response));
        }
    }

    /// Break the connection: whoever asked learns nothing more.
    pub(crate) fn drop_one(&self, id: u64) {
        let Some(pending) = self.lock().pending.remove(&id) else { return };
        if let Some(sender) = pending.sender {
            let _ = sender.send(Err("the connection was broken on purpose".into()));
        }
    }

    /// Answer with this code instead of performing it.
    pub(crate) fn refuse(&self, id: u64, code: StatusCode) {
        let Some(pending) = self.lock().pending.remove(&id) else { return };
        if let Some(sender) = pending.sender {
            let _ = sender.send(Ok(refusal(code)));
        }
    }

    /// Let this many lines of a watch through.
    pub(crate) fn deliver(&self, watch: u64, lines: usize) {
        let mut state = self.lock();
        state.delivered += lines as u64;
        if let Some(watch) = state.watches.get_mut(&watch) {
            watch.permits += lines;
            if let Some(waker) = watch.waker.take() {
                waker.wake();
            }
        }
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

    /// The server's answer, with the books kept.
    fn ask(&self, process: Process, sent: u64, request: Request<Bytes>) -> Response<GateBody> {
        let (mut service, server, sabotage, memory) = {
            let mut state = self.lock();
            state.requests += 1;
            (state.service.clone(), state.server.clone(), state.sabotage, state.memory.clone())
        };
        let before = server.store().revision();
        let method = request.method().clone();
        let path = path_of(&request);
        let changed = match sabotage {
            Some(sabotage) => sabotage.change(&server, request, &memory),
            None => Ok(request),
        };
        let request = match changed {
            Ok(request) => request,
            Err(answer) => {
                let revisions = (before, server.store().revision());
                // What a broken controller does to the server counts all the same.
                if revisions.0 != revisions.1 || path.contains("/approllouts/") {
                    let performed =
                        Performed { process, method, path, code: answer.status(), sent, revisions };
                    self.lock().performed.push(performed);
                }
                return answer.map(|bytes| GateBody::Whole(Full::new(bytes)));
            }
        };
        let watched = path.contains("watch=");
        // In memory the service never waits.
        let answered = service.call(request.map(Full::new)).now_or_never();
        let response = match answered {
            Some(Ok(response)) => response,
            Some(Err(never)) => match never {},
            None => return refusal(StatusCode::GATEWAY_TIMEOUT),
        };
        let revisions = (before, server.store().revision());
        let mut state = self.lock();
        let code = response.status();
        tracing::debug!(process, %method, path, code = code.as_u16(), revision = revisions.1, "performed");
        if watched && code == StatusCode::OK {
            state.next += 1;
            let id = state.next;
            let watch = Watch { process, path, lines: VecDeque::new(), permits: 0, lost: None, waker: None };
            state.watches.insert(id, watch);
            let (parts, inner) = response.into_parts();
            return Response::from_parts(
                parts,
                GateBody::Watch { id, inner: Some(inner), gate: self.clone() },
            );
        }
        state.performed.push(Performed { process, method, path, code, sent, revisions });
        let (parts, body) = response.into_parts();
        let bytes =
            body.collect().now_or_never().and_then(Result::ok).map(|all| all.to_bytes()).unwrap_or_default();
        Response::from_parts(parts, GateBody::Whole(Full::new(bytes)))
    }
}

fn path_of<B>(request: &Request<B>) -> String {
    request.uri().path_and_query().map_or_else(String::new, ToString::to_string)
}

fn refusal(code: StatusCode) -> Response<GateBody> {
    let reason = match code {
        StatusCode::CONFLICT => "Conflict",
        StatusCode::TOO_MANY_REQUESTS => "TooManyRequests",
        _ => "InternalError",
    };
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "refused on purpose", "reason": reason, "code": code.as_u16(),
    });
    answer(code, &status)
}

pub(crate) fn answer(code: StatusCode, body: &Value) -> Response<GateBody> {
    let mut response = Response::new(GateBody::Whole(Full::new(Bytes::from(body.to_string()))));
    *response.status_mut() = code;
    response
}

/// Reads that steer nothing by their moment: lists and starts of watches (what they bring is held back line by line),
/// kinds and version.
pub(crate) fn is_read_of_many(method: &Method, path: &str) -> bool {
    let path_only = path.split('?').next().unwrap_or_default();
    let parts: Vec<&str> = path_only.split('/').filter(|part| !part.is_empty()).collect();
    let rest = match parts.as_slice() {
        ["api", _, rest @ ..] | ["apis", _, _, rest @ ..] => rest,
        _ => return true,
    };
    let rest = match rest {
        ["namespaces", _, rest @ ..] if !rest.is_empty() => rest,
        rest => rest,
    };
    method == Method::GET && rest.len() < 2
}

fn is_event(path: &str) -> bool {
    path.split('?').next().is_some_and(|path| path.split('/').any(|part| part == "events"))
}

/// What a process talks to.
#[derive(Clone)]
pub(crate) struct GatedService {
    gate: Gate,
    process: Process,
}

impl<B> Service<Request<B>> for GatedService
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<GateBody>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Response<GateBody>, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (parts, body) = request.into_parts();
        // Bodies of requests are in memory.
        let bytes =
            body.collect().now_or_never().and_then(Result::ok).map(|all| all.to_bytes()).unwrap_or_default();
        let request = Request::from_parts(parts, bytes);
        let (method, path) = (request.method().clone(), path_of(&request));
        let mut state = self.gate.lock();
        if state.dead.contains(&self.process) {
            return std::future::pending().boxed();
        }
        if is_event(&path) {
            // Events report and never steer: the server need not keep them.
            let echo = serde_json::from_slice(request.body()).unwrap_or(Value::Null);
            return std::future::ready(Ok(answer(StatusCode::CREATED, &echo))).boxed();
        }
        let sent = state.server.store().revision();
        if state.open || state.reads_open && is_read_of_many(&method, &path) {
            state.burst += 1;
            if state.burst > BURST_AT_MOST {
                // Time does not pass while one request follows the other, so it would never end.
                return std::future::pending().boxed();
            }
            drop(state);
            return std::future::ready(Ok(self.gate.ask(self.process, sent, request))).boxed();
        }
        state.next += 1;
        let id = state.next;
        let (sender, receiver) = oneshot::channel();
        let stage = Stage::Asked(request);
        state
            .pending
            .insert(id, Pending { process: self.process, method, path, stage, sent, sender: Some(sender) });
        drop(state);
        let waiting = Waiting { gate: self.gate.clone(), id };
        async move {
            let answer = receiver.await;
            drop(waiting);
            answer.unwrap_or_else(|_| Err("the connection was broken on purpose".into()))
        }
        .boxed()
    }
}

/// Somebody who waits for an answer; when he goes away, what he sent may still arrive.
struct Waiting {
    gate: Gate,
    id: u64,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut state = self.gate.lock();
        let Some(pending) = state.pending.get_mut(&self.id) else { return };
        pending.sender = None;
        if pending.is_asked() && pending.writes() {
            return;
        }
        let gone = state.pending.remove(&self.id);
        drop(state);
        // An answer that is dropped comes back here to take its watch off the books.
        drop(gone);
    }
}

/// The body of an answer.
pub(crate) enum GateBody {
    Whole(Full<Bytes>),
    Watch { id: u64, inner: Option<ResponseBody>, gate: Gate },
}

impl http_body::Body for GateBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Self::Whole(body) => Pin::new(body).poll_frame(context),
            Self::Watch { id, inner, gate } => {
                let fetched = fetch(inner, context);
                let mut state = gate.lock();
                let (open, sabotage) = (state.open, state.sabotage);
                let Some(watch) = state.watches.get_mut(id) else { return Poll::Pending };
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
                    split(&bytes, &mut watch.lines);
                    let Some(sabotage) = sabotage else { continue };
                    for line in watch.lines.iter_mut().skip(known) {
                        *line = sabotage.line(&watch.path, line);
                    }
                }
                if (open || watch.permits > 0)
                    && let Some(line) = watch.lines.pop_front()
                {
                    watch.permits = watch.permits.saturating_sub(1);
                    tracing::debug!(process = watch.process, path = watch.path, ?line, "watch line");
                    return Poll::Ready(Some(Ok(Frame::data(line))));
                }
                if inner.is_none() && watch.lines.is_empty() {
                    return Poll::Ready(None);
                }
                watch.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
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

impl Drop for GateBody {
    fn drop(&mut self) {
        if let Self::Watch { id, gate, .. } = self {
            gate.lock().watches.remove(id);
        }
    }
}
