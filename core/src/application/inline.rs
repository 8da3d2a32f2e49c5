//! An Application with a rollout plan → its AppRollout, and the status that tells where that stands.
//!
//! The AppRollout is the application's own: it has its name, is deleted with it, and follows its plan. Everything about the
//! pods is done there, by the controller that also carries out rollouts that people write.

use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams, Preconditions};
use serde_json::{Value, json};
use vela_crds::{AppRollout, AppRolloutStatus};
use vela_engine::rollout::inline::{Ask, Known, Way, ask, way};
use vela_engine::rollout::template;
use vela_engine::status::{ConditionType, Status};
use vela_engine::{Code, Diagnostic, Graph, ObjectKey};
use vela_runtime::Api;
use vela_runtime::Key;
use vela_runtime::owner::controller_of;

use super::Hands;
use super::fetch::json as to_json;
use super::stopped::{Later, Stopped};
use crate::context::FIELD_MANAGER;
use crate::standard::reconciler_base::typed;

/// The status of an application whose revision is reached by a rollout; nothing where the application applies it itself.
pub(super) async fn roll_out(
    hands: &Hands,
    application: &DynamicObject,
    graph: &Graph,
) -> Result<Option<Status>, Stopped> {
    let key = Key::of(application);
    let live = hands.rollouts.get(&key);
    let is_own = |live: &DynamicObject| {
        controller_of(live).is_some_and(|owner| Some(&owner.uid) == application.metadata.uid.as_ref())
    };
    let own = live.as_ref().filter(|live| is_own(live));
    if own.is_some_and(|own| own.metadata.deletion_timestamp.is_some()) {
        // Its end wakes us: nobody need hear of this.
        return Err(Later::Woken.into());
    }
    let Some(plan) = graph.app_file().rollout_plan() else {
        // What it holds is let go before the application takes it over.
        return match own {
            Some(own) => Err(delete(hands, own).await),
            None => Ok(None),
        };
    };
    if live.is_some() && own.is_none() {
        return Err(wrong(format!(
            "AppRollout {key} is there and not this application's, and spec.rolloutPlan needs that name: delete it, or \
             take the plan out of the application"
        )));
    }
    let applied = applied(hands, &key, graph)?;
    let remembered = application
        .data
        .pointer("/status/rollout")
        .and_then(|status| serde_json::from_value(status.clone()).ok());
    let rollout: Option<AppRollout> =
        own.map(|own| typed(own)).transpose().map_err(|error| trouble(&error))?;
    let revision = twin(hands, &key, graph, rollout.as_ref(), remembered.as_ref());
    let known = Known {
        plan,
        revision: &revision,
        components: &template::components(graph),
        applied: applied.as_deref(),
        rollout: rollout.as_ref(),
        remembered: remembered.as_ref(),
    };
    let made = made(hands, &key)?;
    let rolled = |rollout: &AppRollout| Status::rolled(graph, rollout, made.clone());
    let spec = match way(&known) {
        Way::Itself => return Ok(None),
        Way::Reached => {
            let mut gone =
                AppRollout { status: remembered, ..AppRollout::new(&key.name, Default::default()) };
            gone.spec.target_app_revision_name = revision;
            gone.spec.source_app_revision_name =
                gone.status.as_ref().and_then(|status| status.last_source_app_revision.clone());
            return Ok(Some(rolled(&gone)));
        }
        Way::Rollout(spec) => spec,
    };
    let written = match (own, &rollout) {
        (Some(own), Some(rollout)) => match ask(rollout, &own.data["spec"], &spec) {
            Ask::Nothing => return Ok(Some(rolled(rollout))),
            Ask::Write => write(hands, own, &spec).await?,
            Ask::Again => return Err(delete(hands, own).await),
        },
        _ => create(hands, application, spec).await?,
    };
    hands.rollouts.observe(written.clone());
    let rollout: AppRollout = typed(&written).map_err(|error| trouble(&error))?;
    Ok(Some(rolled(&rollout)))
}

/// The name under which the revision is rolled out. Whoever goes back to a former content gets a new revision of it; what
/// runs of the former one need not be replaced by its equal.
fn twin(
    hands: &Hands,
    key: &Key,
    graph: &Graph,
    rollout: Option<&AppRollout>,
    remembered: Option<&AppRolloutStatus>,
) -> String {
    let identity = graph.identity();
    let spec = rollout.map(|rollout| &rollout.spec);
    let names = [
        spec.map(|spec| &spec.target_app_revision_name),
        spec.and_then(|spec| spec.source_app_revision_name.as_ref()),
        remembered.map(|status| &status.last_target_app_revision),
        remembered.and_then(|status| status.last_source_app_revision.as_ref()),
    ];
    let is_equal = |name: &&String| {
        hands.revisions.has_content(&Key::new(&*key.namespace, name.as_str()), identity.hash())
    };
    names.into_iter().flatten().find(is_equal).map_or(identity.name(), String::as_str).to_owned()
}

/// The revision that the application applied itself last, by the content that its record names.
fn applied(hands: &Hands, key: &Key, graph: &Graph) -> Result<Option<String>, Stopped> {
    let (record, _) = hands.records.read(key).map_err(|error| trouble(&error))?;
    match &record.identity {
        Some(identity) if identity == graph.identity().hash() => Ok(Some(graph.identity().name().to_owned())),
        Some(identity) => hands.revisions.with_content(key, identity).map(Some).ok_or_else(|| {
            wrong(
                "the revision that runs is not recorded any more, so a rollout has nothing to come from: take \
                 spec.rolloutPlan out until this revision runs"
                    .to_owned(),
            )
        }),
        None => Ok(None),
    }
}

/// Everything that the application has in the cluster, by its record.
fn made(hands: &Hands, key: &Key) -> Result<Vec<ObjectKey>, Stopped> {
    let (record, _) = hands.records.read(key).map_err(|error| trouble(&error))?;
    let made = record.entries.keys().map(|owned| ObjectKey {
        api_version: owned.api_version.clone(),
        kind: owned.kind.clone(),
        namespace: owned.key.namespace.clone(),
        name: owned.key.name.clone(),
    });
    Ok(made.collect())
}

async fn create(hands: &Hands, application: &DynamicObject, spec: Value) -> Result<DynamicObject, Stopped> {
    let key = Key::of(application);
    let resource = &hands.rollouts.watch().resource;
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
    let rollout: DynamicObject = serde_json::from_value(rollout).map_err(|error| trouble(&error))?;
    let params = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
    api(hands, &key).create(&params, &rollout).await.map_err(|error| unwritten(&error))
}

async fn write(hands: &Hands, live: &DynamicObject, spec: &Value) -> Result<DynamicObject, Stopped> {
    let mut spec = spec.clone();
    if spec.get("sourceAppRevisionName").is_none() {
        spec["sourceAppRevisionName"] = Value::Null;
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
    let written = api(hands, &key).patch(&key.name, &params, &Patch::Merge(&patch)).await;
    written.map_err(|error| unwritten(&error))
}

/// Ask it to go; the end of it wakes us.
async fn delete(hands: &Hands, live: &DynamicObject) -> Stopped {
    let key = Key::of(live);
    let preconditions = Some(Preconditions { uid: live.metadata.uid.clone(), resource_version: None });
    let params = DeleteParams { preconditions, ..DeleteParams::default() };
    match api(hands, &key).delete(&key.name, &params).await {
        Ok(_) => Later::Woken.into(),
        Err(kube::Error::Api(status)) if status.code == 404 => Later::Soon.into(),
        Err(error) => unwritten(&error),
    }
}

fn api(hands: &Hands, key: &Key) -> Api<DynamicObject> {
    Api::namespaced_with(hands.context.client.clone(), &key.namespace, &hands.rollouts.watch().resource)
}

fn wrong(why: String) -> Stopped {
    Stopped::wrong(ConditionType::Workflow, Diagnostic::error(Code::Refused, why).into())
}

fn trouble(error: &dyn std::fmt::Display) -> Stopped {
    Stopped::trouble(ConditionType::Workflow, error)
}

fn unwritten(error: &kube::Error) -> Stopped {
    let told = format!("cannot write the AppRollout: {}", vela_runtime::apply::explain(error));
    Stopped::write(ConditionType::Workflow, &told, Some(error))
}
