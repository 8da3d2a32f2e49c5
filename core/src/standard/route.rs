//! A Route in; its Service and Ingresses in the cluster, and what it still waits for in its status, out.

use std::sync::Arc;

use kube::api::DynamicObject;
use serde_json::Value;
use vela_crds::standard_oam_dev::Route;
use vela_crds::{Condition, Conditioned as _, TypedReference, condition};
use vela_engine::standard::route::readiness::{self, Seen, SeenIngress};
use vela_engine::standard::route::{self as routing, ingress};
use vela_engine::standard::{self};
use vela_runtime::dynamic_watch::{Error, TrackedReads};
use vela_runtime::{Action, Controller, Failure, Key, Reconciler, discovery};

use super::error::ReconcileError;
use super::reconciler_base::{Note, ReconcilerBase, json_of, typed};
use super::route_backend::{backends, remove_unused};
use crate::context::Context;
use crate::status;

const FIELD_MANAGER: &str = "vela-route";
const INGRESS: &str = "failed to apply the ingress";
/// API version of issuers and certificates.
const CERT_MANAGER: &str = "cert-manager.io/v1";

/// The controller of Routes; a change of an Ingress, a Service, a certificate or an issuer wakes the Routes it is for.
pub(crate) fn controller(context: &Context, workers: usize) -> Controller {
    let base = ReconcilerBase::new::<Route>(context, FIELD_MANAGER, &[]);
    base.controller("route", RouteReconciler { base: base.clone() }, workers)
}

struct RouteReconciler {
    base: ReconcilerBase,
}

/// The objects applied for a route.
struct Applied {
    ingresses: Vec<Arc<DynamicObject>>,
    service: Option<TypedReference>,
    notes: Vec<Note>,
}

impl Reconciler for RouteReconciler {
    async fn reconcile(&self, key: Key) -> Result<Action, Failure> {
        let Some(live) = self.base.live(&key) else { return Ok(Action::Done) };
        let route: Route = typed(&live)?;
        let mut status = route.status.clone().unwrap_or_default();
        let look = self.base.interests.track(&key);
        let applied = match self.base.for_author(&live).await {
            Ok(base) => Self { base }.reconcile_children(&look, &live, &route).await,
            Err(error) => Err(error),
        };
        let applied = match applied {
            Ok(applied) => applied,
            Err(error) => return self.base.report_error(&live, status, error).await,
        };
        status.ingresses =
            applied.ingresses.iter().map(|ingress| standard::reference(&json_of(ingress))).collect();
        status.service = applied.service;
        let waiting = match self.waiting_for(&look, &route, &applied.ingresses).await {
            Ok(waiting) => waiting,
            Err(error) => return self.base.report_error(&live, status, error).await,
        };
        // The waits of the last reconcile are out of date: only this condition stays.
        let now = status::now();
        let (summary, condition) = match waiting {
            None => {
                let available = condition::reasons::AVAILABLE;
                (readiness::READY, Condition::is_true(condition::types::READY, available, now))
            }
            Some(waiting) => {
                let (reason, message) = (waiting.reason.as_str(), waiting.message);
                (readiness::SYNCED, Condition::is_false(condition::types::SYNCED, reason, message, now))
            }
        };
        status.status = Some(summary.to_owned());
        status.conditions.retain(|old| old.condition_type == condition.condition_type);
        status.set_condition(condition);
        self.base.write(&live, &status).await?;
        self.base.publish_events(&live, &applied.notes).await;
        Ok(Action::Done)
    }
}

impl RouteReconciler {
    async fn reconcile_children(
        &self,
        look: &TrackedReads,
        live: &DynamicObject,
        route: &Route,
    ) -> Result<Applied, ReconcileError> {
        let base = &self.base;
        if let (_, Some(word)) = routing::provider(route) {
            tracing::warn!(route = %Key::of(live), provider = word, "no such ingress provider; nginx serves the route");
        }
        let mut notes = Vec::new();
        let backends = backends(base, look, live, route, &mut notes).await?;
        let api_version = self.ingress_version().await?;
        let desired = ingress::ingresses(route, &backends.rules, api_version)
            .map_err(|error| ReconcileError::wrong(INGRESS, error))?;
        let mut ingresses = Vec::new();
        for ingress in desired {
            let applied = base.apply(look, live, ingress, INGRESS).await?;
            notes.extend(Note::of(&applied, "nginx ingress patched"));
            ingresses.push(applied.object);
        }
        self.remove_unwanted(look, live, api_version, &ingresses).await?;
        remove_unused(base, look, live, &backends).await?;
        let service = backends.service.map(|service| standard::reference(&json_of(&service)));
        Ok(Applied { ingresses, service, notes })
    }

    /// Ingresses in the version every cluster of today serves; the one before only where that is missing.
    /// A server that did not answer says nothing about what it serves, and is asked again.
    async fn ingress_version(&self) -> Result<&'static str, ReconcileError> {
        for api_version in [ingress::V1, ingress::V1BETA1] {
            match self.base.context.discovery.resolve(api_version, "Ingress").await {
                Ok(_) => return Ok(api_version),
                Err(discovery::Error::Unknown { .. }) => {}
                Err(error) => return Err(ReconcileError::look(INGRESS, &Error::Discovery(error))),
            }
        }
        Ok(ingress::V1)
    }

    /// Removes the Ingresses of rules that are gone.
    async fn remove_unwanted(
        &self,
        look: &TrackedReads,
        live: &DynamicObject,
        api_version: &str,
        wanted: &[Arc<DynamicObject>],
    ) -> Result<(), ReconcileError> {
        let uid = live.metadata.uid.clone().unwrap_or_default();
        let owned = look.owned_by(api_version, "Ingress", &Key::of(live).namespace, &uid).await;
        for ingress in owned.map_err(|error| ReconcileError::look(INGRESS, &error))? {
            if !wanted.iter().any(|wanted| wanted.metadata.name == ingress.metadata.name) {
                self.base.remove(look, live, &ingress, INGRESS).await?;
            }
        }
        Ok(())
    }

    /// Looks at issuer and certificates; each of them, and each Ingress, wakes the route when it changes.
    async fn waiting_for(
        &self,
        look: &TrackedReads,
        route: &Route,
        ingresses: &[Arc<DynamicObject>],
    ) -> Result<Option<readiness::Waiting>, ReconcileError> {
        let namespace = route.metadata.namespace.clone().unwrap_or_default();
        let mut seen = Seen::default();
        let serves = !ingresses.is_empty();
        if let Some(name) = routing::local_issuer(route).filter(|_| serves) {
            let issuer = see(look, "Issuer", &namespace, name).await?;
            seen.issuer = Some((name.to_owned(), issuer));
        }
        for object in ingresses {
            let name = object.metadata.name.clone().unwrap_or_default();
            let certificate = match &route.spec.tls {
                None => None,
                Some(_) => {
                    let certificate = ingress::certificate(&name);
                    let found = see(look, "Certificate", &namespace, &certificate).await?;
                    Some((certificate, found))
                }
            };
            seen.ingresses.push(SeenIngress { name, certificate, ingress: Ok(json_of(object)) });
        }
        Ok(readiness::judge(&seen))
    }
}

/// An object of cert-manager, or why it is not there; only a server that does not answer is an error.
async fn see(
    look: &TrackedReads,
    kind: &str,
    namespace: &str,
    name: &str,
) -> Result<Result<Value, String>, ReconcileError> {
    match look.get(CERT_MANAGER, kind, &Key::new(namespace, name)).await {
        Ok(Some(found)) => Ok(Ok(json_of(&found))),
        Ok(None) => Ok(Err(format!("{kind} {namespace}/{name} does not exist"))),
        Err(Error::Missing { again: None, .. }) => Ok(Err(format!(
            "{kind} {namespace}/{name} cannot be looked up, because the cluster does not know {CERT_MANAGER}: install \
             cert-manager"
        ))),
        Err(error) => Err(ReconcileError::look("failed to check the certificates", &error)),
    }
}
