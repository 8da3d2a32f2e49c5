//! Writes what a person orders a workflow to do into its status, over the version that was read and no other.

use kube::ResourceExt as _;
use kube::api::{DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};
use vela_engine::workflow::{Refusal, RunStatus};

use super::found::run_of;
use crate::applications::{API_VERSION, KIND, find};
use crate::cluster::Cluster;
use crate::error::{Error, Failure, Result};
use crate::ownership::FIELD_MANAGER;

/// How often an order is tried again when the controller wrote the status meanwhile.
const MOST_TRIES: usize = 20;
/// What the status says of an application whose workflow runs.
const UNDER_WAY: &str = "runningWorkflow";

/// What the application is afterwards, until the controller has looked at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    /// What it was.
    Same,
    /// Under way: a waiting command must not take its former phase for the outcome.
    UnderWay,
}

/// Changes the run of an application as `order` does. Gives the application as it was written.
pub(super) async fn steer(
    cluster: &Cluster,
    name: &str,
    then: Then,
    order: impl Fn(&mut RunStatus) -> std::result::Result<(), Refusal>,
) -> Result<DynamicObject> {
    for _ in 0..MOST_TRIES {
        let application = find(cluster, name).await?;
        let mut run = steerable(&application)?;
        order(&mut run).map_err(|refusal| refused(name, &refusal))?;
        if let Some(written) = write(cluster, &application, Some(&run), then).await? {
            return Ok(written);
        }
    }
    Err(too_busy(name))
}

/// The run, where its steps are run one by one. Where steps only apply components, these follow from what is seen of their
/// objects, and the next reconcile would write over any order.
pub(super) fn steerable(application: &DynamicObject) -> Result<RunStatus> {
    let run = run_of(application)?;
    if run.context.is_none() {
        let name = application.name_any();
        let message = format!("the workflow of {name} only applies components: there is nothing to steer");
        let hint = "a workflow with another step, such as one of type suspend, can be held, ended and begun at a step; \
                    the label controller.core.oam.dev/pause: \"true\" holds any application";
        return Err(Error::user(message).hint(hint).into());
    }
    Ok(run)
}

pub(super) fn refused(name: &str, refusal: &Refusal) -> Failure {
    Error::user(format!("workflow of {name}: {refusal}"))
        .hint(format!("`vela status {name}` shows how far each step is"))
        .into()
}

pub(super) fn too_busy(name: &str) -> Failure {
    Error::cluster(format!("the status of {name} changes faster than it can be written"))
        .hint("try again in a moment")
        .into()
}

/// Writes the run, or takes it away so that it begins anew. Nothing where another writer changed the application since it was read.
pub(super) async fn write(
    cluster: &Cluster,
    application: &DynamicObject,
    run: Option<&RunStatus>,
    then: Then,
) -> Result<Option<DynamicObject>> {
    let name = application.name_any();
    let mut operations = vec![
        json!({"op": "add", "path": "/metadata/resourceVersion", "value": application.metadata.resource_version}),
    ];
    operations.push(match run {
        Some(run) => json!({"op": "add", "path": "/status/workflow", "value": run.to_json()}),
        None => json!({"op": "remove", "path": "/status/workflow"}),
    });
    if then == Then::UnderWay {
        operations.push(json!({"op": "add", "path": "/status/status", "value": UNDER_WAY}));
    }
    let api = cluster.api(API_VERSION, KIND, None).await?;
    let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
    match api.patch_status(&name, &params, &json_patch(operations)?).await {
        Ok(written) => Ok(Some(written)),
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(None),
        Err(error) => Err(cluster.failure(&format!("change the workflow of {name}"), &error)),
    }
}

/// Operations of RFC 6902.
pub(super) fn json_patch(operations: Vec<Value>) -> Result<Patch<Value>> {
    let operations = serde_json::from_value(Value::Array(operations))
        .map_err(|error| Error::internal(format!("the change cannot be written: {error}")))?;
    Ok(Patch::Json(operations))
}
