//! `vela rollout simulate`: prints the timeline of a rollout before it runs anywhere.
//!
//! One thread runs the real controllers, the embedded API server with its workloads driven by hand, and a paused clock:
//! [`setup`] brings the source to run, [`simulation`] goes from change to change, [`pod_outcomes`] tells each new pod what
//! becomes of it, and [`egress_stub`] answers hooks and metrics in place of the network. What is printed follows from the
//! files, the options and the seed.

mod egress_stub;
mod pod_counts;
mod pod_outcomes;
mod report;
mod scenario;
mod setup;
mod simulation;
mod timeline;

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::json;
use vela_embedded::virtual_time;

use self::egress_stub::EgressStub;
use self::scenario::Scenario;
use self::simulation::Simulation;
use crate::args::{Format, Global, RolloutSimulate as Args, Verdict};
use crate::error::{Error, Failure, Result};
use crate::input;
use crate::screen::Screen;
use crate::simulated_cluster::SimulatedCluster;

pub(super) fn run(args: &Args, global: &Global, screen: &mut Screen) -> Result<()> {
    let namespace = global.namespace.as_deref().unwrap_or("default");
    let scenario = Scenario::read(input::read(&args.files)?, namespace)?;
    known_names(args, &scenario)?;
    let stub = Arc::new(EgressStub::new(&args.hooks, &args.metrics));
    let report = virtual_time::run(simulate(args, &scenario, namespace, stub, screen))
        .map_err(|error| Error::internal(format!("the event loop cannot start: {error}")))??;
    match args.output {
        Format::Table => screen.print(&report.text())?,
        format => screen.data(format, &report.json())?,
    }
    report.verdict()
}

/// A misspelt hook or metric would be one that never fails.
fn known_names(args: &Args, scenario: &Scenario) -> Result<()> {
    let plans = || scenario.rollouts.iter().map(|rollout| &rollout.plan);
    let hooks = plans().flat_map(egress_stub::hooks).map(|hook| hook.name.clone()).collect();
    let metrics = plans().flat_map(egress_stub::metrics).map(|(_, metric)| metric.name).collect();
    let of = |what: &'static str, given: &[Verdict], there: BTreeSet<String>| -> Vec<Failure> {
        let unknown = given.iter().filter(|each| !there.contains(&each.name));
        let names = there.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        let has = if names.is_empty() { format!("no {what}s") } else { format!("the {what}s {names}") };
        let unknown_name = |each: &Verdict| {
            Error::user(format!("--{what} {}: the plan has no {what} of that name; it has {has}", each.name))
                .into()
        };
        unknown.map(unknown_name).collect()
    };
    let failures = [of("hook", &args.hooks, hooks), of("metric", &args.metrics, metrics)].concat();
    Failure::all(failures).map_or(Ok(()), Err)
}

async fn simulate(
    args: &Args,
    scenario: &Scenario,
    namespace: &str,
    stub: Arc<EgressStub>,
    screen: &mut Screen,
) -> Result<report::Report> {
    let foreign: Vec<&str> = scenario
        .others
        .iter()
        .filter(|document| document.kind() == "CustomResourceDefinition")
        .map(|document| document.name())
        .collect();
    let mut simulated = SimulatedCluster::open(namespace, &foreign, stub.clone()).await?;
    let subjects = setup::set_up(&mut simulated, scenario, args, screen).await?;
    let mut simulation = Simulation::new(simulated, args, stub);
    for (rollout, subject) in scenario.rollouts.iter().zip(subjects) {
        simulation.run_rollout(rollout, subject).await?;
    }
    let report = simulation.end();
    Ok(report::Report { settings: settings(args), ..report })
}

/// What the run depended on.
fn settings(args: &Args) -> serde_json::Value {
    let fails: BTreeSet<String> = args.fails.iter().map(ToString::to_string).collect();
    json!({"seed": args.seed, "latency": args.latency.to_string(), "fail": fails})
}
