//! The names in a rollout → the revisions, the components and their workloads, as far as they are there.

use std::collections::BTreeSet;
use std::sync::Arc;

use kube::api::DynamicObject;
use serde_json::Value;
use vela_crds::{AppRolloutStatus, annotations, labels};
use vela_engine::ObjectKey;
use vela_engine::parse::Era;
use vela_engine::rollout::Spelling;
use vela_engine::rollout::template;
use vela_engine::rollout::workload;
use vela_runtime::Key;
use vela_runtime::dynamic_watch::TrackedReads;
use vela_runtime::owner::controller_of;

use super::lookup_error::Missing;
use super::reconcile_inputs::{Part, Side, Work};
use super::reconciler::RolloutReconciler;
use super::revision::Rendered;
use super::{stage, unchanged_components};
use crate::application::fetch::json;
use crate::application::owned_kinds::application_of;

/// The two ends of a rollout.
pub(super) struct Located {
    pub(super) target: Rendered,
    pub(super) source: Option<Rendered>,
    pub(super) parts: Vec<Part>,
    /// Components of which nothing is rolled out, since both revisions have them alike.
    pub(super) unchanged: Vec<Part>,
}

/// Find all of it.
pub(super) async fn locate(
    reconciler: &RolloutReconciler,
    look: &TrackedReads,
    work: &Work<'_>,
    status: &AppRolloutStatus,
) -> Result<Located, Missing> {
    let Work { direction, .. } = *work;
    let namespace = &work.key.namespace;
    let (to, from) = match direction.is_back {
        false => ("targetAppRevisionName", "sourceAppRevisionName"),
        true => ("sourceAppRevisionName", "targetAppRevisionName"),
    };
    let target = revision(reconciler, namespace, &direction.target, to).await?;
    let source = match &direction.source {
        Some(name) => Some(revision(reconciler, namespace, name, from).await?),
        None => None,
    };
    let given_up = &status.given_up_revisions;
    let alike = unchanged_components::alike(work, status, &target, source.as_ref());
    let (mut parts, mut unchanged) = (Vec::new(), Vec::new());
    for component in components(work, &target, source.as_ref()).map_err(Missing::Component)? {
        let source = match &source {
            Some(source) => Some(side(reconciler, look, source, &component).await?),
            None => None,
        };
        let application = &target.application;
        let target = side(reconciler, look, &target, &component).await?;
        if alike.holds(&component, source.as_ref(), &target) {
            unchanged.push(Part { target, source, leftovers: Vec::new(), component });
            continue;
        }
        let leftovers = leftovers(look, work, application, [Some(&target), source.as_ref()], given_up).await;
        let leftovers = leftovers.map_err(Missing::Failed)?;
        parts.push(Part { target, source, leftovers, component });
    }
    Ok(Located { target, source, parts, unchanged })
}

/// The components that are to be rolled out. The plan of an application is for all that both revisions have.
fn components(work: &Work<'_>, target: &Rendered, source: Option<&Rendered>) -> Result<Vec<String>, String> {
    let (listed, source) = (&work.rollout.spec.component_list, source.map(|source| &*source.graph));
    match unchanged_components::is_of_application(work.live) {
        true => Ok(template::common(listed, &target.graph, source)),
        false => template::rolled(listed, &target.graph, source),
    }
}

/// An application in the v1alpha2 form has its workloads from configurations, which such a rollout would never come by.
pub(super) fn of_this_form(located: &Located) -> Result<(), String> {
    let sides = [Some(&located.target), located.source.as_ref()].into_iter().flatten();
    let mut named = sides.zip(Spelling::Revisions.fields());
    let Some((rendered, field)) =
        named.find(|(rendered, _)| rendered.graph.app_file().era() == Era::V1alpha2)
    else {
        return Ok(());
    };
    let revision = rendered.graph.identity().name();
    let [to, from] = Spelling::Configurations.fields();
    Err(format!(
        "spec.{field}: {revision} is a revision of Application {}, which is written in the v1alpha2 form: its rollouts go \
         between ApplicationConfigurations; write {to} and {from} with the same names",
        rendered.application
    ))
}

async fn revision(
    reconciler: &RolloutReconciler,
    namespace: &str,
    name: &str,
    field: &str,
) -> Result<Rendered, Missing> {
    let key = Key::new(namespace, name);
    let found = reconciler.revisions.get(&key).await?;
    found.ok_or_else(|| {
        Missing::Revision(format!(
            "spec.{field}: ApplicationRevision {key} is not there; `kubectl get apprev -n {namespace}` lists those that are"
        ))
    })
}

async fn side(
    reconciler: &RolloutReconciler,
    look: &TrackedReads,
    rendered: &Rendered,
    component: &str,
) -> Result<Side, Missing> {
    let mut template = template::template(&rendered.graph, component).map_err(Missing::Component)?;
    let mut live = stage::read(look, &template.key()).await.map_err(Missing::Failed)?;
    if live.is_none() && template.key().name != template.base {
        // Its application made it, before it left its workloads to rollouts.
        let former = ObjectKey { name: template.base.clone(), ..template.key() };
        let found = stage::read(look, &former).await.map_err(Missing::Failed)?;
        live = found.filter(|found| stands_for(reconciler, rendered, found));
        if live.is_some() {
            template = template.named(&former.name);
        }
    }
    if live.is_none() && template.key().name != template.base {
        live = unchanged_components::workload(reconciler, look, rendered, component, &template).await?;
        if let Some(name) = live.as_ref().and_then(|live| live.metadata.name.as_deref()) {
            template = template.named(name);
        }
    }
    Ok(Side { template, live: live.map(|live| json(&live)) })
}

/// Is what the application made itself this revision's? It says so, or the application applied the whole revision last: a
/// component that a revision did not change keeps the name of an older one.
fn stands_for(reconciler: &RolloutReconciler, rendered: &Rendered, made: &DynamicObject) -> bool {
    if application_of(made).as_ref() != Some(&rendered.application) {
        return false;
    }
    let revision = rendered.graph.identity().name();
    let label = made.metadata.labels.as_ref().and_then(|labels| labels.get(labels::APP_REVISION));
    let applied = || reconciler.records.read(&rendered.application).ok()?.0.identity;
    label.is_some_and(|label| label == revision)
        || applied().is_some_and(|applied| {
            let key = Key::new(rendered.application.namespace.clone(), revision);
            reconciler.revisions.content(&key) == Some(applied)
        })
}

/// Deployments of the component that this rollout gave pods, and that are neither its source nor its target now.
async fn leftovers(
    look: &TrackedReads,
    work: &Work<'_>,
    application: &Key,
    sides: [Option<&Side>; 2],
    given_up: &[String],
) -> Result<Vec<Value>, String> {
    let mut found = Vec::new();
    let Some(target) = sides[0].map(|side| &side.template) else { return Ok(found) };
    let ObjectKey { api_version, kind, .. } = target.key();
    let numbers = given_up.iter().filter_map(|revision| revision.rsplit_once("-v")?.1.parse().ok());
    let names: BTreeSet<String> =
        numbers.map(|number| workload::name(&api_version, &kind, &target.base, number)).collect();
    for name in names {
        if sides.iter().flatten().any(|side| side.template.key().name == name) {
            continue;
        }
        let key = ObjectKey { name, ..target.key() };
        let Some(live) = stage::read(look, &key).await? else { continue };
        let holder = controller_of(&live).map(|holder| holder.uid.clone());
        let is_held = holder.is_some() && holder == work.live.metadata.uid;
        let is_ours = application_of(&live).as_ref() == Some(application);
        let live = json(&live);
        let has_pods = [&live["spec"]["replicas"], &live["status"]["replicas"]];
        let has_pods = has_pods.iter().any(|pods| pods.as_i64().unwrap_or(0) > 0);
        if is_ours && (is_held || holder.is_none() && has_pods) {
            found.push(live);
        }
    }
    Ok(found)
}

/// The application, if it leaves its workloads to rollouts.
pub(super) fn application(reconciler: &RolloutReconciler, key: &Key) -> Result<Arc<DynamicObject>, String> {
    let found = reconciler.applications.get(key).filter(|found| found.metadata.deletion_timestamp.is_none());
    let found = found.ok_or_else(|| format!("Application {key} is not there, or goes"))?;
    let marked = found.metadata.annotations.as_ref();
    let marked = marked.is_some_and(|all| all.contains_key(annotations::ROLLOUT_TEMPLATE));
    if marked || !found.data["spec"]["rolloutPlan"].is_null() {
        return Ok(found);
    }
    Err(format!(
        "Application {key} applies its workloads itself, at once: a rollout needs the annotation {}: \"true\" on it, and \
         then revisions are recorded only, until a rollout goes to them; or write spec.rolloutPlan into the application",
        annotations::ROLLOUT_TEMPLATE
    ))
}
