//! Templates of configs: which there are, which properties their configs take; they are stored and deleted.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use vela_engine::Definition;
use vela_engine::config::{CATALOG, CATALOG_OF_CONFIGS, Template};
use vela_engine::nearest::advice;
use vela_engine::parameters::{Parameters, parameters};

use super::objects::{self, place_of, refused, title};
use super::template_file;
use crate::applications::enumerated;
use crate::args::{ApplyTemplate, ConfigTemplate, Format};
use crate::cluster::Cluster;
use crate::command::show::outline;
use crate::confirm::{Question, confirm};
use crate::error::{Error, Failure, Result};
use crate::input;
use crate::listing::print_list;
use crate::pointer::text;
use crate::screen::Screen;

const CONFIG_MAP: (&str, &str) = ("v1", "ConfigMap");

pub(super) async fn run(cluster: &Cluster, args: &ConfigTemplate, screen: &mut Screen) -> Result<()> {
    match args {
        ConfigTemplate::List { all_namespaces, output } => {
            let found = all(cluster, *all_namespaces).await?;
            let row = |config_map: &Value| {
                let (namespace, _) = place_of(config_map);
                let created = &config_map["metadata"]["creationTimestamp"];
                json!({"name": name_of(config_map), "namespace": namespace, "created": created})
            };
            let rows: Vec<Value> = found.iter().map(row).collect();
            if !print_list(&rows, &["name", "namespace", "created"], false, *output, screen)? {
                let place = match all_namespaces {
                    true => "any namespace".to_owned(),
                    false => {
                        let system = cluster.system_namespace().await?;
                        format!("the namespaces {system} and {}", cluster.namespace())
                    }
                };
                screen.say(&format!("There is no config template in {place} of {}.", cluster.title()));
            }
            Ok(())
        }
        ConfigTemplate::Show { name, output } => {
            let described = described(&find(cluster, name).await?);
            if *output != Format::Table {
                return screen.data(*output, &json!(described));
            }
            let width = screen.width().unwrap_or(usize::MAX);
            screen.print(&format!("config template {name}\n\n{}", outline::render(&described, width)))
        }
        ConfigTemplate::Apply(args) => apply(cluster, args, screen).await,
        ConfigTemplate::Delete { names, yes } => delete(cluster, names, *yes, screen).await,
    }
}

async fn apply(cluster: &Cluster, args: &ApplyTemplate, screen: &mut Screen) -> Result<()> {
    let path = args.path.as_ref().or(args.file.as_ref());
    let (file, text) = input::read_text(path.map_or(Path::new("-"), PathBuf::as_path))?;
    let read = template_file::read(&file, &text)?;
    let written = match &args.name {
        Some(name) => name.as_str(),
        None => read.name()?,
    };
    let (namespace, name) = split(cluster, written).await?;
    let object = read.config_map(namespace, name)?;
    if let Some(there) = objects::read(cluster, &object).await? {
        let there = json!(there);
        let is_template = there["metadata"]["labels"][CATALOG] == CATALOG_OF_CONFIGS;
        if !is_template || Template::read(&there).is_err() {
            let why = format!("it is there and no config template: it has no label {CATALOG}, or no text");
            return Err(refused(&object, &why, "nothing was written; choose another name by --name"));
        }
    }
    // What KubeVela wrote of a template is taken over, as it takes over what was written here.
    let (applied, _) = cluster.apply(&object, true, args.dry_run).await?;
    if args.dry_run {
        screen.say(&format!("{} {} (dry run)", title(&object), applied.word()));
        return screen.data(Format::Yaml, &object);
    }
    screen.say(&format!("{} {}", title(&object), applied.word()));
    Ok(())
}

async fn delete(cluster: &Cluster, names: &[String], yes: bool, screen: &mut Screen) -> Result<()> {
    // All must be there before the first one goes.
    let (mut found, mut failures) = (Vec::new(), Vec::new());
    for name in names {
        match find(cluster, name).await {
            Ok(config_map) => match Template::read(&config_map) {
                Ok(_) => found.push(config_map),
                Err(why) => failures.push(Error::user(why).hint("nothing was deleted").into()),
            },
            Err(failure) => failures.push(failure),
        }
    }
    if let Some(failure) = Failure::all(failures) {
        return Err(failure);
    }
    if !yes {
        let what = enumerated(names);
        let question = Question {
            question: &format!("Delete the config template {what}; the configs that go by it stay"),
            unasked: &format!("the config template {what} would be deleted"),
            declined: "nothing was deleted",
        };
        confirm(&question, screen)?;
    }
    for config_map in &found {
        let (api_version, kind) = CONFIG_MAP;
        let (namespace, name) = place_of(config_map);
        if cluster.delete(api_version, kind, Some(&namespace), &name).await?.is_some() {
            screen.say(&format!("{kind} {namespace}/{name} deleted"));
        }
    }
    Ok(())
}

/// Namespace and name of a template, which may be written without its namespace.
async fn split<'a>(cluster: &'a Cluster, written: &'a str) -> Result<(&'a str, &'a str)> {
    match written.split_once('/') {
        Some(parts) => Ok(parts),
        None => Ok((cluster.system_namespace().await?, written)),
    }
}

/// The name of the template that a ConfigMap holds.
fn name_of(config_map: &Value) -> &str {
    let whole = text(config_map, "/metadata/name");
    whole.strip_prefix(&Template::config_map("")).unwrap_or(whole)
}

/// The ConfigMaps of templates, by namespace and name.
async fn all(cluster: &Cluster, all_namespaces: bool) -> Result<Vec<Value>> {
    let mut namespaces = vec![Some(cluster.system_namespace().await?), Some(cluster.namespace())];
    namespaces.dedup();
    let mut found: Vec<Value> = Vec::new();
    for namespace in if all_namespaces { vec![None] } else { namespaces } {
        let list = cluster.list(CONFIG_MAP.0, CONFIG_MAP.1, namespace).await?;
        found.extend(list.into_iter().map(|config_map| json!(config_map)));
    }
    let prefix = Template::config_map("");
    found.retain(|one| text(one, "/metadata/name").starts_with(&prefix) && Template::read(one).is_ok());
    found.sort_by_cached_key(place_of);
    Ok(found)
}

/// The ConfigMap of the template of this name, which may begin with a namespace.
pub(super) async fn find(cluster: &Cluster, written: &str) -> Result<Value> {
    let (namespace, name) = split(cluster, written).await?;
    let config_map = Template::config_map(name);
    if let Some(found) = cluster.get(CONFIG_MAP.0, CONFIG_MAP.1, Some(namespace), &config_map).await? {
        return Ok(json!(found));
    }
    let known = all(cluster, false).await?;
    let usual = cluster.system_namespace().await?;
    let names: Vec<String> = known
        .iter()
        .map(|one| match place_of(one).0 {
            system if system == usual => name_of(one).to_owned(),
            other => format!("{other}/{}", name_of(one)),
        })
        .collect();
    let message = format!(
        "there is no config template {written:?}: namespace {namespace} has no ConfigMap {config_map}"
    );
    let hint = advice(written, "config template", names.iter().map(String::as_str));
    Err(Error::user(message)
        .hint(hint.unwrap_or_else(|| "`vela config-template list -A` lists all templates".to_owned()))
        .into())
}

/// The properties that the configs of a template take. The engine describes what definitions declare, and the text of a
/// template declares the same below `template`.
pub(super) fn described(config_map: &Value) -> Parameters {
    let text = text(config_map, "/data/template");
    let definition = json!({
        "apiVersion": "core.oam.dev/v1beta1",
        "kind": "WorkflowStepDefinition",
        "metadata": {"name": name_of(config_map)},
        "spec": {"schematic": {"cue": {"template": format!("{text}\nparameter: template.parameter\n")}}},
    });
    Definition::from_object(definition).map(|definition| parameters(&definition)).unwrap_or_default()
}
