//! Kinds of other projects, which recorded runs and examples name: put where the scenarios run.

use std::time::Duration;

use serde_json::Value;
use vela_e2e::Result;
use vela_e2e::contents::Kinds;
use vela_e2e::expected::documents;
use vela_e2e::objects::{text, until};
use vela_e2e::person;
use vela_e2e::target::Target;

use crate::repository;

/// A real API server publishes a kind some seconds after its definition.
const SERVED_DEADLINE: Duration = Duration::from_secs(120);

/// Defines the foreign kinds and the kinds without behaviour, and waits until they are served.
pub(crate) async fn install(target: &Target) -> Result<Kinds> {
    let mut definitions = documents(&std::fs::read_to_string(repository("e2e/expected/test-kinds.yaml"))?)?;
    for entry in std::fs::read_dir(vela_testkit::cases::folder("conformance/crds/foreign"))? {
        definitions.extend(documents(&std::fs::read_to_string(entry?.path())?)?);
    }
    definitions.retain(|object| object["kind"] == "CustomResourceDefinition");
    for definition in &definitions {
        let mut definition = definition.clone();
        if let Some(object) = definition.as_object_mut() {
            object.remove("status");
        }
        stored_as_written(&mut definition);
        defined(target, &definition).await?;
    }
    until("the foreign kinds are served", SERVED_DEADLINE, async || {
        let kinds = Kinds::of(target.cluster()).await.map_err(|error| error.to_string())?;
        let missing = |definition: &&Value| {
            definition["spec"]["scope"] == "Namespaced" && !kinds.knows(text(definition, "/spec/names/kind"))
        };
        match definitions.iter().find(missing) {
            None => Ok(kinds),
            Some(definition) => Err(format!("{} is not", definition["metadata"]["name"])),
        }
    })
    .await
}

/// OpenKruise converts CloneSets by a webhook of its own. While no server answers it, the stored version loses the
/// fields that stand elsewhere in the version that all clients write.
fn stored_as_written(definition: &mut Value) {
    if text(definition, "/metadata/name") != "clonesets.apps.kruise.io" {
        return;
    }
    for version in definition["spec"]["versions"].as_array_mut().into_iter().flatten() {
        version["storage"] = (text(version, "/name") == "v1alpha1").into();
    }
}

/// Large definitions do not fit the annotation of kubectl apply; they are created once.
async fn defined(target: &Target, definition: &Value) -> Result<()> {
    let (api_version, kind) = (text(definition, "/apiVersion"), text(definition, "/kind"));
    let name = text(definition, "/metadata/name");
    if target.cluster().get(api_version, kind, name).await?.is_none()
        && let Err(error) = target.cluster().create(definition).await
        // Another scenario on the same cluster was faster.
        && target.cluster().get(api_version, kind, name).await?.is_none()
    {
        return Err(format!("{name}: {error}").into());
    }
    Ok(())
}

/// Makes a namespace and returns the connection that works in it.
pub(crate) async fn namespace(target: &Target, name: &str) -> Result<vela_e2e::objects::Cluster> {
    let name = format!("{}-{name}", target.namespace());
    let cluster = target.cluster().within(&name);
    let object = serde_json::json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    cluster.create(&object).await?;
    Ok(cluster)
}

/// Applies an object that must be accepted.
pub(crate) async fn accepted(cluster: &vela_e2e::objects::Cluster, object: &Value) -> Result<()> {
    person::apply(cluster, object).await?.map_err(|said| {
        format!("{} {}: {said}", text(object, "/kind"), text(object, "/metadata/name")).into()
    })
}
