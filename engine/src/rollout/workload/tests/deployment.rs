//! From one Deployment to another: which of them grows or shrinks first, and what is verified before.

use super::*;

#[test]
fn increase_first_shrinks_the_source_once_the_target_is_ready() {
    let mut case = Case {
        plan: batches(json!([1, 2, 2])),
        status: status(5, 0),
        source: Some(deployment("old", 5, 5, 5)),
        leftovers: Vec::new(),
        target: Some(deployment("new", 0, 0, 0)),
    };
    let roll = |case: &Case| case.step(true, |workload, view| workload.roll_batch(view));
    let step = roll(&case);
    assert!(matches!(step.outcome, Outcome::Wait(_)));
    assert_eq!(patches(&step), [("new".to_owned(), replicas(1))]);
    case.target = Some(deployment("new", 1, 1, 0));
    assert!(why(&roll(&case)).contains("batch 1 is not ready yet with 0 target pods ready"));
    case.target = Some(deployment("new", 1, 1, 1));
    let step = roll(&case);
    assert_eq!((&step.outcome, step.record.upgraded), (&Outcome::Done, Some(1)));
    assert_eq!(patches(&step), [("old".to_owned(), replicas(4))]);
    case.source = Some(deployment("old", 4, 5, 5));
    assert_eq!(patches(&roll(&case)), [], "asked again, nothing is written again");
    let check = |case: &Case| case.step(true, |workload, view| workload.check_batch(view));
    assert!(why(&check(&case)).contains("waits for the source to shrink"));
    case.source = Some(deployment("old", 4, 4, 4));
    assert_eq!(check(&case).outcome, Outcome::Done);
    assert_eq!(case.step(true, |workload, view| workload.finalize_batch(view)).outcome, Outcome::Done);
    case.source = Some(deployment("old", 3, 3, 3));
    let step = case.step(true, |workload, view| workload.finalize_batch(view));
    assert!(why(&step).contains("changed by another client"), "{step:?}");
}

#[test]
fn max_unavailable_begins_the_second_half_without_ready_pods() {
    let list = json!([{"replicas": 3, "maxUnavailable": "50%"}, {"replicas": 2}]);
    let case = Case {
        plan: plan(json!({ "rolloutBatches": list })),
        status: status(5, 0),
        source: Some(deployment("old", 5, 5, 5)),
        leftovers: Vec::new(),
        target: Some(deployment("new", 3, 3, 0)),
    };
    let step = case.step(true, |workload, view| workload.roll_batch(view));
    assert_eq!(patches(&step), [("old".to_owned(), replicas(2))]);
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
    let roll = |case: &Case| case.step(true, |workload, view| workload.roll_batch(view));
    assert_eq!(patches(&roll(&case)), [("old".to_owned(), replicas(3))]);
    case.source = Some(deployment("old", 3, 4, 4));
    assert!(why(&roll(&case)).contains("it has 4 pods, and 3 shall stay"));
    case.source = Some(deployment("old", 3, 3, 3));
    let step = roll(&case);
    assert_eq!((&step.outcome, patches(&step)), (&Outcome::Done, vec![("new".to_owned(), replicas(2))]));
    case.target = Some(deployment("new", 2, 2, 1));
    let step = case.step(true, |workload, view| workload.check_batch(view));
    assert!(why(&step).contains("1 target pods ready: 2 are needed"));
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
    let verify = |case: &Case| case.step(true, |workload, view| workload.verify(view));
    let step = verify(&case);
    assert_eq!(step.outcome, Outcome::Done, "{step:?}");
    assert_eq!((step.record.target_size, step.writes.len()), (Some(5), 0), "a paused target has no pods yet");
    case.status.last_applied_pod_template_identifier = step.record.target_generation;
    assert!(why(&verify(&case)).contains("no difference"));
    case.status = RolloutStatus::default();
    case.plan.target_size = Some(4);
    let step = verify(&case);
    assert!(
        why(&step).contains("target size less than source size") && step.notes[0].reason == "VerifyFailed"
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
fn a_rollout_that_is_turned_round_costs_no_pods() {
    let mut case = Case {
        plan: batches(json!([1, 2, 2])),
        status: RolloutStatus { rollout_original_size: Some(5), ..RolloutStatus::default() },
        source: Some(deployment("new", 3, 3, 3)),
        leftovers: Vec::new(),
        target: Some(deployment("old", 4, 4, 4)),
    };
    let step = case.step(true, |workload, view| workload.verify(view));
    assert_eq!(step.record.target_size, Some(5), "the size from before, not what both sides happen to have");
    case.status = status(5, 0);
    let step = case.step(true, |workload, view| workload.initialize(view));
    assert_eq!(patches(&step)[1].1["spec"]["replicas"], 4, "the old pods stay");
    let step = case.step(true, |workload, view| workload.roll_batch(view));
    assert_eq!(
        (&step.outcome, patches(&step)),
        (&Outcome::Done, vec![]),
        "one of five runs on the target already"
    );
    case.status.current_batch = 1;
    let step = case.step(true, |workload, view| workload.roll_batch(view));
    assert_eq!(patches(&step), [("new".to_owned(), replicas(2))], "the surplus goes with the batches");
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
    let step = case.step(true, |workload, view| workload.roll_batch(view));
    assert_eq!(patches(&step), [("new".to_owned(), replicas(5))]);
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
    let verify = |case: &Case| case.step(true, |workload, view| workload.verify(view));
    assert!(why(&verify(&case)).contains("back is still being reconciled: it has 2 of 0 pods"));
    target["status"] = json!({});
    case.target = Some(target.clone());
    assert_eq!(verify(&case).outcome, Outcome::Done);
    // Wanted pods that it does not make while it waits are no reason.
    target["spec"]["replicas"] = json!(3);
    case.target = Some(target);
    assert_eq!(verify(&case).outcome, Outcome::Done);
}
