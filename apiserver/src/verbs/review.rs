//! Questions that are answered and not stored: who am I, may I.

use ::http::Method;
use serde_json::{Value, json};

use crate::clock::{Clock, seconds};
use crate::http::{Answer, Call, read_object};
use crate::object;
use crate::status::{ApiError, ApiResult};

/// The one user of this server.
const USER: &str = "vela-sandbox";

/// Answers a review; nothing if the call is not one.
pub(crate) fn review(clock: &Clock, call: &Call) -> ApiResult<Option<Answer>> {
    let place = &call.place;
    let whole = (place.group.as_str(), place.plural.as_str(), place.subresource.as_deref());
    let status = match whole {
        (
            "authorization.k8s.io",
            "selfsubjectaccessreviews" | "subjectaccessreviews" | "localsubjectaccessreviews",
            None,
        ) => json!({ "allowed": true, "reason": "this server has one user, who may do everything" }),
        ("authorization.k8s.io", "selfsubjectrulesreviews", None) => json!({
            "incomplete": false,
            "resourceRules": [{ "verbs": ["*"], "apiGroups": ["*"], "resources": ["*"] }],
            "nonResourceRules": [{ "verbs": ["*"], "nonResourceURLs": ["*"] }],
        }),
        ("authentication.k8s.io", "selfsubjectreviews", None) => {
            json!({ "userInfo": { "username": USER, "groups": ["system:masters", "system:authenticated"] } })
        }
        ("authentication.k8s.io", "tokenreviews", None) => json!({ "authenticated": false }),
        ("", "serviceaccounts", Some("token")) => {
            let expires = clock.now() + jiff::SignedDuration::from_hours(1);
            json!({ "token": uuid::Uuid::new_v4().simple().to_string(),
                    "expirationTimestamp": seconds(expires) })
        }
        _ => return Ok(None),
    };
    if place.version != "v1" {
        return Ok(None);
    }
    if call.method != Method::POST {
        return Err(ApiError::method_not_allowed());
    }
    // The answer does not depend on the question, so that a form that cannot be read is no reason to refuse.
    let mut review = match call.content_type.as_str() {
        "application/vnd.kubernetes.protobuf" => json!({}),
        other => read_object(other, &call.body)?,
    };
    if !review.is_object() {
        return Err(ApiError::bad_request("the body must be one object"));
    }
    let kind = match place.plural.as_str() {
        "selfsubjectaccessreviews" => "SelfSubjectAccessReview",
        "subjectaccessreviews" => "SubjectAccessReview",
        "localsubjectaccessreviews" => "LocalSubjectAccessReview",
        "selfsubjectrulesreviews" => "SelfSubjectRulesReview",
        "selfsubjectreviews" => "SelfSubjectReview",
        "tokenreviews" => "TokenReview",
        _ => "TokenRequest",
    };
    let group = if place.group.is_empty() { "authentication.k8s.io" } else { &place.group };
    object::set_at(&mut review, "kind", kind.into());
    object::set_at(&mut review, "apiVersion", format!("{group}/v1").into());
    object::set_meta(&mut review, "creationTimestamp", Value::Null);
    object::set_at(&mut review, "status", status);
    Ok(Some(Answer::created(&review)))
}
