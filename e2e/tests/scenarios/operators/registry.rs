//! Plays a Harbor at an address of this machine that a program may ask: projects, robot accounts, and the secrets of these.

use std::net::{SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use vela_e2e::{Failure, Result};

/// An address outside of which nothing is sent, only the way to it is looked up.
const ELSEWHERE: &str = "198.51.100.1:9";
/// Bytes of a request.
const REQUEST_AT_MOST: usize = 64 * 1024;

/// A robot account.
#[derive(Clone, Debug, Default)]
pub(super) struct Robot {
    project: String,
    name: String,
    /// The secret that it was given.
    pub(super) secret: String,
}

impl Robot {
    /// Its whole name.
    pub(super) fn login(&self) -> String {
        format!("robot${}+{}", self.project, self.name)
    }
}

/// What it has; the number of each is its place, from 1 on.
#[derive(Clone, Debug, Default)]
pub(super) struct Stored {
    pub(super) projects: Vec<String>,
    pub(super) robots: Vec<Robot>,
    /// What it was asked to make or to delete.
    pub(super) asked: Vec<String>,
}

/// A listening server; it closes when this is dropped.
pub(super) struct Registry {
    address: SocketAddr,
    stored: Arc<Mutex<Stored>>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Registry {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn lock(stored: &Mutex<Stored>) -> MutexGuard<'_, Stored> {
    stored.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Registry {
    /// Listens beside the loopback, which operators do not ask.
    pub(super) async fn open() -> Result<Self> {
        let looked = UdpSocket::bind("0.0.0.0:0").and_then(|socket| {
            socket.connect(ELSEWHERE)?;
            socket.local_addr()
        });
        let own = looked.map_err(|error| {
            format!("this machine needs an address beside its loopback, where a Harbor is played: {error}")
        })?;
        let listener = TcpListener::bind((own.ip(), 0)).await?;
        let (address, stored) = (listener.local_addr()?, Arc::<Mutex<Stored>>::default());
        let task = tokio::spawn(listen(listener, stored.clone()));
        Ok(Self { address, stored, task })
    }

    /// Its address as the field of a HarborServerConfiguration takes it: a port may not be the last of it.
    pub(super) fn url(&self) -> String {
        format!("http://{}/at/{}", self.address, self.address.ip())
    }

    /// What it has now.
    pub(super) fn stored(&self) -> Stored {
        lock(&self.stored).clone()
    }
}

async fn listen(listener: TcpListener, stored: Arc<Mutex<Stored>>) {
    let mut connections = tokio::task::JoinSet::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        connections.spawn(connection(stream, stored.clone()));
        while connections.try_join_next().is_some() {}
    }
}

async fn connection(stream: TcpStream, stored: Arc<Mutex<Stored>>) {
    let service = service_fn(|request| answer(request, stored.clone()));
    // How it ended is seen by the client.
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

async fn answer(
    request: Request<Incoming>,
    stored: Arc<Mutex<Stored>>,
) -> std::result::Result<Response<Full<Bytes>>, Failure> {
    let (parts, body) = request.into_parts();
    let body = Limited::new(body, REQUEST_AT_MOST).collect().await;
    let body = body.map_err(|error| error.to_string())?.to_bytes();
    let path = parts.uri.path().split_once("/api/v2.0/").map_or("", |(_, path)| path);
    let query = parts.uri.query().unwrap_or_default();
    let body = serde_json::from_slice(&body).unwrap_or_default();
    let (status, said) = lock(&stored).answer(&parts.method, (path, query), &body);
    let mut response = Response::new(Full::new(Bytes::from(said.to_string())));
    *response.status_mut() = status;
    Ok(response)
}

impl Stored {
    fn answer(&mut self, method: &Method, (path, query): (&str, &str), body: &Value) -> (StatusCode, Value) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        if matches!(*method, Method::POST | Method::DELETE) {
            self.asked.push(format!("{method} {path}"));
        }
        let number = path.strip_prefix("robots/").and_then(|number| number.parse::<usize>().ok());
        let at = number.and_then(|number| number.checked_sub(1)).filter(|at| *at < self.robots.len());
        match (method, path, at) {
            (&Method::GET, "health", _) => (StatusCode::OK, json!({"status": "healthy"})),
            (&Method::GET, "users/current", _) => (StatusCode::OK, json!({"user_id": 1})),
            (&Method::GET, "projects", _) => {
                let is = |name: &String| query.split('&').any(|part| part == format!("q=name%3D{name}"));
                let all = self.projects.iter().enumerate().filter(|(_, name)| is(name));
                (StatusCode::OK, all.map(|(at, name)| json!({"project_id": at + 1, "name": name})).collect())
            }
            (&Method::POST, "projects", _) => {
                self.projects.push(text(&body["project_name"]));
                (StatusCode::CREATED, Value::Null)
            }
            (&Method::GET, "robots", _) => {
                let project = query.split("ProjectID%3D").nth(1).and_then(|rest| rest.split('&').next());
                let project = project.and_then(|number| number.parse::<usize>().ok()).unwrap_or_default();
                let name = project.checked_sub(1).and_then(|at| self.projects.get(at));
                let of = |at: &usize| Some(&self.robots[*at].project) == name;
                (StatusCode::OK, (0..self.robots.len()).filter(of).map(|at| self.robot(at)).collect())
            }
            (&Method::POST, "robots", _) => {
                let (project, name) = (text(&body["permissions"][0]["namespace"]), text(&body["name"]));
                self.robots.push(Robot { project, name, secret: String::new() });
                (StatusCode::CREATED, self.robot(self.robots.len() - 1))
            }
            (&Method::GET, _, Some(at)) => (StatusCode::OK, self.robot(at)),
            (&Method::PATCH, _, Some(at)) => {
                self.robots[at].secret = text(&body["secret"]);
                (StatusCode::OK, Value::Null)
            }
            _ => (StatusCode::NOT_FOUND, json!({"errors": [{"code": "NOT_FOUND"}]})),
        }
    }

    fn robot(&self, at: usize) -> Value {
        let robot = &self.robots[at];
        let permissions = json!([{"kind": "project", "namespace": robot.project}]);
        json!({"id": at + 1, "name": robot.login(), "permissions": permissions})
    }
}
