//! A rolling update of `vela-core` and its rollback: two builds share a lease and take turns, and neither writes what the other keeps as it should be.
//!
//! `E2E_OTHER_CORE` names the program of another build (`cargo xtask e2e --real --other COMMIT` makes one); without it both are this build,
//! which shows the hand-over alone.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::Value;
use vela_e2e::Result;
use vela_e2e::objects::{Cluster, until};
use vela_e2e::proxy::Seen;
use vela_e2e::replica::Replica;

use crate::replicas::{Replicas, terms};
use crate::there_and_back::{Story, created, settled, unharmed};
use crate::{CONVERGE_DEADLINE, on_a_control_plane};

/// A new leader that has written nothing for so long has looked at everything.
const STILL: Duration = Duration::from_secs(4);
/// Objects of applications. Records, revisions and status are each build's own to complete.
const OBJECTS: [&str; 3] = ["/deployments/", "/persistentvolumeclaims/", "/configmaps/"];

struct Rolling {
    replicas: Replicas,
    all: Vec<(String, Story)>,
    before: Vec<[Value; 2]>,
}

impl Rolling {
    fn within(&self, namespace: &str) -> Cluster {
        self.replicas.target.cluster().within(namespace)
    }

    /// A process of one of the builds, which leads or waits.
    async fn start(&self, who: &str, other: Option<&PathBuf>) -> Result<Replica> {
        match other {
            Some(program) => self.replicas.start_of(program, who).await,
            None => self.replicas.start(who, &[]).await,
        }
    }

    /// The build that came now leads: it changes no object, and what people change goes through it.
    async fn goes_on(&mut self, who: &str, after: Instant, turn: usize) -> Result<()> {
        let leads = self.replicas.leads(who, after).await?;
        self.still(who, leads).await?;
        let touched: Vec<Seen> = self
            .replicas
            .record
            .since(leads)
            .into_iter()
            .filter(|seen| {
                seen.who == who && seen.writes() && OBJECTS.iter().any(|kind| seen.path.contains(kind))
            })
            .collect();
        if !touched.is_empty() {
            return Err(format!("{who} changed objects that no user had changed: {touched:?}").into());
        }
        for (namespace, story) in &self.all {
            let others: Vec<_> = story.others.iter().filter(|other| story.keeps_web(other)).collect();
            let cluster = self.within(namespace);
            story.becomes(&cluster, others[turn % others.len()]).await?;
            story.settles(&cluster).await?;
            story.becomes(&cluster, &story.a).await?;
            story.settles(&cluster).await?;
        }
        let kept = unharmed(&self.replicas.target, &self.all, &self.before).await;
        kept.map_err(|error| format!("under {who} {error}").into())
    }

    async fn still(&self, who: &str, since: Instant) -> Result<()> {
        until(&format!("{who} has looked at everything"), CONVERGE_DEADLINE, async || {
            let seen = self.replicas.record.since(since);
            let last =
                seen.iter().rfind(|seen| seen.who == who && seen.writes()).map_or(since, |seen| seen.at);
            if last.elapsed() > STILL { Ok(()) } else { Err("it still writes".to_owned()) }
        })
        .await
    }
}

#[test]
#[ignore = "needs a real control plane: cargo xtask e2e --real"]
fn two_versions_take_turns_and_do_not_fight() {
    let other = std::env::var_os("E2E_OTHER_CORE").filter(|path| !path.is_empty()).map(PathBuf::from);
    if other.is_none() {
        // It watches every write of a control plane, and the gate's is full of what other scenarios left.
        println!(
            "skipped: no other build to take turns with; `cargo xtask e2e --real --other COMMIT` makes one"
        );
        return;
    }
    on_a_control_plane(async {
        println!(
            "versions: the other build is {}",
            other.as_ref().map_or("this one".into(), |path| path.display().to_string())
        );
        let replicas = Replicas::alone("versions").await?;
        let mut rolling = Rolling { replicas, all: Vec::new(), before: Vec::new() };
        let start = Instant::now();
        let mut old = rolling.start("old", other.as_ref()).await?;
        rolling.replicas.leads("old", start).await?;
        rolling.all = created(&rolling.replicas.target).await?;
        rolling.before = settled(&rolling.replicas.target, &rolling.all).await?;
        // The update: the new one waits, the old one is asked to end.
        let mut new = rolling.start("new", None).await?;
        rolling.still("old", start).await?;
        let asked = Instant::now();
        old.terminate()?;
        old.ended().await?;
        rolling.goes_on("new", asked, 0).await?;
        // The rollback, without an orderly end.
        let _back = rolling.start("back", other.as_ref()).await?;
        rolling.still("new", asked).await?;
        let killed = Instant::now();
        new.kill()?;
        rolling.goes_on("back", killed, 1).await?;
        match terms(&rolling.replicas.record.all()).as_slice() {
            ["old", "new", "back"] => Ok(()),
            terms => Err(format!("more than one wrote at a time: {terms:?}").into()),
        }
    });
}
