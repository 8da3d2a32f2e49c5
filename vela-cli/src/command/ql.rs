//! `vela ql`: asks the cluster by views, and stores views for everybody.
//!
//! A view is a ConfigMap with its CUE text under `template`, in the namespace of the system, as KubeVela keeps it. One that is stored
//! comes before a built-in one of its name. It runs here, with the rights of the kubeconfig, and only reads.

use std::path::Path;

use serde_json::{Map, Value, json};
use vela_core::view::{self, Looking};
use vela_definitions::VIEWS;
use vela_engine::config::CATALOG;
use vela_engine::manifest::scalar;
use vela_engine::nearest::advice;
use vela_engine::view::{Query, View};
use vela_runtime::Discovery;

use crate::applications::enumerated;
use crate::args::{DataFormat, Global, ListFormat, Ql, QlCommand};
use crate::cluster::Cluster;
use crate::confirm::{Question, confirm};
use crate::error::{Error, Failure, Result};
use crate::input;
use crate::listing::print_list;
use crate::pointer::text;
use crate::screen::Screen;
use crate::session::{Purpose, Session, block_on};

const CONFIG_MAP: (&str, &str) = ("v1", "ConfigMap");
/// Where a ConfigMap has the text of its view.
const TEMPLATE: &str = "/data/template";
/// The end of a view's file.
const END: &str = ".cue";

pub(crate) fn run(args: &Ql, global: &Global, screen: &mut Screen) -> Result<()> {
    let purpose = match &args.command {
        None | Some(QlCommand::List { .. } | QlCommand::Apply { dry_run: true, .. }) => Purpose::Read,
        Some(QlCommand::Apply { .. } | QlCommand::Delete { .. }) => Purpose::Change,
    };
    block_on(async {
        let session = Session::open(global, purpose, screen).await?;
        let cluster = &session.cluster;
        let done = match &args.command {
            None => ask(cluster, args, screen).await,
            Some(QlCommand::List { output }) => list(cluster, *output, screen).await,
            Some(QlCommand::Apply { name, file, dry_run }) => {
                apply(cluster, name.as_deref(), file, *dry_run, screen).await
            }
            Some(QlCommand::Delete { names, yes }) => delete(cluster, names, *yes, screen).await,
        };
        let closed = session.close().await;
        Failure::all([done, closed].into_iter().filter_map(Result::err).collect()).map_or(Ok(()), Err)
    })
}

async fn ask(cluster: &Cluster, args: &Ql, screen: &mut Screen) -> Result<()> {
    let view = match (&args.file, args.statement.as_ref().or(args.query.as_ref())) {
        (Some(file), _) => of_file(file, &args.parameter)?,
        (None, Some(statement)) => stored(cluster, statement).await?,
        (None, None) => return Err(Error::user("there is no view to ask").into()),
    };
    let result = answer(cluster, view).await?;
    match &result {
        // A text alone is printed as it is, as `kubectl -o jsonpath` does.
        Value::String(text) if args.output == DataFormat::Json => screen.print(text),
        result => screen.data(args.output.into(), result),
    }
}

async fn answer(cluster: &Cluster, view: View) -> Result<Value> {
    let mut looking = Looking {
        client: cluster.client().clone(),
        discovery: Discovery::new(cluster.client().clone()),
        namespace: cluster.namespace().to_owned(),
        system_namespace: cluster.system_namespace().await?.to_owned(),
    };
    view::result(&mut looking, view).await.map_err(|error| match error {
        view::Error::Broken(found) => found.into(),
        view::Error::NoAnswer(why) => Error::user(why).into(),
    })
}

/// What a query of a built-in or stored view says.
pub(super) async fn asked(cluster: &Cluster, query: &str) -> Result<Value> {
    answer(cluster, stored(cluster, query).await?).await
}

/// The view of a file that is not stored.
fn of_file(file: &Path, parameters: &[(String, String)]) -> Result<View> {
    let (name, text) = input::read_text(file)?;
    let mut parameter = Map::new();
    for (key, value) in parameters {
        let value = scalar::plain(value).map_err(|why| Error::user(format!("parameter {key}: {why}")))?;
        parameter.insert(key.clone(), value);
    }
    Ok(View::begin(&name, &text, &Value::Object(parameter), None)?)
}

/// The view that a statement names, with its parameters.
async fn stored(cluster: &Cluster, statement: &str) -> Result<View> {
    let query = Query::parse(statement).map_err(|why| {
        let hint = "for example: vela ql 'component-pod-view{appName=shop, appNs=default}.status'";
        Error::user(format!("the query {statement:?} cannot be read: {why}")).hint(hint)
    })?;
    let (api_version, kind) = CONFIG_MAP;
    let system = cluster.system_namespace().await?;
    let found = match cluster.get(api_version, kind, Some(system), &query.view).await? {
        Some(found) => of_config_map(&json!(found)),
        None => None,
    };
    let built_in = || VIEWS.iter().find(|view| view.name == query.view).map(|view| view.text.to_owned());
    let Some(template) = found.or_else(built_in) else {
        let names = all(cluster).await?;
        let hint = advice(&query.view, "view", names.iter().map(|(name, ..)| name.as_str()));
        let message = format!("there is no view {:?} in {system} of {}", query.view, cluster.title());
        return Err(Error::user(message)
            .hint(hint.unwrap_or_else(|| "`vela ql list` lists all views".to_owned()))
            .into());
    };
    Ok(View::begin(&format!("view {}", query.view), &template, &query.parameter, query.path)?)
}

/// The text of the view that a ConfigMap holds; nothing where it holds none.
fn of_config_map(config_map: &Value) -> Option<String> {
    let is_other = config_map["metadata"]["labels"][CATALOG].is_string();
    let template = config_map.pointer(TEMPLATE).and_then(Value::as_str)?;
    (!is_other).then(|| template.to_owned())
}

/// Name, origin and description of each view.
async fn all(cluster: &Cluster) -> Result<Vec<(String, &'static str, &'static str)>> {
    let mut views: Vec<_> =
        VIEWS.iter().map(|view| (view.name.to_owned(), "built-in", view.description)).collect();
    let (api_version, kind) = CONFIG_MAP;
    for object in cluster.list(api_version, kind, Some(cluster.system_namespace().await?)).await? {
        let object = json!(object);
        if of_config_map(&object).is_some() {
            let name = text(&object, "/metadata/name");
            views.retain(|(known, ..)| known != name);
            views.push((name.to_owned(), "stored", ""));
        }
    }
    views.sort();
    Ok(views)
}

async fn list(cluster: &Cluster, output: ListFormat, screen: &mut Screen) -> Result<()> {
    let row = |(name, origin, description): (String, &str, &str)| json!({"name": name, "origin": origin, "description": description});
    let rows: Vec<Value> = all(cluster).await?.into_iter().map(row).collect();
    print_list(&rows, &["name", "origin", "description"], false, output, screen).map(drop)
}

async fn apply(
    cluster: &Cluster,
    name: Option<&str>,
    file: &Path,
    dry_run: bool,
    screen: &mut Screen,
) -> Result<()> {
    let (title, template) = input::read_text(file)?;
    let name = match name {
        Some(name) => name.to_owned(),
        None => of_path(&title).ok_or_else(|| {
            let message =
                format!("{title} gives the view no name: lowercase letters, digits and - before {END}");
            Error::user(message).hint("write it: vela ql apply NAME -f FILE")
        })?,
    };
    // A view that cannot be compiled would fail for everybody.
    View::vet(&title, &template)?;
    let system = cluster.system_namespace().await?;
    let object = json!({
        "apiVersion": CONFIG_MAP.0,
        "kind": CONFIG_MAP.1,
        "metadata": {"name": name, "namespace": system},
        "data": {"template": template},
    });
    let there = cluster.get(CONFIG_MAP.0, CONFIG_MAP.1, Some(system), &name).await?;
    if there.is_some_and(|there| of_config_map(&json!(there)).is_none()) {
        return Err(not_a_view(system, &name, "nothing was written; choose another name"));
    }
    // What KubeVela wrote of a view is taken over.
    let (applied, _) = cluster.apply(&object, true, dry_run).await?;
    let end = if dry_run { " (dry run)" } else { "" };
    screen.say(&format!("view {name} {}{end}", applied.word()));
    Ok(())
}

/// The name that the file of a view gives it.
fn of_path(title: &str) -> Option<String> {
    let file = title.rsplit('/').next()?;
    let name = file.strip_suffix(END)?;
    let is_name = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    (!name.is_empty() && is_name && !name.starts_with('-') && !name.ends_with('-')).then(|| name.to_owned())
}

fn not_a_view(system: &str, name: &str, hint: &str) -> Failure {
    let message = format!(
        "ConfigMap {system}/{name}: it is there and no view: it has no text under data.template, or belongs to something else"
    );
    Error::user(message).hint(hint).into()
}

async fn delete(cluster: &Cluster, names: &[String], yes: bool, screen: &mut Screen) -> Result<()> {
    let (api_version, kind) = CONFIG_MAP;
    let system = cluster.system_namespace().await?;
    let mut failures = Vec::new();
    // All must be there before the first one goes.
    for name in names {
        match cluster.get(api_version, kind, Some(system), name).await? {
            Some(found) if of_config_map(&json!(found)).is_some() => {}
            Some(_) => failures.push(not_a_view(system, name, "nothing was deleted")),
            None => {
                let built_in = VIEWS.iter().any(|view| view.name == name);
                let hint = match built_in {
                    true => "it is built in, and cannot be deleted",
                    false => "nothing was deleted; `vela ql list` lists all views",
                };
                let message = format!("there is no stored view {name:?} in {system} of {}", cluster.title());
                failures.push(Error::user(message).hint(hint).into());
            }
        }
    }
    if let Some(failure) = Failure::all(failures) {
        return Err(failure);
    }
    if !yes {
        let what = enumerated(names);
        let question = Question {
            question: &format!("Delete the view {what}"),
            unasked: &format!("the view {what} would be deleted"),
            declined: "nothing was deleted",
        };
        confirm(&question, screen)?;
    }
    for name in names {
        if cluster.delete(api_version, kind, Some(system), name).await?.is_some() {
            screen.say(&format!("view {name} deleted"));
        }
    }
    Ok(())
}
