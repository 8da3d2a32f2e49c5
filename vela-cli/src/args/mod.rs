//! The command line of `vela`, as typed.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use vela_engine::ClusterVersion;

pub(crate) use self::capability::{Cap, Center, InstallCapability, TraitTypes, Types, UninstallCapability};
pub(crate) use self::config::{ApplyTemplate, Config, ConfigTemplate, CreateConfig, DistributeConfig};
pub(crate) use self::containers::{Exec, PortForward};
pub(crate) use self::definition::{
    ApplyDefinitions, Def, DefinitionFiles, DefinitionType, DeleteDefinition, EditDefinition, GenerateApi,
    InitDefinition, Language, TestDefinitions, WhichDefinitions,
};
pub(crate) use self::environment::Env;
pub(crate) use self::everyday::{Export, RollbackApplication, Top};
pub(crate) use self::files::{Delete, Kustomize, Recursive};
use self::format::output;
pub(crate) use self::format::{DataFormat, DefinitionFormat, Format, ListFormat, ShowFormat};
pub(crate) use self::global::Global;
pub(crate) use self::init::Init;
pub(crate) use self::inspect::{Diff, Logs, Revision, RevisionGet};
pub(crate) use self::installing::{Auth, AuthProxy, Dashboard, Grant, Install, Uninstall};
pub(crate) use self::lsp::Lsp;
pub(crate) use self::one_cluster::OneCluster;
pub(crate) use self::policy::{Policy, PolicyDryRun, PolicyView};
pub(crate) use self::ports::{Ports, Remote};
pub(crate) use self::ql::{Ql, QlCommand};
pub(crate) use self::sandbox::{Sandbox, SandboxRun};
pub(crate) use self::simulated::{AtBatch, Fail, Latency, Verdict};
pub(crate) use self::system::System;
pub(crate) use self::values::{Capability, Target};
use self::values::{duration, object, type_};
pub(crate) use self::workflow::{Followed, Restart, Resume, Rollback, Steered, Workflow, WorkflowSimulate};

mod capability;
mod config;
mod containers;
mod definition;
mod environment;
mod everyday;
mod files;
mod format;
mod global;
mod init;
mod inspect;
mod installing;
mod lsp;
mod one_cluster;
mod policy;
mod ports;
mod ql;
mod sandbox;
mod simulated;
mod system;
mod values;
mod workflow;

/// What [`crate::error::Kind`] becomes; `docs/exit-codes.md` says more.
const EXIT_CODES: &str = "\
Exit codes:
    0  done
    1  the input is wrong, or what it describes does not become healthy
    2  these words cannot be read as a command
    3  this machine is not set up for it: kubeconfig, home folder, disk
    4  the cluster cannot be reached, or refuses
    5  the application will not run: it needs what vela does not support yet
   70  a fault of vela itself
  130  interrupted";

/// Run applications on Kubernetes, or on the sandbox that comes with this program.
#[derive(Debug, Parser)]
#[command(
    name = "vela",
    version,
    propagate_version = false,
    max_term_width = 110,
    subcommand_required = true
)]
#[command(arg_required_else_help = true, after_help = EXIT_CODES)]
pub(crate) struct Vela {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Write the file of an application, by flags and by questions on a terminal
    Init(Init),
    /// Apply files and wait until their applications run
    #[command(alias = "apply")]
    Up(Up),
    /// Show an application: components, health and every object with its origin
    #[command(alias = "describe")]
    Status(Status),
    /// List applications
    #[command(aliases = ["list", "get"])]
    Ls(Ls),
    /// Look into applications on the whole terminal: components, objects, pods, events and logs
    Top(Top),
    /// Delete applications, or everything that files describe, and wait until it is gone
    Delete(Delete),
    /// Print the objects that an application would become, without changing anything
    DryRun(DryRun),
    /// Print the Application that an Appfile (vela.yaml) stands for
    Export(Export),
    /// Say what the cluster would change if files were applied, field by field, without changing anything
    #[command(visible_alias = "live-diff")]
    Diff(Diff),
    /// Print what the containers of an application write
    Logs(Logs),
    /// Run a command in a container of an application
    Exec(Exec),
    /// Forward ports of this machine to a pod of an application, until Ctrl-C
    PortForward(PortForward),
    /// Show what an earlier revision would change back, and give the application its content
    Rollback(RollbackApplication),
    /// Choose, make, list and delete environments: namespaces with a name
    #[command(subcommand)]
    Env(Env),
    /// List, show, make and delete configs: properties in a Secret, as workflows write and read them
    #[command(subcommand)]
    Config(Config),
    /// List the templates of configs, and show which properties one takes
    #[command(subcommand)]
    ConfigTemplate(ConfigTemplate),
    /// Ask the cluster by views: CUE that looks at applications, their objects, pods, events and logs
    Ql(Ql),
    /// List the revisions of an application, print one, and say what differs between two
    #[command(subcommand)]
    Revision(Revision),
    /// Begin, judge, apply, edit, list, print and delete definitions
    #[command(subcommand)]
    Def(Def),
    /// Bring definitions from capability centres, which are folders of them elsewhere
    #[command(subcommand)]
    Cap(Cap),
    /// List the types of components, or those of the capability centres
    #[command(alias = "component")]
    Components(Types),
    /// List the types of traits, or those of the capability centres
    #[command(alias = "trait")]
    Traits(TraitTypes),
    /// List the definitions of workloads, or those of the capability centres
    Workloads(Types),
    /// List the definitions of scopes, or those of the capability centres
    Scopes(Types),
    /// Show the parameters of a type: component, trait, policy or workflow step
    Show(Show),
    /// Suspend, resume, end, restart and look into the workflows of applications
    #[command(subcommand)]
    Workflow(Workflow),
    /// Show what became of the policies of an application, and what they would change
    #[command(subcommand)]
    Policy(Policy),
    /// Foresee, follow, pause and resume rollouts in batches
    #[command(subcommand)]
    Rollout(Rollout),
    /// Run, look after or reset the local sandbox
    #[command(subcommand)]
    Sandbox(Sandbox),
    /// Serve a page and a REST API that show applications, on this machine until Ctrl-C
    Dashboard(Dashboard),
    /// Put the resource definitions, built-in types and (with an image) the controller into the cluster
    Install(Install),
    /// Take vela out of the cluster: applications, webhooks, controller, kinds
    Uninstall(Uninstall),
    /// Show the controller of the cluster, and look for what is wrong with the installation
    #[command(subcommand)]
    System(System),
    /// Serve an editor (LSP): it shows mistakes, types and parameters while one writes
    Lsp(Lsp),
    /// Print a completion script for a shell
    Completion(Completion),
    /// Print the version
    Version(Version),
}

#[derive(Debug, Args)]
pub(crate) struct Up {
    /// Files, folders, URLs or - as --file takes them (default: vela.yaml, vela.json or Appfile of this folder); or the name of an application that is there already: with
    /// --revision it goes to that revision, with --publish-version it is deployed anew
    #[arg(value_name = "FILE|NAME")]
    pub(crate) words: Vec<String>,
    /// File, folder (every .yaml, .yml and .json in it), URL or - for standard input; may be given many times
    #[arg(long = "file", short, value_name = "PATH")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) recursive: Recursive,
    #[command(flatten)]
    pub(crate) kustomize: Kustomize,
    /// Revision whose content the application NAME gets, such as shop-v1
    #[arg(long, short, value_name = "REVISION", value_parser = object, conflicts_with_all = ["files", "kustomize"])]
    pub(crate) revision: Option<String>,
    /// Publish it as this version, by the annotation app.oam.dev/publishVersion: its workflow runs for each version once
    #[arg(long, short = 'v', value_name = "VERSION", value_parser = object)]
    pub(crate) publish_version: Option<String>,
    /// Give the applications the policy `debug`: `vela workflow debug` then shows what each step was given, gave and called
    #[arg(long, conflicts_with = "revision")]
    pub(crate) debug: bool,
    /// How long to wait until the applications run, such as 90s, 5m or 1h
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = duration)]
    pub(crate) timeout: Duration,
    /// Return as soon as the objects are stored
    #[arg(long)]
    pub(crate) no_wait: bool,
    /// Wait until the applications run, which is the rule here
    #[arg(long, hide = true, conflicts_with = "no_wait")]
    pub(crate) wait: bool,
    /// Take over fields that another program manages
    #[arg(long)]
    pub(crate) force_conflicts: bool,
    /// Refuse what would come to nothing, such as a misspelt parameter; with =false it is only warned of
    #[arg(long, value_name = "BOOL", default_value_t = true, num_args = 0..=1, require_equals = true,
          default_missing_value = "true", action = clap::ArgAction::Set)]
    pub(crate) strict: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  vela status shop --pod\n  vela status shop --endpoint\n  vela status shop --watch --timeout 10m"
)]
pub(crate) struct Status {
    /// Name of the application (or ApplicationConfiguration)
    #[arg(value_parser = object)]
    pub(crate) name: String,
    /// Only its pods: of which component each is, and how it is
    #[arg(long, visible_alias = "pods")]
    pub(crate) pod: bool,
    /// Only the addresses at which it is reached: those of its Services and Ingresses
    #[arg(long, short = 'p', visible_alias = "endpoints", conflicts_with = "pod")]
    pub(crate) endpoint: bool,
    /// Only these components; may be given several times
    #[arg(long, short, value_name = "NAME", value_parser = object, visible_alias = "svc", visible_short_alias = 's')]
    pub(crate) component: Vec<String>,
    /// Its objects as a tree, which is the rule here
    #[arg(long, short, hide = true)]
    pub(crate) tree: bool,
    /// Every object with its state, which is the rule here
    #[arg(long, short, hide = true)]
    pub(crate) detail: bool,
    /// Its objects as a picture: a file for documents, written to standard output
    #[arg(long, value_enum, value_name = "FORMAT", conflicts_with_all = ["pod", "endpoint", "watch", "output"])]
    pub(crate) graph: Option<Graph>,
    #[command(flatten)]
    pub(crate) cluster: OneCluster,
    /// Go on and print what changes, until Ctrl-C or until it is deleted; json and yaml print a document for each change
    #[arg(long, short)]
    pub(crate) watch: bool,
    /// How long to watch, such as 90s, 5m or 1h [default: until Ctrl-C]
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "watch")]
    pub(crate) timeout: Option<Duration>,
    /// How to print it
    #[arg(long, short, value_parser = output::<Format>(), default_value = "table")]
    pub(crate) output: Format,
}

/// How a picture is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Graph {
    /// SVG, which follows light and dark
    Svg,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  vela ls -A -o wide\n  vela ls --watch")]
pub(crate) struct Ls {
    /// Only the applications of these names
    #[arg(value_name = "NAME", value_parser = object)]
    pub(crate) names: Vec<String>,
    /// Applications of every namespace
    #[arg(long, short = 'A')]
    pub(crate) all_namespaces: bool,
    /// Only applications with these labels, such as team=shop,tier!=test; as kubectl takes it
    #[arg(long, short = 'l', value_name = "LABELS", conflicts_with = "watch")]
    pub(crate) selector: Option<String>,
    /// Go on and print each application that changes, until Ctrl-C; json and yaml print a document for each change
    #[arg(long, short)]
    pub(crate) watch: bool,
    /// How to print them
    #[arg(long, short, value_parser = output::<ListFormat>(), default_value = "table")]
    pub(crate) output: ListFormat,
}

#[derive(Debug, Args)]
pub(crate) struct DryRun {
    /// Files, folders, URLs or - as --file takes them (default: vela.yaml, vela.json or Appfile of this folder)
    #[arg(value_name = "FILE")]
    pub(crate) paths: Vec<PathBuf>,
    /// File, folder, URL or - for standard input, with applications, their Policies and Workflows, and what they need; may
    /// be given many times
    #[arg(long = "file", short, value_name = "PATH")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) recursive: Recursive,
    #[command(flatten)]
    pub(crate) kustomize: Kustomize,
    /// Files or folders with more definitions; they win over the built-in ones
    #[arg(long = "definitions", short, value_name = "PATH")]
    pub(crate) definitions: Vec<PathBuf>,
    /// Ask no cluster: use the built-in definitions and those given
    #[arg(long, conflicts_with_all = ["sandbox", "kubeconfig", "context"])]
    pub(crate) offline: bool,
    /// Take in every Policy and Workflow of the files, also those that the application does not name
    #[arg(long)]
    pub(crate) merge: bool,
    /// Refuse what would come to nothing, such as a misspelt parameter; with =false it is only warned of
    #[arg(long, value_name = "BOOL", default_value_t = true, num_args = 0..=1, require_equals = true,
          default_missing_value = "true", action = clap::ArgAction::Set)]
    pub(crate) strict: bool,
    /// Show what a vela-core with this flag makes: objects outside the application's namespace, too
    #[arg(long)]
    pub(crate) allow_cross_namespace: bool,
    /// Show what a vela-core with this flag makes: roles, kinds, webhook configurations and tokens, too
    #[arg(long)]
    pub(crate) allow_granting_rights: bool,
    /// Version of Kubernetes that offline templates are rendered for, such as 1.30 [default: the newest that is known]
    #[arg(long, value_name = "VERSION", requires = "offline", value_parser = ClusterVersion::from_text)]
    pub(crate) kubernetes_version: Option<ClusterVersion>,
    /// How to print the objects: yaml with comments on their origin, or a JSON list
    #[arg(long, short, value_parser = output::<Format>(), default_value = "yaml")]
    pub(crate) output: Format,
}

#[derive(Debug, Args)]
pub(crate) struct Show {
    /// Type, such as webservice or scaler; without it, all types are listed
    #[arg(value_parser = type_)]
    pub(crate) name: Option<String>,
    /// Files or folders with more definitions; they win over the built-in ones
    #[arg(long = "definitions", short, value_name = "PATH")]
    pub(crate) definitions: Vec<PathBuf>,
    /// Ask no cluster: show the built-in definitions and those given
    #[arg(long, conflicts_with_all = ["sandbox", "kubeconfig", "context"])]
    pub(crate) offline: bool,
    /// How to print them
    #[arg(long, short, value_parser = output::<ShowFormat>(), default_value = "table", visible_alias = "format")]
    pub(crate) output: ShowFormat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Rollout {
    /// Print what each batch of a plan will do, before anything runs and without asking a cluster
    Plan(RolloutPlan),
    /// Run a rollout before it runs: the real controller, on a clock that jumps, in a cluster inside this process;
    /// ends with 0 when the rollout succeeded
    Simulate(RolloutSimulate),
    /// Show where a rollout is, with a bar for each batch
    Status {
        /// Name of the AppRollout
        #[arg(value_parser = object)]
        name: String,
        /// How to print it
        #[arg(long, short, value_parser = output::<Format>(), default_value = "table")]
        output: Format,
        /// Show it until it has ended or waits for a user
        #[arg(long, short)]
        watch: bool,
        /// How long to watch, such as 90s, 5m or 1h
        #[arg(long, value_name = "TIME", default_value = "15m", value_parser = duration, requires = "watch")]
        timeout: Duration,
    },
    /// Stop a rollout where it is
    Pause {
        /// Name of the AppRollout
        #[arg(value_parser = object)]
        name: String,
    },
    /// Let a paused rollout go on
    Resume {
        /// Name of the AppRollout
        #[arg(value_parser = object)]
        name: String,
    },
    /// Let a rollout go on behind the batch it waits for (batchPartition)
    Promote {
        /// Name of the AppRollout
        #[arg(value_parser = object)]
        name: String,
        /// To the end, rather than by one batch
        #[arg(long)]
        full: bool,
    },
    /// Go back to the revision that a rollout came from, wherever it is
    Undo {
        /// Name of the AppRollout
        #[arg(value_parser = object)]
        name: String,
    },
    /// Let go of the workloads of a rollout where it stands, neither on nor back, and end it
    Abandon {
        /// Name of the AppRollout
        #[arg(value_parser = object)]
        name: String,
    },
    /// List the revisions of an application, and the rollouts that go from or to them
    History {
        /// Name of the application
        #[arg(value_parser = object)]
        application: String,
        /// How to print them
        #[arg(long, short, value_parser = output::<Format>(), default_value = "table")]
        output: Format,
    },
}

#[derive(Debug, Args)]
pub(crate) struct RolloutPlan {
    /// File, folder or - for standard input, with AppRollouts or Applications; may be given many times
    #[arg(long = "file", short, value_name = "PATH", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// How many pods there are now (default: the plan's targetSize)
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(i32).range(0..))]
    pub(crate) size: Option<i32>,
    /// How pods change: from one Deployment to another, or in the same CloneSet, StatefulSet or DaemonSet
    #[arg(long, value_enum, default_value = "replaced")]
    pub(crate) pods: Pods,
    /// How to print it
    #[arg(long, short, value_parser = output::<Format>(), default_value = "table")]
    pub(crate) output: Format,
}

#[derive(Debug, Args)]
pub(crate) struct RolloutSimulate {
    /// File, folder or - for standard input: the Application as it is, as it will be, its AppRollout, and definitions
    /// beside them; Applications and AppRollouts are taken in the order given; may be given many times
    #[arg(long = "file", short, value_name = "PATH", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// How many pods run before the rollout (default: what the source says, else what the batches add up to)
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(i32).range(0..=1000))]
    pub(crate) size: Option<i32>,
    /// How long a pod takes to get ready: a time such as 5s, or two such as 2s..10s to draw from
    #[arg(long, value_name = "TIME", default_value = "5s")]
    pub(crate) latency: Latency,
    /// Pod N of batch M never gets ready, because of REASON: crash (default), image or unschedulable; may be given many
    /// times
    #[arg(long = "fail", value_name = "pod=N@batchM[:REASON]")]
    pub(crate) fails: Vec<Fail>,
    /// What the hook of this name answers, instead of yes; may be given many times
    #[arg(long = "hook", value_name = "NAME=fail")]
    pub(crate) hooks: Vec<Verdict>,
    /// What the metric of this name says, instead of a value in its range; may be given many times
    #[arg(long = "metric", value_name = "NAME=fail")]
    pub(crate) metrics: Vec<Verdict>,
    /// Kill the controller when this batch begins, as SIGKILL would, and start it again after 20 seconds
    #[arg(long, value_name = "@batchM")]
    pub(crate) kill_controller: Option<AtBatch>,
    /// What chance is drawn from: the same seed gives the same run
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,
    /// When to give up, in the time of the simulation
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = duration)]
    pub(crate) until: Duration,
    /// How to print it
    #[arg(long, short, value_parser = output::<Format>(), default_value = "table")]
    pub(crate) output: Format,
}

/// How pods change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Pods {
    /// By those of another Deployment
    Replaced,
    /// In the same object
    InPlace,
}

#[derive(Debug, Args)]
pub(crate) struct Completion {
    /// Shell to write it for
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct Version {
    /// How to print it
    #[arg(long, short, value_parser = output::<Format>(), default_value = "table")]
    pub(crate) output: Format,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_words_fit_together() {
        Vela::command().debug_assert();
    }
}
