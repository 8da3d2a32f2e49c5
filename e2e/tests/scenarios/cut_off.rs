//! A proxy between `vela-core` and the API server drops or delays everything for a while, and tells neither: users change things meanwhile,
//! another replica takes over, and afterwards everything is as they want it.

use std::time::{Duration, Instant};

use futures::future::try_join;
use serde_json::{Value, json};
use vela_e2e::Result;
use vela_e2e::objects::{Cluster, until};
use vela_e2e::proxy::{Fault, Seen};
use vela_e2e::replica::Replica;

use crate::replicas::{Replicas, SLOW, terms};
use crate::there_and_back::{Story, created, settled, unharmed};
use crate::{CONVERGE_DEADLINE, on_a_control_plane};

/// Shorter than the ten seconds without an answer after which a leader gives up.
const SHORT: Duration = Duration::from_secs(6);
/// A renewal that was sent into the partition is given up after this time.
const ATTEMPT: Duration = Duration::from_secs(4);
/// How late each request and each answer is.
const LAG: Duration = Duration::from_millis(500);
/// A reconcile asks a dozen times, and all applications are reconciled at once by few workers.
const LATE: Duration = Duration::from_secs(300);

fn application(name: &str, image: &str) -> Value {
    json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": "Application", "metadata": {"name": name},
        "spec": {"components": [{"name": name, "type": "webservice", "properties": {"image": image}}]},
    })
}

/// Waits until the Deployment has this image, or is not there.
async fn has(cluster: &Cluster, name: &str, image: Option<&str>, deadline: Duration) -> Result<()> {
    until(&format!("Deployment {name} has image {image:?}"), deadline, async || {
        let found = cluster.get("apps/v1", "Deployment", name).await.map_err(|error| error.to_string())?;
        let now = found.map(|found| found["spec"]["template"]["spec"]["containers"][0]["image"].clone());
        let as_wanted = now.as_ref().map(|now| now.as_str().unwrap_or_default()) == image;
        if as_wanted { Ok(()) } else { Err(format!("it is {now:?}")) }
    })
    .await
}

struct CutOff {
    replicas: Replicas,
    all: Vec<(String, Story)>,
    before: Vec<[Value; 2]>,
}

impl CutOff {
    async fn prepare(replicas: Replicas) -> Result<Self> {
        let all = created(&replicas.target).await?;
        let cluster = replicas.target.cluster();
        for name in ["stays", "leaves"] {
            cluster.apply(&application(name, "busybox:1")).await?;
            has(cluster, name, Some("busybox:1"), CONVERGE_DEADLINE).await?;
        }
        let before = settled(&replicas.target, &all).await?;
        Ok(Self { replicas, all, before })
    }

    async fn all_become(&self, spec: impl Fn(&Story) -> &Value) -> Result<()> {
        for (namespace, story) in &self.all {
            let cluster = self.replicas.target.cluster().within(namespace);
            story.becomes(&cluster, spec(story)).await?;
        }
        Ok(())
    }

    async fn unharmed(&self) -> Result<()> {
        unharmed(&self.replicas.target, &self.all, &self.before).await
    }

    /// The leader is cut off while it begins to bring what people take back at once: another one leads.
    async fn the_leader_is_cut_off(&self, first: &mut Replica) -> Result<()> {
        let cluster = self.replicas.target.cluster();
        let began = Instant::now();
        first.proxy.fault(Fault::Delay(SLOW));
        self.all_become(|story| &story.others[1]).await?;
        self.replicas.writes("first", began).await?;
        let cut = Instant::now();
        first.proxy.fault(Fault::Partition);
        let changes = async {
            self.all_become(|story| &story.a).await?;
            cluster.apply(&application("stays", "busybox:2")).await?;
            cluster.apply(&application("arrives", "busybox:1")).await?;
            cluster.delete("core.oam.dev/v1beta1", "Application", "leaves").await
        };
        // The end is looked for from the beginning: seen only after the changes it would be later than it was.
        let (_, (code, ended)) = try_join(changes, first.ended()).await?;
        if code != 1 || !first.log().contains("leader election lost") {
            let after = ended - cut;
            return Err(format!("cut off, it ended with {code} after {after:?}\n{}", first.log()).into());
        }
        let leads = self.replicas.leads("second", cut).await?;
        println!(
            "cut off: the leader ended {:.1} s after the partition began, the next led {:.1} s after it",
            (ended - cut).as_secs_f64(),
            (leads - cut).as_secs_f64()
        );
        if leads < ended {
            return Err("the second led before the first had ended".into());
        }
        has(cluster, "stays", Some("busybox:2"), CONVERGE_DEADLINE).await?;
        has(cluster, "arrives", Some("busybox:1"), CONVERGE_DEADLINE).await?;
        has(cluster, "leaves", None, CONVERGE_DEADLINE).await?;
        first.proxy.fault(Fault::Pass);
        self.unharmed().await?;
        let late: Vec<Seen> = self
            .replicas
            .record
            .since(cut)
            .into_iter()
            .filter(|seen| seen.who == "first" && seen.writes())
            .collect();
        // What the API server was doing already when the partition began is done.
        match late.iter().find(|seen| seen.at > cut + SLOW * 2) {
            None => Ok(()),
            Some(seen) => Err(format!("the first wrote after it was cut off: {seen:?}").into()),
        }
    }

    /// A partition that ends before a leader gives up.
    async fn a_short_partition(&self, second: &mut Replica) -> Result<()> {
        let cluster = self.replicas.target.cluster();
        second.proxy.fault(Fault::Partition);
        let cut = Instant::now();
        let changes = async {
            self.all_become(|story| &story.others[1]).await?;
            cluster.apply(&application("stays", "busybox:3")).await?;
            self.all_become(|story| &story.a).await
        };
        // However long a busy machine takes for the changes, the partition stays short.
        let end = async {
            tokio::time::sleep(SHORT).await;
            let through =
                self.replicas.record.since(cut + SLOW).into_iter().find(|seen| seen.who == "second");
            second.proxy.fault(Fault::Pass);
            through.map_or(Ok(()), |seen| Err(format!("through a partition: {seen:?}").into()))
        };
        try_join(changes, end).await?;
        has(cluster, "stays", Some("busybox:3"), CONVERGE_DEADLINE).await?;
        self.unharmed().await?;
        // What comes next is another fault: the leader has the whole time that one leaves it only when it has renewed since this one.
        self.replicas.leads("second", Instant::now() + ATTEMPT).await?;
        if second.runs()? { Ok(()) } else { Err(format!("it ended\n{}", second.log()).into()) }
    }

    /// Everything is late, leader election included.
    async fn lag(&self, second: &mut Replica) -> Result<()> {
        let cluster = self.replicas.target.cluster();
        second.proxy.fault(Fault::Lag(LAG));
        self.all_become(|story| &story.others[1]).await?;
        self.all_become(|story| &story.a).await?;
        cluster.apply(&application("stays", "busybox:4")).await?;
        cluster.delete("core.oam.dev/v1beta1", "Application", "arrives").await?;
        let stays = has(cluster, "stays", Some("busybox:4"), LATE).await;
        stays.map_err(|error| format!("{error}\n{}", second.log()))?;
        let gone = has(cluster, "arrives", None, LATE).await;
        gone.map_err(|error| format!("{error}\n{}", second.log()))?;
        for (namespace, story) in &self.all {
            let settled = story.settles_within(&cluster.within(namespace), LATE).await;
            settled.map_err(|error| format!("{namespace}: {error}\n{}", second.log()))?;
        }
        self.unharmed().await?;
        second.proxy.fault(Fault::Pass);
        if second.runs()? { Ok(()) } else { Err(format!("it ended\n{}", second.log()).into()) }
    }
}

#[test]
#[ignore = "needs a real control plane: cargo xtask e2e --real"]
fn a_cut_off_process_writes_nothing_and_all_is_well_afterwards() {
    on_a_control_plane(async {
        let replicas = Replicas::alone("cut-off").await?;
        let start = Instant::now();
        let mut first = replicas.start("first", &[]).await?;
        replicas.leads("first", start).await?;
        let mut second = replicas.start("second", &[]).await?;
        let cut_off = CutOff::prepare(replicas).await?;
        cut_off.the_leader_is_cut_off(&mut first).await?;
        cut_off.a_short_partition(&mut second).await.map_err(|error| format!("short partition: {error}"))?;
        cut_off.lag(&mut second).await.map_err(|error| format!("lag: {error}"))?;
        match terms(&cut_off.replicas.record.all()).as_slice() {
            ["first", "second"] => Ok(()),
            terms => Err(format!("more than one wrote at a time: {terms:?}").into()),
        }
    });
}
