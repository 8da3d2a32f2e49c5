//! The webhook servers of the operator, with a certificate that it issues itself; this one converts Subscriptions, and registers that at
//! the kind.

use std::net::SocketAddr;
use std::sync::Arc;

use futures::future::BoxFuture;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use vela_runtime::Api;
use vela_runtime::webhook::{Handler, Reply, Server};

use crate::conversion::{CONVERT_PATH, convert};
use crate::serving::{LABEL, LOOK_EVERY, MANAGER, ServedNames};

/// The kind with two versions.
const SUBSCRIPTIONS: &str = "subscriptions.dapr.io";
/// The Service under which API servers reach us.
const SERVICE: &str = "dapr-webhook";
/// A list as the API server read it may be much larger than one object.
const REVIEW_AT_MOST: usize = 64 * 1024 * 1024;

/// Where webhooks are served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Webhooks {
    /// Where.
    pub address: SocketAddr,
    /// Namespace of the operator: of the Service `dapr-webhook` and of the Secret with the certificate.
    pub namespace: String,
}

impl Webhooks {
    /// Adds the names under which API servers reach it.
    pub(crate) fn name(&self, names: &mut ServedNames) {
        names.service(SERVICE, &self.namespace);
    }

    /// A server that has not started.
    pub(crate) fn server(&self, client: kube::Client, names: &ServedNames) -> Server {
        names.server(client, &self.namespace, self.address, Arc::new(Conversions))
    }

    /// Registers us at the kind, and again when a user installs it anew, until the operator stops. The authority is written by the
    /// server.
    pub(crate) async fn register(self, client: kube::Client, stop: CancellationToken) {
        let crd = ApiResource::from_gvk(&GroupVersionKind::gvk(
            "apiextensions.k8s.io",
            "v1",
            "CustomResourceDefinition",
        ));
        let api: Api<DynamicObject> = Api::all_with(client, &crd);
        loop {
            if let Err(error) = self.register_once(&api).await {
                tracing::warn!(%error, kind = SUBSCRIPTIONS, "the conversion of the kind cannot be registered");
            }
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
        }
    }

    async fn register_once(&self, api: &Api<DynamicObject>) -> Result<(), kube::Error> {
        let Some(crd) = api.get_opt(SUBSCRIPTIONS).await? else { return Ok(()) };
        let conversion = &crd.data["spec"]["conversion"];
        if conversion["strategy"] != "Webhook" {
            tracing::debug!(kind = SUBSCRIPTIONS, "it is not converted by a webhook; left alone");
            return Ok(());
        }
        let namespace = &conversion["webhook"]["clientConfig"]["service"]["namespace"];
        let label = crd.metadata.labels.as_ref().and_then(|labels| labels.get(LABEL));
        if *namespace == json!(self.namespace) && label.is_some_and(|label| label == MANAGER) {
            return Ok(());
        }
        let service = json!({"name": SERVICE, "namespace": self.namespace, "path": CONVERT_PATH});
        let patch: Value = json!({
            "metadata": {"labels": {LABEL: MANAGER}, "resourceVersion": crd.metadata.resource_version},
            "spec": {"conversion": {"webhook": {"clientConfig": {"service": service}}}},
        });
        let params = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
        api.patch(SUBSCRIPTIONS, &params, &Patch::Merge(&patch)).await?;
        Ok(())
    }
}

struct Conversions;

impl Handler for Conversions {
    fn answer<'a>(&'a self, path: &'a str, body: &'a [u8]) -> BoxFuture<'a, Reply> {
        let reply = if path == CONVERT_PATH {
            convert(body)
        } else {
            Reply::failure(404, format!("{path} is not served; expected {CONVERT_PATH}"))
        };
        Box::pin(std::future::ready(reply))
    }

    fn body_at_most(&self, _: &str) -> usize {
        REVIEW_AT_MOST
    }
}
