//! Server-side apply for desired objects that differ from the live ones, and deletes that are checked first.

mod delete;
mod undeclared;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use kube::api::{DynamicObject, PatchParams};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::cache::Key;
use crate::discovery::{self, Discovery, Kind};
use crate::retry::Retry;

/// The effect of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The object was not there.
    Created,
    /// The object was there and differed.
    Configured,
    /// The object needed no write.
    Unchanged,
}

/// The result of a deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deletion {
    /// It is not there any more.
    Gone,
    /// It is being deleted and waits for its finalizers.
    Going,
}

/// An object as it is after [`Applier::apply`].
#[derive(Clone, Debug)]
pub struct Applied {
    /// The live object.
    pub object: Arc<DynamicObject>,
    /// Its kind.
    pub kind: Kind,
    /// The effect of the write.
    pub outcome: Outcome,
}

/// The reaction to another writer that owns a field we want to set to something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conflicts {
    /// Stop and name the fields and their owners.
    Refuse,
    /// Take the fields over.
    Force,
}

/// Which live object a write is meant for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bound {
    /// The one that was looked at, however it is now.
    Identity,
    /// The very version that was looked at.
    Version,
}

/// Says whether an object that already exists may be changed or deleted; the error tells whose it is.
pub type Guard<'a> = &'a (dyn Fn(&DynamicObject) -> Result<(), String> + Send + Sync);

pub use delete::Confirm;

/// Why an object was not applied or deleted.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Its kind is not known.
    #[error("cannot apply {object}: {source}")]
    Kind {
        /// Kind and name.
        object: String,
        /// Why.
        source: discovery::Error,
    },
    /// It exists and belongs to another owner.
    #[error("cannot change {object}: {reason}")]
    Foreign {
        /// Kind and name.
        object: String,
        /// The owner.
        reason: String,
    },
    /// The server refused or could not be reached.
    #[error("cannot apply {object}: {}", explain(source))]
    Client {
        /// Kind and name.
        object: String,
        /// The error of the client.
        source: kube::Error,
    },
    /// The desired object cannot be written as JSON or lacks a name.
    #[error("cannot apply {object}: {reason}")]
    Malformed {
        /// Kind and name.
        object: String,
        /// The missing part.
        reason: String,
    },
}

impl Error {
    /// When another try is worth while, though the desired object stays as it is.
    #[must_use]
    pub fn retry(&self) -> Retry {
        match self {
            Self::Client { source, .. } => Retry::of(source),
            Self::Kind { source: discovery::Error::Unknown { .. }, .. }
            | Self::Malformed { .. }
            | Self::Foreign { .. } => Retry::Never,
            Self::Kind { .. } => Retry::BackOff(None),
        }
    }

    /// True when another try may succeed without any change of the input.
    pub fn is_transient(&self) -> bool {
        self.retry().is_transient()
    }
}

/// A client error in the words of the server.
pub fn explain(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) if !status.message.is_empty() => status.message.clone(),
        other => other.to_string(),
    }
}

/// Writes objects for one field manager. It keeps a small memory of what it wrote, so that values which the server
/// stores in another spelling are not written again and again.
#[derive(Clone)]
pub struct Applier {
    /// Writes, and reads what is about to be written.
    client: kube::Client,
    /// Reads whether something that is to be deleted is there, which is bookkeeping.
    own: kube::Client,
    discovery: Discovery,
    manager: String,
    memory: Arc<Mutex<HashMap<(String, Key), Written>>>,
}

#[derive(Clone, PartialEq, Eq)]
struct Written {
    desired: String,
    live: String,
}

/// Objects remembered at most; beyond it the memory starts anew, at the price of one needless write each.
const MEMORY_AT_MOST: usize = 50_000;

impl std::fmt::Debug for Applier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Applier").field("manager", &self.manager).finish_non_exhaustive()
    }
}

impl Applier {
    /// An applier that signs its fields with this manager name.
    pub fn new(client: kube::Client, discovery: Discovery, manager: impl Into<String>) -> Self {
        let own = client.clone();
        Self { client, own, discovery, manager: manager.into(), memory: Arc::default() }
    }

    /// The same, writing through another client, on whose rights it depends. Both share the memory of written objects.
    #[must_use]
    pub fn through(&self, client: kube::Client) -> Self {
        Self { client, ..self.clone() }
    }

    /// The kinds it resolves with.
    pub fn discovery(&self) -> &Discovery {
        &self.discovery
    }

    /// The field manager.
    pub fn manager(&self) -> &str {
        &self.manager
    }

    /// Bring one object to the desired state.
    ///
    /// * `live`: what the cache knows; with nothing known the server is asked before anything is created.
    /// * `recorded`: the caller knows that exactly this desired object was applied before, so nothing of ours that is
    ///   no longer wanted can linger on the live object, and a live object that has all we want needs no write.
    /// * `guard`: asked before an existing object is touched.
    ///
    /// # Errors
    /// Its kind is not known, it has no name, the guard says whose it is, another writer owns one of its fields, or
    /// the server refused; [`Error::is_transient`] tells whether another try may succeed.
    pub async fn apply(
        &self,
        desired: &DynamicObject,
        live: Option<Arc<DynamicObject>>,
        recorded: bool,
        conflicts: Conflicts,
        guard: Guard<'_>,
    ) -> Result<Applied, Error> {
        self.write(desired, live, recorded, (conflicts, Bound::Identity), guard).await
    }

    /// The same for an object that others change, too, and whose guard must hold when it is written: a live object that
    /// is not as it was looked at any more is left as it is, which is a conflict.
    ///
    /// # Errors
    /// Those of [`Applier::apply`], and the server's conflict (409) where the object was changed meanwhile.
    pub async fn apply_seen(
        &self,
        desired: &DynamicObject,
        live: Option<Arc<DynamicObject>>,
        recorded: bool,
        conflicts: Conflicts,
        guard: Guard<'_>,
    ) -> Result<Applied, Error> {
        self.write(desired, live, recorded, (conflicts, Bound::Version), guard).await
    }

    async fn write(
        &self,
        desired: &DynamicObject,
        live: Option<Arc<DynamicObject>>,
        recorded: bool,
        (conflicts, bound): (Conflicts, Bound),
        guard: Guard<'_>,
    ) -> Result<Applied, Error> {
        let object = describe(desired);
        let kind = self
            .discovery
            .resolve_object(desired)
            .await
            .map_err(|source| Error::Kind { object: object.clone(), source })?;
        let key = Key::of(desired);
        if key.name.is_empty() {
            return Err(Error::Malformed { object, reason: "it has no name".into() });
        }
        let api = kind.api(self.client.clone(), &key.namespace);
        let failed = |source| Error::Client { object: object.clone(), source };
        let live = match live {
            Some(live) => Some(live),
            None => api.get_opt(&key.name).await.map_err(failed)?.map(Arc::new),
        };
        let wanted = body(desired, kind.status_apart)
            .map_err(|reason| Error::Malformed { object: object.clone(), reason })?;
        let digest = digest(&wanted);
        let memory_key = (format!("{}/{}", kind.resource.api_version, kind.resource.kind), key.clone());
        if let Some(live) = &live {
            guard(live).map_err(|reason| Error::Foreign { object: object.clone(), reason })?;
            let now = Written { desired: digest.clone(), live: fingerprint(live, &wanted) };
            let unchanged = (recorded && contains(live, &wanted)) || self.remembers(&memory_key, &now);
            if unchanged {
                return Ok(Applied { object: live.clone(), kind, outcome: Outcome::Unchanged });
            }
        }
        let mut params = PatchParams::apply(&self.manager);
        // The caller saw no object, so this call creates it. An object that another client created meanwhile differs in
        // some field, and without force the server refuses to take that over; the next look finds it and asks the
        // guard.
        params.force = conflicts == Conflicts::Force && live.is_some();
        let mut patch = wanted;
        if let Some(uid) = live.as_ref().and_then(|live| live.metadata.uid.clone()) {
            // The object we looked at, or none: never one that took its name meanwhile.
            patch["metadata"]["uid"] = Value::String(uid);
        }
        let version = live.as_ref().and_then(|live| live.metadata.resource_version.clone());
        if let (Bound::Version, Some(version)) = (bound, version) {
            patch["metadata"]["resourceVersion"] = Value::String(version);
        }
        let written = undeclared::patch(&api, &key, &params, &patch).await.map_err(failed)?;
        self.remember(memory_key, Written { desired: digest, live: fingerprint(&written, &patch) });
        let outcome = match &live {
            None => Outcome::Created,
            Some(live) if live.metadata.resource_version == written.metadata.resource_version => {
                Outcome::Unchanged
            }
            Some(_) => Outcome::Configured,
        };
        Ok(Applied { object: Arc::new(written), kind, outcome })
    }

    fn forget(&self, key: &(String, Key)) {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }

    fn remembers(&self, key: &(String, Key), now: &Written) -> bool {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner).get(key) == Some(now)
    }

    fn remember(&self, key: (String, Key), written: Written) {
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        if memory.len() >= MEMORY_AT_MOST {
            memory.clear();
        }
        memory.insert(key, written);
    }
}

/// Kind and name, for messages.
pub fn describe(object: &DynamicObject) -> String {
    let kind = object.types.as_ref().map_or("object", |types| types.kind.as_str());
    format!("{kind} {}", Key::of(object))
}

/// The content hash of a desired object: equal hashes mean equal wishes.
pub fn hash(desired: &DynamicObject) -> String {
    body(desired, true).map(|body| digest(&body)).unwrap_or_default()
}

/// Notes on a desired object what it is, in this annotation, and says whether the live one has the same note: after a restart it shows
/// that nothing of ours lingers there that is no longer wanted. Not for Secrets, whose hash would tell of what is confidential.
pub fn note(desired: &mut DynamicObject, live: Option<&DynamicObject>, annotation: &str) -> bool {
    let hash = hash(desired);
    let noted = live.and_then(|live| live.metadata.annotations.as_ref()?.get(annotation));
    let same = noted == Some(&hash);
    desired.metadata.annotations.get_or_insert_default().insert(annotation.to_owned(), hash);
    same
}

/// A short hash of a text, for names that must stay apart.
pub fn text_hash(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}

/// The body of the request: the desired object without the fields that only a server may set. A status that is written
/// apart would be dropped by the server.
fn body(desired: &DynamicObject, status_apart: bool) -> Result<Value, String> {
    let mut body = serde_json::to_value(desired).map_err(|error| error.to_string())?;
    if let Some(metadata) = body.get_mut("metadata").and_then(Value::as_object_mut) {
        for field in ["managedFields", "resourceVersion", "uid", "creationTimestamp", "generation"] {
            metadata.remove(field);
        }
    }
    if let Some(object) = body.as_object_mut().filter(|_| status_apart) {
        object.remove("status");
    }
    Ok(body)
}

fn digest(value: &Value) -> String {
    // Maps are ordered by key, so equal values have equal text.
    hex(&Sha256::digest(value.to_string().as_bytes()))
}

/// Half of the digest is plenty against accidents, and records stay small.
fn hex(digest: &[u8]) -> String {
    hex::encode(digest.get(..16).unwrap_or(digest))
}

/// The fields of a live object that would show a foreign change: its values at the places we set.
fn fingerprint(live: &DynamicObject, wanted: &Value) -> String {
    body(live, wanted.get("status").is_none())
        .map(|live| digest(&projection(&live, wanted)))
        .unwrap_or_default()
}

fn projection(live: &Value, wanted: &Value) -> Value {
    match (live, wanted) {
        (Value::Object(live), Value::Object(wanted)) => wanted
            .iter()
            .filter_map(|(name, wanted)| Some((name.clone(), projection(live.get(name)?, wanted))))
            .collect(),
        (Value::Array(live), Value::Array(wanted)) if live.len() == wanted.len() => {
            live.iter().zip(wanted).map(|(live, wanted)| projection(live, wanted)).collect()
        }
        (live, _) => live.clone(),
    }
}

fn contains(live: &DynamicObject, wanted: &Value) -> bool {
    body(live, false).is_ok_and(|live| covers(&live, wanted, false))
}

/// Fields whose values are quantities, or maps of quantities: the server stores them in canonical spelling.
const QUANTITIES: [&str; 9] = [
    "limits",
    "requests",
    "hard",
    "capacity",
    "overhead",
    "sizeLimit",
    "divisor",
    "averageValue",
    "podFixed",
];

/// True when the live value has everything wanted; what else it has came from defaults or from other writers.
fn covers(live: &Value, wanted: &Value, quantity: bool) -> bool {
    match (live, wanted) {
        (Value::Object(live), Value::Object(wanted)) => wanted.iter().all(|(name, wanted)| {
            match live.get(name) {
                Some(live) => covers(live, wanted, quantity || QUANTITIES.contains(&name.as_str())),
                // A zero value leaves no trace on the server.
                None => is_zero(wanted),
            }
        }),
        (Value::Array(live), Value::Array(wanted)) => {
            live.len() == wanted.len()
                && live.iter().zip(wanted).all(|(live, wanted)| covers(live, wanted, quantity))
        }
        (live, wanted) => {
            live == wanted
                || quantity && quantity_of(live).is_some_and(|live| Some(live) == quantity_of(wanted))
        }
    }
}

/// Does a live value contain the wanted one? What servers add, and quantities that they spell otherwise, make no
/// difference.
pub fn has_all(live: &Value, wanted: &Value) -> bool {
    covers(live, wanted, false)
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Bool(true) => false,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Object(fields) => fields.values().all(is_zero),
        Value::Array(items) => items.is_empty(),
    }
}

/// A quantity as number of thousandths; nothing when it is none or finer than that.
fn quantity_of(value: &Value) -> Option<i128> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    let end =
        text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '-' || c == '+')).unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let thousandths: i128 = match suffix {
        "m" => 1,
        "" => 1000,
        "k" => 1_000_000,
        "M" => 1_000_000_000,
        "G" => 1_000_000_000_000,
        "T" => 1_000_000_000_000_000,
        "Ki" => 1000 << 10,
        "Mi" => 1000 << 20,
        "Gi" => 1000 << 30,
        "Ti" => 1000_i128 << 40,
        _ => return None,
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
    let scale = 10_i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let product = digits.checked_mul(thousandths)?;
    (product % scale == 0).then_some(product / scale)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::covers;

    #[test]
    fn what_the_server_adds_or_respells_is_covered() {
        let live = json!({"spec": {
            "replicas": 2,
            "containers": [{"name": "a", "resources": {"limits": {"cpu": "500m", "memory": "1Gi"}}, "policy": "Always"}],
        }});
        for wanted in [
            json!({"spec": {"replicas": 2}}),
            json!({"spec": {"containers": [{"resources": {"limits": {"cpu": "0.5", "memory": "1024Mi"}}}]}}),
            json!({"spec": {"containers": [{"name": "a", "env": [], "tty": false, "workingDir": ""}]}}),
        ] {
            assert!(covers(&live, &wanted, false), "{wanted}");
        }
    }

    #[test]
    fn a_difference_is_not_covered() {
        let live = json!({"spec": {"replicas": 2, "containers": [{"name": "a"}], "value": "500m"}});
        for wanted in [
            json!({"spec": {"replicas": 3}}),
            json!({"spec": {"paused": true}}),
            json!({"spec": {"containers": [{"name": "a"}, {"name": "b"}]}}),
            json!({"spec": {"value": "0.5"}}),
            json!({"spec": {"containers": []}}),
        ] {
            assert!(!covers(&live, &wanted, false), "{wanted}");
        }
    }
}
