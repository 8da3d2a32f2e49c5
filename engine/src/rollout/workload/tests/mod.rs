//! Each way to roll out, step by step, on workloads as a cluster shows them.

mod claims;
mod deployment;
mod in_place;
mod scale;

use serde_json::{Value as Json, json};
use vela_crds::{RolloutPlan, RolloutStatus};

use super::*;

pub(crate) fn owner() -> Owner {
    Owner {
        api_version: "core.oam.dev/v1beta1".to_owned(),
        kind: "AppRollout".to_owned(),
        namespace: "space".to_owned(),
        name: "rolling".to_owned(),
        uid: "uid-1".to_owned(),
        lenders: Vec::new(),
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
    fn step(
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

fn patches(step: &WorkloadStep) -> Vec<(String, Json)> {
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
    step.writes.iter().map(each).collect()
}

fn why(step: &WorkloadStep) -> &str {
    match &step.outcome {
        Outcome::Done => "done",
        Outcome::Wait(why) | Outcome::Fail(why) => why,
    }
}

fn replicas(number: i64) -> Json {
    json!({"spec": {"replicas": number}})
}

#[test]
fn kinds_that_cannot_be_rolled_out_are_told() {
    let message =
        |api_version, kind, has_source| strategy(api_version, kind, has_source).err().unwrap_or_default();
    assert!(message("batch/v1", "Job", true).starts_with("the workload kind `Job` is not supported"));
    assert!(message("apps/v1", "DaemonSet", false).contains("cannot be scaled"));
    for kind in ["CloneSet", "StatefulSet", "DaemonSet"] {
        assert_eq!(message("apps.kruise.io/v1alpha1", kind, true), "");
    }
}
