//! The simulated network between controllers and API server, in which a schedule passes, breaks or delays each request.
//!
//! Every request of a controller waits here until the schedule lets it through; it is then performed in one go, so that
//! its effect can be judged before anything else happens. Its answer may come later, or never. The lines of a watch are
//! held back the same way. A process that was killed leaves the requests it had sent: they may still arrive.

mod peer;
mod process;
mod request;
mod service;
mod watch;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures::FutureExt as _;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use tower::Service as _;
use vela_apiserver::{ApiServer, ApiService};

pub(crate) use self::peer::Peer;
use self::peer::is_of_peer;
pub(crate) use self::process::{Process, identity};
pub(crate) use self::request::{Pending, Performed, is_read_of_many};
use self::request::{Stage, answer, path_of, refusal};
pub(crate) use self::service::NetworkService;
pub(crate) use self::watch::Lost;
use self::watch::{Body, Watches};
use crate::sabotage::{Memory, Sabotage};

/// So many requests in one step belong to processes that never rest; starting two takes a tenth of it.
const BURST_AT_MOST: usize = 3000;

/// The network; clones are the same.
#[derive(Clone)]
pub(crate) struct Network {
    state: Arc<Mutex<State>>,
    pub(crate) watches: Watches,
}

pub(crate) struct State {
    service: ApiService,
    server: ApiServer,
    /// A server outside the cluster.
    peer: Option<Peer>,
    pub(crate) pending: BTreeMap<u64, Pending>,
    pub(crate) performed: Vec<Performed>,
    sabotage: Option<Sabotage>,
    memory: Memory,
    dead: BTreeSet<Process>,
    next: u64,
    /// Everything goes through at once.
    open: bool,
    /// Lists, starts of watches and discovery go through at once.
    reads_open: bool,
    /// Requests performed since the beginning.
    pub(crate) requests: u64,
    /// Requests since the last look that the schedule did not let through one by one.
    burst: usize,
}

impl Network {
    pub(crate) fn new(server: &ApiServer, sabotage: Option<Sabotage>) -> Self {
        let state = State {
            service: server.service(),
            server: server.clone(),
            peer: None,
            pending: BTreeMap::new(),
            performed: Vec::new(),
            sabotage,
            memory: Memory::default(),
            dead: BTreeSet::new(),
            next: 0,
            open: false,
            reads_open: true,
            requests: 0,
            burst: 0,
        };
        Self { state: Arc::new(Mutex::new(state)), watches: Watches::new(sabotage) }
    }

    /// The same with a server outside the cluster.
    pub(crate) fn with_peer(self, peer: Peer) -> Self {
        self.lock().peer = Some(peer);
        self
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Let everything through from now on; what waits goes first, in its order.
    pub(crate) fn open(&self) {
        let waiting: Vec<u64> = self.lock().pending.keys().copied().collect();
        for id in waiting {
            self.pass(id);
        }
        self.lock().open = true;
        self.watches.open();
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
        state
            .pending
            .retain(|_, pending| pending.process != process || pending.is_asked() && pending.writes());
        for pending in state.pending.values_mut().filter(|pending| pending.process == process) {
            pending.sender = None;
        }
        drop(state);
        self.watches.kill(process);
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

    /// Breaks the connection: the client learns nothing more.
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

    /// The server's answer; what was asked is counted and remembered.
    fn ask(&self, process: Process, sent: u64, request: Request<Bytes>) -> Response<Body> {
        let (mut service, server, peer, sabotage, memory) = {
            let mut state = self.lock();
            state.requests += 1;
            let (service, server, peer) = (state.service.clone(), state.server.clone(), state.peer.clone());
            (service, server, peer, state.sabotage, state.memory.clone())
        };
        let before = server.store().revision();
        let method = request.method().clone();
        let path = path_of(&request);
        if let Some(peer) = peer.filter(|_| is_of_peer(&path)) {
            let (code, body) = peer.answer(&request);
            let revisions = (before, before);
            self.lock().performed.push(Performed { process, method, path, code, sent, revisions });
            return answer(code, &body);
        }
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
                return answer.map(|bytes| Body::Whole(Full::new(bytes)));
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
        let code = response.status();
        tracing::debug!(process, %method, path, code = code.as_u16(), revision = revisions.1, "performed");
        if watched && code == StatusCode::OK {
            return response.map(|inner| self.watches.begin(process, path, inner));
        }
        self.lock().performed.push(Performed { process, method, path, code, sent, revisions });
        let (parts, body) = response.into_parts();
        let bytes =
            body.collect().now_or_never().and_then(Result::ok).map(|all| all.to_bytes()).unwrap_or_default();
        Response::from_parts(parts, Body::Whole(Full::new(bytes)))
    }
}
