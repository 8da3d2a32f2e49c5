//! Reads the bytes of an AdmissionReview.

use serde_json::Value;

use crate::envelope::{self, Envelope, EnvelopeError, text};

/// Larger reviews are refused. The API server takes objects of 3 MiB, and an update brings two of them in an envelope.
pub const BYTES_AT_MOST: usize = 7 * 1024 * 1024;

const REVIEW: Envelope =
    Envelope { kind: "AdmissionReview", group: "admission.k8s.io", bytes_at_most: BYTES_AT_MOST };

/// The object to judge.
#[derive(Clone, Debug, PartialEq)]
pub struct Review {
    /// Version of the review, given back in the reply: `admission.k8s.io/v1`.
    pub api_version: String,
    /// Identity of the request, given back in the reply.
    pub uid: String,
    /// The operation.
    pub operation: Operation,
    /// The resource that is written; empty parts where the request tells none.
    pub resource: Resource,
    /// Namespace of the object; empty for cluster-scoped ones.
    pub namespace: String,
    /// The object as it would become; null when it is deleted.
    pub object: Value,
    /// The object as it is; null when it is made.
    pub old_object: Value,
    /// The caller.
    pub user: User,
}

/// A resource of the API.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resource {
    /// API group.
    pub group: String,
    /// Version within the group.
    pub version: String,
    /// Plural name.
    pub resource: String,
}

/// The caller, as the API server knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    /// Name, `alice` or `system:serviceaccount:<namespace>:<name>`.
    pub username: String,
    /// Groups.
    pub groups: Vec<String>,
}

/// The operation on the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// It is made.
    Create,
    /// It is changed.
    Update,
    /// It is deleted.
    Delete,
    /// One connects to it.
    Connect,
}

/// Why bytes are no review.
#[derive(Debug, thiserror::Error)]
pub enum ReviewError {
    /// No AdmissionReview, or one without a field.
    #[error(transparent)]
    Envelope(#[from] EnvelopeError),
    /// An unknown operation.
    #[error("request.operation is {0:?}; known are CREATE, UPDATE, DELETE and CONNECT")]
    Operation(String),
}

impl Review {
    /// Reads the bytes of an AdmissionReview, v1 or v1beta1.
    pub fn read(bytes: &[u8]) -> Result<Self, ReviewError> {
        let (api_version, mut request) = REVIEW.open(bytes)?;
        let operation = match text(&request["operation"], "request.operation")?.as_str() {
            "CREATE" => Operation::Create,
            "UPDATE" => Operation::Update,
            "DELETE" => Operation::Delete,
            "CONNECT" => Operation::Connect,
            other => return Err(ReviewError::Operation(other.to_owned())),
        };
        let uid = envelope::uid(&request)?;
        let mut take = |field: &str| request.get_mut(field).map(Value::take).unwrap_or_default();
        let (object, old_object) = (take("object"), take("oldObject"));
        let writes = matches!(operation, Operation::Create | Operation::Update);
        if writes && !object.is_object() {
            return Err(EnvelopeError::Missing("request.object").into());
        }
        if operation == Operation::Update && !(old_object.is_object() || old_object.is_null()) {
            return Err(EnvelopeError::Missing("request.oldObject").into());
        }
        Ok(Self {
            api_version,
            uid,
            operation,
            resource: resource(&request["resource"]),
            namespace: request["namespace"].as_str().unwrap_or_default().to_owned(),
            object,
            old_object,
            user: user(&request["userInfo"]),
        })
    }

    /// A review of which no more is known than whom to answer.
    pub(crate) fn unread(api_version: String, uid: String) -> Self {
        Self {
            api_version,
            uid,
            operation: Operation::Create,
            resource: Resource::default(),
            namespace: String::new(),
            object: Value::Null,
            old_object: Value::Null,
            user: User::default(),
        }
    }

    /// Whether there is something to judge: an object that is made or changed, and not going away.
    pub fn concerns_a_living_object(&self) -> bool {
        matches!(self.operation, Operation::Create | Operation::Update)
            && self.object.is_object()
            && self.object["metadata"]["deletionTimestamp"].is_null()
    }

    /// Whether an update leaves what people wish for as it was (a status or metadata write).
    pub fn keeps_the_spec(&self) -> bool {
        self.operation == Operation::Update && self.object["spec"] == self.old_object["spec"]
    }

    /// The namespace that the object is in, or will be.
    pub fn object_namespace(&self) -> &str {
        match self.object["metadata"]["namespace"].as_str() {
            Some(namespace) if !namespace.is_empty() => namespace,
            _ => &self.namespace,
        }
    }
}

fn resource(value: &Value) -> Resource {
    let part = |field: &str| value[field].as_str().unwrap_or_default().to_owned();
    Resource { group: part("group"), version: part("version"), resource: part("resource") }
}

fn user(value: &Value) -> User {
    let groups = value["groups"].as_array().map_or(&[][..], Vec::as_slice);
    User {
        username: value["username"].as_str().unwrap_or_default().to_owned(),
        groups: groups.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
    }
}
