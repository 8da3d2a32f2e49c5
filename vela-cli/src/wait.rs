//! Waits for applications until they run, have failed, or time is up.

use std::time::Duration;

use futures::stream::{BoxStream, SelectAll};
use futures::{FutureExt, StreamExt};
use kube::ResourceExt as _;
use kube::api::DynamicObject;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, watcher};
use serde_json::{Value, json};
use tokio::time::Instant;
use vela_crds::annotations;
use vela_crds::condition::types;
use vela_engine::rollout::rest::{Rest, doing, rest};
use vela_engine::status::REFUSED;

use crate::cluster::Cluster;
use crate::error::{Error, Failure, Result};
use crate::health::Health;
use crate::pointer::text;
use crate::screen::{BAD, BUSY, GOOD, Screen, styled};
use crate::{steps, tree};

/// How often the parts of an ApplicationConfiguration are looked at again: its status does not tell their health, so
/// there is no single object to watch.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// An object that is waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Awaited {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// The spec that was applied; an older status says nothing about it.
    pub(crate) generation: i64,
    /// Its identity; a namesake made later is another object.
    pub(crate) uid: String,
    /// The revision that its status named before something was asked that makes another one, although the spec is the same;
    /// empty where nothing like that was asked. A status that still names it is an older one.
    pub(crate) former_revision: String,
}

impl Awaited {
    pub(crate) fn of(object: &DynamicObject) -> Self {
        let value = json!(object);
        Self {
            api_version: text(&value, "/apiVersion").to_owned(),
            kind: text(&value, "/kind").to_owned(),
            namespace: text(&value, "/metadata/namespace").to_owned(),
            name: text(&value, "/metadata/name").to_owned(),
            generation: value.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or(0),
            uid: text(&value, "/metadata/uid").to_owned(),
            former_revision: String::new(),
        }
    }

    /// The same after a write that makes another revision where it changed the version which the application is published
    /// as: that is no part of the spec, so no generation tells it.
    pub(crate) fn published(object: &DynamicObject, before: Option<&DynamicObject>) -> Self {
        let version =
            |object: &DynamicObject| object.annotations().get(annotations::PUBLISH_VERSION).cloned();
        let former = before.filter(|before| version(before) != version(object));
        let former = former.map_or("", |former| text(&former.data, REVISION));
        Self { former_revision: former.to_owned(), ..Self::of(object) }
    }

    pub(crate) fn title(&self) -> String {
        format!("{} {}/{}", self.kind, self.namespace, self.name)
    }
}

/// Where the status names the revision.
const REVISION: &str = "/status/latestRevision/name";

/// How far one of them is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    Running,
    /// It has done what it was asked for, and waits for a person.
    Rests(String),
    Waiting(String),
    /// It cannot come right by itself: no reason to wait any longer.
    Failed(String),
}

/// Conditions of the phases that cannot come right by themselves: another try needs another manifest or definition.
const FINAL_CONDITIONS: [&str; 5] =
    [types::PARSED, types::REVISION, types::POLICY, types::RENDER, types::BUILT];
/// Conditions that say how applying the objects goes, in the one form and in the other.
const APPLYING: [&str; 3] = [types::WORKFLOW, types::ROLLOUT, types::APPLIED];
/// Conditions that repeat what the components say.
const HEALTH: [&str; 2] = [types::READY, types::HEALTH_CHECK];

/// What the status of an object says about the spec that was applied.
pub(crate) fn verdict(awaited: &Awaited, object: &Value) -> Verdict {
    if text(object, "/metadata/uid") != awaited.uid {
        return Verdict::Failed("it was deleted while vela waited for it".to_owned());
    }
    if !text(object, "/metadata/deletionTimestamp").is_empty() {
        return Verdict::Failed("it is being deleted".to_owned());
    }
    if awaited.kind == "AppRollout" {
        return of_rollout(object);
    }
    let seen = object.pointer("/status/observedGeneration").and_then(Value::as_i64).unwrap_or(0);
    if seen < awaited.generation {
        return Verdict::Waiting("no controller has looked at it yet".to_owned());
    }
    let none = Vec::new();
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array).unwrap_or(&none);
    let bad = conditions.iter().filter(|condition| text(condition, "/status") == "False");
    let describe =
        |condition: &Value| format!("{}: {}", text(condition, "/type"), text(condition, "/message"));
    if awaited.kind == "ApplicationConfiguration" {
        let synced = conditions.iter().find(|condition| text(condition, "/type") == "Synced");
        return match synced {
            Some(condition) if text(condition, "/status") == "True" => Verdict::Running,
            Some(condition) if text(condition, "/reason") == REFUSED => {
                Verdict::Failed(text(condition, "/message").to_owned())
            }
            Some(condition) => Verdict::Waiting(describe(condition)),
            None => Verdict::Waiting("its components are being applied".to_owned()),
        };
    }
    if let Some(condition) =
        bad.clone().find(|condition| FINAL_CONDITIONS.contains(&text(condition, "/type")))
    {
        return Verdict::Failed(describe(condition));
    }
    if !awaited.former_revision.is_empty() && text(object, REVISION) == awaited.former_revision {
        return Verdict::Waiting("no controller has looked at it yet".to_owned());
    }
    let workflow = bad.clone().find(|condition| APPLYING.contains(&text(condition, "/type")));
    match (text(object, "/status/status"), workflow.map_or("", |found| text(found, "/reason"))) {
        // A rollout that waits for a person has done what it was asked for.
        ("rollingOut", "RolloutWaits") => {
            return Verdict::Rests(workflow.map_or("", |found| text(found, "/message")).to_owned());
        }
        (_, "RolloutFailed") => return Verdict::Failed(workflow.map(describe).unwrap_or_default()),
        (_, REFUSED) => {
            return Verdict::Failed(workflow.map_or("", |found| text(found, "/message")).to_owned());
        }
        _ => {}
    }
    match text(object, "/status/status") {
        "running" => Verdict::Running,
        // A workflow that waits for a person has done what it was asked for.
        "workflowSuspending" => match steps::waits_for_person(object) {
            Some(what) => Verdict::Rests(what),
            None => Verdict::Waiting("its workflow is suspended for a time".to_owned()),
        },
        phase @ ("workflowFailed" | "workflowTerminated") => {
            let said = bad.clone().filter(|condition| !text(condition, "/message").is_empty());
            let why: Vec<String> = said.map(describe).chain(steps::way_to_try_again(object)).collect();
            let why = why.join("; ");
            Verdict::Failed(if why.is_empty() { phase.to_owned() } else { format!("{phase}: {why}") })
        }
        phase => {
            let services = object.pointer("/status/services").and_then(Value::as_array).unwrap_or(&none);
            let mut why: Vec<String> = services
                .iter()
                .filter(|service| service.get("healthy").and_then(Value::as_bool) == Some(false))
                .map(|service| format!("{} {}", text(service, "/name"), text(service, "/message").trim()))
                .collect();
            // The conditions repeat what the services say; they matter where no service is the reason.
            if why.is_empty() {
                why = bad
                    .filter(|condition| !HEALTH.contains(&text(condition, "/type")))
                    .map(describe)
                    .collect();
            }
            let phase = if phase.is_empty() { "starting" } else { phase };
            Verdict::Waiting(if why.is_empty() {
                phase.to_owned()
            } else {
                format!("{phase}: {}", why.join("; "))
            })
        }
    }
}

/// A rollout that waits for a person has done what it was asked for.
fn of_rollout(object: &Value) -> Verdict {
    let Ok(rollout) = serde_json::from_value(object.clone()) else {
        return Verdict::Failed("it cannot be read".to_owned());
    };
    match rest(&rollout) {
        Some(Rest::Succeeded) => Verdict::Running,
        Some(Rest::Waits(what)) => Verdict::Rests(what),
        Some(Rest::Failed(why)) => Verdict::Failed(why),
        None => Verdict::Waiting(doing(&rollout)),
    }
}

type Change = (usize, std::result::Result<Option<DynamicObject>, watcher::Error>);

/// Waits until all run, one has failed and the others are settled, the time is up, or Ctrl-C.
pub(crate) async fn running(
    cluster: &Cluster,
    all: &[Awaited],
    timeout: Duration,
    screen: &mut Screen,
) -> Result<()> {
    let deadline = Instant::now() + timeout;
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
                Some((index, Ok(object))) => verdicts[index] = match object {
                    Some(object) => judge(cluster, &all[index], &json!(object)).await?,
                    None => Verdict::Failed("it was deleted while vela waited for it".to_owned()),
                },
                // The watch retries by itself; the deadline ends it if the cluster stays away.
                Some((_, Err(_))) => {}
                None => return Err(Error::internal("every watch has ended").into()),
            },
            _ = again.tick() => {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn awaited() -> Awaited {
        Awaited {
            api_version: "core.oam.dev/v1beta1".into(),
            kind: "Application".into(),
            namespace: "default".into(),
            name: "web".into(),
            generation: 2,
            uid: "u".into(),
            former_revision: String::new(),
        }
    }

    #[test]
    fn an_old_status_says_nothing_about_a_new_spec() {
        let object =
            json!({"metadata": {"uid": "u"}, "status": {"observedGeneration": 1, "status": "running"}});
        assert!(matches!(verdict(&awaited(), &object), Verdict::Waiting(_)));
        let object =
            json!({"metadata": {"uid": "u"}, "status": {"observedGeneration": 2, "status": "running"}});
        assert_eq!(verdict(&awaited(), &object), Verdict::Running);
    }

    #[test]
    fn an_older_revision_says_nothing_about_what_was_published_anew() {
        let of = |revision: &str| {
            let status =
                json!({"observedGeneration": 2, "status": "running", "latestRevision": {"name": revision}});
            let awaited = Awaited { former_revision: "web-v1".into(), ..awaited() };
            verdict(&awaited, &json!({"metadata": {"uid": "u"}, "status": status}))
        };
        assert!(matches!(of("web-v1"), Verdict::Waiting(_)));
        assert_eq!(of("web-v2"), Verdict::Running);
    }

    #[test]
    fn a_workflow_that_waits_for_a_person_is_not_waited_for() {
        let steps = json!([{"id": "a", "name": "hold", "phase": "suspending", "reason": "Suspend"}]);
        let of = |properties: Value| {
            verdict(
                &awaited(),
                &json!({
                    "metadata": {"uid": "u", "name": "web"},
                    "spec": {"workflow": {"steps": [{"name": "hold", "type": "suspend", "properties": properties}]}},
                    "status": {
                        "observedGeneration": 2, "status": "workflowSuspending",
                        "workflow": {"suspend": true, "steps": steps},
                    },
                }),
            )
        };
        assert!(matches!(of(json!({})), Verdict::Rests(what) if what.contains("vela workflow resume web")));
        assert!(matches!(of(json!({"duration": "10s"})), Verdict::Waiting(_)));
    }

    #[test]
    fn a_namesake_is_another_object() {
        let object =
            json!({"metadata": {"uid": "v"}, "status": {"observedGeneration": 2, "status": "running"}});
        assert!(matches!(verdict(&awaited(), &object), Verdict::Failed(_)));
    }

    #[test]
    fn what_was_refused_is_not_waited_for() {
        let condition = json!({"type": "Workflow", "status": "False", "reason": "Refused", "message": "front: replicas: must not be negative"});
        let object = json!({"metadata": {"uid": "u"},
            "status": {"observedGeneration": 2, "status": "runningWorkflow", "conditions": [condition]}});
        let why = "front: replicas: must not be negative".to_owned();
        assert_eq!(verdict(&awaited(), &object), Verdict::Failed(why));
    }

    #[test]
    fn the_v1alpha2_form_is_waited_for_by_the_conditions_of_its_era() {
        let of = |phase: &str, conditions: Value| {
            let status = json!({"observedGeneration": 2, "status": phase, "conditions": conditions});
            verdict(&awaited(), &json!({"metadata": {"uid": "u"}, "status": status}))
        };
        let bad = |type_: &str, reason: &str| json!([{"type": type_, "status": "False", "reason": reason, "message": "why"}]);
        assert_eq!(of("rendering", bad("Built", "ReconcileError")), Verdict::Failed("Built: why".into()));
        assert_eq!(of("rendering", bad("Applied", REFUSED)), Verdict::Failed("why".into()));
        let passing = of("rendering", bad("Applied", "ReconcileError"));
        assert_eq!(passing, Verdict::Waiting("rendering: Applied: why".into()));
        let unhealthy = of("healthChecking", bad("HealthCheck", "ReconcileError"));
        assert_eq!(unhealthy, Verdict::Waiting("healthChecking".into()));
        assert_eq!(of("rollingOut", bad("Rollout", "RolloutWaits")), Verdict::Rests("why".into()));
        let done = json!([{"type": "Applied", "status": "True", "reason": "Available"}]);
        assert_eq!(of("running", done), Verdict::Running);
    }

    #[test]
    fn a_configuration_that_cannot_get_better_is_not_waited_for() {
        let of = |reason: &str| {
            let condition =
                json!({"type": "Synced", "status": "False", "reason": reason, "message": "no component"});
            let object = json!({"metadata": {"uid": "u"}, "status": {"observedGeneration": 2, "conditions": [condition]}});
            verdict(&Awaited { kind: "ApplicationConfiguration".into(), ..awaited() }, &object)
        };
        assert_eq!(of(REFUSED), Verdict::Failed("no component".into()));
        assert!(matches!(of("ReconcileError"), Verdict::Waiting(_)));
    }

    #[test]
    fn a_render_error_is_final_and_told() {
        let condition = json!({"type": "Render", "status": "False", "message": "no image"});
        let object = json!({"metadata": {"uid": "u"},
            "status": {"observedGeneration": 2, "status": "rendering", "conditions": [condition]}});
        assert_eq!(verdict(&awaited(), &object), Verdict::Failed("Render: no image".into()));
    }
}
