//! The words of every command: where it works, and as whom.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::values::{duration, namespace};

/// Where commands work.
#[derive(Debug, Clone, Args)]
pub(crate) struct Global {
    /// Kubeconfig file (default: $KUBECONFIG, then ~/.kube/config, then the pod's own service account)
    #[arg(long, global = true, value_name = "FILE", help_heading = "Target", conflicts_with = "sandbox")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig
    #[arg(long, global = true, value_name = "NAME", help_heading = "Target", conflicts_with = "sandbox")]
    pub(crate) context: Option<String>,
    /// Work on the local sandbox even though a cluster is configured
    #[arg(long, global = true, help_heading = "Target")]
    pub(crate) sandbox: bool,
    /// Namespace (default: that of the environment, see `vela env`, else of the context, else "default")
    #[arg(long, short, global = true, value_name = "NAME", help_heading = "Target", value_parser = namespace)]
    pub(crate) namespace: Option<String>,
    /// Namespace of the controller and of the definitions for everybody (default: $KUBEVELA_SYSTEM_NAMESPACE, then
    /// $DEFAULT_VELA_NS, then where vela is installed, else "vela-system")
    #[arg(long, global = true, value_name = "NAME", help_heading = "Target", value_parser = namespace)]
    pub(crate) system_namespace: Option<String>,
    /// User to act as: each request carries this name, and the cluster asks whether you may impersonate it
    #[arg(
        long = "as",
        global = true,
        value_name = "USER",
        help_heading = "Target",
        conflicts_with = "sandbox"
    )]
    pub(crate) as_user: Option<String>,
    /// Group of the user to act as; may be given several times
    #[arg(long, global = true, value_name = "GROUP", help_heading = "Target", conflicts_with = "sandbox")]
    pub(crate) as_group: Vec<String>,
    /// How long to wait for the answer to one request, such as 5s (0: as long as it takes); streams may last longer
    #[arg(long, global = true, value_name = "TIME", help_heading = "Target", value_parser = duration)]
    pub(crate) request_timeout: Option<Duration>,
    /// Print each request to the API server with its answer and time; levels below 6 print nothing, as with kubectl
    #[arg(
        long = "verbose",
        alias = "v",
        global = true,
        value_name = "LEVEL",
        help_heading = "Target",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "6",
        default_value = "0",
        hide_default_value = true
    )]
    pub(crate) verbose: u8,
}
