//! Sets up a simulated cluster as it is before the rollout: the source runs.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use vela_engine::Document;
use vela_engine::render::{Role, State};
use vela_engine::rollout::preview::{Preview, Strategy, preview};
use vela_engine::rollout::size::Sizes;

use super::pod_counts::{Subject, Workload};
use super::scenario::{Rollout, Scenario};
use crate::appfile::Origins;
use crate::args::RolloutSimulate as Args;
use crate::command::up::place;
use crate::error::{Error, Failure, Result};
use crate::screen::Screen;
use crate::simulated_cluster::SimulatedCluster;
use crate::{crd, offline};

const API_VERSION: &str = "core.oam.dev/v1beta1";
/// Name of the rollout that brings the source to its size.
const BEFORE: &str = "vela-simulate-before";
/// What stands before the rollout stands after this long in the time of the simulation, or never.
const STANDS_WITHIN: Duration = Duration::from_secs(15 * 60);
/// Sizes that are tried where only the batches tell how many pods there are.
const LARGEST_GUESS: i64 = 1000;

/// What one rollout begins with.
pub(super) struct InitialState {
    pub(super) subject: Subject,
    /// What the plan promises of these workloads.
    pub(super) preview: Preview,
    /// Words about how many pods there are, where no object says it.
    pub(super) size: String,
}

/// Sets the stage; answers with what each rollout is about.
pub(super) async fn set_up(
    simulated: &mut SimulatedCluster,
    scenario: &Scenario,
    args: &Args,
    screen: &mut Screen,
) -> Result<Vec<InitialState>> {
    let first = scenario.first_revisions()?;
    namespaces(simulated, scenario).await?;
    for document in &scenario.others {
        simulated
            .cluster()
            .apply(document.value(), true, false)
            .await
            .map_err(|error| error.at(place(document)))?;
        if document.kind() == "CustomResourceDefinition" {
            crd::established(simulated.cluster(), document.name()).await?;
        }
    }
    let all = scenario
        .applications
        .iter()
        .cloned()
        .chain(scenario.rollouts.iter().filter_map(Rollout::own_application));
    let mut warnings = BTreeSet::new();
    for application in all {
        warnings
            .extend(offline::check(simulated.cluster(), &[application], &Origins::default(), false).await?);
    }
    warnings.iter().for_each(|warning| screen.say(warning));
    let mut initials = Vec::new();
    for rollout in &scenario.rollouts {
        initials.push(initial(simulated, scenario, &first, rollout, args).await?);
    }
    applications(simulated, scenario, &first).await?;
    if let (Some(rollout), Some(initial)) = (scenario.rollouts.first(), initials.first()) {
        source(simulated, rollout, initial, args).await?;
    }
    Ok(initials)
}

/// Namespaces that documents name are there.
async fn namespaces(simulated: &SimulatedCluster, scenario: &Scenario) -> Result<()> {
    let own = scenario.others.iter().filter(|document| document.kind() == "Namespace").map(Document::name);
    let own: BTreeSet<&str> = own.collect();
    let named = scenario.others.iter().chain(&scenario.applications).map(Document::namespace);
    let named = named.chain(scenario.rollouts.iter().map(|rollout| rollout.namespace.as_str()));
    for name in named.chain([simulated.cluster().namespace()]).collect::<BTreeSet<&str>>() {
        if !name.is_empty() && !own.contains(name) {
            let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
            simulated.cluster().apply(&object, true, false).await?;
        }
    }
    Ok(())
}

/// Every content of every application is a revision, in the order given.
async fn applications(
    simulated: &mut SimulatedCluster,
    scenario: &Scenario,
    first: &BTreeMap<(String, String), u64>,
) -> Result<()> {
    let mut contents: BTreeMap<(String, String), u64> = BTreeMap::new();
    let key = |one: &Document| (one.namespace().to_owned(), one.name().to_owned());
    let (begin, follow): (Vec<&Document>, Vec<&Document>) = scenario
        .applications
        .iter()
        .partition(|one| *contents.entry(key(one)).and_modify(|count| *count += 1).or_insert(1) == 1);
    for document in &begin {
        apply(simulated, document).await?;
        if let Some(number) = first.get(&key(document)).filter(|number| **number > 1) {
            numbered(simulated, document, number - 1).await?;
        }
    }
    simulated.start();
    simulated.settle(STANDS_WITHIN).await?;
    let mut recorded: BTreeMap<(String, String), u64> = BTreeMap::new();
    for document in begin.iter().chain(&follow) {
        if recorded.contains_key(&key(document)) {
            apply(simulated, document).await?;
            simulated.settle(STANDS_WITHIN).await?;
        }
        let number =
            recorded.get(&key(document)).map_or(first.get(&key(document)).copied().unwrap_or(1), |n| n + 1);
        recorded.insert(key(document), number);
        is_recorded(simulated, document, number)?;
    }
    Ok(())
}

async fn apply(simulated: &SimulatedCluster, document: &Document) -> Result<()> {
    let applied = simulated.cluster().apply(document.value(), true, false).await;
    applied.map(drop).map_err(|error| error.at(place(document)))
}

/// The application's last revision had this number.
async fn numbered(simulated: &SimulatedCluster, document: &Document, number: u64) -> Result<()> {
    let api =
        simulated.cluster().api(document.api_version(), "Application", Some(document.namespace())).await?;
    let name = format!("{}-v{number}", document.name());
    let latest = json!({"name": name, "revision": number, "revisionHash": "before-the-simulation"});
    let patch = Patch::Merge(json!({"status": {"latestRevision": latest}}));
    let written = api.patch_status(document.name(), &PatchParams::default(), &patch).await;
    written.map(drop).map_err(|error| simulated.cluster().failure("take the number of a revision", &error))
}

/// The revision of a document is there; otherwise the application says why not.
fn is_recorded(simulated: &SimulatedCluster, document: &Document, number: u64) -> Result<()> {
    let revision = format!("{}-v{number}", document.name());
    let find = |resource: &str, name: &str| simulated.store().find(resource, document.namespace(), name);
    if find("applicationrevisions.core.oam.dev", &revision).is_some() {
        return Ok(());
    }
    let live = find("applications.core.oam.dev", document.name()).map(|live| live.shared());
    let conditions = live.as_ref().and_then(|live| live["status"]["conditions"].as_array());
    let failed = conditions.into_iter().flatten().find(|each| each["status"] == "False");
    let error = match failed.and_then(|failed| failed["message"].as_str()) {
        Some(message) => Error::user(format!("{}: {revision} is not made: {message}", place(document))),
        None => Error::user(format!(
            "{}: {revision} is not made: this says what the Application before it says",
            place(document)
        ))
        .hint("a revision differs from the one before it in its spec or in a definition that it uses"),
    };
    Err(error.into())
}

/// What a rollout is about, and what its plan promises.
async fn initial(
    simulated: &SimulatedCluster,
    scenario: &Scenario,
    first: &BTreeMap<(String, String), u64>,
    rollout: &Rollout,
    args: &Args,
) -> Result<InitialState> {
    let document = match rollout.own_application() {
        Some(document) => document,
        None => {
            let key = (rollout.namespace.clone(), rollout.application.clone());
            let lowest = first.get(&key).copied().unwrap_or(1);
            let at = usize::try_from(rollout.target.saturating_sub(lowest)).unwrap_or(usize::MAX);
            let found = scenario.given(&key).nth(at).cloned();
            found.ok_or_else(|| {
                rollout.mistake("spec.targetAppRevisionName", "this revision is not among what was given")
            })?
        }
    };
    let workloads = workloads(simulated, &document, rollout).await?;
    let subject = Subject {
        namespace: rollout.namespace.clone(),
        application: rollout.application.clone(),
        target: rollout.target,
        workloads,
    };
    let way = match (rollout.source, subject.workloads.first().is_some_and(Workload::is_in_place)) {
        (None, _) => Strategy::Scale,
        (Some(_), true) => Strategy::InPlace,
        (Some(_), false) => Strategy::Replace,
    };
    let (before, size) = size(rollout, &subject, way, args)?;
    let after = rollout.plan.target_size.map_or(before, i64::from);
    let preview = preview(&rollout.plan, way, before, after).unwrap_or(Preview {
        // The controller tells what does not fit.
        batches: Vec::new(),
        least_available: 0,
        most_pods: 0,
    });
    for fail in &args.fails {
        let Some(batch) = preview.batches.get(fail.batch - 1) else {
            let message = format!("--fail {fail}: the plan has {} batches", preview.batches.len());
            return Err(Error::user(message).into());
        };
        if i64::try_from(fail.pod).is_ok_and(|pod| pod > batch.pods) {
            let message = format!("--fail {fail}: batch {} has {} pods", fail.batch, batch.pods);
            return Err(Error::user(message).into());
        }
    }
    Ok(InitialState { subject, preview, size })
}

/// The workloads of the components that roll, as the target renders them.
async fn workloads(
    simulated: &SimulatedCluster,
    document: &Document,
    rollout: &Rollout,
) -> Result<Vec<Workload>> {
    let cluster = simulated.cluster();
    let reader = offline::of_cluster(cluster, &[]).await?;
    let unread = |error| offline::unread(Some(cluster), error);
    let inputs = offline::RenderInputs::read(&reader, vec![document.clone()], &[], unread).await?;
    let rendered = offline::render(inputs, false)?;
    let mut found = Vec::new();
    for rendered in &rendered {
        let names = rendered.app_file().components();
        for component in rendered.components() {
            let name = &names[component.index].name;
            let State::Ready(objects) = &component.state else { continue };
            let listed = rollout.components.is_empty() || rollout.components.contains(name);
            let workload = objects.iter().find(|object| object.role == Role::Workload);
            if let Some(workload) = workload.filter(|_| listed) {
                let text = |field: &str| workload.object[field].as_str().unwrap_or_default().to_owned();
                found.push(Workload {
                    component: name.clone(),
                    api_version: text("apiVersion"),
                    kind: text("kind"),
                    replicas: workload.object["spec"]["replicas"].as_i64(),
                });
            }
        }
    }
    if found.is_empty() {
        let message = format!("{} has no component of that name", rollout.target_name());
        return Err(rollout.mistake("spec.componentList", &message).into());
    }
    Ok(found)
}

/// How many pods there are before, and in words where that comes from.
fn size(rollout: &Rollout, subject: &Subject, way: Strategy, args: &Args) -> Result<(i64, String)> {
    if let Some(size) = args.size.map(i64::from) {
        return Ok((size, "--size".to_owned()));
    }
    if way == Strategy::Scale {
        return Ok((0, "nothing runs before; --size says otherwise".to_owned()));
    }
    if let Some(replicas) = subject.workloads.iter().find_map(|workload| workload.replicas) {
        return Ok((replicas, "as the component says".to_owned()));
    }
    if let Some(target) = rollout.plan.target_size {
        return Ok((i64::from(target), "as targetSize says; --size says otherwise".to_owned()));
    }
    let fits = |size: &i64| Sizes::rollout(&rollout.plan, *size).check_rollout().is_ok();
    let mut fitting = (1..=LARGEST_GUESS).filter(fits);
    match (fitting.next(), fitting.next()) {
        (Some(size), None) => {
            Ok((size, "as many as the batches add up to; --size says otherwise".to_owned()))
        }
        _ => {
            let message = "how many pods there are is said neither by the component nor by the batches";
            let error = rollout.mistake("spec.rolloutPlan", message);
            Err(error.hint("write --size NUMBER, or replicas into the component").into())
        }
    }
}

/// The source runs, as if it had been there for long.
async fn source(
    simulated: &mut SimulatedCluster,
    rollout: &Rollout,
    initial: &InitialState,
    args: &Args,
) -> Result<()> {
    let runs = match rollout.source_name() {
        _ if rollout.is_inline => None,
        Some(source) => Some(source),
        None => args.size.map(|_| rollout.target_name()),
    };
    let Some(revision) = runs else { return Ok(()) };
    let (size, _) = size(rollout, &initial.subject, Strategy::InPlace, args)?;
    for workload in &initial.subject.workloads {
        let plan = json!({"targetSize": size, "rolloutBatches": [{"replicas": "100%"}]});
        let object = json!({
            "apiVersion": API_VERSION, "kind": "AppRollout",
            "metadata": {"name": BEFORE, "namespace": rollout.namespace},
            "spec": {"targetAppRevisionName": revision, "componentList": [workload.component], "rolloutPlan": plan},
        });
        simulated.cluster().apply(&object, true, false).await?;
        simulated.settle(STANDS_WITHIN).await?;
        let find = || simulated.store().find("approllouts.core.oam.dev", &rollout.namespace, BEFORE);
        let status = find().map_or(Value::Null, |found| found.shared()["status"].clone());
        if status["rollingState"] != "rolloutSucceed" {
            let conditions = status["conditions"].as_array().into_iter().flatten();
            let mut why = conditions
                .filter(|each| each["status"] == "False")
                .filter_map(|each| each["message"].as_str());
            let why = why.next_back().unwrap_or("it does not come to an end");
            let message =
                format!("{revision} cannot be brought to run, so there is nothing to come from: {why}");
            return Err(Failure::from(rollout.mistake("spec.sourceAppRevisionName", &message)));
        }
        simulated.cluster().delete(API_VERSION, "AppRollout", Some(&rollout.namespace), BEFORE).await?;
        simulated.settle(STANDS_WITHIN).await?;
    }
    Ok(())
}
