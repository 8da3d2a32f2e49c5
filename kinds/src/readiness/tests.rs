//! The table kind by kind: an object in, the verdict with its message out.

use serde_json::{Value, json};

use super::State::{Current, Failed, InProgress, Terminating};
use super::{Readiness, Rule, State, of};

/// The rest of a spec, the rest of a status, the verdict and its message.
type Case<'a> = (Value, Value, State, &'a str);

/// Judges objects of one kind that differ from a good one in a few fields of spec and status; null takes a field away.
fn check(api_version: &str, kind: &str, good: &Value, cases: &[Case<'_>]) {
    for (spec, status, state, message) in cases {
        let mut object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"generation": 2}});
        for part in ["spec", "status"] {
            object[part] = good[part].clone();
        }
        for (part, changes) in [("spec", spec), ("status", status)] {
            for (field, value) in changes.as_object().into_iter().flatten() {
                object[part][field] = value.clone();
            }
        }
        let expected = Readiness { state: *state, message: (*message).to_owned() };
        assert_eq!(of(&object, &[]), expected, "{object}");
    }
}

fn conditions(all: &[(&str, &str, &str, &str)]) -> Value {
    let all = all.iter().map(|(type_, status, reason, message)| {
        json!({"type": type_, "status": status, "reason": reason, "message": message})
    });
    Value::Array(all.collect())
}

fn none() -> Value {
    json!({})
}

#[test]
fn a_deployment_is_ready_when_the_change_is_through() {
    let progress = |status: &str, reason: &str, message: &str| {
        let progressing = ("Progressing", status, reason, message);
        json!({"conditions": conditions(&[("Available", "True", "", ""), progressing])})
    };
    let good = json!({
        "spec": {"replicas": 3, "progressDeadlineSeconds": 600},
        "status": {
            "observedGeneration": 2, "replicas": 3, "updatedReplicas": 3, "readyReplicas": 3, "availableReplicas": 3,
            "conditions": progress("True", "NewReplicaSetAvailable", "")["conditions"],
        },
    });
    let late = "ReplicaSet \"web-1\" has timed out progressing.";
    let unavailable = json!({"conditions": conditions(&[
        ("Progressing", "True", "NewReplicaSetAvailable", ""),
        ("Available", "False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability."),
    ])});
    check(
        "apps/v1",
        "Deployment",
        &good,
        &[
            (none(), none(), Current, "Ready:3/3"),
            (
                none(),
                json!({"observedGeneration": 1}),
                InProgress,
                "its controller has not seen the change yet",
            ),
            (none(), json!({"observedGeneration": null}), InProgress, "its controller has not reported yet"),
            (none(), json!({"replicas": 2}), InProgress, "Replicas:2/3"),
            (none(), json!({"updatedReplicas": 1}), InProgress, "Updated:1/3"),
            // An old pod still serves.
            (none(), json!({"replicas": 4}), InProgress, "Pending termination:1"),
            // Ready, but not for as long as `minReadySeconds` asks for.
            (none(), json!({"availableReplicas": 2}), InProgress, "Available:2/3"),
            (none(), json!({"readyReplicas": 2}), InProgress, "Ready:2/3"),
            (
                none(),
                progress("False", "ProgressDeadlineExceeded", late),
                Failed,
                "progress deadline exceeded: ReplicaSet \"web-1\" has timed out progressing.",
            ),
            (none(), progress("True", "ReplicaSetUpdated", "it goes on"), InProgress, "it goes on"),
            (
                json!({"paused": true}),
                progress("Unknown", "DeploymentPaused", ""),
                InProgress,
                "it is paused",
            ),
            // Without a deadline the controller writes no such condition.
            (json!({"progressDeadlineSeconds": null}), progress("Unknown", "", ""), Current, "Ready:3/3"),
            (json!({"progressDeadlineSeconds": i32::MAX}), progress("Unknown", "", ""), Current, "Ready:3/3"),
            (none(), unavailable, InProgress, "Deployment does not have minimum availability."),
            (none(), json!({"conditions": null}), InProgress, "its ReplicaSet is not available yet"),
        ],
    );
}

#[test]
fn a_stateful_set_is_ready_when_no_pod_is_left_to_change() {
    let good = json!({
        "spec": {"replicas": 3, "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}},
        "status": {
            "observedGeneration": 2, "replicas": 3, "readyReplicas": 3, "updatedReplicas": 3, "currentReplicas": 3,
            "currentRevision": "a", "updateRevision": "a",
        },
    });
    let held = json!({"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}});
    let on_delete = json!({"updateStrategy": {"type": "OnDelete"}});
    let plain = json!({"updateStrategy": {"type": "RollingUpdate"}});
    check(
        "apps/v1",
        "StatefulSet",
        &good,
        &[
            (none(), none(), Current, "Ready:3/3"),
            (
                none(),
                json!({"observedGeneration": 1}),
                InProgress,
                "its controller has not seen the change yet",
            ),
            (
                json!({"replicas": 0}),
                json!({"observedGeneration": null, "replicas": 0}),
                InProgress,
                "its controller has not reported yet",
            ),
            (none(), json!({"replicas": 1}), InProgress, "Replicas:1/3"),
            (none(), json!({"readyReplicas": 2}), InProgress, "Ready:2/3"),
            (none(), json!({"replicas": 4}), InProgress, "Pending termination:1"),
            // All are ready, and two of them are old.
            (none(), json!({"updatedReplicas": 1}), InProgress, "Updated:1/3"),
            (held.clone(), json!({"updatedReplicas": 1, "updateRevision": "b"}), Current, "Ready:3/3"),
            (held, json!({"updatedReplicas": 0}), InProgress, "Updated:0/1"),
            (plain.clone(), json!({"currentReplicas": 2}), InProgress, "Current:2/3"),
            (plain, json!({"updateRevision": "b"}), InProgress, "its pods change to the newest revision"),
            (on_delete.clone(), json!({"updatedReplicas": 0, "updateRevision": "b"}), Current, "Ready:3/3"),
            (on_delete, json!({"readyReplicas": 0}), InProgress, "Ready:0/3"),
        ],
    );
}

#[test]
fn a_daemon_set_is_ready_when_every_node_has_a_new_pod() {
    let good = json!({"spec": {}, "status": {
        "observedGeneration": 2, "desiredNumberScheduled": 2, "currentNumberScheduled": 2,
        "updatedNumberScheduled": 2, "numberAvailable": 2, "numberReady": 2,
    }});
    check(
        "apps/v1",
        "DaemonSet",
        &good,
        &[
            (none(), none(), Current, "Ready:2/2"),
            (
                none(),
                json!({"observedGeneration": 1}),
                InProgress,
                "its controller has not seen the change yet",
            ),
            (none(), json!({"observedGeneration": null}), InProgress, "its controller has not reported yet"),
            (
                none(),
                json!({"desiredNumberScheduled": null}),
                InProgress,
                "its controller has not reported yet",
            ),
            (none(), json!({"currentNumberScheduled": 1}), InProgress, "Current:1/2"),
            (none(), json!({"updatedNumberScheduled": 1}), InProgress, "Updated:1/2"),
            (none(), json!({"numberAvailable": null}), InProgress, "Available:0/2"),
            (none(), json!({"numberReady": 1}), InProgress, "Ready:1/2"),
            (none(), json!({"desiredNumberScheduled": 0}), Current, "Ready:2/0"),
        ],
    );
}

#[test]
fn a_replica_set_is_ready_when_its_pods_are() {
    let good = json!({"spec": {"replicas": 2}, "status": {
        "observedGeneration": 2, "replicas": 2, "fullyLabeledReplicas": 2, "availableReplicas": 2, "readyReplicas": 2,
    }});
    let failure = conditions(&[("ReplicaFailure", "True", "FailedCreate", "exceeded quota: pods")]);
    let cases = [
        (none(), none(), Current, "Ready:2/2"),
        (none(), json!({"fullyLabeledReplicas": 1}), InProgress, "Labelled:1/2"),
        (none(), json!({"availableReplicas": 1}), InProgress, "Available:1/2"),
        (none(), json!({"readyReplicas": 1}), InProgress, "Ready:1/2"),
        (none(), json!({"replicas": 3}), InProgress, "Pending termination:1"),
        (
            none(),
            json!({"conditions": failure}),
            InProgress,
            "pods cannot be made or deleted: exceeded quota: pods",
        ),
        (none(), json!({"observedGeneration": null}), InProgress, "its controller has not reported yet"),
    ];
    check("apps/v1", "ReplicaSet", &good, &cases);
    check("v1", "ReplicationController", &good, &cases);
}

#[test]
fn a_job_is_ready_when_it_has_completed() {
    let good =
        json!({"spec": {"completions": 2}, "status": {"succeeded": 1, "startTime": "2026-01-01T00:00:00Z"}});
    let with =
        |type_: &str, message: &str| json!({"conditions": conditions(&[(type_, "True", "", message)])});
    check(
        "batch/v1",
        "Job",
        &good,
        &[
            (none(), none(), InProgress, "Succeeded:1/2"),
            (none(), json!({"startTime": null, "succeeded": null}), InProgress, "Succeeded:0/2"),
            (none(), with("Complete", ""), Current, "Succeeded:1/2"),
            (json!({"completions": null, "parallelism": 3}), with("Complete", ""), Current, "Succeeded:1/3"),
            (json!({"completions": null}), none(), InProgress, "Succeeded:1/1"),
            (none(), with("Failed", ""), Failed, "the job failed"),
            (none(), with("Failed", "too many tries"), Failed, "the job failed: too many tries"),
            (none(), with("Suspended", ""), InProgress, "it is suspended"),
        ],
    );
}

#[test]
fn a_pod_is_ready_when_it_serves_or_has_done_its_work() {
    let good = json!({"spec": {}, "status": {"phase": "Running"}});
    let ready = |status: &str, message: &str| conditions(&[("Ready", status, "", message)]);
    let looping = json!([{"name": "main", "state": {"waiting": {"reason": "CrashLoopBackOff"}}}, {"name": "side", "state": {}}]);
    let unscheduled = conditions(&[("PodScheduled", "False", "Unschedulable", "0/3 nodes are available")]);
    check(
        "v1",
        "Pod",
        &good,
        &[
            (none(), json!({"conditions": ready("True", "")}), Current, "Running"),
            (
                none(),
                json!({"conditions": ready("False", "containers with unready status: [main]")}),
                InProgress,
                "Running: containers with unready status: [main]",
            ),
            (none(), json!({"containerStatuses": looping}), Failed, "containers in CrashLoopBackOff: main"),
            (none(), json!({"phase": "Succeeded"}), Current, "Succeeded"),
            (none(), json!({"phase": "Failed"}), Failed, "Failed"),
            (none(), json!({"phase": "Failed", "reason": "Evicted"}), Failed, "Failed: Evicted"),
            (none(), json!({"phase": "Pending"}), InProgress, "Pending"),
            (
                none(),
                json!({"phase": "Pending", "conditions": unscheduled}),
                InProgress,
                "Pending: 0/3 nodes are available",
            ),
            (none(), json!({"phase": null}), InProgress, "Pending"),
        ],
    );
}

#[test]
fn what_runs_no_pods_has_rules_too() {
    let good = json!({"spec": {}, "status": {}});
    check(
        "v1",
        "PersistentVolumeClaim",
        &good,
        &[
            (none(), none(), InProgress, "Pending"),
            (none(), json!({"phase": "Lost"}), InProgress, "Lost"),
            (none(), json!({"phase": "Bound"}), Current, "Bound"),
        ],
    );
    let outside = json!({"type": "LoadBalancer", "clusterIP": "10.0.0.1"});
    let address = json!({"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}});
    check(
        "v1",
        "Service",
        &good,
        &[
            (json!({"type": "ClusterIP"}), none(), Current, ""),
            (json!({"type": "LoadBalancer"}), none(), InProgress, "it has no cluster IP yet"),
            (outside.clone(), none(), Current, "no load balancer has given it an address yet"),
            (outside, address, Current, ""),
        ],
    );
    let of = |all: &[(&str, &str, &str, &str)]| json!({"conditions": conditions(all)});
    check(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        &good,
        &[
            (none(), none(), InProgress, "it is being established"),
            (none(), of(&[("Established", "True", "", "")]), Current, "Established"),
            (
                none(),
                of(&[("Established", "False", "Installing", "")]),
                InProgress,
                "it is being established",
            ),
            (none(), of(&[("Established", "False", "NotAccepted", "no")]), Failed, "no"),
            (none(), of(&[("NamesAccepted", "False", "ListKindConflict", "taken")]), Failed, "taken"),
        ],
    );
    check(
        "cert-manager.io/v1",
        "Certificate",
        &good,
        &[
            (none(), none(), InProgress, "its controller has not reported yet"),
            (none(), of(&[("Ready", "False", "DoesNotExist", "it is issued")]), InProgress, "it is issued"),
            (none(), of(&[("Ready", "True", "Ready", "up to date")]), Current, "up to date"),
        ],
    );
    check(
        "helm.toolkit.fluxcd.io/v2",
        "HelmRelease",
        &good,
        &[
            (none(), none(), InProgress, "its controller has not reported yet"),
            (none(), of(&[("Ready", "True", "InstallSucceeded", "installed")]), Current, "installed"),
        ],
    );
}

#[test]
fn every_other_kind_is_judged_by_what_it_reports() {
    let good = json!({"spec": {}, "status": {}});
    let of = |all: &[(&str, &str, &str, &str)]| json!({"conditions": conditions(all)});
    let cases = [
        (none(), none(), Current, ""),
        (none(), json!({"observedGeneration": 1}), InProgress, "its controller has not seen the change yet"),
        (none(), json!({"observedGeneration": 2}), Current, ""),
        (none(), of(&[("Ready", "True", "", "")]), Current, ""),
        (none(), of(&[("Ready", "False", "", "broken")]), InProgress, "broken"),
        (
            none(),
            of(&[("Ready", "Unknown", "Checking", "")]),
            InProgress,
            "condition Ready is Unknown: Checking",
        ),
        (none(), of(&[("Reconciling", "True", "", "at it"), ("Ready", "True", "", "")]), InProgress, "at it"),
        (none(), of(&[("Reconciling", "False", "", "at it")]), Current, ""),
        (
            none(),
            of(&[("Stalled", "True", "NoSource", ""), ("Ready", "True", "", "")]),
            Failed,
            "condition Stalled is True: NoSource",
        ),
        (none(), of(&[("Available", "False", "", "")]), Current, ""),
    ];
    check("example.com/v1", "Thing", &good, &cases);
    // These are ready whatever their status tells.
    let reported = json!({"conditions": conditions(&[("DisruptionAllowed", "False", "", "")])});
    for (api_version, kind) in
        [("v1", "ConfigMap"), ("v1", "Secret"), ("batch/v1", "CronJob"), ("policy/v1", "PodDisruptionBudget")]
    {
        check(
            api_version,
            kind,
            &good,
            &[(none(), none(), Current, ""), (none(), reported.clone(), Current, "")],
        );
    }
    // Conditions that every kind may have come before the rule of a kind.
    let stalled = [(none(), of(&[("Stalled", "True", "", "no quota")]), Failed, "no quota")];
    check("v1", "PersistentVolumeClaim", &good, &stalled);
}

#[test]
fn what_is_being_deleted_is_not_relied_on() {
    let object = json!({"kind": "ConfigMap", "metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}});
    let verdict = of(&object, &[]);
    assert_eq!((verdict.state, verdict.message.as_str()), (Terminating, "is being deleted"));
    assert!(!verdict.is_ready());
}

#[test]
fn rules_of_other_kinds_may_be_added_and_each_kind_has_one_rule() {
    let more = [Rule::new("example.com", "Thing", |object| Readiness::failed(object["why"].to_string()))];
    let object = json!({"apiVersion": "example.com/v2", "kind": "Thing", "why": 1});
    assert_eq!(of(&object, &more), Readiness::failed("1"));
    assert_eq!(of(&object, &[]), Readiness::current(""));
    let mut kinds: Vec<_> = super::TABLE.iter().map(|rule| (rule.group, rule.kind)).collect();
    kinds.dedup();
    assert_eq!(kinds.len(), super::TABLE.len());
    assert!(kinds.is_sorted(), "the table stands in the order of groups and kinds");
}
