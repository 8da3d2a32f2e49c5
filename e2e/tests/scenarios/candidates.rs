//! A candidate of another project beside ours: kube-scheduler, whose elector is client-go's, waits while we lead and leads after
//! us, and we wait while it leads and lead after it.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use vela_e2e::Result;
use vela_e2e::objects::{Cluster, until};
use vela_e2e::proxy::Record;
use vela_e2e::replica::Replica;
use vela_e2e::target::Target;
use vela_testkit::Process;

use crate::replicas::LEADS_AFTER_KILL;
use crate::{CONVERGE_DEADLINE, on_a_control_plane};

const HOME: &str = "vela-system";
/// A waiting candidate asks every two seconds and a little; a second question follows within this.
const ASKED_TWICE: Duration = Duration::from_secs(6);
/// Two seconds and a fifth until a candidate of client-go asks again, and what a busy machine needs.
const TAKES_AFTER_RELEASE: Duration = Duration::from_secs(8);

/// A kube-scheduler that schedules nothing; it ends with this.
struct KubeScheduler {
    process: Process,
    log: PathBuf,
}

impl KubeScheduler {
    /// Nothing where the programs of the control plane are not at hand.
    fn start(target: &Target, lease: &str) -> Result<Option<Self>> {
        let Some(folder) = std::env::var_os("KP_BIN").map(PathBuf::from) else { return Ok(None) };
        let kubeconfig = std::env::var("E2E_KUBECONFIG")?;
        let config = json!({
            "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
            "clientConnection": {"kubeconfig": kubeconfig},
            "leaderElection": {"leaderElect": true, "resourceName": lease, "resourceNamespace": HOME},
            // No pod asks for it.
            "profiles": [{"schedulerName": "absent"}],
        });
        let file = target.home().join("scheduler.json");
        std::fs::write(&file, config.to_string())?;
        let log = target.home().join("scheduler.log");
        let process = Command::new(folder.join("kube-scheduler"))
            .arg("--config")
            .arg(&file)
            .args(["--secure-port=0", "--v=2"])
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(&log)?)
            .spawn()?;
        Ok(Some(Self { process: process.into(), log }))
    }

    fn log(&self) -> String {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        log.lines().rev().take(15).collect::<Vec<_>>().join("\n")
    }
}

/// A `vela-core` that leads or waits and has next to nothing to reconcile: another one reconciles for everybody.
async fn ours(who: &str, target: &Target, record: &Record, lease: &str) -> Result<Replica> {
    let id = format!("--leader-election-id={lease}");
    let namespace = format!("--leader-election-namespace={HOME}");
    let flags = [
        "--enable-leader-election",
        &namespace,
        &id,
        "--oam-spec-ver=v0.2",
        "--app-config-installed=false",
        "--disable-caps=all",
    ];
    Replica::start(who, target.cluster().client().clone(), record, &flags, |_| {}).await
}

/// The lease's spec; nothing before a candidate made it.
async fn spec(home: &Cluster, lease: &str) -> Result<Value> {
    let found = home.get("coordination.k8s.io/v1", "Lease", lease).await?;
    Ok(found.unwrap_or_default()["spec"].clone())
}

/// Waits for another holder: the lease then, and how long it took.
async fn follows(
    home: &Cluster,
    lease: &str,
    former: &Value,
    deadline: Duration,
) -> Result<(Value, Duration)> {
    let began = Instant::now();
    let taken = until("another replica leads", deadline, async || {
        let now = spec(home, lease).await.map_err(|error| error.to_string())?;
        let holder = now["holderIdentity"].as_str().unwrap_or_default();
        let other = !holder.is_empty() && now["holderIdentity"] != former["holderIdentity"];
        if other { Ok(now) } else { Err(format!("the lease is {now}")) }
    })
    .await?;
    let transitions = |spec: &Value| spec["leaseTransitions"].as_i64().unwrap_or_default();
    if !former.is_null() && transitions(&taken) != transitions(former) + 1 {
        return Err(format!("transitions were not counted: {former}, then {taken}").into());
    }
    Ok((taken, began.elapsed()))
}

/// The holder goes on renewing while another candidate asks, and no other takes it.
async fn stays(home: &Cluster, lease: &str, held: &Value) -> Result<()> {
    let end = Instant::now() + ASKED_TWICE;
    let mut renewed = false;
    while Instant::now() < end || !renewed {
        let now = spec(home, lease).await?;
        if now["holderIdentity"] != held["holderIdentity"]
            || now["leaseTransitions"] != held["leaseTransitions"]
        {
            return Err(format!("{held} was taken: {now}").into());
        }
        renewed |= now["renewTime"] != held["renewTime"];
        if Instant::now() > end + CONVERGE_DEADLINE {
            return Err(format!("it was not renewed: {now}").into());
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    Ok(())
}

async fn said(what: &str, words: &str, log: impl Fn() -> String) -> Result<()> {
    until(what, CONVERGE_DEADLINE, async || {
        let log = log();
        if log.contains(words) { Ok(()) } else { Err(log) }
    })
    .await
}

#[test]
#[ignore = "needs a real control plane: cargo xtask e2e --real"]
fn a_candidate_of_client_go_takes_turns_with_ours() {
    on_a_control_plane(async {
        let target = Target::open("candidates").await?;
        let (home, lease, record) = (target.cluster().within(HOME), target.namespace(), Record::default());
        let mut first = ours("first", &target, &record, lease).await?;
        let (held, _) = follows(&home, lease, &Value::Null, CONVERGE_DEADLINE).await?;
        let Some(mut theirs) = KubeScheduler::start(&target, lease)? else {
            println!("skipped: KP_BIN names no folder with kube-scheduler");
            return Ok(());
        };
        // We lead, it waits.
        said("kube-scheduler asks for the lease", "ttempting to acquire leader lease", || theirs.log())
            .await?;
        stays(&home, lease, &held).await?;
        first.terminate()?;
        let (code, _) = first.ended().await?;
        if code != 0 {
            return Err(format!("a stopped leader ends with {code}:\n{}", first.log()).into());
        }
        let (held, released) = follows(&home, lease, &held, TAKES_AFTER_RELEASE)
            .await
            .map_err(|error| format!("{error}\n{}", theirs.log()))?;
        // It leads, we wait.
        let second = ours("second", &target, &record, lease).await?;
        said("vela-core asks for the lease", "another process leads; waiting", || second.log()).await?;
        stays(&home, lease, &held).await?;
        theirs.process.kill()?;
        let (held, killed) = follows(&home, lease, &held, LEADS_AFTER_KILL)
            .await
            .map_err(|error| format!("{error}\n{}", second.log()))?;
        said("vela-core leads", "this process leads", || second.log()).await?;
        // It waits again, and this time for the lease to expire.
        println!(
            "candidates: client-go leads {:.1} s after our release; we lead {:.1} s after it was killed",
            released.as_secs_f64(),
            killed.as_secs_f64()
        );
        let mut second = second;
        let third = KubeScheduler::start(&target, lease)?;
        let log = || third.as_ref().map(KubeScheduler::log).unwrap_or_default();
        said("kube-scheduler asks again", "ttempting to acquire leader lease", log).await?;
        second.kill()?;
        let (_, expired) = follows(&home, lease, &held, LEADS_AFTER_KILL * 2).await?;
        println!("candidates: client-go leads {:.1} s after we were killed", expired.as_secs_f64());
        home.delete("coordination.k8s.io/v1", "Lease", lease).await
    });
}
