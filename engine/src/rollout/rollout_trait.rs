//! Completes and checks the plan of a RolloutTrait, and whether the workloads that it names can be rolled out so.
//!
//! No webhook sees a RolloutTrait, so its controller asks here what admission asks elsewhere.

use serde_json::Value as Json;
use vela_crds::{RolloutPlan, TypedReference};

use super::metrics;
use super::plan::{self, Distribution};

/// A rollout from more Deployments than that is a mistake.
const SOURCES_AT_MOST: usize = 10;

/// Do two references name one object?
pub fn same(one: &TypedReference, other: &TypedReference) -> bool {
    (&one.api_version, &one.kind, &one.name) == (&other.api_version, &other.kind, &other.name)
}

/// Do pods go from one object to another? In every other kind they are replaced in place.
fn is_deployment(target: &TypedReference) -> bool {
    target.kind == "Deployment" && target.api_version.starts_with("apps/")
}

/// Can pods go from these workloads to this one? Deployments replace each other; every other kind changes in place.
///
/// # Errors
/// The field of the source that cannot be one, and why.
pub fn check(target: &TypedReference, sources: &[TypedReference]) -> Result<(), String> {
    if sources.len() > SOURCES_AT_MOST {
        return Err(format!(
            "spec.sourceRef: expected at most {SOURCES_AT_MOST} workloads, found {}",
            sources.len()
        ));
    }
    let is_deployment = is_deployment(target);
    for (index, source) in sources.iter().enumerate() {
        let path = format!("spec.sourceRef[{index}]");
        if (&source.api_version, &source.kind) != (&target.api_version, &target.kind) {
            return Err(format!(
                "{path}: {} of {} is no source for {} of {}; pods only go between workloads of one kind",
                source.kind, source.api_version, target.kind, target.api_version
            ));
        }
        match (is_deployment, same(source, target)) {
            (true, true) => {
                return Err(format!(
                    "{path}: {} {} is the target too; name the Deployment that the pods come from",
                    source.kind, source.name
                ));
            }
            (false, false) => {
                return Err(format!(
                    "{path}: the pods of a {} are replaced in place; name {} here as in spec.targetRef, or nothing to scale it",
                    source.kind, target.name
                ));
            }
            _ => {}
        }
        if sources.iter().take(index).any(|former| same(former, source)) {
            return Err(format!("{path}: {} {} is named twice", source.kind, source.name));
        }
    }
    Ok(())
}

/// The plan as it is meant.
///
/// # Errors
/// Every field that is wrong.
pub fn plan(written: &Json, target: &TypedReference, has_source: bool) -> Result<RolloutPlan, String> {
    let mut written = written.clone();
    let message = |findings: Vec<plan::Finding>| {
        let each = findings.into_iter().map(|finding| {
            let field = format!("spec.rolloutPlan.{}", finding.path);
            format!("{}: {}", field.trim_end_matches('.'), finding.message)
        });
        each.collect::<Vec<_>>().join("; ")
    };
    if let Some(fields) = written.as_object_mut() {
        let completed = plan::complete(fields, has_source.then_some(Distribution::RoundRobin));
        completed.map_err(|finding| message(vec![finding]))?;
    }
    let findings: Vec<_> = plan::check(&written).into_iter().chain(plan::missing(&written)).collect();
    if !findings.is_empty() {
        return Err(message(findings));
    }
    let plan: RolloutPlan =
        serde_json::from_value(written).map_err(|error| format!("spec.rolloutPlan: {error}"))?;
    let batches = i32::try_from(plan.rollout_batches.as_ref().map_or(0, Vec::len)).unwrap_or(i32::MAX);
    let mut gates = (0..batches).flat_map(|batch| metrics::of_batch(&plan, batch));
    let reverts = gates.find(|(_, metric)| metric.on_failure.as_deref() == Some(metrics::REVERT));
    match reverts {
        // The template that the pods had before stands nowhere: another client changed the object.
        Some((path, _)) if has_source && !is_deployment(target) => Err(format!(
            "spec.rolloutPlan.{path}.onFailure: the pods of {} {} are replaced in place, and a RolloutTrait does not know what they \
             were before; write {}",
            target.kind,
            target.name,
            metrics::PAUSE
        )),
        _ => Ok(plan),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn reference(api_version: &str, kind: &str, name: &str) -> TypedReference {
        TypedReference {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            name: name.to_owned(),
            uid: None,
        }
    }

    #[test]
    fn deployments_replace_each_other_and_sets_change_in_place() {
        let deployment = |name: &str| reference("apps/v1", "Deployment", name);
        let set = |name: &str| reference("apps/v1", "StatefulSet", name);
        assert_eq!(check(&deployment("b"), &[deployment("a"), deployment("c")]), Ok(()));
        assert_eq!(check(&deployment("b"), &[]), Ok(()));
        assert_eq!(check(&set("a"), &[set("a")]), Ok(()));
        for (target, sources, expected) in [
            (
                deployment("b"),
                vec![set("a")],
                "spec.sourceRef[0]: StatefulSet of apps/v1 is no source for Deployment",
            ),
            (
                deployment("b"),
                vec![deployment("a"), deployment("b")],
                "spec.sourceRef[1]: Deployment b is the target too",
            ),
            (
                deployment("b"),
                vec![deployment("a"), deployment("a")],
                "spec.sourceRef[1]: Deployment a is named twice",
            ),
            (set("b"), vec![set("a")], "replaced in place"),
            (deployment("b"), vec![deployment("a"); 11], "at most 10"),
        ] {
            let why = check(&target, &sources).unwrap_err();
            assert!(why.contains(expected), "{why}");
        }
    }

    #[test]
    fn a_plan_is_completed_and_checked_as_admission_would() {
        let short = json!({"targetSize": 5, "numBatches": 3});
        let target = reference("apps/v1", "Deployment", "b");
        let plan = |written: &Json, has_source| super::plan(written, &target, has_source);
        let batches = plan(&short, true).unwrap().rollout_batches.unwrap();
        assert_eq!(batches.len(), 3);
        let why = plan(&short, false).unwrap_err();
        assert!(why.starts_with("spec.rolloutPlan.rolloutBatches: "), "{why}");
        let why = plan(&json!({"rolloutBatches": [{"replicas": -1}], "targetSize": -2}), true).unwrap_err();
        assert!(why.contains("targetSize: ") && why.contains("rolloutBatches[0].replicas: "), "{why}");
        let metric = json!({
            "name": "a", "metricsRange": {"max": 1}, "onFailure": "Revert",
            "templateRef": {"apiVersion": "v1", "kind": "ConfigMap", "name": "a"},
        });
        let gated = json!({"rolloutStrategy": "IncreaseFirst", "rolloutBatches": [{"replicas": 1, "canaryMetric": [metric]}]});
        assert!(plan(&gated, true).is_ok());
        let set = reference("apps/v1", "StatefulSet", "b");
        let why = super::plan(&gated, &set, true).unwrap_err();
        assert!(why.starts_with("spec.rolloutPlan.rolloutBatches[0].canaryMetric[0].onFailure: "), "{why}");
    }
}
