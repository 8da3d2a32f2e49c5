//! The words of the commands that look inside: `vela revision`, `vela diff`, `vela logs`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use super::files::{Kustomize, Recursive};
use super::format::{Format, ListFormat, output};
use super::one_cluster::OneCluster;
use super::values::{duration, object};

/// What is done with the revisions of an application.
#[derive(Debug, Subcommand)]
pub(crate) enum Revision {
    /// List the revisions of an application, newest first
    #[command(visible_alias = "ls", after_help = "Example:\n  vela revision list shop -o wide")]
    List {
        /// Name of the application
        #[arg(value_parser = object)]
        application: String,
        /// How to print them
        #[arg(long, short, value_parser = output::<ListFormat>(), default_value = "table")]
        output: ListFormat,
    },
    /// Print the application as it was in a revision, or what differs between two revisions
    #[command(
        after_help = "Examples:\n  vela revision get shop-v1\n  vela revision get --diff shop-v1 shop-v3"
    )]
    Get(RevisionGet),
}

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("which").required(true).multiple(false).args(["name", "diff"]))]
pub(crate) struct RevisionGet {
    /// Name of the revision, such as shop-v1
    #[arg(value_name = "REVISION", value_parser = object)]
    pub(crate) name: Option<String>,
    /// Print the fields that differ from the first revision to the second, of the application and of its definitions
    #[arg(long, num_args = 2, value_names = ["FROM", "TO"], value_parser = object)]
    pub(crate) diff: Vec<String>,
    /// How to print it; an application is no table, and is printed as YAML instead
    #[arg(long, short, value_parser = output::<Format>(), default_value = "table")]
    pub(crate) output: Format,
}

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("what").required(true).multiple(true).args(["paths", "files", "kustomize"]))]
#[command(after_help = "Examples:\n  vela diff app.yaml\n  vela live-diff -f app.yaml -o json")]
pub(crate) struct Diff {
    /// Files, folders, URLs or - as --file takes them
    #[arg(value_name = "FILE")]
    pub(crate) paths: Vec<PathBuf>,
    /// File, folder, URL or - for standard input, with applications and what they need; may be given many times
    #[arg(long = "file", short, value_name = "PATH")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) recursive: Recursive,
    #[command(flatten)]
    pub(crate) kustomize: Kustomize,
    /// Files or folders with more definitions; they win over those of the cluster
    #[arg(long = "definitions", short, value_name = "PATH")]
    pub(crate) definitions: Vec<PathBuf>,
    /// Compare with what a vela-core with this flag makes: objects outside the application's namespace, too
    #[arg(long)]
    pub(crate) allow_cross_namespace: bool,
    /// Compare with what a vela-core with this flag makes: roles, kinds, webhook configurations and tokens, too
    #[arg(long)]
    pub(crate) allow_granting_rights: bool,
    /// How to print it
    #[arg(long, short, value_parser = output::<Format>(), default_value = "table")]
    pub(crate) output: Format,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  vela logs shop --follow\n  vela logs shop --component web --container nginx --since 10m"
)]
pub(crate) struct Logs {
    /// Name of the application
    #[arg(value_parser = object)]
    pub(crate) application: String,
    /// Only pods of this component
    #[arg(long, value_name = "NAME", value_parser = object)]
    pub(crate) component: Option<String>,
    /// Only this container of each pod
    #[arg(long, short, value_name = "NAME", value_parser = object)]
    pub(crate) container: Option<String>,
    /// Only this pod
    #[arg(long, short, value_name = "NAME", value_parser = object)]
    pub(crate) pod: Option<String>,
    #[command(flatten)]
    pub(crate) cluster: OneCluster,
    /// Go on printing what the containers write, until Ctrl-C
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// What the containers wrote before they were restarted
    #[arg(long, conflicts_with = "follow")]
    pub(crate) previous: bool,
    /// Only what is not older than this, such as 90s, 5m or 1h
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) since: Option<Duration>,
    /// Only the last lines of each container
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    pub(crate) tail: Option<u32>,
    /// Print the time of each line before it
    #[arg(long)]
    pub(crate) timestamps: bool,
}
