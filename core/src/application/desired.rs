//! A graph → the desired set as plain data: its objects by component, in the order they are written; may not write.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use kube::api::DynamicObject;
use vela_crds::labels;
use vela_engine::parse::Era;
use vela_engine::policy::{GarbageCollect, ObjectRules, Rules};
use vela_engine::{Definition, Graph, ObjectKey, render};
use vela_runtime::Discovery;
use vela_runtime::apply as runtime_apply;

use super::inventory::{Entry, Owned, Record};

/// Objects of policies come before those of all components, and go after them.
const WAVE_OF_POLICIES: i32 = -1;

/// The desired set, as plain data.
#[derive(Clone, Debug)]
pub(crate) struct Desired {
    /// Content hash of the application.
    pub(crate) identity: String,
    /// Name of its revision.
    pub(super) revision: String,
    /// Generation of the Application.
    pub(crate) generation: Option<i64>,
    /// The definitions it was rendered from, beside the Application.
    pub(crate) definitions: Vec<Arc<Definition>>,
    /// The policies that make objects, in the order written: they are applied before all components.
    pub(super) policies: Vec<Node>,
    /// Components in the order written.
    pub(crate) nodes: Vec<Node>,
    /// The controller that applies the objects of the application.
    pub(super) form: Form,
    /// When what a revision does not name any more goes.
    pub(super) garbage_collect: GarbageCollect,
    /// Components whose objects are not all named yet, with the type of the trait that is rendered later; without one where
    /// the component itself waits for a trait. Their former objects stay.
    pub(super) deferred: BTreeSet<(String, Option<String>)>,
}

/// The objects of one component, or of one policy.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// Name of the component; "" where none makes them.
    pub(crate) component: String,
    /// A policy of the application makes them.
    pub(crate) by_policy: bool,
    /// Number of components that come before it; deletion goes the other way.
    pub(crate) wave: i32,
    pub(crate) pieces: Vec<Piece>,
}

/// One desired object.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    /// As the graph names it: with a namespace even where its kind has none.
    pub(crate) name: ObjectKey,
    pub(crate) object: DynamicObject,
    pub(crate) trait_type: Option<String>,
    /// The rules of the application's policies for it.
    pub(crate) rules: ObjectRules,
    /// It is left as it is, where it is: a trait that is rendered later has a part in it.
    pub(super) held: bool,
}

/// How an application reaches the cluster, which decides when something unwanted may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Its objects are applied by its own reconcile.
    Applied,
    /// Its objects are applied by the reconcile of a configuration that is stored for it. `keeps_former`: a rollout goes
    /// from one revision to the next, so what was stored for former revisions stays.
    Stored { keeps_former: bool },
}

impl Form {
    /// The form an application is written in decides.
    pub(super) fn of(graph: &Graph) -> Self {
        match graph.app_file().era() {
            Era::V1alpha2 => Self::Stored { keeps_former: graph.app_file().rolls_out() },
            Era::V1beta1 => Self::Applied,
        }
    }

    /// Does the record keep this entry although the present revision does not name it?
    pub(super) fn keeps(self, owned: &Owned) -> bool {
        self == Self::Stored { keeps_former: true } && owned.is_stored_form()
    }
}

impl Desired {
    /// The graph as it is applied: objects of kinds without namespaces lose theirs.
    pub(super) async fn of(
        discovery: &Discovery,
        graph: &Graph,
        generation: Option<i64>,
    ) -> Result<Self, serde_json::Error> {
        let plan = graph.rendered().plan();
        let mut nodes = Vec::with_capacity(graph.len());
        for index in 0..graph.len() {
            let wave = graph.waves().iter().position(|wave| wave.contains(&index)).unwrap_or(0);
            let pieces = pieces(discovery, plan.rules(), graph.objects_of(index)).await?;
            let component =
                graph.component(index).map(|component| component.name.clone()).unwrap_or_default();
            let wave = i32::try_from(wave).unwrap_or(i32::MAX);
            nodes.push(Node { component, by_policy: false, wave, pieces });
        }
        let mut policies = Vec::with_capacity(graph.policies().len());
        for policy in graph.policies() {
            let pieces = pieces(discovery, plan.rules(), &policy.objects).await?;
            policies.push(Node { component: String::new(), by_policy: true, wave: WAVE_OF_POLICIES, pieces });
        }
        Ok(Self {
            identity: graph.identity().hash().to_owned(),
            revision: graph.identity().name().to_owned(),
            generation,
            definitions: definitions(graph),
            policies,
            nodes,
            form: Form::Applied,
            garbage_collect: plan.rules().garbage_collect().clone(),
            deferred: deferred(graph),
        })
    }

    /// Does the record keep this entry although the present revision does not name it?
    pub(super) fn keeps(&self, owned: &Owned, entry: &Entry) -> bool {
        let is_retained = entry.retained || entry.by_step || self.garbage_collect.keeps_legacy();
        self.form.keeps(owned) || is_retained || self.deferred.iter().any(|one| is_of(entry, one))
    }

    /// Does the record have it as an object of a trait that is rendered later?
    pub(super) fn is_of_later_trait(&self, entry: &Entry) -> bool {
        let is_same = |(component, trait_type): &(String, Option<String>)| {
            trait_type.is_some()
                && entry.component.as_ref() == Some(component)
                && entry.trait_type == *trait_type
        };
        self.deferred.iter().any(is_same)
    }

    /// The same, leaving alone what the record has as an object of a trait that is rendered later: without that trait it
    /// would lose a part.
    pub(super) fn holding(&self, record: &Record) -> Cow<'_, Self> {
        if self.deferred.is_empty() {
            return Cow::Borrowed(self);
        }
        let mut desired = self.clone();
        for piece in desired.nodes.iter_mut().flat_map(|node| &mut node.pieces) {
            let known = record.entries.get(&piece.owned());
            piece.held = known.is_some_and(|entry| self.is_of_later_trait(entry));
        }
        Cow::Owned(desired)
    }

    /// Was everything made before that is not named yet? Then the set is as complete as it was.
    pub(super) fn was_made(&self, record: &Record) -> bool {
        let was_made = |(component, trait_type): &(String, Option<String>)| {
            let is_same = |entry: &Entry| entry.component.as_ref() == Some(component);
            record.entries.values().any(|entry| is_same(entry) && entry.trait_type == *trait_type)
        };
        self.deferred.iter().all(was_made)
    }

    /// The same without the objects of these nodes: the workflow passed them over.
    pub(super) fn without(&self, nodes: &BTreeSet<usize>) -> Self {
        let mut desired = self.clone();
        for (_, node) in desired.nodes.iter_mut().enumerate().filter(|(index, _)| nodes.contains(index)) {
            node.pieces.clear();
        }
        desired
    }

    /// Every object with its component or policy.
    pub(super) fn pieces(&self) -> impl Iterator<Item = (&Node, &Piece)> {
        self.policies
            .iter()
            .chain(&self.nodes)
            .flat_map(|node| node.pieces.iter().map(move |piece| (node, piece)))
    }
}

impl Piece {
    /// Its identity in the record: in the cluster that the graph names, without a namespace where its kind has none.
    pub(super) fn owned(&self) -> Owned {
        Owned { cluster: self.name.cluster.clone(), ..Owned::of(&self.object) }
    }

    /// Hash of the object without the name of the revision it is made by: what it means does not depend on that.
    pub(super) fn content(&self) -> String {
        let mut object = self.object.clone();
        if let Some(labels) = &mut object.metadata.labels {
            labels.remove(labels::APP_REVISION);
        }
        runtime_apply::hash(&object)
    }
}

/// Rendered objects as they are applied.
async fn pieces(
    discovery: &Discovery,
    rules: &Rules,
    objects: &[render::RenderedObject],
) -> Result<Vec<Piece>, serde_json::Error> {
    let mut pieces = Vec::with_capacity(objects.len());
    for rendered in objects {
        let trait_type = match &rendered.role {
            render::Role::Trait { type_, .. } => Some(type_.clone()),
            _ => None,
        };
        let mut object: DynamicObject = serde_json::from_value(rendered.object.clone())?;
        // An unknown kind is told of when its object is applied.
        if discovery.resolve_object(&object).await.is_ok_and(|kind| !kind.namespaced) {
            object.metadata.namespace = None;
        }
        let rules = rules.of(&rendered.object);
        pieces.push(Piece { name: rendered.key(), object, trait_type, rules, held: false });
    }
    Ok(pieces)
}

/// Is it an object of this component, or of this trait of it?
fn is_of(entry: &Entry, (component, trait_type): &(String, Option<String>)) -> bool {
    let is_trait = trait_type.is_none() || entry.trait_type == *trait_type;
    entry.component.as_ref() == Some(component) && is_trait
}

/// Objects without a name yet, because they wait for other objects.
fn deferred(graph: &Graph) -> BTreeSet<(String, Option<String>)> {
    let mut all = BTreeSet::new();
    for node in 0..graph.len() {
        let Some(component) = graph.component(node) else { continue };
        if graph.is_withheld(node) {
            all.insert((component.name.clone(), None));
        }
        for deferred in graph.deferred(node) {
            let type_ = component.traits.get(deferred.index).map(|trait_| trait_.type_.clone());
            all.insert((component.name.clone(), type_));
        }
    }
    all
}

/// Every definition that the application was rendered from.
pub(super) fn definitions(graph: &Graph) -> Vec<Arc<Definition>> {
    graph.app_file().definitions().into_iter().cloned().collect()
}
