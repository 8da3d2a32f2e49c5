//! The words of `vela lsp`.

use clap::Args;
use vela_engine::ClusterVersion;

#[derive(Debug, Args)]
#[command(
    after_help = "It is started by an editor, which docs/editors.md sets up, such as by this in Helix:\n  [language-server.vela]\n  command = \"vela\"\n  args = [\"lsp\"]\n\nExample:\n  vela lsp --kubernetes-version 1.30"
)]
pub(crate) struct Lsp {
    /// Version of Kubernetes that applications are judged for, such as 1.30 [default: the newest that is known]
    #[arg(long, value_name = "VERSION", value_parser = ClusterVersion::from_text)]
    pub(crate) kubernetes_version: Option<ClusterVersion>,
    /// Speak over standard input and output, which is the rule here
    #[arg(long, hide = true)]
    stdio: bool,
}
