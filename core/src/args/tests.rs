//! Tests of every flag, in the spelling of operators' manifests, and the option it sets.

use std::time::Duration;

use vela_core::options::{RunLimits, Strictness};

use super::*;

fn read(flags: &[&str]) -> Result<Args, String> {
    let arguments = std::iter::once("vela-core").chain(flags.iter().copied());
    Args::read(arguments.map(OsString::from)).map_err(|error| error.to_string())
}

fn process(flags: &[&str]) -> Result<Process, String> {
    read(flags)?.process()
}

fn options(flags: &[&str]) -> Options {
    process(flags).unwrap().options
}

#[test]
fn without_flags_everything_is_as_documented() {
    let process = process(&[]).unwrap();
    assert_eq!(process.options, Options::default());
    let any =
        |port| Some(Endpoint { address: SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)), optional: true });
    assert_eq!((process.metrics, process.health), (any(8080), any(9440)));
    assert!(process.lease.is_none());
    let args = read(&[]).unwrap();
    assert!(args.without_effect().is_empty());
    let log = args.log;
    assert_eq!((log.log_file_path.as_str(), log.log_retain_date, log.log_file_max_size), ("", 7, 1024));
    assert!(log.log_compress && !log.log_debug && log.log_format == LogFormat::Text);
}

#[test]
fn endpoints_and_lease() {
    let spellings: [&[&str]; 4] = [
        &["--metrics-addr", ":1", "--health-addr", ":2"],
        &["--metrics-addr=:1", "--health-addr=:2"],
        &["-metrics-addr=:1", "-health-addr", ":2"],
        &["--metrics-address=:1", "--health-address=:2"],
    ];
    for flags in spellings {
        let process = process(flags).unwrap();
        let (metrics, health) = (process.metrics.unwrap(), process.health.unwrap());
        assert_eq!((metrics.address.port(), health.address.port()), (1, 2), "{flags:?}");
        assert!(!metrics.optional && !health.optional, "{flags:?}");
    }
    assert!(process(&["--metrics-addr=0"]).unwrap().metrics.is_none());
    for flag in [
        "--enable-leader-election",
        "--enable-leader-election=true",
        "-enable-leader-election=T",
        "--leader-elect",
    ] {
        let process =
            process(&[flag, "--leader-election-namespace", "ops", "--leader-election-id=x"]).unwrap();
        let lease = process.lease.unwrap();
        assert_eq!((lease.namespace.as_str(), lease.name.as_str()), ("ops", "x"), "{flag}");
    }
    assert!(process(&["--enable-leader-election=false"]).unwrap().lease.is_none());
    let here = process(&["--enable-leader-election"]).unwrap().lease.unwrap();
    assert!(!here.namespace.is_empty());
}

/// The pod's own namespace is read from its file system, which a test has none of.
#[test]
fn the_system_namespace_is_named_or_usual() {
    assert_eq!(options(&["--system-definition-namespace=platform"]).system_namespace, "platform");
    assert_eq!(options(&["--system-definition-namespace="]).system_namespace, namespace(""));
    assert_eq!(options(&[]).system_namespace, namespace(""));
    assert_eq!(options(&[]).namespaces().around("shop"), ["shop", namespace("").as_str()]);
    let refused = process(&["--system-definition-namespace=a_b"]).unwrap_err();
    assert!(refused.contains("expected the name of a namespace"), "{refused}");
}

#[test]
fn the_own_account_is_the_subject_of_its_token() {
    let token = |claims: &str| format!("e30.{}.c2ln\n", URL_SAFE_NO_PAD.encode(claims));
    let account = |claims: &str| account_of(&token(claims));
    assert_eq!(
        account(r#"{"sub":"system:serviceaccount:vela-system:vela-core"}"#).as_deref(),
        Some("vela-core")
    );
    for other in [
        r#"{"sub":"system:serviceaccount:vela-system:"}"#,
        r#"{"sub":"system:serviceaccount:vela-system:a/b"}"#,
        r#"{"sub":"system:node:a"}"#,
        r#"{"aud":[]}"#,
        "no JSON",
    ] {
        assert_eq!(account(other), None, "{other}");
    }
    assert_eq!(account_of(""), None);
    assert_eq!(account_of("a.%.b"), None);
}

#[test]
fn own_namespace_comes_before_the_usual_one() {
    assert_eq!(namespace_or("given", "own\n"), "given");
    assert_eq!(namespace_or("", " own\n"), "own");
    assert_eq!(namespace_or("", ""), "vela-system");
}

#[test]
fn limits_waits_and_workers() {
    let options = options(&[
        "--revision-limit=3",
        "--application-revision-limit",
        "4",
        "--definition-revision-limit=5",
        "--concurrent-reconciles=6",
        "--concurrent-renders=3",
        "--render-memory=8MB",
        "--render-memory-total=1GB",
        "--render-time=500ms",
        "--informer-re-sync-interval=1h30m",
        "--depend-check-wait=10s",
        "--system-definition-namespace=defs",
        "--definition-namespace=first",
        "--workload-names=revision",
    ]);
    assert_eq!(options.component_revision_limit, 3);
    assert_eq!(options.application_revision_limit, 4);
    assert_eq!(options.definition_revision_limit, 5);
    assert_eq!(options.concurrent_reconciles, 6);
    let rendering = options.rendering;
    assert_eq!((rendering.at_once, rendering.time), (3, Duration::from_millis(500)));
    assert_eq!((rendering.memory, rendering.total), (8 << 20, 1 << 30));
    assert_eq!(options.resync, Some(Duration::from_secs(5400)));
    assert_eq!(options.dependency_wait, Duration::from_secs(10));
    assert_eq!(options.system_namespace, "defs");
    assert_eq!(options.first_namespace.as_deref(), Some("first"));
    assert_eq!(options.workload_names, WorkloadNames::Revision);
    assert_eq!(self::options(&["--informer-re-sync-interval=0"]).resync, None);
    assert_eq!(self::options(&["--workers=2"]).concurrent_reconciles, 2);
}

#[test]
fn requests_in_flight_are_bounded() {
    let limit = |flags: &[&str]| read(flags).unwrap().limiter().figures().limit;
    assert_eq!(limit(&["--requests-in-flight=3"]), 3);
    assert!((1..64).contains(&limit(&[])), "what the server bears is found out from few");
}

#[test]
fn apply_once_in_each_spelling() {
    let mode = |flags: &[&str]| options(flags).apply_once;
    assert_eq!(mode(&["--apply-once-only=FORCE"]), ApplyOnce::Force);
    assert_eq!(mode(&["--apply-once-only", "on"]), ApplyOnce::On);
    assert_eq!(mode(&["--apply-once-only"]), ApplyOnce::On, "v0.3 had a switch");
    assert_eq!(mode(&["--apply-once-only", "--log-debug"]), ApplyOnce::On);
    assert_eq!(mode(&["-apply-once-only=false"]), ApplyOnce::Off);
    assert_eq!(mode(&["--apply-once-only="]), ApplyOnce::Off);
    assert!(
        read(&["--apply-once-only=sometimes"]).unwrap_err().contains("off (or false), on (or true) or force")
    );
}

#[test]
fn capabilities_hook_and_generations() {
    assert_eq!(options(&["--disable-caps=all"]).disabled.len(), 5);
    assert_eq!(options(&["--disable-caps", "route"]).disabled, [Capability::Route].into());
    let error = process(&["--disable-caps=route,foo"]).unwrap_err();
    assert!(
        error.contains("--disable-caps") && error.contains("\"foo\" in disable caps list is not built-in"),
        "{error}"
    );
    let hook = options(&["--custom-revision-hook-url=https://hook.ns.svc/x"]).custom_revision_hook.unwrap();
    assert_eq!(hook.to_string(), "https://hook.ns.svc/x");
    let error = process(&["--custom-revision-hook-url=hook.ns"]).unwrap_err();
    assert!(error.contains("--custom-revision-hook-url") && error.contains("http://"), "{error}");
    assert!(!options(&["--app-config-installed=false"]).generations.application_configurations);
    assert!(options(&["--app-config-installed"]).generations.application_configurations);
    assert!(!options(&["--oam-spec-ver=v0.2"]).generations.applications);
}

#[test]
fn log_flags() {
    let log = read(&[
        "--log-file-path=/tmp/x.log",
        "--log-retain-date=3",
        "--log-compress=false",
        "--log-file-max-size",
        "5",
        "--log-debug",
        "--log-format=json",
    ]);
    let log = log.unwrap().log;
    assert_eq!(
        (log.log_file_path.as_str(), log.log_retain_date, log.log_file_max_size),
        ("/tmp/x.log", 3, 5)
    );
    assert!(!log.log_compress && log.log_debug && log.log_format == LogFormat::Json);
}

#[test]
fn webhooks_are_served_when_asked_for() {
    use vela_core::webhooks::Certificate;
    assert_eq!(process(&["--webhook-port=1"]).unwrap().webhooks, None);
    let served = |flags: &[&str]| {
        let webhooks = process(&[&["--use-webhook"], flags].concat()).unwrap().webhooks.unwrap();
        (webhooks.address.port(), webhooks.certificate)
    };
    let folder = |folder: &str| Certificate::Folder(folder.into());
    assert_eq!(served(&[]), (9443, folder("/k8s-webhook-server/serving-certs")));
    assert_eq!(served(&["--webhook-port=1234", "--webhook-cert-dir=/certs"]), (1234, folder("/certs")));
    let (_, issued) = served(&["--webhook-cert-secret=tls", "--webhook-hosts=127.0.0.1,hook.example"]);
    let Certificate::Secret { namespace, name, hosts } = issued else { panic!("{issued:?}") };
    assert_eq!(name, "tls");
    let service = format!("vela-core-webhook.{namespace}.svc");
    assert_eq!(
        hosts,
        [service.clone(), format!("{service}.cluster.local"), "127.0.0.1".into(), "hook.example".into()]
    );
    let error = process(&["--use-webhook", "--webhook-cert-secret=tls", "--webhook-hosts=a b"]).unwrap_err();
    assert!(error.contains("--webhook-hosts") && error.contains("\"a b\""), "{error}");
}

#[test]
fn the_trait_injector_listens_where_old_registrations_lead() {
    assert_eq!(process(&[]).unwrap().trait_injector, None);
    let injector = process(&["-use-trait-injector"]).unwrap().trait_injector.unwrap();
    assert_eq!((injector.address.port(), injector.folder), (8443, "ssl".into()));
}

#[test]
fn what_does_nothing_is_said() {
    let said = |flags: &[&str]| read(flags).unwrap().without_effect();
    assert!(said(&["--use-trait-injector=true"]).is_empty());
    assert!(said(&["--storage-driver=ConfigMap"])[0].contains("--storage-driver=ConfigMap changes nothing"));
    assert!(said(&["--use-webhook=false", "--storage-driver=Local"]).is_empty());
    assert!(said(&["--storage-driver=Disk"])[0].contains("means Local"));
}

#[test]
fn wrong_values_are_refused_with_the_flag_named() {
    for (flag, expected) in [
        ("--metrics-addr=8080", ":PORT"),
        ("--health-addr=:x", ":PORT"),
        ("--revision-limit=-1", "--revision-limit"),
        ("--concurrent-reconciles=0", "from 1"),
        ("--requests-in-flight=0", "from 1"),
        ("--requests-in-flight=many", "--requests-in-flight"),
        ("--concurrent-renders=0", "from 1"),
        ("--render-memory=1", "64MB"),
        ("--render-memory-total=much", "64MB"),
        ("--render-time=2", "1h30m"),
        ("--informer-re-sync-interval=5", "1h30m"),
        ("--depend-check-wait=-1s", "1h30m"),
        ("--enable-leader-election=yes", "true or false"),
        ("--log-compress=2", "true or false"),
        ("--log-retain-date=x", "--log-retain-date"),
        ("--oam-spec-ver=v1", "v0.2, v0.3 or all"),
        ("--webhook-port=70000", "--webhook-port"),
        ("--workload-names=version", "component or revision"),
    ] {
        let error = read(&[flag]).unwrap_err();
        let name = flag.split('=').next().unwrap();
        assert!(error.contains(expected) && error.contains(name), "{flag}: {error}");
    }
}

#[test]
fn authors_are_acted_for_only_with_admission() {
    assert!(!options(&["--use-webhook"]).authenticate_application);
    assert!(options(&["--use-webhook", "--authenticate-application"]).authenticate_application);
    assert!(!options(&["--authenticate-application=false"]).authenticate_application);
    let error = process(&["--authenticate-application"]).unwrap_err();
    assert!(error.contains("--use-webhook"), "{error}");
}

/// The flags that the chart of KubeVela 1.11 passes without any setting.
const CHART: &[&str] = &[
    "--metrics-addr=:8080",
    "--enable-leader-election",
    "--use-webhook=true",
    "--webhook-port=443",
    "--webhook-cert-dir=/etc/k8s-webhook-certs",
    "--optimize-mark-with-prob=0.1",
    "--optimize-disable-component-revision",
    "--health-addr=:9440",
    "--system-definition-namespace=vela-system",
    "--application-revision-limit=2",
    "--definition-revision-limit=2",
    "--enable-cluster-gateway",
    "--cluster-gateway-url=kubevela-cluster-gateway-service:9443",
    "--cluster-gateway-ca-file=/cluster-gateway-tls-cert/ca",
    "--application-re-sync-period=5m",
    "--concurrent-reconciles=4",
    "--kube-api-qps=50",
    "--kube-api-burst=100",
    "--max-workflow-wait-backoff-time=60",
    "--max-workflow-failed-backoff-time=300",
    "--max-workflow-step-error-retry-times=10",
    "--enable-external-package-for-default-compiler=true",
    "--enable-external-package-watch-for-default-compiler=false",
    "--feature-gates=EnableSuspendOnFailure=false",
    "--feature-gates=GzipResourceTracker=false",
    "--feature-gates=AuthenticateApplication=false",
    "--feature-gates=ZstdResourceTracker=true",
    "--feature-gates=ApplyOnce=false",
    "--feature-gates=MultiStageComponentApply=true",
    "--feature-gates=GzipApplicationRevision=false",
    "--feature-gates=ZstdApplicationRevision=true",
    "--feature-gates=PreDispatchDryRun=true",
    "--feature-gates=DisableBootstrapClusterInfo=false",
    "--feature-gates=InformerCacheFilterUnnecessaryFields=true",
    "--feature-gates=SharedDefinitionStorageForApplicationRevision=true",
    "--feature-gates=DisableWorkflowContextConfigMapCache=true",
    "--feature-gates=EnableCueValidation=false",
    "--feature-gates=EnableApplicationStatusMetrics=false",
    "--feature-gates=ValidateResourcesExist=false",
    "--feature-gates=EnableApplicationScopedPolicies=false",
    "--feature-gates=EnableGlobalPolicies=false",
    "--feature-gates=ValidateDefinitionPermissions=false",
    "--dev-logs=false",
];

#[test]
fn the_arguments_of_kubevela_s_chart_start_the_controller() {
    let process = process(CHART).unwrap();
    assert_eq!(process.options.application_revision_limit, 2);
    assert_eq!(process.options.resync, Some(Duration::from_secs(300)));
    assert_eq!(process.options.workflow, RunLimits::default());
    assert!(process.webhooks.is_some() && process.lease.is_some());
    let said = read(CHART).unwrap().without_effect();
    assert!(said.iter().any(|said| said.starts_with("--kube-api-qps=50 changes nothing: ")), "{said:?}");
    assert!(said.iter().all(|said| !said.contains("--feature-gates")), "{said:?}");
}

#[test]
fn flags_and_gates_of_today_act() {
    let options = options(&[
        "--max-workflow-wait-backoff-time=5",
        "--max-workflow-failed-backoff-time=30",
        "--max-workflow-step-error-retry-times=3",
        "--max-dispatch-concurrent=20",
        "--informer-sync-period=10h",
        "--allow-cross-namespace-resource",
        "--feature-gates=EnableSuspendOnFailure=true,ValidateResourcesExist=true",
        "--feature-gates=ValidateUndeclaredParameters=true,EnableApplicationStatusMetrics=true",
        "--feature-gates=ApplyOnce=true",
    ]);
    let workflow = &options.workflow;
    assert_eq!((workflow.longest_wait.as_secs(), workflow.longest_failure_wait.as_secs()), (5, 30));
    assert_eq!((workflow.retries, workflow.suspend_on_failure), (3, true));
    assert_eq!(options.concurrent_writes, 20);
    assert_eq!(options.resync, Options::default().resync, "the shorter time counts");
    assert!(!options.bounds.own_namespace && options.bounds.no_rights);
    assert_eq!(options.strictness, Strictness { undeclared_parameters: true, absent_kinds: true });
    assert!(options.status_metrics && options.applications_once);
    let gate = "--feature-gates=AuthenticateApplication=true";
    assert!(self::options(&["--use-webhook", gate]).authenticate_application);
    assert!(process(&[gate]).unwrap_err().contains("--use-webhook"));
}

#[test]
fn unsupported_flags_end_the_start() {
    for (flag, says) in [
        ("--enable-sharding", "--enable-leader-election"),
        ("--allow-resource-types=blacklist:Secret.v1", "is refused"),
        ("--feature-gates=DeprecatedPolicySpec=true", "is refused"),
        ("--feature-gates=Nonsense=true", "no feature gate"),
        ("--kube-api-qps=x", "write a number"),
    ] {
        let error = process(&[flag]).unwrap_err();
        assert!(error.contains(says), "{flag}: {error}");
    }
}
