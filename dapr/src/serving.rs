//! What the webhook servers of the operator share: one certificate, which it issues itself, and the mark of what API servers are told of it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use vela_runtime::webhook::{
    CaBundles, CertificateSecret, CertificateSource, Config, Handler, Limits, Server,
};

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
        self.0.extend(["", ".cluster.local"].map(|domain| format!("{name}.{namespace}.svc{domain}")));
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
        let names = self.0.clone();
        let secret = CertificateSecret::new(client.clone(), namespace, CERTIFICATE, MANAGER, names);
        let bundles =
            CaBundles { client, selector: format!("{LABEL}={MANAGER}"), manager: MANAGER.to_owned() };
        let config = Config {
            address,
            certificates: CertificateSource::Secret(secret),
            bundles: Some(bundles),
            limits: Limits::default(),
        };
        Server::new(config, handler)
    }
}
