//! The controllers of AppDeployments and ApplicationContexts of release 1.0, and the watches that enqueue them.
//!
//! Both render revisions of an Application and control what comes of it; [`deployer`] is what they share. An owner reference
//! names the owner of each object, so Kubernetes removes it with the owner, and no finalizer is needed.

mod app_deployment;
mod application_context;
mod deployer;

use kube::Resource;
use kube::api::DynamicObject;
use vela_crds::{AppDeployment, ApplicationContext};
use vela_runtime::cache::{Change, Index};
use vela_runtime::{Controller, Key, Reconciler};

use self::app_deployment::AppDeploymentReconciler;
use self::application_context::ApplicationContextReconciler;
use self::deployer::Deployer;
use crate::context::Context;
use crate::standard::reconciler_base::ReconcilerBase;

/// Field managers of what the two make.
const DEPLOYMENTS: &str = "vela-app-deployment";
const CONTEXTS: &str = "vela-application-context";

/// Both controllers.
pub(crate) fn controllers(context: &Context, workers: usize) -> Vec<Controller> {
    let deployer = new_deployer::<AppDeployment>(context, DEPLOYMENTS);
    let deployments = AppDeploymentReconciler { deployer: deployer.clone() };
    let deployments = controller("appdeployment", &deployer, deployments, of_deployment, workers);
    let deployer = new_deployer::<ApplicationContext>(context, CONTEXTS);
    let contexts = ApplicationContextReconciler { deployer: deployer.clone() };
    let contexts = controller("applicationcontext", &deployer, contexts, of_context, workers);
    vec![deployments, contexts]
}

fn new_deployer<K: Resource<DynamicType = ()>>(context: &Context, manager: &str) -> Deployer {
    Deployer::new(context, ReconcilerBase::new::<K>(context, manager, &[]))
}

/// A controller that revisions and Applications wake which its objects name.
fn controller<R: Reconciler>(
    name: &str,
    deployer: &Deployer,
    reconciler: R,
    revisions: fn(&DynamicObject) -> Vec<&str>,
    workers: usize,
) -> Controller {
    let base = &deployer.base;
    let naming = base.objects.index_of_spec(move |object| terms(object, &revisions(object)));
    let among = naming.clone();
    base.controller(name, reconciler, workers)
        .watches(deployer.revisions.stored(), move |change| named(change, &among, REVISION))
        .watches(&deployer.applications, move |change| named(change, &naming, APPLICATION))
}

fn of_deployment(object: &DynamicObject) -> Vec<&str> {
    let entries = object.data["spec"]["appRevisions"].as_array().into_iter().flatten();
    entries.filter_map(|entry| entry["revisionName"].as_str()).collect()
}

fn of_context(object: &DynamicObject) -> Vec<&str> {
    object.data["spec"]["applicationRevisionName"].as_str().into_iter().collect()
}

/// The references of an object: the words that the terms of the index begin with.
const REVISION: &str = "revision";
const APPLICATION: &str = "application";

fn term(what: &str, namespace: Option<&str>, name: &str) -> String {
    format!("{what} {} {name}", namespace.unwrap_or_default())
}

/// The terms of revisions, and of their applications.
fn terms(object: &DynamicObject, revisions: &[&str]) -> Vec<String> {
    let namespace = object.metadata.namespace.as_deref();
    let applications = revisions.iter().filter_map(|revision| Some(revision.rsplit_once("-v")?.0));
    let applications = applications.map(|name| term(APPLICATION, namespace, name));
    revisions.iter().map(|name| term(REVISION, namespace, name)).chain(applications).collect()
}

/// The objects of the changed object's namespace that name it.
fn named(change: &Change, among: &Index, what: &str) -> Vec<Key> {
    let Some(object) = change.object().filter(|_| !change.initial) else { return Vec::new() };
    let name = object.metadata.name.as_deref().unwrap_or_default();
    let found = among.find(&term(what, object.metadata.namespace.as_deref(), name));
    found.iter().map(|object| Key::of(object)).collect()
}
