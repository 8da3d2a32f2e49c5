//! `vela config` and `vela config-template`: configs are listed, shown, made, copied and deleted; their templates, too.
//!
//! `vela_engine::config` defines a config, its objects and what may be changed, for these commands and for the steps of
//! workflows. No message repeats the values of a config; they are printed where `--show-secrets` asks for them.

mod create;
mod distribute;
mod objects;
mod template;
mod template_file;

use serde_json::{Value, json};
use vela_engine::config;

use self::objects::{SECRET, all, find, place_of, read, refused, remove, title};
use crate::applications::enumerated;
use crate::args::{Config, ConfigTemplate, Format, Global, ListFormat};
use crate::cluster::Cluster;
use crate::confirm::{Question, confirm};
use crate::error::{Error, Failure, Result};
use crate::listing::print_list;
use crate::pointer::text;
use crate::screen::{BOLD, Screen, data, styled};
use crate::session::{Purpose, Session, block_on};

/// What stands where a value is not printed.
const HIDDEN: &str = "(secret)";
/// The advice where an object that a config names is of another owner.
const NOT_DELETED: &str =
    "the config stays as long as it names this object; delete the object yourself if it may go";
/// Columns of the names of what is told.
const LABEL: usize = 11;

pub(crate) fn run(args: &Config, global: &Global, screen: &mut Screen) -> Result<()> {
    let is_look = matches!(args, Config::List { .. } | Config::Get { .. });
    let purpose = if is_look { Purpose::Read } else { Purpose::Change };
    block_on(async {
        let session = Session::open(global, purpose, screen).await?;
        let cluster = &session.cluster;
        let done = match args {
            Config::List { template, all_namespaces, output } => {
                list(cluster, template.as_deref(), *all_namespaces, *output, screen).await
            }
            Config::Get { name, show_secrets, output } => {
                get(cluster, name, *show_secrets, *output, screen).await
            }
            Config::Create(args) => create::create(cluster, args, screen).await,
            Config::Delete { names, yes } => delete(cluster, names, *yes, screen).await,
            Config::Distribute(args) => distribute::run(cluster, args, screen).await,
        };
        both(done, session.close().await)
    })
}

/// The templates.
pub(crate) fn run_template(args: &ConfigTemplate, global: &Global, screen: &mut Screen) -> Result<()> {
    let is_look = match args {
        ConfigTemplate::List { .. } | ConfigTemplate::Show { .. } => true,
        ConfigTemplate::Apply(args) => args.dry_run,
        ConfigTemplate::Delete { .. } => false,
    };
    let purpose = if is_look { Purpose::Read } else { Purpose::Change };
    block_on(async {
        let session = Session::open(global, purpose, screen).await?;
        let done = template::run(&session.cluster, args, screen).await;
        both(done, session.close().await)
    })
}

fn both(done: Result<()>, closed: Result<()>) -> Result<()> {
    Failure::all([done, closed].into_iter().filter_map(Result::err).collect()).map_or(Ok(()), Err)
}

/// The name of the template that a config goes by; nothing where it goes by none.
fn template_of(secret: &Value) -> &str {
    secret["metadata"]["labels"][config::TYPE].as_str().unwrap_or_default()
}

async fn list(
    cluster: &Cluster,
    template: Option<&str>,
    all_namespaces: bool,
    format: ListFormat,
    screen: &mut Screen,
) -> Result<()> {
    let mut configs = all(cluster, (!all_namespaces).then(|| cluster.namespace())).await?;
    if let Some(template) = template {
        // A config names its template without the namespace.
        let name = template.split_once('/').map_or(template, |(_, name)| name);
        configs.retain(|secret| template_of(secret) == name);
    }
    let row = |secret: &Value| {
        // Nothing for a sensitive one, which tells what it is for to no reader.
        let listed = config::listed(secret).unwrap_or_default();
        json!({
            "namespace": secret["metadata"]["namespace"],
            "name": secret["metadata"]["name"],
            "template": template_of(secret),
            "alias": text(&listed, "/alias"),
            "description": text(&listed, "/description"),
            "created": secret["metadata"]["creationTimestamp"],
        })
    };
    let rows: Vec<Value> = configs.iter().map(row).collect();
    let fields = ["name", "template", "alias", "created", "description"];
    if !print_list(&rows, &fields, all_namespaces, format, screen)? {
        let place =
            if all_namespaces { format!("any namespace of {}", cluster.title()) } else { cluster.place() };
        let of = template.map_or(String::new(), |template| format!(" of template {template:?}"));
        screen.say(&format!("There is no config{of} in {place}."));
    }
    Ok(())
}

async fn get(
    cluster: &Cluster,
    name: &str,
    show_secrets: bool,
    format: Format,
    screen: &mut Screen,
) -> Result<()> {
    let secret = find(cluster, name).await?;
    let properties = match config::properties(&secret) {
        Ok(properties) if show_secrets => properties,
        Ok(properties) => hidden(&properties),
        Err(why) if show_secrets => {
            let error = Error::user(format!("config {name}: {why}: its values are not printed"));
            return Err(error.hint("leave out --show-secrets to see the rest of it").into());
        }
        Err(why) => json!(format!("({why})")),
    };
    let outputs = config::outputs(&secret);
    if format != Format::Table {
        let value = json!({
            "name": name,
            "namespace": secret["metadata"]["namespace"],
            "template": template_of(&secret),
            "type": secret["type"],
            "created": secret["metadata"]["creationTimestamp"],
            "properties": properties,
            "objects": outputs,
        });
        return screen.data(format, &value);
    }
    let mut out = String::new();
    let mut say = |label: &str, value: &str| {
        if !value.is_empty() {
            out.push_str(&format!("{}{value}\n", styled(BOLD, &format!("{label:<LABEL$}"))));
        }
    };
    say("Name", name);
    say("Namespace", text(&secret, "/metadata/namespace"));
    say("Template", template_of(&secret));
    say("Type", text(&secret, "/type"));
    say("Created", text(&secret, "/metadata/creationTimestamp"));
    outputs.iter().for_each(|object| say("Object", &title(object)));
    out.push_str(&format!("\n{}", data(Format::Yaml, &properties)?));
    screen.print(&out)
}

/// The same with no value in it.
fn hidden(properties: &Value) -> Value {
    match properties {
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(name, value)| (name.clone(), hidden(value))).collect())
        }
        Value::Array(items) => items.iter().map(hidden).collect(),
        _ => json!(HIDDEN),
    }
}

async fn delete(cluster: &Cluster, names: &[String], yes: bool, screen: &mut Screen) -> Result<()> {
    // All must be there before the first one goes.
    let (mut found, mut failures) = (Vec::new(), Vec::new());
    for name in names {
        match find(cluster, name).await {
            Ok(secret) => found.push(secret),
            Err(failure) => failures.push(failure),
        }
    }
    if let Some(failure) = Failure::all(failures) {
        return Err(failure);
    }
    if !yes {
        let what = format!("{} of namespace {}", enumerated(names), cluster.namespace());
        let question = Question {
            question: &format!("Delete the config {what}, with the objects that go with it"),
            unasked: &format!("the config {what} would be deleted, with the objects that go with it"),
            declined: "nothing was deleted",
        };
        confirm(&question, screen)?;
    }
    for secret in &found {
        delete_one(cluster, secret, screen).await?;
    }
    Ok(())
}

/// The objects beside it go first: as long as one exists, the Secret names it.
async fn delete_one(cluster: &Cluster, secret: &Value, screen: &mut Screen) -> Result<()> {
    for output in config::outputs(secret) {
        let Some(there) = read(cluster, &output).await? else { continue };
        config::is_output(&json!(there)).map_err(|why| refused(&output, &why, NOT_DELETED))?;
        remove(cluster, &output, screen).await?;
    }
    let (namespace, name) = place_of(secret);
    let secret =
        json!({"apiVersion": SECRET.0, "kind": SECRET.1, "metadata": {"name": name, "namespace": namespace}});
    remove(cluster, &secret, screen).await
}
