//! A request's query string in, the options of its verb out.

use crate::cause::Cause;
use crate::status::{ApiError, ApiResult};

/// Parameters in one query; clients send fewer than ten.
const PARAMETERS_MAX: usize = 64;

/// The parameters of a request.
#[derive(Debug, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    pub(crate) fn parse(text: &str) -> ApiResult<Self> {
        let mut parameters = Vec::new();
        for part in text.split('&').filter(|p| !p.is_empty()).take(PARAMETERS_MAX) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let decoded = decode(&name.replace('+', " ")).zip(decode(&value.replace('+', " ")));
            parameters.push(
                decoded.ok_or_else(|| ApiError::bad_request(format!("invalid query parameter {part:?}")))?,
            );
        }
        Ok(Self(parameters))
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }

    pub(crate) fn text(&self, name: &str) -> &str {
        self.get(name).unwrap_or_default()
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        // A flag without a value, or with any value but a false one, is set.
        self.get(name).is_some_and(|v| !matches!(v, "false" | "0"))
    }

    pub(crate) fn number(&self, name: &str) -> ApiResult<Option<u64>> {
        match self.text(name) {
            "" => Ok(None),
            text => text.parse().map(Some).map_err(|_| {
                ApiError::bad_request(format!("invalid value {text:?} for {name}: expected a whole number"))
            }),
        }
    }

    /// `dryRun=All`; `options` is the type of the options of the verb.
    pub(crate) fn dry_run(&self, options: &str) -> ApiResult<bool> {
        match self.get("dryRun") {
            None | Some("") => Ok(false),
            Some("All") => Ok(true),
            Some(other) => {
                let cause = Cause::not_supported("dryRun", &serde_json::json!([other]), &["All"]);
                Err(ApiError::invalid_options(options, cause))
            }
        }
    }
}

/// Undoes percent encoding; `None` if it is broken or not UTF-8.
/// Not by percent-encoding, which leaves what is broken as it is.
pub(crate) fn decode(text: &str) -> Option<String> {
    if !text.contains('%') {
        return Some(text.to_owned());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digit = |b: Option<u8>| b.and_then(|b| char::from(b).to_digit(16));
            let (high, low) = (digit(rest.next())?, digit(rest.next())?);
            bytes.push(u8::try_from(high * 16 + low).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}
