//! Reads what a request sends: the body within its limit, and the manifest in it. Decides nothing about it.

use bytes::Bytes;
use http::{HeaderMap, header};
use http_body::Body;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};

use crate::error::Error;
use crate::query::Query;

/// Bytes of a body at most.
pub(crate) const BODY_AT_MOST: usize = 1024 * 1024;
/// The media types of a manifest.
pub(crate) const MANIFESTS: [&str; 4] = ["application/yaml", "application/json", "text/yaml", "text/plain"];
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

/// The fields of a form.
pub(crate) fn form(headers: &HeaderMap, body: &Bytes) -> Result<Query, Error> {
    is_one_of(headers, &[FORM])?;
    Query::of_form(text(body)?)
}

fn text(body: &Bytes) -> Result<&str, Error> {
    std::str::from_utf8(body).map_err(|error| {
        Error::BadRequest(format!("the body is no UTF-8 text from byte {}", error.valid_up_to()))
    })
}

fn is_one_of(headers: &HeaderMap, expected: &[&str]) -> Result<(), Error> {
    let given = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media = given.split(';').next().unwrap_or_default().trim();
    match expected.iter().any(|known| known.eq_ignore_ascii_case(media)) {
        true => Ok(()),
        false => Err(Error::WrongMedia(format!(
            "the Content-Type is {:?}; send {}",
            media.chars().take(100).collect::<String>(),
            expected.join(", ")
        ))),
    }
}
