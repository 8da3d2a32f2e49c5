//! An operator as data, and the objects by which it is installed: kinds, account, rights, Deployment, Services.
//!
//! The webhook configurations are not among them: the program registers itself, with the authority that it issues.

use serde_json::{Value, json};
use vela_core::access::{AGGREGATE, Rule};

use super::super::deployment::{self, Program};
use crate::error::Result;
use crate::pointer::text;

/// On everything that is installed for an operator: its name. What does not carry it belongs to others.
pub(super) const PART_OF: &str = "app.kubernetes.io/part-of";
const RBAC: &str = "rbac.authorization.k8s.io";

pub(super) const READ: &[&str] = &["get", "list", "watch"];
pub(super) const READ_MAKE: &[&str] = &["get", "list", "watch", "create", "patch", "delete"];

pub(super) const fn rule(
    group: &'static str,
    resources: &'static [&'static str],
    verbs: &'static [&'static str],
) -> Rule {
    Rule { group, resources, verbs }
}

/// The rights in the namespace of an operator: its lease, and the certificate that it issues itself.
pub(super) const LEASE: Rule =
    rule("coordination.k8s.io", &["leases"], &["get", "list", "watch", "create", "update"]);
pub(super) const CERTIFICATE: Rule = rule("", &["secrets"], &["get", "create", "update"]);

/// A Service of an operator: other programs know it by this name.
pub(crate) struct Service {
    pub(crate) name: &'static str,
    /// Numbers, and the name of the container's port behind all of them.
    pub(super) ports: &'static [u16],
    pub(super) target: &'static str,
    /// The flag without which nothing answers there.
    pub(crate) flag: &'static str,
}

/// What the program registers itself with, where it has this flag.
pub(crate) struct Registration {
    pub(crate) kind: &'static str,
    pub(crate) name: &'static str,
    pub(crate) flag: &'static str,
}

/// An operator beside vela-core.
pub(crate) struct Operator {
    /// Its program, account and Deployment.
    pub(crate) name: &'static str,
    /// What it is about, for messages.
    pub(crate) product: &'static str,
    pub(crate) flag: &'static str,
    pub(crate) image_flag: &'static str,
    pub(crate) namespace: &'static str,
    pub(crate) lease: &'static str,
    pub(super) kinds: fn() -> Result<Vec<Value>>,
    /// In every namespace.
    pub(super) rules: &'static [Rule],
    /// In its own.
    pub(super) home: &'static [Rule],
    /// What applications make of its kinds.
    pub(super) made: &'static [Rule],
    pub(super) args: &'static [&'static str],
    pub(super) ports: &'static [(&'static str, u16)],
    pub(crate) services: &'static [Service],
    pub(crate) registrations: &'static [Registration],
    /// The label by which the program marks its registrations; the value is its name.
    pub(crate) mark: &'static str,
    /// Secrets that the program makes and that nothing else needs.
    pub(crate) secrets: &'static [&'static str],
    /// What stays when it goes, and why.
    pub(crate) stays: Option<Stays>,
}

/// An object that an operator made and that others still rely on when it is gone.
pub(crate) struct Stays {
    pub(crate) kind: &'static str,
    pub(crate) name: &'static str,
    pub(crate) reason: &'static str,
}

/// How its program runs in the cluster.
pub(crate) struct Run<'a> {
    pub(crate) image: &'a str,
    /// Flags beside those that it always has.
    pub(crate) more: Vec<String>,
}

impl Operator {
    /// Whether one of the arguments sets a flag.
    pub(crate) fn is_set(args: &[impl AsRef<str>], flag: &str) -> bool {
        args.iter().any(|arg| arg.as_ref().split_once('=').map_or(arg.as_ref(), |(name, _)| name) == flag)
    }

    /// Everything, in the order it is applied. `behalf`: vela-core acts for authors, and makes nothing under its own account.
    pub(crate) fn objects(&self, run: Option<&Run<'_>>, behalf: bool) -> Result<Vec<Value>> {
        let mut objects =
            vec![json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}})];
        objects.extend(self.kinds()?);
        objects.extend(self.access());
        objects.push(self.made_by_applications(behalf));
        if let Some(run) = run {
            objects.extend(self.running(run));
        }
        Ok(objects)
    }

    /// Its kinds, marked as installed for it.
    pub(crate) fn kinds(&self) -> Result<Vec<Value>> {
        let mut kinds = (self.kinds)()?;
        kinds.iter_mut().for_each(|kind| self.mark(kind));
        Ok(kinds)
    }

    /// Its account and the rights of that.
    pub(crate) fn access(&self) -> Vec<Value> {
        let at_home = json!({"name": self.name, "namespace": self.namespace});
        let everywhere = json!({"name": self.name});
        let mut objects = vec![
            json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": at_home}),
            role("ClusterRole", &everywhere, self.rules.iter().copied()),
            role("Role", &at_home, self.home.iter().copied()),
            self.binding("ClusterRole", &everywhere),
            self.binding("Role", &at_home),
        ];
        objects.iter_mut().for_each(|object| self.mark(object));
        objects
    }

    /// The role that adds its kinds to what vela-core may make for applications.
    pub(crate) fn made_by_applications(&self, behalf: bool) -> Value {
        let rules = self.made.iter().map(|one| Rule { verbs: if behalf { READ } else { one.verbs }, ..*one });
        let metadata = json!({"name": format!("{}-made", self.name), "labels": {AGGREGATE: "true"}});
        let mut object = role("ClusterRole", &metadata, rules);
        self.mark(&mut object);
        object
    }

    /// The Deployment and the Services by which it is reached.
    pub(crate) fn running(&self, run: &Run<'_>) -> Vec<Value> {
        let args: Vec<String> =
            self.args.iter().map(|arg| (*arg).to_owned()).chain(run.more.iter().cloned()).collect();
        let mut objects: Vec<Value> = self
            .services
            .iter()
            .filter(|service| Self::is_set(&args, service.flag))
            .map(|service| self.service(service))
            .collect();
        objects.push(deployment::deployment(&Program {
            name: self.name,
            namespace: self.namespace,
            image: run.image,
            args,
            ports: self.ports,
            // Sidecars and API servers ask every replica, leader or not: none of them has to wait for an update.
            recreate: false,
        }));
        objects.iter_mut().for_each(|object| self.mark(object));
        objects
    }

    fn service(&self, service: &Service) -> Value {
        let ports: Vec<Value> = service
            .ports
            .iter()
            .map(|port| {
                json!({"name": format!("{}-{port}", service.target), "port": port, "targetPort": service.target})
            })
            .collect();
        json!({
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": service.name, "namespace": self.namespace},
            "spec": {"selector": deployment::labels(self.name), "ports": ports},
        })
    }

    fn binding(&self, role_kind: &str, metadata: &Value) -> Value {
        json!({
            "apiVersion": format!("{RBAC}/v1"),
            "kind": format!("{role_kind}Binding"),
            "metadata": metadata,
            "roleRef": {"apiGroup": RBAC, "kind": role_kind, "name": self.name},
            "subjects": [{"kind": "ServiceAccount", "name": self.name, "namespace": self.namespace}],
        })
    }

    fn mark(&self, object: &mut Value) {
        object["metadata"]["labels"][PART_OF] = json!(self.name);
    }

    /// What to do where no image was given.
    pub(crate) fn without_image(&self) -> String {
        format!(
            "No {} was given: run {} yourself, best as the ServiceAccount {}/{}, or nothing acts on the kinds of {}.",
            self.image_flag, self.name, self.namespace, self.name, self.product
        )
    }

    /// Does the conversion of this kind lead to a Service of ours?
    pub(crate) fn converts(&self, kind: &Value) -> bool {
        const SERVICE: &str = "/spec/conversion/webhook/clientConfig/service";
        text(kind, &format!("{SERVICE}/namespace")) == self.namespace
            && self.services.iter().any(|one| one.name == text(kind, &format!("{SERVICE}/name")))
    }
}

fn role(kind: &str, metadata: &Value, rules: impl Iterator<Item = Rule>) -> Value {
    let rules: Vec<Value> = rules
        .map(|rule| json!({"apiGroups": [rule.group], "resources": rule.resources, "verbs": rule.verbs}))
        .collect();
    json!({"apiVersion": format!("{RBAC}/v1"), "kind": kind, "metadata": metadata, "rules": rules})
}
