//! The operators of Dapr and Harbor as the cluster shows them, where `vela install` brought them.

use serde_json::{Value, json};

use super::controller::Controller;
use super::findings::Finding;
use super::{judged, webhooks};
use crate::cluster::Cluster;
use crate::error::Result;
use crate::installation::operators::{OPERATORS, Operator, is_of};

/// An operator that is installed, and its program.
pub(super) struct Installed {
    pub(super) operator: &'static Operator,
    pub(super) controller: Controller,
}

impl Installed {
    pub(super) fn value(&self) -> Value {
        let mut value = self.controller.value();
        value["name"] = json!(self.operator.name);
        value["namespace"] = json!(self.operator.namespace);
        value
    }
}

/// Those that were installed here; the account of an operator says so.
pub(super) async fn installed(cluster: &Cluster) -> Result<Vec<Installed>> {
    let mut found = Vec::new();
    for operator in OPERATORS {
        let (name, namespace) = (operator.name, operator.namespace);
        let account = cluster.get("v1", "ServiceAccount", Some(namespace), name).await?;
        if account.is_some_and(|account| is_of(operator, &account)) {
            let controller = Controller::read(cluster, namespace, name, operator.lease).await?;
            found.push(Installed { operator, controller });
        }
    }
    Ok(found)
}

/// What is right and wrong with each.
pub(super) async fn check(cluster: &Cluster) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for Installed { operator, controller } in installed(cluster).await? {
        let about = operator.name;
        let install = format!("vela install {}", operator.flag);
        findings.extend(judged::kinds(cluster, about, &operator.kinds()?, &install).await?);
        findings.extend(judged::controller(about, operator.namespace, &controller));
        if controller.deployment().is_none() && controller.leader().is_none() {
            let message = "nothing acts on its kinds: there is neither its Deployment nor a leader";
            let mend = format!("`{install} {} IMAGE` runs it in the cluster", operator.image_flag);
            findings.push(Finding::wrong(about, message, mend));
        }
        findings.extend(judged::rights(cluster, about, &operator.access()).await?);
        findings.extend(registrations(cluster, operator, &controller).await?);
    }
    Ok(findings)
}

/// The webhooks that the flags of its Deployment serve: has the program registered them, and can API servers call it?
async fn registrations(
    cluster: &Cluster,
    operator: &'static Operator,
    controller: &Controller,
) -> Result<Vec<Finding>> {
    let about = operator.name;
    let Some(deployment) = controller.deployment() else { return Ok(Vec::new()) };
    let (mut findings, mut fine) = (Vec::new(), 0);
    let args = deployment.args();
    for registration in operator.registrations.iter().filter(|one| Operator::is_set(&args, one.flag)) {
        let title = format!("{} {}", registration.kind, registration.name);
        let live = cluster.get(webhooks::GROUP, registration.kind, None, registration.name).await?;
        let Some(live) = live else {
            let message = format!("{title} is not there, so its webhooks are not called");
            let mend = format!("{} registers it while it runs; look at its log", operator.name);
            findings.push(Finding::wrong(about, message, mend));
            continue;
        };
        let adds = format!("{} adds it while it runs; look at its log", operator.name);
        let found = webhooks::faults(cluster, about, &title, &json!(live), &adds).await?;
        fine += usize::from(found.is_empty());
        findings.extend(found);
    }
    if fine > 0 && findings.is_empty() {
        findings.push(Finding::right(about, format!("its {fine} webhook configurations can be called")));
    }
    Ok(findings)
}
