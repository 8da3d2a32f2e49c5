//! The words of `vela ql`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::format::{DataFormat, ListFormat, output};
use super::values::{object, pair};

/// What is asked, or what is done with stored views.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  vela ql 'component-pod-view{appName=shop, appNs=default}'\n  vela ql 'service-endpoints-view{appName=shop, appNs=default}.status.endpoints' -o yaml\n  vela ql -f mine.cue -p name=shop"
)]
pub(crate) struct Ql {
    #[command(subcommand)]
    pub(crate) command: Option<QlCommand>,
    /// View with its parameters, and the path of what is printed of its result (default: status)
    #[arg(value_name = "NAME{KEY=VALUE,…}.PATH", required_unless_present_any = ["query", "file"])]
    pub(crate) statement: Option<String>,
    /// The same
    #[arg(long, short, value_name = "NAME{KEY=VALUE,…}.PATH", conflicts_with = "statement")]
    pub(crate) query: Option<String>,
    /// File of a view in CUE that is not stored, a URL, or - for standard input
    #[arg(long, short, value_name = "FILE", conflicts_with_all = ["statement", "query"])]
    pub(crate) file: Option<PathBuf>,
    /// Parameter of the view in the file; may be given many times
    #[arg(long, short, value_name = "KEY=VALUE", value_parser = pair, requires = "file")]
    pub(crate) parameter: Vec<(String, String)>,
    /// How to print the result
    #[arg(long, short, value_parser = output::<DataFormat>(), default_value = "json")]
    pub(crate) output: DataFormat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum QlCommand {
    /// List the views: those of this program, and those stored in the cluster
    #[command(visible_alias = "ls", after_help = "Example:\n  vela ql list")]
    List {
        /// How to print them
        #[arg(long, short, value_parser = output::<ListFormat>(), default_value = "table")]
        output: ListFormat,
    },
    /// Store a view in CUE, after judging it, for everybody who may read the namespace of the system
    #[command(after_help = "Examples:\n  vela ql apply -f pods-view.cue\n  vela ql apply pods-view -f -")]
    Apply {
        /// Name of the view (default: that of the file)
        #[arg(value_parser = object)]
        name: Option<String>,
        /// File of the view in CUE, a URL, or - for standard input
        #[arg(long, short, value_name = "FILE")]
        file: PathBuf,
        /// Judge it and ask the cluster, but store nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Delete stored views, after asking
    #[command(visible_alias = "del", after_help = "Example:\n  vela ql delete pods-view -y")]
    Delete {
        /// Names of the views
        #[arg(required = true, value_name = "NAME", value_parser = object)]
        names: Vec<String>,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
}
