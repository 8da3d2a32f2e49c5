//! Authors who write good and broken applications all the time; a wrong answer of the API server ends the scenario.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use vela_e2e::Result;
use vela_e2e::objects::{Cluster, until};

use crate::CONVERGE_DEADLINE;

const API_VERSION: &str = "core.oam.dev/v1beta1";
/// Applications that are written again and again.
const GOOD: [&str; 3] = ["good-0", "good-1", "good-2"];
/// Between two rounds.
const PAUSE: Duration = Duration::from_millis(200);
/// Two webhooks in a row, each with the time that an API server gives it.
const WRITE_AT_MOST: Duration = Duration::from_secs(22);
/// Of a cause this much is printed.
const CAUSE_AT_MOST: usize = 240;
/// Rounds without trouble until it is believed to be over.
const CLEAN_ROUNDS: usize = 2;

/// Everybody's writes since some moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    /// Good ones that were stored.
    pub(crate) taken: usize,
    /// Broken ones that got a verdict.
    pub(crate) refused: usize,
    /// Writes without a verdict, good or broken; none of them was stored as far as anybody was told.
    pub(crate) turned_away: usize,
    /// Why the last of them had none.
    pub(crate) last: String,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { taken, refused, turned_away, last } = self;
        write!(f, "{taken} good ones taken, {refused} broken ones refused, {turned_away} turned away")?;
        let last: String = last.chars().take(CAUSE_AT_MOST).collect();
        if last.is_empty() { Ok(()) } else { write!(f, " ({last} …)") }
    }
}

/// The answer of the API server to one write.
enum Answer {
    Accepted,
    Refused(String),
    Unreachable(String),
}

struct Round {
    began: Instant,
    tally: Tally,
}

/// They write in one namespace.
pub(crate) struct Authors {
    cluster: Cluster,
    rounds: RefCell<Vec<Round>>,
}

/// An application with one component of its own name.
fn application(name: &str, type_: &str, properties: Value) -> Value {
    json!({
        "apiVersion": API_VERSION, "kind": "Application", "metadata": {"name": name},
        "spec": {"components": [{"name": name, "type": type_, "properties": properties}]},
    })
}

fn good(name: &str, number: usize) -> Value {
    application(name, "webservice", json!({"image": image(number)}))
}

fn image(number: usize) -> String {
    format!("busybox:{number}")
}

/// New ones that are broken, and a change that would break one that runs.
fn broken() -> [Value; 3] {
    [
        application("broken-0", "webservice", json!({"image": 5})),
        application("broken-1", "webservise", json!({"image": "busybox"})),
        application(GOOD[0], "webservice", json!({"image": "busybox", "imagePullPolicy": "Sometimes"})),
    ]
}

impl Authors {
    pub(crate) fn new(cluster: &Cluster) -> Self {
        Self { cluster: cluster.clone(), rounds: RefCell::default() }
    }

    /// Ends only when something wrong was stored or something good refused.
    pub(crate) async fn write_on(&self) -> Result<()> {
        loop {
            let number = self.rounds.borrow().len();
            let round = self.round(number).await?;
            self.rounds.borrow_mut().push(round);
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn round(&self, number: usize) -> Result<Round> {
        let (began, mut tally) = (Instant::now(), Tally::default());
        let goods = GOOD.map(|name| good(name, number));
        let brokens = broken();
        let goods = futures::future::join_all(goods.iter().map(|object| self.write(object)));
        let brokens = futures::future::join_all(brokens.iter().map(|object| self.write(object)));
        let (goods, brokens) = tokio::join!(goods, brokens);
        for (said, is_good) in
            goods.into_iter().map(|said| (said, true)).chain(brokens.into_iter().map(|said| (said, false)))
        {
            match (said, is_good) {
                (Answer::Accepted, true) => tally.taken += 1,
                (Answer::Refused(_), false) => tally.refused += 1,
                (Answer::Unreachable(why), _) => {
                    tally.turned_away += 1;
                    tally.last = why;
                }
                (Answer::Accepted, false) => return Err("a broken application was taken".into()),
                (Answer::Refused(why), true) => {
                    return Err(format!("a good application was refused: {why}").into());
                }
            }
        }
        Ok(Round { began, tally })
    }

    async fn write(&self, object: &Value) -> Answer {
        match tokio::time::timeout(WRITE_AT_MOST, self.cluster.apply(object)).await {
            Ok(Ok(_)) => Answer::Accepted,
            Ok(Err(error)) => {
                let why = error.to_string();
                if why.contains("denied the request") {
                    Answer::Refused(why)
                } else {
                    Answer::Unreachable(why)
                }
            }
            Err(_) => Answer::Unreachable(format!("no answer within {WRITE_AT_MOST:?}")),
        }
    }

    /// What was said in the rounds that began since that moment.
    pub(crate) fn since(&self, moment: Instant) -> Tally {
        let mut sum = Tally::default();
        for round in self.rounds.borrow().iter().filter(|round| round.began >= moment) {
            sum.taken += round.tally.taken;
            sum.refused += round.tally.refused;
            sum.turned_away += round.tally.turned_away;
            if !round.tally.last.is_empty() {
                sum.last.clone_from(&round.tally.last);
            }
        }
        sum
    }

    /// Waits until everything written gets a verdict again; how long after that moment it began to.
    pub(crate) async fn judged(&self, since: Instant, deadline: Duration) -> Result<Duration> {
        until("every write gets a verdict", deadline, async || {
            let rounds = self.rounds.borrow();
            let late = rounds.iter().filter(|round| round.began >= since);
            let clean: Vec<&Round> = late.rev().take_while(|round| round.tally.turned_away == 0).collect();
            match clean.last() {
                Some(first) if clean.len() >= CLEAN_ROUNDS => Ok(first.began - since),
                _ => Err(format!("{} rounds in a row; {}", clean.len(), self.since(since))),
            }
        })
        .await
    }

    /// The uids of the workloads.
    pub(crate) async fn workloads(&self) -> Result<BTreeMap<&'static str, Value>> {
        let mut found = BTreeMap::new();
        for name in GOOD {
            let uid = self.deployment(name).await?["metadata"]["uid"].clone();
            found.insert(name, uid);
        }
        Ok(found)
    }

    async fn deployment(&self, name: &str) -> Result<Value> {
        let found = self.cluster.get("apps/v1", "Deployment", name).await?;
        found.ok_or_else(|| format!("there is no Deployment {name}").into())
    }

    /// Waits until every application that was taken since that moment is in its workload as it was written then or later.
    pub(crate) async fn through(&self, since: Instant, deadline: Duration) -> Result<Duration> {
        let number = {
            let rounds = self.rounds.borrow();
            // The round under way began before; the next one counts.
            rounds.iter().position(|round| round.began >= since).unwrap_or(rounds.len() + 1)
        };
        for name in GOOD {
            until(&format!("{name} of round {number} is through"), deadline, async || {
                let object = self.deployment(name).await.map_err(|error| error.to_string())?;
                let image = &object["spec"]["template"]["spec"]["containers"][0]["image"];
                let now = image.as_str().and_then(|image| image.rsplit(':').next()?.parse::<usize>().ok());
                if now >= Some(number) { Ok(()) } else { Err(format!("its image is {image}")) }
            })
            .await?;
        }
        Ok(since.elapsed())
    }

    /// After the last write: every application is there as it was last taken, every workload has that image, and nothing
    /// that was broken is stored.
    pub(crate) async fn nothing_is_lost(&self) -> Result<()> {
        let number = self.rounds.borrow().len();
        for name in GOOD {
            self.cluster.apply(&good(name, number)).await?;
        }
        for name in GOOD {
            until(&format!("{name} is through"), CONVERGE_DEADLINE, async || {
                let object = self.deployment(name).await.map_err(|error| error.to_string())?;
                let now = &object["spec"]["template"]["spec"]["containers"][0]["image"];
                if *now == image(number) { Ok(()) } else { Err(format!("its image is {now}")) }
            })
            .await?;
        }
        for object in broken() {
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            let stored = self.cluster.get(API_VERSION, "Application", name).await?;
            if stored.is_some_and(|stored| stored["spec"] == object["spec"] || name.starts_with("broken")) {
                return Err(format!("{name} is stored, broken as it is").into());
            }
        }
        Ok(())
    }

    /// Takes everything away.
    pub(crate) async fn clear(&self) -> Result<()> {
        for name in GOOD {
            self.cluster.delete(API_VERSION, "Application", name).await?;
        }
        Ok(())
    }
}
