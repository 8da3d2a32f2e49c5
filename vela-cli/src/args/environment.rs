//! The words of `vela env`.

use clap::Subcommand;

use super::format::{ListFormat, output};
use super::values::environment;

/// What is done with environments.
#[derive(Debug, Subcommand)]
pub(crate) enum Env {
    /// Make a namespace an environment and choose it; the namespace is created where it is not there
    #[command(after_help = "Examples:\n  vela env init shop\n  vela env init shop --namespace shop-staging")]
    Init {
        /// Name of the environment; its namespace has the same name unless --namespace gives another
        #[arg(value_parser = environment)]
        name: String,
    },
    /// List environments, and which one is current
    #[command(visible_alias = "list", after_help = "Examples:\n  vela env ls\n  vela env ls -o json")]
    Ls {
        /// Only the environment of this name
        #[arg(value_parser = environment)]
        name: Option<String>,
        /// How to print them
        #[arg(long, short, value_parser = output::<ListFormat>(), default_value = "table")]
        output: ListFormat,
    },
    /// Choose the environment that commands work in where no --namespace is given
    #[command(visible_alias = "sw", after_help = "Examples:\n  vela env set shop\n  vela env set --none")]
    #[command(group = clap::ArgGroup::new("which").required(true).args(["name", "none"]))]
    Set {
        /// Name of the environment
        #[arg(value_parser = environment)]
        name: Option<String>,
        /// Choose none: commands work in the namespace of the context again
        #[arg(long)]
        none: bool,
    },
    /// Make environments plain namespaces again; the namespaces that `vela env init` created are deleted
    #[command(after_help = "Examples:\n  vela env delete shop\n  vela env delete shop billing -y")]
    Delete {
        /// Names of the environments; none may be current or have applications
        #[arg(required = true, value_parser = environment)]
        names: Vec<String>,
        /// Ask nothing before a namespace is deleted
        #[arg(long, short)]
        yes: bool,
    },
}
