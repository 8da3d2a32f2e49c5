//! `vela up`: applies files in a sensible order, waits until their applications run, and shows them as trees.

use serde_json::{Value, json};
use vela_engine::Document;

use crate::args::{Format, Global, Up};
use crate::cluster::{Applied, Cluster};
use crate::command::rollout;
use crate::error::{Error, Failure, Result};
use crate::pointer::text;
use crate::screen::Screen;
use crate::session::{Purpose, Session, block_on};
use crate::wait::{self, Awaited};
use crate::{crd, input, offline, order, serving, tree};

pub(crate) fn run(args: &Up, global: &Global, screen: &mut Screen) -> Result<()> {
    let mut documents = input::read(&args.files)?;
    order::sort(&mut documents);
    input::print_warnings(&documents, screen);
    block_on(async {
        let session = Session::open(global, Purpose::Change, screen).await?;
        let outcome = up(&session, &documents, args, screen).await;
        let closed = session.close().await;
        Failure::all([outcome, closed].into_iter().filter_map(Result::err).collect()).map_or(Ok(()), Err)
    })
}

async fn up(session: &Session, documents: &[Document], args: &Up, screen: &mut Screen) -> Result<()> {
    let cluster = &session.cluster;
    // Everything that can be known before the first write is told before it, for all files at once.
    for warning in offline::check(cluster, documents, args.strict).await? {
        screen.say(&warning);
    }
    let awaited = apply_all(cluster, documents, args, screen).await?;
    if args.no_wait || awaited.is_empty() {
        return Ok(());
    }
    if !session.is_sandbox()
        && let Some(missing) = serving::missing(cluster).await
    {
        screen.say(missing);
    }
    let waited = wait::running(cluster, &awaited, args.timeout, screen).await;
    if let Err(failure) = &waited
        && failure.is_interrupt()
    {
        return waited;
    }
    // The trees are shown even when the wait failed: they tell which part is the reason. What it is stands in the error.
    let shown = waited.as_ref().err().map_or_else(String::new, |failure| failure.texts().join("\n"));
    for awaited in &awaited {
        let Awaited { api_version, kind, namespace, name, .. } = awaited;
        match cluster.get(api_version, kind, Some(namespace), name).await? {
            Some(object) if kind == "AppRollout" => {
                rollout::show(&rollout::read(object)?, Format::Table, screen)?;
            }
            Some(object) => {
                screen.print(&tree::read(cluster, &json!(object)).await?.without(&shown).render())?
            }
            None => {}
        }
    }
    waited
}

/// Applies one after the other; stops at the first refusal, because later objects may need the refused one, and says
/// what was done until then.
async fn apply_all(
    cluster: &Cluster,
    documents: &[Document],
    args: &Up,
    screen: &mut Screen,
) -> Result<Vec<Awaited>> {
    let mut awaited = Vec::new();
    let mut done = 0;
    let mut interrupt = std::pin::pin!(tokio::signal::ctrl_c());
    for document in documents {
        let one = apply_one(cluster, document, args.force_conflicts);
        let outcome = tokio::select! {
            outcome = one => outcome,
            _ = &mut interrupt => Err(Error::interrupted("interrupted").into()),
        };
        match outcome {
            Ok((applied, object)) => {
                done += 1;
                screen.say(&format!("{} {}", describe(document, &object), applied.word()));
                if order::is_awaited(document) {
                    awaited.push(Awaited::of(&object));
                }
            }
            Err(failure) => {
                let left = documents.len() - done;
                let so_far = format!(
                    "{done} of {} objects are applied and stay; {left} are not. The same command continues.",
                    documents.len()
                );
                return Err(failure.at(place(document)).closing(so_far));
            }
        }
    }
    Ok(awaited)
}

async fn apply_one(
    cluster: &Cluster,
    document: &Document,
    force: bool,
) -> Result<(Applied, kube::api::DynamicObject)> {
    let outcome = cluster.apply(document.value(), force, false).await?;
    if document.kind() == "CustomResourceDefinition" {
        crd::established(cluster, document.name()).await?;
    }
    Ok(outcome)
}

/// `file:line:column` of a document, for errors about the whole of it.
pub(crate) fn place(document: &Document) -> String {
    document.places().value("metadata.name").map_or_else(|| document.title(), |place| place.to_string())
}

fn describe(document: &Document, object: &kube::api::DynamicObject) -> String {
    let value: Value = json!(object);
    let title = match text(&value, "/metadata/namespace") {
        "" => format!("{} {}", document.kind(), document.name()),
        namespace => format!("{} {namespace}/{}", document.kind(), document.name()),
    };
    match (document.api_version(), text(&value, "/apiVersion")) {
        (written, stored) if !stored.is_empty() && written != stored => {
            format!("{title} (of {written}, which the cluster does not serve any more, as {stored})")
        }
        _ => title,
    }
}
