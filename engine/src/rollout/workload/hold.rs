//! Names a rendered workload for a rollout and makes it wait for it: applied, it starts and stops nothing.

use serde_json::{Value as Json, json};

use super::object::{InPlaceKind, field, merge, number, size};

fn group(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// Do the pods of this kind change in one object? Then all revisions share it.
pub fn changes_in_place(api_version: &str, kind: &str) -> bool {
    InPlaceKind::of(group(api_version), kind).is_some() || kind == "DaemonSet"
}

/// Can a workload of this kind be made to wait for its rollout?
pub fn can_wait(api_version: &str, kind: &str) -> bool {
    let group = group(api_version);
    InPlaceKind::of(group, kind).is_some() || group == "apps" && matches!(kind, "Deployment" | "DaemonSet")
}

/// The name of a component's workload: what changes in place keeps one name, and of the others each revision has one.
pub fn name(api_version: &str, kind: &str, component: &str, revision: u64) -> String {
    match changes_in_place(api_version, kind) {
        true => component.to_owned(),
        false => format!("{component}-v{revision}"),
    }
}

/// The number of pods that a live workload has been given stays, whatever the template says.
pub fn keep_size(workload: &mut Json, live: &Json) {
    let replicas = &live["spec"]["replicas"];
    if replicas.is_i64() {
        merge(workload, json!({"spec": {"replicas": replicas}}));
    }
}

/// Is it of a kind that waits as a whole, and does not wait? Of other kinds the template waits, while pods run.
pub fn has_begun(live: &Json) -> bool {
    let text = |field: &str| live[field].as_str().unwrap_or_default();
    (group(text("apiVersion")), text("kind")) == ("apps", "Deployment") && live["spec"]["paused"] != true
}

/// Makes it wait. A live one keeps its number of pods, whatever the template says.
///
/// # Errors
/// Its kind cannot wait.
pub fn hold(workload: &mut Json, live: Option<&Json>) -> Result<(), String> {
    let text = |field: &str| workload[field].as_str().unwrap_or_default().to_owned();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    if let Some(live) = live {
        keep_size(workload, live);
    }
    match (group(&api_version), kind.as_str()) {
        ("apps", "Deployment") => merge(workload, json!({"spec": {"paused": true}})),
        // It has no partition; only the client that deletes its pods can hold it back.
        ("apps", "DaemonSet") => {
            workload["spec"]["updateStrategy"] = json!({"type": "OnDelete"});
        }
        (group, _) => match InPlaceKind::of(group, &kind) {
            Some(InPlaceKind::StatefulSet) => {
                let pods = size(workload) + number(workload, "/spec/ordinals/start");
                workload["spec"]["updateStrategy"] =
                    json!({"type": "RollingUpdate", "rollingUpdate": {"partition": pods}});
            }
            Some(in_place) => {
                if let Some(pointer) = in_place.paused() {
                    merge(workload, field(pointer, json!(true)));
                }
            }
            None => {
                return Err(format!(
                    "the workload kind `{kind}` is not supported: a rollout needs a Deployment, StatefulSet or DaemonSet, or \
                     one of OpenKruise's CloneSet, StatefulSet and DaemonSet"
                ));
            }
        },
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_in_place_keeps_its_name() {
        assert_eq!(name("apps/v1", "Deployment", "web", 3), "web-v3");
        for (api_version, kind) in [
            ("apps/v1", "StatefulSet"),
            ("apps/v1", "DaemonSet"),
            ("apps.kruise.io/v1alpha1", "CloneSet"),
            ("apps.kruise.io/v1beta1", "StatefulSet"),
        ] {
            assert_eq!(name(api_version, kind, "web", 3), "web");
        }
    }

    #[test]
    fn a_held_workload_starts_and_stops_nothing() {
        let held = |api_version: &str, kind: &str, live: Option<i64>| {
            let mut workload = json!({"apiVersion": api_version, "kind": kind, "spec": {"replicas": 2}});
            let live = live.map(|replicas| json!({"spec": {"replicas": replicas}}));
            hold(&mut workload, live.as_ref()).map(|()| workload["spec"].clone())
        };
        assert_eq!(held("apps/v1", "Deployment", None), Ok(json!({"replicas": 2, "paused": true})));
        assert_eq!(held("apps/v1", "Deployment", Some(0)), Ok(json!({"replicas": 0, "paused": true})));
        let partition = json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 5}});
        let set = held("apps/v1", "StatefulSet", Some(5));
        assert_eq!(set, Ok(json!({"replicas": 5, "updateStrategy": partition})));
        let clone = held("apps.kruise.io/v1alpha1", "CloneSet", Some(5));
        assert_eq!(clone, Ok(json!({"replicas": 5, "updateStrategy": {"paused": true}})));
        let daemon = held("apps/v1", "DaemonSet", None);
        assert_eq!(daemon.map(|spec| spec["updateStrategy"].clone()), Ok(json!({"type": "OnDelete"})));
        assert!(held("batch/v1", "Job", None).is_err_and(|why| why.contains("`Job` is not supported")));
    }
}
