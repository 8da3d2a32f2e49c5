//! A workload that a revision's configuration shares with rollouts → applied when it is the configuration's turn, and never
//! beside a rollout.
//!
//! The workload itself says whose turn it is: a rollout claims it before it changes the number of pods. So a claimed one is
//! left alone, every write is bound to the version that said so, and no write of a configuration changes the number of pods
//! of a workload that is there.

use std::sync::Arc;

use kube::api::DynamicObject;
use serde_json::Value;
use vela_crds::annotations::LAST_APPLIED_CONFIGURATION;
use vela_engine::application_configuration::render::{RenderedObject, annotate_last_applied};
use vela_engine::application_configuration::{Graph, handover, is_of_a_revision};
use vela_engine::rollout::workload;
use vela_runtime::apply::{self as runtime_apply, Conflicts, Guard, Outcome, describe};
use vela_runtime::owner::controller_of;
use vela_runtime::{Api, Key, Kind};

use super::reconciler::ApplicationConfigurationReconciler;
use super::siblings::{self, Holder};
use crate::application::fetch::json;
use crate::author::Actor;

/// Looks at a workload that others change at the same time: who rolls it writes a few times for each batch.
const LOOKS_AT_MOST: usize = 4;

/// Why the workload is not applied.
pub(super) enum Error {
    /// The server, or the guard.
    Object(runtime_apply::Error),
    /// The template of the target cannot be applied while this rollout holds the workload.
    Held(String),
}

impl From<runtime_apply::Error> for Error {
    fn from(error: runtime_apply::Error) -> Self {
        Self::Object(error)
    }
}

/// The workload of a component, in the configuration of one revision.
pub(super) struct SharedWorkload<'a> {
    reconciler: &'a ApplicationConfigurationReconciler,
    acting: &'a Actor,
    configuration: &'a Value,
    component: &'a str,
    rendered: &'a RenderedObject,
    own: Key,
}

/// The action on the workload.
enum Turn {
    /// It is written so.
    Apply(Value),
    /// It is as a rollout or another revision wants it.
    Leave,
    /// It has another revision's template, and a rollout holds it.
    Held(String),
}

impl<'a> SharedWorkload<'a> {
    /// The object as such a workload; nothing where no rollout can want it.
    pub(super) fn of(
        reconciler: &'a ApplicationConfigurationReconciler,
        acting: &'a Actor,
        graph: &'a Graph,
        rendered: &'a RenderedObject,
    ) -> Option<Self> {
        let document = graph.rendered().document();
        let configuration = document.value();
        let component = graph.components().iter().find(|each| std::ptr::eq(&each.workload, rendered))?;
        let own = Key::new(graph.rendered().namespace(), document.name());
        let component = component.name.as_str();
        is_of_a_revision(configuration).then_some(Self {
            reconciler,
            acting,
            configuration,
            component,
            rendered,
            own,
        })
    }

    /// Apply it; `live` is what a copy shows, and the server is asked where that shows nothing.
    pub(super) async fn apply(
        &self,
        kind: &Kind,
        mut live: Option<Arc<DynamicObject>>,
        may_apply: &(dyn Fn(&DynamicObject) -> Result<(), String> + Send + Sync),
    ) -> Result<Option<(Arc<DynamicObject>, Outcome)>, Error> {
        let key = self.rendered.key();
        let api: Api<DynamicObject> = kind.api(self.acting.client(), &key.namespace);
        let guard = |live: &DynamicObject| match self.takes_over(live) {
            true => Ok(()),
            false => may_apply(live),
        };
        let guard: Guard<'_> = &guard;
        let mut last = None;
        for look in 0..LOOKS_AT_MOST {
            if look > 0 || live.is_none() {
                let read = api.get_opt(&key.name).await;
                let failed = |source| runtime_apply::Error::Client { object: key.to_string(), source };
                live = read.map_err(failed)?.map(Arc::new);
            }
            let mut object = match self.turn(live.as_deref()) {
                Turn::Apply(object) => object,
                Turn::Leave => return Ok(live.map(|live| (live, Outcome::Unchanged))),
                Turn::Held(rollout) => return Err(Error::Held(rollout)),
            };
            annotate_last_applied(&mut object);
            let malformed = |error: serde_json::Error| runtime_apply::Error::Malformed {
                object: key.to_string(),
                reason: error.to_string(),
            };
            let desired: DynamicObject = serde_json::from_value(object).map_err(malformed)?;
            let recorded = live.as_ref().is_some_and(|live| last_applied(live) == last_applied(&desired));
            let applier = self.acting.applier();
            match applier.apply_seen(&desired, live.clone(), recorded, Conflicts::Force, guard).await {
                Err(error) if is_conflict(&error) => last = Some((describe(&desired), error)),
                Err(error) => return Err(error.into()),
                Ok(done) => return Ok(Some((done.object, done.outcome))),
            }
        }
        match last {
            Some((object, error)) => {
                tracing::debug!(object, "others change it all the time");
                Err(error.into())
            }
            None => Ok(None),
        }
    }

    fn turn(&self, live: Option<&DynamicObject>) -> Turn {
        let mut object = self.rendered.object.clone();
        let Some(live) = live else { return Turn::Apply(object) };
        let document = json(live);
        let is_outdated = handover::is_outdated(self.configuration, self.component, &document);
        if let Some(rollout) = handover::rollout_of(&document) {
            return if self.rendered.held && is_outdated { Turn::Held(rollout) } else { Turn::Leave };
        }
        let holder = siblings::holder(self.reconciler, &self.own, live);
        let is_other = match self.rendered.held {
            // Its rollout says when the template of a shared workload becomes this revision's.
            // One that runs is not made to wait: a rollout counts the pods of one that waits as not begun.
            true => !is_outdated && (holder != Holder::Other || workload::has_begun(&document)),
            false => holder == Holder::Later,
        };
        if is_other {
            return Turn::Leave;
        }
        match self.rendered.held {
            // Its kind can wait, or it had not been rendered.
            true => workload::hold(&mut object, Some(&document)).unwrap_or_default(),
            false => workload::keep_size(&mut object, &document),
        }
        Turn::Apply(object)
    }

    /// May it be taken from the configuration of another revision, which its label names?
    fn takes_over(&self, live: &DynamicObject) -> bool {
        controller_of(live).is_some()
            && match siblings::holder(self.reconciler, &self.own, live) {
                Holder::Former => true,
                Holder::Later => self.rendered.held,
                Holder::Other => false,
            }
    }
}

/// The last applied content, as the object says itself.
fn last_applied(object: &DynamicObject) -> Option<&String> {
    object.metadata.annotations.as_ref()?.get(LAST_APPLIED_CONFIGURATION)
}

/// Was the object changed since it was looked at?
fn is_conflict(error: &runtime_apply::Error) -> bool {
    matches!(error, runtime_apply::Error::Client { source: kube::Error::Api(status), .. } if status.code == 409)
}

/// The configuration as its reconcile sees it. The target of a rollout whose workload is gone, or has another revision's
/// template, is not templated, whatever its status says: the template is applied anew.
pub(super) async fn as_seen(
    reconciler: &ApplicationConfigurationReconciler,
    configuration: &DynamicObject,
) -> Value {
    let mut document = json(configuration);
    let is_target = is_of_a_revision(&document) && handover::is_target(&document);
    if !is_target || !handover::is_templated(&document) {
        return document;
    }
    let listed: Vec<String> = handover::rolling(&document).into_iter().map(str::to_owned).collect();
    for component in listed {
        let Some(key) = handover::workload_of(&document, &component) else { continue };
        let Ok(kind) = reconciler.context.discovery.resolve(&key.api_version, &key.kind).await else {
            continue;
        };
        let Ok(informer) = reconciler.owned.informer(&kind).await else { continue };
        let live = informer.get(&Key::new(key.namespace.clone(), key.name.clone()));
        if live.is_none_or(|live| handover::is_outdated(&document, &component, &json(&live)))
            && let Some(status) = document.get_mut("status").and_then(Value::as_object_mut)
        {
            status.remove("rollingStatus");
            return document;
        }
    }
    document
}
