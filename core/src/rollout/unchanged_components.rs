//! Components that an application's plan does not roll out, since both revisions have them alike: their workloads stay as they are,
//! and stand for the target, too.
//!
//! Which revision such a workload stands for is said by its label: later rollouts find it by that, however many revisions have left it
//! alone, and whichever of them are still recorded.

use std::sync::Arc;

use kube::api::{DynamicObject, Patch, PatchParams};
use serde_json::json;
use vela_crds::rollout_plan::RollingState;
use vela_crds::{AppRolloutStatus, labels};
use vela_engine::rollout::State;
use vela_engine::rollout::template::{self, Template};
use vela_runtime::dynamic_watch::TrackedReads;
use vela_runtime::owner::controller_of;

use super::reconcile_inputs::{Part, Side, Work};
use super::reconciler::RolloutReconciler;
use super::revision::Rendered;
use super::stage::{self, Unready};
use crate::application::owned_kinds::application_of;
use crate::author::Actor;
use crate::context::FIELD_MANAGER;

/// Which components are left alone.
pub(super) enum Alike {
    /// Those that it was decided of when the rollout began.
    Decided(Vec<String>),
    /// It is decided now: these have the same objects in both revisions.
    Now(Vec<String>),
}

/// Did an application make this rollout for its plan?
pub(super) fn is_of_application(live: &DynamicObject) -> bool {
    controller_of(live).is_some_and(|owner| owner.kind == "Application")
}

/// Which components are left alone. It is decided when a rollout begins and not again: what is claimed must be let go. Where
/// it was turned half-way, two revisions do not tell what runs, and all are rolled out.
pub(super) fn alike(
    work: &Work<'_>,
    status: &AppRolloutStatus,
    target: &Rendered,
    source: Option<&Rendered>,
) -> Alike {
    let begins = State::of(&status.rollout).rolling == RollingState::LocatingTargetApp;
    if !begins || work.direction.is_back {
        return Alike::Decided(status.unchanged_components.clone());
    }
    let source = source.filter(|_| is_of_application(work.live) && status.given_up_revisions.is_empty());
    let unchanged = source.map(|source| template::unchanged(&target.graph, &source.graph));
    Alike::Now(unchanged.into_iter().flatten().map(str::to_owned).collect())
}

impl Alike {
    /// Is this component left alone? Only where one workload stands for both revisions, or the target has none of its own yet:
    /// one that was rolled out half-way goes on.
    pub(super) fn holds(&self, component: &str, source: Option<&Side>, target: &Side) -> bool {
        match self {
            Self::Decided(names) => names.iter().any(|name| name == component),
            Self::Now(names) => {
                let source = source.filter(|source| source.live.is_some());
                let is_one =
                    |source: &Side| target.live.is_none() || source.template.key() == target.template.key();
                names.iter().any(|name| name == component) && source.is_some_and(is_one)
            }
        }
    }
}

/// The workload that a rollout left alone on its way to this revision.
pub(super) async fn workload(
    reconciler: &RolloutReconciler,
    look: &TrackedReads,
    rendered: &Rendered,
    component: &str,
    template: &Template,
) -> Result<Option<Arc<DynamicObject>>, String> {
    let (record, _) = reconciler.records.read(&rendered.application).map_err(|error| error.to_string())?;
    let (key, revision) = (template.key(), rendered.graph.identity().name());
    for (owned, entry) in &record.entries {
        let identity = owned.object_key();
        let is_alike = (&identity.api_version, &identity.kind, &identity.namespace)
            == (&key.api_version, &key.kind, &key.namespace);
        let is_candidate = is_alike
            && entry.component.as_deref() == Some(component)
            && identity.name.starts_with(&template.base)
            && owned.out_of_reach().is_none();
        if !is_candidate {
            continue;
        }
        let found = stage::read(look, &identity).await?;
        let is_found = |live: &Arc<DynamicObject>| {
            let label = live.metadata.labels.as_ref().and_then(|all| all.get(labels::APP_REVISION));
            application_of(live).as_ref() == Some(&rendered.application)
                && label.is_some_and(|label| label == revision)
        };
        if let Some(found) = found.filter(is_found) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// After the rollout: what was left alone stands for the target, too. Its pods do not change by that.
pub(super) async fn relabel(
    reconciler: &RolloutReconciler,
    acting: &Actor,
    look: &TrackedReads,
    (target, unchanged): (&Rendered, &[Part]),
) -> Result<(), Unready> {
    let revision = target.graph.identity().name();
    for part in unchanged {
        let sides = [Some(&part.target), part.source.as_ref()];
        let Some(side) = sides.into_iter().flatten().find(|side| side.live.is_some()) else { continue };
        let live = side.live.clone().unwrap_or_default();
        if live["metadata"]["labels"][labels::APP_REVISION] == revision {
            continue;
        }
        let key = side.template.key();
        let kind = reconciler.context.discovery.resolve(&key.api_version, &key.kind).await;
        let kind = kind.map_err(|error| error.to_string())?;
        let patch = json!({"metadata": {
            "uid": live["metadata"]["uid"],
            "resourceVersion": live["metadata"]["resourceVersion"],
            "labels": {(labels::APP_REVISION): revision},
        }});
        let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        let api: vela_runtime::Api<DynamicObject> = kind.api(acting.client(), &key.namespace);
        match api.patch(&key.name, &params, &Patch::Merge(&patch)).await {
            Ok(written) => look.observe(&written),
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(kube::Error::Api(status)) if status.code == 409 => return Err(Unready::Behind),
            Err(error) => return Err(Unready::Wrong(acting.explain(&error))),
        }
    }
    Ok(())
}
