//! One reconcile that was decided → metrics measured, hooks asked, writes made.

use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, Preconditions};
use vela_engine::Secrets;
use vela_engine::rollout::next_step::Ended;
use vela_engine::rollout::{Owner, PlannedStep, Write};
use vela_runtime::Api;
use vela_runtime::apply::explain;
use vela_runtime::dynamic_watch::TrackedReads;

use super::{hooks, metrics};
use crate::author::Actor;
use crate::context::{Context, FIELD_MANAGER};

/// The reconcile with the metrics that it wants to know.
pub(super) async fn measured(
    context: &Context,
    acting: &Actor,
    namespace: &str,
    secrets: &Secrets,
    planned: PlannedStep,
) -> PlannedStep {
    if planned.measurements.is_empty() {
        return planned;
    }
    let mut readings = metrics::measure(context, acting, namespace, &planned.measurements).await;
    for reading in &mut readings {
        // The input of a reconcile stands in the status, and not only in conditions.
        reading.query = reading.query.as_deref().map(|query| secrets.hide(query).into_owned());
        if let Err(why) = &mut reading.value {
            *why = secrets.hide(why).into_owned();
        }
    }
    planned.measured(&readings)
}

/// The holder of the workloads.
pub(super) fn owner(live: &DynamicObject) -> Owner {
    let types = live.types.clone().unwrap_or_default();
    Owner {
        api_version: types.api_version,
        kind: types.kind,
        namespace: live.metadata.namespace.clone().unwrap_or_default(),
        name: live.metadata.name.clone().unwrap_or_default(),
        uid: live.metadata.uid.clone().unwrap_or_default(),
        lenders: Vec::new(),
    }
}

/// Hooks before, writes, hooks after; nothing when another writer was faster, and all of it is decided anew.
pub(super) async fn run(
    context: &Context,
    look: &TrackedReads,
    acting: &Actor,
    namespace: &str,
    planned: PlannedStep,
) -> Option<Ended> {
    if let Err(why) = hooks::call(&context.egress, &planned.before).await {
        return Some(planned.hook_failed(&why));
    }
    for write in planned.writes.clone() {
        match write_one(context, look, acting, namespace, &write).await {
            Ok(()) => {}
            Err(kube::Error::Api(status)) if status.code == 409 => return None,
            Err(error) => {
                let (Write::Patch { object, .. } | Write::Delete { object, .. }) = &write;
                return Some(planned.write_failed(object, &acting.explain(&error)));
            }
        }
    }
    if let Err(why) = hooks::call(&context.egress, &planned.after).await {
        return Some(planned.hook_failed(&why));
    }
    Some(planned.succeeded())
}

/// One write; an object that is not there any more needs none.
async fn write_one(
    context: &Context,
    look: &TrackedReads,
    acting: &Actor,
    namespace: &str,
    write: &Write,
) -> Result<(), kube::Error> {
    let (Write::Patch { object, .. } | Write::Delete { object, .. }) = write;
    let kind = context.discovery.resolve(&object.api_version, &object.kind).await;
    let kind = kind.map_err(|error| kube::Error::Service(Box::new(error)))?;
    let api: Api<DynamicObject> = kind.api(acting.client(), namespace);
    let done = match write {
        Write::Patch { patch, .. } => {
            let params =
                PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
            api.patch(&object.name, &params, &Patch::Merge(patch)).await.map(|written| look.observe(&written))
        }
        Write::Delete { uid, .. } => {
            let preconditions = Some(Preconditions { uid: Some(uid.clone()), resource_version: None });
            let params = DeleteParams { preconditions, ..DeleteParams::default() };
            api.delete(&object.name, &params).await.map(|_| ())
        }
    };
    match done {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        Err(error) => {
            tracing::debug!(%object, error = explain(&error), "a write of a rollout failed");
            Err(error)
        }
        Ok(()) => Ok(()),
    }
}
