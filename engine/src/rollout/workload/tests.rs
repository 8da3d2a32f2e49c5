//! Each way to roll out, step by step, on workloads as a cluster shows them.

use serde_json::{Value as Json, json};
use vela_crds::{RolloutPlan, RolloutStatus};

use super::object::{claim, foreign_controller, release};
use super::*;

pub(crate) fn owner() -> Owner {
    Owner {
        api_version: "core.oam.dev/v1beta1".to_owned(),
        kind: "AppRollout".to_owned(),
        namespace: "space".to_owned(),
        name: "rolling".to_owned(),
        uid: "uid-1".to_owned(),
        lender: None,
    }
}

fn object(api_version: &str, kind: &str, name: &str, spec: Json, status: Json) -> Json {
    json!({
        "apiVersion": api_version, "kind": kind,
        "metadata": {"name": name, "namespace": "space", "resourceVersion": "7"},
        "spec": spec, "status": status,
    })
}

fn deployment(name: &str, replicas: i64, pods: i64, ready: i64) -> Json {
    let spec = json!({"replicas": replicas, "paused": false, "template": {"image": name}});
    object(
        "apps/v1",
        "Deployment",
        name,
        spec,
        json!({"replicas": pods, "readyReplicas": ready, "updatedReplicas": pods}),
    )
}

fn plan(plan: Json) -> RolloutPlan {
    serde_json::from_value(plan).unwrap()
}

fn batches(list: Json) -> RolloutPlan {
    let list: Vec<Json> = list.as_array().unwrap().iter().map(|pods| json!({"replicas": pods})).collect();
    plan(json!({"rolloutBatches": list}))
}

fn status(total: i32, batch: i32) -> RolloutStatus {
    RolloutStatus {
        rollout_target_size: Some(total),
        rollout_original_size: Some(total),
        current_batch: batch,
        ..RolloutStatus::default()
    }
}

struct Case {
    plan: RolloutPlan,
    status: RolloutStatus,
    source: Option<Json>,
    leftovers: Vec<Json>,
    target: Option<Json>,
}

impl Case {
    fn turn(
        &self,
        has_source: bool,
        step: impl Fn(&dyn Workload, &View<'_>) -> WorkloadStep,
    ) -> WorkloadStep {
        let owner = owner();
        let view = View {
            plan: &self.plan,
            status: &self.status,
            source: self.source.as_ref(),
            leftovers: &self.leftovers,
            is_turned: !self.leftovers.is_empty(),
            target: self.target.as_ref(),
            pods: &[],
            owner: &owner,
        };
        let object = self.target.as_ref().unwrap();
        let text = |field: &str| object[field].as_str().unwrap().to_owned();
        step(strategy(&text("apiVersion"), &text("kind"), has_source).unwrap().as_ref(), &view)
    }
}

fn patches(turn: &WorkloadStep) -> Vec<(String, Json)> {
    let each = |write: &Write| match write {
        Write::Patch { object, patch } => {
            let mut patch = patch.clone();
            assert_eq!(patch["metadata"]["resourceVersion"], "7", "a write is bound to what was read");
            if patch["metadata"].get("ownerReferences").is_none() {
                patch.as_object_mut().unwrap().remove("metadata");
            }
            (object.name.clone(), patch)
        }
        Write::Delete { object, .. } => (object.name.clone(), Json::Null),
    };
    turn.writes.iter().map(each).collect()
}

fn why(turn: &WorkloadStep) -> &str {
    match &turn.outcome {
        Outcome::Done => "done",
        Outcome::Wait(why) | Outcome::Fail(why) => why,
    }
}

fn replicas(number: i64) -> Json {
    json!({"spec": {"replicas": number}})
}

#[test]
fn increase_first_shrinks_the_source_only_when_the_target_is_ready() {
    let mut case = Case {
        plan: batches(json!([1, 2, 2])),
        status: status(5, 0),
        source: Some(deployment("old", 5, 5, 5)),
        leftovers: Vec::new(),
        target: Some(deployment("new", 0, 0, 0)),
    };
    let roll = |case: &Case| case.turn(true, |workload, view| workload.roll_batch(view));
    let turn = roll(&case);
    assert!(matches!(turn.outcome, Outcome::Wait(_)));
    assert_eq!(patches(&turn), [("new".to_owned(), replicas(1))]);
    case.target = Some(deployment("new", 1, 1, 0));
    assert!(why(&roll(&case)).contains("batch 0 is not ready yet with 0 target pods ready"));
    case.target = Some(deployment("new", 1, 1, 1));
    let turn = roll(&case);
    assert_eq!((&turn.outcome, turn.record.upgraded), (&Outcome::Done, Some(1)));
    assert_eq!(patches(&turn), [("old".to_owned(), replicas(4))]);
    case.source = Some(deployment("old", 4, 5, 5));
    assert_eq!(patches(&roll(&case)), [], "asked again, nothing is written again");
    let check = |case: &Case| case.turn(true, |workload, view| workload.check_batch(view));
    assert!(why(&check(&case)).contains("waits for the source to shrink"));
    case.source = Some(deployment("old", 4, 4, 4));
    assert_eq!(check(&case).outcome, Outcome::Done);
    assert_eq!(case.turn(true, |workload, view| workload.finalize_batch(view)).outcome, Outcome::Done);
    case.source = Some(deployment("old", 3, 3, 3));
    let turn = case.turn(true, |workload, view| workload.finalize_batch(view));
    assert!(why(&turn).contains("changed by somebody else"), "{turn:?}");
}

#[test]
fn max_unavailable_lets_the_second_half_begin_without_ready_pods() {
    let list = json!([{"replicas": 3, "maxUnavailable": "50%"}, {"replicas": 2}]);
    let case = Case {
        plan: plan(json!({ "rolloutBatches": list })),
        status: status(5, 0),
        source: Some(deployment("old", 5, 5, 5)),
        leftovers: Vec::new(),
        target: Some(deployment("new", 3, 3, 0)),
    };
    let turn = case.turn(true, |workload, view| workload.roll_batch(view));
    assert_eq!(patches(&turn), [("old".to_owned(), replicas(2))]);
}

#[test]
fn decrease_first_grows_the_target_only_when_old_pods_are_gone() {
    let mut case = Case {
        plan: plan(
            json!({"rolloutStrategy": "DecreaseFirst", "rolloutBatches": [{"replicas": 2}, {"replicas": 3}]}),
        ),
        status: status(5, 0),
        source: Some(deployment("old", 5, 5, 5)),
        leftovers: Vec::new(),
        target: Some(deployment("new", 0, 0, 0)),
    };
    let roll = |case: &Case| case.turn(true, |workload, view| workload.roll_batch(view));
    assert_eq!(patches(&roll(&case)), [("old".to_owned(), replicas(3))]);
    case.source = Some(deployment("old", 3, 4, 4));
    assert!(why(&roll(&case)).contains("it has 4 pods, and 3 shall stay"));
    case.source = Some(deployment("old", 3, 3, 3));
    let turn = roll(&case);
    assert_eq!((&turn.outcome, patches(&turn)), (&Outcome::Done, vec![("new".to_owned(), replicas(2))]));
    case.target = Some(deployment("new", 2, 2, 1));
    let turn = case.turn(true, |workload, view| workload.check_batch(view));
    assert!(why(&turn).contains("1 target pods ready: 2 are needed"));
    case.plan.rollout_strategy = Some("Sideways".to_owned());
    assert!(matches!(roll(&case).outcome, Outcome::Fail(_)));
}

#[test]
fn a_rollout_is_verified_before_anything_is_claimed() {
    let mut case = Case {
        plan: batches(json!([1, 2, 2])),
        status: RolloutStatus::default(),
        source: Some(deployment("old", 5, 5, 5)),
        leftovers: Vec::new(),
        target: Some(object(
            "apps/v1",
            "Deployment",
            "new",
            json!({"paused": true, "replicas": 9}),
            json!({}),
        )),
    };
    let verify = |case: &Case| case.turn(true, |workload, view| workload.verify(view));
    let turn = verify(&case);
    assert_eq!(turn.outcome, Outcome::Done, "{turn:?}");
    assert_eq!((turn.record.target_size, turn.writes.len()), (Some(5), 0), "a paused target has no pods yet");
    case.status.last_applied_pod_template_identifier = turn.record.target_generation;
    assert!(why(&verify(&case)).contains("no difference"));
    case.status = RolloutStatus::default();
    case.plan.target_size = Some(4);
    let turn = verify(&case);
    assert!(
        why(&turn).contains("target size less than source size") && turn.notes[0].reason == "VerifyFailed"
    );
    case.plan = batches(json!([1, 2, null]));
    assert!(why(&verify(&case)).contains("batch size mismatch"));
    case.plan = batches(json!([1, 2, 2]));
    case.source = Some(deployment("old", 5, 4, 4));
    assert!(matches!(verify(&case).outcome, Outcome::Wait(_)));
    case.source = Some(deployment("old", 5, 5, 5));
    case.target.as_mut().unwrap()["metadata"]["ownerReferences"] =
        json!([{"controller": true, "uid": "x", "kind": "Thing", "name": "t"}]);
    assert!(why(&verify(&case)).contains("has a controller owner: Thing t"));
    case.target = Some(deployment("new", 0, 0, 0));
    case.source = None;
    assert!(matches!(verify(&case).outcome, Outcome::Wait(_)));
}

#[test]
fn claiming_keeps_other_owners_and_letting_go_restores_them() {
    let other = json!({"apiVersion": "v1", "kind": "Context", "name": "c", "uid": "c", "controller": false});
    let mut source = deployment("old", 5, 5, 5);
    source["metadata"]["ownerReferences"] = json!([other]);
    let case = Case {
        plan: batches(json!([2, 6])),
        status: status(8, 0),
        source: Some(source),
        leftovers: Vec::new(),
        target: Some(object(
            "apps/v1",
            "Deployment",
            "new",
            json!({"paused": true, "replicas": 1}),
            json!({}),
        )),
    };
    let turn = case.turn(true, |workload, view| workload.initialize(view));
    let written = patches(&turn);
    assert_eq!(written[0].1["metadata"]["ownerReferences"][0], other);
    assert_eq!(written[0].1["metadata"]["ownerReferences"][1]["kind"], "AppRollout");
    assert_eq!(written[0].1["spec"], json!({"paused": false}));
    assert_eq!(written[1].1["spec"], json!({"paused": false, "replicas": 3}), "the surplus starts at once");
    let mut claimed = case;
    for (side, (_, patch)) in [&mut claimed.source, &mut claimed.target].into_iter().zip(&written) {
        let side = side.as_mut().unwrap();
        side["metadata"]["ownerReferences"] = patch["metadata"]["ownerReferences"].clone();
    }
    assert_eq!(claimed.turn(true, |workload, view| workload.initialize(view)).writes, []);
    let released = claimed.turn(true, |workload, view| workload.finalize(view, true));
    assert_eq!(patches(&released)[0].1["metadata"]["ownerReferences"], json!([other]));
    claimed.source = None;
    let turn = claimed.turn(true, |workload, view| workload.finalize(view, false));
    assert_eq!((turn.outcome, turn.writes.len()), (Outcome::Done, 1), "what is gone needs no letting go");
}

#[test]
fn a_rollout_that_is_turned_round_costs_no_pods() {
    let mut case = Case {
        plan: batches(json!([1, 2, 2])),
        status: RolloutStatus { rollout_original_size: Some(5), ..RolloutStatus::default() },
        source: Some(deployment("new", 3, 3, 3)),
        leftovers: Vec::new(),
        target: Some(deployment("old", 4, 4, 4)),
    };
    let turn = case.turn(true, |workload, view| workload.verify(view));
    assert_eq!(turn.record.target_size, Some(5), "the size from before, not what both sides happen to have");
    case.status = status(5, 0);
    let turn = case.turn(true, |workload, view| workload.initialize(view));
    assert_eq!(patches(&turn)[1].1["spec"]["replicas"], 4, "the old pods stay");
    let turn = case.turn(true, |workload, view| workload.roll_batch(view));
    assert_eq!(
        (&turn.outcome, patches(&turn)),
        (&Outcome::Done, vec![]),
        "one of five runs on the target already"
    );
    case.status.current_batch = 1;
    let turn = case.turn(true, |workload, view| workload.roll_batch(view));
    assert_eq!(patches(&turn), [("new".to_owned(), replicas(2))], "the surplus goes with the batches");
}

#[test]
fn a_source_that_is_gone_does_not_hold_up_the_target() {
    let case = Case {
        plan: batches(json!([1, 4])),
        status: status(5, 1),
        source: None,
        leftovers: Vec::new(),
        target: Some(deployment("new", 1, 1, 1)),
    };
    let turn = case.turn(true, |workload, view| workload.roll_batch(view));
    assert_eq!(patches(&turn), [("new".to_owned(), replicas(5))]);
}

#[test]
fn a_deployment_is_scaled_in_batches() {
    let mut case = Case {
        plan: plan(json!({"targetSize": 5, "rolloutBatches": [{"replicas": 1}, {"replicas": 3}]})),
        status: RolloutStatus::default(),
        source: None,
        leftovers: Vec::new(),
        target: Some(deployment("web", 1, 1, 1)),
    };
    let turn = case.turn(false, |workload, view| workload.verify(view));
    assert_eq!(
        (turn.outcome, turn.record.original_size, turn.record.target_size),
        (Outcome::Done, Some(1), Some(5))
    );
    case.status = RolloutStatus { rollout_original_size: Some(1), ..status(5, 0) };
    let turn = case.turn(false, |workload, view| workload.roll_batch(view));
    assert_eq!((patches(&turn), turn.record.upgraded), (vec![("web".to_owned(), replicas(2))], Some(2)));
    case.target = Some(deployment("web", 2, 2, 1));
    assert!(why(&case.turn(false, |workload, view| workload.check_batch(view))).contains("not ready yet"));
    case.target = Some(deployment("web", 2, 2, 2));
    assert_eq!(case.turn(false, |workload, view| workload.check_batch(view)).outcome, Outcome::Done);
    case.status.upgraded_replicas = 2;
    assert_eq!(case.turn(false, |workload, view| workload.finalize_batch(view)).outcome, Outcome::Done);
    case.status.upgraded_replicas = 4;
    assert!(
        why(&case.turn(false, |workload, view| workload.finalize_batch(view))).contains("does not agree")
    );
    case.status.upgraded_replicas = 2;
    case.status.current_batch = 1;
    case.plan.batch_partition = Some(0);
    let turn = case.turn(false, |workload, view| workload.finalize_batch(view));
    assert!(
        why(&turn).starts_with("the current batch value in the status is greater than the batch partition")
    );
    case.plan.target_size = None;
    assert!(why(&case.turn(false, |workload, view| workload.verify(view))).contains("without a target"));
}

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
    let turn = case.turn(true, |workload, view| workload.verify(view));
    assert_eq!((turn.outcome, turn.record.target_generation.as_deref()), (Outcome::Done, Some("r2")));
    let turn = case.turn(true, |workload, view| workload.initialize(view));
    assert_eq!(patches(&turn)[0].1["spec"]["updateStrategy"], json!({"paused": false, "partition": 5}));
    case.target = Some(clone_set(4, false, 1));
    assert!(
        why(&case.turn(true, |workload, view| workload.verify(view))).contains("need to be paused first")
    );
    let turn = case.turn(true, |workload, view| workload.roll_batch(view));
    assert_eq!(patches(&turn)[0].1, json!({"spec": {"updateStrategy": {"partition": 2}}}));
    case.target = Some(clone_set(2, false, 2));
    assert!(why(&case.turn(true, |workload, view| workload.check_batch(view))).contains("2 of 3 new pods"));
    case.target = Some(clone_set(2, false, 4));
    assert_eq!(
        case.turn(true, |workload, view| workload.check_batch(view)).outcome,
        Outcome::Done,
        "more than enough"
    );
    case.status.target_generation = Some("r1".to_owned());
    assert!(
        why(&case.turn(true, |workload, view| workload.check_batch(view))).contains("does not roll out r1")
    );
    case.plan.target_size = Some(6);
    case.target = Some(clone_set(0, true, 0));
    assert!(why(&case.turn(true, |workload, view| workload.verify(view))).contains("attempting to scale"));
    case.target.as_mut().unwrap()["metadata"]["ownerReferences"] =
        json!([{"controller": true, "uid": "uid-1"}]);
    let turn = case.turn(true, |workload, view| workload.finalize(view, false));
    assert_eq!(
        patches(&turn)[0].1["spec"]["updateStrategy"],
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
    assert_eq!(case.turn(true, |workload, view| workload.verify(view)).outcome, Outcome::Done);
    let turn = case.turn(true, |workload, view| workload.roll_batch(view));
    let strategy = json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 12}});
    assert_eq!(patches(&turn)[0].1["spec"]["updateStrategy"], strategy);
    let turn = case.turn(true, |workload, view| workload.check_batch(view));
    assert!(
        why(&turn).contains("1 of 2 new pods are ready"),
        "the pod that is not ready may be a new one: {turn:?}"
    );
    case.target.as_mut().unwrap()["status"]["readyReplicas"] = json!(4);
    assert_eq!(case.turn(true, |workload, view| workload.check_batch(view)).outcome, Outcome::Done);
    case.target.as_mut().unwrap()["spec"]["updateStrategy"]["rollingUpdate"]["partition"] = json!(11);
    assert!(why(&case.turn(true, |workload, view| workload.verify(view))).contains("partition must be 14"));
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
    let turn = strategy.roll_batch(&view);
    let deleted: Vec<&Write> = turn.writes.iter().collect();
    assert!(
        matches!(deleted[..], [Write::Delete { object, uid }] if object.kind == "Pod" && uid == "b"),
        "{turn:?}"
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

#[test]
fn kinds_that_cannot_be_rolled_out_are_told() {
    let told =
        |api_version, kind, has_source| strategy(api_version, kind, has_source).err().unwrap_or_default();
    assert!(told("batch/v1", "Job", true).starts_with("the workload kind `Job` is not supported"));
    assert!(told("apps/v1", "DaemonSet", false).contains("cannot be scaled"));
    for kind in ["CloneSet", "StatefulSet", "DaemonSet"] {
        assert_eq!(told("apps.kruise.io/v1alpha1", kind, true), "");
    }
}

#[test]
fn a_workload_that_is_lent_keeps_its_controller_and_has_one_rollout() {
    let lender =
        json!({"kind": "ApplicationConfiguration", "name": "shop", "uid": "uid-0", "controller": true});
    let mut lent = deployment("web", 4, 4, 4);
    lent["metadata"]["ownerReferences"] = json!([lender]);
    let stranger = owner();
    assert!(
        foreign_controller(&lent, &stranger).is_some_and(|why| why.contains("ApplicationConfiguration shop"))
    );
    let ours = Owner { kind: "RolloutTrait".to_owned(), lender: Some("uid-0".to_owned()), ..owner() };
    assert_eq!(foreign_controller(&lent, &ours), None);
    let Some(Write::Patch { patch, .. }) = claim(&lent, &ours, json!({})).unwrap() else { panic!() };
    json_patch::merge(&mut lent, &patch);
    let owners = lent["metadata"]["ownerReferences"].as_array().unwrap().clone();
    assert_eq!((&owners[0], &owners[1]["controller"]), (&lender, &json!(false)));
    assert!(is_controlled_by(&lent, &ours));
    let other = Owner { name: "other".to_owned(), uid: "uid-2".to_owned(), ..ours.clone() };
    assert!(foreign_controller(&lent, &other).is_some_and(|why| why.contains("RolloutTrait rolling")));
    let Some(Write::Patch { patch, .. }) = release(&lent, &ours, json!({})) else { panic!() };
    assert_eq!(patch["metadata"]["ownerReferences"], json!([lender]));
}

#[test]
fn pods_that_go_are_not_taken_for_those_of_a_target_that_waits() {
    // It was the source a moment ago: two of its pods are about to go, and its status still calls them ready.
    let mut target = deployment("back", 0, 2, 2);
    target["spec"]["paused"] = json!(true);
    let mut case = Case {
        plan: batches(json!([2, 2])),
        status: RolloutStatus::default(),
        source: Some(deployment("old", 4, 4, 4)),
        leftovers: Vec::new(),
        target: Some(target.clone()),
    };
    let verify = |case: &Case| case.turn(true, |workload, view| workload.verify(view));
    assert!(why(&verify(&case)).contains("back is still being reconciled: it has 2 of 0 pods"));
    target["status"] = json!({});
    case.target = Some(target.clone());
    assert_eq!(verify(&case).outcome, Outcome::Done);
    // Wanted pods that it does not make while it waits are no reason.
    target["spec"]["replicas"] = json!(3);
    case.target = Some(target);
    assert_eq!(verify(&case).outcome, Outcome::Done);
}
