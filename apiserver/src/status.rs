//! A refusal in, the `Status` object that Kubernetes clients understand out.

use ::http::StatusCode;
use serde_json::{Value, json};

use crate::cause::Cause;

/// A refused request: the HTTP code and the parts of its `Status`.
#[derive(Clone, Debug)]
pub(crate) struct ApiError {
    pub(crate) code: StatusCode,
    pub(crate) reason: &'static str,
    pub(crate) message: String,
    pub(crate) details: Option<Value>,
}

pub(crate) type ApiResult<T> = Result<T, ApiError>;

/// The group and plural of a resource as errors name them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Named<'a> {
    pub(crate) group: &'a str,
    pub(crate) plural: &'a str,
    pub(crate) kind: &'a str,
}

impl Named<'_> {
    fn qualified(&self) -> String {
        if self.group.is_empty() { self.plural.to_owned() } else { format!("{}.{}", self.plural, self.group) }
    }

    fn qualified_kind(&self) -> String {
        if self.group.is_empty() { self.kind.to_owned() } else { format!("{}.{}", self.kind, self.group) }
    }

    fn details(&self, name: &str) -> Value {
        let mut details = json!({ "kind": self.plural });
        if !name.is_empty() {
            details["name"] = name.into();
        }
        if !self.group.is_empty() {
            details["group"] = self.group.into();
        }
        details
    }
}

impl ApiError {
    fn new(code: StatusCode, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), details: None }
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BadRequest", message)
    }

    pub(crate) fn not_found(resource: Named<'_>, name: &str) -> Self {
        let message = format!("{} {name:?} not found", resource.qualified());
        Self {
            details: Some(resource.details(name)),
            ..Self::new(StatusCode::NOT_FOUND, "NotFound", message)
        }
    }

    /// The path names nothing that this server serves.
    pub(crate) fn no_such_path() -> Self {
        Self {
            details: Some(json!({})),
            ..Self::new(StatusCode::NOT_FOUND, "NotFound", "the server could not find the requested resource")
        }
    }

    pub(crate) fn already_exists(resource: Named<'_>, name: &str) -> Self {
        let message = format!("{} {name:?} already exists", resource.qualified());
        Self {
            details: Some(resource.details(name)),
            ..Self::new(StatusCode::CONFLICT, "AlreadyExists", message)
        }
    }

    pub(crate) fn conflict(resource: Named<'_>, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {} {name:?}: {why}", resource.qualified());
        Self { details: Some(resource.details(name)), ..Self::new(StatusCode::CONFLICT, "Conflict", message) }
    }

    /// Another client has changed the object since it was read.
    pub(crate) fn modified(resource: Named<'_>, name: &str) -> Self {
        let why =
            "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(resource, name, why)
    }

    /// A precondition on the identity that does not hold.
    pub(crate) fn precondition(resource: Named<'_>, name: &str, why: &str) -> Self {
        let mut error = Self::conflict(resource, name, why);
        if let Some(details) = &mut error.details {
            details["kind"] = resource.kind.into();
        }
        error
    }

    /// A conflict between field managers; each cause names a manager and a field.
    pub(crate) fn apply_conflict(message: String, causes: &[(String, String)]) -> Self {
        let causes: Vec<Value> = causes
            .iter()
            .map(|(field, message)| json!({ "reason": "FieldManagerConflict", "message": message, "field": field }))
            .collect();
        Self {
            details: Some(json!({ "causes": causes })),
            ..Self::new(StatusCode::CONFLICT, "Conflict", message)
        }
    }

    pub(crate) fn forbidden(resource: Named<'_>, name: &str, why: &str) -> Self {
        let message = format!("{} {name:?} is forbidden: {why}", resource.qualified());
        Self {
            details: Some(resource.details(name)),
            ..Self::new(StatusCode::FORBIDDEN, "Forbidden", message)
        }
    }

    /// A namespace that is going away takes no new objects; clients look for the cause.
    pub(crate) fn namespace_terminating(resource: Named<'_>, name: &str, namespace: &str, why: &str) -> Self {
        let mut error = Self::forbidden(resource, name, why);
        if let Some(details) = &mut error.details {
            details["causes"] = json!([{
                "reason": "NamespaceTerminating",
                "message": format!("namespace {namespace} is being terminated"),
                "field": "metadata.namespace",
            }]);
        }
        error
    }

    pub(crate) fn invalid(resource: Named<'_>, name: &str, causes: &[Cause]) -> Self {
        let lines: Vec<String> =
            causes
                .iter()
                .map(|c| {
                    if c.field.is_empty() { c.message.clone() } else { format!("{}: {}", c.field, c.message) }
                })
                .collect();
        let what = match lines.as_slice() {
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        let kind = resource.qualified_kind();
        let mut details = json!({ "kind": resource.kind, "causes": causes_json(causes) });
        if !name.is_empty() {
            details["name"] = name.into();
        }
        if !resource.group.is_empty() {
            details["group"] = resource.group.into();
        }
        Self {
            details: Some(details),
            ..Self::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "Invalid",
                format!("{kind} {name:?} is invalid: {what}"),
            )
        }
    }

    /// Options of a request that make no sense; `kind` is their type, `CreateOptions` for example.
    pub(crate) fn invalid_options(kind: &str, cause: Cause) -> Self {
        Self::invalid(Named { group: "meta.k8s.io", plural: "", kind }, "", &[cause])
    }

    /// A patch that is well-formed but cannot be applied.
    pub(crate) fn unprocessable(message: impl Into<String>) -> Self {
        Self { details: Some(json!({})), ..Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message) }
    }

    pub(crate) fn method_not_allowed() -> Self {
        Self {
            details: Some(json!({})),
            ..Self::new(
                StatusCode::METHOD_NOT_ALLOWED,
                "MethodNotAllowed",
                "the server does not allow this method on the requested resource",
            )
        }
    }

    /// A definition that is going away takes no new objects.
    pub(crate) fn definition_terminating(resource: Named<'_>) -> Self {
        Self {
            details: Some(resource.details("")),
            ..Self::new(
                StatusCode::METHOD_NOT_ALLOWED,
                "MethodNotAllowed",
                "create not allowed while custom resource definition is terminating",
            )
        }
    }

    pub(crate) fn not_acceptable(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_ACCEPTABLE, "NotAcceptable", message)
    }

    pub(crate) fn unsupported_media_type(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "UnsupportedMediaType", message)
    }

    pub(crate) fn too_large(limit: usize) -> Self {
        Self::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "RequestEntityTooLarge",
            format!("Request entity too large: limit is {limit}"),
        )
    }

    pub(crate) fn unauthorized() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "Unauthorized", "Unauthorized")
    }

    /// The resource version is older than the history this server keeps.
    pub(crate) fn gone(message: impl Into<String>) -> Self {
        Self::new(StatusCode::GONE, "Expired", message)
    }

    /// The resource version lies in the future.
    pub(crate) fn too_large_resource_version(asked: u64, current: u64) -> Self {
        Self {
            details: Some(json!({
                "causes": [{ "reason": "ResourceVersionTooLarge", "message": "Too large resource version" }],
                "retryAfterSeconds": 1,
            })),
            ..Self::new(
                StatusCode::GATEWAY_TIMEOUT,
                "Timeout",
                format!("Timeout: Too large resource version: {asked}, current: {current}"),
            )
        }
    }

    /// An applied object that does not fit its type: the real server says so with this code and no reason.
    pub(crate) fn untyped(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "", message)
    }

    pub(crate) fn internal(message: impl std::fmt::Display) -> Self {
        Self {
            details: Some(json!({ "causes": [{ "message": message.to_string() }] })),
            ..Self::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "InternalError",
                format!("Internal error occurred: {message}"),
            )
        }
    }

    /// The `Status` object of this refusal.
    pub(crate) fn status(&self) -> Value {
        let mut status = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "code": self.code.as_u16(),
        });
        if let Some(details) = &self.details {
            status["details"] = details.clone();
        }
        if self.reason.is_empty()
            && let Some(map) = status.as_object_mut()
        {
            map.remove("reason");
        }
        status
    }
}

fn causes_json(causes: &[Cause]) -> Vec<Value> {
    causes
        .iter()
        .map(|c| {
            let mut cause = json!({ "reason": c.reason.as_str(), "message": c.message });
            if !c.field.is_empty() {
                cause["field"] = c.field.clone().into();
            }
            cause
        })
        .collect()
}

/// The `Status` of a deletion that is complete.
pub(crate) fn deleted(resource: Named<'_>, name: &str, uid: &str) -> Value {
    let mut details = resource.details(name);
    details["uid"] = uid.into();
    json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details })
}
