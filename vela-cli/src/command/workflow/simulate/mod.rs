//! `vela workflow simulate`: prints what the steps of a workflow will come to, before it runs anywhere.
//!
//! One thread runs the real controllers, the embedded API server with its workloads driven by hand, and a paused clock:
//! [`play`] applies one application after the other and follows its workflow from change to change, [`outside`] answers what
//! steps ask elsewhere. What is printed follows from the files and the options.

mod outside;
mod play;
mod report;

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::json;
use vela_embedded::virtual_time;
use vela_engine::Document;

use self::outside::Outside;
use self::play::Play;
use self::report::Report;
use crate::appfile::Origins;
use crate::args::{Format, Global, WorkflowSimulate as Args};
use crate::cluster::Cluster;
use crate::command::up::place;
use crate::error::{Error, Failure, Result};
use crate::screen::Screen;
use crate::simulated_cluster::SimulatedCluster;
use crate::{crd, input, offline, order};

pub(super) fn run(args: &Args, global: &Global, screen: &mut Screen) -> Result<()> {
    let mut documents = input::read(&args.files)?;
    // The order of the files is kept among Applications.
    order::sort(&mut documents);
    let namespace = global.namespace.as_deref().unwrap_or("default");
    let (applications, others): (Vec<_>, Vec<_>) = documents.into_iter().partition(offline::is_application);
    let applications: Vec<Document> =
        applications.iter().map(|document| document.in_namespace(namespace)).collect();
    let namespace = one_namespace(&applications)?.to_owned();
    known_components(&args.fails, &applications)?;
    let played = virtual_time::run(simulate(args, &namespace, &applications, &others, screen));
    let report =
        played.map_err(|error| Error::internal(format!("the event loop cannot start: {error}")))??;
    match args.output {
        Format::Table => screen.print(&report.text())?,
        format => screen.data(format, &report.json())?,
    }
    report.verdict()
}

/// The namespace of the applications, which are simulated together.
fn one_namespace(applications: &[Document]) -> Result<&str> {
    let all: BTreeSet<&str> = applications.iter().map(Document::namespace).collect();
    let mut names = all.into_iter();
    match (names.next(), names.next()) {
        (Some(name), None) => Ok(name),
        (None, _) => Err(Error::user("there is no Application in what was given").into()),
        (Some(one), Some(other)) => {
            let message = format!("the Applications stand in several namespaces: {one}, {other}");
            Err(Error::user(message).hint("simulate those of one namespace at a time").into())
        }
    }
}

/// A misspelt component would be one whose pods never fail.
fn known_components(fails: &[String], applications: &[Document]) -> Result<()> {
    let components = applications.iter().filter_map(|one| one.value()["spec"]["components"].as_array());
    let names: BTreeSet<&str> = components.flatten().filter_map(|one| one["name"].as_str()).collect();
    let unknown = fails.iter().filter(|name| !names.contains(name.as_str())).map(|name| {
        let hint = format!("there are {}", names.iter().copied().collect::<Vec<_>>().join(", "));
        Failure::from(Error::user(format!("--fail {name}: no component has that name")).hint(hint))
    });
    Failure::all(unknown.collect()).map_or(Ok(()), Err)
}

async fn simulate(
    args: &Args,
    namespace: &str,
    applications: &[Document],
    others: &[Document],
    screen: &mut Screen,
) -> Result<Report> {
    let foreign: Vec<&str> = others
        .iter()
        .filter(|document| document.kind() == "CustomResourceDefinition")
        .map(Document::name)
        .collect();
    let outside = Arc::new(Outside::default());
    let mut simulated = SimulatedCluster::open(namespace, &foreign, outside.clone()).await?;
    set_up(simulated.cluster(), namespace, others).await?;
    let mut warnings = BTreeSet::new();
    for application in applications {
        let one = std::slice::from_ref(application);
        warnings.extend(offline::check(simulated.cluster(), one, &Origins::default(), false).await?);
    }
    warnings.iter().for_each(|warning| screen.say(warning));
    simulated.start();
    Play::new(simulated, args, outside).run(applications).await
}

/// What is there before the first application.
async fn set_up(cluster: &Cluster, namespace: &str, others: &[Document]) -> Result<()> {
    let own = others.iter().filter(|document| document.kind() == "Namespace").map(Document::name);
    let own: BTreeSet<&str> = own.collect();
    let named = others.iter().map(Document::namespace).chain([namespace]);
    for name in named.filter(|name| !name.is_empty() && !own.contains(name)).collect::<BTreeSet<&str>>() {
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        cluster.apply(&object, true, false).await?;
    }
    for document in others {
        let applied = cluster.apply(document.value(), true, false).await;
        applied.map_err(|error| error.at(place(document)))?;
        if document.kind() == "CustomResourceDefinition" {
            crd::established(cluster, document.name()).await?;
        }
    }
    Ok(())
}
