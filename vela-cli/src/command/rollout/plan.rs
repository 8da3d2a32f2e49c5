//! `vela rollout plan`: prints every batch of a plan with its sizes; asks no cluster.

use serde_json::{Value, json};
use vela_crds::RolloutPlan;
use vela_engine::Document;
use vela_engine::rollout::plan::{self, Distribution};
use vela_engine::rollout::preview::{Preview, Strategy, preview};

use crate::args::{Format, Pods, RolloutPlan as Args};
use crate::error::{Error, Failure, Result};
use crate::input;
use crate::screen::Screen;

pub(super) fn run(args: &Args, screen: &mut Screen) -> Result<()> {
    let documents = input::read(&args.files)?;
    let planned: Vec<&Document> =
        documents.iter().filter(|document| !document.value()["spec"]["rolloutPlan"].is_null()).collect();
    if planned.is_empty() {
        let error = Error::user("there is no rollout plan (spec.rolloutPlan) in what was given");
        return Err(error.hint("give an AppRollout, or an Application with a rolloutPlan").into());
    }
    let shown: Vec<Result<(String, Preview)>> = planned
        .iter()
        .map(|document| foresee(document, args).map(|found| (document.title(), found)))
        .collect();
    let mut failures = Vec::new();
    let mut found = Vec::new();
    for one in shown {
        match one {
            Ok(one) => found.push(one),
            Err(failure) => failures.push(failure),
        }
    }
    if let Some(failure) = Failure::all(failures) {
        return Err(failure);
    }
    if args.output == Format::Table {
        let text = found.iter().map(|(title, preview)| format!("{title}\n{preview}"));
        return screen.print(&text.collect::<Vec<_>>().join("\n"));
    }
    let all = found.iter().map(|(title, preview)| to_json(title, preview)).collect();
    screen.data(args.output, &Value::Array(all))
}

/// The plan that a document has, checked and completed as admission does it.
pub(super) fn planned(document: &Document, has_source: bool) -> Result<RolloutPlan> {
    let mut written = document.value()["spec"]["rolloutPlan"].clone();
    let mut findings = plan::check(&written);
    if let Some(fields) = written.as_object_mut() {
        // No webhook completes the plan of an Application.
        let how = (has_source && document.kind() != "Application").then_some(Distribution::RoundRobin);
        findings.extend(plan::complete(fields, how).err());
    }
    findings.extend(plan::missing(&written));
    let failures =
        findings.into_iter().map(|finding| misplanned(document, &finding.path, finding.message)).collect();
    if let Some(failure) = Failure::all(failures) {
        return Err(failure);
    }
    serde_json::from_value(written).map_err(|error| misplanned(document, "", error.to_string()))
}

/// Something is wrong at a field of the plan.
pub(super) fn misplanned(document: &Document, path: &str, message: String) -> Failure {
    let path = format!("spec.rolloutPlan.{path}");
    let path = path.trim_end_matches('.');
    let place = document.places().value(path).map_or_else(|| document.title(), |place| place.to_string());
    Error::user(format!("{place}: {path}: {message}")).into()
}

fn foresee(document: &Document, args: &Args) -> Result<Preview> {
    let spec = &document.value()["spec"];
    let is_application = document.kind() == "Application";
    // What an Application rolls out comes from its last revision.
    let has_source =
        is_application || spec["sourceAppRevisionName"].as_str().is_some_and(|name| !name.is_empty());
    let failure = |path: &str, message: String| misplanned(document, path, message);
    let plan = planned(document, has_source)?;
    let target = plan.target_size.map(i64::from);
    let now = args.size.map(i64::from);
    let unknown = || {
        let error = Error::user(format!("{}: how many pods are there now?", document.title()));
        Failure::from(error.hint("write --size NUMBER"))
    };
    let (way, source, target) = match (has_source, args.pods) {
        (false, _) => {
            let missing =
                || failure("targetSize", "a rollout without a source needs the size to go to".to_owned());
            (Strategy::Scale, now.ok_or_else(unknown)?, target.ok_or_else(missing)?)
        }
        (true, Pods::Replaced) => {
            let source = now.or(target).ok_or_else(unknown)?;
            (Strategy::Replace, source, target.unwrap_or(source))
        }
        (true, Pods::InPlace) => {
            let size = now.or(target).ok_or_else(unknown)?;
            (Strategy::InPlace, size, size)
        }
    };
    if way == Strategy::Replace && target < source {
        let message = format!("{target} is less than the {source} pods there are now; scale them first");
        return Err(failure("targetSize", message));
    }
    preview(&plan, way, source, target).map_err(|mismatch| failure("rolloutBatches", mismatch.to_string()))
}

fn to_json(title: &str, preview: &Preview) -> Value {
    let batches = preview.batches.iter().map(|batch| {
        let steps = batch.steps.iter().map(|step| json!({"source": step.source, "target": step.target}));
        json!({
            "pods": batch.pods,
            "steps": steps.collect::<Vec<_>>(),
            "maxUnavailable": batch.max_unavailable,
            "hooks": batch.hooks,
            "waitsBehind": batch.held,
        })
    });
    json!({
        "object": title,
        "batches": batches.collect::<Vec<_>>(),
        "leastAvailable": preview.least_available,
        "mostPods": preview.most_pods,
    })
}
