//! `vela def edit`: opens a definition as CUE in the editor, judges what comes back, and replaces the definition with it.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use kube::api::{DynamicObject, PostParams};
use serde_json::{Map, Value, json};
use vela_engine::Document;

use super::stored::{self, Stored};
use crate::appfile::Origins;
use crate::applications::API_VERSION;
use crate::args::{EditDefinition, Global};
use crate::cluster::Cluster;
use crate::error::{Error, Failure, Result};
use crate::ownership::FIELD_MANAGER;
use crate::pointer::text;
use crate::screen::Screen;
use crate::session::{Purpose, Session, block_on_threads};
use crate::{cue_text, editor, input, offline};

/// Files with the same name that are tried over, left by earlier edits.
const MOST_FILES: usize = 100;
/// How often a write is tried again that met a write of the controller.
const MOST_TRIES: usize = 5;

pub(super) fn run(args: &EditDefinition, global: &Global, screen: &mut Screen) -> Result<()> {
    // With threads of its own, the sandbox serves other commands while the user writes.
    block_on_threads(async {
        let session = Session::open(global, Purpose::Change, screen).await?;
        let edited = edit(&session, args, screen).await;
        let closed = session.close().await;
        Failure::all([edited, closed].into_iter().filter_map(Result::err).collect()).map_or(Ok(()), Err)
    })
}

async fn edit(session: &Session, args: &EditDefinition, screen: &mut Screen) -> Result<()> {
    let cluster = &session.cluster;
    let found = stored::find(cluster, &args.name, args.type_).await?;
    session.share().await?;
    let before = cue_text::definition(&found.object);
    let file = written(&args.name, &before)?;
    let edited = editor::edit(&file).and_then(|()| {
        std::fs::read_to_string(&file)
            .map_err(|error| Error::user(format!("{} cannot be read: {error}", file.display())).into())
    });
    let replaced = match edited {
        Ok(text) if text == before => {
            screen.say(&format!("{} was not changed.", found.title(cluster.namespace())));
            return removed(&file);
        }
        Ok(_) => replace(cluster, &found, &file, screen).await,
        Err(failure) => Err(failure),
    };
    match replaced {
        Ok(()) => removed(&file),
        Err(failure) => {
            let (path, namespace) = (file.display(), cluster.namespace());
            let kept =
                format!("The text is kept in {path}; `vela def apply {path} -n {namespace}` applies it.");
            Err(failure.closing(kept))
        }
    }
}

/// A new file with the text, in the folder for temporary files.
fn written(name: &str, content: &str) -> Result<PathBuf> {
    let folder = std::env::temp_dir();
    for number in 0..MOST_FILES {
        let file = folder.join(format!("vela-edit-{name}-{}-{number}.cue", std::process::id()));
        // Never through a link that another user laid there.
        match std::fs::File::create_new(&file) {
            Ok(mut opened) => {
                return match opened.write_all(content.as_bytes()) {
                    Ok(()) => Ok(file),
                    Err(error) => {
                        Err(Error::config(format!("{} cannot be written: {error}", file.display())).into())
                    }
                };
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                return Err(Error::config(format!("{} cannot be created: {error}", file.display()))
                    .hint("TMPDIR names another folder")
                    .into());
            }
        }
    }
    Err(Error::config(format!("{} holds too many files of earlier edits", folder.display())).into())
}

fn removed(file: &Path) -> Result<()> {
    std::fs::remove_file(file)
        .map_err(|error| Error::config(format!("{} cannot be removed: {error}", file.display())).into())
}

async fn replace(cluster: &Cluster, found: &Stored, file: &Path, screen: &mut Screen) -> Result<()> {
    let namespace = cluster.namespace();
    let documents = input::read_definitions(&[file.to_owned()])?;
    let [document] = &documents[..] else {
        return Err(Error::user("the text is not one definition any more").into());
    };
    let (kind, name) = (text(&found.object, "/kind"), text(&found.object, "/metadata/name"));
    if (document.kind(), document.name()) != (kind, name) {
        let message = format!("the text describes {} and no longer {kind} {name}", document.title());
        return Err(Error::user(message)
            .hint("`vela def apply` makes a definition of another name or type")
            .into());
    }
    input::print_warnings(&documents, screen);
    let object = merged(&found.object, document);
    let document = document.in_namespace(namespace);
    write(cluster, &document, (&found.object, &object), screen).await?;
    screen.say(&format!("{} changed", found.title(namespace)));
    Ok(())
}

/// The object that was read, with what the user may have written.
fn merged(before: &Value, document: &Document) -> Value {
    let mut object = before.clone();
    let edited = document.value();
    object["spec"] = edited["spec"].clone();
    let map = |of: &Value, field: &str| of["metadata"][field].as_object().cloned().unwrap_or_default();
    object["metadata"]["labels"] = json!(map(edited, "labels"));
    let mut annotations = map(edited, "annotations");
    let hidden: Map<String, Value> =
        map(before, "annotations").into_iter().filter(|(name, _)| !cue_text::is_for_users(name)).collect();
    annotations.extend(hidden);
    object["metadata"]["annotations"] = json!(annotations);
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("managedFields");
    }
    object
}

/// Replaces the definition; the server refuses it where another program wrote it since it was read.
async fn write(
    cluster: &Cluster,
    document: &Document,
    (before, object): (&Value, &Value),
    screen: &mut Screen,
) -> Result<()> {
    let namespace = cluster.namespace();
    for warning in offline::check(cluster, std::slice::from_ref(document), &Origins::default(), true).await? {
        screen.say(&warning);
    }
    let title = document.title();
    let (kind, name) = (document.kind(), document.name());
    let api = cluster.api(API_VERSION, kind, Some(namespace)).await?;
    let params = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
    let mut object = object.clone();
    for _ in 0..MOST_TRIES {
        let live = cluster.get(API_VERSION, kind, Some(namespace), name).await?.map(|live| json!(live));
        let Some(live) = live.filter(|live| written_parts(live) == written_parts(before)) else { break };
        object["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"].clone();
        let replacement: DynamicObject = serde_json::from_value(object.clone())
            .map_err(|error| Error::user(format!("{title} is no object any more: {error}")))?;
        match api.replace(name, &params, &replacement).await {
            Ok(_) => return Ok(()),
            // The controller reports in the status of definitions, which is no change by a user.
            Err(kube::Error::Api(status)) if status.code == 409 => {}
            Err(error) => return Err(cluster.failure(&format!("replace {title}"), &error)),
        }
    }
    let message = format!("{title} was changed by another program while it was edited");
    Err(Error::user(message).hint("edit it again; the text below has what was written here").into())
}

/// What users and their programs write.
fn written_parts(object: &Value) -> [&Value; 3] {
    [&object["spec"], &object["metadata"]["labels"], &object["metadata"]["annotations"]]
}
