//! Reads objects, lists and logs of a cluster for steps and views, within limits of number and size. The caller decides whose rights
//! the client has, and which namespaces may be read.

use std::collections::BTreeMap;

use futures::StreamExt as _;
use kube::api::{DynamicObject, ListParams, LogParams, TypeMeta};
use serde_json::Value;
use vela_engine::ObjectKey;
use vela_runtime::{Discovery, Kind, discovery, pod_log};

/// Objects asked for by one request.
const PAGE: u32 = 250;
/// Objects that one list gives.
pub(crate) const OBJECTS_AT_MOST: usize = 2000;
/// Bytes of them: they become part of what a template is evaluated with.
const BYTES_AT_MOST: usize = 4 << 20;
/// Bytes of a log.
const LOG_BYTES_AT_MOST: usize = 1 << 20;

/// Objects of one kind in one place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Selection {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    /// That of the application where it is empty and the application is bound to it; else every one.
    pub(crate) namespace: String,
    /// They have all of these labels.
    pub(crate) labels: BTreeMap<String, String>,
    /// Fields of theirs have these values, where the server selects by them.
    pub(crate) fields: BTreeMap<String, String>,
}

/// A cluster, and the rights in it.
pub(crate) struct Reading<'a> {
    pub(crate) client: kube::Client,
    pub(crate) discovery: &'a Discovery,
}

/// Why something could not be read.
pub(crate) enum Unread {
    /// The server refused, or did not answer.
    Client(kube::Error),
    /// Something else, in a sentence.
    Other(String),
}

impl From<kube::Error> for Unread {
    fn from(error: kube::Error) -> Self {
        Self::Client(error)
    }
}

impl Unread {
    /// The sentence; `explain` says what the server meant.
    pub(crate) fn explained(self, explain: impl FnOnce(&kube::Error) -> String) -> String {
        match self {
            Self::Client(error) => explain(&error),
            Self::Other(why) => why,
        }
    }
}

impl Reading<'_> {
    /// The kind of an object.
    pub(crate) async fn kind(&self, api_version: &str, kind: &str) -> Result<Kind, Unread> {
        let resolved = self.discovery.resolve(api_version, kind).await;
        resolved.map_err(|error| Unread::Other(error.to_string()))
    }

    /// Does the cluster know a kind? Where it does not answer, the request for the objects says so.
    pub(crate) async fn is_served(&self, api_version: &str, kind: &str) -> bool {
        !matches!(self.discovery.resolve(api_version, kind).await, Err(discovery::Error::Unknown { .. }))
    }

    /// An object as it is; nothing where there is none.
    pub(crate) async fn object(&self, key: &ObjectKey) -> Result<Option<Value>, Unread> {
        let kind = self.kind(&key.api_version, &key.kind).await?;
        let found = kind.api(self.client.clone(), &key.namespace).get_opt(&key.name).await?;
        Ok(found.map(|found| json(&found)))
    }

    /// The objects of a selection in a namespace, or in all of them where it is empty.
    pub(crate) async fn list(
        &self,
        kind: &Kind,
        selection: &Selection,
        namespace: &str,
    ) -> Result<Vec<Value>, Unread> {
        let labels = selector(&selection.labels).map_err(Unread::Other)?;
        let fields = selector(&selection.fields).map_err(Unread::Other)?;
        let params = ListParams { label_selector: labels, field_selector: fields, ..ListParams::default() };
        self.pages(kind, params, namespace).await
    }

    /// The objects of a kind in a namespace that have a label, whatever its value.
    pub(crate) async fn labelled(
        &self,
        kind: &Kind,
        label: &str,
        namespace: &str,
    ) -> Result<Vec<Value>, Unread> {
        self.pages(kind, ListParams::default().labels(label), namespace).await
    }

    async fn pages(&self, kind: &Kind, params: ListParams, namespace: &str) -> Result<Vec<Value>, Unread> {
        let api = kind.api(self.client.clone(), namespace);
        let mut params = params.limit(PAGE);
        let (mut found, mut bytes) = (Vec::new(), 0);
        // The number of objects is limited, and each page has some.
        loop {
            let page = api.list(&params).await?;
            let next = page.metadata.continue_.filter(|token| !token.is_empty() && !page.items.is_empty());
            for object in page.items {
                let object = written(kind, object);
                bytes += object.to_string().len();
                found.push(object);
            }
            if found.len() > OBJECTS_AT_MOST || bytes > BYTES_AT_MOST {
                return Err(Unread::Other(format!(
                    "more than {OBJECTS_AT_MOST} objects or {BYTES_AT_MOST} bytes of kind {} are selected; write a filter",
                    kind.resource.kind
                )));
            }
            let Some(token) = next else { return Ok(found) };
            params = params.continue_token(&token);
        }
    }

    /// The log of a container, at most its first MiB.
    pub(crate) async fn log(&self, namespace: &str, pod: &str, params: LogParams) -> Result<String, Unread> {
        let most = i64::try_from(LOG_BYTES_AT_MOST).unwrap_or(i64::MAX);
        let limit = params.limit_bytes.map_or(most, |limit| limit.clamp(0, most));
        let params = LogParams { follow: false, limit_bytes: Some(limit), ..params };
        let mut lines = pod_log::lines(&self.client, namespace, pod, &params).await?;
        let mut log = String::new();
        while let Some(line) = lines.next().await {
            let line = line.map_err(|error| Unread::Other(format!("the log ends early: {error}")))?;
            log.push_str(&line);
            log.push('\n');
            // A server need not know the limit.
            if log.len() > LOG_BYTES_AT_MOST {
                break;
            }
        }
        Ok(log)
    }
}

/// A selector of equal values; nothing where there are none.
fn selector<'a>(terms: impl IntoIterator<Item = (&'a String, &'a String)>) -> Result<Option<String>, String> {
    let mut written = Vec::new();
    for (name, value) in terms {
        if !is_plain(name) || !(value.is_empty() || is_plain(value)) {
            return Err(format!(
                "{name:?}={value:?} cannot be selected by: names and values are of letters, digits and -_./"
            ));
        }
        written.push(format!("{name}={value}"));
    }
    Ok(Some(written.join(",")).filter(|text| !text.is_empty()))
}

/// The characters of labels and their values; others must not change the meaning of a selector.
pub(crate) fn is_plain(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c))
}

/// An object of a list, which does not say what it is.
fn written(kind: &Kind, mut object: DynamicObject) -> Value {
    object.types.get_or_insert_with(|| TypeMeta {
        api_version: kind.resource.api_version.clone(),
        kind: kind.resource.kind.clone(),
    });
    json(&object)
}

/// An object as plain JSON. Objects come from JSON, so the way back cannot fail.
pub(crate) fn json(object: &DynamicObject) -> Value {
    serde_json::to_value(object).unwrap_or(Value::Null)
}
