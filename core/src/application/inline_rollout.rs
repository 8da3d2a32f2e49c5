//! An Application with a rollout plan → its AppRollout, and the status that reports how far it is.
//!
//! The AppRollout is the application's own: it has its name, is deleted with it, and follows its plan. Everything about the
//! pods is done there, by the controller that also carries out rollouts that people write.

use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams, Preconditions};
use serde_json::{Value, json};
use vela_crds::{AppRollout, AppRolloutSpec, AppRolloutStatus};
use vela_engine::application_configuration::compose::configuration_name;
use vela_engine::application_configuration::revision::number_of;
use vela_engine::application_configuration::{handover, is_of_a_revision, is_passive};
use vela_engine::rollout::inline::{Ask, Known, NextRollout, ask, next_rollout};
use vela_engine::rollout::{Spelling, template};
use vela_engine::status::Status;
use vela_engine::{Graph, ObjectKey};
use vela_runtime::Api;
use vela_runtime::Key;
use vela_runtime::owner::controller_of;

use super::error::{Cause, Later, PhaseError, Stopped};
use super::fetch::json as to_json;
use super::inventory::Owned;
use super::outcome::Outcome;
use super::reconciler::ApplicationReconciler;
use crate::context::FIELD_MANAGER;
use crate::standard::reconciler_base::typed;

/// The status of an application whose revision is reached by a rollout; nothing where the application applies it itself.
pub(super) async fn roll_out(
    reconciler: &ApplicationReconciler,
    application: &DynamicObject,
    graph: &Graph,
) -> Result<Option<Status>, Stopped> {
    let key = Key::of(application);
    let live = reconciler.rollouts.get(&key);
    let own = live.as_deref().filter(|live| is_own(live, application));
    if own.is_some_and(|own| own.metadata.deletion_timestamp.is_some()) {
        // Its end wakes us, and nothing is wrong.
        return Err(Later::Woken.into());
    }
    let Some(plan) = graph.app_file().rollout_plan() else {
        if graph.app_file().configuration_plan().is_some() {
            return Ok(None);
        }
        // The rollout lets go of its workloads before the application takes them over.
        return match own {
            Some(own) => Err(delete(reconciler, own).await),
            None => Ok(None),
        };
    };
    if live.is_some() && own.is_none() {
        return Err(foreign(&key));
    }
    let applied = applied(reconciler, &key, graph)?;
    let remembered = remembered(application);
    let rollout: Option<AppRollout> = own.map(typed).transpose().map_err(|error| unavailable(&error))?;
    let revision = twin(reconciler, &key, graph, rollout.as_ref(), remembered.as_ref());
    let known = Known {
        spelling: Spelling::Revisions,
        plan,
        revision: &revision,
        components: &template::components(graph),
        applied: applied.as_deref(),
        rollout: rollout.as_ref(),
        remembered: remembered.as_ref(),
    };
    let made = made(reconciler, &key)?;
    let rollout = match next_rollout(&known) {
        NextRollout::Itself => return Ok(None),
        NextRollout::Reached => reached(&key, revision, remembered),
        NextRollout::Rollout(spec) => bring_to(reconciler, application, own.zip(rollout), spec).await?,
    };
    Ok(Some(Status::rolled(graph, &rollout, made)))
}

/// The rollout of an application in the v1alpha2 form that has a plan, once its configuration is stored: from the second
/// revision on its AppRollout goes from one configuration to the next.
pub(super) async fn between_configurations(
    reconciler: &ApplicationReconciler,
    application: &DynamicObject,
    graph: &Graph,
    outcome: Outcome,
) -> Result<Outcome, Stopped> {
    let Some(plan) = graph.app_file().configuration_plan().filter(|_| outcome.complete) else {
        return Ok(outcome);
    };
    let key = Key::of(application);
    let live = reconciler.rollouts.get(&key);
    let own = live.as_deref().filter(|live| is_own(live, application));
    if own.is_some_and(|own| own.metadata.deletion_timestamp.is_some()) {
        return Err(Later::Woken.into());
    }
    if live.is_some() && own.is_none() {
        return Err(foreign(&key));
    }
    let revision = configuration_name(graph.rendered());
    let remembered = remembered(application);
    let rollout: Option<AppRollout> = own.map(typed).transpose().map_err(|error| unavailable(&error))?;
    let applied = first_configuration(reconciler, application, &revision);
    let known = Known {
        spelling: Spelling::Configurations,
        plan,
        revision: &revision,
        components: &template::components(graph),
        applied: applied.as_deref(),
        rollout: rollout.as_ref(),
        remembered: remembered.as_ref(),
    };
    let rollout = match next_rollout(&known) {
        NextRollout::Itself => return Ok(outcome),
        NextRollout::Reached => reached(&key, revision, remembered),
        NextRollout::Rollout(spec) => bring_to(reconciler, application, own.zip(rollout), spec).await?,
    };
    let status = Status::rolled(graph, &rollout, made(reconciler, &key)?);
    Ok(Outcome { complete: status.is_running(), status, ..outcome })
}

/// The configuration of another revision that was applied as it is, without a rollout; a first one has nothing to come from.
fn first_configuration(
    reconciler: &ApplicationReconciler,
    application: &DynamicObject,
    revision: &str,
) -> Option<String> {
    let namespace = application.metadata.namespace.clone();
    let stored = reconciler.configurations.list_where(|configuration| {
        configuration.metadata.namespace == namespace
            && configuration.metadata.name.as_deref() != Some(revision)
            && is_own(configuration, application)
    });
    let applied = stored.iter().filter(|configuration| {
        let document = to_json(configuration);
        is_of_a_revision(&document) && !is_passive(&document) && handover::rolling(&document).is_empty()
    });
    let number = |name: &String| number_of(name);
    applied.filter_map(|configuration| configuration.metadata.name.clone()).max_by_key(number)
}

/// The memory of the rollout in the application's status.
fn remembered(application: &DynamicObject) -> Option<AppRolloutStatus> {
    let status = application.data.pointer("/status/rollout")?;
    serde_json::from_value(status.clone()).ok()
}

fn foreign(key: &Key) -> Stopped {
    refused(format!(
        "AppRollout {key} is there and not this application's, and spec.rolloutPlan needs that name: delete it, or take the \
         plan out of the application"
    ))
}

/// Is it the rollout that the application made for itself?
fn is_own(rollout: &DynamicObject, application: &DynamicObject) -> bool {
    controller_of(rollout).is_some_and(|owner| Some(&owner.uid) == application.metadata.uid.as_ref())
}

/// The rollout that brought the revision, as the application's status remembers it.
fn reached(key: &Key, revision: String, remembered: Option<AppRolloutStatus>) -> AppRollout {
    let mut rollout = AppRollout::new(&key.name, Default::default());
    rollout.spec.target_app_revision_name = revision;
    rollout.spec.source_app_revision_name =
        remembered.as_ref().and_then(|status| status.last_source_app_revision.clone());
    rollout.status = remembered;
    rollout
}

/// Bring the application's rollout to this spec; nothing is written where it has it.
async fn bring_to(
    reconciler: &ApplicationReconciler,
    application: &DynamicObject,
    own: Option<(&DynamicObject, AppRollout)>,
    spec: Value,
) -> Result<AppRollout, Stopped> {
    let written = match own {
        None => create(reconciler, application, spec).await?,
        Some((own, rollout)) => match ask(&rollout, &own.data["spec"], &spec) {
            Ask::Nothing => return Ok(rollout),
            Ask::Write => write(reconciler, own, &spec).await?,
            Ask::Again => return Err(delete(reconciler, own).await),
        },
    };
    reconciler.rollouts.observe(written.clone());
    typed(&written).map_err(|error| unavailable(&error))
}

/// The name under which the revision is rolled out. A user who goes back to a former content gets a new revision of it;
/// what runs of the former one need not be replaced by its equal.
fn twin(
    reconciler: &ApplicationReconciler,
    key: &Key,
    graph: &Graph,
    rollout: Option<&AppRollout>,
    remembered: Option<&AppRolloutStatus>,
) -> String {
    let identity = graph.identity();
    let spec = rollout.map(|rollout| &rollout.spec);
    let names = [
        spec.map(AppRolloutSpec::target),
        spec.and_then(AppRolloutSpec::source),
        remembered.map(|status| status.last_target_app_revision.as_str()),
        remembered.and_then(|status| status.last_source_app_revision.as_deref()),
    ];
    let is_equal =
        |name: &&str| reconciler.revisions.has_content(&Key::new(&*key.namespace, *name), identity.hash());
    names.into_iter().flatten().find(is_equal).unwrap_or(identity.name()).to_owned()
}

/// The revision that the application applied itself last, by the content that its record names.
fn applied(reconciler: &ApplicationReconciler, key: &Key, graph: &Graph) -> Result<Option<String>, Stopped> {
    let (record, _) = reconciler.records.read(key).map_err(|error| unavailable(&error))?;
    match &record.identity {
        Some(identity) if identity == graph.identity().hash() => Ok(Some(graph.identity().name().to_owned())),
        Some(identity) => reconciler.revisions.with_content(key, identity).map(Some).ok_or_else(|| {
            refused(
                "the revision that runs is not recorded any more, so a rollout has nothing to come from: take \
                 spec.rolloutPlan out until this revision runs"
                    .to_owned(),
            )
        }),
        None => Ok(None),
    }
}

/// Everything that the application has in the cluster, by its record.
fn made(reconciler: &ApplicationReconciler, key: &Key) -> Result<Vec<ObjectKey>, Stopped> {
    let (record, _) = reconciler.records.read(key).map_err(|error| unavailable(&error))?;
    Ok(record.entries.keys().map(Owned::object_key).collect())
}

async fn create(
    reconciler: &ApplicationReconciler,
    application: &DynamicObject,
    spec: Value,
) -> Result<DynamicObject, Stopped> {
    let key = Key::of(application);
    let resource = &reconciler.rollouts.watch().resource;
    let rollout = json!({
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {
            "name": key.name,
            "namespace": key.namespace,
            "ownerReferences": [{
                "apiVersion": "core.oam.dev/v1beta1",
                "kind": "Application",
                "name": key.name,
                "uid": application.metadata.uid,
                "controller": true,
                "blockOwnerDeletion": true,
            }],
        },
        "spec": spec,
    });
    let rollout: DynamicObject = serde_json::from_value(rollout).map_err(|error| unavailable(&error))?;
    let params = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
    api(reconciler, &key).create(&params, &rollout).await.map_err(|error| unwritten(&error))
}

async fn write(
    reconciler: &ApplicationReconciler,
    live: &DynamicObject,
    spec: &Value,
) -> Result<DynamicObject, Stopped> {
    let mut spec = spec.clone();
    for field in [Spelling::Revisions, Spelling::Configurations].iter().flat_map(|each| each.fields()) {
        if spec.get(field).is_none() {
            spec[field] = Value::Null;
        }
    }
    // A merge patch leaves what it does not name, and a plan may have lost fields.
    let before = to_json(live)["spec"]["rolloutPlan"].clone();
    for field in before.as_object().into_iter().flatten().map(|(field, _)| field) {
        if spec["rolloutPlan"].get(field).is_none() {
            spec["rolloutPlan"][field] = Value::Null;
        }
    }
    let patch = json!({
        "metadata": {"uid": live.metadata.uid, "resourceVersion": live.metadata.resource_version},
        "spec": spec,
    });
    let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
    let key = Key::of(live);
    let written = api(reconciler, &key).patch(&key.name, &params, &Patch::Merge(&patch)).await;
    written.map_err(|error| unwritten(&error))
}

/// Ask it to go; the end of it wakes us.
async fn delete(reconciler: &ApplicationReconciler, live: &DynamicObject) -> Stopped {
    let key = Key::of(live);
    let preconditions = Some(Preconditions { uid: live.metadata.uid.clone(), resource_version: None });
    let params = DeleteParams { preconditions, ..DeleteParams::default() };
    match api(reconciler, &key).delete(&key.name, &params).await {
        Ok(_) => Later::Woken.into(),
        Err(kube::Error::Api(status)) if status.code == 404 => Later::Soon.into(),
        Err(error) => unwritten(&error),
    }
}

fn api(reconciler: &ApplicationReconciler, key: &Key) -> Api<DynamicObject> {
    Api::namespaced_with(
        reconciler.context.client.clone(),
        &key.namespace,
        &reconciler.rollouts.watch().resource,
    )
}

fn refused(why: String) -> Stopped {
    PhaseError::Apply(Cause::refused(why)).into()
}

fn unavailable(error: &dyn std::fmt::Display) -> Stopped {
    Stopped::unavailable(PhaseError::Apply, error)
}

fn unwritten(error: &kube::Error) -> Stopped {
    let message = format!("cannot write the AppRollout: {}", vela_runtime::apply::explain(error));
    Stopped::write(PhaseError::Apply, &message, Some(error))
}
