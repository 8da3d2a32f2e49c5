//! The words of `vela init`.

use std::path::PathBuf;

use clap::Args;

use super::values::{object, pair, type_};

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  vela init shop --image nginx:1.27 --port 80\n  vela init\n  vela init jobs -t cron-task --image busybox --set 'schedule=*/5 * * * *' -o jobs.yaml"
)]
pub(crate) struct Init {
    /// Name of the application and of its component
    #[arg(value_parser = object)]
    pub(crate) name: Option<String>,
    /// Type of the component [default: webservice]
    #[arg(long = "type", short, value_name = "TYPE", value_parser = type_)]
    pub(crate) type_: Option<String>,
    /// Image that it runs
    #[arg(long, value_name = "IMAGE")]
    pub(crate) image: Option<String>,
    /// Port that it offers; may be given many times
    #[arg(long = "port", short, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) ports: Vec<u16>,
    /// Environment variable; may be given many times
    #[arg(long = "env", short, value_name = "NAME=VALUE", value_parser = pair)]
    pub(crate) env: Vec<(String, String)>,
    /// Any other parameter of the type: text, or JSON where it is no text; a dot leads into an object; may be given many
    /// times
    #[arg(long = "set", value_name = "PARAMETER=VALUE", value_parser = pair)]
    pub(crate) set: Vec<(String, String)>,
    /// Files or folders with more definitions; they win over the built-in ones
    #[arg(long = "definitions", short, value_name = "PATH")]
    pub(crate) definitions: Vec<PathBuf>,
    /// Ask no cluster: use the built-in definitions and those given
    #[arg(long, conflicts_with_all = ["sandbox", "kubeconfig", "context"])]
    pub(crate) offline: bool,
    /// Print the file instead of writing it
    #[arg(long, conflicts_with = "output")]
    pub(crate) render_only: bool,
    /// File to write, which must not be there yet
    #[arg(long, short, value_name = "FILE", default_value = "vela.yaml")]
    pub(crate) output: PathBuf,
}
