//! The words of `vela policy`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::format::{Format, ListFormat, output};
use super::values::object;

#[derive(Debug, Subcommand)]
pub(crate) enum Policy {
    /// List the policies of an application: what became of each
    View(PolicyView),
    /// Say what policies of the scope Application would change, and print the application that they leave, without changing
    /// anything
    DryRun(PolicyDryRun),
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  vela policy view shop\n  vela policy view shop -o wide")]
pub(crate) struct PolicyView {
    /// Name of the application
    #[arg(value_parser = object)]
    pub(crate) application: String,
    /// How to print them
    #[arg(long, short, value_parser = output::<ListFormat>(), default_value = "table")]
    pub(crate) output: ListFormat,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  vela policy dry-run shop\n  vela policy dry-run -f app.yaml -d policies/ --offline\n  \
                  vela policy dry-run shop --outcome"
)]
pub(crate) struct PolicyDryRun {
    /// Name of an application that is there; or files with applications, as --file takes them
    #[arg(value_name = "NAME|FILE")]
    pub(crate) words: Vec<String>,
    /// File, folder, URL or - for standard input, with applications and the definitions that they need; may be given many
    /// times
    #[arg(long = "file", short, value_name = "PATH")]
    pub(crate) files: Vec<PathBuf>,
    /// Files or folders with more definitions; they win over those of the cluster
    #[arg(long = "definitions", short, value_name = "PATH")]
    pub(crate) definitions: Vec<PathBuf>,
    /// Ask no cluster: use the definitions given
    #[arg(long, conflicts_with_all = ["sandbox", "kubeconfig", "context"])]
    pub(crate) offline: bool,
    /// Print only the application as the policies leave it
    #[arg(long)]
    pub(crate) outcome: bool,
    /// How to print it: what each policy changes, or all of it for programs
    #[arg(long, short, value_parser = output::<Format>(), default_value = "table")]
    pub(crate) output: Format,
}
