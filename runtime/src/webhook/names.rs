//! Under which names API servers reach a process, and a server with a certificate for all of them, which the process issues itself.

use std::net::SocketAddr;
use std::sync::Arc;

use super::answer::Limits;
use super::ca_bundle::CaBundles;
use super::handler::Handler;
use super::rotation::CertificateSource;
use super::secret::CertificateSecret;
use super::server::{Config, Server};

/// The names of a Service, as certificates have them.
#[must_use]
pub fn service_names(name: &str, namespace: &str) -> [String; 2] {
    ["", ".cluster.local"].map(|domain| format!("{name}.{namespace}.svc{domain}"))
}

/// What a process that issues its own certificate calls its things.
#[derive(Clone, Debug)]
pub struct SelfIssued {
    /// Where the Secret lies.
    pub namespace: String,
    /// The Secret with the certificate.
    pub secret: String,
    /// The names that the certificate is for.
    pub names: Vec<String>,
    /// The label of the objects whose authority is written.
    pub label: String,
    /// The value of that label, and the field manager.
    pub manager: String,
}

impl SelfIssued {
    /// A server that has not started.
    #[must_use]
    pub fn server(self, client: kube::Client, address: SocketAddr, handler: Arc<dyn Handler>) -> Server {
        let Self { namespace, secret, names, label, manager } = self;
        let secret = CertificateSecret::new(client.clone(), &namespace, &secret, &manager, names);
        let bundles = CaBundles { client, selector: format!("{label}={manager}"), manager };
        let config = Config {
            address,
            certificates: CertificateSource::Secret(secret),
            bundles: Some(bundles),
            limits: Limits::default(),
        };
        Server::new(config, handler)
    }
}
