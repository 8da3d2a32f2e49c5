//! etcd is set back to a backup under a running `vela-core`: versions go back, what was made since is gone, what was deleted is back. The
//! controller goes on with the world as it is now, without a restart, and deletes nothing of it.

use std::time::{Duration, Instant};

use futures::StreamExt as _;
use http::Method;
use serde_json::{Value, json};
use vela_e2e::Result;
use vela_e2e::objects::{Cluster, until};
use vela_e2e::proxy::Record;
use vela_e2e::replica::Replica;
use vela_e2e::target::Target;

use crate::there_and_back::{Story, created, settled, unharmed};
use crate::{CONVERGE_DEADLINE, on_a_control_plane, runs};

/// Writes after the backup: so far do versions go back, further than a control plane writes by itself meanwhile.
const WRITES: usize = 2_000;
/// Writes under way at the same time.
const AT_ONCE: usize = 16;
/// From the restore until a change is through: the longest pause between two questions of a watch, and a reconcile.
const RECOVERS: Duration = Duration::from_secs(60);

const APPLICATION: [&str; 2] = ["core.oam.dev/v1beta1", "Application"];

fn application(name: &str, image: &str) -> Value {
    json!({
        "apiVersion": APPLICATION[0], "kind": APPLICATION[1], "metadata": {"name": name},
        "spec": {"components": [{"name": name, "type": "webservice", "properties": {"image": image}}]},
    })
}

async fn deployment(cluster: &Cluster, name: &str) -> std::result::Result<Option<Value>, String> {
    cluster.get("apps/v1", "Deployment", name).await.map_err(|error| error.to_string())
}

async fn gone(cluster: &Cluster, name: &str) -> Result<()> {
    until(&format!("Deployment {name} is gone"), CONVERGE_DEADLINE, async || {
        match deployment(cluster, name).await? {
            None => Ok(()),
            Some(_) => Err("it is there".to_owned()),
        }
    })
    .await
}

async fn through(cluster: &Cluster, name: &str, image: &str, deadline: Duration) -> Result<()> {
    until(&format!("{name} has {image}"), deadline, async || {
        let found = deployment(cluster, name).await?.unwrap_or_default();
        let now = &found["spec"]["template"]["spec"]["containers"][0]["image"];
        if now == image { Ok(()) } else { Err(format!("its image is {now}")) }
    })
    .await
}

/// The version that the server is at.
async fn version(cluster: &Cluster) -> Result<u64> {
    let note = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "at"},
        "data": {"now": format!("{:?}", Instant::now())}});
    let written = cluster.apply(&note).await?;
    Ok(written["metadata"]["resourceVersion"].as_str().unwrap_or_default().parse()?)
}

async fn many_writes(cluster: &Cluster) -> Result<()> {
    let write = |number: usize| async move {
        let note = json!({"data": {"number": number.to_string()}});
        cluster.patch("v1", "ConfigMap", "at", &note).await.map(|_| ())
    };
    let mut writes = futures::stream::iter(0..WRITES).map(write).buffer_unordered(AT_ONCE);
    while let Some(written) = writes.next().await {
        written?;
    }
    Ok(())
}

/// The changes after the backup, which the restore undoes.
async fn life_goes_on(target: &Target, all: &[(String, Story)]) -> Result<()> {
    let cluster = target.cluster();
    cluster.delete(APPLICATION[0], APPLICATION[1], "goes").await?;
    gone(cluster, "goes").await?;
    many_writes(cluster).await?;
    cluster.apply(&application("late", "busybox:1")).await?;
    cluster.apply(&application("stays", "busybox:2")).await?;
    through(cluster, "stays", "busybox:2", CONVERGE_DEADLINE).await?;
    runs(target, "late").await?;
    for (namespace, story) in all {
        // The workload goes for another one: what the controller remembers is that it must not be there.
        let cluster = cluster.within(namespace);
        story.becomes(&cluster, &story.others[0]).await?;
        gone(&cluster, "web").await?;
        story.settles(&cluster).await?;
    }
    Ok(())
}

/// What carries out a Deployment, for who reads a failure.
async fn standing(cluster: &Cluster) -> Result<String> {
    let mut report = String::new();
    for (api_version, kind) in
        [("apps/v1", "Deployment"), ("apps/v1", "ReplicaSet"), ("v1", "Pod"), ("v1", "Node")]
    {
        for object in cluster.list(api_version, kind).await? {
            let metadata = &object["metadata"];
            let spec = &object["spec"];
            report += &format!(
                "{kind} {} generation {} version {} of {} node {}: {}\n",
                metadata["name"],
                metadata["generation"],
                metadata["resourceVersion"],
                metadata["creationTimestamp"],
                spec["nodeName"],
                object["status"]
            );
        }
    }
    Ok(report)
}

#[test]
#[ignore = "needs a real control plane: cargo xtask e2e --real"]
fn a_cluster_that_is_restored_from_a_backup_is_served_on() {
    on_a_control_plane(async {
        let target = Target::of_its_own("restored").await?;
        let (cluster, record) = (target.cluster(), Record::default());
        let mut core = Replica::start("core", cluster.client().clone(), &record, &[], |_| {}).await?;
        let all = created(&target).await?;
        for name in ["stays", "goes"] {
            cluster.apply(&application(name, "busybox:1")).await?;
            runs(&target, name).await?;
        }
        let before = settled(&target, &all).await?;
        let made = deployment(cluster, "goes").await?.unwrap_or_default()["metadata"]["uid"].clone();
        version(cluster).await?;
        target.back_up().await?;
        life_goes_on(&target, &all).await?;
        let reached = version(cluster).await?;
        target.restore().await?;
        let restored = Instant::now();
        let back_at = version(cluster).await?;
        // The controller is not restarted; a user changes an application.
        cluster.apply(&application("stays", "busybox:3")).await?;
        through(cluster, "stays", "busybox:3", RECOVERS)
            .await
            .map_err(|error| format!("{error}\n{}", core.log()))?;
        let took = restored.elapsed();
        let now_at = version(cluster).await?;
        println!(
            "restored: version {reached} became {back_at}; a change is through {:.1} s later, at version {now_at}",
            took.as_secs_f64()
        );
        if now_at >= reached {
            return Err(format!("version {now_at} has passed {reached} already: nothing is shown").into());
        }
        for name in ["stays", "goes"] {
            if let Err(error) = runs(&target, name).await {
                return Err(format!("{error}\n{}\n{}", standing(cluster).await?, core.log()).into());
            }
        }
        unharmed(&target, &all, &before).await?;
        let again = deployment(cluster, "goes").await?.unwrap_or_default()["metadata"]["uid"].clone();
        if again != made || deployment(cluster, "late").await?.is_some() {
            return Err(format!("goes had uid {made}, now {again}; late must not be there").into());
        }
        let written: Vec<String> = record
            .since(restored)
            .into_iter()
            .filter(|seen| seen.method != Method::GET)
            .map(|seen| {
                let after = seen.at.saturating_duration_since(restored).as_secs_f64();
                format!("{after:.2} s: {} {} {}", seen.method, seen.path, seen.status)
            })
            .collect();
        if written.iter().any(|line| line.contains("DELETE")) {
            return Err(format!("deleted after the restore:\n{}\n{}", written.join("\n"), core.log()).into());
        }
        // What it is told from now on it does, also deleting.
        for (namespace, story) in &all {
            let cluster = cluster.within(namespace);
            story.becomes(&cluster, &story.others[0]).await?;
            gone(&cluster, "web").await?;
        }
        cluster.delete(APPLICATION[0], APPLICATION[1], "goes").await?;
        gone(cluster, "goes").await?;
        if core.runs()? { Ok(()) } else { Err(format!("it died\n{}", core.log()).into()) }
    });
}
