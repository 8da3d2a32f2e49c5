//! Templates of configs: which there are, and which properties their configs take.

use serde_json::{Value, json};
use vela_engine::Definition;
use vela_engine::config::Template;
use vela_engine::nearest::advice;
use vela_engine::parameters::{Parameters, parameters};

use super::objects::{place_of, print_list};
use crate::args::{ConfigTemplate, Format};
use crate::cluster::Cluster;
use crate::command::show::outline;
use crate::error::{Error, Result};
use crate::installation::SYSTEM_NAMESPACE;
use crate::pointer::text;
use crate::screen::{Screen, data};

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
                    false => format!("the namespaces {SYSTEM_NAMESPACE} and {}", cluster.namespace()),
                };
                screen.say(&format!("There is no config template in {place} of {}.", cluster.title()));
            }
            Ok(())
        }
        ConfigTemplate::Show { name, output } => {
            let described = described(&find(cluster, name).await?);
            if *output != Format::Table {
                return screen.print(&data(*output, &json!(described))?);
            }
            let width = screen.width().unwrap_or(usize::MAX);
            screen.print(&format!("config template {name}\n\n{}", outline::render(&described, width)))
        }
    }
}

/// The name of the template that a ConfigMap holds.
fn name_of(config_map: &Value) -> &str {
    let whole = text(config_map, "/metadata/name");
    whole.strip_prefix(&Template::config_map("")).unwrap_or(whole)
}

/// The ConfigMaps of templates, by namespace and name.
async fn all(cluster: &Cluster, all_namespaces: bool) -> Result<Vec<Value>> {
    let mut namespaces = vec![Some(SYSTEM_NAMESPACE), Some(cluster.namespace())];
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
    let (namespace, name) = written.split_once('/').unwrap_or((SYSTEM_NAMESPACE, written));
    let config_map = Template::config_map(name);
    if let Some(found) = cluster.get(CONFIG_MAP.0, CONFIG_MAP.1, Some(namespace), &config_map).await? {
        return Ok(json!(found));
    }
    let known = all(cluster, false).await?;
    let names: Vec<String> = known
        .iter()
        .map(|one| match place_of(one).0 {
            system if system == SYSTEM_NAMESPACE => name_of(one).to_owned(),
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
