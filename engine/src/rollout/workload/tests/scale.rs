//! One workload to another size.

use super::*;

#[test]
fn a_deployment_is_scaled_in_batches() {
    let mut case = Case {
        plan: plan(json!({"targetSize": 5, "rolloutBatches": [{"replicas": 1}, {"replicas": 3}]})),
        status: RolloutStatus::default(),
        source: None,
        leftovers: Vec::new(),
        target: Some(deployment("web", 1, 1, 1)),
    };
    let step = case.step(false, |workload, view| workload.verify(view));
    assert_eq!(
        (step.outcome, step.record.original_size, step.record.target_size),
        (Outcome::Done, Some(1), Some(5))
    );
    case.status = RolloutStatus { rollout_original_size: Some(1), ..status(5, 0) };
    let step = case.step(false, |workload, view| workload.roll_batch(view));
    assert_eq!((patches(&step), step.record.upgraded), (vec![("web".to_owned(), replicas(2))], Some(2)));
    case.target = Some(deployment("web", 2, 2, 1));
    assert!(why(&case.step(false, |workload, view| workload.check_batch(view))).contains("not ready yet"));
    case.target = Some(deployment("web", 2, 2, 2));
    assert_eq!(case.step(false, |workload, view| workload.check_batch(view)).outcome, Outcome::Done);
    case.status.upgraded_replicas = 2;
    assert_eq!(case.step(false, |workload, view| workload.finalize_batch(view)).outcome, Outcome::Done);
    case.status.upgraded_replicas = 4;
    assert!(
        why(&case.step(false, |workload, view| workload.finalize_batch(view))).contains("does not agree")
    );
    case.status.upgraded_replicas = 2;
    case.status.current_batch = 1;
    case.plan.batch_partition = Some(0);
    let step = case.step(false, |workload, view| workload.finalize_batch(view));
    assert!(
        why(&step).starts_with("the current batch value in the status is greater than the batch partition")
    );
    case.plan.target_size = None;
    assert!(why(&case.step(false, |workload, view| workload.verify(view))).contains("without a target"));
}

#[test]
fn a_paused_deployment_without_pods_grows_from_none() {
    let mut waiting = deployment("web", 1, 0, 0);
    waiting["spec"]["paused"] = json!(true);
    let mut case = Case {
        plan: plan(json!({"targetSize": 2, "rolloutBatches": [{"replicas": 1}, {"replicas": 1}]})),
        status: RolloutStatus::default(),
        source: None,
        leftovers: Vec::new(),
        target: Some(waiting),
    };
    let step = case.step(false, |workload, view| workload.verify(view));
    assert_eq!((step.outcome, step.record.original_size), (Outcome::Done, Some(0)));
    case.status.rollout_original_size = Some(0);
    let step = case.step(false, |workload, view| workload.initialize(view));
    assert_eq!(patches(&step)[0].1["spec"], json!({"paused": false, "replicas": 0}));
    // Pods that run stay.
    let target = case.target.as_mut().unwrap();
    (target["spec"]["replicas"], target["status"]["replicas"]) = (json!(3), json!(1));
    case.plan = plan(json!({"targetSize": 3, "rolloutBatches": [{"replicas": 1}, {"replicas": 1}]}));
    assert_eq!(case.step(false, |workload, view| workload.verify(view)).record.original_size, Some(1));
}

#[test]
fn batches_for_the_size_in_the_spec_fit_as_well() {
    let mut waiting = deployment("web", 2, 0, 0);
    waiting["spec"]["paused"] = json!(true);
    let mut case = Case {
        plan: plan(json!({"targetSize": 4, "rolloutBatches": [{"replicas": 1}, {"replicas": 1}]})),
        status: RolloutStatus::default(),
        source: None,
        leftovers: Vec::new(),
        target: Some(waiting),
    };
    let step = case.step(false, |workload, view| workload.verify(view));
    assert_eq!((step.outcome, step.record.original_size), (Outcome::Done, Some(2)));
    case.status.rollout_original_size = Some(2);
    let step = case.step(false, |workload, view| workload.initialize(view));
    assert_eq!(patches(&step)[0].1["spec"], json!({"paused": false}));
    case.plan = plan(json!({"targetSize": 4, "rolloutBatches": [{"replicas": 1}, {"replicas": 2}]}));
    let step = case.step(false, |workload, view| workload.verify(view));
    assert!(why(&step).contains("lead from 2 to 5 pods"), "{step:?}");
}
