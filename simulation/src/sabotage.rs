//! Breaks a controller on purpose, by what it sends and receives: every promise must be seen to fail.

use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures::FutureExt as _;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use tower::Service as _;
use vela_apiserver::ApiServer;

/// How the controller is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sabotage {
    /// A failed write of an owned object is taken for a success: the set is never completely applied, and pruned.
    Unproved,
    /// The look at the application before a deletion sees what the cache might: an older generation.
    StaleLook,
    /// Deletions carry no uid and no version.
    NoPrecondition,
    /// The record is never written.
    NoRecord,
    /// Everybody is told that he holds the lease.
    EverybodyLeads,
    /// Part of the status is never kept, so that it is written again and again.
    RestlessStatus,
    /// Deletions are only said to be done.
    NoDeletion,
    /// Objects are written regardless of their owner; of a Harbor, what people made looks like its own.
    TakesAll,
    /// The status of a rollout is stored over whatever is there.
    BlindStatus,
    /// The sizes of workloads are written over whatever is there.
    BlindSizes,
    /// Pods are taken for ready as soon as they are asked for.
    Hasty,
    /// Workloads are only said to be let go.
    KeepsClaims,
    /// The controllers do not hear that a rollout is paused, or held by its partition.
    IgnoresPause,
    /// A step of a workflow that waits for a person looks as though a person had resumed it.
    SkipsSuspension,
    /// Objects are only said to be applied.
    OnlySays,
    /// The values of workflows, and what they remember of their calls, are only said to be stored.
    ForgetsCalls,
    /// Children of a Harbor do not name their owner.
    NoOwner,
    /// Lists of Harbors, and the look at one before a deletion, do not show that a part is wanted.
    OverlooksParts,
    /// The contents of secrets are not seen, so that they are made again.
    ForgetsSecrets,
    /// Certificates look issued as soon as they are asked for.
    Impatient,
    /// The robot accounts of a project are not seen, and a new one has another name.
    ForgetsRobots,
}

impl Sabotage {
    const ALL: [(&'static str, Self); 21] = [
        ("unproved", Self::Unproved),
        ("stale-look", Self::StaleLook),
        ("no-precondition", Self::NoPrecondition),
        ("no-record", Self::NoRecord),
        ("everybody-leads", Self::EverybodyLeads),
        ("restless-status", Self::RestlessStatus),
        ("no-deletion", Self::NoDeletion),
        ("takes-all", Self::TakesAll),
        ("blind-status", Self::BlindStatus),
        ("blind-sizes", Self::BlindSizes),
        ("hasty", Self::Hasty),
        ("keeps-claims", Self::KeepsClaims),
        ("ignores-pause", Self::IgnoresPause),
        ("skips-suspension", Self::SkipsSuspension),
        ("only-says", Self::OnlySays),
        ("forgets-calls", Self::ForgetsCalls),
        ("no-owner", Self::NoOwner),
        ("overlooks-parts", Self::OverlooksParts),
        ("forgets-secrets", Self::ForgetsSecrets),
        ("impatient", Self::Impatient),
        ("forgets-robots", Self::ForgetsRobots),
    ];
}

impl FromStr for Sabotage {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|(known, _)| *known == name);
        found.map(|(_, sabotage)| sabotage).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|(name, _)| *name).collect();
            format!("what can be broken is {}", names.join(", "))
        })
    }
}

// By what a request of the controllers is known.

/// Objects that applications own.
const OWNED_PATHS: [&str; 3] = ["/configmaps/", "/statefulsets/", "/deployments/"];
/// The application, read past all caches.
const APPLICATION_PATH: &str = "/namespaces/sim/applications/shop";
/// The label of an owned object that names its application.
const NAME_LABEL: &str = "app.oam.dev/name";
/// The application.
const APPLICATION: &str = "shop";
/// The values of its workflow.
const VALUES_PATH: &str = "/configmaps/workflow-";
/// The records.
const TRACKERS_PATH: &str = "/resourcetrackers";
/// The lease.
const LEASES_PATH: &str = "/leases";
/// Rollouts.
const ROLLOUTS_PATH: &str = "/approllouts/";
/// What rolls: one of them, and a watch of all.
const ROLLED_PATHS: [&str; 2] = ["/deployments/", "/statefulsets/"];
const ROLLED_WATCHES: [&str; 2] = ["/deployments?", "/statefulsets?"];
/// The status of anything.
const STATUS_PATH: &str = "/status";

fn read_of_the_application() -> Request<Bytes> {
    let mut request = Request::new(Bytes::new());
    if let Ok(uri) = format!("/apis/core.oam.dev/v1beta1{APPLICATION_PATH}").parse() {
        *request.uri_mut() = uri;
    }
    request
}

/// What a broken controller still believes.
#[derive(Clone, Default)]
pub(crate) struct Memory(Arc<Mutex<Option<(StatusCode, Value)>>>);

impl Memory {
    fn remember(&self, answer: (StatusCode, Value)) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
    }

    fn recall(&self) -> Option<(StatusCode, Value)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Sabotage {
    /// The request as the broken controller sends it, or the answer it believes it got.
    pub(crate) fn change(
        self,
        server: &ApiServer,
        request: Request<Bytes>,
        memory: &Memory,
    ) -> Result<Request<Bytes>, Response<Bytes>> {
        let path = request.uri().path().to_owned();
        let method = request.method().clone();
        match self {
            Self::Unproved
                if method == Method::PATCH && OWNED_PATHS.iter().any(|owned| path.contains(owned)) =>
            {
                let (code, body) = answer(server, request.clone());
                if code.is_success() {
                    Err(reply(StatusCode::OK, body))
                } else {
                    Err(reply(StatusCode::OK, believed(&request)))
                }
            }
            Self::NoPrecondition if method == Method::DELETE => Ok(edited(request, |body| {
                body.as_object_mut().map(|body| body.remove("preconditions"));
            })),
            Self::NoRecord if method != Method::GET && path.contains(TRACKERS_PATH) => {
                let mut body = believed(&request);
                body["metadata"]["resourceVersion"] = json!("1");
                Err(reply(StatusCode::OK, body))
            }
            Self::RestlessStatus if path.ends_with(STATUS_PATH) => Ok(edited(request, |body| {
                let operations = body.as_array_mut().into_iter().flatten();
                for status in operations.filter(|operation| operation["path"] == "/status") {
                    status["value"].as_object_mut().and_then(|status| status.remove("services"));
                }
            })),
            Self::NoDeletion
                if method == Method::DELETE && OWNED_PATHS.iter().any(|owned| path.contains(owned)) =>
            {
                Err(reply(
                    StatusCode::OK,
                    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}),
                ))
            }
            Self::EverybodyLeads if path.contains(LEASES_PATH) => {
                if method == Method::GET {
                    return Err(reply(
                        StatusCode::NOT_FOUND,
                        json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": "NotFound", "message": "none", "code": 404}),
                    ));
                }
                let body = believed(&request);
                // The server knows one of them, as it would.
                let _ = answer(server, request);
                Err(reply(StatusCode::CREATED, body))
            }
            Self::StaleLook if method != Method::GET && path.contains(TRACKERS_PATH) => {
                memory.remember(answer(server, read_of_the_application()));
                Ok(request)
            }
            Self::StaleLook if method == Method::GET && path.ends_with(APPLICATION_PATH) => {
                match memory.recall() {
                    Some((code, body)) => Err(reply(code, body)),
                    None => Ok(request),
                }
            }
            Self::TakesAll
                if method == Method::GET && OWNED_PATHS.iter().any(|owned| path.contains(owned)) =>
            {
                let (code, mut body) = answer(server, request);
                if code.is_success() {
                    body["metadata"]["labels"][NAME_LABEL] = json!(APPLICATION);
                }
                Err(reply(code, body))
            }
            Self::OnlySays
                if method == Method::PATCH
                    && OWNED_PATHS.iter().any(|owned| path.contains(owned))
                    && !path.contains(VALUES_PATH) =>
            {
                Err(said_to_be_stored(&request))
            }
            Self::ForgetsCalls if method == Method::PATCH && path.contains(VALUES_PATH) => {
                Err(said_to_be_stored(&request))
            }
            Self::SkipsSuspension if method == Method::GET && path.ends_with(APPLICATION_PATH) => {
                let (code, mut body) = answer(server, request);
                if let Some(journal) = body.pointer_mut("/status/workflow") {
                    look_resumed(journal);
                }
                Err(reply(code, body))
            }
            Self::BlindStatus | Self::BlindSizes | Self::Hasty | Self::KeepsClaims | Self::IgnoresPause => {
                self.change_rollout(server, request)
            }
            _ => Ok(request),
        }
    }

    /// A line of a watch as the broken controller reads it.
    pub(crate) fn line(self, path: &str, line: &Bytes) -> Bytes {
        let rolled = ROLLED_WATCHES.iter().any(|rolled| path.contains(rolled));
        if self != Self::Hasty || !rolled {
            return line.clone();
        }
        let Ok(mut event) = serde_json::from_slice::<Value>(line) else { return line.clone() };
        let wanted = event["object"]["spec"]["replicas"].clone();
        for counted in ["replicas", "readyReplicas", "updatedReplicas"] {
            event["object"]["status"][counted] = wanted.clone();
        }
        Bytes::from(format!("{event}\n"))
    }

    /// The same for those that are about rollouts.
    fn change_rollout(
        self,
        server: &ApiServer,
        request: Request<Bytes>,
    ) -> Result<Request<Bytes>, Response<Bytes>> {
        let path = request.uri().path().to_owned();
        let writes = request.method() == Method::PATCH;
        let rolled = ROLLED_PATHS.iter().any(|rolled| path.contains(rolled));
        let said = believed(&request);
        let forget = |request| {
            edited(request, |body| {
                body["metadata"].as_object_mut().map(|metadata| metadata.remove("resourceVersion"));
            })
        };
        match self {
            Self::BlindStatus if writes && path.contains(ROLLOUTS_PATH) && path.ends_with(STATUS_PATH) => {
                Ok(forget(request))
            }
            Self::BlindSizes if writes && rolled && said["spec"]["replicas"].is_i64() => Ok(forget(request)),
            Self::KeepsClaims if writes && rolled && said["metadata"]["ownerReferences"] == json!([]) => {
                let mut request = request;
                *request.method_mut() = Method::GET;
                let (code, mut body) = answer(server, request);
                body["metadata"]["ownerReferences"] = json!([]);
                Err(reply(code, body))
            }
            Self::IgnoresPause if path.contains(ROLLOUTS_PATH) => {
                let (code, mut body) = answer(server, request);
                if let Some(plan) = body.pointer_mut("/spec/rolloutPlan").and_then(Value::as_object_mut) {
                    plan.remove("paused");
                    plan.remove("batchPartition");
                }
                Err(reply(code, body))
            }
            _ => Ok(request),
        }
    }
}

fn answer(server: &ApiServer, request: Request<Bytes>) -> (StatusCode, Value) {
    let Some(Ok(response)) = server.service().call(request.map(Full::new)).now_or_never() else {
        return (StatusCode::GATEWAY_TIMEOUT, Value::Null);
    };
    let code = response.status();
    let bytes = response.into_body().collect().now_or_never().and_then(Result::ok).map(|all| all.to_bytes());
    (code, bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or(Value::Null))
}

/// The answer to a write of an object that was not stored.
fn said_to_be_stored(request: &Request<Bytes>) -> Response<Bytes> {
    let mut body = believed(request);
    body["metadata"]["uid"] = json!("00000000-0000-0000-0000-000000000000");
    body["metadata"]["resourceVersion"] = json!("1");
    reply(StatusCode::OK, body)
}

/// No step of the journal waits for a person.
fn look_resumed(journal: &mut Value) {
    let steps = journal.get_mut("steps").and_then(Value::as_array_mut).into_iter().flatten();
    let suspended: Vec<&mut Value> = steps.filter(|step| step["phase"] == "suspending").collect();
    if suspended.is_empty() {
        return;
    }
    for step in suspended {
        step["phase"] = json!("running");
        step["reason"] = Value::Null;
    }
    journal["suspend"] = json!(false);
}

/// The object as sent, as if it had been stored.
fn believed(request: &Request<Bytes>) -> Value {
    serde_json::from_slice(request.body()).unwrap_or(Value::Null)
}

fn reply(code: StatusCode, body: Value) -> Response<Bytes> {
    let mut response = Response::new(Bytes::from(body.to_string()));
    *response.status_mut() = code;
    response
}

fn edited(request: Request<Bytes>, edit: impl FnOnce(&mut Value)) -> Request<Bytes> {
    let (parts, bytes) = request.into_parts();
    let mut body = serde_json::from_slice(&bytes).unwrap_or_else(|_| json!({}));
    edit(&mut body);
    Request::from_parts(parts, Bytes::from(body.to_string()))
}
