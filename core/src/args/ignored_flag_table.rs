//! The flags of KubeVela 1.11 that set nothing here, and why: as data, for `accepted`.

use self::Fate::{Idle, Refused};
use self::Takes::{Duration, Number, Switch, Text};

/// The values of a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Takes {
    /// None, or `=true` and `=false`.
    Switch,
    /// A number.
    Number,
    /// A duration as Go spells it.
    Duration,
    /// Any text.
    Text,
}

/// The answer to a flag that asks for another behaviour than vela's.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fate {
    /// It is said that it changes nothing, for this reason.
    Idle(&'static str),
    /// The start ends, for this reason.
    Refused(&'static str),
}

/// A flag of KubeVela that sets nothing here.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub(super) name: &'static str,
    pub(super) takes: Takes,
    /// Values that ask for what happens anyway.
    pub(super) fine: &'static [&'static str],
    pub(super) fate: Fate,
}

/// A flag that is taken, and said to change nothing unless it asks for what happens anyway.
const fn idle(
    name: &'static str,
    takes: Takes,
    fine: &'static [&'static str],
    reason: &'static str,
) -> Known {
    Known { name, takes, fine, fate: Idle(reason) }
}

/// A flag that ends the start unless it asks for what happens anyway.
const fn refused(
    name: &'static str,
    takes: Takes,
    fine: &'static [&'static str],
    reason: &'static str,
) -> Known {
    Known { name, takes, fine, fate: Refused(reason) }
}

const REQUESTS: &str =
    "requests follow what the API server bears, within --requests-in-flight and its own limits";
const CLUSTERS: &str =
    "several clusters are not supported yet; an application that names another one is refused";
const LEASE: &str = "the lease lasts 15s, is renewed for 10s at most and tried every 2s";
const OPTIMIZED: &str = "it leaves out work that is not done here";
const CHARTS: &str = "charts are rendered by Flux, which has its own cache";
const AUTHORS: &str =
    "with --authenticate-application every application acts for who wrote it last, whom admission stamps";
const SHARDS: &str = "one process reconciles all applications: run several with --enable-leader-election";
const LOG: &str = "the log is set by --log-level, --log-format and --log-file-path";
const REQUIREMENT: &str =
    "versions of controllers that objects require are not read, so none would be left to this process";

/// All of them, by name.
pub(super) const FLAGS: &[Known] = &[
    idle("add_dir_header", Switch, &["false"], LOG),
    refused(
        "allow-resource-types",
        Text,
        &[""],
        "kinds are not allowed one by one: let authors' rights decide, with --authenticate-application",
    ),
    idle("alsologtostderr", Switch, &["false"], LOG),
    idle(
        "application-revision-definition-storage-prune-duration",
        Duration,
        &[],
        "definitions in memory go with the last revision that has them",
    ),
    idle("authentication-default-user", Text, &[], AUTHORS),
    idle("authentication-group-pattern", Text, &[], AUTHORS),
    idle("authentication-with-user", Switch, &["true"], AUTHORS),
    refused(
        "autogen-workload-definition",
        Switch,
        &["true"],
        "a ComponentDefinition that describes its workload by kind has a WorkloadDefinition in any case",
    ),
    idle("cluster-gateway-ca-file", Text, &[""], CLUSTERS),
    idle("cluster-gateway-url", Text, &[""], CLUSTERS),
    idle("cluster-metrics-interval", Duration, &[], CLUSTERS),
    idle("controller-client-long-running-request-timeout", Duration, &[], REQUESTS),
    idle("controller-client-mutating-request-timeout", Duration, &[], REQUESTS),
    idle("controller-client-request-timeout", Duration, &[], REQUESTS),
    idle("dev-logs", Switch, &["false"], "the log has colours where standard error is a terminal"),
    idle("enable-cluster-gateway", Switch, &["false"], CLUSTERS),
    idle("enable-cluster-metrics", Switch, &["false"], CLUSTERS),
    idle(
        "enable-external-package-for-default-compiler",
        Switch,
        &["false"],
        "packages of cue.oam.dev are not read; a definition that imports one is refused",
    ),
    idle(
        "enable-external-package-watch-for-default-compiler",
        Switch,
        &["false"],
        "packages of cue.oam.dev are not read; a definition that imports one is refused",
    ),
    refused("enable-sharding", Switch, &["false"], SHARDS),
    idle("helm-cache-immutable-ttl", Duration, &[], CHARTS),
    idle("helm-cache-max-bytes", Number, &[], CHARTS),
    idle("helm-cache-mutable-ttl", Duration, &[], CHARTS),
    idle("helm-cache-sweep-interval", Duration, &[], CHARTS),
    refused("ignore-app-without-controller-version", Switch, &["false"], REQUIREMENT),
    refused("ignore-definition-without-controller-version", Switch, &["false"], REQUIREMENT),
    idle("kube-api-burst", Number, &[], REQUESTS),
    idle("kube-api-qps", Number, &[], REQUESTS),
    idle("leader-election-lease-duration", Duration, &["15s"], LEASE),
    idle("leader-election-renew-deadline", Duration, &["10s"], LEASE),
    idle("leader-election-resource-lock", Text, &["leases"], "the lock is a Lease"),
    idle("leader-election-retry-period", Duration, &["2s"], LEASE),
    idle("log_backtrace_at", Text, &[], LOG),
    idle("log_dir", Text, &[""], LOG),
    idle("log_file", Text, &[""], LOG),
    idle("log_file_max_size", Number, &[], LOG),
    idle("logtostderr", Switch, &["true"], LOG),
    idle("one_output", Switch, &["false"], LOG),
    idle("optimize-cached-gvks", Text, &[""], "kinds that applications own are watched in any case"),
    idle("optimize-controller-reconcile-loop-reduction", Switch, &["true"], OPTIMIZED),
    refused(
        "optimize-disable-application-revision",
        Switch,
        &["false"],
        "revisions keep the definitions that an application goes by",
    ),
    idle(
        "optimize-disable-component-revision",
        Switch,
        &["true"],
        "revisions of components are made for ApplicationConfigurations only",
    ),
    idle("optimize-disable-resource-apply-double-check", Switch, &["true"], OPTIMIZED),
    idle("optimize-disable-workflow-recorder", Switch, &["true"], OPTIMIZED),
    refused(
        "optimize-enable-in-memory-workflow-context",
        Switch,
        &["false"],
        "values of workflows are stored, so that another process goes on with them",
    ),
    idle("optimize-enable-resource-tracker-delete-only-trigger", Switch, &["true"], OPTIMIZED),
    idle("optimize-list-op", Switch, &["true"], OPTIMIZED),
    idle("optimize-mark-with-prob", Number, &["1", "1.0"], "what is not wanted any more is found at once"),
    idle("optimize-resource-tracker-list-op", Switch, &["true"], OPTIMIZED),
    idle("perf-enabled", Switch, &["false"], "how long things take is told by /metrics and --otlp-endpoint"),
    idle("pprof-addr", Text, &[""], "there is no Go runtime to be profiled"),
    idle(
        "reconcile-timeout",
        Duration,
        &[],
        "a reconcile that takes long gives its place to another and goes on beside it",
    ),
    idle(
        "ref-objects-available-scope",
        Text,
        &[],
        "components of type ref-objects refer to their own namespace, or as far as --allow-cross-namespace or the rights of their author reach",
    ),
    idle("schedulable-shards", Text, &[""], SHARDS),
    refused("shard-id", Text, &[""], SHARDS),
    idle("sharding-slave-discovery-resync-period", Duration, &[], SHARDS),
    idle("skip_headers", Switch, &["false"], LOG),
    idle("skip_log_headers", Switch, &["false"], LOG),
    idle("stderrthreshold", Text, &[], LOG),
    idle("v", Number, &["0"], LOG),
    idle("vmodule", Text, &[""], LOG),
];
