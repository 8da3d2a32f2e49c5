//! What a cluster needs before it understands applications: the kinds, the system namespace, the built-in types.

pub(crate) mod choices;
mod deployment;
pub(crate) mod edits;
pub(crate) mod operators;
pub(crate) mod record;
mod renewal;
pub(crate) mod webhooks;

use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};

use kube::api::DynamicObject;
use serde_json::{Value, json};
use vela_core::access::{ACCOUNT, Needs};

use self::deployment::Program;
use self::operators::Run;
pub(crate) use self::renewal::renew;
use crate::cluster::{Applied, Cluster};
use crate::crd;
use crate::error::{Error, Result};
use crate::pointer::text;
use crate::system_namespace;

/// Port of `/healthz`, `/readyz` inside the pod.
const HEALTH_PORT: u16 = 9440;
/// Port of `/metrics` inside the pod.
const METRICS_PORT: u16 = 8080;

/// Every object of an installation in the namespace `home`, in the order they are applied.
pub(crate) fn objects(home: &str) -> Result<Vec<Value>> {
    let mut objects = vec![namespace(home)];
    let crds = vela_crds::crd_values();
    objects.extend(crds.map_err(|error| Error::internal(format!("a CRD of vela cannot be read: {error}")))?);
    objects.extend(definitions(home));
    Ok(objects)
}

/// The system namespace of an installation that is written or taken away. A cluster has one: its kinds, cluster roles and webhooks
/// have fixed names, and two would take them from each other.
pub(crate) async fn home(cluster: &Cluster) -> Result<&str> {
    let home = cluster.system_namespace().await?;
    let recorded = system_namespace::recorded(cluster.client()).await;
    match recorded.map_err(|error| cluster.failure("say where vela is", &error))? {
        Some(other) if other != home => Err(Error::user(format!(
            "vela is installed in the namespace {other} of {}, not in {home}: a cluster has one installation, whose kinds, \
             cluster roles and webhooks are for all",
            cluster.title()
        ))
        .hint(format!(
            "give --system-namespace {other} (or none at all), or take that installation away with `vela uninstall \
             --system-namespace {other}`"
        ))
        .into()),
        _ => Ok(home),
    }
}

/// The namespace of everything that has one.
pub(crate) fn namespace(home: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": home}})
}

/// The built-in definitions as objects of the system namespace.
pub(crate) fn definitions(home: &str) -> Vec<Value> {
    vela_definitions::builtin().iter().map(|definition| definition.manifest(home)).collect()
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

/// Everything that an installation of this release can bring, whatever its flags: what it was is no leftover of an older one.
pub(crate) fn everything(home: &str) -> Result<Vec<Value>> {
    let mut all = objects(home)?;
    all.extend(access(home, Needs { webhooks: true, behalf: true, ..Needs::default() }));
    all.extend(controller(home, "any", true, &[]));
    let server = webhooks::in_cluster(home);
    all.extend(webhooks::configurations(&server));
    all.extend(webhooks::authors(&server));
    all.push(webhooks::trait_injector(&server));
    for operator in operators::OPERATORS {
        let run = Run { image: "any", more: operators::sidecars("any") };
        all.extend(operator.objects(Some(&run), false)?);
    }
    Ok(all)
}

/// Applies them where nothing was installed before; every kind is served before the first object of that kind comes.
pub(crate) async fn apply(cluster: &Cluster, objects: &[Value]) -> Result<()> {
    for object in webhooks::standing_first(cluster, objects).await? {
        put(cluster, object).await?;
    }
    Ok(())
}

/// Applies one of them, and waits until it is served where it is a kind.
pub(crate) async fn put(cluster: &Cluster, object: &Value) -> Result<(Applied, DynamicObject)> {
    webhooks::convert_no_more(cluster, object).await?;
    // What vela installs is vela's: an older field manager of these objects gives way.
    let (applied, after) = cluster.apply(object, true, false).await?;
    if text(object, "/kind") == "CustomResourceDefinition" {
        crd::established(cluster, text(object, "/metadata/name")).await?;
    }
    Ok((applied, after))
}

/// A line about what happened to an object.
pub(crate) fn said(object: &Value, word: &str) -> String {
    format!("{} {} {word}", text(object, "/kind"), text(object, "/metadata/name"))
}

/// The account of the controller, with the rights it has: for every process that runs it, in the cluster or outside.
pub(crate) fn access(home: &str, needs: Needs) -> Vec<Value> {
    vela_core::access::objects(home, needs)
}

/// The bindings in the cluster that an earlier installation needed and this one does not.
pub(crate) async fn superseded(cluster: &Cluster, needs: Needs) -> Result<Vec<Value>> {
    let (api_version, kind) = ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding");
    let mut found = Vec::new();
    for name in vela_core::access::superseded(needs) {
        if cluster.get(api_version, kind, None, name).await?.is_some() {
            found.push(json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}}));
        }
    }
    Ok(found)
}

/// The controller as a Deployment that works under that account.
pub(crate) fn controller(home: &str, image: &str, webhooks: bool, more: &[&str]) -> Vec<Value> {
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
        namespace: home,
        image,
        args,
        ports: &ports,
        // The former one gives its lease back before the next one wants it.
        recreate: true,
    })];
    if webhooks {
        objects.push(webhooks::service(home, &deployment::labels(ACCOUNT)));
    }
    objects
}

#[cfg(test)]
mod tests {
    use super::operators::OPERATORS;
    use super::*;
    use crate::system_namespace::USUAL;

    /// An aggregated API that is away holds up the deletion of every namespace of the cluster.
    #[test]
    fn no_api_is_aggregated_and_one_program_runs() {
        let mut all = objects("platform").unwrap();
        all.extend(access("platform", Needs::default()));
        all.extend(controller("platform", "vela", true, &[]));
        let of = |kind: &str| all.iter().filter(|object| object["kind"] == kind).count();
        assert_eq!((of("APIService"), of("Deployment"), of("Service")), (0, 1, 1));
        assert!(of("CustomResourceDefinition") > 10);
    }

    /// Operators have a namespace of their own.
    #[test]
    fn everything_lies_in_the_namespace_that_is_named() {
        let all = everything("platform").unwrap();
        let of_operators = OPERATORS.map(|operator| operator.namespace);
        let namespaces = all.iter().map(|object| text(object, "/metadata/namespace"));
        let others: Vec<&str> =
            namespaces.filter(|one| !["", "platform"].contains(one) && !of_operators.contains(one)).collect();
        assert_eq!(others, Vec::<&str>::new());
        for object in &all {
            // The texts of steps are judged where they are.
            if !text(object, "/kind").ends_with("Definition") {
                assert!(!object.to_string().contains(USUAL), "{object}");
            }
        }
    }
}
