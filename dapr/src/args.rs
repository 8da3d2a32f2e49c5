//! The flags of `vela-dapr`, as typed, and what they mean.

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use vela_dapr::{Api, LeaseConfig, Process, Security, SidecarInjector, WORKERS, Webhooks};
use vela_runtime::kubeconfig::describe;
use vela_runtime::limiter::REQUESTS_IN_FLIGHT;

use crate::injector_args::InjectorArgs;
use crate::listen_address::Listen;
use crate::reload::{Reload, TlsFiles};
use crate::sentry_args::SentryArgs;
use crate::watchdog_args::WatchdogArgs;

/// Name of the lease, as of Dapr's own operator: of the two, one reconciles.
const LEASE: &str = "operator.dapr.io";
/// Where the operator lives outside of a pod.
const NAMESPACE: &str = "dapr-system";
/// The namespace of the pod we run in, if we run in one.
const POD_NAMESPACE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";
/// Longest silence of the API server in the middle of an answer: a watch is told of something, or ended, sooner.
const SILENT_AT_MOST: Duration = Duration::from_secs(330);

/// The Dapr operator of vela: gives annotated workloads the Services of their sidecars.
#[derive(Debug, Parser)]
#[command(name = "vela-dapr", version, about)]
pub(crate) struct Args {
    /// Cluster to work in; by default the KUBECONFIG variable, then ~/.kube/config, then the pod's own account.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig.
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// Serve /healthz and /readyz here; 0 serves none.
    #[arg(long, default_value = ":8080", value_name = "ADDRESS")]
    health_addr: Listen,
    /// Serve /metrics here; 0 serves none.
    #[arg(long, default_value = ":9090", value_name = "ADDRESS")]
    metrics_addr: Listen,
    /// Answer sidecars here over gRPC, with the three files or the flag below; 0 answers none.
    #[arg(long, default_value = ":6500", value_name = "ADDRESS")]
    grpc_addr: Listen,
    /// Certificate chain of the operator in PEM, read again when it changes.
    #[arg(long, requires_all = ["tls_key", "trust_anchors"], value_name = "FILE")]
    tls_cert: Option<PathBuf>,
    /// Key of the certificate.
    #[arg(long, requires = "tls_cert", value_name = "FILE")]
    tls_key: Option<PathBuf>,
    /// Certificates of those who sign the certificates of sidecars.
    #[arg(long, requires = "tls_cert", value_name = "FILE")]
    trust_anchors: Option<PathBuf>,
    /// Answer sidecars before 1.4, in plain text: every client that connects reads the objects of all namespaces, with values of Secrets.
    #[arg(long, conflicts_with = "tls_cert")]
    allow_plaintext: bool,
    /// Convert Subscriptions here, for the Service dapr-webhook; 0, and nothing, serves none.
    #[arg(long, default_value = "0", value_name = "ADDRESS")]
    webhook_addr: Listen,
    /// Reconcile without holding the lease operator.dapr.io: for a process that is the only one.
    #[arg(long)]
    disable_leader_election: bool,
    /// Namespace of the lease; by default the pod's own namespace, outside a pod dapr-system.
    #[arg(long, env = "NAMESPACE", value_name = "NAMESPACE")]
    namespace: Option<String>,
    /// Workloads of one kind reconciled at the same time.
    #[arg(long, default_value_t = WORKERS, value_parser = at_least_one, value_name = "N")]
    concurrent_reconciles: usize,
    /// Requests to the API server in flight at most, in each of its priority levels.
    #[arg(long, default_value_t = REQUESTS_IN_FLIGHT, value_parser = at_least_one, value_name = "N")]
    pub(crate) requests_in_flight: usize,
    /// error, warn, info, debug, trace, or a filter such as info,vela_dapr=debug.
    #[arg(long, default_value = "info", value_name = "LEVEL")]
    pub(crate) log_level: String,
    #[command(flatten)]
    injector: InjectorArgs,
    #[command(flatten)]
    sentry: SentryArgs,
    #[command(flatten)]
    watchdog: WatchdogArgs,
}

/// How sidecars are answered, and the files to look at again.
type Answering = (Api, Option<Reload>);

impl Args {
    /// How the flags want the operator to run.
    pub(crate) fn process(&self) -> Process {
        Process {
            workers: self.concurrent_reconciles,
            health: self.health_addr.0.map(Into::into),
            metrics: self.metrics_addr.0.map(Into::into),
            webhooks: self.webhook_addr.0.map(|address| Webhooks { address, namespace: self.namespace() }),
            sentry: self.sentry.sentry(self.namespace(), self.injector.trust_domain()),
            watchdog: self.watchdog.watchdog(self.namespace()),
            namespace: self.watchdog.namespace(),
            lease: (!self.disable_leader_election).then(|| LeaseConfig {
                namespace: self.namespace(),
                name: LEASE.to_owned(),
                identity: identity(),
            }),
            ..Process::default()
        }
    }

    /// How sidecars are answered, if they are; where that is by certificates, the files to look at again.
    pub(crate) fn api(&self) -> Result<Option<Answering>, Box<dyn std::error::Error>> {
        self.sentry.check()?;
        let Some(address) = self.grpc_addr.0 else { return Ok(None) };
        if self.allow_plaintext {
            return Ok(Some((Api { address, security: Security::Plaintext }, None)));
        }
        let (Some(certificate), Some(key), Some(trust_anchors)) =
            (&self.tls_cert, &self.tls_key, &self.trust_anchors)
        else {
            let issued = self.sentry.issues().then_some(Api { address, security: Security::Issued });
            return Ok(issued.map(|api| (api, None)));
        };
        let files = TlsFiles {
            certificate: certificate.clone(),
            key: key.clone(),
            trust_anchors: trust_anchors.clone(),
        };
        let reload = Reload::begin(files)?;
        let security = Security::MutualTls(reload.credentials());
        Ok(Some((Api { address, security }, Some(reload))))
    }

    /// Where the sidecar injector is served, if it is.
    pub(crate) fn injector(&self) -> Result<Option<SidecarInjector>, Box<dyn std::error::Error>> {
        self.injector.injector(&self.namespace(), self.trust_anchors.as_deref(), self.sentry.issues())
    }

    /// The cluster the flags mean.
    pub(crate) async fn config(&self) -> Result<kube::Config, Box<dyn std::error::Error>> {
        let mut config = self.cluster().await?;
        config.read_timeout = Some(SILENT_AT_MOST);
        // What the server puts off is sent again by the limiter, which has to know of it.
        config.default_retry = false;
        Ok(config)
    }

    async fn cluster(&self) -> Result<kube::Config, Box<dyn std::error::Error>> {
        let options = KubeConfigOptions { context: self.context.clone(), ..KubeConfigOptions::default() };
        if let Some(file) = &self.kubeconfig {
            let unusable = |error: KubeconfigError| {
                format!("the kubeconfig {} cannot be used: {}", file.display(), describe(&error))
            };
            let kubeconfig = Kubeconfig::read_from(file).map_err(unusable)?;
            return Ok(kube::Config::from_custom_kubeconfig(kubeconfig, &options).await.map_err(unusable)?);
        }
        match kube::Config::from_kubeconfig(&options).await {
            Ok(config) => Ok(config),
            Err(error) if self.context.is_some() => {
                Err(format!("the kubeconfig cannot be used: {}", describe(&error)).into())
            }
            Err(error) => kube::Config::incluster().map_err(|pod| {
                let error = describe(&error);
                format!("no cluster is configured: the kubeconfig cannot be used ({error}), and this is no pod ({pod})")
                    .into()
            }),
        }
    }

    fn namespace(&self) -> String {
        let given = self.namespace.clone().filter(|name| !name.is_empty());
        given.unwrap_or_else(|| {
            let own = std::fs::read_to_string(POD_NAMESPACE).unwrap_or_default();
            Some(own.trim()).filter(|own| !own.is_empty()).unwrap_or(NAMESPACE).to_owned()
        })
    }
}

fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|number| *number > 0).ok_or_else(|| "write a number from 1".to_owned())
}

/// An identity no other process has, as client-go writes them: the host and a uuid. Where the system gives none, the number
/// of the process does.
fn identity() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let unique = std::fs::read_to_string("/proc/sys/kernel/random/uuid")
        .unwrap_or_else(|_| std::process::id().to_string());
    format!("{}_{}", host.trim(), unique.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_those_of_daprs_operator() {
        let process = Args::try_parse_from(["vela-dapr"]).unwrap().process();
        assert_eq!(process.health.unwrap().address.port(), 8080);
        assert_eq!(process.metrics.unwrap().address.port(), 9090);
        let lease = process.lease.unwrap();
        assert_eq!(lease.name, "operator.dapr.io");
        let alone =
            ["vela-dapr", "--disable-leader-election", "--health-addr=0", "--metrics-addr=127.0.0.1:1"];
        let process = Args::try_parse_from(alone).unwrap().process();
        assert!(process.lease.is_none() && process.health.is_none());
    }

    #[test]
    fn sidecars_are_answered_only_where_it_is_said_how() {
        let api = |flags: &[&str]| {
            let flags = std::iter::once("vela-dapr").chain(flags.iter().copied());
            Args::try_parse_from(flags).unwrap().api()
        };
        assert!(api(&[]).unwrap().is_none());
        assert!(api(&["--allow-plaintext", "--grpc-addr=0"]).unwrap().is_none());
        let (plain, reload) = api(&["--allow-plaintext"]).unwrap().unwrap();
        assert!(matches!(plain.security, Security::Plaintext) && reload.is_none());
        assert_eq!(plain.address.port(), 6500);
        let (issued, reload) = api(&["--sentry-addr=:50001"]).unwrap().unwrap();
        assert!(matches!(issued.security, Security::Issued) && reload.is_none());
        let error =
            api(&["--tls-cert=/none/c", "--tls-key=/none/k", "--trust-anchors=/none/t"]).err().unwrap();
        assert!(error.to_string().contains("/none/c"), "{error}");
    }

    #[test]
    fn wrong_values_are_refused_with_the_way_out() {
        for (flag, expected) in [
            ("--health-addr=:x", ":PORT"),
            ("--metrics-addr=9090", ":PORT"),
            ("--concurrent-reconciles=0", "a number from 1"),
            ("--tls-cert=a.pem", "--tls-key"),
            ("--trust-anchors=a.pem", "--tls-cert"),
        ] {
            let error = Args::try_parse_from(["vela-dapr", flag]).unwrap_err().to_string();
            assert!(error.contains(expected), "{flag}: {error}");
        }
    }
}
