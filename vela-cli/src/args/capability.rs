//! The words of `vela cap`, and of the commands that list types: `components`, `traits`, `workloads`, `scopes`.

use clap::{Args, Subcommand};

use super::definition::DefinitionType;
use super::format::{ListFormat, output};
use super::values::{Capability, capability, capability_of_center, center, object};

/// What is done with capabilities: definitions that a centre has.
#[derive(Debug, Subcommand)]
pub(crate) enum Cap {
    /// Name, list, read anew and forget capability centres
    #[command(subcommand)]
    Center(Center),
    /// List what the centres have, and what of it is installed
    #[command(visible_alias = "list", after_help = "Examples:\n  vela cap ls\n  vela cap ls team -o name")]
    Ls {
        /// Only what this centre has
        #[arg(value_name = "CENTRE", value_parser = center)]
        center: Option<String>,
        /// How to print them
        #[arg(long, short, value_parser = output::<ListFormat>(), default_value = "table")]
        output: ListFormat,
    },
    /// Judge the definitions of a capability and apply them, in the system namespace where no --namespace is given
    #[command(
        after_help = "Examples:\n  vela cap install team/queue --dry-run\n  vela cap install team/queue -n shop"
    )]
    Install(InstallCapability),
    /// Delete the definitions of a capability that a centre brought and no application uses, after asking
    #[command(
        after_help = "Examples:\n  vela cap uninstall queue\n  vela cap uninstall team/queue -n shop -y"
    )]
    Uninstall(UninstallCapability),
}

/// What is done with centres.
#[derive(Debug, Subcommand)]
pub(crate) enum Center {
    /// Read a folder of definitions and remember it as a centre; what cannot be read is not remembered
    #[command(
        visible_alias = "add",
        after_help = "An address is one of:\n  \
            a folder of this machine\n  \
            https://github.com/OWNER/REPOSITORY[/FOLDER] or …/tree/BRANCH/FOLDER\n  \
            https://HOST/…/repos/OWNER/REPOSITORY/contents/FOLDER[?ref=BRANCH], as GitHub and Gitea answer it\n  \
            REPOSITORY.git[//FOLDER][#BRANCH], by https://, ssh:// or git@HOST:, which an installed git reads\n  \
            oci://HOST/REPOSITORY[:TAG|@DIGEST][//FOLDER], an artefact of a registry\n\n\
            Examples:\n  \
            vela cap center config team ./definitions\n  \
            vela cap center config catalog https://github.com/oam-dev/catalog/registry\n  \
            vela cap center config ours git@git.example.org:platform/types.git//definitions#main\n  \
            vela cap center config shared oci://ghcr.io/acme/types:v1"
    )]
    Config {
        /// Name of the centre; one of this name is replaced
        #[arg(value_parser = center)]
        name: String,
        /// Where its definitions lie
        address: String,
        /// What the server of an address by https:// is shown; it is stored where only you can read it
        #[arg(long, short, value_name = "TOKEN")]
        token: Option<String>,
    },
    /// List the centres
    #[command(visible_alias = "list", after_help = "Example:\n  vela cap center ls -o json")]
    Ls {
        /// How to print them
        #[arg(long, short, value_parser = output::<ListFormat>(), default_value = "table")]
        output: ListFormat,
    },
    /// Read the definitions of centres anew; what is installed stays as it is
    #[command(after_help = "Examples:\n  vela cap center sync\n  vela cap center sync team")]
    Sync {
        /// Only this centre
        #[arg(value_parser = center)]
        name: Option<String>,
    },
    /// Forget a centre; what is installed of it stays
    #[command(visible_alias = "rm", after_help = "Example:\n  vela cap center remove team")]
    Remove {
        /// Name of the centre
        #[arg(value_parser = center)]
        name: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct InstallCapability {
    /// The centre and the name of the capability
    #[arg(value_name = "CENTRE/NAME", value_parser = capability_of_center)]
    pub(crate) capability: Capability,
    /// Only its definition of this type
    #[arg(long = "type", value_enum, value_name = "TYPE")]
    pub(crate) type_: Option<DefinitionType>,
    /// Let the cluster judge it and store nothing; tells what would change
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Replace definitions of the same name that did not come from this centre, and fields that another program manages
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Install the Helm chart that a definition of early 2021 needs, with an installed helm; a release that is there stays
    #[arg(long)]
    pub(crate) with_chart: bool,
}

#[derive(Debug, Args)]
pub(crate) struct UninstallCapability {
    /// The name of the capability, behind its centre where only what came from that one is meant
    #[arg(value_name = "[CENTRE/]NAME", value_parser = capability)]
    pub(crate) capability: Capability,
    /// Only its definition of this type
    #[arg(long = "type", value_enum, value_name = "TYPE")]
    pub(crate) type_: Option<DefinitionType>,
    /// Ask nothing
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Delete it although applications use it
    #[arg(long)]
    pub(crate) force: bool,
    /// Uninstall the release of the Helm chart that its definitions name, too, with an installed helm
    #[arg(long)]
    pub(crate) with_chart: bool,
}

/// Which types are listed.
#[derive(Debug, Args)]
#[command(after_help = "`vela show NAME` describes one. `vela cap` brings those of the capability centres.")]
pub(crate) struct Types {
    /// Those of the capability centres, and whether they are installed
    #[arg(long)]
    pub(crate) discover: bool,
    /// How to print them
    #[arg(long, short, value_parser = output::<ListFormat>(), default_value = "table")]
    pub(crate) output: ListFormat,
}

#[derive(Debug, Args)]
pub(crate) struct TraitTypes {
    #[command(flatten)]
    pub(crate) types: Types,
    /// Only traits that are meant for this type of component, or for this kind of workload
    #[arg(long, value_name = "TYPE", value_parser = object, conflicts_with = "discover")]
    pub(crate) apply_to: Option<String>,
}
