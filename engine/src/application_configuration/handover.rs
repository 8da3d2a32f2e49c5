//! Hands components of one revision's configuration over to a rollout and back: the marks that ask for it, and what the
//! configuration answers.
//!
//! ```text
//! made ── first of its application ─────────────────▶ applied at full size
//!   │
//!   └─ another one runs the component ─ rolling-components ─▶ RollingTemplating ─▶ RollingTemplated: left to the rollout
//!                                                                                       │ succeeded
//!      source: app-revision "true" ─▶ InactiveAfterRollingCompleted      target: marks off ─▶ RollingComplete
//! ```
//!
//! Only rollouts change the marks of a configuration that is there. A rollout that fails leaves them, so only the next
//! rollout changes the number of pods.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value as Json, json};
use vela_crds::{annotations, labels};

use super::revision::component_of;
use super::rolling::{TEMPLATED, is_passive};
use super::{items, text};
use crate::observed::ObjectKey;
use crate::rollout::workload;

/// The marks that rollouts write.
const MARKS: [&str; 4] = [
    annotations::ROLLOUT_TEMPLATE,
    annotations::ROLLING_COMPONENTS,
    annotations::ROLLOUT_TARGET,
    annotations::APP_REVISION,
];

/// Workloads that keep pods and know no way to wait: told of, rather than doubled.
const UNHOLDABLE: [(&str, &str); 5] = [
    ("core.oam.dev", "ContainerizedWorkload"),
    ("standard.oam.dev", "PodSpecWorkload"),
    ("apps", "ReplicaSet"),
    ("", "ReplicationController"),
    ("", "Pod"),
];

fn annotation<'a>(configuration: &'a Json, name: &str) -> Option<&'a str> {
    configuration.get("metadata")?.get("annotations")?.get(name)?.as_str()
}

/// The components of a configuration, each with the revision that it is pinned to; "" for the latest.
pub fn components(configuration: &Json) -> BTreeMap<&str, &str> {
    let entries = items(configuration, &["spec", "components"]).iter();
    let named = entries.map(|entry| match text(entry, &["revisionName"]) {
        "" => (text(entry, &["componentName"]), ""),
        revision => (component_of(revision), revision),
    });
    named.filter(|(component, _)| !component.is_empty()).collect()
}

/// The components that are left to rollouts, or will be.
pub fn rolling(configuration: &Json) -> BTreeSet<&str> {
    let listed = annotation(configuration, annotations::ROLLING_COMPONENTS)
        .filter(|_| annotation(configuration, annotations::ROLLOUT_TEMPLATE).is_some());
    listed.unwrap_or_default().split(',').filter(|name| !name.is_empty()).collect()
}

/// Has the configuration made its workloads wait, and left them to rollouts?
pub fn is_templated(configuration: &Json) -> bool {
    text(configuration, &["status", "rollingStatus"]) == TEMPLATED
}

/// Does a workload of this component have to wait for a rollout, where another revision's runs already?
pub fn may_roll(workload: &Json) -> bool {
    let (api_version, kind) = (text(workload, &["apiVersion"]), text(workload, &["kind"]));
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    workload::can_wait(api_version, kind) || UNHOLDABLE.contains(&(group, kind))
}

/// The components of a configuration that is about to be made that wait for a rollout: those that another configuration of
/// the application has in another revision, or leaves to rollouts itself. `candidates` may roll by their kind.
pub fn waiting<'a>(
    configuration: &'a Json,
    candidates: &BTreeSet<&str>,
    others: &[Json],
) -> BTreeSet<&'a str> {
    // A mere record runs nothing.
    let others: Vec<&Json> = others.iter().filter(|other| !is_passive(other)).collect();
    let runs = |other: &Json, component: &str, revision: &str| {
        let same = components(other).get(component).is_some_and(|pinned| *pinned == revision);
        same && !revision.is_empty() && !rolling(other).contains(component)
    };
    let waits = |component: &str, revision: &str| {
        candidates.contains(component)
            && others.iter().any(|other| components(other).contains_key(component))
            && !others.iter().any(|other| runs(other, component, revision))
    };
    let all = components(configuration).into_iter();
    all.filter(|(component, revision)| waits(component, revision)).map(|(component, _)| component).collect()
}

/// The configuration as it is made: the components that wait are marked from the first moment on.
pub fn set_waiting(configuration: &mut Json, waiting: &BTreeSet<String>) {
    if !configuration["metadata"]["annotations"].is_object() {
        configuration["metadata"]["annotations"] = json!({});
    }
    let Some(all) = configuration.pointer_mut("/metadata/annotations").and_then(Json::as_object_mut) else {
        return;
    };
    all.remove(annotations::ROLLING_COMPONENTS);
    all.insert(annotations::ROLLOUT_TEMPLATE.to_owned(), json!("true"));
    if !waiting.is_empty() {
        let listed: Vec<&str> = waiting.iter().map(String::as_str).collect();
        all.insert(annotations::ROLLING_COMPONENTS.to_owned(), json!(listed.join(",")));
    }
}

/// The configuration without the marks: a writer of the rest of an existing one leaves them as they are.
pub fn without_marks(configuration: &mut Json) {
    let all = configuration.pointer_mut("/metadata/annotations").and_then(Json::as_object_mut);
    let Some(all) = all else { return };
    MARKS.iter().for_each(|mark| {
        all.remove(*mark);
    });
    if all.is_empty()
        && let Some(metadata) = configuration.get_mut("metadata").and_then(Json::as_object_mut)
    {
        metadata.remove("annotations");
    }
}

/// Asks a configuration to leave these components to a rollout; nothing where it is asked already. `target` identifies the
/// rollout where it goes to this configuration. A configuration that was a mere record leaves everything, or it would make
/// its pods again.
pub fn request(configuration: &Json, components: &[String], target: Option<&str>) -> Option<Json> {
    let mut listed: BTreeSet<&str> = rolling(configuration);
    listed.extend(components.iter().map(String::as_str));
    if is_passive(configuration) {
        listed.extend(self::components(configuration).into_keys());
    }
    let listed = listed.into_iter().collect::<Vec<_>>().join(",");
    marks(
        configuration,
        [
            (annotations::ROLLOUT_TEMPLATE, Some("true")),
            (annotations::ROLLING_COMPONENTS, Some(listed.as_str())),
            (annotations::ROLLOUT_TARGET, target),
            (annotations::APP_REVISION, None),
        ],
    )
}

/// A configuration that no rollout goes to any more has no template of a shared workload; nothing where it says so.
pub fn without_target(configuration: &Json) -> Option<Json> {
    marks(configuration, [(annotations::ROLLOUT_TARGET, None)])
}

/// The target's components that stay with rollouts after one of these components has succeeded.
pub fn remaining<'a>(target: &'a Json, rolled: &[String]) -> BTreeSet<&'a str> {
    let mut listed = rolling(target);
    listed.retain(|component| !rolled.iter().any(|rolled| rolled == component));
    listed
}

/// The target takes its components back, but for those that other rollouts are to bring; nothing where it has.
pub fn finish_target(target: &Json, rolled: &[String]) -> Option<Json> {
    let listed = remaining(target, rolled).into_iter().collect::<Vec<_>>().join(",");
    let listed = Some(listed.as_str()).filter(|listed| !listed.is_empty());
    marks(
        target,
        [
            (annotations::ROLLOUT_TEMPLATE, listed.map(|_| "true")),
            (annotations::ROLLING_COMPONENTS, listed),
            (annotations::ROLLOUT_TARGET, None),
        ],
    )
}

/// The source becomes a mere record, once nothing of the target is left to other rollouts; nothing where it is.
pub fn finish_source(source: &Json) -> Option<Json> {
    marks(
        source,
        [
            (annotations::APP_REVISION, Some("true")),
            (annotations::ROLLOUT_TEMPLATE, None),
            (annotations::ROLLING_COMPONENTS, None),
            (annotations::ROLLOUT_TARGET, None),
        ],
    )
}

/// The patch of the marks that differ, bound to the version that was read.
fn marks<const N: usize>(configuration: &Json, wanted: [(&str, Option<&str>); N]) -> Option<Json> {
    let differing: Map<String, Json> = wanted
        .into_iter()
        .filter(|(name, value)| annotation(configuration, name) != *value)
        .map(|(name, value)| (name.to_owned(), json!(value)))
        .collect();
    let metadata = configuration.get("metadata")?;
    (!differing.is_empty()).then(|| {
        json!({"metadata": {
            "uid": metadata.get("uid"),
            "resourceVersion": metadata.get("resourceVersion"),
            "annotations": differing,
        }})
    })
}

/// Does a rollout go to the configuration?
pub fn is_target(configuration: &Json) -> bool {
    annotation(configuration, annotations::ROLLOUT_TARGET).is_some()
}

/// Is the configuration the target of a rollout, and the live workload not of its revision? Then its template has to be
/// applied anew: revisions share the workloads whose pods change in place.
pub fn is_outdated(configuration: &Json, component: &str, live: &Json) -> bool {
    let revision = components(configuration).get(component).copied().unwrap_or_default();
    let carried = text(live, &["metadata", "labels", labels::APP_COMPONENT_REVISION]);
    is_target(configuration) && !revision.is_empty() && carried != revision
}

/// The workload that a configuration has for a component, as its status records it.
pub fn workload_of(configuration: &Json, component: &str) -> Option<ObjectKey> {
    let revision = components(configuration).get(component).copied()?;
    let entries = items(configuration, &["status", "workloads"]).iter();
    let of = |entry: &&Json| {
        let carried = text(entry, &["componentRevisionName"]);
        text(entry, &["componentName"]) == component && (revision.is_empty() || carried == revision)
    };
    let reference = entries.filter(of).filter_map(|entry| entry.get("workloadRef")).next_back()?;
    let part = |field| text(reference, &[field]).to_owned();
    let namespace = text(configuration, &["metadata", "namespace"]);
    Some(ObjectKey::local(part("apiVersion"), part("kind"), namespace, part("name")))
}

/// The rollout that holds the live workload, if one does.
pub fn rollout_of(live: &Json) -> Option<String> {
    let holds = |owner: &&Json| {
        text(owner, &["apiVersion"]).starts_with("core.oam.dev/")
            && matches!(text(owner, &["kind"]), "AppRollout" | "ApplicationDeployment")
    };
    let owner = items(live, &["metadata", "ownerReferences"]).iter().find(holds)?;
    Some(format!("{} {}", text(owner, &["kind"]), text(owner, &["name"])))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A configuration of these pinned revisions, with these marks.
    fn configuration(revisions: &[&str], marks: Json) -> Json {
        let entries: Vec<Json> = revisions.iter().map(|name| json!({"revisionName": name})).collect();
        json!({
            "metadata": {
                "name": "shop-v2", "namespace": "space", "uid": "u", "resourceVersion": "7", "annotations": marks,
                "ownerReferences": [
                    {"apiVersion": "core.oam.dev/v1beta1", "kind": "Application", "name": "shop", "controller": true},
                ],
            },
            "spec": {"components": entries},
        })
    }

    fn waits(revisions: &[&str], others: &[Json]) -> Vec<String> {
        let candidates = BTreeSet::from(["web", "db"]);
        let new = configuration(revisions, json!({}));
        waiting(&new, &candidates, others).into_iter().map(str::to_owned).collect()
    }

    const TEMPLATE: &str = annotations::ROLLOUT_TEMPLATE;
    const LISTED: &str = annotations::ROLLING_COMPONENTS;

    #[test]
    fn the_first_configuration_does_not_wait() {
        assert!(waits(&["web-v1", "db-v1"], &[]).is_empty());
        let other = configuration(&["cache-v1"], json!({}));
        assert!(waits(&["web-v1"], &[other]).is_empty(), "no configuration runs this component");
    }

    #[test]
    fn what_another_revision_runs_waits_unless_it_is_the_same() {
        let first = configuration(&["web-v1", "db-v1"], json!({TEMPLATE: "true"}));
        assert_eq!(waits(&["web-v2", "db-v1", "note-v2"], std::slice::from_ref(&first)), ["web"]);
        // The second one never ran: the third, of the same revision of web, would start beside the first.
        let second = configuration(&["web-v2", "db-v1"], json!({TEMPLATE: "true", LISTED: "web"}));
        assert_eq!(waits(&["web-v2", "db-v1"], &[first, second]), ["web"]);
        // A mere record runs nothing.
        let record = configuration(&["web-v1"], json!({annotations::APP_REVISION: "true"}));
        assert!(waits(&["web-v1"], &[record]).is_empty());
        let in_place = json!({"metadata": {}, "spec": {"components": [{"componentName": "web"}]}});
        assert_eq!(waits(&["web-v1"], &[in_place]), ["web"]);
    }

    #[test]
    fn marks_are_made_once_and_not_written_over() {
        let mut made = configuration(&["web-v2"], json!({"team": "a", LISTED: "web,db"}));
        set_waiting(&mut made, &BTreeSet::from(["web".to_owned()]));
        assert_eq!(made["metadata"]["annotations"], json!({"team": "a", TEMPLATE: "true", LISTED: "web"}));
        set_waiting(&mut made, &BTreeSet::new());
        assert_eq!(made["metadata"]["annotations"], json!({"team": "a", TEMPLATE: "true"}));
        without_marks(&mut made);
        assert_eq!(made["metadata"]["annotations"], json!({"team": "a"}));
    }

    #[test]
    fn a_rollout_asks_and_asks_once() {
        let source = configuration(&["web-v1", "db-v1"], json!({TEMPLATE: "true"}));
        let patch = request(&source, &["web".to_owned()], None).unwrap();
        assert_eq!(patch["metadata"]["annotations"], json!({LISTED: "web"}));
        assert_eq!(patch["metadata"]["resourceVersion"], "7");
        let marked = configuration(&["web-v1", "db-v1"], json!({TEMPLATE: "true", LISTED: "web"}));
        assert_eq!(request(&marked, &["web".to_owned()], None), None);
        let record = configuration(&["web-v1", "db-v1"], json!({annotations::APP_REVISION: "true"}));
        let patch = request(&record, &["web".to_owned()], Some("u1")).unwrap();
        assert_eq!(
            patch["metadata"]["annotations"],
            json!({TEMPLATE: "true", LISTED: "db,web", annotations::ROLLOUT_TARGET: "u1", annotations::APP_REVISION: null})
        );
    }

    #[test]
    fn the_last_component_ends_the_hand_over() {
        let marks = json!({TEMPLATE: "true", LISTED: "db,web", annotations::ROLLOUT_TARGET: "u1"});
        let target = configuration(&["web-v2", "db-v2"], marks);
        let web = ["web".to_owned()];
        assert_eq!(remaining(&target, &web), BTreeSet::from(["db"]));
        let patch = finish_target(&target, &web).unwrap();
        assert_eq!(
            patch["metadata"]["annotations"],
            json!({LISTED: "db", annotations::ROLLOUT_TARGET: null})
        );
        let both = ["web".to_owned(), "db".to_owned()];
        let patch = finish_target(&target, &both).unwrap();
        assert_eq!(
            patch["metadata"]["annotations"],
            json!({TEMPLATE: null, LISTED: null, annotations::ROLLOUT_TARGET: null})
        );
        let patch = finish_source(&target).unwrap();
        assert_eq!(patch["metadata"]["annotations"][annotations::APP_REVISION], "true");
        assert_eq!(finish_target(&configuration(&["web-v2"], json!({})), &web), None);
    }

    #[test]
    fn the_workload_is_the_one_of_the_pinned_revision() {
        let mut found = configuration(&["web-v2"], json!({annotations::ROLLOUT_TARGET: "u1"}));
        let entry = |revision: &str| {
            json!({"componentName": "web", "componentRevisionName": revision,
                "workloadRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": revision}})
        };
        found["status"] =
            json!({"rollingStatus": TEMPLATED, "workloads": [entry("web-v2"), entry("web-v3")]});
        assert!(is_templated(&found));
        let key = workload_of(&found, "web").unwrap();
        assert_eq!(
            (key.kind.as_str(), key.namespace.as_str(), key.name.as_str()),
            ("Deployment", "space", "web-v2")
        );
        assert_eq!(workload_of(&found, "db"), None);
        let live =
            |revision: &str| json!({"metadata": {"labels": {labels::APP_COMPONENT_REVISION: revision}}});
        assert!(is_outdated(&found, "web", &live("web-v1")));
        assert!(!is_outdated(&found, "web", &live("web-v2")));
    }

    #[test]
    fn only_rollouts_of_applications_hold() {
        let owned = |api_version: &str, kind: &str| json!({"metadata": {"ownerReferences": [{"apiVersion": api_version, "kind": kind, "name": "a"}]}});
        assert_eq!(rollout_of(&owned("core.oam.dev/v1beta1", "AppRollout")).as_deref(), Some("AppRollout a"));
        assert_eq!(rollout_of(&owned("standard.oam.dev/v1alpha1", "RolloutTrait")), None);
        assert_eq!(rollout_of(&json!({})), None);
    }
}
