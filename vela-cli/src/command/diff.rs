//! `vela diff`: what the cluster would change if files were applied, field by field; writes nothing anywhere.
//!
//! The cluster itself says what each object would become (server-side apply as a dry run, for the manager that would
//! write it), so defaults and fields of other managers are no differences.

use std::path::PathBuf;

use serde_json::{Value, json};
use vela_engine::preview::{CONTROLLER, Made, Reference};
use vela_engine::render::Rendered;
use vela_engine::{Bounds, Document, preview};
use vela_runtime::{Trial, trial};

use crate::appfile::Origins;
use crate::args::{Diff, Format, Global};
use crate::cluster::Cluster;
use crate::differences::{self, Difference};
use crate::error::{Error, Failure, Result};
use crate::offline::RenderInputs;
use crate::ownership::FIELD_MANAGER;
use crate::pointer::text;
use crate::screen::{BAD, BOLD, BUSY, GOOD, Screen, styled};
use crate::session::{Purpose, Session, block_on};
use crate::{input, offline, order};

/// What would become of an object.
enum Change {
    Created,
    Changed(Vec<Difference>),
    Unchanged,
    /// Nothing describes it any more.
    LeftOut,
    /// The cluster would not take it.
    Refused(String),
}

/// An object, and what would become of it.
struct Entry {
    object: Value,
    change: Change,
}

pub(crate) fn run(args: &Diff, global: &Global, screen: &mut Screen) -> Result<()> {
    let paths: Vec<PathBuf> = args.paths.iter().chain(&args.files).cloned().collect();
    let mut documents = input::read_deep(&paths, args.recursive, &args.kustomize)?;
    let library = match args.definitions.is_empty() {
        true => Vec::new(),
        false => input::read_definitions(&args.definitions)?,
    };
    order::sort(&mut documents);
    input::print_warnings(&documents, screen);
    block_on(async {
        let session = Session::open(global, Purpose::Read, screen).await?;
        let compared = compare(&session.cluster, &documents, &library, args, screen).await;
        session.close().await?;
        show(&compared?, args.output, screen)
    })
}

async fn compare(
    cluster: &Cluster,
    documents: &[Document],
    library: &[Document],
    args: &Diff,
    screen: &mut Screen,
) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for document in documents {
        entries.push(judge(cluster, document.value().clone(), FIELD_MANAGER).await?);
    }
    let judged: Vec<&Document> = documents.iter().filter(|one| offline::is_definition(one)).collect();
    let definitions: Vec<&Document> = library.iter().chain(judged.iter().copied()).collect();
    let beside: Vec<Document> = documents.iter().filter(|one| preview::is_external(one)).cloned().collect();
    let applications: Vec<Document> = documents
        .iter()
        .filter(|document| offline::is_application(document))
        .map(|document| document.in_namespace(cluster.namespace()))
        .map(|document| preview::merge(&document, &beside, false).application)
        .collect();
    if applications.is_empty() {
        return Ok(entries);
    }
    let bounds =
        Bounds { own_namespace: !args.allow_cross_namespace, no_rights: !args.allow_granting_rights };
    let reader = offline::of_cluster(cluster, &definitions).await?.within(bounds);
    let unread = |error| offline::unread(Some(cluster), error);
    let inputs = RenderInputs::read(&reader, applications, &judged, unread).await?;
    let rendered = offline::succeeded(cluster, offline::render(inputs, true)?).await?;
    let (warnings, will_not_run) = offline::warnings(&rendered, &Origins::default());
    warnings.iter().for_each(|warning| screen.say(warning));
    if let Some(failure) = will_not_run {
        return Err(failure);
    }
    for one in &rendered {
        objects(cluster, one, &mut entries, screen).await?;
    }
    Ok(entries)
}

/// The objects that one application would make, and those that it would make no more.
async fn objects(
    cluster: &Cluster,
    one: &Rendered,
    entries: &mut Vec<Entry>,
    screen: &mut Screen,
) -> Result<()> {
    let app = one.app_file();
    let live = cluster.get(
        app.document().api_version(),
        "Application",
        Some(app.document().namespace()),
        app.name(),
    );
    let live = live.await?.map(|object| json!(object)).unwrap_or_default();
    let made = Made::new(one, &live);
    for object in &made.objects {
        entries.push(judge(cluster, object.clone(), CONTROLLER).await?);
    }
    // What a component will make is known only when what it waits for is there.
    for name in &made.open {
        screen.say(&format!(
            "Component {name:?} of {} waits for values of others: what it makes then is not compared.",
            app.document().title()
        ));
    }
    for Reference { api_version, kind, namespace, name } in &made.left_out {
        let Some(found) = cluster.get(api_version, kind, Some(namespace), name).await? else { continue };
        let found = json!(found);
        if made.is_left_out(&found) {
            entries.push(Entry { object: found, change: Change::LeftOut });
        }
    }
    Ok(())
}

/// Asks the cluster what the object would become.
async fn judge(cluster: &Cluster, mut object: Value, manager: &str) -> Result<Entry> {
    let (api_version, kind) = (text(&object, "/apiVersion").to_owned(), text(&object, "/kind").to_owned());
    let (name, namespace) =
        (text(&object, "/metadata/name").to_owned(), text(&object, "/metadata/namespace").to_owned());
    let api = match cluster.api(&api_version, &kind, Some(&namespace)).await {
        Ok(api) => api,
        // Its kind is defined in the same files, or is not there.
        Err(failure) => return Ok(Entry { object, change: Change::Refused(failure.texts().join("; ")) }),
    };
    let cannot = |error: kube::Error| cluster.failure(&format!("compare {kind} {name}"), &error);
    let Some(live) = api.get_opt(&name).await.map_err(cannot)? else {
        return Ok(Entry { object, change: Change::Created });
    };
    let live = json!(live);
    if manager == CONTROLLER {
        preview::as_controller_writes(&mut object, &live);
    }
    let change = match trial(&api, &name, &object, manager, true).await.map_err(cannot)? {
        Trial::Taken(after) => match differences::between(&written(&live), &written(&json!(after))) {
            found if found.is_empty() => Change::Unchanged,
            found => Change::Changed(found),
        },
        Trial::Refused(why) => Change::Refused(why),
    };
    Ok(Entry { object: live, change })
}

/// The object without what no manifest writes, and without the content of Secrets.
fn written(object: &Value) -> Value {
    differences::concealed(&preview::written_fields(object))
}

fn show(entries: &[Entry], format: Format, screen: &mut Screen) -> Result<()> {
    if format != Format::Table {
        let all: Value = entries.iter().map(Entry::data).collect();
        screen.data(format, &all)?;
    } else {
        let text: String = entries.iter().map(Entry::render).collect();
        let count = |word: &str| entries.iter().filter(|entry| entry.word() == word).count();
        let counts: Vec<String> = ["created", "changed", "left out", "refused", "unchanged"]
            .into_iter()
            .filter(|word| count(word) > 0)
            .map(|word| format!("{} {word}", count(word)))
            .collect();
        screen.print(&format!("{text}{}", counts.join(", ")))?;
    }
    let refused = entries.iter().filter_map(|entry| match &entry.change {
        Change::Refused(why) => {
            let error = Error::user(format!("{} would be refused: {why}", entry.title()));
            Some(Failure::from(
                error.hint("correct the manifest; what cannot be changed in place has to be made anew"),
            ))
        }
        _ => None,
    });
    Failure::all(refused.collect()).map_or(Ok(()), Err)
}

impl Entry {
    fn word(&self) -> &'static str {
        match &self.change {
            Change::Created => "created",
            Change::Changed(_) => "changed",
            Change::Unchanged => "unchanged",
            Change::LeftOut => "left out",
            Change::Refused(_) => "refused",
        }
    }

    fn title(&self) -> String {
        let (kind, name) = (text(&self.object, "/kind"), text(&self.object, "/metadata/name"));
        match text(&self.object, "/metadata/namespace") {
            "" => format!("{kind} {name}"),
            namespace => format!("{kind} {namespace}/{name}"),
        }
    }

    fn render(&self) -> String {
        let head = |style, note: &str| {
            format!("{} {}{note}\n", styled(BOLD, &self.title()), styled(style, self.word()))
        };
        match &self.change {
            Change::Created => head(GOOD, ""),
            Change::Changed(found) => format!("{}{}", head(BUSY, ""), differences::render(found)),
            Change::Unchanged => String::new(),
            Change::LeftOut => head(BAD, ": it goes, unless a policy of the application lets it stay"),
            Change::Refused(_) => head(BAD, ""),
        }
    }

    fn data(&self) -> Value {
        let mut value = json!({
            "apiVersion": text(&self.object, "/apiVersion"),
            "kind": text(&self.object, "/kind"),
            "namespace": text(&self.object, "/metadata/namespace"),
            "name": text(&self.object, "/metadata/name"),
            "change": self.word(),
        });
        match &self.change {
            Change::Changed(found) => value["fields"] = differences::data(found),
            Change::Refused(why) => value["why"] = json!(why),
            Change::Created | Change::Unchanged | Change::LeftOut => {}
        }
        value
    }
}
