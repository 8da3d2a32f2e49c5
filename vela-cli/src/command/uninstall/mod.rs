//! `vela uninstall`: applications, other operators, webhooks, controller, kinds go, in this order; what is left is told.
//!
//! The order is what matters: a finalizer is taken off by the controller, so the controller stays until nothing holds one, and
//! the kinds once no reader needs them. Where that does not come about in time nothing further is taken away.

mod names;
mod objects;
mod operators;

use kube::api::{DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};
use vela_core::access::{ACCOUNT, HOME_BINDING, Needs};
use vela_crds::labels::WEBHOOKS_OF_CORE;
use vela_webhooks::registration::{AUTHORS, TRAIT_INJECTOR};

use self::names::named;
use self::objects::{all, take};
pub(super) use self::operators::stored;
use crate::args::{Global, Uninstall};
use crate::cluster::Cluster;
use crate::error::{Error, Failure, Result};
use crate::installation::operators::OPERATORS;
use crate::installation::record::RECORD;
use crate::installation::{self, webhooks};
use crate::pointer::text;
use crate::screen::Screen;
use crate::session::{Purpose, Session, block_on};
use crate::wait::{self, Awaited};

/// Kinds whose objects hold something that a controller has to end, those first that own the others.
const HOLDING: [(&str, &str); 4] = [
    ("core.oam.dev/v1beta1", "Application"),
    ("core.oam.dev/v1alpha2", "ApplicationConfiguration"),
    ("core.oam.dev/v1beta1", "AppRollout"),
    ("standard.oam.dev/v1alpha1", "RolloutTrait"),
];
pub(crate) fn run(args: &Uninstall, global: &Global, screen: &mut Screen) -> Result<()> {
    block_on(async {
        let session = Session::open_anywhere(global, Purpose::Read, screen).await?;
        let done = match session.is_sandbox() {
            true => Err(Error::user("the sandbox has nothing to uninstall")
                .hint("`vela sandbox reset` deletes everything in it")
                .into()),
            false => uninstall(&session.cluster, args, screen).await,
        };
        let closed = session.close().await;
        Failure::all([done, closed].into_iter().filter_map(Result::err).collect()).map_or(Ok(()), Err)
    })
}

async fn uninstall(cluster: &Cluster, args: &Uninstall, screen: &mut Screen) -> Result<()> {
    let home = installation::home(cluster).await?;
    let mut kept = Vec::new();
    for (api_version, kind) in HOLDING {
        if args.keep_crds {
            kept.extend(all(cluster, api_version, kind).await?.iter().map(|one| Awaited::of(one).title()));
        } else {
            end(cluster, api_version, kind, args, screen).await?;
        }
    }
    let mut of_operators = Vec::new();
    for operator in OPERATORS {
        of_operators.extend(operators::remove(cluster, operator, args.keep_crds, screen).await?);
    }
    // From here on no finalizer is left, or everything is kept as it is.
    for name in [WEBHOOKS_OF_CORE, TRAIT_INJECTOR, AUTHORS] {
        for kind in ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"] {
            take(cluster, &json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": name}}), screen)
                .await?;
        }
    }
    let needs = Needs { webhooks: true, behalf: true, ..Needs::default() };
    let mut others = installation::controller(home, "none", true, &[]);
    others.push(json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": webhooks::SECRET, "namespace": home}}));
    others.push(
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": RECORD, "namespace": home}}),
    );
    others.push(json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": ACCOUNT, "namespace": home}}));
    let (signs, rights): (Vec<Value>, Vec<Value>) =
        installation::access(home, needs).into_iter().rev().partition(is_sign);
    others.extend(rights);
    let (kinds, types): (Vec<Value>, Vec<Value>) = installation::objects(home)?
        .into_iter()
        .filter(|object| text(object, "/kind") != "Namespace")
        .partition(is_kind);
    others.extend(types);
    for object in &others {
        take(cluster, object, screen).await?;
    }
    if !args.keep_crds {
        let_go_of_records(cluster).await?;
    }
    for kind in &kinds {
        if args.keep_crds {
            webhooks::convert_no_more(cluster, kind).await?;
        } else {
            take(cluster, kind, screen).await?;
        }
    }
    // Last, so that a command that broke off finds the namespace again.
    for sign in &signs {
        take(cluster, sign, screen).await?;
    }
    left(home, &kept, kinds.len(), of_operators, args, screen);
    Ok(())
}

/// Is it that by which the system namespace is found?
fn is_sign(object: &Value) -> bool {
    text(object, "/kind") == "ClusterRoleBinding" && text(object, "/metadata/name") == HOME_BINDING
}

fn is_kind(object: &Value) -> bool {
    text(object, "/kind") == "CustomResourceDefinition"
}

/// Deletes the objects of a kind and waits until their controller has ended each.
async fn end(
    cluster: &Cluster,
    api_version: &str,
    kind: &str,
    args: &Uninstall,
    screen: &mut Screen,
) -> Result<()> {
    let mut asked = Vec::new();
    for object in all(cluster, api_version, kind).await? {
        let awaited =
            Awaited { api_version: api_version.to_owned(), kind: kind.to_owned(), ..Awaited::of(&object) };
        cluster.delete(api_version, kind, Some(&awaited.namespace), &awaited.name).await?;
        asked.push(awaited);
    }
    if asked.is_empty() {
        return Ok(());
    }
    let Err(failure) = wait::gone(cluster, &asked, args.timeout, screen).await else { return Ok(()) };
    if failure.is_interrupt() {
        return Err(failure);
    }
    let held: Vec<DynamicObject> = all(cluster, api_version, kind)
        .await?
        .into_iter()
        .filter(|object| object.metadata.deletion_timestamp.is_some())
        .collect();
    if !args.force {
        let names = named(held.iter().map(|object| Awaited::of(object).title()));
        return Err(failure.closing(format!(
            "Nothing further was taken away, so that a controller can end these: {names}. Run one (`vela install --controller \
             local`) and try again, or let go of them with --force; what they made then stays."
        )));
    }
    for object in held {
        let awaited = Awaited::of(&object);
        let api = cluster.api(api_version, kind, Some(&awaited.namespace)).await?;
        let strangers = strangers(&object);
        let patch = json!({"metadata": {"finalizers": strangers, "uid": object.metadata.uid}});
        match api.patch(&awaited.name, &PatchParams::default(), &Patch::Merge(&patch)).await {
            Ok(_) => screen
                .say(&format!("{kind} {}/{} let go; what it made stays", awaited.namespace, awaited.name)),
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(error) => return Err(cluster.failure(&format!("let go of {kind} {}", awaited.name), &error)),
        }
    }
    Ok(())
}

/// The records of applications that were let go: no controller acts by them any more, and what holds one would hold its kind.
async fn let_go_of_records(cluster: &Cluster) -> Result<()> {
    let (api_version, kind) = ("core.oam.dev/v1beta1", "ResourceTracker");
    for object in all(cluster, api_version, kind).await? {
        let strangers = strangers(&object);
        if strangers.len() == object.metadata.finalizers.as_ref().map_or(0, Vec::len) {
            continue;
        }
        let name = object.metadata.name.clone().unwrap_or_default();
        let api = cluster.api(api_version, kind, None).await?;
        let patch = json!({"metadata": {"finalizers": strangers, "uid": object.metadata.uid}});
        match api.patch(&name, &PatchParams::default(), &Patch::Merge(&patch)).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(error) => return Err(cluster.failure(&format!("let go of {kind} {name}"), &error)),
        }
    }
    Ok(())
}

/// The finalizers of an object that others put on.
fn strangers(object: &DynamicObject) -> Vec<String> {
    let held = object.metadata.finalizers.clone().unwrap_or_default();
    held.into_iter().filter(|one| !is_ours(one)).collect()
}

/// What our controllers put on; others end their own.
fn is_ours(finalizer: &str) -> bool {
    finalizer.contains("oam.dev")
}

fn left(
    home: &str,
    kept: &[String],
    kinds: usize,
    of_operators: Vec<String>,
    args: &Uninstall,
    screen: &mut Screen,
) {
    let mut left = vec![format!("the namespace {home} with whatever else is in it")];
    if args.keep_crds {
        left.push(format!("{kinds} kinds"));
    }
    if !kept.is_empty() {
        left.push(format!(
            "without a controller until vela is installed again, and what it made: {}",
            named(kept.iter().cloned())
        ));
    }
    left.extend(of_operators);
    screen.say(&format!("Left in the cluster: {}.", left.join("; ")));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system_namespace::USUAL;

    #[test]
    fn only_our_own_finalizers_are_taken_off() {
        for ours in [
            vela_crds::finalizers::RESOURCE_TRACKER,
            vela_crds::finalizers::RESOURCE_TRACKER_V1_0,
            vela_crds::finalizers::TRACKER,
            vela_crds::finalizers::SCOPE,
            vela_crds::finalizers::ELSEWHERE,
            "finalizers.approllout.oam.dev",
            "finalizers.rollouttrait.oam.dev",
        ] {
            assert!(is_ours(ours), "{ours}");
        }
        for theirs in ["foregroundDeletion", "example.com/backup"] {
            assert!(!is_ours(theirs), "{theirs}");
        }
    }

    /// No controller releases the applications: nothing further goes, unless the user asks for it; and then no kind is left.
    #[tokio::test]
    async fn what_holds_something_stays_until_it_is_let_go() {
        let server = vela_apiserver::ApiServer::builder().build().unwrap();
        let client = kube::Client::new(server.service(), "default");
        let cluster = Cluster::new(client, "test".to_owned(), "default".to_owned());
        let mut objects = installation::objects(USUAL).unwrap();
        objects.extend(installation::access(USUAL, Needs::default()));
        let mut screen = Screen::new();
        installation::apply(&cluster, &objects).await.unwrap();
        let held = json!({"apiVersion": HOLDING[0].0, "kind": "Application", "spec": {"components": []},
            "metadata": {"name": "shop", "namespace": "default", "finalizers": [vela_crds::finalizers::RESOURCE_TRACKER]}});
        cluster.apply(&held, false, false).await.unwrap();
        let record = json!({"apiVersion": HOLDING[0].0, "kind": "ResourceTracker",
            "spec": {"type": "versioned", "applicationGeneration": 1},
            "metadata": {"name": "shop-v1-default", "finalizers": [vela_crds::finalizers::TRACKER]}});
        cluster.apply(&record, false, false).await.unwrap();
        let timeout = std::time::Duration::from_millis(100);
        let mut args = Uninstall { keep_crds: true, force: false, timeout };
        uninstall(&cluster, &args, &mut screen).await.unwrap();
        let shop = async || cluster.get(HOLDING[0].0, "Application", None, "shop").await.unwrap();
        assert!(shop().await.is_some_and(|shop| shop.metadata.deletion_timestamp.is_none()), "it is kept");
        assert!(cluster.get("v1", "ServiceAccount", Some(USUAL), "vela-core").await.unwrap().is_none());

        args.keep_crds = false;
        let failure = uninstall(&cluster, &args, &mut screen).await.unwrap_err();
        let said = failure.texts().join("\n");
        assert!(said.contains("Application default/shop") && said.contains("--force"), "{said}");
        assert!(shop().await.is_some());
        args.force = true;
        uninstall(&cluster, &args, &mut screen).await.unwrap();
        let gone = async {
            for kind in ["Application", "ResourceTracker"] {
                while cluster.knows(HOLDING[0].0, kind).await.unwrap() {
                    tokio::time::sleep(std::time::Duration::from_millis(20)).await;
                }
            }
        };
        let gone = tokio::time::timeout(std::time::Duration::from_secs(60), gone).await;
        assert!(gone.is_ok(), "its kind is gone, and that of its record");
    }
}
