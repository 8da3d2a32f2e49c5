//! A deleted Application → every recorded object gone, then the record, then the finalizer; never parses or renders.

use kube::api::DynamicObject;
use vela_crds::finalizers;
use vela_engine::status::Status;
use vela_engine::{Document, Secrets, policy};
use vela_runtime::apply::{self as runtime_apply, Deletion};
use vela_runtime::{Action, Failure, Key, clock, events};

use super::apply::delete_recorded;
use super::error::Later;
use super::fetch::json;
use super::inventory::{Entry, Owned};
use super::owned_kinds::Application;
use super::reconciler::ApplicationReconciler;
use crate::author::Actor;

/// Why the deletion cannot go on.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("cannot read the record of owned objects: {0}")]
    Unreadable(#[from] serde_json::Error),
    #[error("cannot delete all that it made: {0}")]
    Delete(String),
    #[error("cannot read the application: {}", runtime_apply::explain(.0))]
    Read(#[source] kube::Error),
    #[error("cannot remove the record of owned objects: {}", runtime_apply::explain(.0))]
    Record(#[source] kube::Error),
}

/// Put our finalizer on, before there is anything to clean up.
pub(super) async fn add_finalizer(
    reconciler: &ApplicationReconciler,
    key: &Key,
    application: &DynamicObject,
) -> Result<(), kube::Error> {
    let mut held = application.metadata.finalizers.clone().unwrap_or_default();
    if held.iter().any(|held| held == finalizers::RESOURCE_TRACKER) {
        return Ok(());
    }
    held.push(finalizers::RESOURCE_TRACKER.to_owned());
    reconciler.set_finalizers(key, application, &held).await
}

/// One reconcile of an application that is being deleted.
pub(super) async fn finalize(
    reconciler: &ApplicationReconciler,
    key: &Key,
    application: &DynamicObject,
) -> Result<Action, Failure> {
    let held = application.metadata.finalizers.clone().unwrap_or_default();
    let ours = [finalizers::RESOURCE_TRACKER, finalizers::RESOURCE_TRACKER_V1_0, finalizers::ORPHAN_RESOURCE];
    let others: Vec<String> = held.iter().filter(|held| !ours.contains(&held.as_str())).cloned().collect();
    if others.len() == held.len() {
        return Ok(Action::Done);
    }
    let acting = Actor::for_author(&reconciler.context, application)
        .unwrap_or_else(|unknown| Actor::without_author(&reconciler.context, &unknown));
    let deleted = delete_all(reconciler, &Application::of(application, acting)).await;
    if matches!(deleted, Ok(true)) {
        return match reconciler.set_finalizers(key, application, &others).await {
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(Action::Done),
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(Later::Soon.action()),
            result => result.map(|()| Action::Done).map_err(Failure::from),
        };
    }
    let document = Document::from_object(json(application));
    let mut secrets = Secrets::default();
    secrets.add(document.value());
    let deleted = deleted.map_err(|error| secrets.hide(&error.to_string()).into_owned());
    let status = match &deleted {
        Ok(_) => Status::deleting(&document),
        Err(error) => Status::not_deleted(&document, error.clone()),
    };
    let status = status.to_json(document.value().get("status"), clock::now());
    let api = reconciler.api(key);
    let written = crate::status::write(&api, &reconciler.applications, application, &status).await?;
    if let (true, Err(error)) = (written, &deleted) {
        reconciler.context.events.warning(&events::reference(application), "FailedDelete", error).await;
    }
    deleted.map(|_| Action::Done).map_err(Failure::retry)
}

/// Is nothing to be deleted with the application?
fn is_orphaning(application: &DynamicObject) -> bool {
    application.metadata.finalizers.iter().flatten().any(|held| held == finalizers::ORPHAN_RESOURCE)
}

/// Delete everything recorded, last wave first; true when all of it is gone. An object that is still going away wakes
/// the application again when it is gone.
async fn delete_all(
    reconciler: &ApplicationReconciler,
    application: &Application<'_>,
) -> Result<bool, Error> {
    if !is_still_deleted(reconciler, application).await.map_err(Error::Read)? {
        // Another one took its name, or nothing is left to do: what comes next wakes us.
        return Ok(false);
    }
    let (record, stored) = reconciler.records.read(&application.key)?;
    let mut entries: Vec<(&Owned, &Entry)> = record.entries.iter().collect();
    entries.sort_by_key(|(_, entry)| std::cmp::Reverse(entry.wave));
    let is_orphaning = is_orphaning(application.object);
    let is_in_order = policy::is_deleted_in_order(&json(application.object));
    let mut all_gone = true;
    let mut first_error = None;
    let mut wave = None;
    for (owned, entry) in entries {
        // Remaining objects of a later wave hold up the earlier ones, where the application wants it so.
        if is_in_order && wave != entry.wave && !all_gone {
            break;
        }
        wave = entry.wave;
        if let Some(reason) = owned.out_of_reach() {
            first_error = first_error.or(Some(reason));
            continue;
        }
        let released = Entry { released: true, ..entry.clone() };
        let entry = if is_orphaning { &released } else { entry };
        match delete_recorded(reconciler, application, owned, entry).await {
            Ok(Deletion::Gone) => {}
            Ok(Deletion::Going) => all_gone = false,
            // The others can go nevertheless.
            Err(error) => {
                all_gone = false;
                first_error = first_error.or_else(|| Some(application.acting.explain_apply(&error)));
            }
        }
    }
    if let Some(error) = first_error {
        return Err(Error::Delete(error));
    }
    if all_gone {
        reconciler.records.remove(stored).await.map_err(Error::Record)?;
    }
    Ok(all_gone)
}

/// The cache may be behind: an application of that name that was created since is not to be touched.
async fn is_still_deleted(
    reconciler: &ApplicationReconciler,
    application: &Application<'_>,
) -> Result<bool, kube::Error> {
    let fresh = reconciler.api(&application.key).get_opt(&application.key.name).await?;
    Ok(fresh.is_some_and(|fresh| {
        fresh.metadata.uid == application.object.metadata.uid && fresh.metadata.deletion_timestamp.is_some()
    }))
}
