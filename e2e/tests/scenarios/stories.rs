//! The examples of v0.3 and v1.0: every file is in a story that comes to its expected end, or is left out with a reason.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use vela_e2e::Result;
use vela_e2e::contents::Kinds;
use vela_e2e::expected::documents;
use vela_e2e::objects::{Cluster, until};
use vela_e2e::passing::{Outcome, judge};
use vela_e2e::target::Target;

use crate::foreign::{accepted, install, namespace};
use crate::{repository, scenario};

/// How long a step of a story may take on a busy machine; it ends as soon as what is expected holds.
const STEP_DEADLINE: Duration = Duration::from_secs(120);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    kinds: BTreeMap<String, String>,
    stories: Vec<Story>,
    left: Vec<Left>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Story {
    name: String,
    r#in: String,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    apply: Vec<String>,
    expect: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Left {
    path: String,
    reason: String,
}

/// Kinds of the cluster, not of a story.
const OF_THE_CLUSTER: [&str; 2] = ["ClusterRole", "CustomResourceDefinition"];

#[test]
fn examples_come_to_their_end() {
    let folder = vela_testkit::cases::folder("examples");
    scenario(async {
        let table: Table =
            serde_saphyr::from_str(&std::fs::read_to_string(repository("e2e/expected/stories.yaml"))?)?;
        let definitions = sorted(&folder, &table)?;
        let target = Target::open("stories").await?;
        let kinds = install(&target).await?;
        let tellers = table.stories.iter().map(|story| tell(&target, &kinds, &folder, &table.kinds, story));
        let mut outcomes = Vec::new();
        for outcome in futures::future::join_all(tellers).await {
            outcomes.push(outcome?);
        }
        for (number, file) in definitions.iter().enumerate() {
            let cluster = namespace(&target, &format!("definition-{number}")).await?;
            let outcome = apply(&cluster, &folder.join(file)).await;
            let wrong = outcome.err().iter().map(ToString::to_string).collect();
            outcomes.push(Outcome { name: file.clone(), wrong });
        }
        judge(&repository("e2e/expected/passing.txt"), "examples", &outcomes)
    });
}

/// Checks that every file has its place; returns the files that hold nothing but definitions and are in no story.
fn sorted(folder: &Path, table: &Table) -> Result<Vec<String>> {
    let mut used = BTreeSet::new();
    for story in &table.stories {
        used.extend(
            story.steps.iter().flat_map(|step| &step.apply).map(|file| format!("{}{file}", story.r#in)),
        );
    }
    let mut files = Vec::new();
    for era in ["v0.3", "v1.0"] {
        walk(folder, era, &mut files)?;
    }
    let (mut definitions, mut unsorted, mut left) = (Vec::new(), Vec::new(), 0);
    for file in &files {
        if used.remove(file) {
            continue;
        }
        if let Some(entry) = table.left.iter().find(|entry| file.starts_with(&entry.path)) {
            println!("examples {file}: left out: {}", entry.reason);
            left += 1;
        } else if documents(&std::fs::read_to_string(folder.join(file))?)?
            .iter()
            .all(|object| object["kind"].as_str().is_some_and(|kind| kind.ends_with("Definition")))
        {
            definitions.push(file.clone());
        } else {
            unsorted.push(file.clone());
        }
    }
    println!("examples: {} files, {left} of them left out with a reason", files.len());
    if !unsorted.is_empty() || !used.is_empty() {
        return Err(format!("without a place: {unsorted:?}; not there: {used:?}").into());
    }
    Ok(definitions)
}

fn walk(folder: &Path, inner: &str, files: &mut Vec<String>) -> Result<()> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder.join(inner))? {
        let entry = entry?;
        names.push((format!("{inner}/{}", entry.file_name().to_string_lossy()), entry.file_type()?.is_dir()));
    }
    names.sort();
    for (name, is_folder) in names {
        if is_folder {
            walk(folder, &name, files)?;
        } else {
            files.push(name);
        }
    }
    Ok(())
}

async fn apply(cluster: &Cluster, file: &Path) -> Result<()> {
    for object in documents(&std::fs::read_to_string(file)?)? {
        if !OF_THE_CLUSTER.iter().any(|kind| object["kind"] == *kind) {
            accepted(cluster, &object).await?;
        }
    }
    Ok(())
}

async fn tell(
    target: &Target,
    kinds: &Kinds,
    folder: &Path,
    versions: &BTreeMap<String, String>,
    story: &Story,
) -> Result<Outcome> {
    let cluster = namespace(target, &story.name.replace('.', "-")).await?;
    let mut wrong = Vec::new();
    for (number, step) in story.steps.iter().enumerate() {
        for file in &step.apply {
            if let Err(error) = apply(&cluster, &folder.join(format!("{}{file}", story.r#in))).await {
                wrong.push(format!("step {number}: {file}: {error}"));
            }
        }
        let end = until("the step ends as expected", STEP_DEADLINE, async || {
            let mut open = Vec::new();
            for line in &step.expect {
                let found =
                    holds(&cluster, kinds, versions, line).await.map_err(|error| error.to_string())?;
                open.extend(found.map(|found| format!("{line}: {found}")));
            }
            if open.is_empty() { Ok(()) } else { Err(open.join("; ")) }
        });
        if let Err(error) = end.await {
            wrong.push(format!("step {number}: {error}"));
            break;
        }
    }
    Ok(Outcome { name: story.name.clone(), wrong })
}

/// What is wrong with one expectation `KIND/NAME WORD`; `Any/KIND` is some object of the kind.
async fn holds(
    cluster: &Cluster,
    kinds: &Kinds,
    versions: &BTreeMap<String, String>,
    line: &str,
) -> Result<Option<String>> {
    let (object, word) = line.split_once(' ').ok_or_else(|| format!("no word in {line}"))?;
    let (kind, name) = object.split_once('/').ok_or_else(|| format!("no name in {line}"))?;
    let kind_of =
        |kind: &str| versions.get(kind).ok_or_else(|| format!("stories.yaml gives no version of {kind}"));
    let live = match kind {
        "Any" => {
            let wanted = (kind_of(name)?.clone(), name.to_owned());
            kinds.list(cluster, &[wanted]).await?.into_iter().next()
        }
        _ => match cluster.get(kind_of(kind)?, kind, name).await {
            Ok(found) => found,
            Err(error) => return Ok(Some(error.to_string())),
        },
    };
    let Some(live) = live else { return Ok((word != "missing").then(|| "it is not there".to_owned())) };
    let status = &live["status"];
    let current = status["observedGeneration"] == live["metadata"]["generation"];
    let synced = status["conditions"]
        .as_array()
        .is_some_and(|all| all.iter().any(|one| one["type"] == "Synced" && one["status"] == "True"));
    let well = match word {
        "exists" => true,
        "missing" => false,
        "running" => current && status["status"] == "running",
        "synced" => current && synced,
        "tells" => status["conditions"].as_array().is_some_and(|all| {
            let says = |one: &Value| one["message"].as_str().is_some_and(|message| !message.is_empty());
            all.iter().any(|one| one["status"] == "False" && says(one))
        }),
        "waits" => status["dependency"]["unsatisfied"].as_array().is_some_and(|all| !all.is_empty()),
        "healthy" => status["scopeHealthCondition"]["healthStatus"] == "HEALTHY",
        "ready" => {
            let wanted = live["spec"]["replicas"].as_i64();
            current && wanted.is_some() && status["readyReplicas"].as_i64() == wanted
        }
        other => return Err(format!("{other} has no meaning here").into()),
    };
    Ok((!well).then(|| shown(status)))
}

fn shown(status: &Value) -> String {
    /// Enough to see why.
    const LENGTH: usize = 500;
    status.to_string().chars().take(LENGTH).collect()
}
