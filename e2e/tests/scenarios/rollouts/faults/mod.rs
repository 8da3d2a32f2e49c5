//! Faults around a rollout: no pod is missing beyond the bound, the condition says why it waits and what to do, and it goes on.
//!
//! Each fault has a namespace of its own, and all of them happen at the same time.

use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use vela_e2e::Result;
use vela_e2e::objects::{Cluster, until};
use vela_e2e::pod_history::{Bound, PodHistory};
use vela_e2e::target::Target;

use super::{
    APPS, OAM, STEP_DEADLINE, applied_plan, batch_is_ready, batches, deleted, has, recorded, rollout,
    succeeds,
};
use crate::foreign::{accepted, namespace};
use crate::{on_a_control_plane, scenario};

mod pods;
mod surroundings;

const SIZE: i64 = 4;
const NAME: &str = "release";
/// "Within seconds", on a machine that builds at the same time.
const REPORTED_WITHIN: Duration = Duration::from_secs(20);

/// Component `front` of one Deployment whose pods are as `pod` says.
const DEFINITION: &str = "output: {\n\tapiVersion: \"apps/v1\"\n\tkind: \"Deployment\"\n\tspec: {\n\t\tselector: matchLabels: app: context.name\n\t\ttemplate: {\n\t\t\tmetadata: labels: app: context.name\n\t\t\tspec: parameter.pod & {containers: [{name: context.name, image: parameter.image}]}\n\t\t}\n\t}\n}\nparameter: {\n\timage: string\n\tpod: {...}\n}\n";

type Story<'a> = Pin<Box<dyn Future<Output = Result<()>> + 'a>>;

#[test]
fn errors_around_a_rollout_are_reported_and_cost_no_pod() {
    scenario(async {
        let target = Target::open("rollout-faults").await?;
        end_well(vec![
            ("hook down", Box::pin(surroundings::hook_down(&target))),
            ("metric absent", Box::pin(surroundings::metric_absent(&target))),
            ("source deleted", Box::pin(surroundings::source_deleted(&target))),
            ("application deleted", Box::pin(surroundings::application_deleted(&target))),
            ("plan edited", Box::pin(surroundings::plan_edited(&target))),
        ])
        .await
    });
}

/// With real nodes, quotas and a scheduler.
#[test]
#[ignore = "needs a real control plane: cargo xtask e2e --real"]
fn whatever_goes_wrong_with_pods_is_told_and_costs_no_other_pod() {
    on_a_control_plane(async {
        let target = Target::open("rollout-pods").await?;
        end_well(vec![
            ("node lost", Box::pin(pods::node_lost(&target))),
            ("quota exceeded", Box::pin(pods::quota_exceeded(&target))),
            ("pods that do not start", Box::pin(pods::do_not_start(&target))),
            ("pods that fit nowhere", Box::pin(pods::fit_nowhere(&target))),
        ])
        .await
    });
}

async fn end_well(stories: Vec<(&str, Story<'_>)>) -> Result<()> {
    let (names, stories): (Vec<&str>, Vec<Story<'_>>) = stories.into_iter().unzip();
    let ends = futures::future::join_all(stories).await;
    let wrong = names.iter().zip(ends).filter_map(|(name, end)| end.err().map(|e| format!("{name}: {e}")));
    let wrong: Vec<String> = wrong.collect();
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n").into()) }
}

/// The application with front's pods as said.
fn shop(image: &str, pod: &Value) -> Value {
    let component = json!({"name": "front", "type": "placed", "properties": {"image": image, "pod": pod}});
    json!({
        "apiVersion": OAM, "kind": "Application",
        "metadata": {"name": "shop", "annotations": {"app.oam.dev/rollout-template": "true"}},
        "spec": {"components": [component]},
    })
}

/// A namespace in which the first revision runs with four pods and the second, whose pods are as said, is recorded.
async fn prepared(target: &Target, name: &str, pod: &Value) -> Result<(Cluster, PodHistory)> {
    let cluster = namespace(target, name).await?;
    let definition = json!({
        "apiVersion": OAM, "kind": "ComponentDefinition", "metadata": {"name": "placed"},
        "spec": {
            "workload": {"definition": {"apiVersion": APPS, "kind": "Deployment"}},
            "schematic": {"cue": {"template": DEFINITION}},
        },
    });
    accepted(&cluster, &definition).await?;
    accepted(&cluster, &shop("nginx:1", &json!({}))).await?;
    recorded(&cluster, "shop-v1").await?;
    let mut plan = batches(&[SIZE - 1]);
    plan["targetSize"] = json!(SIZE);
    accepted(&cluster, &rollout("first", None, "shop-v1", plan)).await?;
    succeeds(&cluster, "first", "shop-v1").await?;
    has(&cluster, APPS, "Deployment", "front-v1", SIZE).await?;
    deleted(&cluster, "first").await?;
    accepted(&cluster, &shop("nginx:2", pod)).await?;
    recorded(&cluster, "shop-v2").await?;
    let moments = PodHistory::follow(&cluster);
    until("all pods are seen", STEP_DEADLINE, async || {
        if moments.now().ready == 4 { Ok(()) } else { Err(format!("{:?}", moments.now())) }
    })
    .await?;
    Ok((cluster, moments))
}

/// The rollout from the first to the second revision; `held` waits behind the first batch.
async fn begins(cluster: &Cluster, sizes: &[i64], held: bool) -> Result<()> {
    let mut plan = batches(sizes);
    if held {
        plan["batchPartition"] = json!(0);
    }
    accepted(cluster, &rollout(NAME, Some("shop-v1"), "shop-v2", plan)).await?;
    if held {
        batch_is_ready(cluster, NAME, 0).await?;
    }
    Ok(())
}

async fn goes_on(cluster: &Cluster) -> Result<()> {
    applied_plan(cluster, NAME, json!({"batchPartition": null})).await
}

/// The second revision has all pods, and the first none.
async fn is_over(cluster: &Cluster) -> Result<()> {
    succeeds(cluster, NAME, "shop-v2").await?;
    has(cluster, APPS, "Deployment", "front-v2", SIZE).await?;
    has(cluster, APPS, "Deployment", "front-v1", 0).await.map(|_| ())
}

/// Waits until a condition says all of this.
async fn reports(cluster: &Cluster, what: &str, words: &[&str]) -> Result<()> {
    let begun = Instant::now();
    let message = until(&format!("{what} is told"), REPORTED_WITHIN, async || {
        let found = cluster.get(OAM, "AppRollout", NAME).await.map_err(|error| error.to_string())?;
        let found = found.ok_or("there is no such rollout")?;
        let conditions = found["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let says = |condition: &Value| {
            let message = condition["message"].as_str()?.to_owned();
            (condition["status"] == "False" && words.iter().all(|word| message.contains(word)))
                .then_some(message)
        };
        conditions.iter().find_map(says).ok_or_else(|| format!("{words:?} is not in {}", found["status"]))
    })
    .await?;
    println!("rollout-faults: {what}, told after {:.1} s: {message}", begun.elapsed().as_secs_f64());
    Ok(())
}

fn bound(ready_at_least: usize, total_at_most: usize) -> Bound {
    Bound { ready_at_least, total_at_most }
}
