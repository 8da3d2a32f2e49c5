//! Reads from documents what a simulated cluster holds before, and which rollouts run in which order.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use vela_crds::{RolloutPlan, annotations};
use vela_engine::Document;

use super::super::plan::planned;
use crate::error::{Error, Failure, Result};
use crate::order;

/// What is played.
pub(super) struct Scenario {
    /// Definitions and whatever else is there from the beginning.
    pub(super) others: Vec<Document>,
    /// Applications in the order of their revisions; all of them are there before the first rollout begins.
    pub(super) applications: Vec<Document>,
    /// One after the other: each is applied when the one before has come to an end or waits for a person.
    pub(super) rollouts: Vec<Rollout>,
}

/// One rollout.
#[derive(Clone)]
pub(super) struct Rollout {
    /// What is applied at its beginning.
    pub(super) object: Value,
    /// Name of the AppRollout.
    pub(super) name: String,
    pub(super) namespace: String,
    pub(super) application: String,
    /// Number of the revision that it goes to.
    pub(super) target: u64,
    /// Number of the revision that it comes from.
    pub(super) source: Option<u64>,
    /// The components named.
    pub(super) components: Vec<String>,
    pub(super) plan: RolloutPlan,
    /// Does the Application keep the AppRollout itself?
    pub(super) is_inline: bool,
    document: Document,
}

impl Rollout {
    /// Name of the revision it goes to.
    pub(super) fn target_name(&self) -> String {
        format!("{}-v{}", self.application, self.target)
    }

    /// Name of the revision it comes from.
    pub(super) fn source_name(&self) -> Option<String> {
        self.source.map(|source| format!("{}-v{source}", self.application))
    }

    /// The Application that is applied at its beginning, where it keeps its AppRollout itself.
    pub(super) fn own_application(&self) -> Option<Document> {
        self.is_inline.then(|| self.document.clone())
    }

    /// A mistake in one of its fields.
    pub(super) fn mistake(&self, path: &str, message: &str) -> Error {
        mistake(&self.document, path, message)
    }
}

/// A mistake in a field of a document.
pub(super) fn mistake(document: &Document, path: &str, message: &str) -> Error {
    let places = document.places();
    let place = places.value(path).or_else(|| places.value("metadata.name"));
    let place = place.map_or_else(|| document.title(), |place| place.to_string());
    Error::user(format!("{place}: {path}: {message}"))
}

impl Scenario {
    /// Sorts the documents; everything that they lack is told with its place.
    pub(super) fn read(documents: Vec<Document>, namespace: &str) -> Result<Self> {
        let (mut others, mut applications, mut asked) = (Vec::new(), Vec::new(), Vec::new());
        for document in documents {
            let ours = document.api_version().starts_with("core.oam.dev/");
            match document.kind() {
                "AppRollout" if ours => asked.push(document.in_namespace(namespace)),
                "Application" if ours => applications.push(document.in_namespace(namespace)),
                _ => others.push(document),
            }
        }
        order::sort(&mut others);
        let rollouts = match asked.is_empty() {
            true => inline(&mut applications)?,
            false => {
                let read = asked.iter().map(|document| named(document, &applications));
                collect(read.collect())?
            }
        };
        Ok(Self { others, applications, rollouts })
    }

    /// The number of the first revision of each application that makes the given ones fit the names in the rollouts:
    /// what is given of `shop` may be `shop-v6` and `shop-v7`.
    pub(super) fn first_revisions(&self) -> Result<BTreeMap<(String, String), u64>> {
        let mut first = BTreeMap::new();
        let mut failures = Vec::new();
        for rollout in self.rollouts.iter().filter(|rollout| !rollout.is_inline) {
            let key = (rollout.namespace.clone(), rollout.application.clone());
            let of = |one: &&Rollout| one.namespace == key.0 && one.application == key.1;
            let numbers =
                self.rollouts.iter().filter(of).flat_map(|one| one.source.into_iter().chain([one.target]));
            let highest = numbers.max().unwrap_or(1);
            let given = self.given(&key).count() as u64;
            let lowest = (highest + 1).saturating_sub(given).max(1);
            for (path, number) in [
                ("spec.sourceAppRevisionName", rollout.source),
                ("spec.targetAppRevisionName", Some(rollout.target)),
            ] {
                if let Some(number) = number.filter(|number| *number < lowest) {
                    let application = &rollout.application;
                    let taken = match given {
                        1 => format!("the Application given is taken for {application}-v{highest}"),
                        _ => format!(
                            "the {given} Applications given are taken for {application}-v{lowest} to -v{highest}"
                        ),
                    };
                    let message = format!("there is no {application}-v{number}: {taken}");
                    let hint = format!(
                        "give {application} as it was in -v{number}, too, and before the others: -f before.yaml -f after.yaml -f rollout.yaml"
                    );
                    failures.push(rollout.mistake(path, &message).hint(hint).into());
                }
            }
            first.insert(key, lowest);
        }
        Failure::all(failures).map_or(Ok(first), Err)
    }

    /// The documents of an application, in the order of its revisions.
    pub(super) fn given<'a>(&'a self, key: &'a (String, String)) -> impl Iterator<Item = &'a Document> {
        self.applications.iter().filter(move |one| one.namespace() == key.0 && one.name() == key.1)
    }
}

fn collect<T>(all: Vec<Result<T>>) -> Result<Vec<T>> {
    let mut failures = Vec::new();
    let mut good = Vec::new();
    for one in all {
        match one {
            Ok(one) => good.push(one),
            Err(failure) => failures.push(failure),
        }
    }
    Failure::all(failures).map_or(Ok(good), Err)
}

/// What an AppRollout asks for.
fn named(document: &Document, applications: &[Document]) -> Result<Rollout> {
    let spec = &document.value()["spec"];
    let revision = |field: &str| -> Result<Option<(String, u64)>> {
        let path = format!("spec.{field}");
        let Some(name) = spec[field].as_str().filter(|name| !name.is_empty()) else { return Ok(None) };
        let parts =
            name.rsplit_once("-v").and_then(|(app, number)| Some((app.to_owned(), number.parse().ok()?)));
        let (application, number) = parts.filter(|(_, number)| *number > 0).ok_or_else(|| {
            mistake(document, &path, &format!("{name:?} is no revision; expected <application>-v<N>"))
        })?;
        let is_given = |one: &&Document| one.name() == application && one.namespace() == document.namespace();
        let Some(given) = applications.iter().rfind(is_given) else {
            let message = format!("there is no Application {application:?} in what was given");
            let error = mistake(document, &path, &message);
            return Err(error
                .hint("give it as it is and as it will be: -f before.yaml -f after.yaml -f rollout.yaml")
                .into());
        };
        let marks = &given.value()["metadata"]["annotations"];
        if marks[annotations::ROLLOUT_TEMPLATE].is_null() {
            let message = format!(
                "Application {application:?} applies its workloads itself, at once, and an AppRollout is refused for it: it needs \
                 the annotation {}: \"true\"",
                annotations::ROLLOUT_TEMPLATE
            );
            return Err(mistake(given, "metadata.annotations", &message).into());
        }
        Ok(Some((application, number)))
    };
    let target = revision("targetAppRevisionName")?.ok_or_else(|| {
        mistake(
            document,
            "spec.targetAppRevisionName",
            "expected the name of the revision to go to, <application>-v<N>",
        )
    })?;
    let source = revision("sourceAppRevisionName")?;
    if let Some((application, _)) = &source
        && *application != target.0
    {
        let message =
            format!("a rollout stays within one application, and its target is one of {:?}", target.0);
        return Err(mistake(document, "spec.sourceAppRevisionName", &message).into());
    }
    let plan = planned(document, source.is_some())?;
    let mut object = document.value().clone();
    object["spec"]["rolloutPlan"] = json!(plan);
    let listed = spec["componentList"].as_array();
    Ok(Rollout {
        object,
        name: document.name().to_owned(),
        namespace: document.namespace().to_owned(),
        application: target.0,
        target: target.1,
        source: source.map(|(_, number)| number),
        components: listed.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect(),
        plan,
        is_inline: false,
        document: document.clone(),
    })
}

/// Applications with a plan of their own: the first content is what runs, each further one is a rollout.
fn inline(applications: &mut Vec<Document>) -> Result<Vec<Rollout>> {
    let Some(planned_one) = applications.iter().find(|one| one.value()["spec"]["rolloutPlan"].is_object())
    else {
        let message = "there is no AppRollout in what was given, and no Application with a rolloutPlan";
        let error = match applications.last() {
            Some(application) => {
                mistake(application, "spec", &format!("only {} is given: {message}", application.title()))
            }
            None => Error::user(message),
        };
        return Err(error
            .hint("give the Application as it is, as it will be, and the AppRollout: -f before.yaml -f after.yaml -f rollout.yaml")
            .into());
    };
    let (namespace, name) = (planned_one.namespace().to_owned(), planned_one.name().to_owned());
    let is_it = |one: &Document| one.name() == name && one.namespace() == namespace;
    if applications.iter().filter(|one| is_it(one)).count() < 2 {
        let message =
            "the first revision of an Application is applied at once, and its plan is for what follows";
        let error = mistake(planned_one, "spec.rolloutPlan", message);
        return Err(error.hint("give it as it is, too: -f before.yaml -f after.yaml").into());
    }
    let (all, rest): (Vec<Document>, Vec<Document>) =
        std::mem::take(applications).into_iter().partition(is_it);
    *applications = rest;
    applications.extend(all.first().cloned());
    // A content that was there before is rolled out under the name it had then.
    let mut contents: Vec<&Value> = Vec::new();
    let mut numbers = Vec::new();
    for document in &all {
        let content = &document.value()["spec"]["components"];
        let known = contents.iter().position(|known| *known == content);
        let at = known.unwrap_or_else(|| {
            contents.push(content);
            contents.len() - 1
        });
        numbers.push(at as u64 + 1);
    }
    let later = all.iter().enumerate().skip(1).map(|(at, document)| {
        Ok(Rollout {
            object: document.value().clone(),
            name: name.clone(),
            namespace: namespace.clone(),
            application: name.clone(),
            target: numbers[at],
            source: Some(numbers[at - 1]),
            components: Vec::new(),
            plan: planned(document, true)?,
            is_inline: true,
            document: document.clone(),
        })
    });
    collect(later.collect())
}
