//! A step that applies several components → the nodes that it applies. Those of a `deploy` step are at the places of its topology
//! policies.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

use super::node::Node;
use crate::definition::Language;
use crate::definition::version::base_name;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, NotSupported};
use crate::field_path::{self, type_name};
use crate::nearest;
use crate::parse::{self, AppFile};
use crate::placement::{LOCAL, Placement, remote};
use crate::policy::{self, Policies, Replication};
use crate::workflow::{
    APPLY_IN_PARALLEL, APPLY_REMAINING, DEPLOY, DEPLOY_CLOUD_RESOURCE, DEPLOY_TO_ENV, DEPLOY_TO_RUNTIME,
};

/// More nodes in one application are refused: each is rendered and looked after.
const NODES_AT_MOST: usize = 5_000;

/// The nodes of a plan while its steps are read, and which of them a step applies.
pub(super) struct Nodes<'n> {
    pub(super) nodes: &'n mut Vec<Node>,
    pub(super) taken: &'n mut BTreeSet<usize>,
}

/// The components of one step, and the policies that it names.
pub(super) struct Deployed {
    pub(super) nodes: Vec<usize>,
    pub(super) policies: Vec<String>,
}

/// The nodes of a step; what it names and there is not is found with its place.
pub(super) fn deploy(
    app: &AppFile,
    step: &parse::Step,
    (policies, not_supported): (&Policies, NotSupported),
    nodes: &mut Nodes<'_>,
    found: &mut Diagnostics,
) -> Deployed {
    let mut reader = Reader { app, step, not_supported, found };
    let type_ = base_name(&step.type_);
    let names = match type_ {
        DEPLOY_TO_ENV | DEPLOY_CLOUD_RESOURCE => reader.environment(policies).into_iter().collect(),
        _ => reader.names(policies),
    };
    reader.rest();
    let excepted = reader.exceptions();
    reader.clusters();
    let is_ordered = type_ != APPLY_IN_PARALLEL && reader.get("parallel") != Some(&Json::Bool(true));
    let mut known: BTreeMap<(usize, Placement), usize> = BTreeMap::new();
    for index in nodes.taken.iter() {
        let Node { component, placement, .. } = &nodes.nodes[*index];
        known.insert((*component, key(placement)), *index);
    }
    let mut all: BTreeSet<usize> = BTreeSet::new();
    let places = match type_ {
        // The object is here whatever place its Secret goes to.
        DEPLOY_CLOUD_RESOURCE => vec![Placement::new(LOCAL, "")],
        _ => placements(&names, policies),
    };
    for placement in places {
        let mut here = Vec::new();
        for (component, replica) in copies(app, &reader.components(&excepted), &names, policies) {
            let placement = Placement { replica, ..placement.clone() };
            let at = known.entry((component, key(&placement))).or_insert_with(|| {
                nodes.nodes.push(Node::new(component, placement));
                nodes.nodes.len() - 1
            });
            nodes.taken.insert(*at);
            here.push(*at);
            if nodes.nodes.len() > NODES_AT_MOST {
                break;
            }
        }
        if nodes.nodes.len() > NODES_AT_MOST {
            let message = format!("more than {NODES_AT_MOST} components at all their places");
            reader.error(Code::Limit, &step.path, message, None);
            break;
        }
        wait_for_each_other(app, &here, is_ordered, nodes.nodes);
        all.extend(here);
    }
    Deployed { nodes: all.into_iter().collect(), policies: names }
}

/// The template of a step about cloud resources looks for a policy of environments by itself where none is named: there must be
/// one only.
pub(super) fn one_policy(app: &AppFile, step: &parse::Step, found: &mut Diagnostics) {
    let is_named = step.properties["policy"].as_str().is_some_and(|name| !name.is_empty());
    let spec = app.document().value().get("spec").and_then(Json::as_object);
    if is_named || spec.is_none_or(|spec| policy::bindings(spec) < 2) {
        return;
    }
    let message = "the application has several env-binding policies, and the step names none";
    let error = Diagnostic::error(Code::MissingField, message).hint("write `policy` with the name of one");
    found.push(error.at(app.document(), format!("{}.properties", step.path)));
}

/// The places of the topology policies that are named, each once; the local cluster where none is.
fn placements(names: &[String], policies: &Policies) -> Vec<Placement> {
    let mut placements: Vec<Placement> = Vec::new();
    let named = policies
        .topologies
        .iter()
        .chain(&policies.environments)
        .filter(|topology| names.contains(&topology.name));
    let mut is_placed = false;
    for topology in named {
        is_placed = true;
        for placement in &topology.placements {
            if !placements.iter().any(|known| known.is_same_place(placement)) {
                placements.push(placement.clone());
            }
        }
    }
    if !is_placed {
        placements.push(Placement::new(LOCAL, ""));
    }
    placements
}

/// The components with the key of each of their copies: those that a replication policy selects come last, once for each key.
fn copies(
    app: &AppFile,
    components: &[usize],
    names: &[String],
    policies: &Policies,
) -> Vec<(usize, String)> {
    let named: Vec<&Replication> =
        policies.replications.iter().filter(|policy| names.contains(&policy.name)).collect();
    let mut all = Vec::new();
    let mut replicated = Vec::new();
    for component in components {
        let name = &app.components()[*component].name;
        match named.iter().find(|policy| policy.selects(name)) {
            Some(policy) => replicated.extend(policy.keys.iter().map(|key| (*component, key.clone()))),
            None => all.push((*component, String::new())),
        }
    }
    all.extend(replicated);
    all
}

/// A place by which nodes are found, however its cluster was named.
fn key(placement: &Placement) -> Placement {
    Placement { cluster: remote(&placement.cluster).to_owned(), ..placement.clone() }
}

/// `dependsOn`, unless nothing waits for health, and the givers of `inputs`, among what is deployed to one place.
fn wait_for_each_other(app: &AppFile, here: &[usize], is_ordered: bool, nodes: &mut [Node]) {
    let mut by_name: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    let mut by_output: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for at in here {
        let component = &app.components()[nodes[*at].component];
        by_name.entry(component.name.as_str()).or_default().push(*at);
        for output in &component.outputs {
            by_output.entry(output.name.as_str()).or_default().push(*at);
        }
    }
    for at in here {
        // A copy waits for the copy of the same key, where there is one.
        let replica = nodes[*at].placement.replica.clone();
        let alike = |others: &Vec<usize>| -> Vec<usize> {
            let same: Vec<usize> =
                others.iter().copied().filter(|other| nodes[*other].placement.replica == replica).collect();
            if same.is_empty() { others.clone() } else { same }
        };
        let component = &app.components()[nodes[*at].component];
        let named =
            component.depends_on.iter().filter(|_| is_ordered).filter_map(|name| by_name.get(name.as_str()));
        let given = component.inputs.iter().filter_map(|input| by_output.get(input.from.as_str()));
        let others: Vec<usize> = named.chain(given).flat_map(alike).filter(|other| other != at).collect();
        nodes[*at].waits_for.extend(others);
    }
}

/// The nodes that steps apply, in the place of all that there might be: policies make further components of those written. Gives
/// their new numbers, too. A component that no step applies is not the application's, which is said.
pub(super) fn used(
    app: &AppFile,
    nodes: &[Node],
    taken: &BTreeSet<usize>,
    found: &mut Diagnostics,
) -> (Vec<Node>, BTreeMap<usize, usize>) {
    let places: BTreeMap<usize, usize> = taken.iter().enumerate().map(|(new, old)| (*old, new)).collect();
    let name = |node: &Node| app.components()[node.component].name.as_str();
    let mut by_name: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (new, old) in taken.iter().enumerate() {
        by_name.entry(name(&nodes[*old])).or_default().push(new);
    }
    let mut used = Vec::with_capacity(taken.len());
    for (new, old) in taken.iter().enumerate() {
        let others = nodes[*old].waits_for.iter().flat_map(|other| match places.get(other) {
            Some(place) => vec![*place],
            // It is applied as its policies change it.
            None => by_name.get(name(&nodes[*other])).cloned().unwrap_or_default(),
        });
        let waits_for = others.filter(|other| *other != new).collect();
        used.push(Node { waits_for, ..nodes[*old].clone() });
    }
    let paths: BTreeSet<&str> =
        used.iter().map(|node| app.components()[node.component].path.as_str()).collect();
    // An environment may have it under another name.
    let is_left = |component: &&parse::Component| {
        !by_name.contains_key(component.name.as_str()) && !paths.contains(component.path.as_str())
    };
    for component in app.components().iter().filter(is_left) {
        let message = format!(
            "no workflow step applies component {:?}: it is not part of what is deployed",
            component.name
        );
        let hint = "add it to what a deploy step selects, or take it out of the application";
        let warning = Diagnostic::warning(Code::UnknownReference, message).hint(hint);
        found.push(warning.at(app.document(), &component.path));
    }
    twice(app, &used, found);
    (used, places)
}

/// One component cannot be two things at one place.
fn twice(app: &AppFile, nodes: &[Node], found: &mut Diagnostics) {
    let mut seen: BTreeMap<(&str, Placement), usize> = BTreeMap::new();
    for node in nodes {
        let component = &app.components()[node.component];
        let first = *seen.entry((component.name.as_str(), key(&node.placement))).or_insert(node.component);
        if first != node.component {
            let message = format!(
                "two steps deploy component {:?} to one place, as different policies change it, which is not supported yet",
                component.name
            );
            let hint = "give one of the steps a topology policy with another namespace";
            let error = Diagnostic::error(Code::NotSupported, message).hint(hint);
            found.push(error.at(app.document(), &component.path));
        }
    }
}

/// Reads the properties of a step.
struct Reader<'a> {
    app: &'a AppFile,
    step: &'a parse::Step,
    not_supported: NotSupported,
    found: &'a mut Diagnostics,
}

impl Reader<'_> {
    fn path(&self, field: &str) -> String {
        let mut path = format!("{}.properties", self.step.path);
        field_path::push_field(&mut path, field);
        path
    }

    fn get(&self, field: &str) -> Option<&Json> {
        self.step.properties.get(field).filter(|value| !value.is_null())
    }

    fn error(&mut self, code: Code, path: &str, message: String, hint: Option<String>) {
        let error = Diagnostic::error(code, message).hint_opt(hint);
        self.found.push(error.at(self.app.document(), path.to_owned()));
    }

    /// Names of the policies that a `deploy` step goes by.
    fn names(&mut self, policies: &Policies) -> Vec<String> {
        let named = self.texts(DEPLOY, "policies", "policies", "the name of a policy");
        let names: Vec<String> = named.into_iter().map(|(_, name)| name).collect();
        for (index, name) in names.iter().enumerate() {
            self.known(index, name, policies);
        }
        names
    }

    /// The environment that a `deploy2env` step goes by.
    fn environment(&mut self, policies: &Policies) -> Option<String> {
        for field in ["env", "policy"] {
            if let Some(value) = self.get(field).filter(|value| !value.is_string()) {
                let message = format!("expected a string, found {}", type_name(value));
                self.error(Code::WrongType, &self.path(field), message, None);
                return None;
            }
        }
        let spec = self.app.document().value().get("spec").and_then(Json::as_object)?;
        let chosen = policy::environment(spec, &self.step.properties);
        let all = policies.environments.iter().map(|one| one.name.as_str());
        if let Some(name) = chosen.as_deref().filter(|name| all.clone().any(|known| known == *name)) {
            return Some(name.to_owned());
        }
        let (code, message) = match (self.get("env"), &chosen) {
            (None, _) => (Code::MissingField, "the step names no environment".to_owned()),
            (_, None) => (Code::UnknownReference, "the application has no env-binding policy".to_owned()),
            (_, Some(name)) => (Code::UnknownReference, format!("there is no environment {name:?}")),
        };
        let hint = nearest::advice(chosen.as_deref().unwrap_or_default(), "environments", all);
        self.error(code, &self.path("env"), message, hint);
        None
    }

    /// The fields that say how the step runs rather than which objects it applies. Undeclared fields are reported for
    /// all steps alike.
    fn rest(&mut self) {
        for field in ["auto", "ignoreTerraformComponent"] {
            if let Some(value) = self.get(field).filter(|value| !value.is_boolean()) {
                let message = format!("expected true or false, found {}", type_name(value));
                self.error(Code::WrongType, &self.path(field), message, None);
            }
        }
        if let Some(value) =
            self.get("parallelism").filter(|value| value.as_u64().is_none_or(|count| count == 0))
        {
            let message = format!("parallelism cannot be smaller than 1, found {value}");
            self.error(Code::WrongType, &self.path("parallelism"), message, None);
        }
    }

    /// A step that goes by an absent policy would deploy objects that no author asked for.
    fn known(&mut self, index: usize, name: &str, policies: &Policies) {
        let of_objects = policies.about_objects.iter().find(|policy| policy.name == name);
        if let Some(policy) = of_objects {
            let message = format!(
                "policy {name:?} of type {:?} says nothing of what is deployed where: it counts for the whole application",
                policy.type_
            );
            let path = format!("{}[{index}]", self.path("policies"));
            let warning = Diagnostic::warning(Code::UnknownReference, message);
            return self.found.push(warning.at(self.app.document(), path));
        }
        let all: Vec<&str> = policies.deployable().collect();
        if all.contains(&name) {
            return;
        }
        let message = format!("policy {name:?} not found");
        let hint = nearest::did_you_mean(name, all).or_else(|| {
            let make = "write it under spec.policies, or make a Policy (core.oam.dev/v1alpha1) of that name beside the application";
            Some(make.to_owned())
        });
        self.error(Code::UnknownReference, &format!("{}[{index}]", self.path("policies")), message, hint);
    }

    /// Names of the components that `apply-remaining` leaves out.
    fn exceptions(&mut self) -> BTreeSet<String> {
        let mut excepted = BTreeSet::new();
        for (path, name) in self.texts(APPLY_REMAINING, "exceptions", "components", "the name of a component")
        {
            if self.app.components().iter().any(|component| component.name == name) {
                excepted.insert(name);
                continue;
            }
            let all = self.app.components().iter().map(|component| component.name.as_str());
            let hint = nearest::did_you_mean(&name, all);
            let message =
                format!("step {:?} leaves out component {name:?}, which does not exist", self.step.name);
            self.error(Code::UnknownReference, &path, message, hint);
        }
        excepted
    }

    /// The clusters of `deploy2runtime`.
    fn clusters(&mut self) {
        for (path, name) in self.texts(DEPLOY_TO_RUNTIME, "clusters", "clusters", "the name of a cluster") {
            if !remote(&name).is_empty() {
                let message = format!("cluster {name:?}: other clusters are not supported yet");
                let finding = (self.not_supported)(Code::NotSupported, message)
                    .hint(format!("write {LOCAL:?}, or leave it out"));
                self.found.push(finding.at(self.app.document(), path));
            }
        }
    }

    /// The names in a list of a step of this type, with their paths.
    fn texts(&mut self, type_: &str, field: &str, of_what: &str, one: &str) -> Vec<(String, String)> {
        let is_meant = base_name(&self.step.type_) == type_;
        let Some(value) = self.get(field).filter(|_| is_meant).cloned() else { return Vec::new() };
        let path = self.path(field);
        let Json::Array(elements) = value else {
            let message = format!("expected a list of names of {of_what}, found {}", type_name(&value));
            self.error(Code::WrongType, &path, message, None);
            return Vec::new();
        };
        let mut read = Vec::with_capacity(elements.len());
        for (index, element) in elements.iter().enumerate() {
            let path = format!("{path}[{index}]");
            match element.as_str() {
                Some(text) => read.push((path, text.to_owned())),
                None => {
                    let message = format!("expected {one}, found {}", type_name(element));
                    self.error(Code::WrongType, &path, message, None);
                }
            }
        }
        read
    }

    /// The components that the step applies. A `deploy` step leaves out those that Terraform makes, unless it says otherwise.
    fn components(&self, excepted: &BTreeSet<String>) -> Vec<usize> {
        let with_terraform = base_name(&self.step.type_) != DEPLOY
            || self.get("ignoreTerraformComponent") == Some(&Json::Bool(false));
        let is_terraform = |component: &usize| {
            let definition = &self.app.components()[*component].definition;
            matches!(definition.language(), Language::Terraform(_))
        };
        let all = self.step.deploys.iter().copied();
        let all = all.filter(|component| !excepted.contains(&self.app.components()[*component].name));
        let only_terraform = base_name(&self.step.type_) == DEPLOY_CLOUD_RESOURCE;
        let is_meant = |component: &usize| match is_terraform(component) {
            true => with_terraform,
            false => !only_terraform,
        };
        all.filter(is_meant).collect()
    }
}
