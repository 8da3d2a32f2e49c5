//! Two replicas on a real control plane: one leads, the other takes over; applications that change meanwhile keep everything they have.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use vela_e2e::Result;
use vela_e2e::objects::until;
use vela_e2e::programs::programs;
use vela_e2e::proxy::{Fault, Record, Seen};
use vela_e2e::replica::Replica;
use vela_e2e::target::Target;

use crate::there_and_back::{Story, prepared, settled, unharmed};
use crate::{CONVERGE_DEADLINE, on_a_control_plane};

/// How slowly a leader's requests go before it is ended: it is in the middle of a reconcile then.
pub(crate) const SLOW: Duration = Duration::from_millis(150);
/// The lease duration and three seconds.
pub(crate) const LEADS_AFTER_KILL: Duration = Duration::from_secs(18);
/// A lease that was given back is taken at once; this is what a busy machine may need.
pub(crate) const LEADS_AFTER_STOP: Duration = Duration::from_secs(3);
/// Observed on controller-runtime with the same lease.
const THEIRS: [&str; 2] = ["1.75 s", "17.3 s"];

/// Processes that share a lease, each behind a proxy of its own.
pub(crate) struct Replicas {
    pub(crate) target: Target,
    pub(crate) record: Record,
    pub(crate) lease: String,
}

impl Replicas {
    /// On a real cluster without other users.
    pub(crate) async fn alone(name: &str) -> Result<Self> {
        let target = Target::alone(name).await?;
        let lease = target.namespace().to_owned();
        Ok(Self { target, record: Record::default(), lease })
    }

    pub(crate) async fn start(&self, who: &str, more: &[&str]) -> Result<Replica> {
        self.start_program(&programs()?.core, who, more).await
    }

    /// The same of another build.
    pub(crate) async fn start_of(&self, program: &Path, who: &str) -> Result<Replica> {
        self.start_program(program, who, &[]).await
    }

    async fn start_program(&self, program: &Path, who: &str, more: &[&str]) -> Result<Replica> {
        let id = format!("--leader-election-id={}", self.lease);
        let flags = ["--enable-leader-election", "--leader-election-namespace=vela-system", &id];
        let flags = [&flags[..], more].concat();
        let client = self.target.cluster().client().clone();
        Replica::start_of(program, who, client, &self.record, &flags, |_| {}).await
    }

    /// When that replica first wrote the lease after this moment: a waiting replica only reads it.
    pub(crate) async fn leads(&self, who: &str, after: Instant) -> Result<Instant> {
        until(&format!("{who} leads"), LEADS_AFTER_KILL * 2, async || {
            let taken =
                self.record.since(after).into_iter().find(|seen| seen.who == who && seen.writes_lease());
            taken.map(|seen| seen.at).ok_or_else(|| "it has not taken the lease".to_owned())
        })
        .await
    }

    pub(crate) async fn writes(&self, who: &str, after: Instant) -> Result<()> {
        until(&format!("{who} is in the middle of its work"), CONVERGE_DEADLINE, async || {
            let works = self.record.since(after).iter().any(|seen| seen.who == who && seen.writes());
            if works { Ok(()) } else { Err("it has written nothing".to_owned()) }
        })
        .await
    }

    /// Change every application and change it back, so that the leader is busy with both; it is slow from now on.
    async fn there_and_back(
        &self,
        leader: &Replica,
        who: &str,
        turn: usize,
        all: &[(String, Story)],
    ) -> Result<()> {
        let began = Instant::now();
        leader.proxy.fault(Fault::Delay(SLOW));
        for (namespace, story) in all {
            let others: Vec<_> = story.others.iter().filter(|other| story.keeps_web(other)).collect();
            let cluster = self.target.cluster().within(namespace);
            story.becomes(&cluster, others[turn % others.len()]).await?;
        }
        self.writes(who, began).await?;
        for (namespace, story) in all {
            story.becomes(&self.target.cluster().within(namespace), &story.a).await?;
        }
        Ok(())
    }
}

/// One writer at a time: who wrote, in order, without repeats.
pub(crate) fn terms(seen: &[Seen]) -> Vec<&str> {
    let mut terms: Vec<&str> =
        seen.iter().filter(|seen| seen.writes()).map(|seen| seen.who.as_str()).collect();
    terms.dedup();
    terms
}

/// Objects that were created more than once, though nothing was deleted.
fn made_twice(seen: &[Seen]) -> Vec<String> {
    let mut made: BTreeMap<&str, usize> = BTreeMap::new();
    for seen in seen.iter().filter(|seen| seen.status == 201 && seen.path.contains("/deployments/")) {
        *made.entry(seen.path.split('?').next().unwrap_or_default()).or_default() += 1;
    }
    made.into_iter()
        .filter(|(_, times)| *times > 1)
        .map(|(path, times)| format!("{path} {times} times"))
        .collect()
}

#[test]
#[ignore = "needs a real control plane: cargo xtask e2e --real"]
fn one_leads_and_the_other_takes_over() {
    on_a_control_plane(async {
        let replicas = Replicas::alone("replicas").await?;
        let all = prepared(&replicas.target).await?;
        let start = Instant::now();
        let mut first = replicas.start("first", &[]).await?;
        replicas.leads("first", start).await?;
        let mut second = replicas.start("second", &[]).await?;
        for (namespace, story) in &all {
            story.create(&replicas.target.cluster().within(namespace)).await?;
        }
        let before = settled(&replicas.target, &all).await?;
        // SIGTERM in the middle of a reconcile.
        replicas.there_and_back(&first, "first", 0, &all).await?;
        let asked = Instant::now();
        first.terminate()?;
        let (code, ended) = first.ended().await?;
        if code != 0 {
            return Err(format!("a stopped leader ends with {code}:\n{}", first.log()).into());
        }
        let taken = replicas.leads("second", asked).await?;
        let given =
            replicas.record.since(asked).into_iter().rfind(|seen| seen.who == "first" && seen.writes_lease());
        let given = given.ok_or("the first did not give the lease back")?.at;
        let clean = taken.saturating_duration_since(given);
        println!(
            "replicas: SIGTERM in a reconcile: ended after {:.2} s; the standby leads {:.3} s after the lease was given back, {:+.3} s after the end of the process (controller-runtime: {})",
            (ended - asked).as_secs_f64(),
            clean.as_secs_f64(),
            seconds_between(ended, taken),
            THEIRS[0],
        );
        if clean > LEADS_AFTER_STOP {
            return Err(format!("a clean hand-over took {clean:?}").into());
        }
        unharmed(&replicas.target, &all, &before).await?;
        // SIGKILL in the middle of a reconcile.
        let third = replicas.start("third", &[]).await?;
        until("the third waits", CONVERGE_DEADLINE, async || {
            let asks = replicas
                .record
                .all()
                .iter()
                .any(|seen| seen.who == "third" && seen.path.contains("/leases/"));
            if asks { Ok(()) } else { Err("it has not asked for the lease".to_owned()) }
        })
        .await?;
        replicas.there_and_back(&second, "second", 1, &all).await?;
        let killed = Instant::now();
        second.kill()?;
        let taken = replicas.leads("third", killed).await?;
        let after = taken - killed;
        println!(
            "replicas: SIGKILL in a reconcile: the standby leads {:.1} s later (controller-runtime: {})",
            after.as_secs_f64(),
            THEIRS[1]
        );
        if after > LEADS_AFTER_KILL {
            return Err(format!("after SIGKILL the standby led {after:?} later").into());
        }
        unharmed(&replicas.target, &all, &before).await?;
        let seen = replicas.record.all();
        if terms(&seen) != ["first", "second", "third"] {
            return Err(format!("more than one wrote at a time: {:?}", terms(&seen)).into());
        }
        match made_twice(&seen).as_slice() {
            [] => {}
            twice => return Err(format!("made more than once: {twice:?}").into()),
        }
        // A leader that is cut off ends by itself before another could begin.
        let mut third = third;
        let cut = Instant::now();
        third.proxy.fault(Fault::Down);
        let (code, ended) = third.ended().await?;
        if code != 1 || !third.log().contains("leader election lost") || ended - cut > Duration::from_secs(14)
        {
            return Err(format!("cut off: code {code} after {:?}\n{}", ended - cut, third.log()).into());
        }
        println!("replicas: a leader that is cut off ends {:.1} s later", (ended - cut).as_secs_f64());
        Ok(())
    });
}

fn seconds_between(from: Instant, to: Instant) -> f64 {
    to.saturating_duration_since(from).as_secs_f64() - from.saturating_duration_since(to).as_secs_f64()
}
