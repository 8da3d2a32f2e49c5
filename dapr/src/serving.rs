//! What the webhook servers of the operator share: one certificate, which it issues itself, and the mark of what API servers are told of it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use vela_runtime::webhook::{Handler, SelfIssued, Server, service_names};

/// The Secret with the certificate.
const CERTIFICATE: &str = "vela-dapr-webhooks";
/// Marks the objects whose authority we write.
pub(crate) const LABEL: &str = "dapr.io/webhooks-by";
/// Field manager of that, and value of the label.
pub(crate) const MANAGER: &str = "vela-dapr";
/// How often it is looked whether those objects still lead to us.
pub(crate) const LOOK_EVERY: Duration = Duration::from_secs(15);

/// Under which names API servers reach this process.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServedNames(Vec<String>);

impl ServedNames {
    /// Adds those of a Service.
    pub(crate) fn service(&mut self, name: &str, namespace: &str) {
        self.0.extend(service_names(name, namespace));
    }

    /// Adds one name or address.
    pub(crate) fn host(&mut self, host: &str) {
        self.0.push(host.to_owned());
    }

    /// A server that has not started, with the certificate for all of the names.
    pub(crate) fn server(
        &self,
        client: kube::Client,
        namespace: &str,
        address: SocketAddr,
        handler: Arc<dyn Handler>,
    ) -> Server {
        let issued = SelfIssued {
            namespace: namespace.to_owned(),
            secret: CERTIFICATE.to_owned(),
            names: self.0.clone(),
            label: LABEL.to_owned(),
            manager: MANAGER.to_owned(),
        };
        issued.server(client, address, handler)
    }
}
