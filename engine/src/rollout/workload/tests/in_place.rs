//! Workloads that change their own pods: those with a partition, and those whose pods are deleted.

use super::*;

fn clone_set(partition: i64, paused: bool, updated_ready: i64) -> Json {
    let spec = json!({"replicas": 5, "updateStrategy": {"paused": paused, "partition": partition}});
    let status = json!({"replicas": 5, "updateRevision": "r2", "updatedReadyReplicas": updated_ready});
    object("apps.kruise.io/v1alpha1", "CloneSet", "web", spec, status)
}

#[test]
fn a_clone_set_changes_as_far_as_its_partition_lets_it() {
    let mut case = Case {
        plan: batches(json!(["10%", 2, 2])),
        status: status(5, 1),
        source: None,
        leftovers: Vec::new(),
        target: Some(clone_set(0, true, 0)),
    };
    let step = case.step(true, |workload, view| workload.verify(view));
    assert_eq!((step.outcome, step.record.target_generation.as_deref()), (Outcome::Done, Some("r2")));
    let step = case.step(true, |workload, view| workload.initialize(view));
    assert_eq!(patches(&step)[0].1["spec"]["updateStrategy"], json!({"paused": false, "partition": 5}));
    case.target = Some(clone_set(4, false, 1));
    assert!(
        why(&case.step(true, |workload, view| workload.verify(view))).contains("need to be paused first")
    );
    let step = case.step(true, |workload, view| workload.roll_batch(view));
    assert_eq!(patches(&step)[0].1, json!({"spec": {"updateStrategy": {"partition": 2}}}));
    case.target = Some(clone_set(2, false, 2));
    assert!(why(&case.step(true, |workload, view| workload.check_batch(view))).contains("2 of 3 new pods"));
    case.target = Some(clone_set(2, false, 4));
    assert_eq!(
        case.step(true, |workload, view| workload.check_batch(view)).outcome,
        Outcome::Done,
        "more than enough"
    );
    case.status.target_generation = Some("r1".to_owned());
    assert!(
        why(&case.step(true, |workload, view| workload.check_batch(view))).contains("does not roll out r1")
    );
    case.plan.target_size = Some(6);
    case.target = Some(clone_set(0, true, 0));
    assert!(why(&case.step(true, |workload, view| workload.verify(view))).contains("attempting to scale"));
    case.target.as_mut().unwrap()["metadata"]["ownerReferences"] =
        json!([{"controller": true, "uid": "uid-1"}]);
    let step = case.step(true, |workload, view| workload.finalize(view, false));
    assert_eq!(
        patches(&step)[0].1["spec"]["updateStrategy"],
        json!({"paused": true}),
        "a failure holds it back"
    );
}

#[test]
fn numbered_pods_change_from_the_last_one_on() {
    let spec = json!({
        "replicas": 4, "ordinals": {"start": 10},
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 14}},
    });
    let states = json!({"replicas": 4, "readyReplicas": 3, "updatedReplicas": 2, "updateRevision": "r2"});
    let mut case = Case {
        plan: batches(json!([2, 2])),
        status: status(4, 0),
        source: None,
        leftovers: Vec::new(),
        target: Some(object("apps/v1", "StatefulSet", "db", spec, states)),
    };
    assert_eq!(case.step(true, |workload, view| workload.verify(view)).outcome, Outcome::Done);
    let step = case.step(true, |workload, view| workload.roll_batch(view));
    let strategy = json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 12}});
    assert_eq!(patches(&step)[0].1["spec"]["updateStrategy"], strategy);
    let step = case.step(true, |workload, view| workload.check_batch(view));
    assert!(
        why(&step).contains("1 of 2 new pods are ready"),
        "the pod that is not ready may be a new one: {step:?}"
    );
    case.target.as_mut().unwrap()["status"]["readyReplicas"] = json!(4);
    assert_eq!(case.step(true, |workload, view| workload.check_batch(view)).outcome, Outcome::Done);
    case.target.as_mut().unwrap()["spec"]["updateStrategy"]["rollingUpdate"]["partition"] = json!(11);
    assert!(why(&case.step(true, |workload, view| workload.verify(view))).contains("partition must be 14"));
}

#[test]
fn a_daemon_set_of_open_kruise_keeps_its_surge() {
    let rolling = json!({"paused": true, "maxSurge": 1, "maxUnavailable": 0});
    let spec = json!({"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": rolling}});
    let states = json!({
        "desiredNumberScheduled": 3, "currentNumberScheduled": 3, "numberReady": 3, "updatedNumberScheduled": 1,
        "daemonSetHash": "h2",
    });
    let case = Case {
        plan: batches(json!([1, 2])),
        status: status(3, 0),
        source: None,
        leftovers: Vec::new(),
        target: Some(object("apps.kruise.io/v1alpha1", "DaemonSet", "agent", spec, states)),
    };
    assert_eq!(case.step(true, |workload, view| workload.verify(view)).outcome, Outcome::Done);
    // A merge patch leaves what it does not name: how many pods come beside the old ones is the author's affair.
    let step = case.step(true, |workload, view| workload.initialize(view));
    let strategy = json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 3, "paused": false}});
    assert_eq!(patches(&step)[0].1["spec"]["updateStrategy"], strategy);
    let step = case.step(true, |workload, view| workload.roll_batch(view));
    let strategy = json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 2}});
    assert_eq!(patches(&step)[0].1["spec"]["updateStrategy"], strategy);
    assert_eq!(case.step(true, |workload, view| workload.check_batch(view)).outcome, Outcome::Done);
}

#[test]
fn pods_of_a_daemon_set_are_deleted_batch_by_batch() {
    let mut set = object(
        "apps/v1",
        "DaemonSet",
        "agent",
        json!({"updateStrategy": {"type": "OnDelete"}}),
        json!({"desiredNumberScheduled": 3, "currentNumberScheduled": 3}),
    );
    set["metadata"]["annotations"] = json!({"deprecated.daemonset.template.generation": "2"});
    let pod = |name: &str, generation: &str, ready: &str| {
        json!({
            "metadata": {"name": name, "namespace": "space", "uid": name, "labels": {"pod-template-generation": generation}},
            "status": {"conditions": [{"type": "Ready", "status": ready}]},
        })
    };
    let (plan, status, owner) = (batches(json!([1, 2])), status(3, 0), owner());
    let pods = [pod("a", "1", "True"), pod("b", "1", "False"), pod("c", "1", "True")];
    let strategy = strategy("apps/v1", "DaemonSet", true).unwrap();
    let view = View {
        plan: &plan,
        status: &status,
        source: None,
        leftovers: &[],
        is_turned: false,
        target: Some(&set),
        pods: &pods,
        owner: &owner,
    };
    let verified = strategy.verify(&view);
    assert_eq!(verified.outcome, Outcome::Done, "{verified:?}");
    let step = strategy.roll_batch(&view);
    let deleted: Vec<&Write> = step.writes.iter().collect();
    assert!(
        matches!(deleted[..], [Write::Delete { object, uid }] if object.kind == "Pod" && uid == "b"),
        "{step:?}"
    );
    let mut recorded = status.clone();
    verified.record.apply(&mut recorded);
    let pods = [pod("a", "1", "True"), pod("d", "2", "False"), pod("c", "1", "True")];
    let view = View { status: &recorded, pods: &pods, ..view };
    assert_eq!(strategy.roll_batch(&view).writes, []);
    assert!(why(&strategy.check_batch(&view)).contains("0 of 1 new pods are ready"));
    let pods = [pod("a", "1", "True"), pod("d", "2", "True"), pod("c", "1", "True")];
    assert_eq!(strategy.check_batch(&View { pods: &pods, ..view }).outcome, Outcome::Done);
}
