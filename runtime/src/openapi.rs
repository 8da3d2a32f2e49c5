//! Reads the OpenAPI v3 document that the server publishes for a group version.

use http::Request;
use serde_json::Value;

/// The document of `v1` or `apps/v1`; nothing when the server does not serve that group version.
///
/// # Errors
/// The error of the client, other than that there is no such document.
pub async fn document(client: &kube::Client, api_version: &str) -> Result<Option<Value>, kube::Error> {
    if !crate::api::is_group_version(api_version) {
        return Ok(None);
    }
    let path = match api_version.split_once('/') {
        Some((group, version)) => format!("/openapi/v3/apis/{group}/{version}"),
        None => format!("/openapi/v3/api/{api_version}"),
    };
    let request = Request::get(path).body(Vec::new()).map_err(kube::Error::HttpError)?;
    match client.request(request).await {
        Ok(document) => Ok(Some(document)),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        Err(error) => Err(error),
    }
}
