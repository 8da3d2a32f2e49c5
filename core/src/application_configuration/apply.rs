//! Graph → Applied: writes workloads and traits, several components at the same time, then memberships in scopes.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use kube::api::DynamicObject;
use vela_crds::annotations::LAST_APPLIED_CONFIGURATION;
use vela_engine::Definition;
use vela_engine::application_configuration::garbage::{deletable, mark};
use vela_engine::application_configuration::render::{
    RenderedComponent, RenderedObject, annotate_last_applied,
};
use vela_engine::application_configuration::{ApplyOnce, Graph};
use vela_runtime::Key;
use vela_runtime::apply::{self as runtime_apply, Conflicts, Error, describe};
use vela_runtime::graph::{Cause, Graph as Writes, Outcome, Run};
use vela_runtime::owner::controller_of;

use super::error::{Failed, NextTry};
use super::inventory::Inventory;
use super::reconcile_inputs::Basis;
use super::reconciler::{ApplicationConfigurationReconciler, Work};
use super::scopes;
use super::shared_workload::{self, SharedWorkload};
use super::siblings::{self, Holder};
use crate::application::fetch::json;
use crate::application::inventory::Owned;
use crate::author::Actor;
use crate::immutable;
use crate::order::{OrderedObject, earlier};
use crate::recreate::{self, RecreateReason, Recreation, Removal};

/// The end of a former object wakes the configuration; this is for a watch that is late.
const ROOM_WAIT: Duration = Duration::from_secs(1);
/// The end of a rollout's claim wakes the configuration; this is for a watch that is late.
const CLAIM_WAIT: Duration = Duration::from_secs(5);

/// Proof that everything wanted was applied by this reconcile; made nowhere else.
#[derive(Debug)]
pub(super) struct Applied {
    written: usize,
    uids: BTreeSet<String>,
}

impl Applied {
    /// Objects that were created or changed, and scopes that were edited.
    pub(super) fn written(&self) -> usize {
        self.written
    }

    /// Identities of the wanted objects that are there.
    pub(super) fn uids(&self) -> &BTreeSet<String> {
        &self.uids
    }
}

/// How to apply.
pub(super) struct Order<'a> {
    pub(super) work: &'a Work<'a>,
    /// On whose behalf.
    pub(super) acting: &'a Actor,
    pub(super) graph: &'a Graph,
    pub(super) mode: ApplyOnce,
    /// Names everything in the graph.
    pub(super) inventory: &'a Inventory,
    /// Why objects may be made again; nothing where none may.
    pub(super) remaking: Option<Remaking<'a>>,
}

/// Because of what an object with a field that cannot change may be made again.
pub(super) struct Remaking<'a> {
    pub(super) basis: Basis<'a>,
    pub(super) definitions: &'a [Arc<Definition>],
}

/// The result for one component's objects.
#[derive(Default)]
struct Part {
    written: usize,
    uids: BTreeSet<String>,
}

/// Why an object is not applied.
enum Unapplied {
    Object(Error),
    /// It is to be made again, then; where no time is said, when its former object is gone.
    Later(Option<Duration>),
    /// Only a change of the wish or the object can help.
    Refused(String),
    /// This rollout holds it, and its template cannot be applied before it lets go.
    Held(String),
}

impl From<shared_workload::Error> for Unapplied {
    fn from(error: shared_workload::Error) -> Self {
        match error {
            shared_workload::Error::Object(error) => Self::Object(error),
            shared_workload::Error::Held(rollout) => Self::Held(rollout),
        }
    }
}

impl From<Error> for Unapplied {
    fn from(error: Error) -> Self {
        Self::Object(error)
    }
}

impl Unapplied {
    fn failed(self, acting: &Actor) -> Failed {
        match self {
            Self::Object(error) => {
                let next = if error.is_transient() { NextTry::BackOff } else { NextTry::Persistent };
                Failed::new(acting.explain_apply(&error), next)
            }
            Self::Later(again) => Failed::new(
                "a field of it that cannot change is to change: it is made again once the change has stayed for a moment",
                NextTry::After(again.unwrap_or(ROOM_WAIT)),
            ),
            Self::Refused(why) => Failed::new(why, NextTry::OnChange),
            Self::Held(rollout) => Failed::new(
                format!("{rollout} holds it, and its template is applied once that is over"),
                NextTry::After(CLAIM_WAIT),
            ),
        }
    }
}

/// Apply the components, several at the same time. A failure holds up only the components that wait for it; the reported
/// failure is that of the component written first, and the most hopeful one decides how soon another try is worth it.
pub(super) async fn apply(
    reconciler: &ApplicationConfigurationReconciler,
    order: &Order<'_>,
) -> Result<Applied, Failed> {
    let components = order.graph.components();
    let objects: Vec<Vec<OrderedObject<'_>>> = components
        .iter()
        .map(|component| component.objects().map(|object| OrderedObject::of_json(&object.object)).collect())
        .collect();
    let mut writes = Writes::new();
    for (at, (component, earlier)) in components.iter().zip(earlier(&objects)).enumerate() {
        let added = writes.add(at, component, earlier);
        added.map_err(|error| Failed::passing(error.to_string()))?;
    }
    let run = Run::new(reconciler.context.options.concurrent_writes);
    let report = writes.run(&run, async |_, component| {
        apply_component(reconciler, order, component).await.map_err(Cause::later)
    });
    let outcomes = report.await.into_outcomes();
    let mut applied = Applied { written: 0, uids: BTreeSet::new() };
    let mut failed: Option<Failed> = None;
    for (component, (_, outcome)) in components.iter().zip(outcomes) {
        let failure = match outcome {
            Outcome::Done(part) => {
                applied.written += part.written;
                applied.uids.extend(part.uids);
                // Components may share a scope, whose list is edited by one after the other.
                match scopes::join(reconciler, order.acting, component).await {
                    Ok(edited) => {
                        applied.written += edited;
                        continue;
                    }
                    Err(error) => Failed::passing(format!("cannot apply scope: {error}")),
                }
            }
            Outcome::Failed(Cause::Panicked(said)) => {
                let name = &component.name;
                Failed::passing(format!("cannot apply component {name:?}: vela-core panicked: {said}"))
            }
            Outcome::Failed(
                Cause::Later { error, .. } | Cause::Unrecoverable(error) | Cause::NotReady(error),
            ) => error,
            // Behind a failure, which is told.
            Outcome::Blocked(_) | Outcome::NotBegun | Outcome::Dropped => continue,
        };
        failed = Some(match failed {
            None => failure,
            Some(first) => first.or(&failure),
        });
    }
    failed.map_or(Ok(applied), Err)
}

async fn apply_component(
    reconciler: &ApplicationConfigurationReconciler,
    order: &Order<'_>,
    component: &RenderedComponent,
) -> Result<Part, Failed> {
    let mut part = Part::default();
    for (index, object) in component.objects().enumerate() {
        let done = apply_one(reconciler, order, object).await.map_err(|error| {
            let key = object.key();
            let what = match index {
                0 => format!("cannot apply workload {:?}", key.name),
                _ => format!("cannot apply trait {:?} {:?} {:?}", key.api_version, key.kind, key.name),
            };
            error.failed(order.acting).within(&what)
        });
        let Some((live, outcome)) = done? else { continue };
        part.written += usize::from(outcome != runtime_apply::Outcome::Unchanged);
        part.uids.extend(live.metadata.uid.clone());
    }
    Ok(part)
}

/// The live object afterwards, or nothing when it is not there and stays so.
async fn apply_one(
    reconciler: &ApplicationConfigurationReconciler,
    order: &Order<'_>,
    rendered: &RenderedObject,
) -> Result<Option<(Arc<DynamicObject>, runtime_apply::Outcome)>, Unapplied> {
    let mut object = rendered.object.clone();
    // The era's other writers merge three ways and need the base of it on the object.
    annotate_last_applied(&mut object);
    let malformed = |error: serde_json::Error| Error::Malformed {
        object: rendered.key().to_string(),
        reason: error.to_string(),
    };
    let desired: DynamicObject = serde_json::from_value(object.clone()).map_err(malformed)?;
    let kind = reconciler.context.discovery.resolve_object(&desired).await;
    let kind = kind.map_err(|source| Error::Kind { object: describe(&desired), source })?;
    let informer = reconciler.owned.informer(&kind).await.ok();
    let key = Key::of(&desired);
    let mut live = informer.as_ref().and_then(|informer| informer.get(&key));
    if rendered.unsatisfied || rendered.left {
        return Ok(live.map(|live| (live, runtime_apply::Outcome::Unchanged)));
    }
    if order.mode != ApplyOnce::Off && live.is_none() {
        // The absence decides here, so the server is asked, not the cache.
        let api = kind.api(order.acting.client(), &key.namespace);
        let read = api.get_opt(&key.name).await;
        let failed = |source| Error::Client { object: describe(&desired), source };
        live = read.map_err(failed)?.map(Arc::new);
    }
    let seen = live.as_ref().map(|live| json(live));
    if !order.mode.applies(&object, seen.as_ref(), order.inventory.status()) {
        return Ok(live.map(|live| (live, runtime_apply::Outcome::Unchanged)));
    }
    let base = |object: &DynamicObject| {
        let annotations = object.metadata.annotations.as_ref();
        annotations.and_then(|all| all.get(LAST_APPLIED_CONFIGURATION)).cloned()
    };
    let recorded = live.as_ref().is_some_and(|live| base(live) == base(&desired));
    let configuration = order.graph.rendered().document();
    let own = Key::new(order.graph.rendered().namespace(), configuration.name());
    let is_later = |live: &Arc<DynamicObject>| siblings::holder(reconciler, &own, live) == Holder::Later;
    if let Some(live) = live.as_ref().filter(|live| !rendered.held && is_later(live)) {
        return Ok(Some((live.clone(), runtime_apply::Outcome::Unchanged)));
    }
    let refused = live.as_ref().and_then(|live| reconciler.refusals.of(&Owned::of(&desired), &desired, live));
    if let Some(why) = refused {
        return Err(Unapplied::Refused(why));
    }
    if let Some(shared) = SharedWorkload::of(reconciler, order.acting, order.graph, rendered) {
        let guard = |live: &DynamicObject| may_apply(live, order.work.uid());
        let done = shared.apply(&kind, live, &guard).await?;
        if let (Some(informer), Some((object, outcome))) = (informer, &done)
            && *outcome != runtime_apply::Outcome::Unchanged
        {
            informer.observe((**object).clone());
        }
        return Ok(done);
    }
    let guard = |live: &DynamicObject| match siblings::holder(reconciler, &own, live) {
        Holder::Former => Ok(()),
        Holder::Other | Holder::Later => may_apply(live, order.work.uid()),
    };
    let applier = order.acting.applier();
    let done = match applier.apply(&desired, live, recorded, Conflicts::Force, &guard).await {
        Ok(done) => done,
        Err(error) => {
            let Some(fields) = immutable::fields(&error) else { return Err(error.into()) };
            remove_former(reconciler, order, &desired, &fields, &error).await?;
            applier.apply(&desired, None, false, Conflicts::Force, &guard).await?
        }
    };
    if let Some(informer) = informer.filter(|_| done.outcome != runtime_apply::Outcome::Unchanged) {
        informer.observe((*done.object).clone());
    }
    Ok(Some((done.object, done.outcome)))
}

/// Delete the former object of one with a field that cannot change, where nothing is lost with it.
async fn remove_former(
    reconciler: &ApplicationConfigurationReconciler,
    order: &Order<'_>,
    desired: &DynamicObject,
    fields: &[String],
    refusal: &Error,
) -> Result<(), Unapplied> {
    let latest;
    let because = match &order.remaking {
        Some(Remaking { basis, definitions }) => {
            let wait = basis.quiet_left(reconciler);
            latest = match wait {
                // Before that time is over nothing goes, whatever the Application says.
                Some(_) => basis.unasked(),
                None => basis.latest(reconciler).await?.ok_or(Unapplied::Later(None))?,
            };
            Some(RecreateReason {
                wait,
                cluster: &reconciler.cluster,
                definitions,
                seen: latest.seen(reconciler),
            })
        }
        None => None,
    };
    // An applied object is not removed while it runs, so no uid of this reconcile and no mode lets it go.
    let may_delete = |live: &DynamicObject| {
        deletable(&json(live), order.work.uid(), &BTreeSet::new(), order.mode)
            .map_err(|kept| kept.to_string())
    };
    let remake = Recreation {
        context: &reconciler.context,
        acting: order.acting,
        owner: order.work.configuration,
        kinds: &reconciler.owned,
        refusals: &reconciler.refusals,
        is_asked: false,
        may_delete: &may_delete,
        because: because.ok_or("it is not made again while the configuration cannot be rendered"),
    };
    match recreate::remove_former(remake, desired, fields, refusal).await? {
        Removal::Done => Ok(()),
        Removal::Later(again) => Err(Unapplied::Later(again)),
        Removal::Refused(why) => Err(Unapplied::Refused(why)),
    }
}

/// An object without a controller is adopted, as this era's objects always were; another's is left alone.
fn may_apply(live: &DynamicObject, uid: &str) -> Result<(), String> {
    match controller_of(live) {
        Some(owner) if owner.uid != uid => Err(format!(
            "existing object is not controlled by UID {uid:?}: it belongs to {} {}; rename one of the two",
            owner.kind, owner.name
        )),
        None => match mark(&json(live)) {
            Some((namespace, name, other)) if other != uid => Err(format!(
                "existing object belongs to ApplicationConfiguration {namespace}/{name}: rename one of the two, or take its \
                 annotation {} off",
                vela_crds::annotations::CONFIGURATION
            )),
            _ => Ok(()),
        },
        Some(_) => Ok(()),
    }
}
