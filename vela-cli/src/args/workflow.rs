//! The words of `vela workflow`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use super::format::{Format, ListFormat, output};
use super::values::{duration, object};

/// What is done with the workflow of an application.
#[derive(Debug, Subcommand)]
pub(crate) enum Workflow {
    /// Hold a workflow where it is, or one of its steps that is running
    Suspend(Steered),
    /// Let a suspended workflow go on, and wait until the application runs
    Resume(Resume),
    /// End a workflow: what is under way fails, and what comes later does not begin
    Terminate(Steered),
    /// Run a workflow anew, from its beginning or from a step that failed, and wait until the application runs
    Restart(Restart),
    /// Go back to the last revision that succeeded, and wait until the application runs
    Rollback(Rollback),
    /// Print what the steps of a workflow came to, in the order of time
    Logs {
        /// Name of the application
        #[arg(value_parser = object)]
        application: String,
        /// Only this step
        #[arg(long, short, value_name = "STEP")]
        step: Option<String>,
    },
    /// Print what a step was given, took, gave and called
    Debug {
        /// Name of the application
        #[arg(value_parser = object)]
        application: String,
        /// Only this step
        #[arg(long, short, value_name = "STEP")]
        step: Option<String>,
        /// How to print it
        #[arg(long, short, value_parser = output::<Format>(), default_value = "yaml")]
        output: Format,
    },
    /// Run a workflow before it runs: the real controller, on a clock that jumps, in a cluster inside this process;
    /// ends with 0 when the workflow succeeded
    Simulate(WorkflowSimulate),
    /// List the workflows of applications
    #[command(visible_alias = "ls")]
    List {
        /// Workflows of every namespace
        #[arg(long, short = 'A')]
        all_namespaces: bool,
        /// How to print them
        #[arg(long, short, value_parser = output::<ListFormat>(), default_value = "table")]
        output: ListFormat,
    },
}

/// A workflow, or a step of it.
#[derive(Debug, Args)]
pub(crate) struct Steered {
    /// Name of the application
    #[arg(value_parser = object)]
    pub(crate) application: String,
    /// Only this step
    #[arg(long, short, value_name = "STEP")]
    pub(crate) step: Option<String>,
}

/// How the outcome is waited for.
#[derive(Debug, Args)]
pub(crate) struct Followed {
    /// How long to wait until the application runs, such as 90s, 5m or 1h
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = duration)]
    pub(crate) timeout: Duration,
    /// Return as soon as it is asked for
    #[arg(long)]
    pub(crate) no_wait: bool,
}

#[derive(Debug, Args)]
pub(crate) struct WorkflowSimulate {
    /// File, folder or - for standard input: Applications, and what they need; an Application that is given once more is a
    /// change of it, which follows when the former has come to rest; may be given many times
    #[arg(long = "file", short, value_name = "PATH", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// How long a pod takes to get ready, such as 5s or 2m
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = duration)]
    pub(crate) latency: Duration,
    /// Pods of this component never get ready; may be given many times
    #[arg(long = "fail", value_name = "COMPONENT", value_parser = object)]
    pub(crate) fails: Vec<String>,
    /// People resume what waits for them after this time; without it the simulation ends there
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) resume_after: Option<Duration>,
    /// When to give up, in the time of the simulation
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = duration)]
    pub(crate) until: Duration,
    /// How to print it
    #[arg(long, short, value_parser = output::<Format>(), default_value = "table")]
    pub(crate) output: Format,
}

#[derive(Debug, Args)]
pub(crate) struct Resume {
    #[command(flatten)]
    pub(crate) what: Steered,
    #[command(flatten)]
    pub(crate) followed: Followed,
}

#[derive(Debug, Args)]
pub(crate) struct Restart {
    /// Name of the application
    #[arg(value_parser = object)]
    pub(crate) application: String,
    /// Begin at this step, which failed; what builds on it runs again, too
    #[arg(long, short, value_name = "STEP")]
    pub(crate) step: Option<String>,
    #[command(flatten)]
    pub(crate) followed: Followed,
}

#[derive(Debug, Args)]
pub(crate) struct Rollback {
    /// Name of the application
    #[arg(value_parser = object)]
    pub(crate) application: String,
    /// Go to this revision instead, such as shop-v1
    #[arg(long, short, value_name = "REVISION", value_parser = object)]
    pub(crate) revision: Option<String>,
    #[command(flatten)]
    pub(crate) followed: Followed,
}
