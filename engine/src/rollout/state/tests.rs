//! The state machine of a rollout: the table, the special events, and walks by chance.

use vela_testkit::program::Random;

use super::*;

const EVENTS: [Event; 13] = [
    Event::Modified,
    Event::Deleted,
    Event::AppLocated,
    Event::SpecVerified,
    Event::Initialized,
    Event::BatchInitialized,
    Event::BatchRolledOut,
    Event::BatchAvailable,
    Event::BatchFinished,
    Event::AllBatchesFinished,
    Event::BatchApproved,
    Event::BatchFailed,
    Event::Finalized,
];

fn status(rolling: &str, batch: &str) -> RolloutStatus {
    RolloutStatus {
        rolling_state: rolling.to_owned(),
        batch_rolling_state: Some(batch.to_owned()),
        target_generation: Some("g".to_owned()),
        rollout_original_size: Some(4),
        rollout_target_size: Some(5),
        current_batch: 1,
        upgraded_replicas: 3,
        upgraded_ready_replicas: 2,
        ..RolloutStatus::default()
    }
}

fn after(from: (&str, &str), event: Event) -> (String, String, Vec<Effect>) {
    let (next, effects) = next(&status(from.0, from.1), &Input::Event(event));
    (next.rolling_state, next.batch_rolling_state.unwrap_or_default(), effects)
}

#[test]
fn a_rollout_of_one_batch_goes_through_all_states() {
    let mut now = reset(&RolloutStatus::default());
    let mut types = Vec::new();
    for event in [
        Event::AppLocated,
        Event::SpecVerified,
        Event::Initialized,
        Event::BatchInitialized,
        Event::BatchRolledOut,
        Event::BatchAvailable,
        Event::BatchFinished,
        Event::BatchApproved,
        Event::BatchInitialized,
        Event::BatchRolledOut,
        Event::BatchAvailable,
        Event::AllBatchesFinished,
        Event::Finalized,
    ] {
        let (after, effects) = next(&now, &Input::Event(event));
        now = after;
        for effect in effects {
            let Effect::Condition { type_, holds, message } = effect else { panic!("{effect:?}") };
            assert!(holds && message.is_none());
            types.push(type_);
        }
    }
    assert_eq!((now.rolling_state.as_str(), now.current_batch), ("rolloutSucceed", 1));
    assert_eq!(
        types,
        [
            "RolloutSpecVerifying",
            "RolloutInitializing",
            "RolloutInProgress",
            "BatchVerifying",
            "BatchFinalizing",
            "BatchReady",
            "RolloutInProgress",
            "BatchVerifying",
            "BatchFinalizing",
            "RolloutFinalizing",
        ]
    );
}

#[test]
fn a_change_half_way_abandons_and_a_later_one_begins_anew() {
    let (rolling, batch, effects) = after(("rollingInBatches", "batchVerifying"), Event::Modified);
    assert_eq!((rolling.as_str(), batch.as_str()), ("rolloutAbandoning", "batchInitializing"));
    assert_eq!(effects, [Effect::negative("BatchVerifying", "Rollout Spec is modified")]);
    let (rolling, ..) = after(("rolloutAbandoning", "batchInitializing"), Event::Modified);
    assert_eq!(rolling, "rolloutAbandoning", "a second change is absorbed");
    for state in ["rolloutSucceed", "rolloutFailed"] {
        let (next, effects) = next(&status(state, "batchReady"), &Input::Event(Event::Modified));
        assert_eq!(next, reset(&status("", "")));
        assert_eq!(effects, []);
    }
    let (next, effects) =
        next(&status("rolloutAbandoning", "batchInitializing"), &Input::Event(Event::Finalized));
    assert_eq!((next.rolling_state.as_str(), next.current_batch), ("locatingTargetApp", 0));
    assert_eq!((next.rollout_original_size, next.rollout_target_size), (Some(4), Some(-1)));
    assert_eq!((next.target_generation, next.upgraded_replicas, next.upgraded_ready_replicas), (None, 0, 0));
    assert_eq!(effects, [Effect::positive("RolloutAbandoning")]);
}

#[test]
fn deleting_lets_go_and_then_fails() {
    let (rolling, _, effects) = after(("initializing", "batchInitializing"), Event::Deleted);
    assert_eq!(rolling, "RolloutDeletingState");
    assert_eq!(effects, [Effect::negative("RolloutInitializing", "Rollout is being deleted")]);
    let (rolling, _, effects) = after(("RolloutDeletingState", "batchInitializing"), Event::Finalized);
    assert_eq!((rolling.as_str(), effects), ("rolloutFailed", vec![Effect::positive("RolloutDeleting")]));
}

#[test]
fn what_cannot_be_done_is_told_in_the_condition_of_the_state() {
    let now = status("rollingInBatches", "batchVerifying");
    let (waiting, effects) = next(&now, &Input::Retry("not ready".to_owned()));
    assert_eq!((waiting, effects), (now.clone(), vec![Effect::negative("BatchVerifying", "not ready")]));
    let (failing, _) = next(&now, &Input::Failing("no".to_owned()));
    assert_eq!(failing.rolling_state, "rolloutFailing");
    assert_eq!(failing.batch_rolling_state.as_deref(), Some("batchInitializing"));
    let (failed, effects) = next(&status("verifyingSpec", ""), &Input::Failed("no".to_owned()));
    assert_eq!(failed.rolling_state, "rolloutFailed");
    assert_eq!(effects, [Effect::negative("RolloutSpecVerifying", "no")]);
}

#[test]
fn illegal_transitions_fail_with_both_names() {
    let (rolling, _, effects) = after(("initializing", "batchInitializing"), Event::SpecVerified);
    assert_eq!(rolling, "rolloutFailed");
    let message =
        "the rollout state transition from `initializing` state  with `RollingSpecVerifiedEvent` is invalid";
    assert_eq!(effects, [Effect::negative("RolloutInitializing", message)]);
    let (_, _, effects) = after(("rollingInBatches", "batchReady"), Event::Finalized);
    let message =
        "the batch rolling state transition from `batchReady` state  with `AllBatchFinishedEvent` is invalid";
    assert_eq!(effects, [Effect::negative("BatchReady", message)]);
    let (rolling, ..) = after(("RolloutDeletingState", "batchInitializing"), Event::Modified);
    assert_eq!(rolling, "rolloutFailed");
    let (rolling, ..) = after(("rolloutSucceed", "batchReady"), Event::Deleted);
    assert_eq!(rolling, "rolloutFailed");
}

#[test]
fn unknown_states_let_go() {
    assert_eq!(State::of(&status("", "")), State::FIRST);
    assert_eq!(State::of(&status("verifying", "")).rolling, R::VerifyingSpec);
    assert_eq!(State::of(&status("someday", "what")).rolling, R::RolloutFailing);
    let (next, _) = next(&status("someday", "what"), &Input::Event(Event::Finalized));
    assert_eq!(next.rolling_state, "rolloutFailed");
}

#[test]
fn names_are_those_of_the_api() {
    for (state, name) in ROLLING {
        assert_eq!(serde_json::to_value(state).unwrap(), name);
    }
    for (state, name) in BATCH {
        assert_eq!(serde_json::to_value(state).unwrap(), name);
    }
}

#[test]
fn any_walk_keeps_the_status_readable() {
    let mut random = Random::new(5);
    for _ in 0..3000 {
        let mut now = reset(&RolloutStatus::default());
        for _ in 0..random.below(30) {
            let event = *random.pick(&EVENTS).unwrap();
            let input = match random.below(10) {
                0 => Input::Retry("r".to_owned()),
                1 => Input::Failing("f".to_owned()),
                _ => Input::Event(event),
            };
            let before = State::of(&now);
            let (after, effects) = next(&now, &input);
            assert!(rolling_state(&after.rolling_state).is_some(), "{after:?}");
            assert!(batch_state(after.batch_rolling_state.as_deref().unwrap()).is_some(), "{after:?}");
            assert!(after.current_batch == 0 || after.current_batch - now.current_batch <= 1);
            for effect in effects {
                let Effect::Condition { type_, .. } = effect else { continue };
                assert_eq!(type_, before.condition(), "a condition tells of the state that is left");
            }
            now = after;
        }
    }
}

#[test]
fn a_rollout_that_goes_back_ends_failed_and_says_why() {
    let since = jiff::Timestamp::UNIX_EPOCH;
    let from = status("rollingInBatches", "batchVerifying");
    let (mut now, effects) = next(&from, &Input::Revert { why: "too many errors".to_owned(), since });
    assert_eq!(now.rolling_state, "rolloutAbandoning");
    assert_eq!(
        effects,
        [
            Effect::negative("BatchVerifying", "too many errors"),
            Effect::negative(ROLLOUT_REVERTED, "the rollout goes back to its source: too many errors"),
        ]
    );
    let mut last = Vec::new();
    for event in [
        Event::Finalized,
        Event::AppLocated,
        Event::SpecVerified,
        Event::Initialized,
        Event::BatchInitialized,
        Event::BatchRolledOut,
        Event::BatchAvailable,
        Event::AllBatchesFinished,
        Event::Finalized,
    ] {
        assert!(now.revert.is_some(), "{now:?}");
        (now, last) = next(&now, &Input::Event(event));
    }
    assert_eq!(now.rolling_state, "rolloutFailed");
    let message = Some("the rollout went back to its source: too many errors".to_owned());
    assert_eq!(last[1], Effect::Condition { type_: ROLLOUT_REVERTED, holds: true, message });
    assert!(next(&now, &Input::Event(Event::Modified)).0.revert.is_none(), "another rollout goes forward");
}

#[test]
fn a_way_back_that_is_given_up_says_so() {
    let since = jiff::Timestamp::UNIX_EPOCH;
    let from = status("rollingInBatches", "batchVerifying");
    let back = next(&from, &Input::Revert { why: "errors".to_owned(), since }).0;
    for (input, state, goes_back) in [
        (Input::Event(Event::Modified), "rolloutAbandoning", false),
        (Input::Event(Event::Deleted), "RolloutDeletingState", false),
        (Input::Failing("no pods".to_owned()), "rolloutFailing", true),
    ] {
        let (next, effects) = next(&back, &input);
        assert_eq!((next.rolling_state.as_str(), next.revert.is_some()), (state, goes_back));
        let lost = matches!(&effects[1], Effect::Condition { type_: ROLLOUT_REVERTED, holds: false, .. });
        assert!(lost, "{effects:?}");
    }
}
