//! The status of an Application from its graph and the observed objects; never reads a clock: the caller gives the
//! time.

mod conditions;
mod definitions;
mod era;
mod observed_run;
mod phase;
mod policy_objects;
mod references;
mod services;
mod workflow_run;

use std::borrow::Cow;

use jiff::Timestamp;
use serde_json::{Value as Json, json};
use vela_crds::AppRollout;
use vela_crds::condition::reasons;

use crate::diagnostic::Diagnostics;
use crate::graph::Graph;
use crate::health::{self, ComponentHealth};
use crate::manifest::Document;
use crate::observed::{ObjectKey, Observed};
use crate::parse::Era;
use crate::render::Templates;
use crate::rollout::rest::{self, Rest};
use crate::secrets::Secrets;
use crate::transformed::AppliedPolicy;
use crate::workflow::{RunStatus, SCHEDULED_AT, seconds};

pub use conditions::{Condition, ConditionType, REFUSED};
pub use definitions::Definitions;
use era::Progress;
pub use phase::Phase;
use policy_objects::PolicyObjects;
use references::{live_key, reference};
pub use services::Service;
use services::{pods, say_who_waits, scopes, service, shown};

/// How far the workflow of an application is.
#[derive(Debug, Clone, PartialEq)]
enum Run {
    /// By what was observed in this reconcile; the former journal says the rest.
    Observed(RunStatus),
    /// As it is stored after each step.
    Stored(RunStatus),
}

impl Run {
    fn to_json(&self, former: Option<&Json>, now: Timestamp) -> Json {
        match self {
            Self::Observed(run) => observed_run::continued(run, former, now).to_json(),
            Self::Stored(run) => run.to_json(),
        }
    }
}

/// The status of an Application.
#[derive(Debug, Clone, PartialEq)]
pub struct Status {
    /// The form the application is written in, which decides the words.
    era: Era,
    phase: Phase,
    conditions: Vec<Condition>,
    services: Vec<Service>,
    /// The stored form of the components, in the v1alpha2 form.
    components: Vec<Json>,
    revision: Option<(String, u64, String)>,
    applied: Vec<ObjectKey>,
    run: Option<Run>,
    generation: Option<i64>,
    /// The rollout of the application's own plan, as it is written.
    rollout: Option<Json>,
    /// Beside the conditions of the phases.
    definitions: Option<Definitions>,
    /// What became of the policies that change the application.
    policies: Vec<Json>,
    /// The policies that make objects.
    made: PolicyObjects,
    /// The reports of earlier reconciles on the components may be out of date.
    unseen: bool,
}

impl Status {
    /// Its present phase.
    pub fn phase(&self) -> Phase {
        match self.era {
            Era::V1alpha2 => era::phase(self.phase, &self.conditions(), self.progress()),
            Era::V1beta1 => self.phase,
        }
    }

    /// The conditions in order.
    pub fn conditions(&self) -> Vec<Condition> {
        match self.era {
            // An obstacle of a deletion is no phase.
            Era::V1alpha2 if self.phase != Phase::Deleting => {
                era::conditions(&self.conditions, self.progress())
            }
            Era::V1alpha2 | Era::V1beta1 => self.conditions.clone(),
        }
    }

    /// The components in order.
    pub fn services(&self) -> &[Service] {
        &self.services
    }

    /// Is everything applied and healthy?
    pub fn is_running(&self) -> bool {
        self.phase == Phase::Running
    }

    /// Were all objects of all components applied and seen?
    fn is_applied(&self) -> bool {
        self.services.iter().all(|service| service.applied)
    }

    fn progress(&self) -> Progress {
        Progress {
            applied: self.is_applied(),
            kept: self.revision.is_none() && !self.services.is_empty(),
            rolls: self.rollout.is_some(),
        }
    }

    /// The status of a reconcile that failed in a phase before anything was applied. Results of earlier reconciles
    /// (services, revision, applied resources) stay.
    pub fn failed(application: &Document, phase: ConditionType, error: &Diagnostics) -> Self {
        let begun = Self::begun(application, Phase::Rendering);
        let mut conditions: Vec<Condition> = ConditionType::ORDER
            .into_iter()
            .take_while(|type_| *type_ < phase)
            .map(Condition::good)
            .collect();
        conditions.push(Condition::bad(phase, "ReconcileError", error.to_string()));
        conditions.push(Condition::bad(
            ConditionType::Ready,
            "ReconcileError",
            format!("{} failed", phase.name(begun.era)),
        ));
        Self { conditions, ..begun }
    }

    /// Only the phase is known.
    fn begun(application: &Document, phase: Phase) -> Self {
        Self {
            era: Era::of(application.value()),
            phase,
            conditions: Vec::new(),
            services: Vec::new(),
            components: Vec::new(),
            revision: None,
            applied: Vec::new(),
            run: None,
            generation: generation(application),
            rollout: None,
            definitions: None,
            policies: Vec::new(),
            made: PolicyObjects::default(),
            unseen: false,
        }
    }

    /// The same where what runs was kept by the last good revision: its components are told as they were seen. Of an
    /// application that asks for nothing new the phase is that of what runs.
    #[must_use]
    pub fn keeping(mut self, revision: &str, kept: Status, asks_the_same: bool) -> Self {
        let well = kept.is_running();
        let failed = kept.conditions.into_iter().find(|condition| {
            condition.type_ == ConditionType::Workflow.as_str() && condition.reason == "ReconcileError"
        });
        if let Some(ready) = self.conditions.last_mut() {
            ready.message.push_str(&format!("; revision {revision} is kept running"));
            if !well {
                ready.message.push_str(", and is not healthy");
            }
        }
        let at = self.conditions.len().saturating_sub(1);
        self.conditions.splice(at..at, failed);
        self.services = kept.services;
        if asks_the_same {
            self.phase = if well { Phase::Running } else { Phase::Unhealthy };
        }
        self
    }

    /// The same where no reader can look at running workloads: no component is called healthy.
    #[must_use]
    pub fn unseen(self) -> Self {
        Self { unseen: true, ..self }
    }

    /// The same, saying how the definitions it goes by differ from those that are there now.
    #[must_use]
    pub fn with_definitions(self, definitions: Option<Definitions>) -> Self {
        Self { definitions, ..self }
    }

    /// The same, telling what became of the policies that change the application.
    #[must_use]
    pub fn with_policies(self, graph: &Graph) -> Self {
        let transformed = graph.app_file().transformed();
        let applied = transformed.into_iter().flat_map(|transformed| transformed.applied());
        Self { policies: applied.map(AppliedPolicy::to_json).collect(), ..self }
    }

    /// The status of an application that is only recorded: another controller deploys its revision.
    pub fn recorded(graph: &Graph) -> Self {
        let identity = graph.identity();
        let service = |index: usize| Service {
            name: graph.component(index).map_or_else(String::new, |component| component.name.clone()),
            workload: graph.objects_of(index).first().map(|object| object.key()),
            health: ComponentHealth {
                healthy: true,
                workload: health::Health {
                    healthy: true,
                    message: "only the revision is recorded".to_owned(),
                },
                ..ComponentHealth::default()
            },
            scopes: scopes(graph, index),
            applied: false,
        };
        let services: Vec<Service> = (0..graph.len()).map(service).collect();
        Self {
            era: graph.app_file().era(),
            phase: Phase::Running,
            conditions: ConditionType::ORDER.into_iter().map(Condition::good).collect(),
            run: Some(Run::Observed(observed_run::observed(graph, &services, true))),
            services,
            components: era::components(graph),
            revision: Some((identity.name().to_owned(), identity.number(), identity.hash().to_owned())),
            applied: Vec::new(),
            generation: generation(graph.app_file().document()),
            rollout: None,
            definitions: None,
            policies: Vec::new(),
            made: PolicyObjects::default(),
            unseen: false,
        }
    }

    /// The status of an application whose newest configuration waits for a rollout, which its author starts.
    pub fn waiting(graph: &Graph, configuration: &str) -> Self {
        let mut status = Self::recorded(graph);
        for service in &mut status.services {
            service.health.workload.message =
                format!("ApplicationConfiguration {configuration} waits for a rollout to it");
        }
        status
    }

    /// The status of an application whose plan is carried out by an AppRollout, or was by one that is gone; `applied` is
    /// what its rollouts made.
    pub fn rolled(graph: &Graph, rollout: &AppRollout, applied: Vec<ObjectKey>) -> Self {
        let status = rollout.status.clone().unwrap_or_default();
        let (phase, workflow) = match rest::rest(rollout) {
            Some(Rest::Succeeded) => (Phase::Running, Condition::good(ConditionType::Workflow)),
            Some(Rest::Failed(why)) => {
                (Phase::Unhealthy, Condition::bad(ConditionType::Workflow, "RolloutFailed", why))
            }
            Some(Rest::Waits(why)) => {
                (Phase::RollingOut, Condition::bad(ConditionType::Workflow, "RolloutWaits", why))
            }
            None => {
                let doing = rest::doing(rollout);
                (Phase::RollingOut, Condition::bad(ConditionType::Workflow, "RollingOut", doing))
            }
        };
        let done = phase == Phase::Running;
        let ready = match done {
            true => Condition::good(ConditionType::Ready),
            false => Condition::bad(ConditionType::Ready, workflow.reason, workflow.message.clone()),
        };
        let mut conditions: Vec<Condition> =
            ConditionType::ORDER[..4].iter().copied().map(Condition::good).collect();
        conditions.extend([workflow, ready]);
        let mut services = Self::recorded(graph).services;
        for service in &mut services {
            service.health.healthy = done;
            service.health.workload = health::Health { healthy: done, message: pods(&status, &service.name) };
            service.applied = done;
        }
        Self {
            phase,
            conditions,
            run: Some(Run::Observed(observed_run::observed(graph, &services, done))),
            services,
            applied,
            rollout: serde_json::to_value(&status).ok(),
            ..Self::recorded(graph)
        }
    }

    /// The status while its objects are being removed.
    pub fn deleting(application: &Document) -> Self {
        Self::begun(application, Phase::Deleting)
    }

    /// The status of an application whose deletion cannot go on.
    pub fn not_deleted(application: &Document, error: String) -> Self {
        let conditions = vec![Condition::bad(ConditionType::Ready, "CannotDelete", error)];
        Self { conditions, ..Self::deleting(application) }
    }

    /// The readable part of the status, without confidential values. Before it is compared with the former one, which
    /// has none.
    pub fn hide(&mut self, secrets: &Secrets) {
        let hide = |text: &mut String| {
            if let Cow::Owned(hidden) = secrets.hide(text) {
                *text = hidden;
            }
        };
        self.conditions.iter_mut().for_each(|condition| hide(&mut condition.message));
        self.definitions.iter_mut().for_each(|definitions| hide(&mut definitions.message));
        if let Some(Run::Observed(run) | Run::Stored(run)) = &mut self.run {
            run.for_each_message(hide);
        }
        self.made.for_each_message(hide);
        for health in self.services.iter_mut().map(|service| &mut service.health) {
            hide(&mut health.workload.message);
            health.details.values_mut().for_each(hide);
            for trait_ in &mut health.traits {
                hide(&mut trait_.health.message);
                trait_.details.values_mut().for_each(hide);
            }
        }
    }

    /// The status to write: `previous` is the one written before. Equal content
    /// gives an equal status, times included, so that nothing need be written.
    pub fn to_json(&self, previous: Option<&Json>, now: Timestamp) -> Json {
        let now = seconds(now);
        let time = now.to_string();
        let empty = json!({});
        let old = previous.unwrap_or(&empty);
        let old_conditions = old.get("conditions").and_then(Json::as_array).cloned().unwrap_or_default();
        let find =
            |type_: &str| old_conditions.iter().find(|c| c.get("type").and_then(Json::as_str) == Some(type_));
        let mut conditions: Vec<Json> = Vec::new();
        for condition in self.conditions() {
            conditions.push(condition.to_json(find(condition.type_), &time));
        }
        if let Some(condition) = self.definitions.as_ref().map(Definitions::condition) {
            conditions.push(condition.to_json(find(condition.type_), &time));
        }
        if self.phase == Phase::Deleting {
            // The former message stands beside the obstacle of the deletion.
            let types: Vec<Json> = conditions.iter().map(|condition| condition["type"].clone()).collect();
            let before = old_conditions.iter().filter(|old| !types.contains(&old["type"])).cloned();
            conditions = before.chain(conditions).collect();
        }
        let mut status = match self.revision {
            // A reconcile that failed early or a deletion tells only about itself.
            None => old.clone(),
            Some(_) => json!({}),
        };
        if !status.is_object() {
            status = json!({});
        }
        status["status"] = json!(self.phase().as_str());
        status["conditions"] = Json::Array(conditions);
        if let Some(generation) = self.generation {
            status["observedGeneration"] = json!(generation);
        }
        if let Some(rollout) = &self.rollout {
            status["rollout"] = rollout.clone();
        }
        if !self.policies.is_empty() {
            status["appliedApplicationPolicies"] = json!(self.policies);
        }
        if self.unseen {
            for service in status["services"].as_array_mut().into_iter().flatten() {
                service["healthy"] = json!(false);
                service["message"] = json!("how it is cannot be told; see the application's conditions");
            }
        }
        if self.revision.is_none() && !self.services.is_empty() {
            // The reconcile of a former revision looked at the running objects.
            status["services"] = shown(&self.services);
        }
        if let Some((name, number, hash)) = &self.revision {
            status["latestRevision"] = json!({"name": name, "revision": number, "revisionHash": hash});
            status["services"] = shown(&self.services);
            let applied = self.applied.iter().map(|key| reference(key, "workflow"));
            status["appliedResources"] = self.made.references().chain(applied).collect();
            if let Some(policies) = self.made.to_json() {
                status["policy"] = policies;
            }
            // Noted for a workflow that runs again.
            if let Some(at) = old.get(SCHEDULED_AT) {
                status[SCHEDULED_AT] = at.clone();
            }
            if let Some(run) = &self.run {
                status["workflow"] = run.to_json(old.get("workflow"), now);
            }
            // Before the new ones are there, the former ones are.
            let components = match self.is_applied() {
                true => Some(Json::Array(self.components.clone())),
                false => old.get("components").cloned(),
            };
            if let (Era::V1alpha2, Some(components)) = (self.era, components) {
                status["components"] = components;
            }
        }
        status
    }
}

fn generation(application: &Document) -> Option<i64> {
    application.value().get("metadata")?.get("generation")?.as_i64()
}

/// Says how the application is, from what was seen after applying.
pub fn status(graph: &Graph, observed: &Observed, templates: &Templates) -> Status {
    let application = graph.app_file().document();
    let mut services: Vec<Service> =
        (0..graph.len()).map(|index| service(graph, index, observed, templates)).collect();
    say_who_waits(graph, observed, &mut services);
    let failing = graph.rendered().plan().failing();
    let made = PolicyObjects::of(graph, observed);
    let identity = graph.identity();
    let was_finished =
        application.value().get("status").and_then(|status| status.get("workflow")).is_some_and(|old| {
            old.get("finished") == Some(&Json::Bool(true))
                && old.get("appRevision").and_then(Json::as_str) == Some(identity.name())
        });
    let is_well =
        (was_finished && made.manages_health()) || services.iter().all(|service| service.health.healthy);
    let healthy = is_well && failing.is_none() && made.problems().next().is_none();
    let finished = healthy || (was_finished && failing.is_none());
    let phase = match (healthy, was_finished) {
        (true, _) => Phase::Running,
        (false, _) if failing.is_some() => Phase::WorkflowFailed,
        (false, true) => Phase::Unhealthy,
        (false, false) => Phase::RunningWorkflow,
    };
    let mut conditions: Vec<Condition> =
        ConditionType::ORDER[..4].iter().copied().map(Condition::good).collect();
    let unhealthy = services
        .iter()
        .filter(|service| !service.health.healthy)
        .map(|service| format!("{}: {}", service.name, service.health.reason()));
    // A failure comes first: the rest only waits for it.
    let waiting: Vec<String> = failing
        .iter()
        .map(|failing| failing.message.clone())
        .chain(made.problems())
        .chain(unhealthy)
        .collect();
    let any = |is: &dyn Fn(&ObjectKey) -> bool| graph.objects().any(|object| is(&object.key()));
    let reason = match (any(&|key| observed.is_refused(key)), any(&|key| observed.error(key).is_some())) {
        (true, _) => REFUSED,
        (false, true) => "ReconcileError",
        (false, false) if failing.is_some() => "ReconcileError",
        (false, false) => reasons::CREATING,
    };
    conditions.push(match finished {
        true => Condition::good(ConditionType::Workflow),
        false => Condition::bad(ConditionType::Workflow, reason, waiting.join("; ")),
    });
    conditions.push(match healthy {
        true => Condition::good(ConditionType::Ready),
        false => Condition::bad(ConditionType::Ready, "Unavailable", waiting.join("; ")),
    });
    let of_components = graph.objects().skip(made.rendered());
    let applied = of_components.filter_map(|object| live_key(object.key(), observed)).collect();
    Status {
        era: graph.app_file().era(),
        phase,
        conditions,
        run: Some(Run::Observed(observed_run::observed(graph, &services, finished))),
        services,
        components: era::components(graph),
        revision: Some((identity.name().to_owned(), identity.number(), identity.hash().to_owned())),
        applied,
        generation: generation(application),
        rollout: None,
        definitions: None,
        policies: Vec::new(),
        made,
        unseen: false,
    }
}
