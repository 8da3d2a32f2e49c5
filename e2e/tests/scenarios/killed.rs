//! Killed at any moment: applications of every kind are created, changed and deleted while what reconciles them is shot again and again.

use std::time::{Duration, Instant, SystemTime};

use vela_e2e::Result;
use vela_e2e::objects::until;
use vela_e2e::target::{Target, is_real};

use crate::there_and_back::{Story, created, identities, prepared, settled};
use crate::{CONVERGE_DEADLINE, scenario};

/// Turns there and back, with two deaths each.
const TURNS: usize = 4;
/// The longest pause before a death: from before the first look at a change to well after the last write for it.
const PAUSE_AT_MOST: u64 = 600;
/// B may ask for the end of what A has; after two quiet seconds it gets it. A must be back before.
const B_LASTS_AT_MOST: Duration = Duration::from_millis(1500);

/// Pauses by chance; the seed is printed, so that a failure can be tried again.
struct Chance(u64);

impl Chance {
    fn new() -> Self {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let seed = now.as_secs() << 10 | u64::from(now.subsec_millis());
        println!("killed: seed {seed}");
        Self(seed | 1)
    }

    async fn pause(&mut self, at_most: u64) {
        // Xorshift: chance enough for pauses.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        tokio::time::sleep(Duration::from_millis(self.0 % at_most)).await;
    }
}

/// A death at some moment of the next `at_most` milliseconds.
async fn dies(target: &mut Target, chance: &mut Chance, at_most: u64) -> Result<()> {
    chance.pause(at_most).await;
    target.kill()?;
    target.restart().await
}

async fn gone(target: &Target, namespace: &str, story: &Story) -> Result<()> {
    let cluster = target.cluster().within(namespace);
    let left = [
        (story.api_version, story.kind, "app"),
        ("apps/v1", "Deployment", "web"),
        ("apps/v1", "Deployment", "other"),
    ];
    until(&format!("{namespace} is deleted with all it made"), CONVERGE_DEADLINE, async || {
        for (api_version, kind, name) in left {
            let found = cluster.get(api_version, kind, name).await.map_err(|error| error.to_string())?;
            if let Some(found) = found {
                let held = &found["metadata"]["finalizers"];
                let status = &found["status"];
                return Err(format!("{kind} {name} is still there: finalizers {held}, status {status}"));
            }
        }
        Ok(())
    })
    .await
    .map_err(|error| format!("{error}\n--- end of the log\n{}", target.log_tail()).into())
}

/// Deletes everything, with a death within so many milliseconds; nothing is left.
async fn deleted(
    target: &mut Target,
    chance: &mut Chance,
    at_most: u64,
    all: &[(String, Story)],
) -> Result<()> {
    for (namespace, story) in all {
        story.delete(&target.cluster().within(namespace)).await?;
    }
    dies(target, chance, at_most).await?;
    for (namespace, story) in all {
        gone(target, namespace, story).await?;
    }
    Ok(())
}

/// One turn: B, a death, A again, a death; what A has must be what it was.
async fn turn(
    target: &mut Target,
    chance: &mut Chance,
    number: usize,
    all: &[(String, Story)],
) -> Result<bool> {
    let begun = Instant::now();
    for (namespace, story) in all {
        // A sandbox cannot be written to before it is back, which may take longer than B may ask for an end.
        let others: Vec<_> =
            story.others.iter().filter(|other| is_real() || story.keeps_web(other)).collect();
        let cluster = target.cluster().within(namespace);
        story.becomes(&cluster, others[number % others.len()]).await?;
    }
    chance.pause(PAUSE_AT_MOST).await;
    target.kill()?;
    let in_time = begun.elapsed() < B_LASTS_AT_MOST;
    if !is_real() {
        target.restart().await?;
    }
    for (namespace, story) in all {
        story.becomes(&target.cluster().within(namespace), &story.a).await?;
    }
    if is_real() {
        target.restart().await?;
    }
    dies(target, chance, PAUSE_AT_MOST).await?;
    for (namespace, story) in all {
        story.settles(&target.cluster().within(namespace)).await?;
    }
    Ok(in_time || !is_real())
}

#[test]
fn whatever_is_killed_in_the_middle_ends_right() {
    scenario(async {
        let mut target = Target::open("killed").await?;
        let mut chance = Chance::new();
        let all = created(&target).await?;
        dies(&mut target, &mut chance, PAUSE_AT_MOST).await?;
        let mut before = settled(&target, &all).await?;
        for number in 0..TURNS {
            let in_time = turn(&mut target, &mut chance, number, &all).await?;
            for ((namespace, _), before) in all.iter().zip(&mut before) {
                let now = identities(&target.cluster().within(namespace)).await;
                let now = now.map_err(|error| format!("turn {number}: {namespace}: {error}"))?;
                if !in_time {
                    println!("killed: turn {number} was too slow to judge");
                    *before = now;
                } else if now != *before {
                    return Err(format!("turn {number}: {namespace} had {before:?}, now {now:?}").into());
                }
            }
        }
        deleted(&mut target, &mut chance, PAUSE_AT_MOST, &all).await?;
        Ok(())
    });
}

/// How often everything is deleted with a death in the middle.
const DELETIONS: usize = 3;
/// A deletion takes no longer than this on a quiet machine, so most deaths are in the middle of one.
const DELETION_AT_MOST: u64 = 120;

#[test]
fn a_deletion_that_is_killed_is_finished() {
    scenario(async {
        let mut target = Target::open("killed-deletion").await?;
        let mut chance = Chance::new();
        let all = prepared(&target).await?;
        for _ in 0..DELETIONS {
            for (namespace, story) in &all {
                story.create(&target.cluster().within(namespace)).await?;
            }
            settled(&target, &all).await?;
            deleted(&mut target, &mut chance, DELETION_AT_MOST, &all).await?;
        }
        Ok(())
    });
}
