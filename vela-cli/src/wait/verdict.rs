//! An object that is waited for, and what its status says: it runs, rests, waits, or cannot come right by itself.

use kube::ResourceExt as _;
use kube::api::DynamicObject;
use serde_json::{Value, json};
use vela_crds::annotations;
use vela_crds::condition::types;
use vela_engine::rollout::rest::{Rest, doing, rest};
use vela_engine::status::REFUSED;

use crate::pointer::text;
use crate::steps;

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
    /// Nothing was written: what its status says of a failure may be out of date.
    pub(crate) is_unchanged: bool,
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
            is_unchanged: false,
        }
    }

    /// The same after a write that makes another revision where it changed the version which the application is published
    /// as: that is no part of the spec, so no generation tells it.
    pub(crate) fn published(object: &DynamicObject, before: Option<&DynamicObject>) -> Self {
        let version =
            |object: &DynamicObject| object.annotations().get(annotations::PUBLISH_VERSION).cloned();
        let former = before.filter(|before| version(before) != version(object));
        let former = former.map_or("", |former| text(&former.data, REVISION));
        let is_unchanged =
            before.is_some_and(|before| before.resource_version() == object.resource_version());
        Self { former_revision: former.to_owned(), is_unchanged, ..Self::of(object) }
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
            is_unchanged: false,
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
