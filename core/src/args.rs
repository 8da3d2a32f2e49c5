//! The flags of `vela-core`, as typed.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use kube::config::{KubeConfigOptions, Kubeconfig};

/// The controller of vela: brings Applications to life in a cluster.
#[derive(Debug, Parser)]
#[command(name = "vela-core", version, about)]
pub(crate) struct Args {
    /// Cluster to work in; by default the KUBECONFIG variable, then ~/.kube/config, then the pod's own account.
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig.
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
    /// Objects of one kind reconciled at the same time.
    #[arg(long, alias = "concurrent-reconciles", default_value_t = 4, value_name = "N")]
    pub(crate) workers: usize,
    /// Reconcile only while holding a lease, so that several processes can run.
    #[arg(long, alias = "enable-leader-election")]
    pub(crate) leader_elect: bool,
    /// Namespace of the lease.
    #[arg(long, default_value = "vela-system", value_name = "NAMESPACE")]
    pub(crate) leader_election_namespace: String,
    /// Name of the lease.
    #[arg(long, default_value = "vela-core", value_name = "NAME")]
    pub(crate) leader_election_id: String,
    /// Serve /healthz and /readyz here, for example 0.0.0.0:9440.
    #[arg(long, alias = "health-addr", value_name = "ADDRESS")]
    pub(crate) health_address: Option<SocketAddr>,
    /// Serve /metrics here, for example 0.0.0.0:8080.
    #[arg(long, alias = "metrics-addr", value_name = "ADDRESS")]
    pub(crate) metrics_address: Option<SocketAddr>,
    /// error, warn, info, debug, trace, or a filter such as info,vela_core=debug.
    #[arg(long, default_value = "info", value_name = "LEVEL")]
    pub(crate) log_level: String,
    /// How log lines look.
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    pub(crate) log_format: LogFormat,
}

/// How log lines look.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people.
    Text,
    /// For machines, one object a line.
    Json,
}

impl Args {
    /// The cluster the flags mean.
    pub(crate) async fn config(&self) -> Result<kube::Config, Box<dyn std::error::Error>> {
        let options = KubeConfigOptions { context: self.context.clone(), ..KubeConfigOptions::default() };
        let config = match &self.kubeconfig {
            Some(file) => {
                let kubeconfig = Kubeconfig::read_from(file)
                    .map_err(|error| format!("cannot read the kubeconfig {}: {error}", file.display()))?;
                kube::Config::from_custom_kubeconfig(kubeconfig, &options).await?
            }
            None if self.context.is_some() => kube::Config::from_kubeconfig(&options).await?,
            None => kube::Config::infer().await?,
        };
        Ok(config)
    }
}

/// An identity no other process has: host, process and start time.
pub(crate) fn identity() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let started = jiff::Timestamp::now().as_nanosecond();
    format!("{}_{}-{started:x}", host.trim(), std::process::id())
}
