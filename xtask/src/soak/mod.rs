//! Minutes and a seed in → a real `vela-core` kept busy by people for so long; at checkpoints it must be as small and as idle as after the warm-up.
//!
//! The API server is the embedded one, in this process and on a port, so that only the memory of the controllers is measured. People create, change,
//! break, mend, hurt and delete applications in an order that the seed decides; then everything that is well must run, and when everything
//! is deleted nothing may be left: no object, no finalizer, no key in a queue, no connection, no memory.

mod cluster;
mod core;
mod people;

use std::time::{Duration, Instant};

use crate::command;
use cluster::Cluster;
use core::{Core, LOOK_EVERY, Size};
use people::People;

/// How long a nightly run takes.
const MINUTES: u64 = 60;
/// Checkpoints whose sizes are not judged: caches fill, and the allocator finds its size.
const WARM_UP: usize = 2;
/// A run with fewer judged checkpoints shows nothing.
const JUDGED_AT_LEAST: usize = 2;
/// The resident size may be so many times that after the warm-up.
const TIMES_AT_MOST: f64 = 1.5;
/// Connections and threads more than after the warm-up that are no leak: pools breathe.
const MORE_AT_MOST: usize = 16;
/// Far beyond what a busy machine needs until a condition holds.
const DEADLINE: Duration = Duration::from_secs(180);

/// How long, and in which order.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// How long people work, at least
    #[arg(long, value_name = "N", default_value_t = MINUTES)]
    minutes: u64,
    /// Where chance begins
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
}

/// Keeps a `vela-core` of this source busy.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    if !cfg!(target_os = "linux") {
        println!("skipped: the size of a process is read as Linux tells it");
        return Ok(());
    }
    command::build(&["--package", "vela-core"])?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.map_err(|error| error.to_string())?.block_on(soak(options))
}

async fn soak(options: &Options) -> Result<(), String> {
    let cluster = Cluster::start().await?;
    let mut core = Core::start(&cluster.kubeconfig())?;
    let mut people = People::new(options.seed);
    let until = Instant::now() + Duration::from_secs(options.minutes * 60);
    let mut sizes: Vec<Size> = Vec::new();
    println!("seed {}, {} minutes", options.seed, options.minutes);
    println!(
        "| checkpoint | applications made | requests written by people | resident | descriptors | threads |"
    );
    println!("|---|---|---|---|---|---|");
    while Instant::now() < until || sizes.len() < WARM_UP + JUDGED_AT_LEAST {
        let outcome = checkpoint(&cluster, &mut core, &mut people, &sizes).await;
        let size = outcome.map_err(|error| {
            let (number, seed) = (sizes.len() + 1, options.seed);
            format!(
                "checkpoint {number} of seed {seed}: {error}\n--- end of the log of vela-core\n{}",
                core.log()
            )
        })?;
        let (made, asked) = (people.made(), people.asked());
        let Size { resident, descriptors, threads } = size;
        println!("| {} | {made} | {asked} | {resident} KiB | {descriptors} | {threads} |", sizes.len() + 1);
        sizes.push(size);
    }
    core.stop().await
}

/// People work, everything that is well runs, everything is deleted, and the controllers are as they were.
async fn checkpoint(
    cluster: &Cluster,
    core: &mut Core,
    people: &mut People,
    sizes: &[Size],
) -> Result<Size, String> {
    people.work(cluster).await?;
    until("every application that is not broken runs", || people.wrong(cluster)).await?;
    people.leave(cluster).await?;
    until("nothing is left", || cluster.left()).await?;
    until("no controller has work", || core.busy()).await?;
    core.runs()?;
    let Some(usual) = sizes.get(WARM_UP - 1).copied() else { return core.size() };
    until("the size is that after the warm-up", || judge(core.size()?, usual)).await?;
    core.size()
}

/// What is too much.
fn judge(now: Size, usual: Size) -> Result<Vec<String>, String> {
    let mut wrong = Vec::new();
    if now.resident as f64 > usual.resident as f64 * TIMES_AT_MOST {
        wrong.push(format!("{} KiB are resident, and {} were", now.resident, usual.resident));
    }
    for (what, now, usual) in
        [("descriptors", now.descriptors, usual.descriptors), ("threads", now.threads, usual.threads)]
    {
        if now > usual + MORE_AT_MOST {
            wrong.push(format!("{now} {what}, and there were {usual}"));
        }
    }
    Ok(wrong)
}

/// Waits until nothing is wrong.
async fn until(what: &str, mut wrong: impl FnMut() -> Result<Vec<String>, String>) -> Result<(), String> {
    let end = Instant::now() + DEADLINE;
    loop {
        let now = wrong()?;
        if now.is_empty() {
            return Ok(());
        }
        if Instant::now() > end {
            return Err(format!("not within {} s: {what}: {}", DEADLINE.as_secs(), now.join("; ")));
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_come_back_is_told() {
        let usual = Size { resident: 100, descriptors: 30, threads: 8 };
        assert_eq!(judge(Size { resident: 150, descriptors: 46, threads: 24 }, usual), Ok(vec![]));
        let wrong = judge(Size { resident: 151, descriptors: 47, threads: 25 }, usual);
        assert_eq!(wrong.map(|wrong| wrong.len()), Ok(3));
    }
}
