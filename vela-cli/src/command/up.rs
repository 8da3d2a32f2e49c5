//! `vela up`: applies files in a sensible order, or gives an application another revision, waits until the applications run,
//! and shows them as trees.

use std::path::{Path, PathBuf};
use std::time::Duration;

use kube::api::DynamicObject;
use serde_json::{Value, json};
use vela_crds::annotations;
use vela_engine::{Document, names};

use crate::appfile::Resolved;
use crate::args::{Format, Global, Up};
use crate::cluster::{Applied, Cluster};
use crate::command::rollout;
use crate::error::{Error, Failure, Result};
use crate::pointer::text;
use crate::screen::Screen;
use crate::session::{Purpose, Session, block_on};
use crate::wait::{self, Awaited};
use crate::{applications, crd, download, input, offline, order, ownership, revisions, serving, tree};

/// The policy that has the steps of a workflow recorded.
const DEBUG: &str = "debug";

pub(crate) fn run(args: &Up, global: &Global, screen: &mut Screen) -> Result<()> {
    let meant = meant(args)?;
    let documents = match &meant {
        Meant::Again(_) => Vec::new(),
        Meant::Files(paths) => input::read_with_appfiles(paths, args.recursive, &args.kustomize)?,
    };
    input::print_warnings(&documents, screen);
    block_on(async {
        let session = Session::open(global, Purpose::Change, screen).await?;
        let outcome = match &meant {
            Meant::Again(name) => up_again(&session, name, args, screen).await,
            Meant::Files(_) => up(&session, documents, args, screen).await,
        };
        let closed = session.close().await;
        Failure::all([outcome, closed].into_iter().filter_map(Result::err).collect()).map_or(Ok(()), Err)
    })
}

/// What the bare words of the command line are.
enum Meant {
    /// Files, with those of `--file`.
    Files(Vec<PathBuf>),
    /// An application that is there already.
    Again(String),
}

/// Files are what looks like one or is one; with `--revision`, and without `--file` or `--kustomize`, the word is a name whatever lies in
/// this folder.
fn meant(args: &Up) -> Result<Meant> {
    let asks_again = args.revision.is_some() || args.publish_version.is_some();
    let is_name = |word: &str| names::is_subdomain(word);
    let is_file = |word: &str| {
        let shaped = download::is_url(word) || input::is_shaped_like_a_path(word);
        shaped || !(asks_again && is_name(word)) && Path::new(word).exists()
    };
    let is_bare = args.files.is_empty() && args.kustomize.folders.is_empty();
    match &args.words[..] {
        [] if is_bare && args.revision.is_none() => {
            return Ok(Meant::Files(vec![input::usual()?]));
        }
        [word] if args.revision.is_some() && is_name(word) => return Ok(Meant::Again(word.clone())),
        [word] if is_bare && !is_file(word) && is_name(word) => {
            return Ok(Meant::Again(word.clone()));
        }
        _ => {}
    }
    if args.revision.is_some() {
        let error = Error::user("--revision goes with the name of one application");
        let hint = "write it as `vela up NAME --revision REVISION`; a name has lower-case letters, digits, '-' and '.' only";
        return Err(error.hint(hint).into());
    }
    if let Some(word) = args.words.iter().find(|word| !is_file(word)) {
        return Err(Error::user(format!("there is no file or folder {word:?}"))
            .hint("the name of an application stands alone, with --revision or --publish-version")
            .into());
    }
    Ok(Meant::Files(args.words.iter().map(PathBuf::from).chain(args.files.iter().cloned()).collect()))
}

async fn up(session: &Session, documents: Vec<Document>, args: &Up, screen: &mut Screen) -> Result<()> {
    let cluster = &session.cluster;
    let Resolved { mut documents, origins, warnings } = offline::without_appfiles(cluster, documents).await?;
    warnings.iter().for_each(|warning| screen.say(warning));
    order::sort(&mut documents);
    if let Some(version) = &args.publish_version {
        documents = published(documents, version)?;
    }
    if args.debug {
        documents = debugged(documents)?;
    }
    let documents = &documents[..];
    // Everything that can be known before the first write is told before it, for all files at once.
    for warning in offline::check(cluster, documents, &origins, args.strict).await? {
        screen.say(&warning);
    }
    let awaited = apply_all(cluster, documents, args, screen).await?;
    follow(session, &awaited, waits(args), screen).await
}

/// Gives an application that is there the content of a revision, or publishes it once more as another version.
async fn up_again(session: &Session, name: &str, args: &Up, screen: &mut Screen) -> Result<()> {
    let cluster = &session.cluster;
    let before = applications::find(cluster, name).await?;
    let version = args.publish_version.as_deref();
    match (&args.revision, version) {
        (Some(revision), _) => {
            let all = revisions::of(cluster, name).await?;
            let revision = revisions::named(&all, name, revision)?;
            revisions::restore(cluster, &before, revision, version).await?;
        }
        (None, Some(version)) => revisions::publish(cluster, name, version).await?,
        (None, None) => {
            let hint = format!(
                "there is no file of this name here; --revision gives it the content of a revision (`vela revision list {name}` lists them), --publish-version \
                 deploys it anew"
            );
            return Err(Error::user(format!("what shall be done with {name}?")).hint(hint).into());
        }
    }
    let after = applications::find(cluster, name).await?;
    // The controller may have written the status meanwhile, which is no change of ours.
    let asks = |object: &DynamicObject| (object.data["spec"].clone(), object.metadata.annotations.clone());
    let is_same = asks(&before) == asks(&after);
    let word = if is_same { Applied::Unchanged } else { Applied::Changed }.word();
    screen.say(&format!("Application {}/{name} {word}", cluster.namespace()));
    follow(session, &[Awaited::published(&after, Some(&before))], waits(args), screen).await
}

/// The same documents with their applications published as a version.
fn published(documents: Vec<Document>, version: &str) -> Result<Vec<Document>> {
    if !documents.iter().any(offline::is_application) {
        let error =
            Error::user("there is no Application in what was given that could be published as a version");
        return Err(error.hint("leave out --publish-version").into());
    }
    let publish = |document: Document| {
        if !offline::is_application(&document) {
            return document;
        }
        let mut value = document.value().clone();
        let annotation = ["metadata", "annotations", annotations::PUBLISH_VERSION];
        ownership::set(&mut value, &annotation, Some(json!(version)));
        document.with_value(value)
    };
    Ok(documents.into_iter().map(publish).collect())
}

/// The same documents with applications whose steps are recorded.
fn debugged(mut documents: Vec<Document>) -> Result<Vec<Document>> {
    let mut is_any = false;
    for document in documents.iter_mut().filter(|one| offline::is_application(one)) {
        is_any = true;
        let policies = document.value().pointer("/spec/policies").and_then(Value::as_array);
        let mut policies = policies.cloned().unwrap_or_default();
        if policies.iter().any(|policy| text(policy, "/type") == DEBUG) {
            continue;
        }
        // A name that is taken would be a mistake of ours in a file of the user's.
        let is_taken = |name: &str| policies.iter().any(|policy| text(policy, "/name") == name);
        let name = if is_taken(DEBUG) { "vela-up-debug" } else { DEBUG };
        policies.push(json!({"name": name, "type": DEBUG}));
        let mut value = document.value().clone();
        ownership::set(&mut value, &["spec", "policies"], Some(json!(policies)));
        *document = document.with_value(value);
    }
    match is_any {
        true => Ok(documents),
        false => {
            let error =
                Error::user("there is no Application in what was given whose steps could be recorded");
            Err(error.hint("leave out --debug").into())
        }
    }
}

/// How long to wait; `None` is no wait at all.
fn waits(args: &Up) -> Option<Duration> {
    (!args.no_wait).then_some(args.timeout)
}

/// Waits until they run, as long as `timeout` says, and shows them; does neither without a `timeout`.
pub(crate) async fn follow(
    session: &Session,
    awaited: &[Awaited],
    timeout: Option<Duration>,
    screen: &mut Screen,
) -> Result<()> {
    let cluster = &session.cluster;
    let Some(timeout) = timeout.filter(|_| !awaited.is_empty()) else { return Ok(()) };
    if !session.is_sandbox()
        && let Some(missing) = serving::missing(cluster).await
    {
        screen.say(&missing);
    }
    let waited = wait::running(cluster, awaited, timeout, screen).await;
    if let Err(failure) = &waited
        && failure.is_interrupt()
    {
        return waited;
    }
    // The trees are shown even when the wait failed: they tell which part is the reason. What it is stands in the error.
    let shown = waited.as_ref().err().map_or_else(String::new, |failure| failure.texts().join("\n"));
    for awaited in awaited {
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
        let one = apply_one(cluster, document, args);
        let outcome = tokio::select! {
            outcome = one => outcome,
            _ = &mut interrupt => Err(Error::interrupted("interrupted").into()),
        };
        match outcome {
            Ok(AppliedDocument { applied, object, before }) => {
                done += 1;
                screen.say(&format!("{} {}", describe(document, &object), applied.word()));
                if order::is_awaited(document) {
                    let is_unchanged = applied == Applied::Unchanged;
                    awaited.push(Awaited { is_unchanged, ..Awaited::published(&object, before.as_ref()) });
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

/// What became of a document.
struct AppliedDocument {
    applied: Applied,
    object: DynamicObject,
    /// An application as it was before.
    before: Option<DynamicObject>,
}

async fn apply_one(cluster: &Cluster, document: &Document, args: &Up) -> Result<AppliedDocument> {
    // Another version makes another revision, which nothing in the answer tells.
    let written = document.value().pointer("/metadata/annotations");
    let is_published = written.is_some_and(|all| all.get(annotations::PUBLISH_VERSION).is_some());
    let before = match is_published && offline::is_application(document) {
        true => {
            let namespace = Some(document.namespace());
            cluster.get(document.api_version(), document.kind(), namespace, document.name()).await?
        }
        false => None,
    };
    let (applied, object) = cluster.apply(document.value(), args.force_conflicts, false).await?;
    if document.kind() == "CustomResourceDefinition" {
        crd::established(cluster, document.name()).await?;
    }
    Ok(AppliedDocument { applied, object, before })
}

/// `file:line:column` of a document, for errors about the whole of it.
pub(crate) fn place(document: &Document) -> String {
    document.places().value("metadata.name").map_or_else(|| document.title(), |place| place.to_string())
}

fn describe(document: &Document, object: &DynamicObject) -> String {
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
