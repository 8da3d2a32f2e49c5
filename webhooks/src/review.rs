//! The bytes of an AdmissionReview → a `Review`, or what is wrong with them.

use serde_json::Value;

/// Larger reviews are refused. The API server takes objects of 3 MiB, and an update brings two of them in an envelope.
pub const BYTES_AT_MOST: usize = 7 * 1024 * 1024;

/// Versions of the review that are read; the reply has the version of the request.
const VERSIONS: [&str; 2] = ["admission.k8s.io/v1", "admission.k8s.io/v1beta1"];

/// What is to be judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Review {
    /// Version of the review, given back in the reply: `admission.k8s.io/v1`.
    pub api_version: String,
    /// Identity of the request, given back in the reply.
    pub uid: String,
    /// What is being done.
    pub operation: Operation,
    /// The resource that is written; empty parts where the request tells none.
    pub resource: Resource,
    /// Namespace of the object; empty for cluster-scoped ones.
    pub namespace: String,
    /// The object as it would become; null when it is deleted.
    pub object: Value,
    /// The object as it is; null when it is made.
    pub old_object: Value,
    /// Who asks.
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

/// Who asks, as the API server knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    /// Name, `alice` or `system:serviceaccount:<namespace>:<name>`.
    pub username: String,
    /// Groups.
    pub groups: Vec<String>,
}

/// What is being done to the object.
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
    /// Too many bytes.
    #[error("the review has {0} bytes; at most {BYTES_AT_MOST} are read")]
    TooLarge(usize),
    /// No JSON, or JSON that is nested too deep to be read.
    #[error("the review is not JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// A field is absent or of the wrong type.
    #[error("the review has no {0}")]
    Missing(&'static str),
    /// A version nobody knows.
    #[error("the review is of version {0:?}; known are admission.k8s.io/v1 and v1beta1")]
    Version(String),
    /// An operation nobody knows.
    #[error("request.operation is {0:?}; known are CREATE, UPDATE, DELETE and CONNECT")]
    Operation(String),
}

impl Review {
    /// Reads the bytes of an AdmissionReview, v1 or v1beta1.
    pub fn read(bytes: &[u8]) -> Result<Self, ReviewError> {
        if bytes.len() > BYTES_AT_MOST {
            return Err(ReviewError::TooLarge(bytes.len()));
        }
        let mut review: Value = serde_json::from_slice(bytes)?;
        if review["kind"] != "AdmissionReview" {
            return Err(ReviewError::Missing("kind AdmissionReview"));
        }
        let text =
            |value: &Value, missing| value.as_str().map(str::to_owned).ok_or(ReviewError::Missing(missing));
        let api_version = text(&review["apiVersion"], "apiVersion")?;
        if !VERSIONS.contains(&api_version.as_str()) {
            return Err(ReviewError::Version(api_version));
        }
        let mut request = match review.as_object_mut().and_then(|review| review.remove("request")) {
            Some(request @ Value::Object(_)) => request,
            _ => return Err(ReviewError::Missing("request")),
        };
        let operation = match text(&request["operation"], "request.operation")?.as_str() {
            "CREATE" => Operation::Create,
            "UPDATE" => Operation::Update,
            "DELETE" => Operation::Delete,
            "CONNECT" => Operation::Connect,
            other => return Err(ReviewError::Operation(other.to_owned())),
        };
        let uid = text(&request["uid"], "request.uid")?;
        if uid.is_empty() {
            return Err(ReviewError::Missing("request.uid"));
        }
        let mut take = |field: &str| request.get_mut(field).map(Value::take).unwrap_or_default();
        let (object, old_object) = (take("object"), take("oldObject"));
        let writes = matches!(operation, Operation::Create | Operation::Update);
        if writes && !object.is_object() {
            return Err(ReviewError::Missing("request.object"));
        }
        if operation == Operation::Update && !(old_object.is_object() || old_object.is_null()) {
            return Err(ReviewError::Missing("request.oldObject"));
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
