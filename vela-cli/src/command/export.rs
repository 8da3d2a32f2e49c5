//! `vela export`: prints the Applications that Appfiles stand for; writes nothing anywhere.

use std::path::PathBuf;

use serde_json::{Value, json};
use vela_engine::{ClusterVersion, Document, dry_run};
use vela_snapshot::{Reader, Source};

use crate::appfile::{self, Resolved};
use crate::args::{Export, Format, Global, Kustomize, Recursive};
use crate::error::{Error, Failure, Result};
use crate::offline::RenderInputs;
use crate::screen::Screen;
use crate::session::{Purpose, Session, block_on};
use crate::{input, offline};

pub(crate) fn run(args: &Export, global: &Global, screen: &mut Screen) -> Result<()> {
    let mut paths: Vec<PathBuf> = args.paths.iter().chain(&args.files).cloned().collect();
    if paths.is_empty() {
        paths.push(input::usual()?);
    }
    let documents =
        input::read_with_appfiles(&paths, Recursive { all: false }, &Kustomize { folders: Vec::new() })?;
    let given = match args.definitions.is_empty() {
        true => Vec::new(),
        false => input::read_definitions(&args.definitions)?,
    };
    let (beside, documents): (Vec<_>, Vec<_>) = documents.into_iter().partition(offline::is_definition);
    if let Some(object) = documents.iter().find(|document| !appfile::is_appfile(document)) {
        return Err(Error::user(format!("{} is no Appfile: it is an object already", object.title()))
            .hint("an Appfile has `name` and `services`, and neither `kind` nor `apiVersion`")
            .into());
    }
    let definitions: Vec<&Document> =
        given.iter().filter(|one| offline::is_definition(one)).chain(&beside).collect();
    let resolved = if args.offline {
        let namespace = offline::namespace(global, screen)?;
        let reader = offline::built_in(ClusterVersion::newest(), &definitions)?;
        block_on(judged(&reader, &namespace, documents, |error| offline::unread(None, error)))?
    } else {
        block_on(async {
            let session = Session::open(global, Purpose::Read, screen).await?;
            let found = async {
                let cluster = &session.cluster;
                let reader = offline::of_cluster(cluster, &definitions).await?;
                let unread = |error| offline::unread(Some(cluster), error);
                judged(&reader, cluster.namespace(), documents, unread).await
            };
            let found = found.await;
            session.close().await?;
            found
        })?
    };
    resolved.warnings.iter().for_each(|warning| screen.say(warning));
    print(&resolved.documents, args, screen)
}

/// The Applications, rendered once so that every mistake is told at its place in the Appfile.
async fn judged<S: Source>(
    reader: &Reader<S>,
    namespace: &str,
    documents: Vec<Document>,
    unread: impl Fn(vela_snapshot::Error) -> Failure + Copy,
) -> Result<Resolved> {
    let mut resolved = appfile::resolve(reader, namespace, documents, unread).await?;
    let inputs = RenderInputs::read(reader, resolved.documents.clone(), &[], unread).await?;
    let rendered = offline::render(inputs.written(&resolved.origins), true)?;
    // What would not run is told all the same: another program may run it.
    let (warnings, will_not_run) = offline::warnings(&rendered, &resolved.origins);
    resolved.warnings.extend(warnings);
    resolved.warnings.extend(will_not_run.iter().flat_map(|failure| failure.texts().iter().cloned()));
    Ok(resolved)
}

fn print(applications: &[Document], args: &Export, screen: &mut Screen) -> Result<()> {
    let mut objects: Vec<Value> = Vec::new();
    for application in applications {
        if args.no_health_scope {
            objects.push(application.value().clone());
            continue;
        }
        let (application, scope) = appfile::with_health_scope(application);
        objects.extend([application, scope]);
    }
    match args.output {
        Format::Json | Format::JsonPath(_) => {
            let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
            screen.data(args.output, &list)
        }
        Format::Yaml | Format::Table => {
            let all: Vec<String> = objects.iter().map(dry_run::yaml).collect();
            screen.document(&all.join("---\n"))
        }
    }
}
