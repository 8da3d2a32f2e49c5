//! Setting conditions: equal ones keep their time, different ones are replaced in place.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use vela_crds::condition::{reasons, types};
use vela_crds::{ApplicationStatus, Condition, Conditioned};

fn at(second: u8) -> Time {
    serde_json::from_value(serde_json::json!(format!("2021-03-01T00:00:{second:02}Z"))).unwrap()
}

#[test]
fn equal_conditions_keep_their_time() {
    let mut status = ApplicationStatus::default();
    assert_eq!(status.condition_status(types::SYNCED), "Unknown");
    assert!(status.set_condition(Condition::reconcile_success(at(1))));
    assert!(!status.set_condition(Condition::reconcile_success(at(2))));
    assert_eq!(status.condition(types::SYNCED).unwrap().last_transition_time, at(1));
}

#[test]
fn a_new_message_replaces_in_place() {
    let mut status = ApplicationStatus::default();
    status.set_condition(Condition::reconcile_error("one".into(), at(1)));
    status.set_condition(Condition::is_true(types::READY, reasons::AVAILABLE, at(2)));
    assert!(status.set_condition(Condition::reconcile_error("two".into(), at(3))));
    let seen: Vec<_> = status.conditions().iter().map(|c| c.condition_type.as_str()).collect();
    assert_eq!(seen, ["Synced", "Ready"]);
    let synced = status.condition(types::SYNCED).unwrap();
    assert_eq!((synced.message.as_deref(), &synced.last_transition_time), (Some("two"), &at(3)));
}
