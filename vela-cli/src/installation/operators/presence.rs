//! Whose is what stands in a cluster: refuses to install beside another operator, and finds what an installation no longer has.

use kube::api::DynamicObject;
use serde_json::{Value, json};

use super::operator::{Operator, PART_OF, Registration, Run};
use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::pointer::text;

/// Where API servers find whom to ask.
const REGISTRATIONS: &str = "admissionregistration.k8s.io/v1";

/// Was this object installed for the operator?
pub(crate) fn is_of(operator: &Operator, object: &DynamicObject) -> bool {
    is_marked(object, PART_OF, operator.name)
}

fn is_marked(object: &DynamicObject, label: &str, value: &str) -> bool {
    object.metadata.labels.as_ref().and_then(|labels| labels.get(label)).is_some_and(|live| live == value)
}

/// Two operators cannot stand behind one Service: what would be applied over one of others is refused.
pub(crate) async fn refuse_others(cluster: &Cluster, operator: &Operator, objects: &[Value]) -> Result<()> {
    for object in objects.iter().filter(|object| text(object, "/kind") == "Service") {
        let (namespace, name) = (text(object, "/metadata/namespace"), text(object, "/metadata/name"));
        if namespace != operator.namespace {
            continue;
        }
        let live = cluster.get("v1", "Service", Some(namespace), name).await?;
        if live.is_some_and(|live| !is_of(operator, &live)) {
            let product = operator.product;
            return Err(Error::user(format!(
                "Service {namespace}/{name} is of another installation of {product}, whose place {} would take",
                operator.name
            ))
            .hint(format!(
                "take that one out first (`helm uninstall` where it came by a chart), or install without {}",
                operator.flag
            ))
            .into());
        }
    }
    Ok(())
}

/// The Services and registrations of an earlier installation that the flags of this one have nothing behind.
pub(crate) async fn superseded(cluster: &Cluster, operator: &Operator, run: &Run<'_>) -> Result<Vec<Value>> {
    let has = |flag: &str| Operator::is_set(operator.args, flag) || Operator::is_set(&run.more, flag);
    let mut found = Vec::new();
    for Registration { kind, name, .. } in operator.registrations.iter().filter(|one| !has(one.flag)) {
        if is_registered(cluster, operator, kind, name).await? {
            found.push(json!({"apiVersion": REGISTRATIONS, "kind": kind, "metadata": {"name": name}}));
        }
    }
    for service in operator.services.iter().filter(|one| !has(one.flag)) {
        let live = cluster.get("v1", "Service", Some(operator.namespace), service.name).await?;
        if live.is_some_and(|live| is_of(operator, &live)) {
            let metadata = json!({"name": service.name, "namespace": operator.namespace});
            found.push(json!({"apiVersion": "v1", "kind": "Service", "metadata": metadata}));
        }
    }
    Ok(found)
}

async fn is_registered(cluster: &Cluster, operator: &Operator, kind: &str, name: &str) -> Result<bool> {
    let live = cluster.get(REGISTRATIONS, kind, None, name).await?;
    Ok(live.is_some_and(|live| is_marked(&live, operator.mark, operator.name)))
}

/// Deletes a registration that the program of the operator wrote; one of others stays.
pub(crate) async fn take_registration(
    cluster: &Cluster,
    operator: &Operator,
    kind: &str,
    name: &str,
) -> Result<bool> {
    if !is_registered(cluster, operator, kind, name).await? {
        return Ok(false);
    }
    Ok(cluster.delete(REGISTRATIONS, kind, None, name).await?.is_some())
}

/// Deletes an object of the operator's namespace that its program made for itself; one of others stays.
pub(crate) async fn take_made(
    cluster: &Cluster,
    operator: &Operator,
    kind: &str,
    name: &str,
) -> Result<bool> {
    const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
    let live = cluster.get("v1", kind, Some(operator.namespace), name).await?;
    if !live.is_some_and(|live| is_marked(&live, MANAGED_BY, operator.name)) {
        return Ok(false);
    }
    Ok(cluster.delete("v1", kind, Some(operator.namespace), name).await?.is_some())
}

/// Its lease, as an object to name.
pub(crate) fn lease(operator: &Operator) -> Value {
    json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": operator.lease, "namespace": operator.namespace}})
}
