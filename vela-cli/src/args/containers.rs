//! The words of the commands that need running containers: `vela exec`, `vela port-forward`.

use std::net::{IpAddr, Ipv4Addr};

use clap::Args;

use super::one_cluster::OneCluster;
use super::ports::Ports;
use super::values::object;

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  vela exec shop -- ls /data\n  vela exec shop -i -t --component web -- sh\n  vela exec db -i -- psql < dump.sql"
)]
pub(crate) struct Exec {
    /// Name of the application
    #[arg(value_parser = object)]
    pub(crate) application: String,
    /// A pod of this component
    #[arg(long, value_name = "NAME", value_parser = object)]
    pub(crate) component: Option<String>,
    /// This container of the pod [default: the one that the pod names, else its first]
    #[arg(long, short, value_name = "NAME", value_parser = object)]
    pub(crate) container: Option<String>,
    /// This pod [default: one that is ready]
    #[arg(long, short, value_name = "NAME", value_parser = object)]
    pub(crate) pod: Option<String>,
    #[command(flatten)]
    pub(crate) cluster: OneCluster,
    /// Pass standard input on
    #[arg(long, short = 'i')]
    pub(crate) stdin: bool,
    /// Give the command a terminal, which is this one
    #[arg(long, short)]
    pub(crate) tty: bool,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  vela port-forward shop 8080:80\n  vela port-forward shop --component web :http 9090\n  vela port-forward shop --service web"
)]
pub(crate) struct PortForward {
    /// Name of the application
    #[arg(value_parser = object)]
    pub(crate) application: String,
    /// LOCAL:REMOTE, PORT for both, or :REMOTE for a free port of this machine; REMOTE may be the name of a port
    /// [default: every port that the pod or Service declares]
    #[arg(value_name = "LOCAL:REMOTE")]
    pub(crate) ports: Vec<Ports>,
    /// To a pod of this component
    #[arg(long, value_name = "NAME", value_parser = object)]
    pub(crate) component: Option<String>,
    /// To this pod
    #[arg(long, short, value_name = "NAME", value_parser = object)]
    pub(crate) pod: Option<String>,
    /// To a pod behind this Service of the application, by the ports of the Service
    #[arg(long, value_name = "NAME", value_parser = object, conflicts_with_all = ["component", "pod"])]
    pub(crate) service: Option<String>,
    #[command(flatten)]
    pub(crate) cluster: OneCluster,
    /// Address of this machine to listen on; 0.0.0.0 lets other machines connect
    #[arg(long, value_name = "IP", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    pub(crate) address: IpAddr,
}
