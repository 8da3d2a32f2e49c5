//! Definitions that compute without end: told with their place, and no other application is worse off.

use serde_json::{Value, json};
use vela_core::{Options, Process};

use super::test_cluster::{TestCluster, application, until_or, web};

/// Far more than anybody has: it ends when something is used up.
const ENDLESS: &str = r##"
import "list"
_n: list.Range(0, 100000, 1)
output: {apiVersion: "v1", kind: "ConfigMap", data: {text: parameter.text, for x in _n for y in _n {"\(x)-\(y)": "z"}}}
parameter: text: string
"##;

const MODEST: &str = r#"
output: {apiVersion: "v1", kind: "ConfigMap", data: text: parameter.text}
parameter: text: string
"#;

fn endless(name: &str, template: &str) -> Value {
    json!({
        "apiVersion": "core.oam.dev/v1beta1",
        "kind": "ComponentDefinition",
        "metadata": {"name": name},
        "spec": {
            "workload": {"definition": {"apiVersion": "v1", "kind": "ConfigMap"}},
            "schematic": {"cue": {"template": template}},
        },
    })
}

/// Each writes a ConfigMap of its own name: two that share one would contend for it once they are mended.
fn component(type_: &str, name: &str) -> Value {
    json!({"name": name, "type": type_, "properties": {"text": name}})
}

/// Why an application is not rendered, once it is told.
async fn reported(cluster: &TestCluster, name: &str) -> String {
    let failed = |application: &Value| {
        let conditions = application["status"]["conditions"].as_array().cloned().unwrap_or_default();
        conditions.iter().any(|condition| condition["type"] == "Render" && condition["status"] == "False")
    };
    let application = until_or("the condition tells", || cluster.application(name), failed).await;
    let conditions = application["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let condition = conditions.iter().find(|condition| condition["type"] == "Render");
    condition.and_then(|condition| condition["message"].as_str()).unwrap_or_default().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_computes_without_end_is_told_and_its_neighbours_run() {
    let mut cluster = TestCluster::without_controllers().await;
    let mut options = Options::default();
    options.rendering.memory = 8 << 20;
    cluster.start_as(Process { options, ..Process::default() });
    cluster.create(endless("endless", ENDLESS)).await;
    for name in ["bomb-a", "bomb-b", "bomb-c"] {
        cluster.create(application(name, &[component("endless", name)])).await;
    }
    cluster.create(application("shop", &[web("front", "nginx:1")])).await;
    cluster.phase("shop", "running").await;
    for name in ["bomb-a", "bomb-b", "bomb-c"] {
        let message = reported(&cluster, name).await;
        assert!(message.contains("evaluation stopped") && message.contains("endless"), "{message}");
    }
    // A definition that is mended is evaluated again.
    let mended = ENDLESS
        .replace(r#", for x in _n for y in _n {"\(x)-\(y)": "z"}"#, "")
        .replace("import \"list\"\n_n: list.Range(0, 100000, 1)\n", "");
    assert!(!mended.contains("_n"), "{mended}");
    let spec = json!({"spec": {"schematic": {"cue": {"template": mended}}}});
    cluster.patch("core.oam.dev/v1beta1", "ComponentDefinition", "endless", spec).await;
    cluster.phase("bomb-a", "running").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_health_policy_has_no_more_than_the_process_gives() {
    // Less than what a health policy may take by itself.
    const GIVEN: usize = 8 << 20;
    let mut cluster = TestCluster::without_controllers().await;
    let mut options = Options::default();
    options.rendering.memory = GIVEN;
    cluster.start_as(Process { options, ..Process::default() });
    let large = |count: usize| json!({"healthPolicy": format!("import \"list\"\n_all: list.Range(0, {count}, 1)\nisHealth: len(_all) > 0")});
    let mut heavy = endless("heavy", MODEST);
    heavy["spec"]["status"] = large(100_000);
    cluster.create(heavy).await;
    cluster.create(application("ill", &[component("heavy", "ill"), web("beside", "nginx:1")])).await;
    let is_reported = |application: &Value| {
        let message = application.pointer("/status/services/0/message").and_then(Value::as_str);
        let message = message.unwrap_or_default();
        message.contains("health policy of component definition \"heavy\"")
            && message.contains(&GIVEN.to_string())
            && application.pointer("/status/services/1/healthy") == Some(&json!(true))
    };
    until_or("it is told, and what is beside it is well", || cluster.application("ill"), is_reported).await;
    let status = json!({"spec": {"status": large(10)}});
    cluster.patch("core.oam.dev/v1beta1", "ComponentDefinition", "heavy", status).await;
    // What runs takes up a definition with its next change.
    let spec = json!({"spec": {"components": [component("heavy", "well")]}});
    cluster.patch("core.oam.dev/v1beta1", "Application", "ill", spec).await;
    cluster.phase("ill", "running").await;
}

#[cfg(target_os = "linux")]
mod process {
    use std::net::{Ipv4Addr, SocketAddr};
    use std::process::{Child, Command, Stdio};
    use std::time::{Duration, Instant};

    use vela_testkit::Process;

    use super::super::test_cluster::{TestCluster, application, until, web};
    use super::{ENDLESS, component, endless, reported};

    /// Bombs that are thrown, one of them a new one each time.
    const BOMBS: usize = 6;
    /// Far beyond what a busy machine needs.
    const PATIENCE: Duration = Duration::from_secs(120);

    /// Little memory and ever more time.
    const LONG: &str = r##"
import "list"
import "strings"
_n: list.Range(0, 10000, 1)
_s: strings.Repeat("ab", 50000)
_m: [for a in _n for b in _n if strings.Count(_s, "ab") < a {a}]
output: {apiVersion: "v1", kind: "ConfigMap", data: text: "\(len(_m))\(parameter.text)"}
parameter: text: string
"##;
    /// Half a second of processor time as the system counts it.
    const TICKS: u64 = 50;

    /// Ticks of processor time that a process has used.
    fn computed(child: &Child) -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
        let behind = stat.rsplit_once(')').unwrap().1;
        behind.split_whitespace().nth(11).unwrap().parse().unwrap()
    }

    /// Resident kibibytes, now and at most.
    fn resident(child: &Child) -> (usize, usize) {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        let figure = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.split_whitespace().next().unwrap().parse::<usize>().unwrap()
        };
        (figure("VmRSS:"), figure("VmHWM:"))
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn bombs_take_what_they_may_and_give_it_back() {
        let cluster = TestCluster::without_controllers().await;
        let Some(server) = cluster.server() else { return };
        let served = server.serve(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let kubeconfig = folder.path().join("config");
        std::fs::write(&kubeconfig, served.kubeconfig()).unwrap();
        let mut core = Process::from(
            Command::new(env!("CARGO_BIN_EXE_vela-core"))
                .args([
                    "--metrics-addr=0",
                    "--health-addr=0",
                    "--log-level=warn",
                    "--render-time=24h",
                    "--kubeconfig",
                ])
                .arg(&kubeconfig)
                .stderr(Stdio::null())
                .spawn()
                .unwrap(),
        );
        cluster.create(application("shop", &[web("front", "nginx:1")])).await;
        cluster.phase("shop", "running").await;
        let (before, _) = resident(&core);
        for number in 0..BOMBS {
            let name = format!("bomb-{number}");
            cluster.create(endless(&name, &format!("{ENDLESS}// {number}\n"))).await;
            cluster.create(application(&name, &[component(&name, &name)])).await;
        }
        for number in 0..BOMBS {
            reported(&cluster, &format!("bomb-{number}")).await;
        }
        let (_, peak) = resident(&core);
        // Two large evaluations of 64 MB at once, and what the allocator and the small ones need.
        assert!(peak < before + (256 << 10), "{before} KiB became {peak} KiB");
        let back = || async {
            let (now, _) = resident(&core);
            now < before + before / 2
        };
        until("the memory is given back", back).await;
        println!("resident: {before} KiB before, {peak} KiB at most, {} KiB after", resident(&core).0);
        // One more is under way when the process is asked to stop: only that ends it.
        cluster.create(endless("last", LONG)).await;
        let idle = computed(&core);
        cluster.create(application("last", &[component("last", "last")])).await;
        until("it computes", || async { computed(&core) > idle + TICKS }).await;
        let asks = Command::new("kill").args(["-TERM", &core.id().to_string()]).status().unwrap();
        assert!(asks.success());
        let asked = Instant::now();
        while core.try_wait().unwrap().is_none() {
            assert!(asked.elapsed() < PATIENCE, "it does not end");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        println!("stopped after {} ms", asked.elapsed().as_millis());
        // The next process evaluates it: no user is told of a failure that is none.
        let last = cluster.get("core.oam.dev/v1beta1", "Application", "last").await.unwrap();
        assert!(!last["status"].to_string().contains("evaluation stopped"), "{}", last["status"]);
    }
}
