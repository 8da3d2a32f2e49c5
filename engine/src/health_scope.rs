//! Decides the health of a scope and of each of its workloads, from the live workloads and their children.

use serde_json::Value;
use vela_crds::health_scope::{HealthStatus, ScopeHealthCondition, WorkloadHealthCondition};
use vela_crds::{TypedReference, labels};

/// The objects read for one reference of a scope.
#[derive(Debug, Clone)]
pub struct Checked {
    /// The reference as it stands in the scope.
    pub reference: TypedReference,
    /// The live workload, or why it could not be read.
    pub workload: Result<Value, String>,
    /// The live objects of the workload's `status.resources`, in their order; the error of one that could not be read.
    pub children: Vec<Result<Value, String>>,
    /// The same for other revisions of the workload, or why they could not be listed.
    pub peers: Result<Vec<Checked>, String>,
}

/// The labels that all revisions of one workload share: application and component. There are none where one of the two
/// is missing.
#[must_use]
pub fn family(workload: &Value) -> Option<(String, String)> {
    let label = |key: &str| workload["metadata"]["labels"][key].as_str().filter(|value| !value.is_empty());
    Some((label(labels::APP_NAME)?.to_owned(), label(labels::APP_COMPONENT)?.to_owned()))
}

/// How many objects a ContainerizedWorkload or PodSpecWorkload runs as: its Deployment and its Service.
const CHILDREN: usize = 2;

/// The health of one workload with all its revisions.
#[must_use]
pub fn workload(checked: &Checked) -> WorkloadHealthCondition {
    let mut condition = one(checked);
    match &checked.peers {
        Ok(peers) if peers.is_empty() => condition,
        Ok(peers) => merged(checked, condition, peers),
        Err(error) => {
            condition.health_status = HealthStatus::Unhealthy;
            let says = condition.diagnosis.unwrap_or_default();
            condition.diagnosis = Some(format!("{says}error occurs in health check : {error}"));
            condition
        }
    }
}

/// Entries of a joint diagnosis that are told even when nothing runs there: the newest revision and the one before.
const ALWAYS_SHOWN: usize = 2;
/// The health of a revision without replicas.
const NOTHING_RUNS: &str = "Ready:0/0 ";

/// The newest revision speaks first; one that is not well makes all of them unwell.
fn merged(
    checked: &Checked,
    condition: WorkloadHealthCondition,
    peers: &[Checked],
) -> WorkloadHealthCondition {
    let mut all = vec![(checked.reference.name.clone(), condition.clone())];
    all.extend(peers.iter().map(|peer| (peer.reference.name.clone(), one(peer))));
    all.sort_by(|(a, _), (b, _)| revision(b).cmp(&revision(a)).then_with(|| a.cmp(b)));
    let unwell = all.iter().any(|(_, c)| c.health_status == HealthStatus::Unhealthy);
    let shown = all
        .iter()
        .enumerate()
        .filter(|(index, (_, c))| *index < ALWAYS_SHOWN || c.diagnosis.as_deref() != Some(NOTHING_RUNS));
    let diagnosis: Vec<String> = shown
        .map(|(_, (name, c))| format!("{name}:{}", c.diagnosis.as_deref().unwrap_or_default()))
        .collect();
    let statuses: Vec<String> = all
        .iter()
        .filter_map(|(name, c)| Some(format!("{name}:{}", c.workload_status.as_deref()?)))
        .collect();
    WorkloadHealthCondition {
        health_status: if unwell { HealthStatus::Unhealthy } else { condition.health_status },
        diagnosis: Some(diagnosis.join(" ")),
        workload_status: (!statuses.is_empty()).then(|| statuses.join(" ")),
        ..condition
    }
}

/// The number behind the last `v` of a name; 0 where there is none.
fn revision(name: &str) -> u64 {
    name.rsplit_once('v').and_then(|(_, number)| number.parse().ok()).unwrap_or(0)
}

/// The health of one revision of a workload, by the rule of its kind.
fn one(checked: &Checked) -> WorkloadHealthCondition {
    let mut condition = WorkloadHealthCondition {
        target_workload: Some(checked.reference.clone()),
        ..WorkloadHealthCondition::default()
    };
    let known = kind_of(&checked.reference);
    let object = match &checked.workload {
        Ok(object) => object,
        Err(error) => {
            let status = if known == Kind::Other { HealthStatus::Unknown } else { HealthStatus::Unhealthy };
            condition.health_status = status;
            condition.diagnosis = Some(format!("error occurs in health check : {error}"));
            return condition;
        }
    };
    condition.component_name =
        object["metadata"]["labels"][labels::APP_COMPONENT].as_str().map(str::to_owned);
    let (status, diagnosis) = match known {
        Kind::Replicas | Kind::Daemon => ready(object),
        Kind::Parts => parts(checked, object),
        Kind::Other => {
            condition.workload_status = object.get("status").map(Value::to_string);
            let TypedReference { api_version, kind, .. } = &checked.reference;
            (
                HealthStatus::Unknown,
                format!("APIVersion {api_version} Kind {kind} workload is unknown for HealthScope "),
            )
        }
    };
    if known != Kind::Other {
        let uid = object["metadata"]["uid"].as_str().map(str::to_owned);
        condition.target_workload = Some(TypedReference { uid, ..checked.reference.clone() });
    }
    condition.health_status = status;
    condition.diagnosis = Some(diagnosis);
    condition
}

/// The health of a scope: healthy unless one of its workloads is not known to be; an empty scope is healthy.
#[must_use]
pub fn scope(conditions: &[WorkloadHealthCondition]) -> ScopeHealthCondition {
    let count = |status: HealthStatus| {
        i64::try_from(conditions.iter().filter(|c| c.health_status == status).count()).unwrap_or(i64::MAX)
    };
    let (healthy, unhealthy, unknown) =
        (count(HealthStatus::Healthy), count(HealthStatus::Unhealthy), count(HealthStatus::Unknown));
    ScopeHealthCondition {
        health_status: if unhealthy + unknown == 0 { HealthStatus::Healthy } else { HealthStatus::Unhealthy },
        total: healthy + unhealthy + unknown,
        healthy_workloads: healthy,
        unhealthy_workloads: unhealthy,
        unknown_workloads: unknown,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Replicas,
    Daemon,
    Parts,
    Other,
}

fn kind_of(reference: &TypedReference) -> Kind {
    match (reference.api_version.as_str(), reference.kind.as_str()) {
        ("apps/v1", "Deployment" | "StatefulSet") => Kind::Replicas,
        ("apps/v1", "DaemonSet") => Kind::Daemon,
        ("core.oam.dev/v1alpha2", "ContainerizedWorkload")
        | ("standard.oam.dev/v1alpha1", "PodSpecWorkload") => Kind::Parts,
        _ => Kind::Other,
    }
}

/// Deployments, StatefulSets and DaemonSets by their own numbers.
fn ready(object: &Value) -> (HealthStatus, String) {
    let number = |part: &str, field: &str| object[part][field].as_i64().unwrap_or(0);
    let (ready, want, healthy) = if object["kind"] == "DaemonSet" {
        let unavailable = number("status", "numberUnavailable");
        (number("status", "numberReady"), number("status", "desiredNumberScheduled"), unavailable == 0)
    } else {
        let (ready, want) = (number("status", "readyReplicas"), number("spec", "replicas"));
        (ready, want, ready == want)
    };
    let status = if healthy { HealthStatus::Healthy } else { HealthStatus::Unhealthy };
    // The trailing space separates it from the next workload's diagnosis where several are joined.
    (status, format!("Ready:{ready}/{want} "))
}

fn parts(checked: &Checked, object: &Value) -> (HealthStatus, String) {
    if checked.children.len() != CHILDREN {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let message = format!("cannot get child resource references of workload {name}");
        return (HealthStatus::Unhealthy, message);
    }
    let mut healthy = true;
    let mut diagnosis = String::new();
    for child in &checked.children {
        match child {
            Ok(child) if child["apiVersion"] == "apps/v1" => {
                let (status, says) = ready(child);
                healthy &= status == HealthStatus::Healthy;
                diagnosis.push_str(&says);
            }
            // A Service is healthy when it exists.
            Ok(_) => {}
            Err(error) => {
                healthy = false;
                diagnosis.push_str(&format!("error occurs in health check : {error} "));
            }
        }
    }
    (if healthy { HealthStatus::Healthy } else { HealthStatus::Unhealthy }, diagnosis)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn reference(api_version: &str, kind: &str) -> TypedReference {
        TypedReference {
            api_version: api_version.into(),
            kind: kind.into(),
            name: "w".into(),
            ..TypedReference::default()
        }
    }

    fn deployment(ready: i64, want: i64) -> Value {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "w", "uid": "u", "labels": {labels::APP_COMPONENT: "c"}},
            "spec": {"replicas": want}, "status": {"readyReplicas": ready},
        })
    }

    fn check(
        reference_: TypedReference,
        workload_: Result<Value, String>,
        children: Vec<Result<Value, String>>,
    ) -> WorkloadHealthCondition {
        workload(&Checked { reference: reference_, workload: workload_, children, peers: Ok(Vec::new()) })
    }

    #[test]
    fn a_deployment_is_healthy_when_all_its_replicas_are_ready() {
        let healthy = check(reference("apps/v1", "Deployment"), Ok(deployment(3, 3)), vec![]);
        assert_eq!(
            (healthy.health_status, healthy.diagnosis.as_deref()),
            (HealthStatus::Healthy, Some("Ready:3/3 "))
        );
        assert_eq!(healthy.component_name.as_deref(), Some("c"));
        assert_eq!(healthy.target_workload.as_ref().unwrap().uid.as_deref(), Some("u"));
        let waiting = check(reference("apps/v1", "Deployment"), Ok(deployment(1, 3)), vec![]);
        assert_eq!(waiting.health_status, HealthStatus::Unhealthy);
        let scope_ = scope(&[healthy, waiting]);
        assert_eq!(scope_.health_status, HealthStatus::Unhealthy);
        assert_eq!((scope_.total, scope_.healthy_workloads, scope_.unhealthy_workloads), (2, 1, 1));
    }

    #[test]
    fn a_workload_of_parts_needs_both_of_them() {
        let kind = || reference("core.oam.dev/v1alpha2", "ContainerizedWorkload");
        let object = || Ok(json!({"metadata": {"name": "w"}}));
        let both = check(
            kind(),
            object(),
            vec![Ok(deployment(1, 1)), Ok(json!({"apiVersion": "v1", "kind": "Service"}))],
        );
        assert_eq!(both.health_status, HealthStatus::Healthy);
        let one = check(kind(), object(), vec![Ok(deployment(1, 1))]);
        assert_eq!(one.health_status, HealthStatus::Unhealthy);
        assert_eq!(one.diagnosis.as_deref(), Some("cannot get child resource references of workload w"));
        let broken = check(kind(), object(), vec![Ok(deployment(1, 1)), Err("gone".into())]);
        assert_eq!(broken.health_status, HealthStatus::Unhealthy);
    }

    fn revision_of(name: &str, ready: i64, want: i64) -> Checked {
        let reference = TypedReference { name: name.into(), ..reference("apps/v1", "Deployment") };
        Checked { reference, workload: Ok(deployment(ready, want)), children: vec![], peers: Ok(vec![]) }
    }

    #[test]
    fn revisions_of_a_workload_are_judged_together_newest_first() {
        let peers = vec![revision_of("w-v10", 2, 2), revision_of("w-v1", 0, 0), revision_of("w-v3", 1, 1)];
        let all = workload(&Checked { peers: Ok(peers), ..revision_of("w-v2", 0, 0) });
        assert_eq!(all.health_status, HealthStatus::Healthy);
        assert_eq!(all.diagnosis.as_deref(), Some("w-v10:Ready:2/2  w-v3:Ready:1/1 "));
        let peers = vec![revision_of("w-v2", 0, 3)];
        let all = workload(&Checked { peers: Ok(peers), ..revision_of("w-v1", 0, 0) });
        assert_eq!(all.health_status, HealthStatus::Unhealthy);
        assert_eq!(all.diagnosis.as_deref(), Some("w-v2:Ready:0/3  w-v1:Ready:0/0 "));
        let lost = workload(&Checked { peers: Err("no list".into()), ..revision_of("w-v1", 1, 1) });
        assert_eq!(lost.health_status, HealthStatus::Unhealthy);
        assert_eq!(lost.diagnosis.as_deref(), Some("Ready:1/1 error occurs in health check : no list"));
    }

    #[test]
    fn revisions_of_an_unknown_kind_show_each_status() {
        let of = |name: &str, n: i64| Checked {
            reference: TypedReference { name: name.into(), ..reference("v1", "Foo") },
            workload: Ok(json!({"status": {"a": n}})),
            children: vec![],
            peers: Ok(vec![]),
        };
        let all = workload(&Checked { peers: Ok(vec![of("f-v2", 2)]), ..of("f-v1", 1) });
        assert_eq!(all.health_status, HealthStatus::Unknown);
        assert_eq!(all.workload_status.as_deref(), Some("f-v2:{\"a\":2} f-v1:{\"a\":1}"));
    }

    #[test]
    fn a_daemon_set_is_healthy_when_none_of_its_pods_is_missing() {
        let object = |missing: i64| {
            json!({"kind": "DaemonSet", "metadata": {"labels": {labels::APP_NAME: "a", labels::APP_COMPONENT: "c"}},
                   "status": {"numberUnavailable": missing, "numberReady": 2, "desiredNumberScheduled": 3}})
        };
        let of = |missing: i64| check(reference("apps/v1", "DaemonSet"), Ok(object(missing)), vec![]);
        assert_eq!(of(0).health_status, HealthStatus::Healthy);
        assert_eq!(
            (of(1).health_status, of(1).diagnosis.as_deref()),
            (HealthStatus::Unhealthy, Some("Ready:2/3 "))
        );
        assert_eq!(family(&object(0)), Some(("a".into(), "c".into())));
        assert_eq!(family(&json!({})), None);
    }

    #[test]
    fn an_unknown_kind_is_unknown_and_an_empty_scope_is_healthy() {
        let other = check(reference("v1", "Foo"), Ok(json!({"status": {"a": 1}})), vec![]);
        assert_eq!(
            (other.health_status, other.workload_status.as_deref()),
            (HealthStatus::Unknown, Some("{\"a\":1}"))
        );
        assert_eq!(other.target_workload.clone().unwrap().uid, None);
        assert_eq!(
            check(reference("v1", "Foo"), Err("no".into()), vec![]).health_status,
            HealthStatus::Unknown
        );
        assert_eq!(scope(&[]).health_status, HealthStatus::Healthy);
        assert_eq!(scope(&[other]).unknown_workloads, 1);
    }
}
