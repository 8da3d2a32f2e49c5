//! Memberships in and out → the scopes' lists of workloads edited; scopes themselves are never created or deleted.

use kube::api::{DynamicObject, PostParams};
use serde_json::Value;
use vela_engine::application_configuration::graph::{add_member, memberships, remove_member};
use vela_engine::application_configuration::render::RenderedComponent;
use vela_engine::{DefinitionKind, ObjectKey};
use vela_runtime::Api;
use vela_runtime::Failure;

use super::fetch::scope;
use super::reconciler::ApplicationConfigurationReconciler;
use crate::application::fetch::json;
use crate::author::Actor;
use crate::context::FIELD_MANAGER;

/// Make every wanted membership of a component's workload true; tells how many scopes were edited.
pub(super) async fn join(
    reconciler: &ApplicationConfigurationReconciler,
    acting: &Actor,
    component: &RenderedComponent,
) -> Result<usize, Failure> {
    let mut edited = 0;
    for change in memberships(component) {
        let Some(found) = scope(&reconciler.context, &change.scope).await.map_err(Failure::retry)? else {
            return Err(Failure::retry(format!("scope {} does not exist", change.scope)));
        };
        let changed = add_member(&json(&found), &change)
            .map_err(|error| Failure::retry(format!("scope {}: {error}", change.scope)))?;
        if let Some(changed) = changed {
            write(reconciler, acting, &change.scope, changed).await?;
            edited += 1;
        }
    }
    Ok(edited)
}

/// Take workloads out of scopes they do not belong to any more; a scope that is gone has no list.
pub(super) async fn leave(
    reconciler: &ApplicationConfigurationReconciler,
    acting: &Actor,
    namespace: &str,
    dropped: &[(ObjectKey, Value)],
) -> Result<usize, Failure> {
    let mut edited = 0;
    for (scope, workload) in dropped {
        let Some(live) = self::scope(&reconciler.context, scope).await.map_err(Failure::retry)? else {
            continue;
        };
        let Some(path) = path(reconciler, namespace, scope).await? else { continue };
        let changed = remove_member(&json(&live), &path, workload)
            .map_err(|error| Failure::retry(format!("scope {scope}: {error}")))?;
        if let Some(changed) = changed {
            write(reconciler, acting, scope, changed).await?;
            edited += 1;
        }
    }
    Ok(edited)
}

/// Where the scope's definition says its list is; nothing when the definition is gone or names no list.
async fn path(
    reconciler: &ApplicationConfigurationReconciler,
    namespace: &str,
    scope: &ObjectKey,
) -> Result<Option<String>, Failure> {
    let kind = reconciler
        .context
        .discovery
        .resolve(&scope.api_version, &scope.kind)
        .await
        .map_err(Failure::retry)?;
    let name = format!("{}.{}", kind.resource.plural, kind.resource.group);
    let definition = reconciler.cluster.reader().stored(DefinitionKind::Scope, namespace, &name).await;
    let path = definition
        .map_err(Failure::retry)?
        .and_then(|definition| definition.value()["spec"]["workloadRefsPath"].as_str().map(str::to_owned));
    Ok(path.filter(|path| !path.is_empty()))
}

/// Update the scope as it was read: a concurrent change makes this fail and the next reconcile tries again.
async fn write(
    reconciler: &ApplicationConfigurationReconciler,
    acting: &Actor,
    key: &ObjectKey,
    scope: Value,
) -> Result<(), Failure> {
    let kind =
        reconciler.context.discovery.resolve(&key.api_version, &key.kind).await.map_err(Failure::retry)?;
    let api: Api<DynamicObject> = kind.api(acting.client(), &key.namespace);
    let scope: DynamicObject = serde_json::from_value(scope).map_err(Failure::terminal)?;
    let params = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
    let written = api.replace(&key.name, &params, &scope).await;
    let written =
        written.map_err(|error| Failure::retry(format!("scope {key}: {}", acting.explain(&error))))?;
    reconciler.context.cache.informer(vela_runtime::Watch::full(kind.resource)).observe(written);
    Ok(())
}
