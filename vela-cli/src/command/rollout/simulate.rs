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
use crate::args::{Format, Global, RolloutSimulate as Args};
use crate::error::{Error, Failure, Result};
use crate::input;
use crate::screen::{Screen, data};

pub(super) fn run(args: &Args, global: &Global, screen: &mut Screen) -> Result<()> {
    let namespace = global.namespace.as_deref().unwrap_or("default");
    let script = Script::read(input::read(&args.files)?, namespace)?;
    let plans = script.rollouts.iter().map(|rollout| &rollout.plan);
    let outside = Arc::new(Outside::new(plans, &args.hooks));
    known_hooks(args, &outside)?;
    let told = in_virtual_time(play(args, &script, namespace, outside, screen))?;
    match args.output {
        Format::Table => screen.print(&told.text())?,
        format => screen.print(&data(format, &told.json())?)?,
    }
    told.verdict()
}

/// A misspelt hook would be one that never fails.
fn known_hooks(args: &Args, outside: &Outside) -> Result<()> {
    let names = outside.names();
    let unknown = args.hooks.iter().filter(|each| !names.contains(each.name.as_str()));
    let failures = unknown.map(|each| {
        let names = names.iter().copied().collect::<Vec<_>>().join(", ");
        let there = if names.is_empty() { "no hooks".to_owned() } else { format!("the hooks {names}") };
        Error::user(format!("--hook {}: the plan has no hook of that name; it has {there}", each.name)).into()
    });
    Failure::all(failures.collect()).map_or(Ok(()), Err)
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
