//! Builds the URL of a Prometheus query, and reads one number from the answer, or why there is none.

use serde::Deserialize;
use serde_json::Value as Json;

/// An instant query for one number has a short answer; more series than fit are too many anyway.
pub const ANSWER_BYTES_AT_MOST: usize = 256 << 10;
/// So much of what a server says about a failure is repeated.
const ERROR_CHARACTERS_AT_MOST: usize = 300;

#[derive(Deserialize)]
struct Answer {
    status: String,
    #[serde(default)]
    error: String,
    #[serde(default)]
    data: Data,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Data {
    #[serde(default)]
    result_type: String,
    #[serde(default)]
    result: Json,
}

/// The URL of an instant query.
///
/// # Errors
/// The address is no http or https URL.
pub fn url(address: &str, query: &str) -> Result<String, String> {
    let address = address.trim().trim_end_matches('/');
    if !(address.starts_with("http://") || address.starts_with("https://")) {
        return Err(format!("the address {address:?} is no http:// or https:// URL"));
    }
    let mut url = format!("{address}/api/v1/query?query=");
    for byte in query.trim().bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => url.push(char::from(byte)),
            _ => url.push_str(&format!("%{byte:02X}")),
        }
    }
    Ok(url)
}

/// The number in an answer.
///
/// # Errors
/// The query was refused, or found no number or several.
pub fn reading(status: u16, body: &[u8]) -> Result<f64, String> {
    let answer: Answer = match serde_json::from_slice(body) {
        Ok(answer) => answer,
        Err(_) if status == 200 => {
            return Err("the answer is not one of Prometheus' HTTP API; is the address right?".to_owned());
        }
        Err(_) => return Err(format!("the server answered with status {status}")),
    };
    if answer.status != "success" || status != 200 {
        let error: String = answer.error.chars().take(ERROR_CHARACTERS_AT_MOST).collect();
        return Err(format!("Prometheus refused the query with status {status}: {error}"));
    }
    let Data { result_type, result } = answer.data;
    let value = match result_type.as_str() {
        "scalar" => &result,
        "vector" => match result.as_array().map(Vec::as_slice) {
            Some([only]) => &only["value"],
            Some([]) | None => {
                return Err(
                    "the query found no value; where nothing means 0, add `or vector(0)` to it".to_owned()
                );
            }
            Some(several) => {
                return Err(format!(
                    "the query found {} values, which leaves open which one is meant; aggregate them, for example with sum()",
                    several.len()
                ));
            }
        },
        other => {
            return Err(format!(
                "the query gives a {other}, and a vector with one value or a scalar is expected"
            ));
        }
    };
    let text = value.get(1).and_then(Json::as_str).unwrap_or_default();
    // Infinity is spelled +Inf there, which reads as well.
    text.parse().map_err(|_| format!("the answer holds {text:?} where a number is expected"))
}
