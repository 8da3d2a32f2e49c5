//! Revisions → their objects in the cluster, under the name of the object that asked for them.

use std::collections::BTreeSet;
use std::sync::Arc;

use kube::api::{ApiResource, DynamicObject};
use serde_json::{Value, json};
use vela_crds::application::is_v1alpha2_form;
use vela_crds::{Application, annotations};
use vela_engine::side_by_side::Placed;
use vela_engine::side_by_side::revision_objects::{Owner, PlacedComponent, placed};
use vela_engine::{ObjectKey, Secrets, readiness};
use vela_runtime::Key;
use vela_runtime::cache::{Informer, Watch};
use vela_runtime::dynamic_watch::{Error, TrackedReads};

use crate::application::fetch::json as to_json;
use crate::context::Context;
use crate::rollout::lookup_error::Missing;
use crate::rollout::revision::Revisions;
use crate::standard::error::ReconcileError;
use crate::standard::reconciler_base::{Note, ReconcilerBase, json_of};

const RENDER: &str = "cannot render the revision";
const APPLY: &str = "cannot apply the revision";
const REMOVE: &str = "cannot remove what is not wanted any more";
/// Kinds that are looked at for what is not wanted any more, beside those of the revisions.
const KINDS: [(&str, &str); 3] = [("apps/v1", "Deployment"), ("apps/v1", "StatefulSet"), ("v1", "Service")];

/// A revision that is to run, rendered.
pub(super) struct Rendered {
    pub(super) placed: Placed,
    pub(super) number: u64,
    pub(super) components: Vec<PlacedComponent>,
    /// Its confidential values, which no message may repeat.
    pub(super) secrets: Arc<Secrets>,
}

/// The result of an apply.
#[derive(Default)]
pub(super) struct Outcome {
    pub(super) notes: Vec<Note>,
    /// Revision and component of every workload that is not ready yet.
    pub(super) unready: BTreeSet<(String, String)>,
}

/// The parts that the reconcilers of both kinds share.
#[derive(Clone)]
pub(super) struct Deployer {
    pub(super) base: ReconcilerBase,
    pub(super) revisions: Revisions,
    pub(super) applications: Arc<Informer>,
}

impl Deployer {
    pub(super) fn new(context: &Context, base: ReconcilerBase) -> Self {
        let applications = ApiResource::erase::<Application>(&());
        Self {
            base,
            revisions: Revisions::new(context),
            applications: context.cache.informer(Watch::full(applications)),
        }
    }

    /// The revisions, rendered; one that is not there, or whose application runs them itself, is an error.
    pub(super) async fn render(
        &self,
        all: Vec<Placed>,
        owner: &Owner,
    ) -> Result<Vec<Rendered>, ReconcileError> {
        let mut rendered = Vec::with_capacity(all.len());
        for one in all {
            rendered.push(self.rendered(one, owner).await?);
        }
        Ok(rendered)
    }

    async fn rendered(&self, one: Placed, owner: &Owner) -> Result<Rendered, ReconcileError> {
        let key = Key::new(owner.namespace.clone(), one.revision.clone());
        let found = self.revisions.get(&key).await.map_err(|missing| match missing {
            Missing::Ends => ReconcileError::retry(RENDER, "the process ends"),
            Missing::Revision(why) | Missing::Component(why) | Missing::Failed(why) => {
                ReconcileError::retry(RENDER, why)
            }
        })?;
        let Some(found) = found else {
            let message = format!(
                "{}: ApplicationRevision {key} is not there; `kubectl get apprev -n {}` lists those that are",
                one.path, key.namespace
            );
            return Err(ReconcileError::wrong(RENDER, message));
        };
        self.is_left(&found.application, &one.path)?;
        let components = placed(&found.graph, &one, owner);
        let components = components.map_err(|error| {
            ReconcileError::wrong(RENDER, format!("{}: {error}", one.path)).without(&found.secrets)
        })?;
        let number = found.graph.identity().number();
        Ok(Rendered { placed: one, number, components, secrets: found.secrets })
    }

    /// An application that applies its workloads itself would run them twice.
    fn is_left(&self, application: &Key, path: &str) -> Result<(), ReconcileError> {
        let found = self.applications.get(application);
        let Some(found) = found.filter(|found| found.metadata.deletion_timestamp.is_none()) else {
            return Ok(());
        };
        let marks = found.metadata.annotations.as_ref();
        let mark = |name: &str| marks.and_then(|marks| marks.get(name)).map(String::as_str);
        let records = mark(annotations::APP_REVISION_ONLY) == Some("true")
            || mark(annotations::ROLLOUT_TEMPLATE).is_some() && !is_v1alpha2_form(&to_json(&found));
        if records {
            return Ok(());
        }
        let message = format!(
            "{path}: Application {application} applies its workloads itself, and they would run twice: write the annotation {}: \
             \"true\" on it, and then its revisions are recorded only",
            annotations::APP_REVISION_ONLY
        );
        Err(ReconcileError::wrong(RENDER, message))
    }

    /// Brings the objects about. Every workload is looked at, and its next change wakes the owner.
    pub(super) async fn apply(
        &self,
        base: &ReconcilerBase,
        look: &TrackedReads,
        live: &DynamicObject,
        objects: &[&Value],
        revisions: &[Rendered],
    ) -> Result<Outcome, ReconcileError> {
        let mut outcome = Outcome::default();
        for object in objects {
            let applied = base.apply(look, live, (*object).clone(), APPLY).await;
            let applied = applied.map_err(|error| hidden(error, revisions))?;
            outcome.notes.extend(Note::of(&applied, "Deployed"));
            if !readiness::of(&json_of(&applied.object)).is_ready() {
                outcome.unready.extend(whose(object, revisions));
            }
        }
        Ok(outcome)
    }

    /// Removes what the owner controls and does not want any more. `former` names revisions it wanted before.
    pub(super) async fn remove_others(
        &self,
        (base, look, live): (&ReconcilerBase, &TrackedReads, &DynamicObject),
        wanted: &BTreeSet<ObjectKey>,
        former: &[String],
        owner: &Owner,
    ) -> Result<Vec<Note>, ReconcileError> {
        let uid = live.metadata.uid.clone().unwrap_or_default();
        let mut notes = Vec::new();
        for (api_version, kind) in self.kinds(wanted, former, owner).await {
            let owned = match look.owned_by(&api_version, &kind, &owner.namespace, &uid).await {
                Ok(owned) => owned,
                // With the kind its objects are gone.
                Err(Error::Missing { .. }) => continue,
                Err(error) => return Err(ReconcileError::look(REMOVE, &error)),
            };
            for object in owned {
                let name = object.metadata.name.as_deref().unwrap_or_default();
                let is_wanted = wanted.iter().any(|key| key.kind == kind && key.name == name);
                if !is_wanted && base.remove(look, live, &object, REMOVE).await? {
                    notes.push(Note { reason: "Removed", text: format!("{kind} {name} removed") });
                }
            }
        }
        Ok(notes)
    }

    async fn kinds(
        &self,
        wanted: &BTreeSet<ObjectKey>,
        former: &[String],
        owner: &Owner,
    ) -> BTreeSet<(String, String)> {
        let of = |key: &ObjectKey| (key.api_version.clone(), key.kind.clone());
        let mut kinds: BTreeSet<(String, String)> = wanted.iter().map(of).collect();
        kinds.extend(KINDS.map(|(api_version, kind)| (api_version.to_owned(), kind.to_owned())));
        for revision in former {
            let key = Key::new(owner.namespace.clone(), revision.clone());
            // One that is gone, or does not render any more, made such kinds as most do.
            if let Ok(Some(found)) = self.revisions.get(&key).await {
                kinds.extend(found.graph.keys().iter().map(of));
            }
        }
        kinds
    }
}

/// Revision and component of an object that is a workload.
fn whose(object: &Value, revisions: &[Rendered]) -> Option<(String, String)> {
    revisions.iter().find_map(|revision| {
        let mut components = revision.components.iter();
        let component = components.find(|component| std::ptr::eq(&component.workload, object))?;
        Some((revision.placed.revision.clone(), component.name.clone()))
    })
}

/// The error without what is confidential in the revisions.
fn hidden(error: ReconcileError, revisions: &[Rendered]) -> ReconcileError {
    revisions.iter().fold(error, |error, revision| error.without(&revision.secrets))
}

/// The object as owner of what it makes.
pub(super) fn owner_of(live: &DynamicObject, kind: (&str, &str)) -> Owner {
    let (api_version, kind) = kind;
    Owner {
        namespace: live.metadata.namespace.clone().unwrap_or_default(),
        reference: json!({
            "apiVersion": api_version,
            "kind": kind,
            "name": live.metadata.name,
            "uid": live.metadata.uid,
            "controller": true,
            "blockOwnerDeletion": true,
        }),
        label: None,
        in_place: false,
    }
}
