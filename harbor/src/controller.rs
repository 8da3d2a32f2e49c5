//! One reconciler for all kinds of goharbor.io: builds the children, applies them in the order of their graph, says on
//! the object how far it is, and deletes what is no longer asked for.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use kube::api::{ApiResource, DynamicObject, GroupVersionKind};
use serde_json::{Value, json};
use vela_crds::goharbor_io::{GROUP, KINDS, Kind, SETTINGS, VERSION};
use vela_kinds::readiness::State;
use vela_runtime::apply::{self, Applier, Conflicts};
use vela_runtime::cache::Watch;
use vela_runtime::confirm::{Seen, confirm};
use vela_runtime::controller::{Action, Controller, Failure, Reconciler};
use vela_runtime::dynamic_watch::{self, DynamicWatches, TrackedReads};
use vela_runtime::egress::EgressPolicy;
use vela_runtime::graph::{Cause, Graph, Requeue, Run};
use vela_runtime::{Cache, Discovery, Informer, Key, Predicate, owner as ownership};

use crate::applied;
use crate::child::{child_cause, encode, malformed, unread, value};
use crate::defaults::Defaults;
use crate::mutation::{Context, Mutations};
use crate::owner::Owner;
use crate::parts::{self, Content, Copied, Found, Id, Node, Settings, kinds};
use crate::passwords::{self, Chance};
use crate::readiness;
use crate::services;
use crate::settings::{self, ConfigMapReconciler, Egress, EgressOverride, SettingsReconciler};
use crate::status::{ChildError, Verdict, status};
use crate::status_write;
use crate::validation;

/// The kind that describes a server.
const SERVER: &str = "HarborServerConfiguration";
/// The kind that holds the settings of a Harbor.
const CONFIGURATION: Kind = SETTINGS[0];
const FIELD_MANAGER: &str = "vela-harbor";
/// The kind whose children are services with data of their own.
const CLUSTER: &str = "HarborCluster";
/// Children of one object that are written at the same time.
const CONCURRENT_CHILDREN: usize = 8;

/// The kinds of children that the controller deletes when the parent no longer asks for them.
const SWEPT: [kinds::Kind; 18] = [
    kinds::SERVICE,
    kinds::CONFIG_MAP,
    kinds::SECRET,
    kinds::DEPLOYMENT,
    kinds::NETWORK_POLICY,
    kinds::INGRESS,
    kinds::CERTIFICATE,
    kinds::ISSUER,
    kinds::goharbor("ChartMuseum"),
    kinds::goharbor("Core"),
    kinds::goharbor("Exporter"),
    kinds::goharbor("JobService"),
    kinds::goharbor("NotaryServer"),
    kinds::goharbor("NotarySigner"),
    kinds::goharbor("Portal"),
    kinds::goharbor("Registry"),
    kinds::goharbor("RegistryController"),
    kinds::goharbor("Trivy"),
];

/// The same for a HarborCluster: its services hold data and their passwords, so only what has done its work is deleted.
const SWEPT_OF_CLUSTER: [kinds::Kind; 1] = [kinds::JOB];

/// The parts that all controllers share.
#[derive(Clone)]
pub struct Operator {
    client: kube::Client,
    cache: Cache,
    discovery: Discovery,
    applier: Applier,
    settings: Arc<Settings>,
    chance: Chance,
    defaults: Arc<Defaults>,
    egress: Egress,
    /// All HarborConfigurations.
    configurations: Arc<Informer>,
}

impl std::fmt::Debug for Operator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Operator").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Operator {
    /// An operator of the cluster that the client reaches; passwords are made of this chance.
    ///
    /// # Errors
    /// The kinds of goharbor.io cannot be generated: a mistake in their tables.
    pub fn new(
        client: kube::Client,
        cache: Cache,
        settings: Settings,
        chance: Chance,
    ) -> Result<Self, vela_crds::GenerateError> {
        let discovery = Discovery::new(client.clone());
        let applier = Applier::new(client.clone(), discovery.clone(), FIELD_MANAGER);
        let (settings, defaults) = (Arc::new(settings), Arc::new(Defaults::new()?));
        let egress = Egress { policy: EgressPolicy::Services, instead: None };
        let configurations = cache.informer(Watch::full(resource(&CONFIGURATION)));
        Ok(Self { client, cache, discovery, applier, settings, chance, defaults, egress, configurations })
    }

    /// The same, asking Harbors at other addresses.
    #[must_use]
    pub fn with_egress(mut self, egress: EgressPolicy) -> Self {
        self.egress.policy = egress;
        self
    }

    /// The same, asking this in place of Harbors.
    #[must_use]
    pub fn answered_by(mut self, egress_override: EgressOverride) -> Self {
        self.egress.instead = Some(egress_override);
        self
    }

    /// A controller for each kind, each with so many workers.
    #[must_use]
    pub fn controllers(&self, workers: usize) -> Vec<Controller> {
        // A RegistryController is looked after by the controller of its Registry.
        let kinds = KINDS.iter().filter(|kind| kind.kind != "RegistryController");
        let parts =
            kinds.map(|kind| self.controller(kind, workers, Self::part_reconciler)).map(|controller| {
                match controller.name() == format!("harbor-{}", CLUSTER.to_lowercase()) {
                    true => controller.watches(&self.configurations, settings::clusters_of),
                    false => controller,
                }
            });
        let settings = SETTINGS.iter().map(|kind| self.controller(kind, workers, Self::settings_reconciler));
        parts.chain(settings).chain([self.config_maps(), self.namespaces(workers)]).collect()
    }

    /// What is written as a ConfigMap, as it was before there were HarborConfigurations.
    fn config_maps(&self) -> Controller {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "ConfigMap"));
        let informer = self.cache.informer(Watch::full(resource));
        let stores = settings::Stores { maps: informer.clone(), made: self.configurations.clone() };
        let reconciler =
            ConfigMapReconciler::new(self.client.clone(), self.applier.clone(), stores, &self.defaults);
        Controller::new("harbor-configuration-configmap", reconciler)
            .watches(&informer, settings::configuring)
            .owns(&self.configurations, "", "ConfigMap")
    }

    /// Namespaces that ask for a project of a Harbor.
    fn namespaces(&self, workers: usize) -> Controller {
        let [_, servers, bindings] =
            SETTINGS.each_ref().map(|kind| self.cache.informer(Watch::full(resource(kind))));
        let tools = settings::ProjectTools {
            client: self.client.clone(),
            cache: self.cache.clone(),
            applier: self.applier.clone(),
            egress: self.egress.clone(),
            watches: DynamicWatches::new(self.client.clone(), &self.cache, &self.discovery, &[]),
        };
        settings::projects(tools, servers, bindings).workers(workers)
    }

    fn controller<R: Reconciler>(
        &self,
        kind: &Kind,
        workers: usize,
        reconciler: impl Fn(&Self, ApiResource, Arc<Informer>, DynamicWatches) -> R,
    ) -> Controller {
        let resource = resource(kind);
        let informer = self.cache.informer(Watch::full(resource.clone()));
        let watches = DynamicWatches::new(self.client.clone(), &self.cache, &self.discovery, &[]);
        let reconciler = reconciler(self, resource, informer.clone(), watches.clone());
        let name = format!("harbor-{}", kind.singular());
        let mut controller = Controller::new(name, reconciler).for_kind(&informer).workers(workers);
        if kind.kind == SERVER {
            // Which of them is the default depends on all of them. The handler lives as long as the informer.
            let all = Arc::downgrade(&informer);
            controller = controller.watches(informer.only(Predicate::status_aside()), move |_| {
                all.upgrade().map(|all| all.keys()).unwrap_or_default()
            });
        }
        watches.wake(controller.queue());
        controller
    }

    fn part_reconciler(
        &self,
        resource: ApiResource,
        informer: Arc<Informer>,
        watches: DynamicWatches,
    ) -> PartReconciler {
        PartReconciler { operator: self.clone(), resource, informer, watches }
    }

    fn settings_reconciler(
        &self,
        resource: ApiResource,
        informer: Arc<Informer>,
        watches: DynamicWatches,
    ) -> SettingsReconciler {
        let (client, applier) = (self.client.clone(), self.applier.clone());
        let (chance, egress) = (self.chance.clone(), self.egress.clone());
        SettingsReconciler { client, applier, chance, egress, resource, informer, watches }
    }
}

struct PartReconciler {
    operator: Operator,
    resource: ApiResource,
    informer: Arc<Informer>,
    watches: DynamicWatches,
}

impl Reconciler for PartReconciler {
    async fn reconcile(&self, key: Key) -> Result<Action, Failure> {
        let live = self.informer.get(&key).filter(|live| live.metadata.deletion_timestamp.is_none());
        let Some(live) = live else {
            // Its children name it as their owner: the garbage collector deletes them.
            self.watches.forget(&key);
            return Ok(Action::Done);
        };
        let owner = Owner::of_cache(&live, &self.resource)?;
        let reads = self.watches.track(&key);
        let pass = Pass { operator: &self.operator, owner: &owner, reads: &reads };
        let Passed { verdict, requeue, mut services } = pass.run(&live, &self.resource).await?;
        if owner.kind() == CLUSTER {
            services.extend(settings::condition(&self.operator.configurations, &owner));
        }
        let mut status = status(&owner, &verdict, &services, &self.operator.settings);
        if owner.kind() == CLUSTER {
            services::summarize(&owner, &verdict, &mut status);
        }
        status_write::write(&self.operator.client, &self.informer, &live, status).await?;
        match requeue {
            Requeue::Never | Requeue::WhenChanged => Ok(Action::Done),
            Requeue::After(time) => Ok(Action::RequeueAfter(time)),
            Requeue::BackOff => Err(Failure::retry(verdict.message)),
        }
    }
}

/// One reconcile of one object.
struct Pass<'a> {
    operator: &'a Operator,
    owner: &'a Owner,
    reads: &'a TrackedReads,
}

/// What became of it.
struct Passed {
    verdict: Verdict,
    requeue: Requeue,
    /// Conditions of single services.
    services: Vec<Value>,
}

impl Passed {
    /// Nothing was done: only a change helps.
    fn in_vain(verdict: Verdict) -> Self {
        Self { verdict, requeue: Requeue::WhenChanged, services: Vec::new() }
    }
}

impl Pass<'_> {
    async fn run(&self, live: &DynamicObject, resource: &ApiResource) -> Result<Passed, Failure> {
        // The webhooks say the same, where they run.
        let wrong = validation::standing(self.owner.object());
        if !wrong.is_empty() {
            return Ok(Passed::in_vain(Verdict::invalid(self.owner, &wrong)));
        }
        let nodes = match self.children().await? {
            Ok(nodes) => nodes,
            // The reconcile read the missing object, so its creation wakes it.
            Err(error) => return Ok(Passed::in_vain(Verdict::of_build(&error))),
        };
        let mut graph = Graph::new();
        for node in &nodes {
            graph
                .add(node.id.clone(), node, node.needs.iter().cloned())
                .map_err(|error| Failure::terminal(error.to_string()))?;
        }
        let ready: Mutex<BTreeMap<Id, Value>> = Mutex::default();
        let report = graph.run(&Run::new(CONCURRENT_CHILDREN), |_, node| self.child(node, &ready)).await;
        if report.is_complete() {
            // Only now is it known that all that is asked for is there.
            self.sweep(&nodes, live, resource).await?;
        }
        let services = if self.owner.kind() == CLUSTER { services::of(&nodes, &report) } else { Vec::new() };
        Ok(Passed { verdict: Verdict::of_report(&report), requeue: report.requeue(), services })
    }

    async fn children(&self) -> Result<Result<Vec<Node>, parts::Error>, Failure> {
        let wanted = match parts::reads(self.owner) {
            Ok(wanted) => wanted,
            Err(error) => return Ok(Err(error)),
        };
        let mut found = Found::new();
        for id in wanted {
            let object =
                self.reads.get(id.api_version, id.kind, &self.key(&id)).await.map_err(Failure::retry)?;
            if let Some(object) = object {
                found.add(value(&id, &object).map_err(Failure::terminal)?);
            }
        }
        Ok(parts::children(self.owner, &found, &self.operator.settings))
    }

    fn key(&self, id: &Id) -> Key {
        Key::new(self.owner.namespace(), id.name.clone())
    }

    /// Brings one child to what is wanted, and says whether others may rely on it.
    async fn child(&self, node: &Node, ready: &Mutex<BTreeMap<Id, Value>>) -> Result<(), Cause<ChildError>> {
        let id = &node.id;
        let known = self.reads.get(id.api_version, id.kind, &self.key(id)).await;
        let known = known.map_err(|error| unread(node, error))?;
        let mut object = match &node.content {
            Content::Awaited => {
                let Some(known) = known else { return Err(self.not_ready(id, "it is not there yet", false)) };
                let live = value(id, &known).map_err(|error| malformed(id, &error))?;
                return self.keep_if_ready(node, live, ready);
            }
            Content::Required(field) => {
                let Some(known) = known else { return Err(Cause::NotReady(self.missing(id, field).into())) };
                let known = value(id, &known).map_err(|error| malformed(id, &error))?;
                ready.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone(), known);
                return Ok(());
            }
            Content::Object(object) => object.clone(),
            Content::Copied(object, keys) => self.copied(object.clone(), keys, ready)?,
            Content::Secret(object, keys) => {
                let mut object = object.clone();
                object["stringData"] = match &known {
                    Some(known) if keys.iter().all(|(key, _)| !known.data["data"][key].is_null()) => {
                        json!({})
                    }
                    _ => passwords::make(keys, &self.operator.chance),
                };
                if object["stringData"] == json!({}) {
                    object["data"] =
                        known.as_ref().map(|known| known.data["data"].clone()).unwrap_or_default();
                }
                object
            }
        };
        encode(&mut object);
        {
            let needs = ready.lock().unwrap_or_else(PoisonError::into_inner);
            let context =
                Context { owner: self.owner, node, needs: &needs, settings: &self.operator.settings };
            let mutated = Mutations::of_children().apply(&mut object, &context);
            mutated.map_err(|error| Cause::Unrecoverable(error.into()))?;
        }
        if id.api_version == self.owner.object()["apiVersion"] {
            self.operator.defaults.fill(&mut object);
        }
        if let Some(known) = &known {
            self.unrolled(&mut object, known);
        }
        let mut desired: DynamicObject =
            serde_json::from_value(object).map_err(|error| malformed(id, &error))?;
        let recorded = applied::note(&mut desired, known.as_deref());
        let guard = |live: &DynamicObject| ownership::controlled_by(live, self.owner.uid());
        let applied = self.operator.applier.apply(&desired, known, recorded, Conflicts::Force, &guard).await;
        let applied = applied.map_err(child_cause)?;
        self.reads.observe(&applied.object);
        let live = value(id, &applied.object).map_err(|error| malformed(id, &error))?;
        self.keep_if_ready(node, live, ready)
    }

    /// Others may rely on a child that does its work.
    fn keep_if_ready(
        &self,
        node: &Node,
        live: Value,
        ready: &Mutex<BTreeMap<Id, Value>>,
    ) -> Result<(), Cause<ChildError>> {
        let state = readiness::of(&live);
        if node.checked && !state.is_ready() {
            return Err(self.not_ready(&node.id, &state.message, state.state == State::Failed));
        }
        ready.lock().unwrap_or_else(PoisonError::into_inner).insert(node.id.clone(), live);
        Ok(())
    }

    fn not_ready(&self, id: &Id, message: &str, broken: bool) -> Cause<ChildError> {
        let name = format!("{}/{}", self.owner.namespace(), id.name);
        Cause::NotReady(ChildError::NotReady {
            kind: id.group_kind(),
            name,
            message: message.to_owned(),
            broken,
        })
    }

    /// The secret with the values of those that it waited for.
    fn copied(
        &self,
        mut object: Value,
        keys: &[Copied],
        ready: &Mutex<BTreeMap<Id, Value>>,
    ) -> Result<Value, Cause<ChildError>> {
        let ready = ready.lock().unwrap_or_else(PoisonError::into_inner);
        for Copied { key, from, from_key } in keys {
            let value = ready.get(from).map(|live| live["data"][from_key].clone());
            let Some(value) = value.filter(|value| !value.is_null()) else {
                let message = format!("it has no key {from_key} yet");
                return Err(self.not_ready(from, &message, false));
            };
            object["data"][*key] = value;
        }
        Ok(object)
    }

    /// A Secret that holds what is wanted is not written only because its owner counts another generation: its version
    /// would change, which rolls pods.
    fn unrolled(&self, object: &mut Value, known: &DynamicObject) {
        if object["kind"] != kinds::SECRET.1 || known.data["data"] != object["data"] {
            return;
        }
        let (owner, namespace) = (self.owner, self.owner.namespace());
        let name = format!("{namespace}.{}.checksum.goharbor.io/{}", owner.controller(), owner.name());
        if let Some(old) = known.metadata.annotations.as_ref().and_then(|annotations| annotations.get(&name))
        {
            object["metadata"]["annotations"][name] = json!(old);
        }
    }

    fn missing(&self, id: &Id, field: &str) -> parts::Error {
        parts::Error::Missing {
            object: self.owner.described().to_owned(),
            field: field.to_owned(),
            kind: id.kind.to_owned(),
            name: id.name.clone(),
        }
    }

    /// Deletes what the object owns and does not ask for any more.
    async fn sweep(
        &self,
        nodes: &[Node],
        live: &DynamicObject,
        resource: &ApiResource,
    ) -> Result<(), Failure> {
        let (namespace, uid) = (self.owner.namespace(), self.owner.uid());
        let kinds = if self.owner.kind() == CLUSTER { &SWEPT_OF_CLUSTER[..] } else { &SWEPT[..] };
        for (api_version, kind) in kinds.iter().copied() {
            let owned = match self.reads.owned_by(api_version, kind, namespace, uid).await {
                Ok(owned) => owned,
                // The cluster does not have a kind that it does not know.
                Err(dynamic_watch::Error::Missing { .. }) => continue,
                Err(error) => return Err(Failure::retry(error)),
            };
            for object in owned {
                let key = Key::of(&object);
                let wanted = |node: &Node| {
                    node.id.kind == kind && node.id.api_version == api_version && node.id.name == key.name
                };
                if nodes.iter().any(wanted) || object.metadata.deletion_timestamp.is_some() {
                    continue;
                }
                let guard = |live: &DynamicObject| ownership::controlled_by(live, uid);
                let cache = &self.operator.cache;
                let still = move || -> futures::future::BoxFuture<'_, Result<bool, kube::Error>> {
                    Box::pin(async move {
                        Ok(confirm(cache, &[Seen { resource, object: live }]).await?.is_some())
                    })
                };
                match self.operator.applier.delete_confirmed(api_version, kind, &key, &guard, &still).await {
                    Ok(Some(_)) | Err(apply::Error::Foreign { .. }) => {}
                    // The object asks for something else meanwhile, which wakes it.
                    Ok(None) => return Ok(()),
                    Err(error) => return Err(Failure::retry(error)),
                }
            }
        }
        Ok(())
    }
}

fn resource(kind: &Kind) -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(GROUP, VERSION, kind.kind), kind.plural)
}
