//! The watched objects of dapr.io: what a sidecar gets when it asks, and the streams that hear of each change.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use kube::api::DynamicObject;
use tonic::Status;
use vela_runtime::cache::{Index, Watch};
use vela_runtime::events::{self, EventRecorder};
use vela_runtime::{Cache, Informer, Key};

use super::message::{ListMessage, OBJECT_AT_MOST};
use super::payloads::Payloads;
use super::pending::{Before, Pending};
use super::secret_data::SecretReader;
use crate::resources::{SecretError, ServedKind, Viewer, payload, resolve, secrets_of};

/// The first list of a kind is waited for so long; then the sidecar asks again.
const FIRST_LIST_WITHIN: Duration = Duration::from_secs(5);
/// Objects of a list that are written before others have their turn.
const LISTED_AT_ONCE: usize = 128;
/// Streams at once.
const STREAMS_AT_MOST: usize = 100_000;
/// An object cannot be given to a sidecar.
const UNUSABLE: &str = "UnusableForSidecars";

/// Why an object cannot be given now.
#[derive(Debug, thiserror::Error)]
pub(super) enum PayloadError {
    /// Only a change of it or of a Secret mends that.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// It will pass by itself.
    #[error("a Secret of {object} cannot be read now: {source}")]
    Unread {
        /// Kind and name.
        object: String,
        /// What the API server said.
        source: kube::Error,
    },
    /// It is no JSON.
    #[error("{object} cannot be written as JSON: {source}")]
    Unwritable {
        /// Kind and name.
        object: String,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// A sidecar would refuse the message.
    #[error(
        "{object} has {bytes} bytes with its values of Secrets, and a sidecar takes {OBJECT_AT_MOST}; make it smaller"
    )]
    TooLong {
        /// Kind and name.
        object: String,
        /// How long it is.
        bytes: usize,
    },
}

/// All objects that sidecars may ask for.
#[derive(Debug)]
pub(super) struct Objects {
    kinds: BTreeMap<ServedKind, Served>,
    secrets: SecretReader,
    payloads: Payloads,
    events: EventRecorder,
}

#[derive(Debug)]
struct Served {
    informer: Arc<Informer>,
    by_secret: Index,
    streams: Streams,
}

/// The streams of one kind, oldest first.
#[derive(Clone, Debug, Default)]
struct Streams {
    open: Arc<Mutex<BTreeMap<u64, Arc<Pending>>>>,
    next: Arc<AtomicU64>,
}

/// A stream hears of changes until this is dropped.
#[derive(Debug)]
pub(super) struct Registered {
    number: u64,
    streams: Streams,
    /// What it hears.
    pub(super) pending: Arc<Pending>,
}

impl Objects {
    /// Watches all kinds, and Secrets, from now on.
    pub(super) fn new(client: kube::Client, cache: &Cache, events: EventRecorder) -> Arc<Self> {
        let served = |kind: ServedKind| {
            let informer = cache.informer(Watch::full(kind.resource()));
            let by_secret = informer.index(move |object| secret_keys(kind, object));
            (kind, Served { informer, by_secret, streams: Streams::default() })
        };
        let kinds = ServedKind::ALL.into_iter().map(served).collect();
        let objects = Arc::new(Self {
            kinds,
            secrets: SecretReader::new(client, cache),
            payloads: Payloads::default(),
            events,
        });
        for served in objects.kinds.values() {
            let streams = served.streams.clone();
            served.informer.on_change(Arc::new(move |change| {
                streams.each(|pending| pending.changed(change));
            }));
        }
        let weak: Weak<Self> = Arc::downgrade(&objects);
        objects.secrets.informer().on_change(Arc::new(move |change| {
            let (Some(objects), Some(secret), false) = (weak.upgrade(), change.object(), change.initial)
            else {
                return;
            };
            let version = |one: &Option<Arc<DynamicObject>>| {
                one.as_ref().and_then(|one| one.metadata.resource_version.clone())
            };
            let before = version(&change.old);
            if before != version(&change.new) {
                objects.secret_changed(&Key::of(secret), before.as_deref());
            }
        }));
        objects
    }

    fn secret_changed(&self, secret: &Key, before: Option<&str>) {
        for served in self.kinds.values() {
            for object in served.by_secret.find(&secret.to_string()) {
                served.streams.each(|pending| pending.secret_changed(&object, &secret.name, before));
            }
        }
    }

    fn served(&self, kind: ServedKind) -> Result<&Served, Status> {
        self.kinds.get(&kind).ok_or_else(|| Status::unimplemented(format!("{} is not served", kind.name())))
    }

    /// The kind, once its objects are known.
    async fn listed(&self, kind: ServedKind) -> Result<&Served, Status> {
        let served = self.served(kind)?;
        for informer in [&served.informer, self.secrets.informer()] {
            if informer.is_synced() {
                continue;
            }
            let why = match tokio::time::timeout(FIRST_LIST_WITHIN, informer.synced()).await {
                Ok(Ok(())) => continue,
                Ok(Err(error)) => error.to_string(),
                Err(_) => format!(
                    "no list of {} came from the API server yet; is the kind installed?",
                    informer.watch().resource.kind
                ),
            };
            // Sidecars go on without these two, and end without any other.
            let may_miss = matches!(kind, ServedKind::McpServer | ServedKind::WorkflowAccessPolicy);
            return Err(if may_miss { Status::unimplemented(why) } else { Status::unavailable(why) });
        }
        Ok(served)
    }

    /// What a sidecar gets when it asks for all objects of a kind. One that cannot be given is left out, and said on the object.
    pub(super) async fn list(&self, kind: ServedKind, viewer: &Viewer) -> Result<Vec<Bytes>, Status> {
        let served = self.listed(kind).await?;
        let near = served.informer.list_where(|object| viewer.is_near(object));
        let mut message = ListMessage::default();
        for (number, object) in viewer.list(kind, near).into_iter().enumerate() {
            if number % LISTED_AT_ONCE == LISTED_AT_ONCE - 1 {
                tokio::task::yield_now().await;
            }
            // No Secret is read for a list that is refused in any case.
            let payload = if message.is_too_long() {
                written(kind, &object)
            } else {
                self.resolved(kind, &object).await
            };
            match payload {
                Ok(payload) => message.push(payload),
                Err(error @ PayloadError::Unread { .. }) => {
                    return Err(Status::unavailable(error.to_string()));
                }
                Err(error) => self.report(kind, &object, &error).await,
            }
        }
        message.finish(kind, viewer.namespace()).inspect_err(|refusal| {
            tracing::warn!(why = refusal.message(), "a list is not given to a sidecar");
        })
    }

    /// One object by its name. The code of an error is that of Dapr's operator.
    pub(super) async fn get(
        &self,
        kind: ServedKind,
        viewer: &Viewer,
        namespace: &str,
        name: &str,
    ) -> Result<Bytes, Status> {
        let served = self.listed(kind).await?;
        let what = kind.name().to_lowercase();
        let found = served.informer.get(&Key::new(namespace, name)).filter(|object| viewer.is_near(object));
        let object = found.ok_or_else(|| {
            Status::unknown(format!(
                "error getting {what} {namespace}/{name}: {}.dapr.io {name:?} not found",
                kind.name()
            ))
        })?;
        match self.resolved(kind, &object).await {
            Ok(payload) => Ok(payload),
            Err(error @ PayloadError::Unread { .. }) => Err(Status::unavailable(error.to_string())),
            Err(error) => {
                self.report(kind, &object, &error).await;
                Err(Status::unknown(format!("error getting {what} {namespace}/{name}: {error}")))
            }
        }
    }

    /// Hears of changes from now on.
    pub(super) async fn register(&self, kind: ServedKind, viewer: Viewer) -> Result<Registered, Status> {
        let streams = &self.listed(kind).await?.streams;
        let pending = Arc::new(Pending::of(viewer));
        let number = streams.next.fetch_add(1, Ordering::Relaxed);
        let mut open = streams.open();
        if open.len() >= STREAMS_AT_MOST {
            return Err(Status::resource_exhausted("too many streams; ask another replica"));
        }
        open.insert(number, pending.clone());
        drop(open);
        Ok(Registered { number, streams: streams.clone(), pending })
    }

    /// The object as every sidecar that hears of its change gets it.
    pub(super) async fn payload(
        &self,
        kind: ServedKind,
        object: &Arc<DynamicObject>,
    ) -> Result<Bytes, PayloadError> {
        if secrets_of(kind, object)?.is_empty() {
            return self.payloads.get_or_write(object, || written(kind, object));
        }
        self.resolved(kind, object).await
    }

    /// The same as it was before, as far as it is remembered: nothing is read for it.
    pub(super) fn payload_before(&self, kind: ServedKind, before: &Before) -> Option<Bytes> {
        let Before { object, secrets: versions } = before;
        let names = secrets_of(kind, object).ok()?;
        if names.is_empty() {
            return self.payloads.get_or_write(object, || written(kind, object)).ok();
        }
        let namespace = object.metadata.namespace.as_deref().unwrap_or_default();
        let secrets = self.secrets.remembered_before(namespace, names, versions)?;
        written(kind, &resolve(kind, object, &secrets).ok()?).ok()
    }

    /// The object with its values of Secrets.
    async fn resolved(&self, kind: ServedKind, object: &DynamicObject) -> Result<Bytes, PayloadError> {
        let names = secrets_of(kind, object)?;
        if names.is_empty() {
            return written(kind, object);
        }
        let namespace = object.metadata.namespace.as_deref().unwrap_or_default();
        let read = self.secrets.read(namespace, names).await;
        let secrets = read.map_err(|source| PayloadError::Unread { object: title(kind, object), source })?;
        written(kind, &resolve(kind, object, &secrets)?)
    }

    /// Says on the object, and in the log, why sidecars do not get it.
    pub(super) async fn report(&self, kind: ServedKind, object: &DynamicObject, error: &PayloadError) {
        tracing::warn!(%error, "an object is not given to sidecars");
        let mut reference = events::reference(object);
        reference.kind = Some(kind.name().to_owned());
        reference.api_version = Some(kind.resource().api_version);
        self.events.warning(&reference, UNUSABLE, &error.to_string()).await;
    }
}

impl Streams {
    fn open(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Pending>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn each(&self, tell: impl Fn(&Pending)) {
        self.open().values().for_each(|pending| tell(pending));
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.streams.open().remove(&self.number);
    }
}

/// The object with what it holds itself.
pub(super) fn written(kind: ServedKind, object: &DynamicObject) -> Result<Bytes, PayloadError> {
    let unwritable = |source| PayloadError::Unwritable { object: title(kind, object), source };
    let payload = payload(kind, object).map_err(unwritable)?;
    if payload.len() > OBJECT_AT_MOST {
        return Err(PayloadError::TooLong { object: title(kind, object), bytes: payload.len() });
    }
    Ok(payload.into())
}

fn title(kind: ServedKind, object: &DynamicObject) -> String {
    format!("{} {}", kind.name(), Key::of(object))
}

/// The Secrets that the object takes values from; of one that cannot be read nothing is known.
fn secret_keys(kind: ServedKind, object: &DynamicObject) -> Vec<String> {
    let namespace = object.metadata.namespace.clone().unwrap_or_default();
    let names = secrets_of(kind, object).unwrap_or_default();
    names.into_iter().map(|name| Key::new(namespace.clone(), name).to_string()).collect()
}
