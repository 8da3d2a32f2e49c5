//! The parts that every controller of this room gets: client, caches, applier, events, and the operator's choices.

use std::sync::Arc;

use kube::api::ApiResource;
use vela_crds::{
    Application, ComponentDefinition, DefinitionRevision, TraitDefinition, WorkloadDefinition, annotations,
};
use vela_runtime::cache::Unread;
use vela_runtime::events::EventRecorder;
use vela_runtime::{Applier, Cache, Computations, Discovery};

use crate::authors::Authors;
use crate::egress::{Egress, EgressOverride};
use crate::hooks::Hooks;
use crate::metrics::Metrics;
use crate::options::Options;

/// Where kubectl notes what it applied last.
const KUBECTL_LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Field manager of everything this controller owns on objects.
pub(crate) const FIELD_MANAGER: &str = "vela-core";

/// The annotations that kubectl and the peer write for themselves: a second copy of each object.
fn unread() -> Unread {
    Unread {
        kinds: vec![
            ApiResource::erase::<Application>(&()),
            ApiResource::erase::<ComponentDefinition>(&()),
            ApiResource::erase::<TraitDefinition>(&()),
            ApiResource::erase::<WorkloadDefinition>(&()),
            ApiResource::erase::<DefinitionRevision>(&()),
        ],
        annotations: &[KUBECTL_LAST_APPLIED, annotations::LAST_APPLIED_CONFIGURATION],
    }
}

/// The context of reconcilers; cheap to clone, shared by all controllers of a process.
#[derive(Clone)]
pub struct Context {
    /// For reads that no cache has, and for status writes.
    pub client: kube::Client,
    /// Shared watches.
    pub cache: Cache,
    /// Kinds to resources.
    pub discovery: Discovery,
    /// Server-side apply with [`FIELD_MANAGER`].
    pub applier: Applier,
    /// Events signed `vela-core`.
    pub events: EventRecorder,
    /// The operator's choices.
    pub options: Arc<Options>,
    /// The extensions of the reconciles of ApplicationConfigurations.
    pub hooks: Arc<Hooks>,
    /// On whose behalf applications are executed; nothing where the controllers act for themselves.
    pub(crate) authors: Option<Arc<Authors>>,
    /// Where templates are evaluated, by controllers and webhooks together.
    pub(crate) computations: Computations,
    /// Asks what objects name by a URL.
    pub(crate) egress: Egress,
    /// Figures about applications.
    pub(crate) metrics: Metrics,
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context").finish_non_exhaustive()
    }
}

impl Context {
    /// Tools that work through this client, with these choices.
    pub fn new(client: kube::Client, options: Options) -> Self {
        let discovery = Discovery::new(client.clone());
        let metrics = Metrics::default().of_each(options.status_metrics);
        let authors = options.authenticate_application.then(|| Arc::new(Authors::new(client.clone())));
        Self {
            authors,
            computations: Computations::new(options.rendering),
            egress: Egress::new(options.egress_policy),
            cache: Cache::without(client.clone(), vec![unread()]),
            applier: Applier::new(client.clone(), discovery.clone(), FIELD_MANAGER),
            events: EventRecorder::new(client.clone(), FIELD_MANAGER),
            options: Arc::new(options),
            hooks: Arc::default(),
            metrics,
            discovery,
            client,
        }
    }

    /// The same, asking this answerer alone.
    #[must_use]
    pub fn with_egress_override(mut self, egress_override: Arc<dyn EgressOverride>) -> Self {
        self.egress = Egress::answered_by(egress_override);
        self
    }

    /// The same with hooks.
    #[must_use]
    pub fn with_hooks(mut self, hooks: Hooks) -> Self {
        self.hooks = Arc::new(hooks);
        self
    }
}
