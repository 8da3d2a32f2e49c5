//! The checks of `vela system diagnose`, in the order in which a user would mend what they find.

use serde_json::{Value, json};
use vela_core::access::Needs;
use vela_engine::{DefinitionKind, Document, Templates};

use super::controller::Controller;
use super::findings::Finding;
use super::{judged, operators, webhooks};
use crate::applications::API_VERSION;
use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::installation;
use crate::offline::{DEFINITION_KINDS, RenderInputs};
use crate::{offline, serving};

/// Everything that was found; a check that cannot be made is a finding, and stops no other.
pub(super) async fn all(cluster: &Cluster, is_sandbox: bool) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut add = |about: &'static str, found: Result<Vec<Finding>>| match found {
        Ok(found) => findings.extend(found),
        Err(failure) => findings.push(Finding::unknown(about, &failure)),
    };
    add("cluster", reached(cluster).await);
    add("kinds", kinds(cluster).await);
    add("controller", controller(cluster, is_sandbox).await);
    if !is_sandbox {
        add("rights", rights(cluster).await);
    }
    add("webhooks", webhooks::check(cluster).await);
    add("definitions", definitions(cluster).await);
    add("operators", operators::check(cluster).await);
    findings
}

async fn reached(cluster: &Cluster) -> Result<Vec<Finding>> {
    let version = cluster.version().await?;
    Ok(vec![Finding::right("cluster", format!("{} answers, Kubernetes {version}", cluster.title()))])
}

/// Are the kinds of the cluster those that this program would install?
async fn kinds(cluster: &Cluster) -> Result<Vec<Finding>> {
    let ours = vela_crds::crd_values();
    let ours = ours.map_err(|error| Error::internal(format!("a CRD of vela cannot be read: {error}")))?;
    judged::kinds(cluster, "kinds", &ours, "vela install").await
}

async fn controller(cluster: &Cluster, is_sandbox: bool) -> Result<Vec<Finding>> {
    const ABOUT: &str = "controller";
    if is_sandbox {
        return Ok(vec![Finding::right(ABOUT, "the sandbox runs it itself")]);
    }
    let controller = Controller::of_applications(cluster).await?;
    let mut findings = judged::controller(ABOUT, cluster.system_namespace().await?, &controller);
    if controller.deployment().is_none() && serving::missing(cluster).await.is_some() {
        let message = "nothing acts on applications: there is neither its Deployment nor its lease";
        let mend = "`vela install --controller-image IMAGE` runs one in the cluster, `vela install --controller local` one beside it";
        findings.insert(0, Finding::wrong(ABOUT, message, mend));
    }
    Ok(findings)
}

/// Has the account of the controller the rights that this program would give it? One beside the cluster has others.
async fn rights(cluster: &Cluster) -> Result<Vec<Finding>> {
    const ABOUT: &str = "rights";
    let controller = Controller::of_applications(cluster).await?;
    let Some(deployment) = controller.deployment() else {
        return Ok(vec![Finding::right(ABOUT, "a controller outside of the cluster has those of its user")]);
    };
    let needs = Needs { webhooks: deployment.args().contains(&"--use-webhook"), ..Needs::default() };
    judged::rights(cluster, ABOUT, &installation::access(cluster.system_namespace().await?, needs)).await
}

/// Every definition of the cluster, judged as admission would.
async fn definitions(cluster: &Cluster) -> Result<Vec<Finding>> {
    const ABOUT: &str = "definitions";
    cluster.kind(API_VERSION, DefinitionKind::Component.kind()).await?;
    let mut documents = Vec::new();
    for kind in DEFINITION_KINDS {
        if cluster.knows(API_VERSION, kind.kind()).await? {
            let all = cluster.list(API_VERSION, kind.kind(), None).await?;
            documents.extend(all.into_iter().map(|one| Document::from_object(typed(json!(one), kind))));
        }
    }
    let reader = offline::of_cluster(cluster, &[]).await?;
    let system = cluster.system_namespace().await?;
    let mut findings = Vec::new();
    for document in &documents {
        let unread = |error| offline::unread(Some(cluster), error);
        let faults = match RenderInputs::read(&reader, Vec::new(), &[document], unread).await {
            Ok(inputs) => {
                inputs.faults(&Templates::default()).into_iter().find(vela_engine::Diagnostic::is_error)
            }
            Err(failure) => {
                findings.push(broken(document, system, &failure.texts().join(" ")));
                continue;
            }
        };
        findings.extend(faults.map(|fault| broken(document, system, &fault.message)));
    }
    if findings.is_empty() {
        findings.push(Finding::right(ABOUT, format!("all {} can be used", documents.len())));
    }
    Ok(findings)
}

/// Items of a list may not repeat their kind.
fn typed(mut object: Value, kind: DefinitionKind) -> Value {
    object["apiVersion"] = json!(API_VERSION);
    object["kind"] = json!(kind.kind());
    object
}

fn broken(document: &Document, system: &str, message: &str) -> Finding {
    let (kind, namespace, name) = (document.kind(), document.namespace(), document.name());
    let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
    let mend = match namespace == system {
        true => format!(
            "`vela install` restores built-in definitions, `vela def edit {name} -n {namespace}` corrects it"
        ),
        false => format!("`vela def edit {name} -n {namespace}` corrects it"),
    };
    Finding::wrong("definitions", format!("{kind} {namespace}/{name} cannot be used: {message}"), mend)
}
