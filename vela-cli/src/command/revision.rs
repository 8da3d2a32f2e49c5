//! `vela revision`: lists the revisions of an application, prints one, and says what differs between two.

use kube::ResourceExt as _;
use kube::api::DynamicObject;
use serde_json::{Map, Value, json};
use vela_crds::{annotations, labels};

use crate::applications::{API_VERSION, KIND};
use crate::args::{Format, Global, ListFormat, Revision, RevisionGet};
use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::listing::print_plain;
use crate::pointer::text;
use crate::screen::{BAD, GOOD, Screen, styled};
use crate::session::{Purpose, Session, block_on};
use crate::table::Table;
use crate::{differences, revisions};

pub(crate) fn run(args: &Revision, global: &Global, screen: &mut Screen) -> Result<()> {
    block_on(async {
        let session = Session::open(global, Purpose::Read, screen).await?;
        let shown = match args {
            Revision::List { application, output } => {
                list(&session.cluster, application, *output, screen).await
            }
            Revision::Get(args) => get(&session.cluster, args, screen).await,
        };
        session.close().await?;
        shown
    })
}

async fn list(cluster: &Cluster, application: &str, format: ListFormat, screen: &mut Screen) -> Result<()> {
    let revisions = revisions::of(cluster, application).await?;
    if revisions.is_empty() {
        let place = cluster.place();
        let error = Error::user(format!("there is no revision of application {application:?} in {place}"));
        return Err(error.hint("`vela ls -A` lists the applications of every namespace").into());
    }
    let object = cluster.get(API_VERSION, KIND, None, application).await?.map(|object| json!(object));
    let current = object.as_ref().map_or("", |object| text(object, "/status/latestRevision/name"));
    let row = |revision: &DynamicObject| {
        let name = revision.name_any();
        json!({
            "name": name,
            "created": revision.creation_timestamp().map(|time| time.0.to_string()),
            "publishVersion": revision.annotations().get(annotations::PUBLISH_VERSION),
            "succeeded": revision.data.pointer("/status/succeeded"),
            "current": name == current,
            "hash": revision.labels().get(labels::APP_REVISION_HASH),
        })
    };
    let rows: Vec<Value> = revisions.iter().map(row).collect();
    if print_plain(&rows, |row| text(row, "/name").to_owned(), format, screen)? {
        return Ok(());
    }
    let is_wide = format == ListFormat::Wide;
    let mut heading = vec!["REVISION", "CURRENT", "SUCCEEDED", "VERSION", "CREATED"];
    if is_wide {
        heading.push("HASH");
    }
    let mut table = Table::new(&heading);
    for row in &rows {
        let succeeded = match row["succeeded"].as_bool() {
            Some(true) => styled(GOOD, "yes"),
            Some(false) => styled(BAD, "no"),
            None => String::new(),
        };
        let current = if row["current"] == true { "*" } else { "" };
        let mut cells = vec![text(row, "/name").to_owned(), current.to_owned(), succeeded];
        cells.extend(["/publishVersion", "/created"].map(|path| text(row, path).to_owned()));
        if is_wide {
            cells.push(text(row, "/hash").to_owned());
        }
        table.row(cells);
    }
    screen.print(&table.render())
}

async fn get(cluster: &Cluster, args: &RevisionGet, screen: &mut Screen) -> Result<()> {
    if let [from, to] = &args.diff[..] {
        let before = comparable(&find(cluster, from).await?)?;
        let after = comparable(&find(cluster, to).await?)?;
        let found = differences::between(&before, &after);
        if args.output != Format::Table {
            return screen.data(args.output, &differences::data(&found));
        }
        if found.is_empty() {
            screen.say(&format!("{from} and {to} do not differ."));
            return Ok(());
        }
        return screen.print(&format!("{from} → {to}\n{}", differences::render(&found)));
    }
    let name = args.name.as_deref().unwrap_or_default();
    let revision = find(cluster, name).await?;
    let spec = revisions::content(&revision)?;
    let mut metadata = written(&revision);
    metadata.insert("name".to_owned(), json!(revision.labels().get(labels::APP_NAME)));
    metadata.insert("namespace".to_owned(), json!(revision.namespace()));
    let version =
        revision.data.pointer("/spec/application/apiVersion").and_then(Value::as_str).unwrap_or(API_VERSION);
    let application = json!({"apiVersion": version, "kind": KIND, "metadata": metadata, "spec": spec});
    screen.data(args.output, &application)
}

async fn find(cluster: &Cluster, name: &str) -> Result<DynamicObject> {
    if let Some(found) = cluster.get(API_VERSION, revisions::KIND, None, name).await? {
        return Ok(found);
    }
    let error = Error::user(format!("there is no revision {name:?} in {}", cluster.place()));
    // People give the name of the application where that of a revision is meant.
    let of_application = revisions::of(cluster, name).await?;
    let names: Vec<String> = of_application.iter().map(kube::ResourceExt::name_any).collect();
    let hint = match names.is_empty() {
        true => "`vela revision list APPLICATION` lists the revisions of an application".to_owned(),
        false => format!("the application {name} has {}", names.join(", ")),
    };
    Err(error.hint(hint).into())
}

/// Labels and annotations of the application, as a revision records them.
fn written(revision: &DynamicObject) -> Map<String, Value> {
    let field = |name: &str| {
        let value = revision.data.pointer(&format!("/spec/application/metadata/{name}"))?;
        value.as_object().filter(|map| !map.is_empty()).map(|_| (name.to_owned(), value.clone()))
    };
    ["annotations", "labels"].into_iter().filter_map(field).collect()
}

/// What a revision records, without what the cluster writes into each object.
fn comparable(revision: &DynamicObject) -> Result<Value> {
    let spec = revisions::content(revision)?;
    let mut all = Map::new();
    all.insert("metadata".to_owned(), Value::Object(written(revision)));
    all.insert("spec".to_owned(), spec);
    for (field, recorded) in revision.data["spec"].as_object().into_iter().flatten() {
        let (true, Some(recorded)) = (field.ends_with("Definitions"), recorded.as_object()) else { continue };
        let specs = recorded.iter().map(|(name, one)| (name.clone(), one.get("spec").unwrap_or(one).clone()));
        all.insert(field.clone(), Value::Object(specs.collect()));
    }
    Ok(differences::concealed(&Value::Object(all)))
}
