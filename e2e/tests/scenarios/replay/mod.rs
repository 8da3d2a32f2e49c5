//! Runs recorded with the real 1.0.7, replayed step by step: the same requests, the same answers, and equal objects once settled.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use vela_e2e::Result;
use vela_e2e::compare::{Difference, comparable, differences};
use vela_e2e::contents::Kinds;
use vela_e2e::objects::{Cluster, text};
use vela_e2e::passing::{Outcome, judge};
use vela_e2e::person::{Request, ask};
use vela_e2e::recording::{Recording, Step, recordings};
use vela_e2e::rules::{Rule, Rules};
use vela_e2e::target::{Target, is_real};

use crate::foreign::{accepted, install, namespace};
use crate::{repository, scenario};

mod rules;

/// How long a step may take until the objects are equal; where all is well it takes a second or two.
const STEP_DEADLINE: Duration = Duration::from_secs(120);
/// After a step that failed the next ones hardly get well: they are still looked at, but not for long.
const AFTER_FAILURE: Duration = Duration::from_secs(10);
/// Differences that stay the same so long are not going to change any more: well beyond every back-off of a busy machine.
const STILL: Duration = Duration::from_secs(45);
/// Equal objects have to stay equal so long, so that what the controller is about to do is not missed.
const EQUAL_LASTS: Duration = Duration::from_secs(2);
/// How often is looked: the looks of all runs must not slow down what they look at.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// More differences of one step help no reader.
const SHOWN: usize = 40;

/// What the recorder did not write down: what the cluster makes by itself, and what belongs to no run.
const NOT_RECORDED: [&str; 14] = [
    "Pod",
    "ReplicaSet",
    "Event",
    "Endpoints",
    "EndpointSlice",
    "ServiceAccount",
    "Secret",
    "ComponentDefinition",
    "TraitDefinition",
    "WorkloadDefinition",
    "ScopeDefinition",
    "PolicyDefinition",
    "WorkflowStepDefinition",
    "DefinitionRevision",
];

#[test]
fn recorded_runs_end_in_equal_objects() {
    scenario(replay(&vela_testkit::cases::folder("conformance/runs-v1.0")));
}

async fn replay(folder: &Path) -> Result<()> {
    let target = Target::open("replay").await?;
    let kinds = install(&target).await?;
    let mut rules = Rules::new(rules::TABLE);
    let recordings = recordings(folder)?;
    let runs = recordings.iter().map(|recording| run(&target, &kinds, recording, &rules));
    let mut outcomes = Vec::new();
    let mut used = BTreeSet::new();
    for done in futures::future::join_all(runs).await {
        let done = done?;
        used.extend(done.used);
        outcomes.push(done.outcome);
    }
    println!("cli: holds output of commands and no run");
    rules.needed(used);
    let file = repository("e2e/expected/passing.txt");
    judge(&file, "runs", &outcomes)?;
    let all_pass = outcomes.iter().all(|outcome| outcome.wrong.is_empty());
    let (by_chance, idle): (Vec<&Rule>, Vec<&Rule>) =
        rules.idle().into_iter().partition(|rule| rules::BY_CHANCE.contains(&rule.reason));
    for rule in &by_chance {
        println!("no run needed this time {rule:?}");
    }
    for rule in &idle {
        println!("no run needs {rule:?}");
    }
    // The rules of a step that was not reached are not idle.
    if all_pass && !idle.is_empty() {
        return Err(format!("rules that no run needs have to go: {idle:?}").into());
    }
    Ok(())
}

/// What became of a run, and which rules it needed.
struct Done {
    outcome: Outcome,
    used: BTreeSet<usize>,
}

async fn run(target: &Target, kinds: &Kinds, recording: &Recording, rules: &Rules) -> Result<Done> {
    let cluster = namespace(target, &recording.name).await?;
    for object in definitions(recording).iter().chain(left_over(recording)) {
        accepted(&cluster, object).await?;
    }
    let scene = Scene { cluster: &cluster, kinds, recording, rules };
    let (mut wrong, mut used) = (Vec::new(), BTreeSet::new());
    for (number, step) in recording.steps.iter().enumerate() {
        let deadline = if wrong.is_empty() { STEP_DEADLINE } else { AFTER_FAILURE };
        let (lines, needed) = scene.step(step, deadline).await?;
        wrong.extend(lines.into_iter().map(|line| format!("step{number}: {line}")));
        used.extend(needed);
    }
    Ok(Done { outcome: Outcome { name: recording.name.clone(), wrong }, used })
}

/// The definitions that were installed where it was recorded: the revisions of applications hold them.
fn definitions(recording: &Recording) -> Vec<Value> {
    let mut found: BTreeMap<(String, String), Value> = BTreeMap::new();
    let objects = recording.steps.iter().flat_map(|step| &step.objects);
    for revision in objects.filter(|object| object["kind"] == "ApplicationRevision") {
        for field in ["componentDefinitions", "workloadDefinitions", "traitDefinitions", "scopeDefinitions"] {
            for (name, definition) in revision["spec"][field].as_object().into_iter().flatten() {
                let mut definition = definition.clone();
                definition["metadata"] = json!({"name": name});
                if let Some(map) = definition.as_object_mut() {
                    map.remove("status");
                }
                found.insert((field.to_owned(), name.clone()), definition);
            }
        }
    }
    found.into_values().collect()
}

/// What an earlier recording had left where this one began: objects that are there before the step that makes them.
fn left_over(recording: &Recording) -> impl Iterator<Item = &Value> {
    let identity = |object: &Value| (object["kind"].clone(), object["metadata"]["name"].clone());
    let (first, later) = recording.steps.split_at(recording.steps.len().min(1));
    let there: Vec<_> = first.iter().flat_map(|step| &step.objects).map(identity).collect();
    later.iter().flat_map(|step| &step.requests).filter_map(move |(request, _)| match request {
        Request::Apply(object) if there.contains(&identity(object)) => Some(object),
        _ => None,
    })
}

struct Scene<'a> {
    cluster: &'a Cluster,
    kinds: &'a Kinds,
    recording: &'a Recording,
    rules: &'a Rules,
}

impl Scene<'_> {
    /// Asks what was asked and waits until the objects are those that were there.
    async fn step(&self, step: &Step, deadline: Duration) -> Result<(Vec<String>, BTreeSet<usize>)> {
        let mut wrong = Vec::new();
        for (request, answer) in &step.requests {
            let said = ask(self.cluster, self.kinds, request).await?;
            if said != *answer {
                wrong.push(format!("the API server's answer: expected {answer:?}, found {said:?}"));
            }
        }
        let expected: Vec<Value> =
            step.objects.iter().map(|object| comparable(object, &self.recording.name)).collect();
        let end = Instant::now() + deadline;
        let mut still = Still::new();
        loop {
            let (left, used) = self.look(&expected, false).await?;
            let same_for = still.same_for(&left);
            let over = Instant::now() > end || same_for >= STILL;
            if over || (left.is_empty() && same_for >= EQUAL_LASTS) {
                // Among all kinds there may be something too much, which may also be about to go.
                let (left, all_used) = self.look(&expected, true).await?;
                if left.is_empty() || over {
                    wrong.extend(left.iter().take(SHOWN).map(ToString::to_string));
                    if left.len() > SHOWN {
                        wrong.push(format!("and {} more", left.len() - SHOWN));
                    }
                    return Ok((wrong, used.into_iter().chain(all_used).collect()));
                }
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// The differences now: cheaply among the kinds of the run, and at last among all there are.
    async fn look(&self, expected: &[Value], all: bool) -> Result<(Vec<Difference>, BTreeSet<usize>)> {
        let live = match all {
            true => self.kinds.everything(self.cluster, &NOT_RECORDED).await?,
            false => self.kinds.list(self.cluster, &self.kinds_of_the_run()).await?,
        };
        // The schemas belong to the definitions that were put here instead of the system's namespace.
        let usual = |object: &Value| {
            let name = text(object, "/metadata/name");
            object["kind"] == "ConfigMap" && (name == "kube-root-ca.crt" || name.contains("schema-"))
        };
        let live: Vec<Value> = live
            .iter()
            .filter(|object| !usual(object))
            .map(|object| comparable(object, self.cluster.namespace()))
            .collect();
        Ok(self.rules.unexcused(&self.recording.name, differences(expected, &live)))
    }

    fn kinds_of_the_run(&self) -> Vec<(String, String)> {
        let objects = self.recording.steps.iter().flat_map(|step| &step.objects);
        let kind =
            |object: &Value| (text(object, "/apiVersion").to_owned(), text(object, "/kind").to_owned());
        objects.map(kind).collect::<BTreeSet<_>>().into_iter().collect()
    }
}

/// For how long the differences have been the same.
struct Still {
    left: Vec<Difference>,
    since: Instant,
}

impl Still {
    fn new() -> Self {
        Self { left: Vec::new(), since: Instant::now() }
    }

    fn same_for(&mut self, left: &[Difference]) -> Duration {
        if self.left != left {
            *self = Self { left: left.to_vec(), since: Instant::now() };
        }
        self.since.elapsed()
    }
}

#[test]
fn every_rule_is_told_to_the_reader() {
    let document =
        std::fs::read_to_string(repository("docs/differences/recorded-runs.md")).unwrap_or_default();
    assert_eq!(Rules::new(rules::TABLE).undocumented(&document), Vec::<&str>::new());
    assert!(is_real() || !rules::TABLE.is_empty());
}
