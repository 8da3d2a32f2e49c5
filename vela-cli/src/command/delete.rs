//! `vela delete`: deletes what names or files describe, and waits until it is gone.

use vela_engine::Document;

use crate::args::{Delete, Global};
use crate::cluster::Cluster;
use crate::error::{Error, Failure, Result};
use crate::screen::Screen;
use crate::session::{Purpose, Session, block_on};
use crate::wait::{self, Awaited};
use crate::{input, order};

/// The kinds a bare name may mean, in the order they are tried.
pub(crate) const APPLICATIONS: [(&str, &str); 2] =
    [("core.oam.dev/v1beta1", "Application"), ("core.oam.dev/v1alpha2", "ApplicationConfiguration")];

pub(crate) fn run(args: &Delete, global: &Global, screen: &mut Screen) -> Result<()> {
    let mut documents = if args.files.is_empty() { Vec::new() } else { input::read(&args.files)? };
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
    for name in &args.names {
        match by_name(cluster, name).await {
            Ok(awaited) => asked.push(awaited),
            Err(failure) => failures.push(failure),
        }
    }
    // One rank after the other: a Component is gone only after the application that uses it.
    for document in documents {
        let (api_version, kind) = (document.api_version(), document.kind());
        match ask(cluster, api_version, kind, Some(document.namespace()), document.name()).await {
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

async fn by_name(cluster: &Cluster, name: &str) -> Result<Awaited> {
    for (api_version, kind) in APPLICATIONS {
        if let Some(awaited) = ask(cluster, api_version, kind, None, name).await? {
            return Ok(awaited);
        }
    }
    let message = format!("there is no application {name:?} in namespace {}", cluster.namespace());
    Err(Error::user(message).hint("`vela ls -A` lists the applications of every namespace").into())
}

async fn ask(
    cluster: &Cluster,
    api_version: &str,
    kind: &str,
    namespace: Option<&str>,
    name: &str,
) -> Result<Option<Awaited>> {
    let Some(object) = cluster.get(api_version, kind, namespace, name).await? else { return Ok(None) };
    let awaited = Awaited::of(&object);
    let deleted = cluster.delete(api_version, kind, namespace, name).await?;
    Ok(deleted.map(|uid| Awaited { uid, ..awaited }))
}
