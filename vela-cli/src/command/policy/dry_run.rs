//! `vela policy dry-run`: what policies of the scope Application would change; writes nothing anywhere.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};
use vela_engine::{ClusterVersion, Document, Transformed};
use vela_snapshot::{Reader, Source};

use super::words::{absent, changes};
use crate::applications::{API_VERSION, KIND};
use crate::args::{Format, Global, PolicyDryRun};
use crate::cluster::Cluster;
use crate::error::{Error, Failure, Result};
use crate::screen::Screen;
use crate::session::{Purpose, Session, block_on};
use crate::{differences, input, offline};

/// An application, and what its policies make of it; nothing where none acts.
type Shown = (Document, Option<Arc<Transformed>>);

pub(super) fn run(args: &PolicyDryRun, global: &Global, screen: &mut Screen) -> Result<()> {
    let (paths, names): (Vec<&String>, Vec<&String>) =
        args.words.iter().partition(|word| input::is_shaped_like_a_path(word));
    let mut paths: Vec<PathBuf> = paths.into_iter().map(PathBuf::from).chain(args.files.clone()).collect();
    if paths.is_empty() && names.is_empty() {
        paths.push(input::usual()?);
    }
    if args.offline
        && let Some(name) = names.first()
    {
        let error =
            Error::user(format!("{name:?} names an application of a cluster, and --offline asks none"));
        return Err(error.hint("give a file: vela policy dry-run --offline -f app.yaml").into());
    }
    let documents = input::read(&paths)?;
    let mut definitions = input::read_definitions(&args.definitions)?;
    input::print_warnings(&documents, screen);
    let (applications, others): (Vec<_>, Vec<_>) = documents.into_iter().partition(offline::is_application);
    definitions.extend(others.into_iter().filter(offline::is_definition));
    if applications.is_empty() && names.is_empty() {
        return Err(Error::user("there is no Application in what was given").into());
    }
    let definitions: Vec<&Document> = definitions.iter().collect();
    if args.offline {
        let namespace = offline::namespace(global, screen)?;
        let reader = offline::built_in(ClusterVersion::newest(), &definitions)?;
        let unread = |error| offline::unread(None, error);
        let shown = block_on(transformed(&reader, &namespace, applications, unread))?;
        return show(&shown, args, screen);
    }
    let shown = block_on(async {
        let session = Session::open(global, Purpose::Read, screen).await?;
        let cluster = &session.cluster;
        let found = async {
            let mut applications = applications;
            for name in names {
                applications.push(stored(cluster, name).await?);
            }
            let reader = offline::of_cluster(cluster, &definitions).await?;
            let unread = |error| offline::unread(Some(cluster), error);
            transformed(&reader, cluster.namespace(), applications, unread).await
        };
        let found: Result<Vec<Shown>> = found.await;
        session.close().await?;
        found
    })?;
    show(&shown, args, screen)
}

async fn stored(cluster: &Cluster, name: &str) -> Result<Document> {
    let found = cluster.get(API_VERSION, KIND, None, name).await?;
    let Some(found) = found else { return Err(absent(cluster, name).into()) };
    let mut application = json!(found);
    application["apiVersion"] = json!(API_VERSION);
    application["kind"] = json!(KIND);
    Ok(Document::from_object(application))
}

async fn transformed<S: Source>(
    reader: &Reader<S>,
    namespace: &str,
    applications: Vec<Document>,
    unread: impl Fn(vela_snapshot::Error) -> Failure,
) -> Result<Vec<Shown>> {
    let mut all = Vec::with_capacity(applications.len());
    for application in applications {
        let application = application.in_namespace(namespace);
        let snapshot = reader.application(application.namespace(), &application).await.map_err(&unread)?;
        all.push((application, snapshot.transformed_application().cloned()));
    }
    Ok(all)
}

fn show(shown: &[Shown], args: &PolicyDryRun, screen: &mut Screen) -> Result<()> {
    let failures = shown.iter().filter_map(|(_, transformed)| transformed.as_ref());
    let failures = failures.filter(|transformed| transformed.found().has_errors());
    let failures: Vec<Failure> =
        failures.map(|transformed| Failure::from(transformed.found().clone())).collect();
    if let Some(failure) = Failure::all(failures) {
        return Err(failure);
    }
    for finding in
        shown.iter().filter_map(|(_, transformed)| transformed.as_ref()).flat_map(|one| one.found().iter())
    {
        screen.say(&finding.to_string());
    }
    if args.outcome || args.output != Format::Table {
        let format = if args.output == Format::Table { Format::Yaml } else { args.output };
        let all: Vec<Value> =
            shown.iter().map(|one| if args.outcome { left(one) } else { report(one) }).collect();
        return match &all[..] {
            [one] => screen.data(format, one),
            all => screen.data(format, &json!(all)),
        };
    }
    for (application, transformed) in shown {
        let Some(transformed) = transformed else {
            screen.say(&format!("No policy of the scope Application changes {}.", application.title()));
            continue;
        };
        screen.print(&text(application, transformed))?;
    }
    Ok(())
}

/// The application as its policies leave it, as people write it.
fn left((application, transformed): &Shown) -> Value {
    let left = transformed.as_ref().map_or(application, |transformed| transformed.document()).value();
    let metadata = &left["metadata"];
    let mut written = json!({"name": metadata["name"], "namespace": metadata["namespace"]});
    for field in ["labels", "annotations"] {
        if metadata[field].as_object().is_some_and(|all| !all.is_empty()) {
            written[field] = metadata[field].clone();
        }
    }
    json!({"apiVersion": left["apiVersion"], "kind": left["kind"], "metadata": written, "spec": left["spec"]})
}

/// For programs: the application that is left, and each policy with what it says.
fn report(shown: &Shown) -> Value {
    let applied = shown.1.iter().flat_map(|transformed| transformed.applied());
    let policies = applied.map(|policy| {
        let mut report = policy.to_json();
        if let Some(output) = &policy.output {
            report["output"] = Value::Object(output.clone());
        }
        report
    });
    json!({"policies": policies.collect::<Vec<_>>(), "application": left(shown)})
}

/// For people: each policy in the order in which they act, and the fields that it changes.
fn text(application: &Document, transformed: &Transformed) -> String {
    let mut lines = vec![format!("{}:", application.title())];
    let mut stages = transformed.stages().into_iter();
    for policy in transformed.applied() {
        let whose = format!("{} ({}, {})", policy.name, policy.type_, policy.source.as_str());
        if policy.output.is_none() {
            let how = if policy.failed { "fails" } else { "does not act" };
            lines.push(format!("\n{whose} {how}: {}", policy.message));
            continue;
        }
        let Some((policy, before, after)) = stages.next() else { break };
        let found = differences::between(&before, &after);
        let changes = changes(&policy.to_json());
        match found.is_empty() && changes.is_empty() {
            true => lines.push(format!("\n{whose} changes nothing.")),
            false => {
                let fields = differences::render(&found);
                lines.push(format!("\n{whose} changes {changes}:\n{}", fields.trim_end()));
            }
        }
    }
    if !transformed.custom().is_empty() {
        let custom = Value::Object(transformed.custom().clone());
        lines.push(format!("\ncontext.custom of its components: {custom}"));
    }
    lines.join("\n")
}
