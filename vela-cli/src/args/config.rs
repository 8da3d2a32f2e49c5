//! The words of `vela config` and `vela config-template`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::format::{Format, ListFormat, output};
use super::values::{Target, object, pair, target, template};

/// What is done with configs.
#[derive(Debug, Subcommand)]
pub(crate) enum Config {
    /// List configs, without their values
    #[command(
        visible_alias = "ls",
        after_help = "Examples:\n  vela config list\n  vela config list -t mysql -A"
    )]
    List {
        /// Only those of this template
        #[arg(long, short, value_name = "[NAMESPACE/]NAME", value_parser = template)]
        template: Option<String>,
        /// Configs of every namespace
        #[arg(long, short = 'A')]
        all_namespaces: bool,
        /// How to print them
        #[arg(long, short, value_parser = output::<ListFormat>(), default_value = "table")]
        output: ListFormat,
    },
    /// Show a config: its template, its properties and the objects that go with it
    #[command(after_help = "Examples:\n  vela config get db\n  vela config get db -o json --show-secrets")]
    Get {
        /// Name of the config
        #[arg(value_parser = object)]
        name: String,
        /// Print the values of its properties, which are secret
        #[arg(long)]
        show_secrets: bool,
        /// How to print it
        #[arg(long, short, value_parser = output::<Format>(), default_value = "table")]
        output: Format,
    },
    /// Make a config of properties, or change the properties of one
    #[command(
        after_help = "Examples:\n  vela config create db -t mysql host=10.0.0.1 port=3306\n  vela config create db -t mysql -f properties.yaml"
    )]
    Create(CreateConfig),
    /// Delete configs and the objects that go with them, after asking
    #[command(visible_alias = "del", after_help = "Example:\n  vela config delete db -y")]
    Delete {
        /// Names of the configs
        #[arg(required = true, value_name = "NAME", value_parser = object)]
        names: Vec<String>,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
    /// Copy a config into other namespaces, or take the copies back
    #[command(
        after_help = "Examples:\n  vela config distribute db --target team-a,team-b\n  vela config distribute db --recall"
    )]
    Distribute(DistributeConfig),
}

#[derive(Debug, Args)]
pub(crate) struct DistributeConfig {
    /// Name of the config
    #[arg(value_parser = object)]
    pub(crate) name: String,
    /// Namespaces that get a copy, or whose copies are taken back
    #[arg(
        long,
        short,
        value_name = "[local/]NAMESPACE",
        value_delimiter = ',',
        value_parser = target,
        required_unless_present = "recall"
    )]
    pub(crate) target: Vec<Target>,
    /// Delete the copies: those in the targets, or all where none is named
    #[arg(long)]
    pub(crate) recall: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CreateConfig {
    /// Name of the config
    #[arg(value_parser = object)]
    pub(crate) name: String,
    /// Properties; dots lead into objects. A value is read as the template declares it, and is a text where nothing does
    #[arg(value_name = "PROPERTY=VALUE", value_parser = pair)]
    pub(crate) properties: Vec<(String, String)>,
    /// Template that it goes by, of the system namespace where none is named
    #[arg(long, short, value_name = "[NAMESPACE/]NAME", value_parser = template)]
    pub(crate) template: Option<String>,
    /// File of properties in YAML or JSON, or - for standard input; those given as words win
    #[arg(long, short, value_name = "PATH")]
    pub(crate) file: Option<PathBuf>,
    /// Ask the cluster to judge the objects, store nothing, and say which they are
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// With --dry-run: print the objects whole, with their secret values
    #[arg(long, requires = "dry_run")]
    pub(crate) show_secrets: bool,
}

/// What is done with the templates of configs.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigTemplate {
    /// List the templates of the namespace of the command and of the system namespace
    #[command(visible_alias = "ls", after_help = "Example:\n  vela config-template list")]
    List {
        /// Templates of every namespace
        #[arg(long, short = 'A')]
        all_namespaces: bool,
        /// How to print them
        #[arg(long, short, value_parser = output::<ListFormat>(), default_value = "table")]
        output: ListFormat,
    },
    /// Show the properties that the configs of a template take
    #[command(after_help = "Example:\n  vela config-template show mysql")]
    Show {
        /// Name of the template, of the system namespace where none is named
        #[arg(value_name = "[NAMESPACE/]NAME", value_parser = template)]
        name: String,
        /// How to print them
        #[arg(long, short, value_parser = output::<Format>(), default_value = "table")]
        output: Format,
    },
    /// Store a template written in CUE, after judging it
    #[command(
        after_help = "Examples:\n  vela config-template apply -f mysql.cue\n  vela config-template apply mysql.cue --name team-a/mysql --dry-run"
    )]
    Apply(ApplyTemplate),
    /// Delete templates, after asking; the configs that go by them stay
    #[command(visible_alias = "del", after_help = "Example:\n  vela config-template delete mysql -y")]
    Delete {
        /// Names of the templates, of the system namespace where none is named
        #[arg(required = true, value_name = "[NAMESPACE/]NAME", value_parser = template)]
        names: Vec<String>,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ApplyTemplate {
    /// File of the template in CUE, a URL, or - for standard input
    #[arg(value_name = "FILE", required_unless_present = "file", conflicts_with = "file")]
    pub(crate) path: Option<PathBuf>,
    /// The same
    #[arg(long, short, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Name of the template instead of its metadata.name, of the system namespace where none is named
    #[arg(long, value_name = "[NAMESPACE/]NAME", value_parser = template)]
    pub(crate) name: Option<String>,
    /// Ask the cluster to judge the template, store nothing, and print the object
    #[arg(long)]
    pub(crate) dry_run: bool,
}
