//! The flags of the webhook server, as typed, and what they mean.

use std::net::{Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use clap::ArgAction;
use rustls::pki_types::ServerName;
use vela_core::webhooks::{Certificate, TraitInjector, Webhooks, service_names};

use super::values::boolean;

/// The port that webhook configurations made for the trait injector of the seed lead to.
const INJECTOR_PORT: u16 = 8443;
/// Where that one looked for its certificate: a folder of the directory it was started in.
const INJECTOR_FOLDER: &str = "ssl";

/// Whether admission and conversion webhooks are served, and with which certificate.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Webhooks")]
pub(super) struct WebhookArgs {
    /// Serve admission webhooks.
    #[arg(long, value_parser = boolean, action = ArgAction::Set, num_args = 0..=1, require_equals = true,
          default_value = "false", default_missing_value = "true", value_name = "BOOL")]
    use_webhook: bool,
    /// Let an application do only what its author could: execute it with the rights of its last writer, as admission
    /// stamped them. Needs --use-webhook, and the right to impersonate.
    #[arg(long, value_parser = boolean, action = ArgAction::Set, num_args = 0..=1, require_equals = true,
          default_value = "false", default_missing_value = "true", value_name = "BOOL")]
    authenticate_application: bool,
    /// Port of the webhook server.
    #[arg(long, default_value_t = 9443, value_name = "PORT")]
    webhook_port: u16,
    /// Folder with tls.crt and tls.key of the webhook server; it is waited for at the start and looked at for changes.
    #[arg(long, default_value = "/k8s-webhook-server/serving-certs", value_name = "FOLDER")]
    webhook_cert_dir: PathBuf,
    /// Keep a certificate that vela-core issues itself in this Secret, instead of reading the folder.
    #[arg(long, default_value = "", value_name = "SECRET")]
    webhook_cert_secret: String,
    /// Service in front of the webhook server, for whose names such a certificate is issued.
    #[arg(long, default_value = "vela-core-webhook", value_name = "SERVICE")]
    webhook_service: String,
    /// Further DNS names and addresses for which it is issued, with commas between.
    #[arg(long, default_value = "", value_name = "LIST")]
    webhook_hosts: String,
    /// Serve the trait injector alone at :8443, with ssl/service-injector.pem and .key, as the seed did; --use-webhook
    /// serves it too, at its own port.
    #[arg(long, value_parser = boolean, action = ArgAction::Set, num_args = 0..=1, require_equals = true,
          default_value = "false", default_missing_value = "true", value_name = "BOOL")]
    use_trait_injector: bool,
}

impl WebhookArgs {
    /// Whether authors are acted for, by the flag or by the feature gate. Without our admission anybody could claim to be
    /// anybody.
    pub(super) fn authenticates(&self, gate: bool) -> Result<bool, String> {
        let asked = self.authenticate_application || gate;
        if asked && !self.use_webhook {
            let name = if gate {
                "--feature-gates=AuthenticateApplication=true"
            } else {
                "--authenticate-application"
            };
            return Err(format!(
                "{name} needs --use-webhook: only admission knows who writes an application"
            ));
        }
        Ok(asked)
    }

    /// The server of the trait injector alone.
    pub(super) fn trait_injector(&self) -> Option<TraitInjector> {
        self.use_trait_injector.then(|| TraitInjector {
            address: SocketAddr::from((Ipv6Addr::UNSPECIFIED, INJECTOR_PORT)),
            folder: PathBuf::from(INJECTOR_FOLDER),
        })
    }

    /// The webhooks of a process of this namespace, if it serves any.
    pub(super) fn webhooks(&self, namespace: impl FnOnce() -> String) -> Result<Option<Webhooks>, String> {
        if !self.use_webhook {
            return Ok(None);
        }
        let certificate = if self.webhook_cert_secret.is_empty() {
            Certificate::Folder(self.webhook_cert_dir.clone())
        } else {
            let namespace = namespace();
            let mut hosts = service_names(&namespace, &self.webhook_service);
            hosts.extend(self.webhook_hosts.split(',').filter(|host| !host.is_empty()).map(str::to_owned));
            if let Some(wrong) = hosts.iter().find(|host| ServerName::try_from(host.as_str()).is_err()) {
                return Err(format!(
                    "invalid value for --webhook-hosts or --webhook-service: {wrong:?} is neither a DNS name nor an address"
                ));
            }
            Certificate::Secret { namespace, name: self.webhook_cert_secret.clone(), hosts }
        };
        let address = SocketAddr::from((Ipv6Addr::UNSPECIFIED, self.webhook_port));
        Ok(Some(Webhooks { address, certificate }))
    }
}
