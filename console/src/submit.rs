//! Reads what a request sends: the body within its limit, and the manifest in it. Decides nothing about it.

use bytes::Bytes;
use http::{HeaderMap, header};
use http_body::Body;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde::de::DeserializeOwned;

use crate::error::Error;
use crate::query::Query;

/// Bytes of a body at most.
pub(crate) const BODY_AT_MOST: usize = 1024 * 1024;
/// The media types of a manifest.
pub(crate) const MANIFESTS: [&str; 4] = ["application/yaml", "application/json", "text/yaml", "text/plain"];
/// Those of a body of early 2021, which may also name none.
const JSON_2021: [&str; 2] = ["application/json", "application/octet-stream"];
/// The media type of a form.
const FORM: &str = "application/x-www-form-urlencoded";

/// The whole body.
pub(crate) async fn whole<B>(body: B) -> Result<Bytes, Error>
where
    B: Body,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    match Limited::new(body, BODY_AT_MOST).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(Error::TooLarge(BODY_AT_MOST)),
        Err(error) => Err(Error::BadRequest(format!("the body ended early: {error}"))),
    }
}

/// The manifest that is the body.
pub(crate) fn manifest(headers: &HeaderMap, body: &Bytes) -> Result<String, Error> {
    is_one_of(headers, &MANIFESTS)?;
    text(body).map(str::to_owned)
}

/// The JSON of early 2021 that is the body: `what`, for the sentence that refuses it.
pub(crate) fn json_2021<T: DeserializeOwned>(
    headers: &HeaderMap,
    body: &Bytes,
    what: &str,
) -> Result<T, Error> {
    let given = media(headers);
    if !given.is_empty() && !JSON_2021.iter().any(|known| known.eq_ignore_ascii_case(given)) {
        let given: String = given.chars().take(100).collect();
        return Err(Error::WrongMedia(format!(
            "content type should be {}, and it is {given:?}",
            JSON_2021.join(" or ")
        )));
    }
    serde_json::from_str(text(body)?)
        .map_err(|error| Error::BadRequest(format!("the body is no {what} as JSON: {error}")))
}

/// The fields of a form.
pub(crate) fn form(headers: &HeaderMap, body: &Bytes) -> Result<Query, Error> {
    is_one_of(headers, &[FORM])?;
    Query::of_form(text(body)?)
}

/// The body as a text.
pub(crate) fn text(body: &Bytes) -> Result<&str, Error> {
    std::str::from_utf8(body).map_err(|error| {
        Error::BadRequest(format!("the body is no UTF-8 text from byte {}", error.valid_up_to()))
    })
}

/// The media type of the body; empty where none is given.
fn media(headers: &HeaderMap) -> &str {
    let given = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    given.split(';').next().unwrap_or_default().trim()
}

fn is_one_of(headers: &HeaderMap, expected: &[&str]) -> Result<(), Error> {
    let media = media(headers);
    match expected.iter().any(|known| known.eq_ignore_ascii_case(media)) {
        true => Ok(()),
        false => Err(Error::WrongMedia(format!(
            "the Content-Type is {:?}; send {}",
            media.chars().take(100).collect::<String>(),
            expected.join(", ")
        ))),
    }
}
