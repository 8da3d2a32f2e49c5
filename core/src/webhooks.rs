//! Builds the webhook server of this process from its addresses and the source of its certificate; `webhooks` decides
//! the verdicts.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use vela_crds::labels::{WEBHOOKS, WEBHOOKS_OF_CORE};
use vela_runtime::webhook::{
    CaBundles, CertificateSecret, CertificateSource, Config, Directory, Limits, Server,
};

use crate::context::{Context, FIELD_MANAGER};

/// Field manager of the one field that tells API servers whom to trust.
const BUNDLE_MANAGER: &str = "vela-core-webhooks";

/// How webhooks are served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Webhooks {
    /// Where.
    pub address: SocketAddr,
    /// With which certificate.
    pub certificate: Certificate,
}

/// Where the certificate comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Certificate {
    /// A folder that another process fills.
    Folder(PathBuf),
    /// A Secret that we fill, together with other replicas.
    Secret {
        /// Where it is.
        namespace: String,
        /// Its name.
        name: String,
        /// DNS names and addresses under which API servers reach us.
        hosts: Vec<String>,
    },
}

/// A server of the trait injector alone, as releases up to the seed had one: for webhook configurations made for those.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraitInjector {
    /// Where.
    pub address: SocketAddr,
    /// Folder with [`INJECTOR_FILES`], which another process fills.
    pub folder: PathBuf,
}

/// The certificate and the key of a [`TraitInjector`].
pub const INJECTOR_FILES: [&str; 2] = ["service-injector.pem", "service-injector.key"];

/// The names of a Service inside its cluster.
pub fn service_names(namespace: &str, service: &str) -> Vec<String> {
    ["", ".cluster.local"].map(|domain| format!("{service}.{namespace}.svc{domain}")).to_vec()
}

pub(crate) fn server(context: &Context, webhooks: Webhooks) -> Server {
    let Webhooks { address, certificate } = webhooks;
    let client = context.client.clone();
    let certificates =
        match certificate {
            Certificate::Folder(folder) => CertificateSource::Directory(Directory::from(folder)),
            Certificate::Secret { namespace, name, hosts } => CertificateSource::Secret(
                CertificateSecret::new(client.clone(), &namespace, &name, FIELD_MANAGER, hosts),
            ),
        };
    let bundles = CaBundles {
        client: client.clone(),
        selector: format!("{WEBHOOKS}={WEBHOOKS_OF_CORE}"),
        manager: BUNDLE_MANAGER.to_owned(),
    };
    let config = Config { address, certificates, bundles: Some(bundles), limits: Limits::default() };
    let judges = vela_webhooks::Webhooks::new(client, Arc::default())
        .in_namespaces(context.options.namespaces())
        .within(context.options.bounds())
        .with_watches(&context.cache)
        .with_computations(&context.computations)
        .with_policies(context.options.policies)
        .strictly(context.options.strictness);
    Server::new(config, Arc::new(judges))
}

pub(crate) fn injector(context: &Context, injector: TraitInjector) -> Server {
    let TraitInjector { address, folder } = injector;
    let certificates =
        CertificateSource::Directory(Directory { files: INJECTOR_FILES, ..Directory::from(folder) });
    // The registrar of the webhook told API servers which authority to trust.
    let config = Config { address, certificates, bundles: None, limits: Limits::default() };
    let judges = vela_webhooks::Webhooks::new(context.client.clone(), Arc::default());
    Server::new(config, Arc::new(judges.only_injecting()))
}
