//! The flag by which KubeVela's commands choose one of several clusters.

use clap::Args;
use vela_engine::LOCAL;

/// Which cluster is looked at; there is one.
#[derive(Debug, Args)]
pub(crate) struct OneCluster {
    /// The cluster, which can only be "local": the one that this command works on
    #[arg(long, value_name = "NAME", value_parser = local, hide = true)]
    cluster: Option<()>,
}

fn local(name: &str) -> Result<(), String> {
    match name {
        "" | LOCAL => Ok(()),
        _ => Err(format!("other clusters are not supported yet: write {LOCAL:?}, or leave it out")),
    }
}
