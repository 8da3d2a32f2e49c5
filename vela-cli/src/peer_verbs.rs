//! The verbs of KubeVela's command, of today and of its first releases, that are not here: what to use instead.
//!
//! `docs/reference/commands.md` has the same list; a test compares both.

use clap::CommandFactory as _;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::args::Vela;
use crate::error::{Error, Failure};

/// Why a verb is not here.
#[derive(Clone, Copy)]
enum Absence {
    /// Another command does it.
    Otherwise,
    /// Nothing does it yet.
    NotYet,
    /// Nothing needs it.
    Never,
}

/// A verb, why it is not here, and what to use instead.
type Verb = (&'static str, Absence, &'static str);

const VERBS: &[Verb] = &[
    (
        "addon",
        Absence::NotYet,
        "install what an addon brings by its own chart or manifests; `vela up -f` applies manifests",
    ),
    (
        "adopt",
        Absence::NotYet,
        "objects that run already are taken over by an application that describes them and has the policy `take-over`",
    ),
    (
        "auth",
        Absence::NotYet,
        "give rights by Kubernetes roles and bindings; `vela install --authenticate-application` holds applications to the rights of their authors",
    ),
    ("cluster", Absence::NotYet, "vela works on one cluster; choose it by `--kubeconfig` or `--context`"),
    (
        "cuex",
        Absence::NotYet,
        "`vela dry-run --offline` evaluates the templates of definitions, and the program `cue` evaluates other texts",
    ),
    (
        "debug",
        Absence::Otherwise,
        "`vela workflow debug NAME` shows what each step was given, took, gave and called",
    ),
    (
        "def apply-module",
        Absence::NotYet,
        "definitions are files in CUE or YAML, which `vela def apply FILE` applies",
    ),
    (
        "def compatibility-check",
        Absence::Never,
        "vela evaluates templates of the older dialect of CUE as they are; `vela def vet` judges a definition",
    ),
    ("def doc-gen", Absence::Otherwise, "`vela show NAME -o markdown` prints the reference of a type"),
    (
        "def gen-cue",
        Absence::NotYet,
        "`vela def init` begins a template, and docs/definitions.md says how to go on",
    ),
    ("def gen-doc", Absence::Otherwise, "`vela show NAME -o markdown` prints the reference of a type"),
    (
        "def gen-module",
        Absence::NotYet,
        "definitions are files in CUE or YAML, which `vela def apply FILE` applies",
    ),
    (
        "def init-module",
        Absence::NotYet,
        "definitions are files in CUE or YAML, which `vela def apply FILE` applies",
    ),
    (
        "def list-module",
        Absence::NotYet,
        "definitions are files in CUE or YAML, which `vela def apply FILE` applies",
    ),
    ("def upgrade", Absence::Never, "vela evaluates templates of the older dialect of CUE as they are"),
    (
        "def validate-module",
        Absence::NotYet,
        "definitions are files in CUE or YAML, which `vela def vet FILE` judges",
    ),
    (
        "kube",
        Absence::NotYet,
        "`vela up -f` and `vela delete -f` apply and delete any objects on the cluster of the kubeconfig",
    ),
    ("provider", Absence::NotYet, "the workflow step `apply-terraform-provider` stores a provider"),
    (
        "registry",
        Absence::Otherwise,
        "`vela cap center` names folders of definitions elsewhere, and `vela cap install` brings them",
    ),
    (
        "svc",
        Absence::Otherwise,
        "services are components of an Application file, which `vela up FILE` applies",
    ),
    ("template", Absence::NotYet, "docs/definitions.md lists what `context` holds in a template"),
    (
        "uischema",
        Absence::NotYet,
        "parameters are described by comments in the definition, which `vela show NAME` prints",
    ),
];

/// The answer to words that name one of these verbs, where `error` is that they are no command of ours.
pub(crate) fn not_here(error: &clap::Error, words: impl Iterator<Item = String>) -> Option<Failure> {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return None;
    }
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    let before: Vec<String> = words.take_while(|word| word != typed).collect();
    let ours = Vela::command();
    let group = before.iter().find(|word| ours.find_subcommand(word).is_some());
    let whole = group.map_or_else(|| typed.clone(), |group| format!("{group} {typed}"));
    let (verb, absence, instead) = VERBS.iter().find(|(verb, ..)| *verb == whole)?;
    let message = match absence {
        Absence::Otherwise => format!("`vela {verb}` has another name here: {instead}"),
        Absence::NotYet => format!("`vela {verb}` is not here yet: {instead}"),
        Absence::Never => format!("`vela {verb}` is not needed here: {instead}"),
    };
    Some(Error::not_supported(message).into())
}
