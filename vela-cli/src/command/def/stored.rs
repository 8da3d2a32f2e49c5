//! Finds one definition as the cluster stores it, in the namespace of the command.

use serde_json::{Value, json};
use vela_engine::DefinitionKind;
use vela_engine::nearest::advice;

use crate::applications::API_VERSION;
use crate::args::DefinitionType;
use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::offline::DEFINITION_KINDS;

/// The kind that a word of the command line means.
pub(in crate::command) fn kind(type_: DefinitionType) -> DefinitionKind {
    match type_ {
        DefinitionType::Component => DefinitionKind::Component,
        DefinitionType::Trait => DefinitionKind::Trait,
        DefinitionType::Policy => DefinitionKind::Policy,
        DefinitionType::WorkflowStep => DefinitionKind::WorkflowStep,
        DefinitionType::Workload => DefinitionKind::Workload,
    }
}

/// A definition that is there.
pub(in crate::command) struct Stored {
    pub(in crate::command) kind: DefinitionKind,
    pub(in crate::command) object: Value,
}

impl Stored {
    /// How messages call it.
    pub(in crate::command) fn title(&self, namespace: &str) -> String {
        let name = crate::pointer::text(&self.object, "/metadata/name");
        format!("{} {namespace}/{name}", self.kind.kind())
    }
}

/// The definition of this name, and of this type where one is given.
pub(super) async fn find(cluster: &Cluster, name: &str, type_: Option<DefinitionType>) -> Result<Stored> {
    // Where none is installed, that is the answer, and not that one of them is missing.
    cluster.kind(API_VERSION, DefinitionKind::Component.kind()).await?;
    let mut kinds = Vec::new();
    for one in DEFINITION_KINDS.into_iter().filter(|one| type_.is_none_or(|type_| kind(type_) == *one)) {
        if cluster.knows(API_VERSION, one.kind()).await? {
            kinds.push(one);
        }
    }
    let mut found = get(cluster, &kinds, cluster.namespace(), name).await?;
    if found.len() > 1 {
        found.retain(|one| !is_brought(one));
    }
    match (found.pop(), found.is_empty()) {
        (Some(one), true) => Ok(one),
        (Some(last), false) => {
            let nouns: Vec<&str> = found.iter().chain([&last]).map(|one| one.kind.noun()).collect();
            let error =
                Error::user(format!("{name} is the name of several definitions: {}", nouns.join(", ")));
            Err(error.hint("choose one with --type").into())
        }
        (None, _) => Err(missing(cluster, &kinds, name).await?.into()),
    }
}

/// A ComponentDefinition brings a WorkloadDefinition of its name, which comes and goes with it.
fn is_brought(one: &Stored) -> bool {
    let owners = one.object.pointer("/metadata/ownerReferences").and_then(Value::as_array);
    let is_component = |owner: &Value| owner["kind"] == DefinitionKind::Component.kind();
    one.kind == DefinitionKind::Workload && owners.is_some_and(|owners| owners.iter().any(is_component))
}

async fn get(
    cluster: &Cluster,
    kinds: &[DefinitionKind],
    namespace: &str,
    name: &str,
) -> Result<Vec<Stored>> {
    let mut found = Vec::new();
    for kind in kinds {
        if let Some(object) = cluster.get(API_VERSION, kind.kind(), Some(namespace), name).await? {
            found.push(Stored { kind: *kind, object: json!(object) });
        }
    }
    Ok(found)
}

async fn missing(cluster: &Cluster, kinds: &[DefinitionKind], name: &str) -> Result<Error> {
    let namespace = cluster.namespace();
    let error = Error::user(format!("there is no definition {name:?} in {}", cluster.place()));
    let system = cluster.system_namespace().await?;
    if namespace != system && !get(cluster, kinds, system, name).await?.is_empty() {
        return Ok(error.hint(format!(
            "there is one in {system}, which every namespace uses: add -n {system} to mean it"
        )));
    }
    let mut names = Vec::new();
    for kind in kinds {
        let listed = cluster.list(API_VERSION, kind.kind(), Some(namespace)).await?;
        names.extend(listed.iter().map(kube::ResourceExt::name_any));
    }
    let hint = advice(name, "definition", names.iter().map(String::as_str));
    Ok(error.hint(hint.unwrap_or_else(|| "`vela def list` lists all".to_owned())))
}
