//! Reconciles a HealthScope: writes the health of the workloads it names, read from watched stores, into its status.

use std::time::Duration;

use futures::FutureExt as _;
use futures::future::{BoxFuture, join_all};
use kube::api::DynamicObject;
use serde_json::Value;
use vela_crds::{Condition, Conditioned as _, HealthScope, TypedReference, condition, labels};
use vela_engine::health_scope as health;
use vela_runtime::dynamic_watch::{Error, TrackedReads};
use vela_runtime::{Action, Controller, Failure, Key, Reconciler, events};

use crate::context::Context;
use crate::standard::reconciler_base::{ReconcilerBase, json_of, typed};
use crate::status;

/// How long a workload may take to be read, and when one that could not be read is read again, unless the scope says so.
const TIMEOUT: Duration = Duration::from_secs(10);
const INTERVAL: Duration = Duration::from_secs(10);
/// Workloads checked of one scope; more would hold up the others.
const WORKLOADS_AT_MOST: usize = 500;
/// Revisions of one workload that are looked at.
const PEERS_AT_MOST: usize = 50;

/// The controller of HealthScopes; a change of a workload, of its parts or of another revision of it wakes the scope.
pub(crate) fn controller(context: &Context, workers: usize) -> Controller {
    // The scope makes nothing, so the manager's name signs nothing.
    let base = ReconcilerBase::new::<HealthScope>(context, "vela-health-scope", &[labels::APP_COMPONENT]);
    base.controller("healthscope", HealthScopeReconciler { base: base.clone() }, workers)
}

struct HealthScopeReconciler {
    base: ReconcilerBase,
}

impl Reconciler for HealthScopeReconciler {
    async fn reconcile(&self, key: Key) -> Result<Action, Failure> {
        let Some(live) = self.base.live(&key) else { return Ok(Action::Done) };
        let scope: HealthScope = typed(&live)?;
        let count = scope.spec.workload_refs.len();
        if count > WORKLOADS_AT_MOST {
            let message = format!("spec.workloadRefs has {count} entries, {WORKLOADS_AT_MOST} at most");
            return self.refuse(&live, &scope, message).await;
        }
        let base = match self.base.for_author(&live).await {
            Ok(base) => base,
            Err(error) => {
                let status = scope.status.clone().unwrap_or_default();
                return self.base.report_error(&live, status, error).await;
            }
        };
        let timeout = seconds(scope.spec.probe_timeout).unwrap_or(TIMEOUT);
        let look = self.base.interests.track(&key);
        let checks = scope.spec.workload_refs.iter().map(|reference| async {
            let looked = tokio::time::timeout(timeout, async {
                match base.may_read(reference, &key.namespace).await {
                    Ok(()) => check(&look, reference, &key.namespace, true).await,
                    Err(refused) => unread(reference, refused),
                }
            });
            let looked = looked.await;
            looked.unwrap_or_else(|_| unread(reference, format!("no answer within {timeout:?}")))
        });
        let checked = join_all(checks).await;
        drop(look);
        let unanswered = checked.iter().any(|checked| checked.unanswered);
        let conditions: Vec<_> = checked.iter().map(|checked| health::workload(&checked.found)).collect();
        self.report(&live, &scope, conditions).await?;
        // A change of a watched object wakes the scope; the clock is for scopes that ask for it, and for objects
        // without an answer.
        let interval = seconds(scope.spec.probe_interval).or_else(|| unanswered.then_some(INTERVAL));
        Ok(interval.filter(|_| count > 0).map_or(Action::Done, Action::RequeueAfter))
    }
}

/// A positive number of seconds.
fn seconds(given: Option<i32>) -> Option<Duration> {
    given.and_then(|seconds| u64::try_from(seconds).ok()).filter(|s| *s > 0).map(Duration::from_secs)
}

impl HealthScopeReconciler {
    async fn report(
        &self,
        live: &DynamicObject,
        scope: &HealthScope,
        conditions: Vec<vela_crds::health_scope::WorkloadHealthCondition>,
    ) -> Result<(), Failure> {
        let mut new = scope.status.clone().unwrap_or_default();
        let was = new.scope_health_condition.health_status;
        new.scope_health_condition = health::scope(&conditions);
        new.health_conditions = conditions;
        // A refusal of an earlier spec says nothing any more.
        new.conditions.retain(|old| old.condition_type != condition::types::SYNCED);
        let changed = self.base.write(live, &new).await?;
        // Upstream writes an event at every look; one at every change says as much and costs nothing when idle.
        if changed && was != new.scope_health_condition.health_status {
            let note = format!("scope is {:?}", new.scope_health_condition.health_status).to_uppercase();
            self.base.context.events.normal(&events::reference(live), "HealthCheck", &note).await;
        }
        Ok(())
    }

    async fn refuse(
        &self,
        live: &DynamicObject,
        scope: &HealthScope,
        message: String,
    ) -> Result<Action, Failure> {
        let mut new = scope.status.clone().unwrap_or_default();
        new.set_condition(Condition::reconcile_error(message.clone(), status::now()));
        self.base.write(live, &new).await?;
        Err(Failure::terminal(message))
    }
}

/// The objects read for one reference.
struct CheckedWorkload {
    found: health::Checked,
    /// Something gave no answer, which no watch will announce.
    unanswered: bool,
}

fn unread(reference: &TypedReference, error: String) -> CheckedWorkload {
    let found = health::Checked {
        reference: reference.clone(),
        workload: Err(error),
        children: Vec::new(),
        peers: Ok(Vec::new()),
    };
    CheckedWorkload { found, unanswered: true }
}

/// Reads a workload, the parts its status names and, once, its other revisions.
fn check<'a>(
    look: &'a TrackedReads,
    reference: &'a TypedReference,
    namespace: &'a str,
    with_peers: bool,
) -> BoxFuture<'a, CheckedWorkload> {
    async move {
        let mut unanswered = false;
        let workload = read(look, reference, namespace, &mut unanswered).await;
        let mut children = Vec::new();
        let mut peers = Ok(Vec::new());
        if let Ok(object) = &workload {
            for child in references(&object["status"]["resources"]) {
                children.push(read(look, &child, namespace, &mut unanswered).await);
            }
            if let Some((application, component)) = health::family(object).filter(|_| with_peers) {
                let found = revisions(look, reference, namespace, &application, &component).await;
                peers = match found {
                    Ok(references) => {
                        let checks = references.iter().map(|peer| check(look, peer, namespace, false));
                        Ok(join_all(checks).await.into_iter().map(|peer| peer.found).collect())
                    }
                    Err(error) => {
                        unanswered = true;
                        Err(error.to_string())
                    }
                };
            }
        }
        let reference = reference.clone();
        CheckedWorkload { found: health::Checked { reference, workload, children, peers }, unanswered }
    }
    .boxed()
}

/// The other revisions of a workload: objects of its kind with the same application and component.
async fn revisions(
    look: &TrackedReads,
    reference: &TypedReference,
    namespace: &str,
    application: &str,
    component: &str,
) -> Result<Vec<TypedReference>, Error> {
    let TypedReference { api_version, kind, name, uid: _ } = reference;
    let found = look.labelled(api_version, kind, namespace, labels::APP_COMPONENT, component).await?;
    let others = found.iter().filter(|object| {
        object.metadata.name.as_deref() != Some(name.as_str())
            && object.metadata.labels.as_ref().and_then(|labels| labels.get(labels::APP_NAME))
                == Some(&application.to_owned())
    });
    Ok(others
        .take(PEERS_AT_MOST)
        .map(|object| TypedReference {
            name: object.metadata.name.clone().unwrap_or_default(),
            uid: None,
            ..reference.clone()
        })
        .collect())
}

async fn read(
    look: &TrackedReads,
    reference: &TypedReference,
    namespace: &str,
    unanswered: &mut bool,
) -> Result<Value, String> {
    let TypedReference { api_version, kind, name, uid: _ } = reference;
    match look.get(api_version, kind, &Key::new(namespace, name.clone())).await {
        Ok(Some(object)) => Ok(json_of(&object)),
        Ok(None) => Err(format!("{kind} {name} not found")),
        Err(error) => {
            *unanswered |= !matches!(error, Error::Missing { again: None, .. });
            Err(error.to_string())
        }
    }
}

/// The references in `status.resources`; what does not read as one is not one.
fn references(list: &Value) -> Vec<TypedReference> {
    let items = list.as_array().cloned().unwrap_or_default();
    items.into_iter().filter_map(|item| serde_json::from_value(item).ok()).collect()
}
