//! The words by which commands take files and folders, and those of `vela delete`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::values::{duration, object};

/// How deep folders are read.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Recursive {
    /// Read the folders inside folders, too
    #[arg(id = "recursive", long = "recursive", short = 'R')]
    pub(crate) all: bool,
}

/// Folders that kustomize builds.
#[derive(Debug, Args)]
pub(crate) struct Kustomize {
    /// Folder with a kustomization.yaml, built by kubectl or kustomize, of which one must be installed; may be given many
    /// times
    #[arg(id = "kustomize", long = "kustomize", short = 'k', value_name = "FOLDER")]
    pub(crate) folders: Vec<PathBuf>,
}

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("what").required(true).multiple(false).args(["names", "files", "kustomize", "all"]))]
pub(crate) struct Delete {
    /// Names of applications (or ApplicationConfigurations)
    #[arg(value_parser = object)]
    pub(crate) names: Vec<String>,
    /// Delete what this file, folder, URL or - (standard input) describes; may be given many times
    #[arg(long = "file", short, value_name = "PATH")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) recursive: Recursive,
    #[command(flatten)]
    pub(crate) kustomize: Kustomize,
    /// Delete every application of the namespace; asks before it does, unless --yes is given
    #[arg(long)]
    pub(crate) all: bool,
    /// Ask before named applications are deleted, too
    #[arg(long, short, conflicts_with_all = ["yes", "files", "kustomize"])]
    pub(crate) interactive: bool,
    /// Leave the objects that an Application made where they are: they only stop being its own
    #[arg(long, short)]
    pub(crate) orphan: bool,
    /// Ask nothing
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// How long to wait until everything is gone
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = duration)]
    pub(crate) timeout: Duration,
    /// Return as soon as the deletion is asked for
    #[arg(long)]
    pub(crate) no_wait: bool,
    /// Wait until everything is gone, which is the rule here
    #[arg(long, short, hide = true, conflicts_with = "no_wait")]
    pub(crate) wait: bool,
}
