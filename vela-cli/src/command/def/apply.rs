//! `vela def apply`: judges definitions and applies them, or asks the cluster what it would say.

use serde_json::{Value, json};
use vela_engine::{Document, dry_run};

use super::files;
use crate::appfile::Origins;
use crate::args::{ApplyDefinitions, Global};
use crate::cluster::Cluster;
use crate::command::up::place;
use crate::error::{Failure, Result};
use crate::pointer::text;
use crate::screen::Screen;
use crate::session::{Purpose, Session, block_on};
use crate::{input, offline, order};

pub(super) fn run(args: &ApplyDefinitions, global: &Global, screen: &mut Screen) -> Result<()> {
    let (mut documents, failures) = files::read(&args.files);
    if let Some(failure) = Failure::all(failures) {
        return Err(failure);
    }
    input::print_warnings(&documents, screen);
    order::sort(&mut documents);
    block_on(async {
        let purpose = if args.dry_run { Purpose::Read } else { Purpose::Change };
        let session = Session::open(global, purpose, screen).await?;
        let applied = apply(&session.cluster, &documents, args, screen).await;
        let closed = session.close().await;
        Failure::all([applied, closed].into_iter().filter_map(Result::err).collect()).map_or(Ok(()), Err)
    })
}

async fn apply(
    cluster: &Cluster,
    documents: &[Document],
    args: &ApplyDefinitions,
    screen: &mut Screen,
) -> Result<()> {
    // Everything that can be known before the first write is told before it, for all files at once.
    for warning in offline::check(cluster, documents, &Origins::default(), true).await? {
        screen.say(&warning);
    }
    let mut objects = Vec::with_capacity(documents.len());
    for (done, document) in documents.iter().enumerate() {
        let one = apply_one(cluster, document, args).await;
        let (what, object) = one.map_err(|failure| {
            let so_far = match args.dry_run {
                true => "This is what the cluster would answer; nothing was written.".to_owned(),
                false => format!("{done} of {} definitions are applied and stay.", documents.len()),
            };
            failure.at(place(document)).closing(so_far)
        })?;
        let namespace = text(&object, "/metadata/namespace");
        screen.say(&format!("{} {namespace}/{} {what}", document.kind(), document.name()));
        objects.push(document.in_namespace(namespace));
    }
    if !args.dry_run {
        return Ok(());
    }
    let texts: Vec<String> = objects.iter().map(|object| dry_run::yaml(object.value())).collect();
    screen.document(&texts.join("---\n"))
}

/// What was done, or would be, and the object as it is then.
async fn apply_one(
    cluster: &Cluster,
    document: &Document,
    args: &ApplyDefinitions,
) -> Result<(&'static str, Value)> {
    if !args.dry_run {
        let (applied, object) = cluster.apply(document.value(), args.force_conflicts, false).await?;
        return Ok((applied.word(), json!(object)));
    }
    let (api_version, kind) = (document.api_version(), document.kind());
    let before = cluster.get(api_version, kind, Some(document.namespace()), document.name()).await?;
    let (_, after) = cluster.apply(document.value(), args.force_conflicts, true).await?;
    let after = json!(after);
    let parts = |object: &Value| {
        ["/spec", "/metadata/labels", "/metadata/annotations"].map(|path| object.pointer(path).cloned())
    };
    let what = match before {
        None => "would be created",
        Some(before) if parts(&json!(before)) == parts(&after) => "would stay as it is",
        Some(_) => "would be changed",
    };
    Ok((what, after))
}
