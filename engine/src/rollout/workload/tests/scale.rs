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
fn the_first_rollout_of_a_listed_component_begins_with_none() {
    let verified = |batches: &[i64], listed: bool, pods: i64| {
        let mut made = deployment("web-v1", 1, pods, 0);
        made["spec"]["paused"] = json!(true);
        if listed {
            made["metadata"]["annotations"] = json!({"app.oam.dev/rolling-components": "web"});
        }
        let batches: Vec<Json> = batches.iter().map(|pods| json!({"replicas": pods})).collect();
        let case = Case {
            plan: plan(json!({"targetSize": 2, "rolloutBatches": batches})),
            status: RolloutStatus::default(),
            source: None,
            leftovers: Vec::new(),
            target: Some(made),
        };
        let step = case.step(false, |workload, view| workload.verify(view));
        (step.outcome == Outcome::Done, step.record.original_size)
    };
    assert_eq!(verified(&[1, 1], true, 0), (true, Some(0)), "as since 1.1");
    assert_eq!(verified(&[1], true, 0), (true, Some(1)), "as in 1.0");
    assert_eq!(verified(&[1, 1], false, 0), (false, Some(1)), "as 1.0 answered without the list");
    assert_eq!(verified(&[1, 1], true, 1), (false, Some(1)), "it runs");
    assert_eq!(verified(&[1, 3], true, 0), (false, Some(1)), "neither");
}
