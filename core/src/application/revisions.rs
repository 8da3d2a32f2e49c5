//! A revision → its ApplicationRevision object, once per content; old ones go when a newer one is completely applied.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, PostParams};
use serde_json::{Value, json};
use vela_crds::{AppDeployment, AppRollout, ApplicationContext, ApplicationRevision, annotations, labels};
use vela_engine::Document;
use vela_engine::revision::{Previous, Revision};
use vela_runtime::Api;
use vela_runtime::Key;
use vela_runtime::apply as runtime_apply;
use vela_runtime::cache::{Informer, Watch};

use crate::context::Context;

/// Where an AppRollout or an ApplicationContext names revisions.
const NAMED_AT: [&str; 5] = [
    "/spec/sourceAppRevisionName",
    "/spec/targetAppRevisionName",
    "/status/LastSourceAppRevision",
    "/status/lastTargetAppRevision",
    "/spec/applicationRevisionName",
];

/// Where an AppDeployment has lists of them.
const NAMED_IN: [&str; 2] = ["/spec/appRevisions", "/status/placement"];

/// Why the revision could not be recorded.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("cannot record the revision {name}: {}", runtime_apply::explain(source))]
    Write { name: String, source: kube::Error },
    #[error("the revision {0} exists with other content; the next try takes the next number")]
    Taken(String),
    #[error(
        "the revision {0} of a deleted application of this name is still there; the next try follows when it is gone"
    )]
    Leaving(String),
    #[error("cannot write the revision {name}: {source}")]
    Malformed { name: String, source: serde_json::Error },
}

impl Error {
    /// The client's error, where a write failed.
    pub(crate) fn source(&self) -> Option<&kube::Error> {
        if let Self::Write { source, .. } = self { Some(source) } else { None }
    }
}

/// A revision that is to be recorded.
pub(crate) struct Writing<'a> {
    /// The object of the revision.
    pub(crate) owner: &'a DynamicObject,
    /// The name under which its revisions are counted.
    pub(crate) of: &'a Key,
    pub(crate) name: &'a str,
    /// Which content it is.
    pub(crate) hash: &'a str,
    pub(crate) spec: Value,
}

/// The revisions of all applications, metadata only.
#[derive(Clone)]
pub(crate) struct Revisions {
    context: Context,
    resource: ApiResource,
    known: Arc<Informer>,
}

impl Revisions {
    /// Start their watch.
    pub(crate) fn new(context: &Context) -> Self {
        let resource = ApiResource::erase::<ApplicationRevision>(&());
        let known = context.cache.informer(Watch::metadata(resource.clone()));
        Self { context: context.clone(), resource, known }
    }

    /// The revision that the status names, and the newest that is stored: the status may have missed one when a
    /// reconcile was cut off.
    pub(crate) fn previous(&self, application: &Document, key: &Key) -> Vec<Previous> {
        let stored = self.newest(key).and_then(|(number, object)| {
            let hash = object.metadata.labels.as_ref()?.get(labels::APP_REVISION_HASH)?.clone();
            Some(Previous { number, hash })
        });
        Previous::of(application).into_iter().chain(stored).collect()
    }

    /// The newest that is stored.
    pub(crate) fn newest(&self, key: &Key) -> Option<(u64, Arc<DynamicObject>)> {
        self.of(key).into_iter().next_back()
    }

    /// The newest revision of this content.
    pub(crate) fn with_content(&self, key: &Key, hash: &str) -> Option<String> {
        let found = self.of(key).into_iter().rev().find(|(_, object)| content(object) == Some(hash));
        found.and_then(|(_, object)| object.metadata.name.clone())
    }

    /// The revision of that name, metadata only.
    pub(crate) fn stored(&self, key: &Key) -> Option<Arc<DynamicObject>> {
        self.known.get(key)
    }

    /// Has the revision of that name this content?
    pub(crate) fn has_content(&self, key: &Key, hash: &str) -> bool {
        self.known.get(key).is_some_and(|known| content(&known) == Some(hash))
    }

    /// Record the revision if it is not recorded yet.
    pub(crate) async fn record(&self, application: &DynamicObject, revision: &Revision) -> Result<(), Error> {
        let identity = revision.identity();
        let key = Key::new(identity.namespace(), identity.name());
        // One of a deleted namesake is going: what is left of it in the copies records nothing.
        if let Some(known) = self.known.get(&key).filter(|known| belongs(known, application)) {
            return same(&known, identity.hash(), identity.name());
        }
        let of = Key::new(identity.namespace(), identity.application());
        let (name, hash, spec) = (identity.name(), identity.hash(), revision.spec());
        self.write(Writing { owner: application, of: &of, name, hash, spec }).await
    }

    /// Write a revision that is not known yet.
    pub(crate) async fn write(&self, writing: Writing<'_>) -> Result<(), Error> {
        let Writing { owner, of, name, hash, spec } = writing;
        let name = name.to_owned();
        let types = owner.types.clone().unwrap_or_default();
        // An object in the older form is the same object.
        let api_version = match types.kind.as_str() {
            "Application" => "core.oam.dev/v1beta1",
            _ => &types.api_version,
        };
        let mut labels = owner.metadata.labels.clone().unwrap_or_default();
        labels.insert(labels::APP_NAME.to_owned(), of.name.clone());
        labels.insert(labels::APP_REVISION_HASH.to_owned(), hash.to_owned());
        let annotations = without_copies(owner.metadata.annotations.clone().unwrap_or_default());
        let object = json!({
            "apiVersion": self.resource.api_version,
            "kind": self.resource.kind,
            "metadata": {
                "name": name,
                "namespace": of.namespace,
                "labels": labels,
                "annotations": annotations,
                "ownerReferences": [{
                    "apiVersion": api_version,
                    "kind": types.kind,
                    "name": owner.metadata.name,
                    "uid": owner.metadata.uid,
                    "controller": false,
                }],
            },
            "spec": spec,
        });
        let object: DynamicObject = serde_json::from_value(object)
            .map_err(|source| Error::Malformed { name: name.clone(), source })?;
        let api: Api<DynamicObject> =
            Api::namespaced_with(self.context.client.clone(), &of.namespace, &self.resource);
        let params = PostParams {
            field_manager: Some(crate::context::FIELD_MANAGER.to_owned()),
            ..PostParams::default()
        };
        match api.create(&params, &object).await {
            Ok(mut created) => {
                created.data = serde_json::Value::Null;
                self.known.observe(created);
                Ok(())
            }
            Err(kube::Error::Api(status)) if status.code == 409 => {
                let stored =
                    api.get(&name).await.map_err(|source| Error::Write { name: name.clone(), source })?;
                if !belongs(&stored, owner) {
                    return Err(Error::Leaving(name));
                }
                same(&stored, hash, &name)
            }
            Err(source) => Err(Error::Write { name, source }),
        }
    }

    /// Deletes the oldest revisions beyond the limit, the application's own or that of all; never one that is needed, or
    /// that a deployer names. A failure costs only space.
    pub(crate) async fn limit(&self, application: &Key, needed: &[&str], own: Option<usize>) {
        let name = |object: &DynamicObject| object.metadata.name.clone().unwrap_or_default();
        let mut old = self.of(application);
        old.retain(|(_, object)| !needed.contains(&name(object).as_str()));
        let limit = own.unwrap_or(self.context.options.application_revision_limit);
        if old.len() <= limit {
            return;
        }
        let named = match self.named(&application.namespace).await {
            Ok(named) => named,
            Err(error) => {
                tracing::warn!(%error, %application, "cannot tell which old revisions others deploy");
                return;
            }
        };
        old.retain(|(_, object)| !named.contains(&name(object)));
        let excess = old.len().saturating_sub(limit);
        let api: Api<DynamicObject> =
            Api::namespaced_with(self.context.client.clone(), &application.namespace, &self.resource);
        for (_, object) in old.into_iter().take(excess) {
            let name = name(&object);
            match api.delete(&name, &DeleteParams::default()).await {
                Ok(_) => self.known.forget(&Key::of(&object)),
                Err(error) => tracing::warn!(%error, name, "cannot delete an old revision"),
            }
        }
    }

    /// The revisions that rollouts go between, have gone between, or are to go between, and those that others deploy, as the
    /// server has them: one may have been written a moment ago.
    async fn named(&self, namespace: &str) -> Result<BTreeSet<String>, kube::Error> {
        let mut names = BTreeSet::new();
        for resource in [
            ApiResource::erase::<AppRollout>(&()),
            ApiResource::erase::<AppDeployment>(&()),
            ApiResource::erase::<ApplicationContext>(&()),
        ] {
            let api: Api<DynamicObject> =
                Api::namespaced_with(self.context.client.clone(), namespace, &resource);
            let found = api.list(&ListParams::default()).await?;
            names.extend(found.items.iter().flat_map(|object| names_in(&object.data)));
        }
        Ok(names)
    }

    /// The revisions of an application, oldest first.
    fn of(&self, application: &Key) -> Vec<(u64, Arc<DynamicObject>)> {
        let belongs = |object: &DynamicObject| {
            object.metadata.labels.as_ref().and_then(|labels| labels.get(labels::APP_NAME))
                == Some(&application.name)
        };
        // Their names begin like the application's.
        let prefix = format!("{}-v", application.name);
        let mut found: Vec<_> = self
            .known
            .list_prefixed(&application.namespace, &prefix)
            .into_iter()
            .filter(|object| belongs(object))
            .filter_map(|object| {
                let number = object.metadata.name.as_ref()?.rsplit_once("-v")?.1.parse().ok()?;
                Some((number, object))
            })
            .collect();
        found.sort_by_key(|(number, _)| *number);
        found
    }
}

/// The revisions that an object names.
fn names_in(data: &Value) -> Vec<String> {
    let single = NAMED_AT.iter().filter_map(|path| data.pointer(path));
    let lists = NAMED_IN.iter().filter_map(|path| data.pointer(path)?.as_array()).flatten();
    let listed = lists.filter_map(|entry| entry.get("revisionName"));
    single.chain(listed).filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Annotations without those that hold a copy of the object they stand on.
fn without_copies(mut all: BTreeMap<String, String>) -> Option<BTreeMap<String, String>> {
    all.remove("kubectl.kubernetes.io/last-applied-configuration");
    all.remove(annotations::LAST_APPLIED_CONFIGURATION);
    (!all.is_empty()).then_some(all)
}

/// Whether the revision is of this very application, not of a deleted one of the same name. A user who made one without
/// an owner meant this application.
pub(crate) fn belongs(revision: &DynamicObject, application: &DynamicObject) -> bool {
    let owners = revision.metadata.owner_references.as_deref().unwrap_or_default();
    owners.is_empty() || owners.iter().any(|owner| Some(&owner.uid) == application.metadata.uid.as_ref())
}

fn content(revision: &DynamicObject) -> Option<&str> {
    revision.metadata.labels.as_ref()?.get(labels::APP_REVISION_HASH).map(String::as_str)
}

fn same(stored: &DynamicObject, hash: &str, name: &str) -> Result<(), Error> {
    if content(stored) == Some(hash) { Ok(()) } else { Err(Error::Taken(name.to_owned())) }
}
