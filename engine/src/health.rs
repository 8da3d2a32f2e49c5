//! Decides the health of live objects: by the definition's policy, else by how far the object is ([`readiness`]).

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};

use crate::definition::Definition;
use crate::definition::stage::Stage;
use crate::diagnostic::{Code, Diagnostics};
use crate::graph::Graph;
use crate::observed::{ObjectKey, Observed};
use crate::readiness;
use crate::render::{RenderedObject, RenderedPolicy, Role, Templates};
use crate::secrets;

/// Healthy or not, and what to tell people.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Health {
    /// Is it as it should be?
    pub healthy: bool,
    /// For people; may be empty.
    pub message: String,
}

/// Health of one trait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraitHealth {
    /// The trait's type.
    pub type_: String,
    /// Its health.
    pub health: Health,
    /// Further texts of its definition.
    pub details: Details,
    /// Its objects are not made yet.
    pub pending: bool,
    /// It is made when its component is healthy, which does not wait for it.
    pub late: bool,
}

/// Texts by name that a definition shows in the status.
pub type Details = BTreeMap<String, String>;

/// Health of one component.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ComponentHealth {
    /// Workload and traits together.
    pub healthy: bool,
    /// The workload alone.
    pub workload: Health,
    /// Further texts of the component's definition.
    pub details: Details,
    /// Each trait, in order.
    pub traits: Vec<TraitHealth>,
}

/// The message of a component that waits for an unhealthy one, in the words of upstream.
const WITHHELD: &str = "waiting for previous stage healthy";

impl ComponentHealth {
    /// Is it healthy, whatever the traits are like that are made afterwards?
    pub fn is_dispatched(&self) -> bool {
        let mut traits = self.traits.iter().filter(|trait_| !trait_.late);
        self.workload.healthy && traits.all(|trait_| trait_.health.healthy)
    }
}

/// Evaluates a definition's texts: `isHealth` of the policy and `message` of the custom status. An empty
/// policy is healthy, an empty status says nothing. Errors make it unhealthy and silent, as in KubeVela.
pub fn evaluate(
    policy: &str,
    custom_status: &str,
    context: &Json,
    parameter: &Json,
    templates: &Templates,
) -> Health {
    judged(policy, custom_status, context, parameter, templates).0
}

/// The same, and what kept the policy from an answer.
fn judged(
    policy: &str,
    custom_status: &str,
    context: &Json,
    parameter: &Json,
    templates: &Templates,
) -> (Health, Option<Diagnostics>) {
    let answer = match policy.trim() {
        "" => Ok(Json::Bool(true)),
        _ => field(templates, "health policy", policy, context, parameter, "isHealth"),
    };
    let healthy = answer.as_ref().is_ok_and(|answer| *answer == json!(true));
    let mut context = context.clone();
    if let Some(fields) = context.as_object_mut() {
        let status = fields.entry("status").or_insert_with(|| json!({}));
        if let Some(status) = status.as_object_mut() {
            status.insert("healthy".to_owned(), Json::Bool(healthy));
        }
    }
    let message = match custom_status.trim() {
        "" => String::new(),
        _ => match field(templates, "custom status", custom_status, &context, parameter, "message") {
            Ok(Json::String(message)) => message,
            _ => String::new(),
        },
    };
    (Health { healthy, message }, answer.err())
}

fn field(
    templates: &Templates,
    title: &str,
    text: &str,
    context: &Json,
    parameter: &Json,
    field: &str,
) -> Result<Json, Diagnostics> {
    templates.text(title, text)?.field(parameter, context, field)
}

/// Health of a component of the graph.
pub fn component(graph: &Graph, index: usize, observed: &Observed, templates: &Templates) -> ComponentHealth {
    let (Some(component), Some(rendered)) =
        (graph.component(index), graph.rendered().components().get(index))
    else {
        return ComponentHealth::default();
    };
    let objects = graph.objects_of(index);
    if let [missing, ..] = graph.pending(index) {
        let workload = Health { healthy: false, message: format!("waiting: {missing}") };
        return ComponentHealth { workload, ..ComponentHealth::default() };
    }
    let mut context = rendered.context.clone();
    let mut outputs = Map::new();
    let mut output = None;
    for object in objects {
        let live = observed.object(&object.key()).map(secrets::shown_to_templates);
        match &object.role {
            Role::Workload => output = live,
            Role::Auxiliary { resource } | Role::Trait { resource, .. } | Role::Policy { resource, .. } => {
                if let Some(live) = live.filter(|_| !resource.is_empty()) {
                    outputs.insert(resource.clone(), live);
                }
            }
        }
    }
    if let Some(fields) = context.as_object_mut() {
        fields.insert("outputs".to_owned(), Json::Object(outputs));
        if let Some(output) = &output {
            fields.insert("output".to_owned(), output.clone());
        }
    }
    let judge = |definition: &Definition, parameter: &Json, live: Health| {
        let (context, shown) = detailed(definition, &context, parameter, templates);
        let health = match definition.health_policy().trim() {
            "" => Health {
                message: match definition.custom_status().trim() {
                    "" => live.message,
                    text => evaluate("", text, &context, parameter, templates).message,
                },
                healthy: live.healthy,
            },
            policy if live.healthy || output.is_some() => {
                let (mut health, errors) =
                    judged(policy, definition.custom_status(), &context, parameter, templates);
                if let Some(error) = errors
                    .iter()
                    .flatten()
                    .find(|error| matches!(error.code, Code::BadDefinition | Code::Limit))
                {
                    let title = definition.title();
                    health.message = format!("the health policy of {title} is broken: {}", error.message);
                }
                health
            }
            _ => live,
        };
        (health, shown)
    };
    let key = objects.first().map(|object| object.key());
    let (mut workload, details) = match (graph.is_withheld(index), left_away(key.iter(), observed)) {
        (true, _) => (Health { healthy: false, message: WITHHELD.to_owned() }, Details::new()),
        (false, Some(health)) => (health, Details::new()),
        (false, None) => judge(&component.definition, &component.properties, live(key, observed)),
    };
    if let Some(problem) =
        problem(objects.iter().filter(|o| !matches!(o.role, Role::Trait { .. })).map(|o| o.key()), observed)
    {
        workload = Health { healthy: false, message: problem };
    }
    let traits: Vec<TraitHealth> = component
        .traits
        .iter()
        .enumerate()
        .map(|(number, trait_)| {
            let own = || {
                objects
                    .iter()
                    .filter(move |o| matches!(&o.role, Role::Trait { index, .. } if *index == number))
                    .map(|o| o.key())
            };
            let late = trait_.definition.stage() == Ok(Stage::PostDispatch);
            let waits = waits(graph, index, number);
            let pending = waits.is_some();
            let keys: Vec<ObjectKey> = own().collect();
            let absent = left_away(keys.iter(), observed);
            let (health, details) = match (waits.or_else(|| problem(own(), observed)), absent) {
                (Some(message), _) => (Health { healthy: false, message }, Details::new()),
                (None, Some(health)) => (health, Details::new()),
                (None, None) => judge(
                    &trait_.definition,
                    &trait_.properties,
                    Health { healthy: true, message: String::new() },
                ),
            };
            TraitHealth { type_: trait_.type_.clone(), health, details, pending, late }
        })
        .collect();
    let healthy = workload.healthy && traits.iter().all(|trait_| trait_.health.healthy);
    ComponentHealth { healthy, workload, details, traits }
}

/// Health of a policy that makes objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyHealth {
    /// Its name.
    pub name: String,
    /// Its type.
    pub type_: String,
    /// Its objects together: a PolicyDefinition has no health policy of its own.
    pub health: Health,
    /// Why one of its objects is not as it was rendered, where the reconcile could not apply it.
    pub problem: Option<String>,
}

/// Health of a policy of the graph.
pub fn policy(graph: &Graph, policy: &RenderedPolicy, observed: &Observed) -> PolicyHealth {
    let type_ = graph.app_file().policies()[policy.index].type_.clone();
    let keys: Vec<ObjectKey> = policy.objects.iter().map(RenderedObject::key).collect();
    let problem = problem(keys.iter().cloned(), observed);
    let health = match (&problem, left_away(keys.iter(), observed)) {
        (Some(problem), _) => Health { healthy: false, message: problem.clone() },
        (None, Some(health)) => health,
        (None, None) => {
            let unready = keys.into_iter().map(|key| (key.to_string(), live(Some(key), observed)));
            let mut first = unready.filter(|(_, health)| !health.healthy).map(|(key, health)| Health {
                healthy: false,
                message: format!("{key}: {}", health.message),
            });
            first.next().unwrap_or(Health { healthy: true, message: String::new() })
        }
    };
    PolicyHealth { name: policy.name.clone(), type_, health, problem }
}

/// The health where a user deleted one of these objects and a policy keeps it away: that is as it should be.
fn left_away<'k>(mut keys: impl Iterator<Item = &'k ObjectKey>, observed: &Observed) -> Option<Health> {
    let key = keys.find(|key| observed.is_left_away(key))?;
    let message = format!("{key} was deleted, and the policy apply-once does not make it again");
    Some(Health { healthy: true, message })
}

/// Why the objects of a trait are not made yet.
fn waits(graph: &Graph, node: usize, number: usize) -> Option<String> {
    let deferred = graph.deferred(node).iter().find(|deferred| deferred.index == number);
    let goes_before = || {
        let trait_ = graph.component(node).and_then(|component| component.traits.get(number));
        trait_.is_some_and(|trait_| trait_.definition.stage() == Ok(Stage::PreDispatch))
    };
    match deferred {
        Some(deferred) => Some(deferred.why.clone()),
        None => (graph.is_withheld(node) && !goes_before()).then(|| WITHHELD.to_owned()),
    }
}

/// The context with the details of the status, and those of them that are shown. Unknown details are left out as a
/// whole: the policy then finds nothing and waits.
fn detailed<'a>(
    definition: &Definition,
    context: &'a Json,
    parameter: &Json,
    templates: &Templates,
) -> (Cow<'a, Json>, Details) {
    let text = definition.status_details().trim();
    if text.is_empty() {
        return (Cow::Borrowed(context), Details::new());
    }
    // On one line with the text, so that places in it stay what they are.
    let text = format!("details: {{{text}\n}}");
    let Ok(details) = field(templates, "status details", &text, context, parameter, "details") else {
        return (Cow::Borrowed(context), Details::new());
    };
    let fields = details.as_object().into_iter().flatten();
    let shown = fields.filter(|(name, _)| !name.starts_with('$')).map(|(name, value)| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        (name.clone(), text)
    });
    let shown = shown.collect();
    let mut context = context.clone();
    if let Some(fields) = context.as_object_mut() {
        fields.insert("status".to_owned(), json!({"details": details}));
    }
    (Cow::Owned(context), shown)
}

/// The first object that could not be applied or is not there.
fn problem(keys: impl Iterator<Item = ObjectKey>, observed: &Observed) -> Option<String> {
    for key in keys {
        if let Some(error) = observed.error(&key) {
            // An error that names the object already needs no second name.
            let names_object = error.contains(&key.to_string());
            return Some(if names_object { error.to_owned() } else { format!("{key}: {error}") });
        }
        if observed.object(&key).is_none() && !observed.is_left_away(&key) {
            return Some(format!("{key} is not there yet"));
        }
    }
    None
}

fn live(key: Option<ObjectKey>, observed: &Observed) -> Health {
    match key.as_ref().and_then(|key| observed.object(key)) {
        Some(object) => {
            let readiness = readiness::of(object);
            Health { healthy: readiness.is_ready(), message: readiness.message }
        }
        None => Health {
            healthy: false,
            message: key.map_or_else(String::new, |key| format!("{key} is not there yet")),
        },
    }
}
