//! Calls of a step about components that the plan gave to its workflow: apply one, and is one healthy? May not apply any other.

use std::collections::BTreeSet;

use serde_json::json;
use vela_engine::Plan;
use vela_engine::steps::Question;
use vela_engine::workflow::{StepOutcome, Task, applies_by_calls};

use super::apply_due;
use super::effects::Effects;
use super::providers::Called;

/// Packages that have these calls.
const PROVIDERS: [&str; 3] = ["oam", "op", "terraform"];

/// The result of a call; nothing where it is none of these.
pub(super) async fn call<E: Effects>(
    (plan, task): (&Plan, &Task),
    question: &Question,
    begun: &mut BTreeSet<usize>,
    effects: &mut E,
) -> Result<Option<Called>, E::Error> {
    if !PROVIDERS.contains(&question.provider.as_str()) {
        return Ok(None);
    }
    match question.function.as_str() {
        "component-apply" if applies_by_calls(&task.type_) => {
            apply(plan, task, question, (begun, effects)).await.map(Some)
        }
        "get-connection-status" => is_healthy(plan, question, effects).await.map(Some),
        _ => Ok(None),
    }
}

/// Applies a component that the plan gave to the step, and waits until it is healthy.
async fn apply<E: Effects>(
    plan: &Plan,
    task: &Task,
    question: &Question,
    (begun, effects): (&mut BTreeSet<usize>, &mut E),
) -> Result<Called, E::Error> {
    let name = question.params["value"]["name"].as_str().unwrap_or_default();
    let Some(node) = node_of(plan, plan.nodes_of_step(&task.name).iter().copied(), name) else {
        let message = format!("{}: the step does not deploy a component {name:?}", question.path);
        return Ok(Called::Ended(StepOutcome::Broken { message }));
    };
    if !begun.contains(&node) {
        begun.extend(apply_due(effects, BTreeSet::from([node])).await?);
    }
    Ok(match look(node, effects).await? {
        Some(StepOutcome::Done { .. }) => Called::Answer(json!({})),
        Some(StepOutcome::Unhealthy { .. }) | None => {
            let message = format!("wait healthy: component {name:?}");
            Called::Ended(StepOutcome::Wait { message })
        }
        Some(other) => Called::Ended(other),
    })
}

/// Is a component healthy? One that no step deploys never will be.
async fn is_healthy<E: Effects>(
    plan: &Plan,
    question: &Question,
    effects: &mut E,
) -> Result<Called, E::Error> {
    let name = question.params["inputs"]["componentName"].as_str().unwrap_or_default();
    let Some(node) = node_of(plan, 0..plan.nodes().len(), name) else {
        let message = format!(
            "{}: no step deploys the component {name:?}; a deploy-cloud-resource step of the same environment does",
            question.path
        );
        return Ok(Called::Ended(StepOutcome::Broken { message }));
    };
    let healthy = matches!(look(node, effects).await?, Some(StepOutcome::Done { .. }));
    Ok(Called::Answer(json!({"outputs": {"healthy": healthy}})))
}

fn node_of(plan: &Plan, nodes: impl IntoIterator<Item = usize>, name: &str) -> Option<usize> {
    let components = plan.app_file().components();
    nodes.into_iter().find(|node| components[plan.nodes()[*node].component].name == name)
}

async fn look<E: Effects>(node: usize, effects: &mut E) -> Result<Option<StepOutcome>, E::Error> {
    Ok(effects.look(vec![(vec![node], Vec::new())]).await?.into_iter().next().flatten())
}
