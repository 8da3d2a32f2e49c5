//! A proxy between one program and an API server: it records every request and injects faults on demand.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::StreamExt as _;
use futures::future::BoxFuture;
use http::{HeaderMap, Method, Request, Response, StatusCode, header};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, BodyStream, Full, StreamBody};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kube::Client;
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::Result;
use crate::target::ACCOUNT;

type Failure = Box<dyn std::error::Error + Send + Sync>;
type Answer = Response<UnsyncBoxBody<Bytes, Failure>>;

/// Parts of one answer that are under way at the same time.
const FRAMES_UNDER_WAY: usize = 1024;

/// One request, when its answer was on its way back.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Whose proxy it went through.
    pub who: String,
    /// When it was answered.
    pub at: Instant,
    /// The HTTP method.
    pub method: Method,
    /// Path and query.
    pub path: String,
    /// What the API server, or the fault, answered; 0 where the connection was cut instead.
    pub status: u16,
}

impl Seen {
    /// Did it change something, other than a lease?
    pub fn writes(&self) -> bool {
        self.changes() && !self.path.contains("/leases")
    }

    /// Did it take or renew a lease, or give it back?
    pub fn writes_lease(&self) -> bool {
        self.changes() && self.path.contains("/leases")
    }

    /// A question who may do what is sent like an object that is created, and changes nothing.
    fn changes(&self) -> bool {
        let asks =
            self.path.contains("/authorization.k8s.io/") || self.path.contains("/authentication.k8s.io/");
        self.method != Method::GET && !asks && (200..300).contains(&self.status)
    }
}

/// The requests through all proxies, in the order of the answers.
#[derive(Clone, Debug, Default)]
pub struct Record(Arc<Mutex<Vec<Seen>>>);

impl Record {
    /// Everything so far.
    pub fn all(&self) -> Vec<Seen> {
        lock(&self.0).clone()
    }

    /// What came since that moment.
    pub fn since(&self, moment: Instant) -> Vec<Seen> {
        lock(&self.0).iter().filter(|seen| seen.at >= moment).cloned().collect()
    }
}

/// What happens to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    Pass,
    /// It goes on after this time.
    Delay(Duration),
    /// It goes on after this time, and so does everything that a watch tells, whenever that began.
    Lag(Duration),
    /// No byte goes through in either direction, and no peer is told: open connections stay open, also for watches, and
    /// new ones are taken. Afterwards the waiting bytes go on.
    Partition,
    /// It is answered with this status, and never reaches the API server.
    Status(u16),
    /// Every second one is answered with this status.
    EverySecond(u16),
    /// Open connections are cut; from then on watches end after this time, others pass.
    EndWatches(Duration),
    /// The port is closed, and open connections are cut.
    Down,
}

struct Shared {
    who: String,
    client: Client,
    record: Record,
    fault: watch::Sender<Fault>,
    count: Mutex<u64>,
}

impl Shared {
    /// The fault of now; while there is a partition, that of the time after it.
    async fn fault(&self) -> Fault {
        // The sender lives as long as this does.
        let healed =
            self.fault.subscribe().wait_for(|fault| *fault != Fault::Partition).await.map(|now| *now);
        healed.unwrap_or(Fault::Pass)
    }
}

/// A listening proxy.
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Proxy {
    /// A proxy before the API server of that client, on a port of its own.
    pub async fn open(who: &str, client: Client, record: &Record) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            who: who.to_owned(),
            client,
            record: record.clone(),
            fault: watch::channel(Fault::Pass).0,
            count: Mutex::default(),
        });
        let task = tokio::spawn(listen(listener, shared.clone()));
        Ok(Self { address, shared, task })
    }

    /// From now on.
    pub fn fault(&self, fault: Fault) {
        self.shared.fault.send_replace(fault);
    }

    /// A kubeconfig that leads here, with the rights of the controller.
    pub fn kubeconfig(&self, path: &Path) -> Result<()> {
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "proxy",
            "clusters": [{"name": "proxy", "cluster": {"server": format!("http://{}", self.address)}}],
            "users": [{"name": "proxy", "user": {"as": ACCOUNT}}],
            "contexts": [{"name": "proxy", "context": {"cluster": "proxy", "user": "proxy"}}],
        });
        std::fs::write(path, config.to_string())?;
        Ok(())
    }
}

async fn listen(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = tokio::task::JoinSet::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        if *shared.fault.borrow() == Fault::Down {
            continue;
        }
        connections.spawn(connection(stream, shared.clone()));
    }
}

async fn connection(stream: TcpStream, shared: Arc<Shared>) {
    let mut fault = shared.fault.subscribe();
    let service = service_fn(|request| answer(request, shared.clone()));
    let served = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    // Watches that began before the fault are not spared.
    let cut = async {
        while fault.changed().await.is_ok() {
            if matches!(*fault.borrow_and_update(), Fault::Down | Fault::EndWatches(_)) {
                return;
            }
        }
    };
    tokio::select! { _ = served => {}, () = cut => {} }
}

async fn answer(request: Request<Incoming>, shared: Arc<Shared>) -> std::result::Result<Answer, Failure> {
    let method = request.method().clone();
    let path = request.uri().path_and_query().map_or_else(String::new, ToString::to_string);
    let fault = shared.fault().await;
    let refused = match fault {
        Fault::Status(code) => Some(code),
        Fault::EverySecond(code) => {
            let mut count = lock(&shared.count);
            *count += 1;
            count.is_multiple_of(2).then_some(code)
        }
        _ => None,
    };
    if let Fault::Delay(time) | Fault::Lag(time) = fault {
        tokio::time::sleep(time).await;
    }
    shared.fault().await;
    let answer = match refused {
        Some(code) => refusal(code)?,
        None => pass(request, &path, fault, &shared).await.or_else(|error| {
            let text = error.to_string();
            let answer = Response::builder().status(StatusCode::BAD_GATEWAY).body(full(text))?;
            Ok::<_, Failure>(answer)
        })?,
    };
    // It happened, and the client does not hear of it as long as there is a partition.
    let (who, at, status) = (shared.who.clone(), Instant::now(), answer.status().as_u16());
    lock(&shared.record.0).push(Seen { who, at, method, path, status });
    shared.fault().await;
    Ok(answer)
}

fn full(text: String) -> UnsyncBoxBody<Bytes, Failure> {
    Full::new(Bytes::from(text)).map_err(|never: Infallible| match never {}).boxed_unsync()
}

/// The answer of an API server that cannot or will not.
fn refusal(code: u16) -> Result<Answer> {
    let reason = match code {
        409 => "Conflict",
        410 => "Expired",
        429 => "TooManyRequests",
        503 => "ServiceUnavailable",
        _ => "InternalError",
    };
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": code, "reason": reason,
        "message": "a fault on purpose",
    });
    let answer = Response::builder().status(code).header(header::CONTENT_TYPE, "application/json");
    Ok(answer.body(full(status.to_string()))?)
}

async fn pass(request: Request<Incoming>, path: &str, fault: Fault, shared: &Arc<Shared>) -> Result<Answer> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    let mut onward = Request::builder().method(parts.method).uri(path);
    let user = header::HeaderName::from_static("impersonate-user");
    for name in [header::ACCEPT, header::CONTENT_TYPE, user] {
        if let Some(value) = parts.headers.get(&name) {
            onward = onward.header(name, value);
        }
    }
    let answer = shared.client.send(onward.body(kube::client::Body::from(body.to_vec()))?).await?;
    let (mut parts, body) = answer.into_parts();
    let kept = parts.headers.remove(header::CONTENT_TYPE);
    parts.headers = HeaderMap::new();
    if let Some(kind) = kept {
        parts.headers.insert(header::CONTENT_TYPE, kind);
    }
    let body = match fault {
        Fault::EndWatches(after) if path.contains("watch=true") => {
            let frames = BodyStream::new(body).take_until(Box::pin(tokio::time::sleep(after)));
            BodyExt::boxed_unsync(StreamBody::new(frames.map(|frame| frame.map_err(Failure::from))))
        }
        _ => {
            let frames = BodyStream::new(body).map(late(shared.clone())).buffered(FRAMES_UNDER_WAY);
            BodyExt::boxed_unsync(StreamBody::new(frames.map(|frame| frame.map_err(Failure::from))))
        }
    };
    Ok(Response::from_parts(parts, body))
}

/// Lets a part of an answer go on when the fault of its time allows it.
fn late<T>(shared: Arc<Shared>) -> impl FnMut(T) -> BoxFuture<'static, T>
where
    T: Send + 'static,
{
    move |frame| {
        let (shared, arrived) = (shared.clone(), tokio::time::Instant::now());
        let lag = *shared.fault.borrow();
        Box::pin(async move {
            if let Fault::Lag(time) = lag {
                tokio::time::sleep_until(arrived + time).await;
            }
            shared.fault().await;
            frame
        })
    }
}
