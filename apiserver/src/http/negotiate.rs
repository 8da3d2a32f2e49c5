//! The headers of a request in, the form of its body and of its answer out.

use ::http::HeaderMap;
use ::http::header::{ACCEPT, CONTENT_TYPE};
use serde_json::Value;

use crate::status::{ApiError, ApiResult};

/// The form in which objects are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// As they are.
    Object,
    /// As rows for people.
    Table,
    /// Only their metadata.
    Metadata,
    /// Only the metadata of each object of a list.
    MetadataList,
}

/// Chooses the form of the answer from `Accept`.
pub(crate) fn shape(headers: &HeaderMap) -> ApiResult<Shape> {
    let accept = headers.get(ACCEPT).and_then(|v| v.to_str().ok()).unwrap_or_default();
    if accept.is_empty() {
        return Ok(Shape::Object);
    }
    for wanted in accept.split(',') {
        let mut parts = wanted.split(';').map(str::trim);
        let media = parts.next().unwrap_or_default();
        if !matches!(media, "application/json" | "*/*" | "application/*") {
            continue;
        }
        match parts.find_map(|p| p.strip_prefix("as=")) {
            None => return Ok(Shape::Object),
            Some("Table") => return Ok(Shape::Table),
            Some("PartialObjectMetadata") => return Ok(Shape::Metadata),
            Some("PartialObjectMetadataList") => return Ok(Shape::MetadataList),
            // An unknown form: the next one may be known.
            Some(_) => {}
        }
    }
    // A client that accepts nothing known still reads JSON better than nothing, except when it says otherwise.
    if accept.contains("json") || accept.contains('*') || accept.contains("yaml") {
        return Ok(Shape::Object);
    }
    Err(ApiError::not_acceptable("only the following media types are accepted: application/json"))
}

/// Whether discovery is wanted in the aggregated form.
pub(crate) fn wants_aggregated(headers: &HeaderMap) -> bool {
    let accept = headers.get(ACCEPT).and_then(|v| v.to_str().ok()).unwrap_or_default();
    accept.split(',').any(|a| {
        a.contains("as=APIGroupDiscoveryList") && a.contains("v=v2;") || {
            a.contains("as=APIGroupDiscoveryList") && a.trim_end().ends_with("v=v2")
        }
    })
}

/// The media type of the body, without its parameters.
pub(crate) fn content_type(headers: &HeaderMap) -> &str {
    let text = headers.get(CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or("application/json");
    text.split(';').next().unwrap_or_default().trim()
}

/// Reads a body that holds one object, as JSON or YAML.
pub(crate) fn read_object(content_type: &str, body: &[u8]) -> ApiResult<Value> {
    match content_type {
        "application/json" | "" => serde_json::from_slice(body)
            .map_err(|error| ApiError::bad_request(format!("the body is not JSON: {error}"))),
        "application/yaml" | "text/yaml" | "application/apply-patch+yaml" => read_yaml(body),
        "application/vnd.kubernetes.protobuf" => super::protobuf::read(body),
        other => Err(ApiError::unsupported_media_type(format!(
            "the body of the request was in an unknown format - accepted media types include: application/json, \
             application/yaml (got {other:?})"
        ))),
    }
}

/// Reads YAML, of which JSON is a part.
pub(crate) fn read_yaml(body: &[u8]) -> ApiResult<Value> {
    // JSON is what nearly every client sends under this name, and far quicker to read.
    if body.first() == Some(&b'{')
        && let Ok(value) = serde_json::from_slice(body)
    {
        return Ok(value);
    }
    let text = std::str::from_utf8(body).map_err(|_| ApiError::bad_request("the body is not UTF-8"))?;
    serde_saphyr::from_str(text)
        .map_err(|error| ApiError::bad_request(format!("error decoding YAML: {error}")))
}
