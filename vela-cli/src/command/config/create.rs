//! `vela config create`: properties and a template → the objects of a config, written as the step `create-config` writes them.

use serde_json::{Map, Value, json};
use vela_engine::config::{self, Made, Named, Template};
use vela_engine::nearest::advice;
use vela_engine::parameters::Parameter;

use super::objects::{read, refused, title};
use super::template;
use crate::args::{CreateConfig, Format};
use crate::cluster::Cluster;
use crate::command::init::typed;
use crate::error::{Error, Result};
use crate::input;
use crate::screen::{Screen, data};

/// The advice where an object that is there is none of this config.
const NOT_WRITTEN: &str = "nothing was written; choose another name, or look whose object it is";

pub(super) async fn create(cluster: &Cluster, args: &CreateConfig, screen: &mut Screen) -> Result<()> {
    let given = file(args)?;
    let config_map = match &args.template {
        Some(written) => Some(template::find(cluster, written).await?),
        None => None,
    };
    let schema = config_map.as_ref().map(|config_map| template::described(config_map).root);
    let properties = with_words(given, args, schema.as_ref())?;
    let wrong = |why: String| Error::user(format!("config {}: {why}", args.name));
    let template = config_map.as_ref().map(Template::read).transpose().map_err(wrong)?;
    let named = Named { name: args.name.clone(), namespace: cluster.namespace().to_owned() };
    let made = config::make(&named, &properties, template.as_ref()).map_err(|why| {
        let error = wrong(why);
        match &args.template {
            Some(template) => {
                error.hint(format!("`vela config-template show {template}` says what it takes"))
            }
            None => error,
        }
    })?;
    judge(cluster, &made).await?;
    write(cluster, args, &made, screen).await
}

/// All is judged before anything is written.
async fn judge(cluster: &Cluster, made: &Made) -> Result<()> {
    if let Some(there) = read(cluster, &made.secret).await? {
        config::may_change(&json!(there), &made.secret)
            .map_err(|why| refused(&made.secret, &why, NOT_WRITTEN))?;
    }
    for output in &made.outputs {
        if let Some(there) = read(cluster, output).await? {
            config::is_output(&json!(there)).map_err(|why| refused(output, &why, NOT_WRITTEN))?;
        }
    }
    Ok(())
}

/// The Secret names what goes with it, and comes first: what was made is found when the config is deleted.
async fn write(cluster: &Cluster, args: &CreateConfig, made: &Made, screen: &mut Screen) -> Result<()> {
    for object in [&made.secret].into_iter().chain(&made.outputs) {
        // What a workflow wrote of a config is taken over, as a workflow takes over what was written here.
        let (applied, _) = cluster.apply(object, true, args.dry_run).await?;
        let would = if args.dry_run { " (dry run)" } else { "" };
        screen.say(&format!("{} {}{would}", title(object), applied.word()));
        if args.show_secrets {
            screen.print(&format!("---\n{}", data(Format::Yaml, object)?))?;
        }
    }
    Ok(())
}

/// The properties of the file.
fn file(args: &CreateConfig) -> Result<Value> {
    let Some(path) = &args.file else { return Ok(json!({})) };
    let documents = input::read(std::slice::from_ref(path))?;
    match &documents[..] {
        [one] if one.value().is_object() => Ok(one.value().clone()),
        _ => {
            Err(Error::user(format!("{}: expected one object, the properties of the config", path.display()))
                .hint("write one property a line, such as host: 10.0.0.1")
                .into())
        }
    }
}

/// The same with the properties that were given as words.
fn with_words(mut properties: Value, args: &CreateConfig, schema: Option<&Parameter>) -> Result<Value> {
    for (path, text) in &args.properties {
        let value = match schema {
            Some(schema) => typed_by(schema, path, text)?,
            None => json!(text),
        };
        let names: Vec<&str> = path.split('.').collect();
        let mut at = &mut properties;
        for name in names {
            if at.is_null() {
                *at = Value::Object(Map::new());
            }
            let wrong = || Error::user(format!("{path}: what stands before {name:?} is no object"));
            at = at.as_object_mut().ok_or_else(wrong)?.entry(name).or_insert(Value::Null);
        }
        *at = value;
    }
    Ok(properties)
}

/// The value as the template declares it; no message repeats it.
fn typed_by(schema: &Parameter, path: &str, text: &str) -> Result<Value> {
    let mut parameter = schema;
    for name in path.split('.') {
        let Some(child) = parameter.children.iter().find(|one| one.name == name) else {
            // What the template leaves open takes any text.
            if parameter.children.is_empty() {
                return Ok(json!(text));
            }
            let known = parameter.children.iter().map(|one| one.name.as_str());
            let hint = advice(name, "property", known.clone());
            let all = format!("it takes {}", known.collect::<Vec<_>>().join(", "));
            let error = Error::user(format!("{path}: the template has no property {name:?}"));
            return Err(error.hint(hint.unwrap_or(all)).into());
        };
        parameter = child;
    }
    typed(parameter, text)
        .map_err(|expected| Error::user(format!("{path}: the value cannot be taken: {expected}")).into())
}
