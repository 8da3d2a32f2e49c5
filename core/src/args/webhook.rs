//! The flags of the webhook server, as typed, and what they mean.

use std::net::{Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use clap::ArgAction;
use vela_runtime::webhook::{Certificates, Config, Directory, Limits};

use super::values::boolean;

/// Whether admission and conversion webhooks are served, and with which certificate.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Webhooks")]
pub(super) struct WebhookArgs {
    /// Serve admission webhooks.
    #[arg(long, value_parser = boolean, action = ArgAction::Set, num_args = 0..=1, require_equals = true,
          default_value = "false", default_missing_value = "true", value_name = "BOOL")]
    use_webhook: bool,
    /// Port of the webhook server.
    #[arg(long, default_value_t = 9443, value_name = "PORT")]
    webhook_port: u16,
    /// Folder with tls.crt and tls.key of the webhook server; it is waited for at the start and looked at for changes.
    #[arg(long, default_value = "/k8s-webhook-server/serving-certs", value_name = "FOLDER")]
    webhook_cert_dir: PathBuf,
}

impl WebhookArgs {
    /// What is served, if anything is.
    pub(super) fn webhooks(&self) -> Option<Config> {
        self.use_webhook.then(|| Config {
            address: SocketAddr::from((Ipv6Addr::UNSPECIFIED, self.webhook_port)),
            certificates: Certificates::Directory(Directory::from(self.webhook_cert_dir.clone())),
            limits: Limits::default(),
        })
    }
}
