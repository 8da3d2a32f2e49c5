//! Follows objects over watches: which are there, which are gone. It only reads.
//!
//! Watches connect again by themselves, with a back-off. What went while they were not connected is told when everything
//! has been listed anew.

use std::collections::BTreeSet;

use futures::StreamExt;
use futures::stream::{self, BoxStream, SelectAll};
use kube::ResourceExt as _;
use kube::api::DynamicObject;
use kube::discovery::Scope;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, watcher};
use serde_json::{Value, json};
use vela_runtime::Api;

use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::pointer::text;
use crate::target;

/// Which object it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) api_version: String,
}

impl Key {
    pub(crate) fn of(object: &Value) -> Self {
        let field = |pointer: &str| text(object, pointer).to_owned();
        Self {
            namespace: field("/metadata/namespace"),
            name: field("/metadata/name"),
            kind: field("/kind"),
            api_version: field("/apiVersion"),
        }
    }
}

/// What a watch tells.
#[derive(Debug)]
pub(crate) enum Change {
    /// The object is there, or is other than it was.
    There(Key, Value),
    Gone(Key),
    /// Everything that is there was told by one of the watches.
    Listed,
    /// The connection is lost, for this reason; it is tried again.
    Lost(String),
}

/// Which objects a watch is about.
pub(crate) struct Watched<'a> {
    pub(crate) api_version: &'a str,
    pub(crate) kind: &'a str,
    /// Of all namespaces where it is none.
    pub(crate) namespace: Option<&'a str>,
    /// The fields that select some of them, as the API server takes them.
    pub(crate) fields: Option<String>,
}

impl<'a> Watched<'a> {
    /// One object.
    pub(crate) fn one(api_version: &'a str, kind: &'a str, namespace: &'a str, name: &str) -> Self {
        let namespace = Some(namespace).filter(|namespace| !namespace.is_empty());
        Self { api_version, kind, namespace, fields: Some(format!("metadata.name={name}")) }
    }
}

enum Message {
    Change(Change),
    /// A watch has told everything that is there, for the first time or anew.
    Listed {
        is_first: bool,
    },
    Broken(watcher::Error),
}

/// The changes of the objects of some kinds.
pub(crate) struct Changes<'a> {
    cluster: &'a Cluster,
    streams: SelectAll<BoxStream<'static, Message>>,
    /// Watches that have not told everything that is there.
    unlisted: usize,
    /// A lost connection is told once.
    is_lost: bool,
}

impl<'a> Changes<'a> {
    /// Of the objects in a namespace, or in all; of one name, or of all. Which of those at `known` are gone is told, too.
    pub(crate) async fn of(
        cluster: &'a Cluster,
        kinds: &[(&str, &str)],
        namespace: Option<&str>,
        name: Option<&str>,
        known: &[Key],
    ) -> Result<Self> {
        let fields = name.map(|name| format!("metadata.name={name}"));
        let watched = kinds.iter().map(|(api_version, kind)| Watched {
            api_version,
            kind,
            namespace,
            fields: fields.clone(),
        });
        Self::of_all(cluster, &watched.collect::<Vec<_>>(), known).await
    }

    /// Of everything that is watched.
    pub(crate) async fn of_all(cluster: &'a Cluster, watched: &[Watched<'_>], known: &[Key]) -> Result<Self> {
        let mut streams = SelectAll::new();
        for Watched { api_version, kind, namespace, fields } in watched {
            let (resource, scope) = cluster.kind(api_version, kind).await?;
            let client = cluster.client().clone();
            let api: Api<DynamicObject> = match (scope, namespace) {
                (Scope::Namespaced, Some(namespace)) => Api::namespaced_with(client, namespace, &resource),
                _ => Api::all_with(client, &resource),
            };
            let api = api.inner().map_err(|error| cluster.failure(&format!("watch {kind}"), &error))?;
            let config = watcher::Config::default();
            let config = match fields {
                Some(fields) => config.fields(fields),
                None => config,
            };
            let mut listed = Listed::new(api_version, kind, known);
            let messages = watcher(api, config)
                .default_backoff()
                .flat_map(move |event| stream::iter(listed.take(event)));
            streams.push(messages.boxed());
        }
        Ok(Self { cluster, unlisted: watched.len(), streams, is_lost: false })
    }

    /// Has every watch told all that is there?
    pub(crate) fn is_whole(&self) -> bool {
        self.unlisted == 0
    }

    /// The next change; an error where the cluster refuses to tell any.
    pub(crate) async fn next(&mut self) -> Result<Change> {
        while let Some(message) = self.streams.next().await {
            match message {
                Message::Change(change) => {
                    self.is_lost = false;
                    return Ok(change);
                }
                Message::Listed { is_first } => {
                    self.is_lost = false;
                    self.unlisted -= usize::from(is_first);
                    return Ok(Change::Listed);
                }
                Message::Broken(error) => {
                    if let Some(refusal) = refusal(&error) {
                        return Err(self.cluster.failure("watch", refusal));
                    }
                    if !std::mem::replace(&mut self.is_lost, true) {
                        return Ok(Change::Lost(target::causes(&error)));
                    }
                }
            }
        }
        Err(Error::internal("every watch has ended").into())
    }
}

/// A refusal that another try does not change.
fn refusal(error: &watcher::Error) -> Option<&kube::Error> {
    match error {
        watcher::Error::InitialListFailed(error) | watcher::Error::WatchStartFailed(error) => match error {
            kube::Error::Api(status) if [401, 403, 404, 405].contains(&status.code) => Some(error),
            _ => None,
        },
        _ => None,
    }
}

/// What one watch has told, so that a new list says what went.
struct Listed {
    api_version: String,
    kind: String,
    /// What was there before the list that is under way.
    former: BTreeSet<Key>,
    known: BTreeSet<Key>,
    is_whole: bool,
}

impl Listed {
    fn new(api_version: &str, kind: &str, known: &[Key]) -> Self {
        let known = known.iter().filter(|key| key.api_version == api_version && key.kind == kind);
        let (former, known) = (BTreeSet::new(), known.cloned().collect());
        Self { api_version: api_version.to_owned(), kind: kind.to_owned(), former, known, is_whole: false }
    }

    fn key(&self, object: &DynamicObject) -> Key {
        Key {
            namespace: object.namespace().unwrap_or_default(),
            name: object.name_any(),
            kind: self.kind.clone(),
            api_version: self.api_version.clone(),
        }
    }

    fn take(&mut self, event: watcher::Result<watcher::Event<DynamicObject>>) -> Vec<Message> {
        let one = |change| vec![Message::Change(change)];
        match event {
            Ok(watcher::Event::Init) => {
                // A list that was broken off has not said what went.
                self.former.append(&mut self.known);
                Vec::new()
            }
            Ok(watcher::Event::InitApply(object) | watcher::Event::Apply(object)) => {
                let key = self.key(&object);
                self.known.insert(key.clone());
                // Lists leave out what their items have in common.
                let mut value = json!(object);
                value["apiVersion"] = json!(self.api_version);
                value["kind"] = json!(self.kind);
                one(Change::There(key, value))
            }
            Ok(watcher::Event::InitDone) => {
                let former = std::mem::take(&mut self.former).into_iter();
                let gone = former.filter(|key| !self.known.contains(key));
                let gone = gone.map(|key| Message::Change(Change::Gone(key)));
                let is_first = !std::mem::replace(&mut self.is_whole, true);
                gone.chain([Message::Listed { is_first }]).collect()
            }
            Ok(watcher::Event::Delete(object)) => {
                let key = self.key(&object);
                self.known.remove(&key);
                one(Change::Gone(key))
            }
            Err(error) => vec![Message::Broken(error)],
        }
    }
}
