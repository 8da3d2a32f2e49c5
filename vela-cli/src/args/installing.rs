//! The words of `vela dashboard`, `vela install` and `vela uninstall`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::values::duration;

#[derive(Debug, Args)]
pub(crate) struct Dashboard {
    /// Loopback port; 0 takes a free one
    #[arg(long, default_value_t = 0)]
    pub(crate) port: u16,
    /// Open no browser
    #[arg(long)]
    pub(crate) no_open: bool,
    /// Let its pages and its REST API deploy and delete applications, steer workflows and rollouts, and keep environments, as
    /// `vela up`, `vela delete`, `vela workflow`, `vela rollout` and `vela env` do
    #[arg(long)]
    pub(crate) allow_changes: bool,
    /// Who is let in, and with whose rights
    #[arg(long, value_enum, default_value_t = Auth::Link)]
    pub(crate) auth: Auth,
    #[command(flatten)]
    pub(crate) proxy: AuthProxy,
}

/// The proxy of `--auth oidc-proxy`.
#[derive(Debug, Default, PartialEq, Eq, Args)]
pub(crate) struct AuthProxy {
    /// File with the secret that the proxy sends with each request
    #[arg(long, value_name = "FILE", help_heading = "With --auth oidc-proxy")]
    pub(crate) proxy_secret_file: Option<PathBuf>,
    /// Header with that secret (X-Vela-Proxy-Secret)
    #[arg(long, value_name = "HEADER", help_heading = "With --auth oidc-proxy")]
    pub(crate) proxy_secret_header: Option<String>,
    /// Header with the name of the user (X-Forwarded-User)
    #[arg(long, value_name = "HEADER", help_heading = "With --auth oidc-proxy")]
    pub(crate) user_header: Option<String>,
    /// Header with the groups, separated by commas (X-Forwarded-Groups)
    #[arg(long, value_name = "HEADER", help_heading = "With --auth oidc-proxy")]
    pub(crate) groups_header: Option<String>,
    /// Where browsers reach the proxy: https://HOST
    #[arg(long, value_name = "URL", help_heading = "With --auth oidc-proxy")]
    pub(crate) public_url: Option<String>,
    /// Also act for users and groups of Kubernetes itself (`system:`)
    #[arg(long, help_heading = "With --auth oidc-proxy")]
    pub(crate) allow_system_users: bool,
}

/// Whom a console lets in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Auth {
    /// The browser that opens the link first; with the rights of this kubeconfig
    Link,
    /// The same, and never for the sandbox
    Kubeconfig,
    /// Each user of the cluster who sends a bearer token; with the rights of that token
    Token,
    /// Each user whom an authenticating proxy names; with the rights of that user, by impersonation
    OidcProxy,
}

#[derive(Debug, Args)]
pub(crate) struct Install {
    /// Image of vela-core; with it the controller is installed too
    #[arg(long, alias = "image", value_name = "IMAGE")]
    pub(crate) controller_image: Option<String>,
    /// Run the controller here, beside the cluster, with the rights of this kubeconfig, until Ctrl-C
    #[arg(long, value_enum, value_name = "WHERE", conflicts_with_all = ["controller_image", "webhooks", "webhook_url", "print", "dry_run"])]
    pub(crate) controller: Option<ControllerPlace>,
    /// Have the controller judge what is written, before it is stored
    #[arg(long)]
    pub(crate) webhooks: bool,
    /// Where API servers reach the webhooks of a vela-core that runs outside the cluster: https://HOST:PORT
    #[arg(long, value_name = "URL", conflicts_with_all = ["webhooks", "controller_image"])]
    pub(crate) webhook_url: Option<String>,
    /// Let applications do only what their authors could: needs webhooks, and gives vela-core the right to act for anybody
    #[arg(long)]
    pub(crate) authenticate_application: bool,
    /// Let applications make objects outside their namespace; vela-core needs the rights for that from you
    #[arg(long)]
    pub(crate) allow_cross_namespace: bool,
    /// Let applications make roles, kinds, webhook configurations and tokens; vela-core needs the rights for that from you
    #[arg(long)]
    pub(crate) allow_granting_rights: bool,
    /// Let applications make these, too, in every namespace, where vela-core then reads them all; may be given many times
    #[arg(long, value_enum, value_name = "KIND")]
    pub(crate) grant: Vec<Grant>,
    /// Have it put what ServiceBindings name into Deployments and StatefulSets; with --webhooks or --webhook-url
    #[arg(long)]
    pub(crate) trait_injector: bool,
    /// Have API servers ask the controller for the other version of an Application, which then cannot be read while the
    /// controller is away; with --webhooks or --webhook-url. Without it both versions show what was written
    #[arg(long)]
    pub(crate) webhook_conversion: bool,
    /// Install the Dapr operator too: its kinds and rights, and with --dapr-image the operator itself
    #[arg(long)]
    pub(crate) dapr: bool,
    /// Image of vela-dapr
    #[arg(long, value_name = "IMAGE", requires = "dapr")]
    pub(crate) dapr_image: Option<String>,
    /// Image of Dapr's sidecars, which vela-dapr then adds to annotated pods
    #[arg(long, value_name = "IMAGE", requires = "dapr_image")]
    pub(crate) dapr_sidecar_image: Option<String>,
    /// Have vela-dapr sign JWTs of sidecars, and serve what verifies them behind the Service dapr-sentry-oidc; lead this
    /// https:// address there
    #[arg(long, value_name = "URL", requires = "dapr_image")]
    pub(crate) dapr_jwt_issuer: Option<String>,
    /// Install the Harbor operator too: its kinds and rights, and with --harbor-image the operator itself
    #[arg(long)]
    pub(crate) harbor: bool,
    /// Image of vela-harbor
    #[arg(long, value_name = "IMAGE", requires = "harbor")]
    pub(crate) harbor_image: Option<String>,
    /// Bring built-in types that were edited in the cluster back to those of this release; without it they stay as they are
    #[arg(long)]
    pub(crate) reset_definitions: bool,
    /// Say what would be created, changed, kept and taken away in the cluster, and write nothing
    #[arg(long, conflicts_with = "print")]
    pub(crate) dry_run: bool,
    /// Print the objects instead of applying them; needs no cluster
    #[arg(long)]
    pub(crate) print: bool,
}

/// Where a controller runs that is no part of the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ControllerPlace {
    /// In this process
    Local,
}

/// What applications make, or their steps read, only where the operator says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Grant {
    /// Secrets
    Secrets,
    /// Pods
    Pods,
    /// Endpoints, which lead the requests of a Service anywhere; the step export-service makes them
    Endpoints,
    /// Logs of pods, which steps read; applications make nothing by it
    Logs,
}

/// Take vela out of a cluster.
#[derive(Debug, Args)]
pub(crate) struct Uninstall {
    /// Keep the kinds, the applications and what these made; only webhooks, controllers, rights and built-in types go
    #[arg(long)]
    pub(crate) keep_crds: bool,
    /// Take the hold off applications that no controller released in time; what they made then stays
    #[arg(long)]
    pub(crate) force: bool,
    /// How long to wait until the applications are gone
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = duration)]
    pub(crate) timeout: Duration,
}
