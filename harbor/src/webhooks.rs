//! The webhook server of the operator, with a certificate that it issues itself: judges and completes objects, converts them, rewrites the
//! images of pods, and registers itself for that with the API server.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use vela_crds::GenerateError;
use vela_crds::goharbor_io::{GROUP, KINDS, VERSION};
use vela_runtime::webhook::{self, Handler, Reply, SelfIssued, Server, service_names};
use vela_runtime::{Api, apply};

use crate::admission::{DEFAULTED, VALIDATED, admit, mutate_path, validate_path};
use crate::conversion::{CONVERT_PATH, Converter};
use crate::settings::Rewriting;

/// The Service under which API servers reach us, and the name of the registrations.
const SERVICE: &str = "vela-harbor-webhook";
/// The Secret with the certificate.
const CERTIFICATE: &str = "vela-harbor-webhooks";
/// Marks the objects whose authority we write.
const LABEL: &str = "goharbor.io/webhooks-by";
/// Value of the label, and field manager of the authority.
const MANAGER: &str = "vela-harbor";
/// Field manager of the registrations.
const REGISTRAR: &str = "vela-harbor-webhooks";
/// How often it is looked whether the registrations still lead to us.
const LOOK_EVERY: Duration = Duration::from_secs(15);
/// A write waits so long at most for an answer.
const TIMEOUT_SECONDS: u32 = 10;
/// A pod waits so long at most: it is made without an answer too.
const POD_TIMEOUT_SECONDS: u32 = 5;
/// Where the API server asks about the images of a pod, and the label of the namespaces whose pods it asks about: those of Harbor's operator.
const IMAGES_PATH: &str = "/mutate-image-path";
const IMAGES_LABEL: (&str, &str) = ("harbor-day2-webhook-configuration", "enabled");
/// A list as the API server read it may be much larger than one object.
const LIST_AT_MOST: usize = 64 * 1024 * 1024;

/// Where webhooks are served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Webhooks {
    /// Where.
    pub address: SocketAddr,
    /// Namespace of the operator: of the Service `vela-harbor-webhook` and of the Secret with the certificate.
    pub namespace: String,
}

impl Webhooks {
    /// A server that has not started.
    ///
    /// # Errors
    /// The kinds of goharbor.io cannot be generated: a mistake in their tables.
    pub fn server(&self, client: kube::Client) -> Result<Server, GenerateError> {
        let issued = SelfIssued {
            namespace: self.namespace.clone(),
            secret: CERTIFICATE.to_owned(),
            names: service_names(SERVICE, &self.namespace).into(),
            label: LABEL.to_owned(),
            manager: MANAGER.to_owned(),
        };
        let reviews = Reviews { converter: Converter::new()?, rewriting: Rewriting::new(client.clone()) };
        Ok(issued.server(client, self.address, Arc::new(reviews)))
    }

    /// Registers us, and again when that is changed or taken away, until the operator stops. The authority is written by the server.
    pub async fn register(self, client: kube::Client, stop: CancellationToken) {
        loop {
            for wanted in [self.validating(), self.mutating()] {
                let kind = wanted["kind"].as_str().unwrap_or_default();
                if let Err(error) = self.register_reviews(&client, kind, &wanted).await {
                    tracing::warn!(%error, kind, name = SERVICE, "the webhooks cannot be registered");
                }
            }
            for kind in &KINDS {
                let name = format!("{}.{GROUP}", kind.plural);
                if let Err(error) = self.register_conversion(&client, &name).await {
                    tracing::warn!(%error, name, "the conversion of the kind cannot be registered");
                }
            }
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
        }
    }

    async fn register_reviews(
        &self,
        client: &kube::Client,
        kind: &str,
        wanted: &Value,
    ) -> Result<(), kube::Error> {
        let kind = GroupVersionKind::gvk("admissionregistration.k8s.io", "v1", kind);
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &ApiResource::from_gvk(&kind));
        let live = api.get_opt(SERVICE).await?;
        let stands = |live: &DynamicObject| {
            let labels = live.metadata.labels.as_ref();
            let ours = labels.and_then(|labels| labels.get(LABEL)).is_some_and(|label| label == MANAGER);
            ours && apply::has_all(&live.data["webhooks"], &wanted["webhooks"])
        };
        if live.as_ref().is_some_and(stands) {
            return Ok(());
        }
        api.patch(SERVICE, &PatchParams::apply(REGISTRAR).force(), &Patch::Apply(wanted)).await?;
        tracing::info!(kind = kind.kind, name = SERVICE, "registered");
        Ok(())
    }

    /// Has the API server ask us for the other version of a kind; without that, it gives the older version with fields that it does not have.
    async fn register_conversion(&self, client: &kube::Client, name: &str) -> Result<(), kube::Error> {
        let kind = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &ApiResource::from_gvk(&kind));
        let Some(crd) = api.get_opt(name).await? else { return Ok(()) };
        let service = json!({ "name": SERVICE, "namespace": self.namespace, "path": CONVERT_PATH });
        let conversion = json!({
            "strategy": "Webhook",
            "webhook": { "clientConfig": { "service": service }, "conversionReviewVersions": ["v1"] },
        });
        let label = crd.metadata.labels.as_ref().and_then(|labels| labels.get(LABEL));
        let ours = label.is_some_and(|label| label == MANAGER);
        if ours && apply::has_all(&crd.data["spec"]["conversion"], &conversion) {
            return Ok(());
        }
        let patch = json!({
            "metadata": { "labels": { LABEL: MANAGER }, "resourceVersion": crd.metadata.resource_version },
            "spec": { "conversion": conversion },
        });
        let params = PatchParams { field_manager: Some(REGISTRAR.to_owned()), ..PatchParams::default() };
        api.patch(name, &params, &Patch::Merge(&patch)).await?;
        tracing::info!(name, "registered the conversion");
        Ok(())
    }

    fn validating(&self) -> Value {
        let hooks = VALIDATED
            .iter()
            .map(|(kind, plural)| self.webhook("validate", kind, plural, &validate_path(kind)));
        registration("ValidatingWebhookConfiguration", hooks.collect())
    }

    fn mutating(&self) -> Value {
        let hooks =
            DEFAULTED.iter().map(|(kind, plural)| self.webhook("mutate", kind, plural, &mutate_path(kind)));
        registration("MutatingWebhookConfiguration", hooks.chain([self.images()]).collect())
    }

    /// No pod waits for a Harbor's operator: without an answer, its images are pulled from where they are. A pod that runs is not asked
    /// about, since another image restarts its container.
    fn images(&self) -> Value {
        let service = json!({ "name": SERVICE, "namespace": self.namespace, "path": IMAGES_PATH });
        let (label, value) = IMAGES_LABEL;
        json!({
            "name": format!("images.pod.{GROUP}"),
            "clientConfig": { "service": service },
            "rules": [{
                "apiGroups": [""],
                "apiVersions": ["v1"],
                "resources": ["pods"],
                "operations": ["CREATE"],
                "scope": "Namespaced",
            }],
            "namespaceSelector": { "matchLabels": { label: value } },
            "admissionReviewVersions": ["v1", "v1beta1"],
            "sideEffects": "None",
            "timeoutSeconds": POD_TIMEOUT_SECONDS,
            "failurePolicy": "Ignore",
            // Another webhook may add a container.
            "reinvocationPolicy": "IfNeeded",
        })
    }

    /// A write that cannot be judged fails, so that no downgrade slips through.
    fn webhook(&self, what: &str, kind: &str, plural: &str, path: &str) -> Value {
        let service = json!({ "name": SERVICE, "namespace": self.namespace, "path": path });
        json!({
            "name": format!("{what}.{}.{GROUP}", kind.to_lowercase()),
            "clientConfig": { "service": service },
            "rules": [{
                "apiGroups": [GROUP],
                "apiVersions": [VERSION],
                "resources": [plural],
                "operations": ["CREATE", "UPDATE"],
                "scope": "Namespaced",
            }],
            // What is written as the older version is judged as the newer one.
            "matchPolicy": "Equivalent",
            "admissionReviewVersions": ["v1", "v1beta1"],
            "sideEffects": "None",
            "timeoutSeconds": TIMEOUT_SECONDS,
            "failurePolicy": "Fail",
        })
    }
}

fn registration(kind: &str, webhooks: Vec<Value>) -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": { "name": SERVICE, "labels": { LABEL: MANAGER } },
        "webhooks": webhooks,
    })
}

struct Reviews {
    converter: Converter,
    rewriting: Rewriting,
}

impl Reviews {
    /// Whatever needs no look at the cluster.
    fn judge(&self, path: &str, body: &[u8]) -> Reply {
        match path {
            CONVERT_PATH => webhook::convert(body, |object, version| self.converter.convert(object, version)),
            _ => admit(path, body)
                .unwrap_or_else(|| Reply::failure(404, format!("{path} is not served: no webhook has it"))),
        }
    }
}

impl Handler for Reviews {
    fn answer<'a>(&'a self, path: &'a str, body: &'a [u8]) -> BoxFuture<'a, Reply> {
        match path {
            IMAGES_PATH => Box::pin(self.rewriting.answer(body)),
            _ => Box::pin(std::future::ready(self.judge(path, body))),
        }
    }

    fn body_at_most(&self, path: &str) -> usize {
        if path == CONVERT_PATH { LIST_AT_MOST } else { webhook::BODY_AT_MOST }
    }
}
