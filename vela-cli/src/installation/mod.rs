//! What a cluster needs before it understands applications: the kinds, the system namespace, the built-in types.

mod deployment;
mod namespace;
pub(crate) mod operators;
pub(crate) mod webhooks;

use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Value, json};
use vela_core::access::{ACCOUNT, Needs};

use self::deployment::Program;
pub(crate) use self::namespace::SYSTEM_NAMESPACE;
use crate::cluster::{Applied, Cluster};
use crate::crd;
use crate::error::{Error, Result};
use crate::pointer::text;

/// Port of `/healthz`, `/readyz` inside the pod.
const HEALTH_PORT: u16 = 9440;
/// Port of `/metrics` inside the pod.
const METRICS_PORT: u16 = 8080;

/// Every object, in the order they are applied.
pub(crate) fn objects() -> Result<Vec<Value>> {
    let mut objects =
        vec![json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM_NAMESPACE}})];
    let crds = vela_crds::crd_values();
    objects.extend(crds.map_err(|error| Error::internal(format!("a CRD of vela cannot be read: {error}")))?);
    objects.extend(definitions());
    Ok(objects)
}

/// The built-in definitions as objects of the system namespace.
pub(crate) fn definitions() -> Vec<Value> {
    vela_definitions::builtin().iter().map(|definition| definition.manifest(SYSTEM_NAMESPACE)).collect()
}

/// A short text that differs when `objects` differ, to know whether they are installed already. Two versions of this
/// program may compute it differently, which costs one more installation and nothing else.
pub(crate) fn identity(objects: &[Value]) -> String {
    let mut hasher = DefaultHasher::new();
    for object in objects {
        object.to_string().hash(&mut hasher);
    }
    let mut text = String::new();
    let _ = write!(text, "{:016x}", hasher.finish());
    text
}

/// Applies them; every kind is served before the first object of that kind comes. `report` gets a line about each that changed.
pub(crate) async fn apply(
    cluster: &Cluster,
    objects: &[Value],
    mut report: impl FnMut(String),
) -> Result<()> {
    for object in webhooks::standing_first(cluster, objects).await? {
        webhooks::convert_no_more(cluster, object).await?;
        // What vela installs is vela's: an older field manager of these objects gives way.
        let (applied, _) = cluster.apply(object, true, false).await?;
        if applied != Applied::Unchanged {
            report(format!(
                "{} {} {}",
                text(object, "/kind"),
                text(object, "/metadata/name"),
                applied.word()
            ));
        }
        if text(object, "/kind") == "CustomResourceDefinition" {
            crd::established(cluster, text(object, "/metadata/name")).await?;
        }
    }
    Ok(())
}

/// The account of the controller, with the rights it has: for every process that runs it, in the cluster or outside.
pub(crate) fn access(needs: Needs) -> Vec<Value> {
    vela_core::access::objects(SYSTEM_NAMESPACE, needs)
}

/// Takes away the bindings that an earlier installation needed and this one does not.
pub(crate) async fn withdraw(cluster: &Cluster, needs: Needs, mut report: impl FnMut(String)) -> Result<()> {
    let kind = "ClusterRoleBinding";
    for name in vela_core::access::superseded(needs) {
        let gone = cluster.delete("rbac.authorization.k8s.io/v1", kind, None, name).await?;
        if gone.is_some() {
            report(format!("{kind} {name} taken away: no flag of this installation needs it"));
        }
    }
    Ok(())
}

/// The controller as a Deployment that works under that account.
pub(crate) fn controller(image: &str, webhooks: bool, more: &[&str]) -> Vec<Value> {
    let mut args = vec![
        format!("--health-addr=:{HEALTH_PORT}"),
        format!("--metrics-addr=:{METRICS_PORT}"),
        // Of two that run by mistake, or while one is replaced, one acts.
        "--enable-leader-election".to_owned(),
    ];
    let mut ports = vec![("health", HEALTH_PORT), ("metrics", METRICS_PORT)];
    if webhooks {
        args.extend(webhooks::args());
        ports.push(webhooks::port());
    }
    args.extend(more.iter().map(|flag| (*flag).to_owned()));
    let mut objects = vec![deployment::deployment(&Program {
        name: ACCOUNT,
        namespace: SYSTEM_NAMESPACE,
        image,
        args,
        ports: &ports,
        // The former one gives its lease back before the next one wants it.
        recreate: true,
    })];
    if webhooks {
        objects.push(webhooks::service(&deployment::labels(ACCOUNT)));
    }
    objects
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An aggregated API that is away holds up the deletion of every namespace of the cluster.
    #[test]
    fn no_api_is_aggregated_and_one_program_runs() {
        let mut all = objects().unwrap();
        all.extend(access(Needs::default()));
        all.extend(controller("vela", true, &[]));
        let of = |kind: &str| all.iter().filter(|object| object["kind"] == kind).count();
        assert_eq!((of("APIService"), of("Deployment"), of("Service")), (0, 1, 1));
        assert!(of("CustomResourceDefinition") > 10);
    }
}
