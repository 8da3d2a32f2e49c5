//! `vela rollout simulate`: files in; the time line of the rollout they describe out, before it runs anywhere.

mod elsewhere;
mod ending;
mod fates;
mod picture;
mod play;
mod script;
mod stage;
mod timeline;
mod world;

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::json;

use self::elsewhere::Outside;
use self::play::Play;
use self::script::Script;
use self::world::{World, in_virtual_time};
use crate::args::{Format, Global, RolloutSimulate as Args, Verdict};
use crate::error::{Error, Failure, Result};
use crate::input;
use crate::screen::{Screen, data};

pub(super) fn run(args: &Args, global: &Global, screen: &mut Screen) -> Result<()> {
    let namespace = global.namespace.as_deref().unwrap_or("default");
    let script = Script::read(input::read(&args.files)?, namespace)?;
    known_names(args, &script)?;
    let outside = Arc::new(Outside::new(&args.hooks, &args.metrics));
    let told = in_virtual_time(play(args, &script, namespace, outside, screen))?;
    match args.output {
        Format::Table => screen.print(&told.text())?,
        format => screen.print(&data(format, &told.json())?)?,
    }
    told.verdict()
}

/// A misspelt hook or metric would be one that never fails.
fn known_names(args: &Args, script: &Script) -> Result<()> {
    let plans = || script.rollouts.iter().map(|rollout| &rollout.plan);
    let hooks = plans().flat_map(elsewhere::hooks).map(|hook| hook.name.clone()).collect();
    let metrics = plans().flat_map(elsewhere::metrics).map(|(_, metric)| metric.name).collect();
    let of = |what: &'static str, given: &[Verdict], there: BTreeSet<String>| -> Vec<Failure> {
        let unknown = given.iter().filter(|each| !there.contains(&each.name));
        let names = there.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        let has = if names.is_empty() { format!("no {what}s") } else { format!("the {what}s {names}") };
        let told = |each: &Verdict| {
            Error::user(format!("--{what} {}: the plan has no {what} of that name; it has {has}", each.name))
                .into()
        };
        unknown.map(told).collect()
    };
    let failures = [of("hook", &args.hooks, hooks), of("metric", &args.metrics, metrics)].concat();
    Failure::all(failures).map_or(Ok(()), Err)
}

async fn play(
    args: &Args,
    script: &Script,
    namespace: &str,
    outside: Arc<Outside>,
    screen: &mut Screen,
) -> Result<ending::Told> {
    let foreign: Vec<&str> = script
        .others
        .iter()
        .filter(|document| document.kind() == "CustomResourceDefinition")
        .map(|document| document.name())
        .collect();
    let mut world = World::open(namespace, &foreign, outside.clone()).await?;
    let subjects = stage::set(&mut world, script, args, screen).await?;
    let mut play = Play::new(world, args, outside);
    for (rollout, subject) in script.rollouts.iter().zip(subjects) {
        play.rollout(rollout, subject).await?;
    }
    let told = play.end();
    Ok(ending::Told { settings: settings(args), ..told })
}

/// What the run depended on.
fn settings(args: &Args) -> serde_json::Value {
    let fails: BTreeSet<String> = args.fails.iter().map(ToString::to_string).collect();
    json!({"seed": args.seed, "latency": args.latency.to_string(), "fail": fails})
}
