//! Types read what users and other writers store.

use serde_json::{Value, json};
use vela_crds::rollout_plan::RollingState;
use vela_crds::standard_oam_dev::RouteSpec;
use vela_crds::{
    AppRollout, AppRolloutStatus, Application, ApplicationDeployment, HealthScope, ResourceTracker,
};

#[test]
fn application_reads_both_spellings_and_writes_the_new_one() {
    let app: Application = serde_json::from_value(json!({
        "apiVersion": "core.oam.dev/v1alpha2", "kind": "Application", "metadata": {"name": "a"},
        "spec": {"components": [{"name": "w", "type": "worker", "settings": {"image": "x"},
            "traits": [{"name": "scaler", "properties": {"replicas": 2}}]}]}
    }))
    .unwrap();
    let component = &app.spec.components[0];
    assert_eq!(component.properties.as_ref().unwrap().0, json!({"image": "x"}));
    assert_eq!(component.traits[0].trait_type, "scaler");
    let written: Value = serde_json::to_value(&app.spec).unwrap();
    assert_eq!(
        written,
        json!({"components": [{"name": "w", "type": "worker", "properties": {"image": "x"},
            "traits": [{"type": "scaler", "properties": {"replicas": 2}}]}]})
    );
}

#[test]
fn tracker_keeps_identity_and_completeness() {
    let tracker: ResourceTracker = serde_json::from_value(json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": "ResourceTracker", "metadata": {"name": "t"},
        "spec": {"identity": "abc", "complete": true, "managedResources": [{"kind": "Job", "skipGC": true}]}
    }))
    .unwrap();
    assert!(tracker.spec.complete && tracker.spec.managed_resources[0].skip_gc);
    assert_eq!(serde_json::to_value(&tracker.spec).unwrap()["identity"], "abc");
}

#[test]
fn health_scope_leaves_zero_counts_out() {
    let scope: HealthScope = serde_json::from_value(json!({
        "apiVersion": "core.oam.dev/v1alpha2", "kind": "HealthScope", "metadata": {"name": "h"},
        "spec": {"probe-timeout": 5, "workloadRefs": []},
        "status": {"scopeHealthCondition": {"healthStatus": "HEALTHY", "total": 1, "healthyWorkloads": 1}}
    }))
    .unwrap();
    assert_eq!(scope.spec.probe_timeout, Some(5));
    assert_eq!(
        serde_json::to_value(scope.status.unwrap()).unwrap(),
        json!({"scopeHealthCondition": {"healthStatus": "HEALTHY", "total": 1, "healthyWorkloads": 1}})
    );
}

#[test]
fn rollouts_read_both_spellings() {
    let rollout = |spec: Value| -> AppRollout {
        let object = json!({"apiVersion": "core.oam.dev/v1beta1", "kind": "AppRollout", "metadata": {"name": "r"}, "spec": spec});
        serde_json::from_value(object).unwrap()
    };
    let new =
        rollout(json!({"targetAppRevisionName": "a-v2", "sourceAppRevisionName": "a-v1", "rolloutPlan": {}}));
    let old =
        rollout(json!({"targetApplicationName": "a-v2", "sourceApplicationName": "a-v1", "rolloutPlan": {}}));
    for rollout in [&new, &old] {
        assert_eq!((rollout.spec.target(), rollout.spec.source()), ("a-v2", Some("a-v1")));
    }
    assert_eq!(serde_json::to_value(&old.spec).unwrap().get("targetAppRevisionName"), None);
    let deployment = |spec: Value| -> ApplicationDeployment {
        let object = json!({"apiVersion": "core.oam.dev/v1alpha2", "kind": "ApplicationDeployment", "metadata": {"name": "r"}, "spec": spec});
        serde_json::from_value(object).unwrap()
    };
    assert!(deployment(json!({})).is_empty(), "as release 0.3 wrote them");
    let same = deployment(
        json!({"targetApplicationName": "a-v2", "sourceApplicationName": "a-v1", "rolloutPlan": {}}),
    );
    assert_eq!(same.into_rollout().spec, old.spec);
}

#[test]
fn rollout_status_stands_beside_the_names_of_its_revisions() {
    let status = json!({"rollingState": "rollingInBatches", "currentBatch": 1, "upgradedReplicas": 2,
        "upgradedReadyReplicas": 2, "lastTargetAppRevision": "a-v2", "LastSourceAppRevision": "a-v1"});
    let read: AppRolloutStatus = serde_json::from_value(status.clone()).unwrap();
    assert_eq!(read.rollout.current_batch, 1);
    assert_eq!(serde_json::to_value(read).unwrap(), status);
    assert_eq!(serde_json::to_value(RollingState::RolloutDeleting).unwrap(), "RolloutDeletingState");
}

#[test]
fn route_names_its_kind_of_issuer() {
    let route: RouteSpec = serde_json::from_value(json!({"host": "", "tls": {"issuerName": "i"}})).unwrap();
    assert_eq!(route.tls.unwrap().issuer_type, "Issuer");
}
