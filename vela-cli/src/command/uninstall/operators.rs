//! Takes the operators of Dapr and Harbor out of a cluster, and never an object that a user made.
//!
//! Only what `vela install` and the programs marked as theirs goes. A program registers itself again while it runs, so its
//! Deployment and its rights go first. A kind stays as long as it has objects; it then asks no webhook any more.

use kube::api::DynamicObject;
use serde_json::Value;

use super::names::named;
use super::objects::{all, take};
use crate::cluster::Cluster;
use crate::error::Result;
use crate::installation::operators::{self, Operator, Run, is_of};
use crate::installation::webhooks;
use crate::pointer::text;
use crate::screen::Screen;
use crate::wait::Awaited;

/// What is left of an operator; nothing where it was never installed.
pub(super) async fn remove(
    cluster: &Cluster,
    operator: &Operator,
    keep_kinds: bool,
    screen: &mut Screen,
) -> Result<Vec<String>> {
    let everything = Run { image: "none", more: operators::sidecars("none") };
    let running = operator.running(&everything);
    let access = operator.access();
    let (accounts, rights): (Vec<&Value>, Vec<&Value>) =
        access.iter().partition(|object| text(object, "/kind") == "ServiceAccount");
    let was_here = mine(cluster, operator, &accounts).await?;
    for object in running.iter().rev().chain(rights.into_iter().rev()) {
        take_own(cluster, operator, object, screen).await?;
    }
    take_own(cluster, operator, &operator.made_by_applications(false), screen).await?;
    for registration in operator.registrations {
        if operators::take_registration(cluster, operator, registration.kind, registration.name).await? {
            screen.say(&format!("{} {} deleted", registration.kind, registration.name));
        }
    }
    for secret in operator.secrets {
        if operators::take_made(cluster, operator, "Secret", secret).await? {
            screen.say(&format!("Secret {secret} deleted"));
        }
    }
    if was_here {
        take(cluster, &operators::lease(operator), screen).await?;
    }
    let mut left = kinds(cluster, operator, keep_kinds, screen).await?;
    // Last: it says that the operator is here where something above failed.
    for account in accounts {
        take_own(cluster, operator, account, screen).await?;
    }
    if was_here {
        left.push(format!("the namespace {} with whatever else is in it", operator.namespace));
        left.extend(stays(cluster, operator).await?);
    }
    Ok(left)
}

async fn mine(cluster: &Cluster, operator: &Operator, objects: &[&Value]) -> Result<bool> {
    for object in objects {
        if live(cluster, object).await?.is_some_and(|live| is_of(operator, &live)) {
            return Ok(true);
        }
    }
    Ok(false)
}

async fn live(cluster: &Cluster, object: &Value) -> Result<Option<DynamicObject>> {
    let namespace = Some(text(object, "/metadata/namespace")).filter(|namespace| !namespace.is_empty());
    let (kind, name) = (text(object, "/kind"), text(object, "/metadata/name"));
    cluster.get(text(object, "/apiVersion"), kind, namespace, name).await
}

/// Deletes an object if it was installed for the operator.
async fn take_own(cluster: &Cluster, operator: &Operator, object: &Value, screen: &mut Screen) -> Result<()> {
    if mine(cluster, operator, &[object]).await? {
        take(cluster, object, screen).await?;
    }
    Ok(())
}

/// Deletes the kinds that have no objects; says which stay, and why.
async fn kinds(
    cluster: &Cluster,
    operator: &Operator,
    keep: bool,
    screen: &mut Screen,
) -> Result<Vec<String>> {
    let (mut stay, mut objects) = (0_usize, Vec::new());
    for kind in operator.kinds()? {
        let Some(live) = live(cluster, &kind).await?.filter(|live| is_of(operator, live)) else { continue };
        let found = if keep { Vec::new() } else { stored(cluster, &kind).await? };
        if !keep && found.is_empty() {
            take(cluster, &kind, screen).await?;
            continue;
        }
        stay += 1;
        objects.extend(found);
        let live = serde_json::json!(live);
        if operator.converts(&live) {
            webhooks::convert_by_none(cluster, text(&kind, "/metadata/name")).await?;
        }
    }
    let kinds = if stay == 1 { "1 kind".to_owned() } else { format!("{stay} kinds") };
    let product = operator.product;
    Ok(match (stay, objects.is_empty()) {
        (0, _) => Vec::new(),
        (_, true) => vec![format!("{kinds} of {product}")],
        (_, false) => vec![format!(
            "without an operator, {kinds} of {product} with {} (`vela uninstall` takes a kind away once it has none)",
            named(objects.into_iter())
        )],
    })
}

/// The objects of a kind, as titles.
pub(in crate::command) async fn stored(cluster: &Cluster, kind: &Value) -> Result<Vec<String>> {
    let versions = kind["spec"]["versions"].as_array().into_iter().flatten();
    let Some(version) = versions.into_iter().find(|version| version["storage"] == true) else {
        return Ok(Vec::new());
    };
    let api_version = format!("{}/{}", text(kind, "/spec/group"), text(version, "/name"));
    let name = text(kind, "/spec/names/kind");
    let objects = all(cluster, &api_version, name).await?;
    Ok(objects.iter().map(|one| Awaited { kind: name.to_owned(), ..Awaited::of(one) }.title()).collect())
}

async fn stays(cluster: &Cluster, operator: &Operator) -> Result<Option<String>> {
    let Some(stays) = &operator.stays else { return Ok(None) };
    let live = cluster.get("v1", stays.kind, Some(operator.namespace), stays.name).await?;
    Ok(live.map(|_| format!("{} {}/{}: {}", stays.kind, operator.namespace, stays.name, stays.reason)))
}
