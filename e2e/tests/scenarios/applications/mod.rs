//! Applications that the real KubeVela 1.11 deployed: those with components and traits only become equal objects and the same phase.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use futures::{StreamExt as _, TryStreamExt as _};
use serde_json::{Value, json};
use vela_e2e::Result;
use vela_e2e::compare::{Difference, comparable, differences};
use vela_e2e::contents::Kinds;
use vela_e2e::expected::documents;
use vela_e2e::objects::{Cluster, text};
use vela_e2e::passing::{Outcome, judge};
use vela_e2e::rules::Rules;
use vela_e2e::target::Target;

use crate::foreign::{accepted, namespace};
use crate::{repository, scenario};

mod rules;

/// How long an application may take on a busy machine. Most of the recorded ones took ten seconds.
const SETTLE_DEADLINE: Duration = Duration::from_secs(120);
/// An application whose differences stay the same so long is not going to change any more.
const STILL: Duration = Duration::from_secs(20);
/// How often is looked; a look lists every kind.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Applications deployed at the same time: the looks at more of them would slow down what they look at.
const AT_ONCE: usize = 8;
/// More differences of one application help no reader.
const SHOWN: usize = 12;

/// What the cluster makes by itself, and what is the record-keeping of one system.
const NOT_COMPARED: [&str; 13] = [
    "Pod",
    "ReplicaSet",
    "Event",
    "Endpoints",
    "EndpointSlice",
    "ServiceAccount",
    "ApplicationRevision",
    "DefinitionRevision",
    "ResourceTracker",
    "ControllerRevision",
    "ComponentDefinition",
    "TraitDefinition",
    "WorkloadDefinition",
];

#[test]
fn recorded_applications_become_equal_objects() {
    let folder = vela_testkit::cases::folder("conformance/runs-today");
    scenario(async {
        let target = Target::open("applications").await?;
        let kinds = Kinds::of(target.cluster()).await?;
        let cases = cases(&folder)?;
        let mut rules = Rules::new(rules::TABLE);
        let runs = cases.iter().enumerate().map(|(number, case)| case.run(&target, &kinds, &rules, number));
        let (mut outcomes, mut used) = (Vec::new(), BTreeSet::new());
        let mut runs = futures::stream::iter(runs).buffer_unordered(AT_ONCE);
        while let Some((outcome, needed)) = runs.try_next().await? {
            outcomes.push(outcome);
            used.extend(needed);
        }
        drop(runs);
        rules.needed(used);
        let idle: Vec<String> = rules.idle().iter().map(|rule| format!("{rule:?}")).collect();
        judge(&repository("e2e/expected/passing.txt"), "applications", &outcomes)?;
        // What an application that failed would have needed is not idle.
        let all_pass = outcomes.iter().all(|outcome| outcome.wrong.is_empty());
        match idle.is_empty() || !all_pass {
            true => Ok(()),
            false => Err(format!("rules that no application needs have to go: {idle:#?}").into()),
        }
    });
}

#[test]
fn every_rule_of_applications_is_told_to_the_reader() {
    let document =
        std::fs::read_to_string(repository("docs/differences/recorded-runs.md")).unwrap_or_default();
    assert_eq!(Rules::new(rules::TABLE).undocumented(&document), Vec::<&str>::new());
    for reason in [rules::GIVEN_UP, rules::WITHDRAWN] {
        assert!(document.contains(reason), "{reason}");
    }
}

/// A recorded application.
struct Case {
    name: String,
    /// The namespace it was recorded in.
    recorded_in: String,
    definitions: Vec<Value>,
    application: Value,
    objects: Vec<Value>,
}

/// The applications without policies and workflow. How many are left out is told.
fn cases(folder: &Path) -> Result<Vec<Case>> {
    let (mut cases, mut left) = (Vec::new(), 0);
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let read =
            |file: &str| -> Result<Vec<Value>> { documents(&std::fs::read_to_string(path.join(file))?) };
        let inputs = read("app.yaml").map_err(|error| format!("{}: {error}", path.display()))?;
        let objects = read("objects.yaml")?;
        let application = inputs.into_iter().find(|object| object["kind"] == "Application");
        let Some(application) = application else { continue };
        let spec = &application["spec"];
        if !spec["policies"].is_null() || !spec["workflow"].is_null() {
            left += 1;
            continue;
        }
        let recorded_in = objects.first().map(|object| text(object, "/metadata/namespace").to_owned());
        let (revisions, objects): (Vec<_>, Vec<_>) =
            objects.into_iter().partition(|object| object["kind"] == "DefinitionRevision");
        let definitions = revisions.iter().filter_map(definition).collect();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let recorded_in = recorded_in.unwrap_or_default();
        cases.push(Case { name, recorded_in, definitions, application, objects });
    }
    cases.sort_by(|one, other| one.name.cmp(&other.name));
    println!("applications: {left} with policies or a workflow are not for this test");
    Ok(cases)
}

/// The definition that a DefinitionRevision keeps.
fn definition(revision: &Value) -> Option<Value> {
    let field = match text(revision, "/spec/definitionType") {
        "Component" => "componentDefinition",
        "Trait" => "traitDefinition",
        _ => return None,
    };
    let kept = &revision["spec"][field];
    let mut definition = kept.clone();
    let name = kept["metadata"]["name"].clone();
    definition["metadata"] = json!({"name": name});
    definition.as_object_mut()?.remove("status");
    let kind = match kept["kind"].as_str() {
        Some(kind) => kind.to_owned(),
        None => format!("{}Definition", text(revision, "/spec/definitionType")),
    };
    definition["apiVersion"] = json!("core.oam.dev/v1beta1");
    definition["kind"] = json!(kind);
    (definition["spec"].is_object() && name.is_string()).then_some(definition)
}

/// Is it one of the objects that are compared?
fn is_compared(object: &Value) -> bool {
    let (kind, name) = (text(object, "/kind"), text(object, "/metadata/name"));
    // The context of a workflow, the schema of a definition, and what is in every namespace.
    let kept_record = kind == "ConfigMap"
        && (name.starts_with("workflow-") || name.contains("schema-") || name == "kube-root-ca.crt");
    !NOT_COMPARED.contains(&kind) && !kept_record
}

impl Case {
    async fn run(
        &self,
        target: &Target,
        kinds: &Kinds,
        rules: &Rules,
        number: usize,
    ) -> Result<(Outcome, BTreeSet<usize>)> {
        let cluster = namespace(target, &format!("{number}")).await?;
        for definition in &self.definitions {
            accepted(&cluster, definition).await?;
        }
        accepted(&cluster, &self.application).await?;
        let expected: Vec<Value> = self
            .objects
            .iter()
            .filter(|object| is_compared(object))
            .map(|object| comparable(object, &self.recorded_in))
            .collect();
        let given_up = rules::is_given_up(&expected);
        let expected: Vec<Value> = match given_up {
            true => expected.into_iter().map(rules::tried_again).collect(),
            false => expected,
        };
        let end = Instant::now() + SETTLE_DEADLINE;
        let mut still: (Vec<String>, Instant) = (Vec::new(), Instant::now());
        loop {
            let found = look(&cluster, kinds, &expected, given_up).await?;
            let (left, used) = rules.unexcused(&self.name, found);
            let lines: Vec<String> = left.iter().map(ToString::to_string).collect();
            if lines != still.0 {
                still = (lines, Instant::now());
            }
            if left.is_empty() {
                return Ok((Outcome { name: self.name.clone(), wrong: Vec::new() }, used));
            }
            if Instant::now() > end || still.1.elapsed() > STILL {
                let wrong = left.iter().take(SHOWN).map(ToString::to_string).collect();
                return Ok((Outcome { name: self.name.clone(), wrong }, used));
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}

/// The differences now.
async fn look(
    cluster: &Cluster,
    kinds: &Kinds,
    expected: &[Value],
    given_up: bool,
) -> Result<Vec<Difference>> {
    let live = kinds.everything(cluster, &NOT_COMPARED).await?;
    let live: Vec<Value> = live
        .iter()
        .filter(|object| is_compared(object))
        .map(|object| comparable(object, cluster.namespace()))
        .collect();
    let live = match given_up {
        true => rules::without_applied(live, expected).into_iter().map(rules::tried_again).collect(),
        false => live,
    };
    Ok(differences(expected, &live))
}
