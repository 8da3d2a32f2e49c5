//! Argo Rollouts, watched while the cluster has the kind: a watch of the CRDs tells when it comes and goes. Where it is absent, or
//! this account may not read it, everything else goes on.

use std::sync::Arc;
use std::time::Duration;

use kube::api::{ApiResource, GroupVersionKind};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use vela_runtime::cache::Watch;
use vela_runtime::queue::Queue;
use vela_runtime::{Cache, Change, Controller, Informer, Key, Predicate};

use crate::claims::Claims;
use crate::controller::matters_to_others;
use crate::workload::{ROLLOUT, WorkloadKind};

const CRD: &str = "rollouts.argoproj.io";
/// The start waits for each first list so long, so that the Services of Rollouts have their owners at once; then it goes on.
const FIRST_LIST_WITHIN: Duration = Duration::from_secs(2);

/// Who is woken by a change of a Rollout: the controller of each kind.
pub(crate) type Queues = Vec<(WorkloadKind, Arc<Queue<Key>>)>;

/// The queues of these controllers, of one kind each.
pub(crate) fn queues(kinds: &[WorkloadKind], controllers: &[Controller]) -> Queues {
    kinds.iter().copied().zip(controllers.iter().map(Controller::queue)).collect()
}

/// The watch of the kind, which comes and goes with it.
pub(crate) struct Rollouts {
    client: kube::Client,
    claims: Claims,
    queues: Queues,
    crds: Cache,
    installed: watch::Receiver<bool>,
    /// Its own, so that the manager neither waits for it nor fails without it.
    cache: Option<Cache>,
}

impl Rollouts {
    /// Watches them if the cluster has them now.
    pub(crate) async fn begin(client: kube::Client, claims: Claims, queues: Queues) -> Self {
        let crds = Cache::new(client.clone());
        let (sender, installed) = watch::channel(false);
        let resource = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
        let kinds = crds.informer(Watch::metadata(ApiResource::from_gvk(&resource)));
        kinds.on_change(Arc::new(move |change| {
            if let Some(installed) = is_installed(change) {
                sender.send_replace(installed);
            }
        }));
        first_list(&kinds).await;
        let mut rollouts = Self { client, claims, queues, crds, installed, cache: None };
        if let Some(workloads) = rollouts.follow().await {
            first_list(&workloads).await;
        }
        rollouts
    }

    /// Follows the kind until the operator stops.
    pub(crate) async fn run(mut self, stop: CancellationToken) {
        loop {
            self.follow().await;
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                changed = self.installed.changed() => if changed.is_err() { break },
            }
        }
        self.leave().await;
        self.crds.stop().await;
    }

    /// Begins the watch, or ends it; out comes what has just begun.
    async fn follow(&mut self) -> Option<Arc<Informer>> {
        let installed = *self.installed.borrow_and_update();
        if !installed {
            self.leave().await;
            return None;
        }
        if self.cache.is_some() {
            return None;
        }
        tracing::info!(kind = CRD, "the cluster has Rollouts; they get Services, too");
        let cache = Cache::new(self.client.clone());
        let workloads = self.claims.watch(ROLLOUT, &cache);
        self.wake_by(&workloads);
        self.cache = Some(cache);
        Some(workloads)
    }

    async fn leave(&mut self) {
        let Some(cache) = self.cache.take() else { return };
        self.claims.leave(ROLLOUT);
        cache.stop().await;
    }

    fn wake_by(&self, workloads: &Informer) {
        let (claims, queues) = (self.claims.clone(), self.queues.clone());
        let (of_its_own, of_others) = (Predicate::status_aside(), matters_to_others());
        workloads.on_change(Arc::new(move |change| {
            let itself = change.object().map(|object| Key::of(object)).filter(|_| of_its_own.holds(change));
            for (kind, queue) in &queues {
                if *kind == ROLLOUT {
                    itself.iter().for_each(|key| queue.add(key.clone()));
                }
                if of_others.holds(change) {
                    claims.keys_beside(*kind, ROLLOUT, change).into_iter().for_each(|key| queue.add(key));
                }
            }
        }));
    }
}

/// Whether the kind is there, where the change is about it.
fn is_installed(change: &Change) -> Option<bool> {
    let named = change.object().is_some_and(|crd| crd.metadata.name.as_deref() == Some(CRD));
    named.then(|| change.new.as_ref().is_some_and(|crd| crd.metadata.deletion_timestamp.is_none()))
}

async fn first_list(informer: &Informer) {
    match tokio::time::timeout(FIRST_LIST_WITHIN, informer.synced()).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(%error, "Rollouts get no Services until then"),
        Err(_) => tracing::warn!(
            kind = informer.watch().resource.kind,
            "no list came yet; Rollouts get Services later"
        ),
    }
}
