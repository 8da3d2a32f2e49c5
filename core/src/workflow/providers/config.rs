//! `vela/config`: configs are made, read, listed and deleted. A config has no owner: it stays when the application goes.
//!
//! `vela_engine::config` defines a config and its written form. No message repeats its values.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use vela_engine::config::{self, CATALOG, CATALOG_OF_CONFIGS, Named, TYPE, Template};

use super::provider::{Asked, Called, Objects, Provider, Reach};
use crate::reading::Selection;

/// Answers `config.#CreateConfig`, `config.#ReadConfig`, `config.#ListConfig` and `config.#DeleteConfig`.
pub(super) struct Config;

impl Provider for Config {
    const NAMES: &'static [&'static str] = &["config", "op"];

    async fn call<R: Reach>(reach: &mut R, asked: &mut Asked<'_>) -> Result<Option<Called>, R::Error> {
        let question = asked.question;
        let called = match (question.provider.as_str(), question.function.as_str()) {
            ("config", "list") | ("op", "list-config") => list(reach, asked).await?,
            ("config", function @ ("create" | "read" | "delete"))
            | ("op", function @ ("create-config" | "read-config" | "delete-config")) => {
                let named = Named {
                    name: asked.text("name").to_owned(),
                    namespace: asked.text("namespace").to_owned(),
                };
                if named.name.is_empty() {
                    return Ok(Some(asked.broken("name: expected the name of a config")));
                }
                match function.split('-').next() {
                    Some("create") => create(reach, asked, &named).await?,
                    Some("read") => read(reach, asked, &named).await?,
                    _ => delete(reach, &named).await?,
                }
            }
            _ => return Ok(None),
        };
        Ok(Some(called))
    }
}

async fn create<R: Reach>(reach: &mut R, asked: &Asked<'_>, named: &Named) -> Result<Called, R::Error> {
    let template = match template(reach, asked.text("template")).await? {
        Ok(template) => template,
        Err(why) => return Ok(failed(named, &why)),
    };
    let made = match config::make(named, &asked.params()["config"], template.as_ref()) {
        Ok(made) => made,
        Err(why) => return Ok(asked.broken(format!("config {}: {why}", named.name))),
    };
    let there = match reach.read_object(&made.secret).await? {
        Ok(there) => there,
        Err(why) => return Ok(failed(named, &why)),
    };
    if let Some(Err(why)) = there.map(|there| config::may_change(&there, &made.secret)) {
        return Ok(asked.broken(format!("config {}: {why}", named.name)));
    }
    // The Secret names what goes with it, and comes first: what was made is found when the config is deleted.
    if let Err(why) = reach.put_object(made.secret, config::is_config).await? {
        return Ok(failed(named, &why));
    }
    for output in made.outputs {
        if let Err(why) = reach.put_object(output, config::is_output).await? {
            return Ok(failed(named, &why));
        }
    }
    Ok(Called::nothing())
}

async fn read<R: Reach>(reach: &mut R, asked: &Asked<'_>, named: &Named) -> Result<Called, R::Error> {
    Ok(match reach.read_object(&secret(named)).await? {
        Ok(Some(found)) => match config::properties(&found) {
            Ok(properties) => asked.named("config", "config", properties),
            Err(why) => asked.broken(format!("config {}: {why}", named.name)),
        },
        Ok(None) => failed(named, "it is not there"),
        Err(why) => failed(named, &why),
    })
}

async fn list<R: Reach>(reach: &mut R, asked: &Asked<'_>) -> Result<Called, R::Error> {
    let template = asked.text("template");
    let name = template.split_once('/').map_or(template, |(_, name)| name);
    let label = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let mut labels = BTreeMap::from([label(CATALOG, CATALOG_OF_CONFIGS)]);
    labels.extend(Some(label(TYPE, name)).filter(|_| !name.is_empty()));
    let selection = Selection {
        api_version: "v1".to_owned(),
        kind: "Secret".to_owned(),
        namespace: asked.text("namespace").to_owned(),
        labels,
        ..Selection::default()
    };
    Ok(match reach.list_objects(&selection).await? {
        Ok(found) => {
            let configs: Value = found.iter().filter_map(config::listed).collect();
            asked.named("configs", "configs", configs)
        }
        Err(why) => Called::failed(format!("configs of template {name:?}: {why}")),
    })
}

/// The objects beside it go first: as long as one exists, the Secret names it. An absent one counts as deleted.
async fn delete<R: Reach>(reach: &mut R, named: &Named) -> Result<Called, R::Error> {
    let found = match reach.read_object(&secret(named)).await? {
        Ok(Some(found)) => found,
        Ok(None) => return Ok(Called::nothing()),
        Err(why) => return Ok(failed(named, &why)),
    };
    if let Err(why) = config::is_config(&found) {
        return Ok(Called::broken(format!("config {}: {why}", named.name)));
    }
    for output in config::outputs(&found) {
        if let Err(why) = reach.remove_object(&output, config::is_output).await? {
            return Ok(failed(named, &why));
        }
    }
    Ok(match reach.remove_object(&secret(named), config::is_config).await? {
        Ok(()) => Called::nothing(),
        Err(why) => failed(named, &why),
    })
}

/// The template of this name, which may begin with a namespace; nothing where none is named.
async fn template<O: Objects>(
    objects: &mut O,
    written: &str,
) -> Result<Result<Option<Template>, String>, O::Error> {
    if written.is_empty() {
        return Ok(Ok(None));
    }
    // Those of the system need not say where they are.
    let (namespace, name) = written.split_once('/').unwrap_or(("", written));
    let name = Template::config_map(name);
    Ok(match objects.read_shared(namespace, &name).await? {
        Ok(Some(found)) => Template::read(&found).map(Some),
        Ok(None) => Err(format!("the template {written:?} does not exist: there is no ConfigMap {name}")),
        Err(why) => Err(why),
    })
}

fn secret(named: &Named) -> Value {
    let Named { name, namespace } = named;
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": namespace}})
}

fn failed(named: &Named, why: &str) -> Called {
    Called::failed(format!("config {}: {why}", named.name))
}

#[cfg(test)]
mod tests {
    use vela_engine::workflow::StepOutcome;

    use super::super::test_double::{Double, asked, question};
    use super::*;

    fn named() -> Named {
        Named { name: "db".to_owned(), namespace: "prod".to_owned() }
    }

    fn params(more: &Value) -> Value {
        let mut params = json!({"name": "db", "namespace": "prod"});
        for (name, value) in more.as_object().into_iter().flatten() {
            params[name] = value.clone();
        }
        params
    }

    /// A config as it is in the cluster.
    fn stored() -> Value {
        config::make(&named(), &json!({"host": "10.0.0.1"}), None).unwrap().secret
    }

    fn message(called: Called) -> String {
        match called {
            Called::Ended(StepOutcome::Broken { message } | StepOutcome::Error { message }) => message,
            called => panic!("{called:?}"),
        }
    }

    #[tokio::test]
    async fn a_config_is_made_once_and_again() {
        for (provider, function) in [("config", "create"), ("op", "create-config")] {
            let mut double = Double::default();
            let ask = question(provider, function, params(&json!({"config": {"host": "10.0.0.1"}})));
            assert_eq!(asked(&mut double, ask.clone()).await, Called::nothing());
            assert_eq!(double.put, [stored()]);
            double.there = Some(stored());
            assert_eq!(asked(&mut double, ask).await, Called::nothing(), "a step may be run again");
            assert!(double.applied.is_empty(), "it is not recorded as the application's");
        }
    }

    #[tokio::test]
    async fn what_is_no_config_stays_as_it_is() {
        let foreign = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db"}});
        let mut double = Double { there: Some(foreign), ..Double::default() };
        for (function, more) in [("create", json!({"config": {}})), ("delete", json!({}))] {
            let why = message(asked(&mut double, question("config", function, params(&more))).await);
            assert!(why.contains("no config"), "{why}");
        }
        let why = message(asked(&mut double, question("config", "read", params(&json!({})))).await);
        assert!(why.contains("no config"), "{why}");
        assert!(double.put.is_empty() && double.deleted.is_empty());
        let nameless = json!({"name": "", "namespace": "prod"});
        let why = message(asked(&mut double, question("config", "read", nameless)).await);
        assert!(why.contains("name: expected"), "{why}");
    }

    #[tokio::test]
    async fn a_template_that_is_not_there_is_told() {
        let ask = params(&json!({"config": {}, "template": "mysql"}));
        let why = message(asked(&mut Double::default(), question("config", "create", ask)).await);
        let expected =
            "config db: the template \"mysql\" does not exist: there is no ConfigMap config-template-mysql";
        assert_eq!(why, expected);
    }

    #[tokio::test]
    async fn configs_are_read_listed_and_deleted() {
        let mut double = Double { there: Some(stored()), listed: vec![stored()], ..Double::default() };
        let called = asked(&mut double, question("config", "read", params(&json!({})))).await;
        assert_eq!(called, Called::Answer(json!({"config": {"host": "10.0.0.1"}})));
        let ask = json!({"template": "prod/mysql", "namespace": "prod"});
        let called = asked(&mut double, question("op", "list-config", ask)).await;
        let Called::Answer(answer) = called else { panic!("{called:?}") };
        assert_eq!(answer["configs"][0]["config"]["host"], "10.0.0.1");
        assert_eq!(double.selected[0].labels[TYPE], "mysql");
        let called = asked(&mut double, question("config", "delete", params(&json!({})))).await;
        assert_eq!((called, double.deleted.len()), (Called::nothing(), 1));
        double.there = None;
        let called = asked(&mut double, question("config", "delete", params(&json!({})))).await;
        assert_eq!((called, double.deleted.len()), (Called::nothing(), 1));
        let why = message(asked(&mut double, question("config", "read", params(&json!({})))).await);
        assert_eq!(why, "config db: it is not there");
    }
}
