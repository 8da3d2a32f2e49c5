//! Why a request has no other answer than a Kubernetes Status.

use http::{HeaderName, StatusCode, header};
use serde_json::{Value, json};

use crate::commands::Fault;

/// Mistakes of a manifest that an answer repeats.
const CAUSES_AT_MOST: usize = 100;

/// One mistake of a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cause {
    /// The field.
    pub(crate) field: String,
    /// Its place and what is wrong.
    pub(crate) message: String,
}

/// Why a request has no other answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The request itself is wrong.
    #[error("{0}")]
    BadRequest(String),
    /// The client has no session.
    #[error(
        "this console needs the link that `vela dashboard` printed when it started; open that link again, or start it anew"
    )]
    NoSession,
    /// The request carries no token of a user.
    #[error(
        "this console answers users of its cluster: send the token of one, as `Authorization: Bearer TOKEN`"
    )]
    NoToken,
    /// The request does not come from the proxy that names users.
    #[error(
        "this console answers only requests of its authenticating proxy, which proves itself by a secret; open the address of \
         the proxy, or let the proxy send the secret of --proxy-secret-file"
    )]
    NotFromProxy,
    /// A proxy names a user or a group of Kubernetes itself.
    #[error(
        "{0:?} is a name of Kubernetes itself, for which this console does not act; let the proxy name people, or start \
         `vela dashboard` with --allow-system-users"
    )]
    Reserved(String),
    /// The account of the console may not act for a user.
    #[error(
        "the account of this console may not act for {user:?}: {said}; ask an administrator for the rule {{apiGroups: [\"\"], \
         resources: [users, groups], verbs: [impersonate]}} in a ClusterRole of that account"
    )]
    MayNotActFor {
        /// The user.
        user: String,
        /// What the cluster said.
        said: String,
    },
    /// The cluster took a request in the name of one user as one of another.
    #[error(
        "the cluster took what this console asked for {user:?} as asked by {taken:?}, so nothing is shown; let what stands \
         before the API server pass the headers Impersonate-User and Impersonate-Group on, and use Kubernetes 1.28 or newer"
    )]
    NotImpersonated {
        /// The user.
        user: String,
        /// As whom the cluster answered.
        taken: String,
    },
    /// More users are served than there is room for.
    #[error("{0} users are served at once, and no more are let in; try again in a moment")]
    TooManyPeople(usize),
    /// The link was opened before.
    #[error(
        "this link was used already, and a link can be used once; start `vela dashboard` anew for another one"
    )]
    UsedToken,
    /// The request has a foreign host name.
    #[error("this console answers only to {expected}, and was asked for as {asked:?}")]
    WrongHost {
        /// The value in the request.
        asked: String,
        /// The expected value.
        expected: String,
    },
    /// There is nothing of that name.
    #[error("{0}")]
    NotFound(String),
    /// The path has other methods.
    #[error("this path is not answered for this method: use {0}")]
    MethodNotAllowed(&'static str),
    /// The path is only read, and what would be written there is written elsewhere.
    #[error("{why}; this path is only read: use {allow}")]
    WrittenElsewhere {
        /// The methods.
        allow: &'static str,
        /// Where it is written.
        why: &'static str,
    },
    /// Another site may have sent it.
    #[error("{0}")]
    ForeignRequest(String),
    /// The body is too long.
    #[error("the body is longer than {0} bytes; send less at once")]
    TooLarge(usize),
    /// The body is of a type that is not read.
    #[error("{0}")]
    WrongMedia(String),
    /// The console was not started for changes.
    #[error(
        "this console only reads; `vela dashboard --allow-changes` starts one that also deploys applications, steers \
         workflows and rollouts, and keeps environments"
    )]
    ReadOnly,
    /// The manifest does not fit the path.
    #[error("{0}")]
    Invalid(String),
    /// The application would not run as it is.
    #[error("the application would not run, so nothing was written: {}", causes(.0))]
    NotDeployable(Vec<Cause>),
    /// The API server refuses a write.
    #[error("the cluster refuses it: {said}")]
    Declined {
        /// Its code.
        code: u16,
        /// Its words.
        said: String,
    },
    /// What the program that started the console refuses.
    #[error("{0}")]
    Command(#[from] Fault),
    /// The console is not for this namespace.
    #[error("{0}")]
    OutOfReach(String),
    /// The workflow or the rollout is not in a state for this order.
    #[error("{0}")]
    Refused(String),
    /// Other writers were faster each time.
    #[error("{0} changes faster than it can be written; try again in a moment")]
    TooBusy(String),
    /// The user may not change it.
    #[error("the cluster refuses the change: {said}; ask an administrator for the rule {rule}")]
    MissingRule {
        /// What the cluster said.
        said: String,
        /// The rule of a Role that allows it.
        rule: String,
    },
    /// The request ended before the cluster answered.
    #[error("the request ended before the cluster answered, which may have carried it out")]
    Abandoned,
    /// Too many dry runs are under way.
    #[error("{0} dry runs are under way, and no more begin; try again in a moment")]
    TooManyRuns(usize),
    /// The object is there and cannot be shown.
    #[error("{0}")]
    Unreadable(String),
    /// The cluster has no such thing.
    #[error("{0}")]
    NotSupported(String),
    /// Too many streams are open.
    #[error("{0} streams of events are open, and no more are served; close a page and try again")]
    TooManyStreams(usize),
    /// The applications were not listed yet, or may not be.
    #[error("the applications cannot be listed: {0}")]
    NotListed(String),
    /// The cluster took too long.
    #[error("the cluster did not answer within {0} s; try again")]
    Timeout(u64),
    /// The cluster gives no log of one container.
    #[error("the cluster could not give {what}: {source}")]
    NoLog {
        /// Of which container.
        what: String,
        /// What the client said.
        source: kube::Error,
    },
    /// The cluster refused.
    #[error("the cluster could not give {what}: {source}")]
    Cluster {
        /// What was asked for.
        what: &'static str,
        /// What the client said.
        source: kube::Error,
    },
}

impl Error {
    /// Says what was asked for, for `map_err`.
    pub(crate) fn cluster(what: &'static str) -> impl Fn(kube::Error) -> Self {
        move |source| Self::Cluster { what, source }
    }

    /// Whether the API server or the proxy's headers say that this user is not let in.
    pub(crate) fn is_refusal(&self) -> bool {
        let is_stranger = [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN].contains(&self.status());
        is_stranger || matches!(self, Self::NotImpersonated { .. })
    }

    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::BadRequest(_) => StatusCode::BAD_REQUEST,
            Self::NoSession | Self::NoToken | Self::UsedToken | Self::NotFromProxy => {
                StatusCode::UNAUTHORIZED
            }
            Self::NotImpersonated { .. } => StatusCode::BAD_GATEWAY,
            Self::WrongHost { .. } => StatusCode::MISDIRECTED_REQUEST,
            Self::NotFound(_) => StatusCode::NOT_FOUND,
            Self::ForeignRequest(_)
            | Self::ReadOnly
            | Self::OutOfReach(_)
            | Self::Reserved(_)
            | Self::MayNotActFor { .. }
            | Self::MissingRule { .. } => StatusCode::FORBIDDEN,
            Self::Refused(_) => StatusCode::CONFLICT,
            Self::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::WrongMedia(_) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::TooManyRuns(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::MethodNotAllowed(_) | Self::WrittenElsewhere { .. } => StatusCode::METHOD_NOT_ALLOWED,
            Self::Unreadable(_) | Self::Invalid(_) | Self::NotDeployable(_) => {
                StatusCode::UNPROCESSABLE_ENTITY
            }
            Self::Declined { code, .. } => StatusCode::from_u16(*code).unwrap_or(StatusCode::BAD_GATEWAY),
            Self::NotSupported(_) | Self::Command(Fault::NotSupported(_)) => StatusCode::NOT_IMPLEMENTED,
            Self::Command(Fault::Refused(_)) => StatusCode::CONFLICT,
            Self::Command(Fault::Invalid(_)) => StatusCode::UNPROCESSABLE_ENTITY,
            Self::Command(Fault::Forbidden(_)) => StatusCode::FORBIDDEN,
            Self::Command(Fault::Cluster(_)) => StatusCode::BAD_GATEWAY,
            Self::Command(Fault::Machine(_)) => StatusCode::INTERNAL_SERVER_ERROR,
            Self::TooManyStreams(_) | Self::TooManyPeople(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::NotListed(_) | Self::TooBusy(_) => StatusCode::SERVICE_UNAVAILABLE,
            Self::Timeout(_) | Self::Abandoned => StatusCode::GATEWAY_TIMEOUT,
            Self::Cluster { source, .. } | Self::NoLog { source, .. } => match source {
                kube::Error::Api(status) if status.code == 401 => StatusCode::UNAUTHORIZED,
                kube::Error::Api(status) if status.code == 403 => StatusCode::FORBIDDEN,
                _ => StatusCode::BAD_GATEWAY,
            },
        }
    }

    /// The header that says what would be answered: other methods, or a token.
    pub(crate) fn header(&self) -> Option<(HeaderName, &'static str)> {
        match self {
            Self::MethodNotAllowed(allow) | Self::WrittenElsewhere { allow, .. } => {
                Some((header::ALLOW, allow))
            }
            Self::NoToken => Some((header::WWW_AUTHENTICATE, "Bearer")),
            _ => None,
        }
    }

    fn reason(&self) -> &'static str {
        match self.status() {
            StatusCode::BAD_REQUEST => "BadRequest",
            StatusCode::UNAUTHORIZED => "Unauthorized",
            StatusCode::FORBIDDEN => "Forbidden",
            StatusCode::NOT_FOUND => "NotFound",
            StatusCode::CONFLICT => "Conflict",
            StatusCode::METHOD_NOT_ALLOWED => "MethodNotAllowed",
            StatusCode::PAYLOAD_TOO_LARGE => "RequestEntityTooLarge",
            StatusCode::UNSUPPORTED_MEDIA_TYPE => "UnsupportedMediaType",
            StatusCode::UNPROCESSABLE_ENTITY => "Invalid",
            StatusCode::TOO_MANY_REQUESTS => "TooManyRequests",
            StatusCode::NOT_IMPLEMENTED => "NotImplemented",
            StatusCode::GATEWAY_TIMEOUT => "Timeout",
            StatusCode::SERVICE_UNAVAILABLE => "ServiceUnavailable",
            _ => "InternalError",
        }
    }

    /// As Kubernetes writes it.
    pub(crate) fn to_json(&self) -> Value {
        let mut status = json!({
            "apiVersion": "v1",
            "kind": "Status",
            "metadata": {},
            "status": "Failure",
            "message": self.to_string(),
            "reason": self.reason(),
            "code": self.status().as_u16(),
        });
        if let Self::NotDeployable(causes) = self {
            let cause = |cause: &Cause| json!({"reason": "FieldValueInvalid", "message": cause.message, "field": cause.field});
            let causes: Vec<Value> = causes.iter().take(CAUSES_AT_MOST).map(cause).collect();
            status["details"] = json!({ "causes": causes });
        }
        status
    }
}

fn causes(causes: &[Cause]) -> String {
    let all: Vec<&str> = causes.iter().take(CAUSES_AT_MOST).map(|cause| &*cause.message).collect();
    all.join("; ")
}
