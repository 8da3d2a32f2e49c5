//! A namespace with the annotation `goharbor.io/project` → its PullSecretBinding, and annotations that say what was made for it.
//!
//! Each step finds what an earlier try left: a project and a robot account by their names, the binding by its owner. What is in a Harbor is
//! never deleted, and of bindings only the one that was made here.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams, TypeMeta};
use serde_json::json;
use vela_runtime::apply::{self, Applier, Conflicts};
use vela_runtime::confirm::{Seen, confirm};
use vela_runtime::controller::{Action, Failure, Reconciler};
use vela_runtime::events::{self, EventRecorder};
use vela_runtime::{Api, Cache, DynamicWatches, Informer, Key, clock, owner as ownership};

use super::super::connection;
use super::super::egress::Egress;
use super::super::error::Error;
use super::super::namespace::{self, SERVER, annotations_of, name_of};
use super::super::outcome::AGAIN;
use super::super::reads::Reads;
use super::bound::{self, Found};
use super::harbor::{Access, Harbor};
use super::wish::{self, ACCOUNT, PROJECT, ROBOT, Wish};
use crate::applied;
use crate::field::Field;
use crate::owner::Owner;

const ACCOUNT_KIND: &str = "ServiceAccount";
/// The accounts of a namespace come a moment after it.
const YOUNG: Duration = Duration::from_secs(5);

/// What the reconciler reads.
pub(super) struct Stores {
    /// All namespaces.
    pub(super) namespaces: Arc<Informer>,
    /// All HarborServerConfigurations.
    pub(super) servers: Arc<Informer>,
    /// All PullSecretBindings.
    pub(super) bindings: Arc<Informer>,
}

/// What the operator works with.
pub(crate) struct Tools {
    pub(crate) client: kube::Client,
    pub(crate) cache: Cache,
    pub(crate) applier: Applier,
    /// How Harbors are asked.
    pub(crate) egress: Egress,
    pub(crate) watches: DynamicWatches,
}

/// Binds namespaces to projects.
pub(super) struct NamespaceReconciler {
    pub(super) tools: Tools,
    pub(super) events: EventRecorder,
    /// The kind of namespaces.
    pub(super) resource: ApiResource,
    pub(super) stores: Stores,
}

impl Reconciler for NamespaceReconciler {
    async fn reconcile(&self, key: Key) -> Result<Action, Failure> {
        let live = self.stores.namespaces.get(&key).filter(|live| live.metadata.deletion_timestamp.is_none());
        let Some(live) = live else {
            // The bindings go with the namespace.
            self.tools.watches.forget(&key);
            return Ok(Action::Done);
        };
        let owner = Owner::of_cache(&live, &self.resource)?;
        let tracked = self.tools.watches.track(&key);
        let pass = Pass { of: self, live: &live, reads: Reads { owner: &owner, tracked: &tracked } };
        let about = events::reference(&with_kind(&live));
        match pass.run().await {
            Ok(None) => Ok(Action::Done),
            Ok(Some(said)) => {
                self.events.normal(&about, "ProjectBound", &said).await;
                Ok(Action::Done)
            }
            Err(error) if error.is_passing() => Err(Failure::retry(error)),
            Err(error) => {
                if let Some(rest) = waits_for_account(&live, &error) {
                    return Ok(Action::RequeueAfter(rest));
                }
                self.events.warning(&about, "ProjectBindError", &error.to_string()).await;
                match (error.waits_for_change(), error.is_of_server()) {
                    // What was read wakes it.
                    (true, _) => Ok(Action::Done),
                    (false, true) => Ok(Action::RequeueAfter(AGAIN)),
                    (false, false) => Err(Failure::retry(error)),
                }
            }
        }
    }
}

/// One reconcile of one namespace.
struct Pass<'a> {
    of: &'a NamespaceReconciler,
    live: &'a Arc<DynamicObject>,
    reads: Reads<'a>,
}

impl Pass<'_> {
    /// What was done, in words; nothing where nothing was to do.
    async fn run(&self) -> Result<Option<String>, Error> {
        let Some(wish) = wish::of(self.live)? else { return self.unbind().await };
        let servers = self.of.stores.servers.list();
        let server = namespace::server_of(self.live, &servers)?.ok_or_else(|| self.no_server())?;
        self.account(&wish).await?;
        let place = name_of(self.live);
        let bindings = self.of.stores.bindings.list_where(|binding| {
            binding.metadata.namespace.as_deref() == Some(place)
                && binding.metadata.deletion_timestamp.is_none()
        });
        match bound::find(&bindings, self.live, name_of(server), &wish) {
            Found::Own(binding) if bound::does(&binding, name_of(server), &wish) => return Ok(None),
            Found::Foreign(binding) => return Ok(self.bound_by(&binding, &wish)),
            Found::Taken(reason) => {
                let object = format!("PullSecretBinding {}", bound::key(self.live));
                return Err(apply::Error::Foreign { object, reason }.into());
            }
            Found::Own(_) | Found::Nothing => {}
        }
        let access = self.access(server, &wish).await?;
        self.bind(server, &wish, access).await?;
        if wish.is_own {
            self.note(&wish, access).await?;
        }
        let Wish { project, account, .. } = &wish;
        Ok(Some(format!(
            "ServiceAccount {account} pulls images of project {project} of HarborServerConfiguration {} as robot account {}: PullSecretBinding {} tells how it is",
            name_of(server),
            access.robot,
            bound::key(self.live).name,
        )))
    }

    fn no_server(&self) -> Error {
        let (described, annotations) = annotations_of(self.live);
        let annotations = Field::new(&described, "metadata.annotations", &annotations);
        let expected =
            "must name a HarborServerConfiguration, since none with spec.default: true is for this namespace";
        annotations.get(SERVER).wrong(expected).into()
    }

    /// The account has to be there; its coming wakes the reconcile.
    async fn account(&self, wish: &Wish) -> Result<(), Error> {
        let key = Key::new(name_of(self.live), wish.account.clone());
        match self.reads.tracked.get("v1", ACCOUNT_KIND, &key).await? {
            Some(_) => Ok(()),
            None => Err(crate::error::Error::Missing {
                object: self.reads.owner.described().to_owned(),
                field: format!("metadata.annotations.{ACCOUNT}"),
                kind: ACCOUNT_KIND.to_owned(),
                name: wish.account.clone(),
            }
            .into()),
        }
    }

    /// Says why nothing is made; a namespace that names its project asked for nothing to be made.
    fn bound_by(&self, binding: &DynamicObject, wish: &Wish) -> Option<String> {
        let (account, binding) = (&wish.account, name_of(binding));
        wish.is_own.then(|| {
            format!("PullSecretBinding {binding} binds ServiceAccount {account} to this Harbor already: no project is made")
        })
    }

    async fn access(&self, server: &DynamicObject, wish: &Wish) -> Result<Access, Error> {
        let configuration = serde_json::to_value(server)?;
        let server = connection::of_configuration(&self.reads, &configuration).await?;
        let harbor = Harbor { server: &server, egress: &self.of.tools.egress };
        match wish.robot.filter(|_| !wish.is_own) {
            Some(robot) => harbor.named(&wish.project, robot).await,
            None => harbor.made(&wish.project).await,
        }
    }

    async fn bind(&self, server: &DynamicObject, wish: &Wish, access: Access) -> Result<(), Error> {
        let desired = bound::desired(self.live, name_of(server), wish, access);
        let mut desired: DynamicObject = serde_json::from_value(desired)?;
        let known = self.of.stores.bindings.get(&bound::key(self.live));
        let recorded = applied::note(&mut desired, known.as_deref());
        let guard = |live: &DynamicObject| ownership::controlled_by(live, self.reads.owner.uid());
        let applied =
            self.of.tools.applier.apply(&desired, known, recorded, Conflicts::Force, &guard).await?;
        self.of.stores.bindings.observe(DynamicObject::clone(&applied.object));
        Ok(())
    }

    /// Writes what was made into the namespace, unless it was changed since it was read.
    async fn note(&self, wish: &Wish, access: Access) -> Result<(), Error> {
        let api: Api<DynamicObject> = Api::all_with(self.of.tools.client.clone(), &self.of.resource);
        let annotations = json!({ PROJECT: wish.project, ROBOT: access.robot.to_string() });
        let version = &self.live.metadata.resource_version;
        let patch = json!({ "metadata": { "resourceVersion": version, "annotations": annotations } });
        let written = api.patch(name_of(self.live), &PatchParams::default(), &Patch::Merge(&patch)).await?;
        self.of.stores.namespaces.observe(written);
        Ok(())
    }

    /// The namespace asks for no project: its own binding goes, where a fresh read of the namespace says the same.
    async fn unbind(&self) -> Result<Option<String>, Error> {
        let key = bound::key(self.live);
        let known = self.of.stores.bindings.get(&key);
        let Some(known) = known
            .filter(|known| bound::is_own(known, self.live) && known.metadata.deletion_timestamp.is_none())
        else {
            return Ok(None);
        };
        let guard = |live: &DynamicObject| ownership::controlled_by(live, self.reads.owner.uid());
        let (cache, resource, live) = (&self.of.tools.cache, &self.of.resource, self.live);
        let still = move || -> BoxFuture<'_, Result<bool, kube::Error>> {
            Box::pin(async move { Ok(confirm(cache, &[Seen { resource, object: live }]).await?.is_some()) })
        };
        let (api_version, kind) = bound::KIND;
        match self.of.tools.applier.delete_confirmed(api_version, kind, &key, &guard, &still).await {
            Ok(Some(_)) => {
                let annotations = known.metadata.annotations.as_ref();
                let project = annotations.and_then(|all| all.get(PROJECT)).cloned().unwrap_or_default();
                Ok(Some(format!(
                    "{PROJECT} names no project any more: PullSecretBinding {} is deleted; project {project} and its robot account stay in the Harbor",
                    key.name
                )))
            }
            // It asks for something else meanwhile, which wakes it; or the binding is not its own any more.
            Ok(None) | Err(apply::Error::Foreign { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// How long an account that is missing may still be on its way.
fn waits_for_account(live: &DynamicObject, error: &Error) -> Option<Duration> {
    let Error::Spec(crate::error::Error::Missing { kind, .. }) = error else { return None };
    let made = live.metadata.creation_timestamp.as_ref().filter(|_| kind == ACCOUNT_KIND)?;
    let age = Duration::try_from(clock::now().duration_since(made.0)).unwrap_or_default();
    YOUNG.checked_sub(age).filter(|rest| !rest.is_zero())
}

/// An event names the kind of its object, which a cached object leaves out.
fn with_kind(live: &DynamicObject) -> DynamicObject {
    let types = Some(TypeMeta { api_version: "v1".to_owned(), kind: "Namespace".to_owned() });
    DynamicObject { types, ..live.clone() }
}
