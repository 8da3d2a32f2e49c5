//! `vela delete`: deletes what names or files describe, and waits until it is gone.

use std::path::Path;

use kube::ResourceExt;
use serde_json::{Value, json};
use vela_crds::finalizers;
use vela_engine::Document;

use crate::applications::{APPLICATIONS, KIND};
use crate::args::{Delete, Global};
use crate::cluster::Cluster;
use crate::confirm::{Question, confirm};
use crate::error::{Error, Failure, Result};
use crate::pointer::text;
use crate::screen::Screen;
use crate::session::{Purpose, Session, block_on};
use crate::wait::{self, Awaited};
use crate::{input, order};

pub(crate) fn run(args: &Delete, global: &Global, screen: &mut Screen) -> Result<()> {
    let mut documents = input::read_deep(&args.files, args.recursive, &args.kustomize)?;
    order::sort(&mut documents);
    documents.reverse();
    block_on(async {
        let session = Session::open(global, Purpose::Change, screen).await?;
        let outcome = delete(&session.cluster, &documents, args, screen).await;
        let closed = session.close().await;
        Failure::all([outcome, closed].into_iter().filter_map(Result::err).collect()).map_or(Ok(()), Err)
    })
}

async fn delete(cluster: &Cluster, documents: &[Document], args: &Delete, screen: &mut Screen) -> Result<()> {
    let mut failures = Vec::new();
    let mut asked = Vec::new();
    let mut names = args.names.clone();
    if args.all {
        names = all(cluster).await?;
        if names.is_empty() {
            screen.say(&format!("There is no application in namespace {}.", cluster.namespace()));
            return Ok(());
        }
    }
    if (args.all || args.interactive) && !args.yes {
        ask_first(&names, cluster.namespace(), screen)?;
    }
    for name in &names {
        match by_name(cluster, name, args.orphan).await {
            Ok(awaited) => asked.push(awaited),
            Err(failure) => failures.push(failure),
        }
    }
    // One rank after the other: a Component is gone only after the application that uses it.
    for document in documents {
        let (api_version, kind) = (document.api_version(), document.kind());
        let namespace = Some(document.namespace());
        match ask(cluster, (api_version, kind), namespace, document.name(), args.orphan).await {
            Ok(Some(awaited)) if order::is_application(document) && !args.no_wait => {
                if let Err(failure) = wait::gone(cluster, &[awaited], args.timeout, screen).await {
                    let interrupted = failure.is_interrupt();
                    failures.push(failure);
                    if interrupted {
                        break;
                    }
                }
            }
            Ok(Some(awaited)) => asked.push(awaited),
            Ok(None) => screen.say(&format!("{} is not there", document.title())),
            Err(failure) => failures.push(failure),
        }
    }
    if args.no_wait {
        for awaited in &asked {
            screen.say(&format!("{}: deletion asked for", awaited.title()));
        }
    } else if let Err(failure) = wait::gone(cluster, &asked, args.timeout, screen).await {
        failures.push(failure);
    }
    Failure::all(failures).map_or(Ok(()), Err)
}

async fn by_name(cluster: &Cluster, name: &str, orphan: bool) -> Result<Awaited> {
    for (api_version, kind) in APPLICATIONS {
        if let Some(awaited) = ask(cluster, (api_version, kind), None, name, orphan).await? {
            return Ok(awaited);
        }
    }
    let message = format!("there is no application {name:?} in {}", cluster.place());
    let hint = match Path::new(name).exists() {
        true => format!("`vela delete -f {name}` deletes what the file describes"),
        false => "`vela ls -A` lists the applications of every namespace".to_owned(),
    };
    Err(Error::user(message).hint(hint).into())
}

/// The names of all applications of the namespace. What an Application became goes with it.
async fn all(cluster: &Cluster) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for (api_version, kind) in APPLICATIONS {
        let found = cluster.list(api_version, kind, Some(cluster.namespace())).await?;
        let by_themselves = found.iter().filter(|object| !is_part_of_application(&json!(object)));
        names.extend(by_themselves.map(ResourceExt::name_any));
    }
    names.sort();
    names.dedup();
    Ok(names)
}

/// Is it an ApplicationConfiguration that an Application became?
pub(crate) fn is_part_of_application(object: &Value) -> bool {
    let owners = object.pointer("/metadata/ownerReferences").and_then(Value::as_array);
    owners.is_some_and(|owners| owners.iter().any(|owner| text(owner, "/kind") == "Application"))
}

/// Goes on only when the person says so.
fn ask_first(names: &[String], namespace: &str, screen: &mut Screen) -> Result<()> {
    let what = match names {
        [one] => format!("the application {one}"),
        many => format!("{} applications ({})", many.len(), many.join(", ")),
    };
    let question = Question {
        question: &format!("Delete {what} of namespace {namespace}"),
        unasked: &format!("{what} of namespace {namespace} would be deleted"),
        declined: "nothing was deleted",
    };
    confirm(&question, screen)
}

/// Asks for the deletion of an object; with `orphan` what an Application made is to stay.
async fn ask(
    cluster: &Cluster,
    (api_version, kind): (&str, &str),
    namespace: Option<&str>,
    name: &str,
    orphan: bool,
) -> Result<Option<Awaited>> {
    let Some(object) = cluster.get(api_version, kind, namespace, name).await? else { return Ok(None) };
    let awaited = Awaited::of(&object);
    if orphan && kind == "ApplicationConfiguration" {
        let error =
            Error::not_supported(format!("{kind} {name} cannot leave its objects behind: Applications can"));
        return Err(error.hint("leave out --orphan to delete it with its objects").into());
    }
    if orphan && kind == KIND {
        cluster.hold((api_version, kind), &object, finalizers::ORPHAN_RESOURCE).await?;
    }
    let deleted = cluster.delete(api_version, kind, namespace, name).await?;
    Ok(deleted.map(|uid| Awaited { uid, ..awaited }))
}
