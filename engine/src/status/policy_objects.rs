//! The policies that make objects in the status of an application: how they are, and what of theirs was applied.

use serde_json::{Value as Json, json};

use super::conditions::REFUSED;
use super::references::{live_key, reference};
use crate::graph::Graph;
use crate::health::{self, PolicyHealth};
use crate::observed::{ObjectKey, Observed};

/// The policies that make objects.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct PolicyObjects {
    policies: Vec<PolicyHealth>,
    /// How many objects they make.
    rendered: usize,
    /// Those of the objects that are there.
    applied: Vec<ObjectKey>,
    /// Another try of one of their objects ends alike.
    is_refused: bool,
    /// A definition says that its policy judges the application's health.
    manages_health: bool,
}

impl PolicyObjects {
    pub(super) fn of(graph: &Graph, observed: &Observed) -> Self {
        let policies = graph.policies();
        let keys: Vec<ObjectKey> =
            policies.iter().flat_map(|policy| &policy.objects).map(|object| object.key()).collect();
        let manages = |index: usize| {
            let definition = graph.app_file().policies()[index].object_definition();
            definition.is_some_and(|definition| definition.spec()["manageHealthCheck"] == true)
        };
        Self {
            manages_health: policies.iter().any(|policy| manages(policy.index)),
            policies: policies.iter().map(|policy| health::policy(graph, policy, observed)).collect(),
            rendered: keys.len(),
            is_refused: keys.iter().any(|key| observed.is_refused(key)),
            applied: keys.into_iter().filter_map(|key| live_key(key, observed)).collect(),
        }
    }

    /// How many objects they make.
    pub(super) fn rendered(&self) -> usize {
        self.rendered
    }

    /// Is the health of components left to a policy, once they are applied?
    pub(super) fn manages_health(&self) -> bool {
        self.manages_health
    }

    /// The policies whose objects could not be applied, with the reasons.
    pub(super) fn problems(&self) -> impl Iterator<Item = String> {
        let problem = |policy: &PolicyHealth| {
            policy.problem.as_ref().map(|problem| format!("policy {:?}: {problem}", policy.name))
        };
        self.policies.iter().filter_map(problem)
    }

    /// The reason of the condition that tells the problems.
    pub(super) fn reason(&self) -> &'static str {
        if self.is_refused { REFUSED } else { "ReconcileError" }
    }

    pub(super) fn for_each_message(&mut self, change: impl Fn(&mut String)) {
        for policy in &mut self.policies {
            change(&mut policy.health.message);
            policy.problem.iter_mut().for_each(&change);
        }
    }

    /// The objects that are there, as `status.appliedResources` names them.
    pub(super) fn references(&self) -> impl Iterator<Item = Json> {
        self.applied.iter().map(|key| reference(key, "policy"))
    }

    /// The entries of `status.policy`; nothing where no policy makes objects.
    pub(super) fn to_json(&self) -> Option<Json> {
        let entry = |policy: &PolicyHealth| {
            let mut status = json!({"healthy": policy.health.healthy});
            if !policy.health.message.is_empty() {
                status["message"] = json!(policy.health.message);
            }
            json!({"name": policy.name, "type": policy.type_, "status": status})
        };
        (!self.policies.is_empty()).then(|| self.policies.iter().map(entry).collect())
    }
}
