//! The names in a rollout → the revisions, the component and its workloads, as far as they are there.

use std::sync::Arc;

use kube::api::DynamicObject;
use serde_json::Value;
use vela_crds::{AppRollout, annotations};
use vela_engine::rollout::template::{self, Template};
use vela_runtime::Key;
use vela_runtime::interest::Look;

use super::revision::Rendered;
use super::{Between, Hands, stage};
use crate::application::fetch::json;

/// One side of a rollout.
pub(super) struct Side {
    pub(super) rendered: Rendered,
    pub(super) template: Template,
    /// The workload; nothing when it is not there.
    pub(super) live: Option<Value>,
}

/// What a rollout goes between.
pub(super) struct Located {
    pub(super) component: String,
    pub(super) target: Side,
    pub(super) source: Option<Side>,
}

/// Why a rollout has nothing to go between.
pub(super) enum Missing {
    /// A revision is not there; nothing tells its workloads any more.
    Revision(String),
    /// Something else.
    Trouble(String),
}

impl Missing {
    pub(super) fn message(self) -> String {
        match self {
            Self::Revision(why) | Self::Trouble(why) => why,
        }
    }
}

/// Find all of it.
pub(super) async fn locate(
    hands: &Hands,
    look: &Look,
    namespace: &str,
    rollout: &AppRollout,
    between: &Between,
) -> Result<Located, Missing> {
    let target = revision(hands, namespace, &between.target, "targetAppRevisionName").await?;
    let source = match &between.source {
        Some(name) => Some(revision(hands, namespace, name, "sourceAppRevisionName").await?),
        None => None,
    };
    let source_graph = source.as_ref().map(|source| &*source.graph);
    let component = template::component(&rollout.spec.component_list, &target.graph, source_graph);
    let component = component.map_err(Missing::Trouble)?;
    let target = side(look, target, &component).await?;
    let source = match source {
        Some(source) => Some(side(look, source, &component).await?),
        None => None,
    };
    Ok(Located { component, target, source })
}

async fn revision(hands: &Hands, namespace: &str, name: &str, field: &str) -> Result<Rendered, Missing> {
    let key = Key::new(namespace, name);
    let found = hands.revisions.get(&key).await.map_err(Missing::Trouble)?;
    found.ok_or_else(|| {
        Missing::Revision(format!(
            "spec.{field}: ApplicationRevision {key} is not there; `kubectl get apprev -n {namespace}` lists those that are"
        ))
    })
}

async fn side(look: &Look, rendered: Rendered, component: &str) -> Result<Side, Missing> {
    let template = template::template(&rendered.graph, component).map_err(Missing::Trouble)?;
    let live = stage::read(look, &template.key()).await.map_err(Missing::Trouble)?;
    Ok(Side { rendered, template, live: live.map(|live| json(&live)) })
}

/// The application, if it leaves its workloads to rollouts.
pub(super) fn application(hands: &Hands, key: &Key) -> Result<Arc<DynamicObject>, String> {
    let found = hands.applications.get(key).filter(|found| found.metadata.deletion_timestamp.is_none());
    let found = found.ok_or_else(|| format!("Application {key} is not there, or goes"))?;
    let marked = found.metadata.annotations.as_ref();
    if marked.is_some_and(|all| all.contains_key(annotations::ROLLOUT_TEMPLATE)) {
        return Ok(found);
    }
    Err(format!(
        "Application {key} applies its workloads itself, at once: a rollout needs the annotation {}: \"true\" on it, and \
         then revisions are recorded only, until a rollout goes to them",
        annotations::ROLLOUT_TEMPLATE
    ))
}

/// What makes pods of a workload, and the pods.
pub(super) async fn pods(look: &Look, workload: &Value) -> Result<(Vec<Value>, Vec<Value>), String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (namespace, uid) = (text(&workload["metadata"]["namespace"]), text(&workload["metadata"]["uid"]));
    let owned = async |api_version: &str, kind: &str, uid: &str| {
        let found =
            look.owned_by(api_version, kind, &namespace, uid).await.map_err(|error| error.to_string())?;
        Ok::<Vec<Value>, String>(found.iter().map(|object| json(object)).collect())
    };
    let makers = match workload["kind"].as_str() {
        Some("Deployment") => owned("apps/v1", "ReplicaSet", &uid).await?,
        _ => Vec::new(),
    };
    let mut pods = owned("v1", "Pod", &uid).await?;
    for maker in &makers {
        // Those of former templates have none that matter.
        if maker["spec"]["replicas"].as_i64() != Some(0) {
            pods.extend(owned("v1", "Pod", &text(&maker["metadata"]["uid"])).await?);
        }
    }
    Ok((makers, pods))
}
