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
