//! The words of the commands of every day: `vela rollback`, `vela export` and `vela top`.

use std::path::PathBuf;

use clap::Args;

use super::format::{Format, output};
use super::values::object;
use super::workflow::Followed;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  vela rollback shop\n  vela rollback shop --to-revision 3 -y")]
pub(crate) struct RollbackApplication {
    /// Name of the application
    #[arg(value_parser = object)]
    pub(crate) application: String,
    /// Revision whose content it gets, by number or name, such as 3 or shop-v3 [default: the one before that succeeded]
    #[arg(long, short = 'r', visible_alias = "revision", value_name = "REVISION", value_parser = object)]
    pub(crate) to_revision: Option<String>,
    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) followed: Followed,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  vela export > app.yaml\n  vela export -f vela.yaml --offline --no-health-scope"
)]
pub(crate) struct Export {
    /// Appfiles, or - for standard input (default: vela.yaml, vela.json or Appfile of this folder)
    #[arg(value_name = "FILE")]
    pub(crate) paths: Vec<PathBuf>,
    /// The same; may be given many times
    #[arg(long = "file", short, value_name = "PATH")]
    pub(crate) files: Vec<PathBuf>,
    /// Files or folders with more definitions; they win over the built-in ones
    #[arg(long = "definitions", short, value_name = "PATH")]
    pub(crate) definitions: Vec<PathBuf>,
    /// Ask no cluster: the built-in definitions and those given say which keys are traits
    #[arg(long, conflicts_with_all = ["sandbox", "kubeconfig", "context"])]
    pub(crate) offline: bool,
    /// Leave out the HealthScope, which KubeVela 1.0 reads
    #[arg(long)]
    pub(crate) no_health_scope: bool,
    /// How to print it: YAML documents, or a JSON list
    #[arg(long, short, value_parser = output::<Format>(), default_value = "yaml")]
    pub(crate) output: Format,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Keys:\n  Enter goes down, q or Esc back, / searches, e shows events, l the log of a pod, ? all keys.\n\n\
                  Examples:\n  vela top\n  vela top -A"
)]
pub(crate) struct Top {
    /// Applications of every namespace
    #[arg(long, short = 'A')]
    pub(crate) all_namespaces: bool,
}
