//! Waits for applications until they run, have failed, or time is up.

mod verdict;

use std::time::Duration;

use futures::stream::{BoxStream, SelectAll};
use futures::{FutureExt, StreamExt};
use kube::api::DynamicObject;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, watcher};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::cluster::Cluster;
use crate::error::{Error, Failure, Result};
use crate::health::Health;
use crate::screen::{BAD, BUSY, GOOD, Screen, styled};
use crate::tree;
pub(crate) use verdict::{Awaited, Verdict, verdict};

/// How often the parts of an ApplicationConfiguration are looked at again: its status does not tell their health, so
/// there is no single object to watch.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// A failure that an unchanged object showed already may be mended by now, for example since its kind was installed: the
/// controller has so long to look again.
const LOOKS_AGAIN_WITHIN: Duration = Duration::from_secs(5);

type Change = (usize, std::result::Result<Option<DynamicObject>, watcher::Error>);

/// Waits until all run, one has failed and the others are settled, the time is up, or Ctrl-C.
pub(crate) async fn running(
    cluster: &Cluster,
    all: &[Awaited],
    timeout: Duration,
    screen: &mut Screen,
) -> Result<()> {
    let (deadline, patience) = (Instant::now() + timeout, Instant::now() + LOOKS_AGAIN_WITHIN);
    let mut former: Vec<Option<Verdict>> = vec![None; all.len()];
    let mut verdicts = vec![Verdict::Waiting("waiting for the controller".to_owned()); all.len()];
    let mut changes = SelectAll::new();
    for (index, awaited) in all.iter().enumerate() {
        changes.push(watch(cluster, awaited, index).await?);
    }
    let mut again = tokio::time::interval(LOOK_EVERY);
    let mut interrupt = std::pin::pin!(tokio::signal::ctrl_c().fuse());
    loop {
        screen.progress(all.iter().zip(&verdicts).map(|(awaited, verdict)| line(awaited, verdict)).collect());
        if !verdicts.iter().any(|verdict| matches!(verdict, Verdict::Waiting(_))) {
            screen.settle();
            return outcome(all, &verdicts, None);
        }
        tokio::select! {
            change = changes.next() => match change {
                Some((index, Ok(object))) => {
                    let verdict = match object {
                        Some(object) => judge(cluster, &all[index], &json!(object)).await?,
                        None => Verdict::Failed("it was deleted while vela waited for it".to_owned()),
                    };
                    (verdicts[index], former[index]) = match verdict {
                        Verdict::Failed(why) if all[index].is_unchanged && Instant::now() < patience => {
                            let waiting = format!("failed before, looked at again: {why}");
                            (Verdict::Waiting(waiting), Some(Verdict::Failed(why)))
                        }
                        verdict => (verdict, None),
                    };
                }
                // The watch retries by itself; the deadline ends it if the cluster stays away.
                Some((_, Err(_))) => {}
                None => return Err(Error::internal("every watch has ended").into()),
            },
            _ = again.tick() => {
                if Instant::now() >= patience {
                    former.iter_mut().zip(&mut verdicts).for_each(|(former, verdict)| {
                        former.take().into_iter().for_each(|former| *verdict = former);
                    });
                }
                for (index, awaited) in all.iter().enumerate() {
                    if awaited.kind == "ApplicationConfiguration" && verdicts[index] != Verdict::Running
                        && let Some(object) =
                            cluster.get(&awaited.api_version, &awaited.kind, Some(&awaited.namespace), &awaited.name).await?
                    {
                        verdicts[index] = judge(cluster, awaited, &json!(object)).await?;
                    }
                }
            }
            () = tokio::time::sleep_until(deadline) => {
                screen.settle();
                return outcome(all, &verdicts, Some(timeout));
            }
            _ = &mut interrupt => {
                screen.settle();
                let open = all.iter().zip(&verdicts).filter(|(_, verdict)| !matches!(verdict, Verdict::Running | Verdict::Rests(_)));
                let names = open.map(|(awaited, _)| awaited.title()).collect::<Vec<_>>().join(", ");
                return Err(Error::interrupted(format!("interrupted while waiting for {names}"))
                    .hint("everything was applied and stays; `vela status` shows how far it is, `vela delete` removes it")
                    .into());
            }
        }
    }
}

/// Like [`verdict`]; an ApplicationConfiguration that is applied must have healthy parts too.
async fn judge(cluster: &Cluster, awaited: &Awaited, object: &Value) -> Result<Verdict> {
    let verdict = verdict(awaited, object);
    if verdict != Verdict::Running || awaited.kind != "ApplicationConfiguration" {
        return Ok(verdict);
    }
    let tree = tree::read(cluster, object).await?;
    Ok(match tree.worst() {
        Health::Healthy | Health::Unknown => Verdict::Running,
        health => Verdict::Waiting(format!("its parts are {}", health.word())),
    })
}

async fn watch(cluster: &Cluster, awaited: &Awaited, index: usize) -> Result<BoxStream<'static, Change>> {
    let api = cluster.api(&awaited.api_version, &awaited.kind, Some(&awaited.namespace)).await?;
    let api = api.inner().map_err(|error| cluster.failure(&format!("follow {}", awaited.name), &error))?;
    let config = watcher::Config::default().fields(&format!("metadata.name={}", awaited.name));
    let (name, mut listed) = (awaited.name.clone(), false);
    let stream = watcher(api, config).default_backoff().filter_map(move |event| {
        let change = match event {
            Ok(watcher::Event::Init) => {
                listed = false;
                None
            }
            Ok(watcher::Event::InitApply(object) | watcher::Event::Apply(object)) => {
                let ours = object.metadata.name.as_deref() == Some(&name);
                listed |= ours;
                ours.then_some((index, Ok(Some(object))))
            }
            Ok(watcher::Event::InitDone) => (!listed).then_some((index, Ok(None))),
            Ok(watcher::Event::Delete(object)) => {
                (object.metadata.name.as_deref() == Some(&name)).then_some((index, Ok(None)))
            }
            // Its kind went with it, like the objects of a deleted CustomResourceDefinition.
            Err(error) if is_not_served(&error) => Some((index, Ok(None))),
            Err(error) => Some((index, Err(error))),
        };
        futures::future::ready(change)
    });
    Ok(stream.boxed())
}

fn is_not_served(error: &watcher::Error) -> bool {
    matches!(
        error,
        watcher::Error::InitialListFailed(kube::Error::Api(status))
        | watcher::Error::WatchStartFailed(kube::Error::Api(status)) if status.code == 404
    )
}

fn line(awaited: &Awaited, verdict: &Verdict) -> String {
    let title = awaited.title();
    match verdict {
        Verdict::Running => format!("{} {title}: running", styled(GOOD, "✓")),
        Verdict::Rests(what) => format!("{} {title}: {what}", styled(GOOD, "✓")),
        Verdict::Waiting(why) => format!("{} {title}: {why}", styled(BUSY, "…")),
        // Why is told when the waiting has ended, once and whole.
        Verdict::Failed(_) => format!("{} {title}: failed", styled(BAD, "✗")),
    }
}

fn outcome(all: &[Awaited], verdicts: &[Verdict], late: Option<Duration>) -> Result<()> {
    let failure = |(awaited, verdict): (&Awaited, &Verdict)| match (verdict, late) {
        (Verdict::Running | Verdict::Rests(_), _) => None,
        (Verdict::Failed(why), _) => {
            Some(Failure::from(Error::user(format!("{} failed: {why}", awaited.title()))))
        }
        (Verdict::Waiting(why), late) => {
            let seconds = late.unwrap_or_default().as_secs();
            let message = format!("{} does not run after {seconds} s: {why}", awaited.title());
            let hint = format!(
                "`vela status {} -n {}` shows every part; --timeout waits longer",
                awaited.name, awaited.namespace
            );
            Some(Error::user(message).hint(hint).into())
        }
    };
    match Failure::all(all.iter().zip(verdicts).filter_map(failure).collect()) {
        Some(failure) => Err(failure),
        None => Ok(()),
    }
}

/// Waits until the objects (kind, namespace, name, uid) are gone.
pub(crate) async fn gone(
    cluster: &Cluster,
    all: &[Awaited],
    timeout: Duration,
    screen: &mut Screen,
) -> Result<()> {
    let deadline = Instant::now() + timeout;
    let mut left = vec![true; all.len()];
    let mut changes = SelectAll::new();
    for (index, awaited) in all.iter().enumerate() {
        changes.push(watch(cluster, awaited, index).await?);
    }
    let mut interrupt = std::pin::pin!(tokio::signal::ctrl_c().fuse());
    while left.contains(&true) {
        screen.progress(all.iter().zip(&left).map(|(awaited, left)| gone_line(awaited, *left)).collect());
        tokio::select! {
            change = changes.next() => match change {
                Some((index, Ok(object))) => {
                    left[index] = object.is_some_and(|object| object.metadata.uid.as_deref() == Some(&all[index].uid));
                }
                Some((_, Err(_))) => {}
                None => return Err(Error::internal("every watch has ended").into()),
            },
            () = tokio::time::sleep_until(deadline) => {
                screen.settle();
                let late = all.iter().zip(&left).filter(|(_, left)| **left).map(|(awaited, _)| {
                    let message = format!("{} is not gone after {} s", awaited.title(), timeout.as_secs());
                    Failure::from(Error::user(message).hint("a finalizer may wait for a controller that does not run"))
                });
                return Failure::all(late.collect()).map_or(Ok(()), Err);
            }
            _ = &mut interrupt => {
                screen.settle();
                return Err(Error::interrupted("interrupted: the deletion was asked for and goes on by itself").into());
            }
        }
    }
    screen.progress(all.iter().zip(&left).map(|(awaited, left)| gone_line(awaited, *left)).collect());
    screen.settle();
    Ok(())
}

fn gone_line(awaited: &Awaited, left: bool) -> String {
    match left {
        true => format!("{} {}: deleting", styled(BUSY, "…"), awaited.title()),
        false => format!("{} {}: deleted", styled(GOOD, "✓"), awaited.title()),
    }
}
