//! An Application that was stored as an ApplicationConfiguration, and now applies its objects itself → the
//! configuration made to leave them first; the objects stay as they are.
//!
//! Two laps that both own an object would write it in turns, and a configuration that is deleted takes what it controls
//! along. So the configuration is asked to be a mere record, it answers in its status when its last lap is over, and
//! only then the application takes its objects over. It is deleted like anything unwanted, and with it goes what the
//! application did not take over.

use kube::api::DynamicObject;
use vela_crds::ApplicationConfiguration;
use vela_engine::application_configuration::{API_VERSION, KIND, status};
use vela_engine::status::ConditionType;
use vela_runtime::Key;
use vela_runtime::apply::Conflicts;

use super::fetch::json;
use super::owned::Application;
use super::stopped::{Later, Stopped};
use super::{Hands, owned};

/// The uids of configurations that have left their objects to the application.
pub(super) async fn take_over(hands: &Hands, application: &Application<'_>) -> Result<Vec<String>, Stopped> {
    let trouble = |error: &dyn std::fmt::Display| Stopped::trouble(ConditionType::Workflow, error);
    let (record, _) = hands.records.read(&application.key).map_err(|error| trouble(&error))?;
    let stored =
        record.entries.iter().filter(|(owned, _)| owned.api_version == API_VERSION && owned.kind == KIND);
    let mut left = Vec::new();
    for (owned, entry) in stored {
        let Some(configuration) = hands.configurations.get(&owned.key) else { continue };
        let uid = configuration.metadata.uid.clone().unwrap_or_default();
        if entry.uid.as_ref().is_some_and(|recorded| *recorded != uid) {
            continue;
        }
        let document = json(&configuration);
        if !status::is_handed_over(&document) && configuration.metadata.deletion_timestamp.is_none() {
            ask(hands, application, &configuration, &document).await?;
            // Its answer wakes us, and comes in a moment: nobody need hear of this.
            return Err(Later::Woken.into());
        }
        left.push(uid);
    }
    Ok(left)
}

/// Ask the configuration to be a mere record; one that was asked already costs nothing.
async fn ask(
    hands: &Hands,
    application: &Application<'_>,
    configuration: &DynamicObject,
    document: &serde_json::Value,
) -> Result<(), Stopped> {
    let trouble = |error: &dyn std::fmt::Display| Stopped::trouble(ConditionType::Workflow, error);
    let resource = kube::api::ApiResource::erase::<ApplicationConfiguration>(&());
    let kind = hands.context.discovery.resolve(&resource.api_version, &resource.kind).await;
    let kind = kind.map_err(|error| trouble(&error))?;
    // From the first look on its changes wake us.
    let informer = hands.owned.informer(&kind).await.map_err(|error| trouble(&error))?;
    if vela_engine::application_configuration::is_passive(document) {
        return Ok(());
    }
    let generation = application.object.metadata.generation.unwrap_or_default();
    let asked = status::handing_over(document, generation);
    let asked: DynamicObject = serde_json::from_value(asked).map_err(|error| trouble(&error))?;
    let uid = configuration.metadata.uid.clone();
    let guard = |live: &DynamicObject| {
        let same = live.metadata.uid == uid;
        let ours = owned::may_change(application, uid.as_deref(), &asked, live);
        if same { ours } else { Err(format!("{} is another one now", Key::of(live))) }
    };
    let live = Some(std::sync::Arc::new(configuration.clone()));
    let written = hands.context.applier.apply(&asked, live, false, Conflicts::Force, &guard).await;
    let written = written.map_err(|error| match error.is_transient() {
        true => Later::Soon.into(),
        false => trouble(&error),
    })?;
    informer.observe((*written.object).clone());
    Ok(())
}
