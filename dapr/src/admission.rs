//! The sidecar injector as API servers see it: answers their reviews of pods, reads what `injector` needs of the cluster, and registers
//! itself for new pods. It decides nothing.

use std::net::SocketAddr;
use std::sync::Arc;

use futures::future::BoxFuture;
use http::Uri;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use vela_runtime::Api;
use vela_runtime::webhook::{Handler, Reply, Server};

use crate::injector::{Answer, Facts, InjectError, Review, SidecarSettings, Wish, inject, wish};
use crate::metrics::InjectionMetrics;
use crate::resources::{Identity, ServedKind, Viewer};
use crate::serving::{LABEL, LOOK_EVERY, MANAGER, ServedNames};

/// Where an API server asks.
pub const INJECT_PATH: &str = "/mutate";
/// The Service under which API servers reach us, and the name of the registration: those of Dapr's own injector.
pub(crate) const INJECTOR_SERVICE: &str = "dapr-sidecar-injector";
const WEBHOOK: &str = "sidecar-injector.dapr.io";
/// Field manager of the registration; the authority in it has another.
const REGISTRAR: &str = "vela-dapr-injector";
/// The Configuration that holds for the control plane.
const CONTROL_PLANE: &str = "daprsystem";
/// A pod waits so long at most for an answer.
const TIMEOUT_SECONDS: u32 = 5;
/// Components in one answer of the API server, and in one namespace.
const PAGE: u32 = 500;
const COMPONENTS_AT_MOST: usize = 5000;

/// Where the injector is served, and what all its sidecars have in common.
#[derive(Clone, Debug)]
pub struct SidecarInjector {
    /// Where.
    pub address: SocketAddr,
    /// How API servers reach it where that is not by the Service: `https://host:port`.
    pub url: Option<Uri>,
    /// What sidecars have in common.
    pub settings: SidecarSettings,
}

impl SidecarInjector {
    /// Adds the names under which API servers reach it.
    pub(crate) fn name(&self, names: &mut ServedNames) {
        names.service(INJECTOR_SERVICE, &self.settings.namespace);
        if let Some(host) = self.url.as_ref().and_then(Uri::host) {
            names.host(host.trim_matches(['[', ']']));
        }
    }

    /// A server that has not started.
    pub(crate) fn server(
        &self,
        client: kube::Client,
        names: &ServedNames,
        counts: InjectionMetrics,
    ) -> Server {
        let handler = Injector::new(client.clone(), self.settings.clone(), counts);
        names.server(client, &self.settings.namespace, self.address, Arc::new(handler))
    }

    /// Registers us for new pods, and again when that is changed or taken away, until the operator stops. The authority is written by
    /// the server.
    pub(crate) async fn register(self, client: kube::Client, stop: CancellationToken) {
        let kind =
            GroupVersionKind::gvk("admissionregistration.k8s.io", "v1", "MutatingWebhookConfiguration");
        let api: Api<DynamicObject> = Api::all_with(client, &ApiResource::from_gvk(&kind));
        let wanted = self.registration();
        loop {
            if let Err(error) = register_once(&api, &wanted).await {
                tracing::warn!(%error, name = INJECTOR_SERVICE, "the injector cannot be registered");
            }
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
        }
    }

    /// Without an answer, pods start without sidecars (`Ignore`), as with Dapr's own injector: it is asked about the pods of the whole
    /// cluster. Those of the cluster's own namespace and of the control plane are left out, so that neither waits for itself.
    fn registration(&self) -> Value {
        let namespace = &self.settings.namespace;
        let client = match &self.url {
            Some(url) => json!({"url": format!("{}{INJECT_PATH}", url.to_string().trim_end_matches('/'))}),
            None => {
                json!({"service": {"name": INJECTOR_SERVICE, "namespace": namespace, "path": INJECT_PATH}})
            }
        };
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": INJECTOR_SERVICE, "labels": {LABEL: MANAGER}},
            "webhooks": [{
                "name": WEBHOOK,
                "clientConfig": client,
                "rules": [{
                    "apiGroups": [""],
                    "apiVersions": ["v1"],
                    "resources": ["pods"],
                    "operations": ["CREATE"],
                    "scope": "Namespaced",
                }],
                "namespaceSelector": {"matchExpressions": [{
                    "key": "kubernetes.io/metadata.name",
                    "operator": "NotIn",
                    "values": ["kube-system", namespace],
                }]},
                "admissionReviewVersions": ["v1", "v1beta1"],
                "sideEffects": "None",
                "timeoutSeconds": TIMEOUT_SECONDS,
                "failurePolicy": "Ignore",
                "reinvocationPolicy": "IfNeeded",
            }],
        })
    }
}

async fn register_once(api: &Api<DynamicObject>, wanted: &Value) -> Result<(), kube::Error> {
    let live = api.get_opt(INJECTOR_SERVICE).await?;
    let stands = |live: &DynamicObject| {
        let labels = live.metadata.labels.as_ref();
        labels.and_then(|labels| labels.get(LABEL)).is_some_and(|label| label == MANAGER)
            && holds(&live.data["webhooks"], &wanted["webhooks"])
    };
    if live.as_ref().is_some_and(stands) {
        return Ok(());
    }
    api.patch(INJECTOR_SERVICE, &PatchParams::apply(REGISTRAR).force(), &Patch::Apply(wanted)).await?;
    tracing::info!(name = INJECTOR_SERVICE, "registered the injector for new pods");
    Ok(())
}

/// Whether everything that is wanted stands there; API servers add defaults, and the authority is another's.
fn holds(live: &Value, wanted: &Value) -> bool {
    match (live, wanted) {
        (Value::Object(live), Value::Object(wanted)) => {
            wanted.iter().all(|(name, wanted)| live.get(name).is_some_and(|live| holds(live, wanted)))
        }
        (Value::Array(live), Value::Array(wanted)) => {
            live.len() == wanted.len() && live.iter().zip(wanted).all(|(live, wanted)| holds(live, wanted))
        }
        (live, wanted) => live == wanted,
    }
}

/// Answers reviews of pods.
#[derive(Clone)]
pub struct Injector {
    client: kube::Client,
    settings: SidecarSettings,
    counts: InjectionMetrics,
}

impl std::fmt::Debug for Injector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Injector").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// A pod that asks for a sidecar gets none.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Pod(#[from] InjectError),
    #[error(
        "annotation dapr.io/inject-pluggable-components: the Components of the namespace cannot be listed: {0}"
    )]
    Components(kube::Error),
    #[error(
        "annotation dapr.io/inject-pluggable-components: the namespace has more than {COMPONENTS_AT_MOST} Components"
    )]
    TooManyComponents,
}

impl Injector {
    /// Answers with what this cluster says.
    #[must_use]
    pub fn new(client: kube::Client, settings: SidecarSettings, counts: InjectionMetrics) -> Self {
        Self { client, settings, counts }
    }

    async fn review(&self, bytes: &[u8]) -> Reply {
        let review = match Review::read(bytes) {
            Ok(review) => review,
            Err(error) => return Reply::failure(400, error.to_string()),
        };
        self.counts.requested();
        let (namespace, name) = (review.namespace(), review.name());
        let answer = self.judge(&review).await.unwrap_or_else(|error| {
            tracing::error!(namespace, name, %error, "the pod is refused");
            Answer::Refused(error.to_string())
        });
        if let Answer::Admitted { warnings, .. } = &answer {
            for warning in warnings {
                tracing::warn!(namespace, name, "{warning}");
            }
        }
        review.reply(&answer).unwrap_or_else(|error| Reply::failure(500, error.to_string()))
    }

    async fn judge(&self, review: &Review) -> Result<Answer, Failure> {
        let without = |warning: Option<String>| {
            Ok(Answer::Admitted { patch: None, warnings: warning.into_iter().collect() })
        };
        let wish = wish(review, &self.settings).inspect_err(|_| self.counts.failed(""))?;
        match wish {
            Wish::Nothing(warning) => without(warning),
            Wish::NoPod => {
                self.counts.failed("");
                without(None)
            }
            Wish::Forbidden(warning) => {
                self.counts.failed("");
                without(Some(warning))
            }
            Wish::Sidecar { app_id, components } => {
                let injected = self.inject(review, &app_id, components).await;
                match &injected {
                    Ok(_) => self.counts.succeeded(&app_id),
                    Err(_) => self.counts.failed(&app_id),
                }
                injected
            }
        }
    }

    async fn inject(&self, review: &Review, app_id: &str, components: bool) -> Result<Answer, Failure> {
        let components =
            if components { self.components(review.namespace(), app_id).await? } else { Vec::new() };
        let facts = Facts { mtls: self.mtls().await, components };
        let injection = inject(review, app_id, &self.settings, &facts)?;
        Ok(Answer::Admitted { patch: Some(injection.patch), warnings: injection.warnings })
    }

    /// On, unless the control plane's Configuration says otherwise; read for each pod, so that a change counts at once.
    async fn mtls(&self) -> bool {
        let kind = ServedKind::Configuration.resource();
        let api: Api<DynamicObject> =
            Api::namespaced_with(self.client.clone(), &self.settings.namespace, &kind);
        match api.get_opt(CONTROL_PLANE).await {
            Ok(Some(system)) => system.data["spec"]["mtls"]["enabled"].as_bool().unwrap_or(true),
            Ok(None) => true,
            Err(error) => {
                tracing::warn!(%error, name = CONTROL_PLANE, "the Configuration cannot be read; sidecars speak mTLS");
                true
            }
        }
    }

    /// The Components that the application sees, by name.
    async fn components(&self, namespace: &str, app_id: &str) -> Result<Vec<DynamicObject>, Failure> {
        let kind = ServedKind::Component.resource();
        let api: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), namespace, &kind);
        let mut params = ListParams::default().limit(PAGE);
        let mut components = Vec::new();
        loop {
            let page = api.list(&params).await.map_err(Failure::Components)?;
            components.extend(page.items.into_iter().map(Arc::new));
            if components.len() > COMPONENTS_AT_MOST {
                return Err(Failure::TooManyComponents);
            }
            match page.metadata.continue_ {
                Some(next) if !next.is_empty() => params.continue_token = Some(next),
                _ => break,
            }
        }
        let (namespace, app_id) = (namespace.to_owned(), app_id.to_owned());
        let viewer =
            Viewer::of(&Identity { trust_domain: self.settings.trust_domain.clone(), namespace, app_id });
        let seen = viewer.list(ServedKind::Component, components);
        Ok(seen.into_iter().map(Arc::unwrap_or_clone).collect())
    }
}

impl Handler for Injector {
    fn answer<'a>(&'a self, path: &'a str, body: &'a [u8]) -> BoxFuture<'a, Reply> {
        Box::pin(async move {
            if path == INJECT_PATH {
                self.review(body).await
            } else {
                Reply::failure(404, format!("{path} is not served; expected {INJECT_PATH}"))
            }
        })
    }
}
