//! The checks of `vela system diagnose`, in the order in which a user would mend what they find.

use jiff::Timestamp;
use serde_json::{Value, json};
use vela_core::access::Needs;
use vela_engine::{DefinitionKind, Document, Templates};

use super::controller::Controller;
use super::findings::Finding;
use super::webhooks;
use crate::applications::API_VERSION;
use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::health::Health;
use crate::installation::{self, SYSTEM_NAMESPACE};
use crate::offline::{DEFINITION_KINDS, RenderInputs};
use crate::pointer::text;
use crate::{offline, serving};

const AGAIN: &str = "run `vela install` with the flags of this installation again";

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
    let (mut missing, mut other) = (Vec::new(), Vec::new());
    for crd in &ours {
        let name = text(crd, "/metadata/name");
        let live = cluster.get(text(crd, "/apiVersion"), text(crd, "/kind"), None, name).await?;
        match live.map(|live| json!(live)) {
            None => missing.push(name),
            Some(live) if !contains(&live["spec"]["versions"], &crd["spec"]["versions"]) => other.push(name),
            Some(_) => {}
        }
    }
    let mut findings = Vec::new();
    if !missing.is_empty() {
        let message = format!("{} of {} are not there: {}", missing.len(), ours.len(), missing.join(", "));
        findings.push(Finding::wrong("kinds", message, "run `vela install`"));
    }
    if !other.is_empty() {
        let message =
            format!("{} are of another version than this program: {}", other.len(), other.join(", "));
        let mend = "run `vela install` of the release of the controller, or use the `vela` of that release";
        findings.push(Finding::wrong("kinds", message, mend));
    }
    if findings.is_empty() {
        findings.push(Finding::right("kinds", format!("all {} are those of this program", ours.len())));
    }
    Ok(findings)
}

/// Does the live value say all that ours says? An API server adds defaults and takes nothing away.
fn contains(live: &Value, ours: &Value) -> bool {
    match (live, ours) {
        (Value::Object(live), Value::Object(ours)) => {
            ours.iter().all(|(name, ours)| live.get(name).is_some_and(|live| contains(live, ours)))
        }
        (Value::Array(live), Value::Array(ours)) => {
            live.len() == ours.len() && live.iter().zip(ours).all(|(live, ours)| contains(live, ours))
        }
        (Value::Number(live), Value::Number(ours)) => live.as_f64() == ours.as_f64(),
        (live, ours) => live == ours,
    }
}

async fn controller(cluster: &Cluster, is_sandbox: bool) -> Result<Vec<Finding>> {
    const ABOUT: &str = "controller";
    if is_sandbox {
        return Ok(vec![Finding::right(ABOUT, "the sandbox runs it itself")]);
    }
    let controller = Controller::read(cluster).await?;
    let mut findings = Vec::new();
    if let Some(deployment) = controller.deployment() {
        let (health, message) = deployment.health();
        match health {
            Health::Healthy => findings.push(Finding::right(ABOUT, format!("{} runs", deployment.image()))),
            _ => {
                let mend =
                    format!("`kubectl -n {SYSTEM_NAMESPACE} describe pods` tells why its pods do not run");
                findings.push(Finding::wrong(
                    ABOUT,
                    format!("its Deployment is {}: {message}", health.word()),
                    mend,
                ));
            }
        }
    } else if serving::missing(cluster).await.is_some() {
        let message = "nothing acts on applications: there is neither its Deployment nor its lease";
        let mend = "`vela install --controller-image IMAGE` runs one in the cluster, `vela install --controller local` one beside it";
        findings.push(Finding::wrong(ABOUT, message, mend));
    }
    match (controller.leader(), controller.silent_for(Timestamp::now())) {
        (Some(leader), Some(silent)) => {
            let message = format!("its leader {leader} has been silent for {} s", silent.as_secs());
            findings.push(Finding::wrong(
                ABOUT,
                message,
                "look at the log of the controller, or start it again",
            ));
        }
        (Some(leader), None) => findings.push(Finding::right(ABOUT, format!("{leader} leads"))),
        (None, _) => {}
    }
    Ok(findings)
}

/// Has the account of the controller the rights that this program would give it? One beside the cluster has others.
async fn rights(cluster: &Cluster) -> Result<Vec<Finding>> {
    const ABOUT: &str = "rights";
    let controller = Controller::read(cluster).await?;
    let Some(deployment) = controller.deployment() else {
        return Ok(vec![Finding::right(ABOUT, "a controller outside of the cluster has those of its user")]);
    };
    let needs = Needs { webhooks: deployment.args().contains(&"--use-webhook"), ..Needs::default() };
    let mut findings = Vec::new();
    let ours = installation::access(needs);
    for object in &ours {
        let (kind, name) = (text(object, "/kind"), text(object, "/metadata/name"));
        let namespace = Some(text(object, "/metadata/namespace")).filter(|one| !one.is_empty());
        let live = cluster.get(text(object, "/apiVersion"), kind, namespace, name).await?;
        let message = match live.map(|live| json!(live)) {
            None => format!("{kind} {name} is not there, so the controller lacks rights"),
            Some(live) if differs(&live, object) => {
                format!("{kind} {name} gives other rights than this version needs")
            }
            Some(_) => continue,
        };
        findings.push(Finding::wrong(ABOUT, message, AGAIN));
    }
    if findings.is_empty() {
        findings.push(Finding::right(
            ABOUT,
            format!("all {} roles, bindings and accounts are as they should be", ours.len()),
        ));
    }
    Ok(findings)
}

/// An aggregated role gets its rules from others.
fn differs(live: &Value, ours: &Value) -> bool {
    let is_aggregated = ours.get("aggregationRule").is_some_and(|rule| !rule.is_null());
    let fields = ["subjects", "roleRef", "rules"];
    let compared = if is_aggregated { &fields[..2] } else { &fields[..] };
    compared.iter().any(|field| {
        let ours = ours.get(field).filter(|value| !value.is_null());
        ours.is_some_and(|ours| !contains(live.get(field).unwrap_or(&Value::Null), ours))
    })
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
    let mut findings = Vec::new();
    for document in &documents {
        let unread = |error| offline::unread(Some(cluster), error);
        let faults = match RenderInputs::read(&reader, Vec::new(), &[document], unread).await {
            Ok(inputs) => {
                inputs.faults(&Templates::default()).into_iter().find(vela_engine::Diagnostic::is_error)
            }
            Err(failure) => {
                findings.push(broken(document, &failure.texts().join(" ")));
                continue;
            }
        };
        findings.extend(faults.map(|fault| broken(document, &fault.message)));
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

fn broken(document: &Document, message: &str) -> Finding {
    let (kind, namespace, name) = (document.kind(), document.namespace(), document.name());
    let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
    let mend = match namespace {
        SYSTEM_NAMESPACE => format!(
            "`vela install` restores built-in definitions, `vela def edit {name} -n {namespace}` corrects it"
        ),
        _ => format!("`vela def edit {name} -n {namespace}` corrects it"),
    };
    Finding::wrong("definitions", format!("{kind} {namespace}/{name} cannot be used: {message}"), mend)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_adds_is_no_other_version() {
        let ours = json!([{"name": "v1", "schema": {"type": "object", "minimum": 1}}]);
        assert!(contains(
            &json!([{"name": "v1", "schema": {"type": "object", "minimum": 1.0, "x": 1}, "served": true}]),
            &ours
        ));
        assert!(!contains(&json!([{"name": "v1", "schema": {"type": "object"}}]), &ours));
        assert!(!contains(&json!([]), &ours));
    }
}
