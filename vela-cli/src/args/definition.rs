//! The words of `vela def`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::files::Recursive;
use super::format::{DefinitionFormat, Format, ListFormat, output};
use super::values::{object, type_};

/// What is done with definitions.
#[derive(Debug, Subcommand)]
pub(crate) enum Def {
    /// Judge definitions as the webhook would, with every mistake at its place; needs no cluster
    #[command(after_help = "Examples:\n  vela def vet my-trait.cue\n  vela def vet -R definitions/")]
    Vet(DefinitionFiles),
    /// Render definitions with the values of test files and compare what they make; needs no cluster
    #[command(
        after_help = "A file NAME.test.yaml has tests of the definition in NAME.cue (or .yaml) beside it:\n\n  \
            tests:\n  \
            - name: one replica unless another number is given\n    \
              component: {type: web, properties: {image: nginx}}\n    \
              expect:\n      \
                objects: [{kind: Deployment, spec: {replicas: 1}}]\n\n\
            Examples:\n  vela def test web.test.yaml\n  vela def test -R definitions/ --filter replica"
    )]
    Test(TestDefinitions),
    /// Print the objects that definitions written in CUE stand for; needs no cluster
    #[command(
        after_help = "Examples:\n  vela def render my-trait.cue\n  vela def render definitions/ -o json"
    )]
    Render {
        #[command(flatten)]
        files: DefinitionFiles,
        /// How to print them: YAML documents, or a JSON list
        #[arg(long, short, value_parser = output::<Format>(), default_value = "yaml")]
        output: Format,
    },
    /// Write typed clients of definitions in TypeScript, Go or Python
    #[command(
        after_help = "Examples:\n  vela def gen-api webservice scaler --lang go -o internal/vela\n  vela def gen-api --all --offline --lang python -o ."
    )]
    GenApi(GenerateApi),
    /// Print the beginning of a definition in CUE; needs no cluster
    #[command(
        after_help = "Examples:\n  vela def init my-trait -t trait --desc 'Marks a workload.'\n  vela def init page -t component --template-yaml deployment.yaml -o page.cue"
    )]
    Init(InitDefinition),
    /// Judge definitions and apply them, as `vela up` does
    #[command(
        after_help = "Examples:\n  vela def apply my-trait.cue\n  vela def apply -R definitions/ --dry-run"
    )]
    Apply(ApplyDefinitions),
    /// Open a definition as CUE in the editor ($VISUAL, $EDITOR or vi), judge what comes back and apply it
    #[command(after_help = "Examples:\n  vela def edit my-trait\n  vela def edit webservice -n vela-system")]
    Edit(EditDefinition),
    /// Delete a definition that no application uses
    #[command(
        visible_alias = "delete",
        after_help = "Examples:\n  vela def del my-trait\n  vela def del page --type component -y"
    )]
    Del(DeleteDefinition),
    /// List the definitions that applications of the namespace can use
    #[command(
        visible_alias = "ls",
        after_help = "Examples:\n  vela def list\n  vela def list --type trait -o name"
    )]
    List {
        #[command(flatten)]
        which: WhichDefinitions,
        /// How to print them
        #[arg(long, short, value_parser = output::<ListFormat>(), default_value = "table")]
        output: ListFormat,
    },
    /// Print a definition
    #[command(after_help = "Examples:\n  vela def get webservice\n  vela def get scaler --offline -o cue")]
    Get {
        /// Name of the definition
        #[arg(value_parser = type_)]
        name: String,
        #[command(flatten)]
        which: WhichDefinitions,
        /// How to print it
        #[arg(long, short, value_parser = output::<DefinitionFormat>(), default_value = "yaml")]
        output: DefinitionFormat,
    },
}

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("which").required(true).args(["what", "all"]))]
pub(crate) struct GenerateApi {
    /// Names of definitions that are there, and files or folders of definitions
    #[arg(value_name = "NAME|FILE")]
    pub(crate) what: Vec<String>,
    /// All definitions that are there
    #[arg(long)]
    pub(crate) all: bool,
    /// The language of the clients
    #[arg(long, short, value_enum)]
    pub(crate) lang: Language,
    /// Folder of the file vela.ts, vela.go or vela.py, which is written anew if it was generated
    #[arg(long, short, value_name = "FOLDER")]
    pub(crate) output: PathBuf,
    /// Name of the Go package (default: that of the folder)
    #[arg(long, value_name = "NAME")]
    pub(crate) package: Option<String>,
    #[command(flatten)]
    pub(crate) which: WhichDefinitions,
    #[command(flatten)]
    pub(crate) recursive: Recursive,
}

/// A language of clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Language {
    /// A module, for TypeScript 4 or newer
    #[value(alias = "ts")]
    Typescript,
    /// A package, for Go 1.18 or newer
    Go,
    /// A module, for Python 3.8 or newer
    #[value(alias = "py")]
    Python,
}

/// Files with definitions.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("what").required(true).multiple(true).args(["paths", "files"]))]
pub(crate) struct DefinitionFiles {
    /// Files (.cue, .yaml, .json), folders, URLs or - for standard input
    #[arg(value_name = "FILE")]
    pub(crate) paths: Vec<PathBuf>,
    /// The same; may be given many times
    #[arg(long = "file", short, value_name = "PATH")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) recursive: Recursive,
}

#[derive(Debug, Args)]
pub(crate) struct TestDefinitions {
    /// Test files, or folders with files that end in .test.yaml, .test.yml or .test.json
    #[arg(value_name = "FILE", required = true)]
    pub(crate) paths: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) recursive: Recursive,
    /// Only tests whose name has this text
    #[arg(long, value_name = "TEXT")]
    pub(crate) filter: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct InitDefinition {
    /// Name of the definition
    #[arg(value_parser = object)]
    pub(crate) name: String,
    /// What it is for
    #[arg(long = "type", short, value_enum, value_name = "TYPE")]
    pub(crate) type_: DefinitionType,
    /// What users read about it
    #[arg(long, short, value_name = "TEXT")]
    pub(crate) desc: Option<String>,
    /// Objects that it makes, such as a Deployment and its Service: image and replicas become parameters
    #[arg(long, value_name = "FILE")]
    pub(crate) template_yaml: Option<PathBuf>,
    /// File to write, which must not be there yet (default: standard output)
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ApplyDefinitions {
    #[command(flatten)]
    pub(crate) files: DefinitionFiles,
    /// Let the cluster judge them and store nothing; prints the objects
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Take over fields that another program manages
    #[arg(long)]
    pub(crate) force_conflicts: bool,
}

#[derive(Debug, Args)]
pub(crate) struct EditDefinition {
    /// Name of the definition
    #[arg(value_parser = object)]
    pub(crate) name: String,
    /// What it is for, where definitions of several types have the name
    #[arg(long = "type", short, value_enum, value_name = "TYPE")]
    pub(crate) type_: Option<DefinitionType>,
}

#[derive(Debug, Args)]
pub(crate) struct DeleteDefinition {
    /// Name of the definition
    #[arg(value_parser = object)]
    pub(crate) name: String,
    /// What it is for, where definitions of several types have the name
    #[arg(long = "type", short, value_enum, value_name = "TYPE")]
    pub(crate) type_: Option<DefinitionType>,
    /// Ask nothing
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Delete it although applications use it
    #[arg(long)]
    pub(crate) force: bool,
}

/// Which of the definitions that are there.
#[derive(Debug, Args)]
pub(crate) struct WhichDefinitions {
    /// Only definitions of this type
    #[arg(long = "type", short, value_enum, value_name = "TYPE")]
    pub(crate) type_: Option<DefinitionType>,
    /// Ask no cluster: the built-in definitions
    #[arg(long, conflicts_with_all = ["sandbox", "kubeconfig", "context"])]
    pub(crate) offline: bool,
}

/// What a definition is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DefinitionType {
    /// ComponentDefinition
    Component,
    /// TraitDefinition
    Trait,
    /// PolicyDefinition
    Policy,
    /// WorkflowStepDefinition
    WorkflowStep,
    /// WorkloadDefinition
    Workload,
}
