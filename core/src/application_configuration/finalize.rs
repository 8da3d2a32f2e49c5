//! A deleted ApplicationConfiguration → its workloads out of their scopes, what no owner reference reaches deleted, then
//! the finalizers; the rest is collected by its owner references.

use kube::api::DynamicObject;
use serde_json::{Value, json};
use vela_crds::finalizers;
use vela_engine::ObjectKey;
use vela_engine::application_configuration::status;
use vela_runtime::{Action, Failure, Key};

use super::reconciler::ApplicationConfigurationReconciler;
use super::{scopes, unowned_objects};
use crate::author::Actor;

/// Leave all scopes that the status names.
pub(super) async fn finalize(
    reconciler: &ApplicationConfigurationReconciler,
    configuration: &DynamicObject,
) -> Result<Action, Failure> {
    let key = Key::of(configuration);
    let held = configuration.metadata.finalizers.clone().unwrap_or_default();
    let ours = [finalizers::SCOPE, finalizers::ELSEWHERE];
    let others: Vec<String> = held.iter().filter(|held| !ours.contains(&held.as_str())).cloned().collect();
    if others.len() == held.len() {
        return Ok(Action::Done);
    }
    let mut dropped = Vec::new();
    for entry in configuration.data["status"]["workloads"].as_array().into_iter().flatten() {
        let reference = &entry["workloadRef"];
        let workload = json!({
            "apiVersion": reference["apiVersion"],
            "kind": reference["kind"],
            "name": reference["name"],
        });
        for scope in entry["scopes"].as_array().into_iter().flatten() {
            dropped.push((scope_key(&scope["scopeRef"], &key.namespace), workload.clone()));
        }
    }
    let acting = reconciler.acting(configuration).await?;
    let acting = acting.unwrap_or_else(|unknown| Actor::without_author(&reconciler.context, &unknown));
    if let Err(error) = scopes::leave(reconciler, &acting, &key.namespace, &dropped).await {
        return report(reconciler, configuration, error).await;
    }
    if unowned_objects::holds(configuration) {
        match unowned_objects::delete_all(reconciler, &acting, configuration).await {
            Ok(true) => {}
            // A remaining object wakes us when it is gone.
            Ok(false) => return Ok(Action::Done),
            Err(error) => return report(reconciler, configuration, error).await,
        }
    }
    reconciler.set_finalizers(configuration, &others).await
}

/// The failure is told once and tried again.
async fn report(
    reconciler: &ApplicationConfigurationReconciler,
    configuration: &DynamicObject,
    error: Failure,
) -> Result<Action, Failure> {
    let message = format!("failed to finalize workloads: {error}");
    let old = configuration.data.get("status");
    let now = vela_runtime::conditions::now();
    let document = crate::application::fetch::json(configuration);
    let why = status::Failed { message: &message, refused: false };
    let status = status::failed(&document, why, old, false, &now);
    if reconciler.write_status(configuration, &status).await? {
        let regarding = vela_runtime::events::reference(configuration);
        reconciler.context.events.warning(&regarding, "CannotFinalizeWorkloads", &message).await;
    }
    Err(error)
}

fn scope_key(reference: &Value, namespace: &str) -> ObjectKey {
    let part = |field: &str| reference[field].as_str().unwrap_or_default().to_owned();
    ObjectKey::local(part("apiVersion"), part("kind"), namespace, part("name"))
}
