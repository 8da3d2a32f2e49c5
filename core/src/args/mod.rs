//! The flags of `vela-core`, as typed, and what they mean; the seed's and v1.0's flags are all among them.

mod gates;
mod ignored_flag_table;
mod ignored_flags;
mod spelling;
mod upstream;
mod values;
mod webhook;

use std::ffi::OsString;
use std::net::{Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use clap::{ArgAction, Parser, ValueEnum};
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use vela_core::options::{
    ApplyOnce, Bounds, Capability, DEFINITION_UPDATES_AT_ONCE, DefinitionUpdates, EgressPolicy, Generations,
    Hook, RenderLimits, WorkloadNames,
};
use vela_core::{Endpoint, LeaseConfig, Options, Process};
use vela_runtime::RequestLimiter;
use vela_runtime::kubeconfig::describe;
use vela_runtime::limiter::REQUESTS_IN_FLIGHT;

use ignored_flags::Accepted;
use upstream::UpstreamArgs;
use values::{Listen, boolean, bytes, duration, workers};
use webhook::WebhookArgs;

/// The usual port of `/metrics`.
const METRICS_PORT: u16 = 8080;
/// The usual port of `/healthz` and `/readyz`.
const HEALTH_PORT: u16 = 9440;
/// Longest silence of the API server in the middle of an answer: a watch is told of something, or ended, sooner, and a
/// connection that died without a word is not waited for.
const SILENT_AT_MOST: Duration = Duration::from_secs(330);
/// The namespace of the pod we run in, if we run in one.
const POD_NAMESPACE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";
/// Where a pod reads the token of its account.
const POD_TOKEN: &str = "/var/run/secrets/kubernetes.io/serviceaccount/token";

/// The controller of vela: brings Applications to life in a cluster.
#[derive(Debug, Parser)]
#[command(name = "vela-core", version, about, after_help = spelling::HELP)]
pub(crate) struct Args {
    /// Cluster to work in; by default the KUBECONFIG variable, then ~/.kube/config, then the pod's own account.
    #[arg(long, value_name = "FILE", help_heading = "Cluster")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig.
    #[arg(long, value_name = "NAME", help_heading = "Cluster")]
    pub(crate) context: Option<String>,

    /// Serve /metrics here; 0 or "" serves none. By default :8080, unless another process has it.
    #[arg(long, alias = "metrics-address", value_name = "ADDRESS")]
    metrics_addr: Option<Listen>,
    /// Serve /healthz and /readyz here; 0 or "" serves none. By default :9440, unless another process has it.
    #[arg(long, alias = "health-address", value_name = "ADDRESS")]
    health_addr: Option<Listen>,

    /// Reconcile only while holding a lease, so that several processes can run.
    #[arg(long, alias = "leader-elect", value_parser = boolean, action = ArgAction::Set, num_args = 0..=1,
          require_equals = true, default_value = "false", default_missing_value = "true", value_name = "BOOL")]
    pub(crate) enable_leader_election: bool,
    /// Namespace of the lease; nothing means the pod's own namespace, outside a pod vela-system.
    #[arg(long, default_value = "", value_name = "NAMESPACE")]
    pub(crate) leader_election_namespace: String,
    /// Name of the lease.
    #[arg(long, default_value = "vela-core", value_name = "NAME")]
    pub(crate) leader_election_id: String,

    #[command(flatten)]
    pub(crate) log: LogArgs,
    #[command(flatten)]
    behaviour: BehaviourArgs,
    #[command(flatten)]
    webhook: WebhookArgs,
    #[command(flatten)]
    upstream: UpstreamArgs,
    /// Flags of KubeVela that set nothing here.
    #[arg(skip)]
    accepted: Accepted,
}

/// Where log lines go and how they look.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Log")]
pub(crate) struct LogArgs {
    /// error, warn, info, debug, trace, or a filter such as info,vela_core=debug.
    #[arg(long, default_value = "info", value_name = "LEVEL")]
    pub(crate) log_level: String,
    /// Log everything that helps to find a mistake; the same as --log-level=debug.
    #[arg(long, value_parser = boolean, action = ArgAction::Set, num_args = 0..=1, require_equals = true,
          default_value = "false", default_missing_value = "true", value_name = "BOOL")]
    pub(crate) log_debug: bool,
    /// How log lines look.
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    pub(crate) log_format: LogFormat,
    /// Write the log into this file, which is rotated; nothing means standard error.
    #[arg(long, default_value = "", value_name = "FILE")]
    pub(crate) log_file_path: String,
    /// Days a rotated log file is kept; 0 keeps it for ever.
    #[arg(long, default_value_t = 7, value_name = "DAYS")]
    pub(crate) log_retain_date: u32,
    /// Compress rotated log files with gzip.
    #[arg(long, value_parser = boolean, action = ArgAction::Set, num_args = 0..=1, require_equals = true,
          default_value = "true", default_missing_value = "true", value_name = "BOOL")]
    pub(crate) log_compress: bool,
    /// Send spans to the collector at this address as OTLP over HTTP (JSON); nothing sends none.
    #[arg(long, env = "OTEL_EXPORTER_OTLP_ENDPOINT", default_value = "", value_name = "URL")]
    pub(crate) otlp_endpoint: String,
    /// Megabytes after which the log file is rotated; 0 never rotates it.
    #[arg(long, default_value_t = 1024, value_name = "MB")]
    pub(crate) log_file_max_size: u32,
}

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people.
    Text,
    /// For machines, one object a line.
    Json,
}

/// What the controllers do.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Behaviour")]
struct BehaviourArgs {
    /// Objects of one kind reconciled at the same time.
    #[arg(long, alias = "workers", default_value_t = 32, value_parser = workers, value_name = "N")]
    concurrent_reconciles: usize,
    /// Requests to the API server in flight at most, in each of its priority levels; below this their number follows what
    /// the server bears.
    #[arg(long, default_value_t = REQUESTS_IN_FLIGHT, value_parser = workers, value_name = "N")]
    requests_in_flight: usize,
    /// Applications rendered at once, by controllers and webhooks together.
    #[arg(long, default_value_t = 4, value_parser = workers, value_name = "N")]
    concurrent_renders: usize,
    /// Memory that the evaluation of one template may take.
    #[arg(long, default_value = "64MB", value_parser = bytes, value_name = "SIZE")]
    render_memory: usize,
    /// Memory that all evaluations of templates may take together.
    #[arg(long, default_value = "256MB", value_parser = bytes, value_name = "SIZE")]
    render_memory_total: usize,
    /// Processor time that the evaluation of one template may take.
    #[arg(long, default_value = "2s", value_parser = duration, value_name = "DURATION")]
    render_time: Duration,
    /// Revisions of a Component kept beside the pinned ones.
    #[arg(long, default_value_t = 50, value_name = "N")]
    revision_limit: usize,
    /// Revisions of an Application kept.
    #[arg(long, default_value_t = 10, value_name = "N")]
    application_revision_limit: usize,
    /// Revisions of a definition kept.
    #[arg(long, default_value_t = 20, value_name = "N")]
    definition_revision_limit: usize,
    /// Which applications take up a definition that changes: annotated (those with app.oam.dev/autoUpdate: "true") or all.
    #[arg(long, default_value = "annotated", value_name = "WHO")]
    definition_updates: DefinitionUpdates,
    /// Applications that take up changed definitions at the same time.
    #[arg(long, default_value_t = DEFINITION_UPDATES_AT_ONCE, value_parser = workers, value_name = "N")]
    definition_updates_at_once: usize,
    /// What workloads of Applications in the v1alpha2 form are called: component (<component>, changed in place) or revision
    /// (<component>-vN, as early in 2021); the annotation app.oam.dev/workload-names of an Application counts more.
    #[arg(long, default_value = "component", value_name = "NAMES")]
    workload_names: WorkloadNames,
    /// Whether what was applied once is applied again: off, on or force.
    #[arg(long, num_args = 0..=1, require_equals = false, default_value = "false", default_missing_value = "true", value_name = "MODE")]
    apply_once_only: ApplyOnce,
    /// Ask this address before a component revision is cut.
    #[arg(long, default_value = "", value_name = "URL")]
    custom_revision_hook_url: String,
    /// Let URLs that users write (processing.http) lead to this machine's loopback, for a process on their own machine.
    #[arg(long, value_parser = boolean, action = ArgAction::Set, num_args = 0..=1, require_equals = true,
          default_value = "false", default_missing_value = "true", value_name = "BOOL")]
    allow_loopback_requests: bool,
    /// Let applications make objects outside their own namespace and such of the whole cluster, as releases of KubeVela do.
    #[arg(long, value_parser = boolean, action = ArgAction::Set, num_args = 0..=1, require_equals = true,
          default_value = "false", default_missing_value = "true", value_name = "BOOL")]
    allow_cross_namespace: bool,
    /// Let applications make roles, webhook configurations, kinds and ServiceAccount tokens, as releases of KubeVela do.
    #[arg(long, value_parser = boolean, action = ArgAction::Set, num_args = 0..=1, require_equals = true,
          default_value = "false", default_missing_value = "true", value_name = "BOOL")]
    allow_granting_rights: bool,
    /// Standard controllers that do not run: all, or some of metrics,podspecworkload,route,autoscale,workflowrun.
    #[arg(long, default_value = "", value_name = "LIST")]
    disable_caps: String,
    /// Where the command line keeps what it remembers: Local or ConfigMap; the controllers keep nothing of the kind.
    #[arg(long, default_value = "Local", value_name = "NAME")]
    storage_driver: String,
    /// Time between two looks at every object; 0 looks only at what changes.
    #[arg(long, default_value = "60m", value_parser = duration, value_name = "DURATION")]
    informer_re_sync_interval: Duration,
    /// Time after which an unmet dependency is looked at again.
    #[arg(long, default_value = "30s", value_parser = duration, value_name = "DURATION")]
    depend_check_wait: Duration,
    /// Where definitions that everybody may use live; nothing means the pod's own namespace, outside a pod vela-system.
    #[arg(long, default_value = "", value_parser = namespace_name, value_name = "NAMESPACE")]
    system_definition_namespace: String,
    /// Where definitions are looked for before the namespace of who uses them.
    #[arg(long, env = "DEFINITION_NAMESPACE", default_value = "", value_name = "NAMESPACE")]
    definition_namespace: String,
    /// Reconcile ApplicationConfigurations and Components.
    #[arg(long, value_parser = boolean, action = ArgAction::Set, num_args = 0..=1, require_equals = true,
          default_value = "true", default_missing_value = "true", value_name = "BOOL")]
    app_config_installed: bool,
    /// The generation of the API to reconcile: v0.2 (ApplicationConfigurations), v0.3 (Applications) or all.
    #[arg(long, default_value = "all", value_name = "VERSION")]
    oam_spec_ver: Generations,
}

impl Args {
    /// Read the command line, as Go or as GNU programs spell it.
    pub(crate) fn read(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        let (arguments, accepted) = ignored_flags::take(spelling::normal(arguments));
        Ok(Self { accepted, ..Self::try_parse_from(arguments)? })
    }

    /// The cluster the flags mean.
    pub(crate) async fn config(&self) -> Result<kube::Config, Box<dyn std::error::Error>> {
        let mut config = self.cluster().await?;
        config.read_timeout = Some(SILENT_AT_MOST);
        // The limiter sends a request again that the server puts off, so it has to hear of it.
        config.default_retry = false;
        Ok(config)
    }

    /// The limiter of requests to that cluster.
    pub(crate) fn limiter(&self) -> RequestLimiter {
        RequestLimiter::new(self.behaviour.requests_in_flight)
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
            // The log lines of kube's own choice quote the file, so the choice is made here.
            Err(error) => kube::Config::incluster().map_err(|pod| {
                format!("no cluster is configured: the kubeconfig cannot be used ({}), and this is no pod ({pod})", describe(&error)).into()
            }),
        }
    }

    /// How the flags want the controllers to run; the first wrong value stops the start.
    pub(crate) fn process(&self) -> Result<Process, String> {
        if let Some(refused) = self.accepted.refused.first() {
            return Err(refused.clone());
        }
        Ok(Process {
            options: self.options()?,
            health: endpoint(self.health_addr, HEALTH_PORT),
            metrics: endpoint(self.metrics_addr, METRICS_PORT),
            lease: self.enable_leader_election.then(|| LeaseConfig {
                namespace: namespace(&self.leader_election_namespace),
                name: self.leader_election_id.clone(),
                identity: identity(),
            }),
            webhooks: self.webhook.webhooks(|| namespace(""))?,
            trait_injector: self.webhook.trait_injector(),
            ..Process::default()
        })
    }

    /// The options of the controllers, by the flags of all generations.
    fn options(&self) -> Result<Options, String> {
        let (gates, _) = self.upstream.gates()?;
        let authenticates = self.webhook.authenticates(gates.authenticate_application)?;
        let mut options = self.behaviour.options(authenticates)?;
        options.bounds.own_namespace &= !self.upstream.allow_cross_namespace_resource;
        options.resync = self.upstream.resync(self.behaviour.informer_re_sync_interval);
        options.concurrent_writes = self.upstream.concurrent_writes();
        options.workflow = self.upstream.workflow(gates);
        options.strictness = UpstreamArgs::strictness(gates);
        options.status_metrics = gates.status_metrics;
        options.applications_once = gates.apply_once;
        options.policies = UpstreamArgs::policies(gates);
        Ok(options)
    }

    /// Flags without effect, one sentence each.
    pub(crate) fn without_effect(&self) -> Vec<String> {
        let mut sentences = self.accepted.idle.clone();
        // A gate that is wrong has ended the start.
        sentences.extend(self.upstream.gates().map(|(_, idle)| idle).unwrap_or_default());
        let driver = &self.behaviour.storage_driver;
        match driver.as_str() {
            "Local" => {}
            "ConfigMap" => sentences.push(
                "--storage-driver=ConfigMap changes nothing: the controllers keep no local state, and the command line keeps \
                 its own in files"
                    .to_owned(),
            ),
            other => sentences.push(format!("--storage-driver={other} means Local: write Local or ConfigMap")),
        }
        sentences
    }
}

impl BehaviourArgs {
    fn options(&self, authenticate_application: bool) -> Result<Options, String> {
        let hook = match self.custom_revision_hook_url.as_str() {
            "" => None,
            url => Some(
                url.parse::<Hook>()
                    .map_err(|error| format!("invalid value for --custom-revision-hook-url: {error}"))?,
            ),
        };
        let disabled = Capability::disabled(&self.disable_caps)
            .map_err(|error| format!("invalid value for --disable-caps: {error}"))?;
        let mut generations = self.oam_spec_ver;
        generations.application_configurations &= self.app_config_installed;
        Ok(Options {
            concurrent_reconciles: self.concurrent_reconciles,
            dependency_wait: self.depend_check_wait,
            apply_once: self.apply_once_only,
            component_revision_limit: self.revision_limit,
            application_revision_limit: self.application_revision_limit,
            definition_revision_limit: self.definition_revision_limit,
            definition_updates: self.definition_updates,
            definition_updates_at_once: self.definition_updates_at_once,
            workload_names: self.workload_names,
            custom_revision_hook: hook,
            disabled,
            system_namespace: namespace(&self.system_definition_namespace),
            service_account: account_of(&std::fs::read_to_string(POD_TOKEN).unwrap_or_default()),
            first_namespace: Some(self.definition_namespace.clone()).filter(|name| !name.is_empty()),
            generations,
            authenticate_application,
            bounds: Bounds {
                own_namespace: !self.allow_cross_namespace,
                no_rights: !self.allow_granting_rights,
            },
            rendering: RenderLimits {
                at_once: self.concurrent_renders,
                memory: self.render_memory,
                total: self.render_memory_total,
                time: self.render_time,
            },
            egress_policy: if self.allow_loopback_requests {
                EgressPolicy::ServicesAndLoopback
            } else {
                EgressPolicy::Services
            },
            ..Options::default()
        })
    }
}

/// A requested address must be served; the usual address is one process's only, and a second one does without.
fn endpoint(asked: Option<Listen>, usual: u16) -> Option<Endpoint> {
    match asked {
        Some(listen) => listen.address().map(Endpoint::from),
        None => Some(Endpoint { address: SocketAddr::from((Ipv6Addr::UNSPECIFIED, usual)), optional: true }),
    }
}

/// Nothing, or what can be the name of a namespace: with another one no definition would ever be found.
fn namespace_name(text: &str) -> Result<String, String> {
    match text.is_empty() || vela_engine::names::is_label(text) {
        true => Ok(text.to_owned()),
        false => Err("expected the name of a namespace: a-z, 0-9 and -, 63 characters at most".to_owned()),
    }
}

/// The given namespace, else the pod's own, else the one where vela usually is.
fn namespace(given: &str) -> String {
    namespace_or(given, &std::fs::read_to_string(POD_NAMESPACE).unwrap_or_default())
}

fn namespace_or(given: &str, own: &str) -> String {
    let named = [given, own.trim()].into_iter().find(|name| !name.is_empty());
    named.map_or_else(|| Options::default().system_namespace, str::to_owned)
}

/// The ServiceAccount whose token this is, by the subject in it. The token is our own, so that its signature needs no check.
fn account_of(token: &str) -> Option<String> {
    let claims = URL_SAFE_NO_PAD.decode(token.trim().split('.').nth(1)?).ok()?;
    let claims: serde_json::Value = serde_json::from_slice(&claims).ok()?;
    let subject = claims.get("sub")?.as_str()?.strip_prefix("system:serviceaccount:")?;
    let (_, name) = subject.split_once(':')?;
    vela_engine::names::is_subdomain(name).then(|| name.to_owned())
}

/// An identity no other process has, as client-go writes them: the host and a uuid. Where the system gives none, the
/// process and the moment of its start do the same.
fn identity() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let unique = std::fs::read_to_string("/proc/sys/kernel/random/uuid")
        .unwrap_or_else(|_| format!("{}-{:x}", std::process::id(), jiff::Timestamp::now().as_nanosecond()));
    format!("{}_{}", host.trim(), unique.trim())
}

#[cfg(test)]
mod tests;
