//! Tests the holder of a workload during and after a rollout.

use super::super::object::{claim, foreign_controller, release};
use super::*;

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
    let step = case.step(true, |workload, view| workload.initialize(view));
    let written = patches(&step);
    assert_eq!(written[0].1["metadata"]["ownerReferences"][0], other);
    assert_eq!(written[0].1["metadata"]["ownerReferences"][1]["kind"], "AppRollout");
    assert_eq!(written[0].1["spec"], json!({"paused": false}));
    assert_eq!(written[1].1["spec"], json!({"paused": false, "replicas": 3}), "the surplus starts at once");
    let mut claimed = case;
    for (side, (_, patch)) in [&mut claimed.source, &mut claimed.target].into_iter().zip(&written) {
        let side = side.as_mut().unwrap();
        side["metadata"]["ownerReferences"] = patch["metadata"]["ownerReferences"].clone();
    }
    assert_eq!(claimed.step(true, |workload, view| workload.initialize(view)).writes, []);
    let released = claimed.step(true, |workload, view| workload.finalize(view, true));
    assert_eq!(patches(&released)[0].1["metadata"]["ownerReferences"], json!([other]));
    claimed.source = None;
    let step = claimed.step(true, |workload, view| workload.finalize(view, false));
    assert_eq!((step.outcome, step.writes.len()), (Outcome::Done, 1), "what is gone needs no letting go");
}

#[test]
fn a_lent_workload_keeps_its_controller_and_has_one_rollout() {
    let lender =
        json!({"kind": "ApplicationConfiguration", "name": "shop", "uid": "uid-0", "controller": true});
    let mut lent = deployment("web", 4, 4, 4);
    lent["metadata"]["ownerReferences"] = json!([lender]);
    let stranger = owner();
    assert!(
        foreign_controller(&lent, &stranger).is_some_and(|why| why.contains("ApplicationConfiguration shop"))
    );
    let ours = Owner { kind: "RolloutTrait".to_owned(), lenders: vec!["uid-0".to_owned()], ..owner() };
    assert_eq!(foreign_controller(&lent, &ours), None);
    let Some(Write::Patch { patch, .. }) = claim(&lent, &ours, json!({})).unwrap() else { panic!() };
    json_patch::merge(&mut lent, &patch);
    let owners = lent["metadata"]["ownerReferences"].as_array().unwrap().clone();
    assert_eq!((&owners[0], &owners[1]["controller"]), (&lender, &json!(false)));
    assert!(is_controlled_by(&lent, &ours));
    let other = Owner { name: "other".to_owned(), uid: "uid-2".to_owned(), ..ours.clone() };
    assert!(foreign_controller(&lent, &other).is_some_and(|why| why.contains("RolloutTrait rolling")));
    let namesake = Owner { kind: "AppRollout".to_owned(), uid: "uid-3".to_owned(), ..ours.clone() };
    assert!(foreign_controller(&lent, &namesake).is_some(), "two kinds may share a name, and not a workload");
    let two = Owner { lenders: vec!["uid-9".to_owned(), "uid-0".to_owned()], ..ours.clone() };
    assert!(is_controlled_by(&lent, &two));
    let Some(Write::Patch { patch, .. }) = release(&lent, &ours, json!({})) else { panic!() };
    assert_eq!(patch["metadata"]["ownerReferences"], json!([lender]));
}
