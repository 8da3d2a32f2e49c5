//! An Application that was stored as an ApplicationConfiguration, and now applies its objects itself → the
//! configuration made to leave them first; the objects stay as they are.
//!
//! Two reconcilers that both own an object would overwrite each other, and a configuration that is deleted takes what it controls
//! along. So the configuration is asked to be a mere record, it answers in its status when its last reconcile is over, and
//! only then the application takes its objects over. It is deleted like anything unwanted, and with it goes what the
//! application did not take over.

use kube::api::DynamicObject;
use vela_crds::ApplicationConfiguration;
use vela_engine::application_configuration::{API_VERSION, KIND, status};
use vela_runtime::Key;
use vela_runtime::apply::Conflicts;

use super::error::{Later, PhaseError, Stopped};
use super::fetch::json;
use super::owned_kinds;
use super::owned_kinds::Application;
use super::reconciler::ApplicationReconciler;

/// The uids of configurations that have left their objects to the application.
pub(super) async fn take_over(
    reconciler: &ApplicationReconciler,
    application: &Application<'_>,
) -> Result<Vec<String>, Stopped> {
    let unavailable = |error: &dyn std::fmt::Display| Stopped::unavailable(PhaseError::Apply, error);
    let (record, _) = reconciler.records.read(&application.key).map_err(|error| unavailable(&error))?;
    let stored =
        record.entries.iter().filter(|(owned, _)| owned.api_version == API_VERSION && owned.kind == KIND);
    let mut left = Vec::new();
    for (owned, entry) in stored {
        let Some(configuration) = reconciler.configurations.get(&owned.key) else { continue };
        let uid = configuration.metadata.uid.clone().unwrap_or_default();
        if entry.uid.as_ref().is_some_and(|recorded| *recorded != uid) {
            continue;
        }
        let document = json(&configuration);
        if !status::is_handed_over(&document) && configuration.metadata.deletion_timestamp.is_none() {
            request(reconciler, application, &configuration, &document).await?;
            // Its answer wakes us, and comes in a moment: nothing is wrong.
            return Err(Later::Woken.into());
        }
        left.push(uid);
    }
    Ok(left)
}

/// Request that the configuration becomes a mere record; where that was requested before, nothing is written.
async fn request(
    reconciler: &ApplicationReconciler,
    application: &Application<'_>,
    configuration: &DynamicObject,
    document: &serde_json::Value,
) -> Result<(), Stopped> {
    let unavailable = |error: &dyn std::fmt::Display| Stopped::unavailable(PhaseError::Apply, error);
    let resource = kube::api::ApiResource::erase::<ApplicationConfiguration>(&());
    let kind = reconciler.context.discovery.resolve(&resource.api_version, &resource.kind).await;
    let kind = kind.map_err(|error| unavailable(&error))?;
    // From the first look on its changes wake us.
    let informer = reconciler.owned.informer(&kind).await.map_err(|error| unavailable(&error))?;
    if vela_engine::application_configuration::is_passive(document) {
        return Ok(());
    }
    let generation = application.object.metadata.generation.unwrap_or_default();
    let requested = status::handover(document, generation);
    let requested: DynamicObject = serde_json::from_value(requested).map_err(|error| unavailable(&error))?;
    let uid = configuration.metadata.uid.clone();
    let guard = |live: &DynamicObject| {
        let same = live.metadata.uid == uid;
        let ours = owned_kinds::may_change(application, uid.as_deref(), &requested, live);
        if same { ours } else { Err(format!("{} is another one now", Key::of(live))) }
    };
    let live = Some(std::sync::Arc::new(configuration.clone()));
    let written = reconciler.context.applier.apply(&requested, live, false, Conflicts::Force, &guard).await;
    let written = written.map_err(|error| match error.is_transient() {
        true => Later::Soon.into(),
        false => unavailable(&error),
    })?;
    informer.observe((*written.object).clone());
    Ok(())
}
