//! Reads the request that a trait makes before it renders (`processing.http`) as plain data; never sends it.

use std::collections::BTreeMap;

use serde_json::Value as Json;

/// A request over HTTP. The object its answer holds becomes `processing.output` of the trait.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Request {
    /// `GET` where the template says nothing.
    pub method: String,
    /// The address of the server.
    pub url: String,
    /// Header fields.
    pub header: BTreeMap<String, String>,
    /// Trailer fields.
    pub trailer: BTreeMap<String, String>,
    /// The body; empty for none.
    pub body: String,
}

/// The answers known by now.
pub type Answers = BTreeMap<Request, Json>;

impl Request {
    /// Reads the value of `processing.http`; fails with what is wrong.
    pub(super) fn read(http: &Json) -> Result<Self, String> {
        let text = |path: &str| match http.pointer(path) {
            None | Some(Json::Null) => Ok(String::new()),
            Some(Json::String(text)) => Ok(text.clone()),
            Some(other) => {
                Err(format!("processing.http{} must be a string, not {other}", path.replace('/', ".")))
            }
        };
        let fields = |path: &str| -> Result<BTreeMap<String, String>, String> {
            let given = http.pointer(path).and_then(Json::as_object).into_iter().flatten();
            given
                .map(|(name, value)| match value {
                    Json::String(text) => Ok((name.clone(), text.clone())),
                    other => Err(format!("the field {name:?} of a request must be a string, not {other}")),
                })
                .collect()
        };
        let method = match text("/method")? {
            method if method.is_empty() => "GET".to_owned(),
            method => method,
        };
        let url = text("/url")?;
        if url.is_empty() {
            return Err("processing.http.url must say whom to ask".to_owned());
        }
        let (header, trailer) = (fields("/request/header")?, fields("/request/trailer")?);
        Ok(Self { method, url, header, trailer, body: text("/request/body")? })
    }
}

impl std::fmt::Display for Request {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.method, self.url)
    }
}
