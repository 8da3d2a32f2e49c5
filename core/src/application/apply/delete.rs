//! One recorded object → deleted, where it is the application's.

use kube::api::DynamicObject;
use vela_runtime::apply::{self as runtime_apply, Deletion, Guard};
use vela_runtime::confirm::Seen;

use super::shared_resource::leave;
use crate::application::inventory::{Entry, Owned};
use crate::application::owned_kinds::{Application, may_delete};
use crate::application::reconciler::ApplicationReconciler;
use crate::prune::{self, Pruned};
use crate::successors;

/// Deletes one recorded object; a foreign object of that name counts as gone from our record.
pub(in crate::application) async fn delete_recorded(
    reconciler: &ApplicationReconciler,
    application: &Application<'_>,
    owned: &Owned,
    entry: &Entry,
) -> Result<Deletion, runtime_apply::Error> {
    let guard = |live: &DynamicObject| may_delete(application, entry.uid.as_deref(), live);
    if entry.released {
        return release(reconciler, application, owned, &guard).await;
    }
    let api_version =
        successors::address(&reconciler.context.discovery, &owned.api_version, &owned.kind).await;
    let kind = reconciler.context.discovery.resolve(api_version, &owned.kind).await.ok();
    let informer = match &kind {
        Some(kind) => reconciler.owned.informer(kind).await.ok(),
        None => None,
    };
    let live = informer.as_ref().and_then(|informer| informer.get(&owned.key));
    let acting = application.acting_on(&reconciler.context, owned);
    let delete = |live| acting.applier().delete(api_version, &owned.kind, &owned.key, live, &guard);
    let cached = live.is_some();
    let mut result = delete(live).await;
    if cached && matches!(result, Err(runtime_apply::Error::Foreign { .. })) {
        // The cache may have shown a former object of that name.
        result = delete(None).await;
    }
    match result {
        Ok(deletion) => {
            if let Some(informer) = informer.filter(|_| deletion == Deletion::Gone) {
                informer.forget(&owned.key);
            }
            Ok(deletion)
        }
        Err(runtime_apply::Error::Foreign { object, reason }) => {
            tracing::info!(application = %application.key, object, reason, "an object of the record is not ours; it is left alone");
            leave(reconciler, application, owned).await?;
            Ok(Deletion::Gone)
        }
        Err(error) => Err(error),
    }
}

/// Let one recorded object go that stays after its application.
async fn release(
    reconciler: &ApplicationReconciler,
    application: &Application<'_>,
    owned: &Owned,
    guard: Guard<'_>,
) -> Result<Deletion, runtime_apply::Error> {
    let acting = application.acting_on(&reconciler.context, owned);
    let seen = Seen { resource: &reconciler.applications.watch().resource, object: application.object };
    let decision = prune::Decision { context: &reconciler.context, acting: &acting, seen: vec![seen] };
    let identity = (owned.api_version.as_str(), owned.kind.as_str(), &owned.key);
    match prune::release_with_owner(&decision, identity, guard).await? {
        Pruned::Gone => Ok(Deletion::Gone),
        Pruned::Foreign(reason) => {
            tracing::info!(application = %application.key, object = ?owned, reason, "an object of the record is not ours; it is left alone");
            leave(reconciler, application, owned).await?;
            Ok(Deletion::Gone)
        }
        // The client that changed it meanwhile wakes the application.
        Pruned::Going | Pruned::Changed => Ok(Deletion::Going),
    }
}
