//! A namespace, its ConfigMap and all HarborServerConfigurations → the rules that hold for its pods, the first one first. Pure.

use kube::api::DynamicObject;

use super::super::connection;
use super::super::error::Error;
use super::super::namespace::{self, SERVER, annotation, annotations_of, described_server, name_of};
use super::super::rule::{self, Rule};
use crate::field::Field;

/// The annotation of a namespace that names a ConfigMap with rules for its pods alone.
pub(super) const RULES: &str = "goharbor.io/rewriting-rules";

/// What has a say.
pub(super) struct Facts {
    pub(super) namespace: DynamicObject,
    /// The ConfigMap that the namespace names.
    pub(super) map: Option<DynamicObject>,
    /// All HarborServerConfigurations.
    pub(super) servers: Vec<DynamicObject>,
}

/// A rule and the Harbor whose project it names.
#[derive(Clone, Debug)]
pub(super) struct ServerRule {
    /// Host and port.
    pub(super) server: String,
    pub(super) rule: Rule,
}

/// What holds, and why something does not.
#[derive(Debug, Default)]
pub(super) struct Choice {
    pub(super) rules: Vec<ServerRule>,
    pub(super) errors: Vec<String>,
}

/// Rules of the ConfigMap come before those of the Harbor that it names, and these before those of the namespace's own or the default Harbor.
pub(super) fn choose(facts: &Facts) -> Choice {
    // Where what comes first cannot be known, nothing that comes later may decide.
    let Own { mut rules, server } = match own(facts) {
        Ok(Some(own)) => own,
        Ok(None) => return Choice::default(),
        Err(error) => return Choice { rules: Vec::new(), errors: vec![error.to_string()] },
    };
    match general(facts, server) {
        Ok(more) => {
            rules.extend(more);
            Choice { rules, errors: Vec::new() }
        }
        Err(error) => Choice { rules, errors: vec![error.to_string()] },
    }
}

/// What the ConfigMap of the namespace brings.
#[derive(Default)]
struct Own<'a> {
    rules: Vec<ServerRule>,
    /// The HarborServerConfiguration whose rules are among them.
    server: Option<&'a str>,
}

/// Nothing where it says that no image is rewritten.
fn own(facts: &Facts) -> Result<Option<Own<'_>>, Error> {
    let (described, annotations) = annotations_of(&facts.namespace);
    let annotations = Field::new(&described, "metadata.annotations", &annotations);
    let Some(name) = annotation(&facts.namespace, RULES) else { return Ok(Some(Own::default())) };
    let Some(map) = &facts.map else {
        let expected =
            format!("names ConfigMap {name}, which this namespace does not have: create it, or name another");
        return Err(annotations.get(RULES).wrong(expected).into());
    };
    let described = format!("ConfigMap {}/{name}", name_of(&facts.namespace));
    let data = Field::new(&described, "data", &map.data["data"]);
    let switch = data.get("rewriting");
    match switch.text_or("on")? {
        "on" => {}
        "off" => return Ok(None),
        _ => return Err(switch.wrong("must be \"on\" or \"off\"").into()),
    }
    let rules = rule::of_lines(&data.get("rules"))?;
    let by_map = map.data["data"]["hsc"].as_str().map(|name| (data.get("hsc"), name));
    let by_namespace = annotation(&facts.namespace, SERVER).map(|name| (annotations.get(SERVER), name));
    match by_map.filter(|(_, name)| !name.is_empty()).or(by_namespace) {
        Some((field, name)) => {
            let server = namespace::named(&facts.namespace, &facts.servers, &field, name)?;
            let rules = of_server(server, rules)?;
            Ok(Some(Own { rules, server: Some(name) }))
        }
        None if rules.is_empty() => Ok(Some(Own::default())),
        None => {
            let expected = "must name the HarborServerConfiguration that has the projects of data.rules";
            Err(data.get("hsc").wrong(expected).into())
        }
    }
}

/// The rules of the Harbor that the namespace names, else of the default, unless that is `used` already.
fn general(facts: &Facts, used: Option<&str>) -> Result<Vec<ServerRule>, Error> {
    let server = namespace::server_of(&facts.namespace, &facts.servers)?;
    match server.filter(|server| used != Some(name_of(server))) {
        Some(server) => of_server(server, Vec::new()),
        None => Ok(Vec::new()),
    }
}

/// These rules and then its own, each with its address.
fn of_server(server: &DynamicObject, mut rules: Vec<Rule>) -> Result<Vec<ServerRule>, Error> {
    let described = described_server(server);
    let spec = Field::new(&described, "spec", &server.data["spec"]);
    rules.extend(rule::of_list(&spec.get("rules"))?);
    let server = connection::registry(&spec.get("serverURL"))?;
    Ok(rules.into_iter().map(|rule| ServerRule { server: server.clone(), rule }).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn object(value: Value) -> DynamicObject {
        serde_json::from_value(value).unwrap()
    }

    fn namespace(annotations: Value) -> DynamicObject {
        let labels = json!({"team": "web"});
        object(json!({"metadata": {"name": "shop", "labels": labels, "annotations": annotations}}))
    }

    fn server(name: &str, spec: Value) -> DynamicObject {
        let mut whole =
            json!({"serverURL": format!("https://{name}.example"), "rules": [format!("*,of-{name}")]});
        whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
        object(json!({"metadata": {"name": name}, "spec": whole}))
    }

    fn map(data: Value) -> Option<DynamicObject> {
        Some(object(json!({"metadata": {"name": "images", "namespace": "shop"}, "data": data})))
    }

    /// The projects that are chosen, with their servers, and the errors.
    fn chosen(
        annotations: Value,
        map: Option<DynamicObject>,
        servers: Vec<DynamicObject>,
    ) -> (Vec<String>, Vec<String>) {
        let Choice { rules, errors } = choose(&Facts { namespace: namespace(annotations), map, servers });
        (rules.iter().map(|one| format!("{}/{}", one.server, one.rule.project())).collect(), errors)
    }

    fn rules(chosen: (Vec<String>, Vec<String>)) -> Vec<String> {
        assert_eq!(chosen.1, Vec::<String>::new());
        chosen.0
    }

    const MAPPED: [(&str, &str); 1] = [(RULES, "images")];

    fn mapped() -> Value {
        json!(std::collections::BTreeMap::from(MAPPED))
    }

    #[test]
    fn the_default_holds_where_its_selector_selects() {
        let default = |spec: Value| {
            let mut default = server("main", json!({"default": true}));
            default.data["spec"].as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
            vec![server("other", json!({})), default]
        };
        let selector = |value: &str| json!({"namespaceSelector": {"matchLabels": {"team": value}}});
        let expected = ["main.example/of-main"];
        assert_eq!(rules(chosen(json!({}), None, default(json!({})))), expected);
        assert_eq!(rules(chosen(json!({}), None, default(json!({"namespaceSelector": {}})))), expected);
        assert_eq!(rules(chosen(json!({}), None, default(selector("web")))), expected);
        assert!(rules(chosen(json!({}), None, default(selector("db")))).is_empty());
        assert!(rules(chosen(json!({}), None, vec![server("other", json!({}))])).is_empty());
    }

    #[test]
    fn the_oldest_default_holds_and_none_that_goes() {
        let of = |name: &str, second: u32, goes: bool| {
            let mut one = server(name, json!({"default": true}));
            let time = |second: u32| serde_json::from_value(json!(format!("2026-01-01T00:00:{second:02}Z")));
            one.metadata.creation_timestamp = time(second).unwrap();
            one.metadata.deletion_timestamp = if goes { time(59).unwrap() } else { None };
            one
        };
        let all = vec![of("young", 9, false), of("old", 5, false), of("gone", 1, true)];
        assert_eq!(rules(chosen(json!({}), None, all)), ["old.example/of-old"]);
    }

    #[test]
    fn a_namespace_names_its_server_in_place_of_the_default() {
        let servers = vec![
            server("main", json!({"default": true})),
            server("own", json!({"serverURL": "10.0.0.7:8443"})),
        ];
        assert_eq!(rules(chosen(json!({SERVER: "own"}), None, servers)), ["10.0.0.7:8443/of-own"]);
    }

    #[test]
    fn the_rules_of_a_config_map_come_first() {
        let servers = || {
            let spec = json!({"rules": ["quay.io,second"]});
            vec![server("main", json!({"default": true})), server("own", spec)]
        };
        let data = json!({"hsc": "own", "rewriting": "on", "rules": "docker.io,first\n"});
        let expected = ["own.example/first", "own.example/second", "main.example/of-main"];
        assert_eq!(rules(chosen(mapped(), map(data), servers())), expected);
        let both = json!({RULES: "images", SERVER: "own"});
        let found = chosen(both, map(json!({"rules": "docker.io,first"})), servers());
        assert_eq!(
            rules(found),
            ["own.example/first", "own.example/second"],
            "the namespace names the server"
        );
        let default = json!({"hsc": "main", "rules": "docker.io,first"});
        let expected = ["main.example/first", "main.example/of-main"];
        assert_eq!(rules(chosen(mapped(), map(default), servers())), expected, "no rule twice");
        let found = chosen(mapped(), map(json!({"rewriting": "on"})), servers());
        assert_eq!(rules(found), ["main.example/of-main"]);
    }

    #[test]
    fn a_config_map_switches_rewriting_off() {
        let servers = vec![server("main", json!({"default": true}))];
        let data = json!({"rewriting": "off", "hsc": "none", "rules": "nonsense"});
        assert!(rules(chosen(mapped(), map(data), servers)).is_empty());
    }

    #[test]
    fn a_mistake_is_said_with_its_place_and_nothing_holds() {
        let servers = || {
            let elsewhere = json!({"namespaceSelector": {"matchLabels": {"team": "db"}}});
            vec![server("main", json!({"default": true})), server("db", elsewhere)]
        };
        for (annotations, map, said) in [
            (
                mapped(),
                None,
                "Namespace shop: metadata.annotations.goharbor.io/rewriting-rules names ConfigMap images",
            ),
            (
                mapped(),
                map(json!({"rewriting": "yes"})),
                "ConfigMap shop/images: data.rewriting must be \"on\"",
            ),
            (
                mapped(),
                map(json!({"hsc": "none"})),
                "data.hsc names HarborServerConfiguration none, which does not",
            ),
            (mapped(), map(json!({"hsc": "db"})), "db is not for namespace shop"),
            (mapped(), map(json!({"rules": "a,b"})), "data.hsc must name the HarborServerConfiguration"),
            (mapped(), map(json!({"hsc": "main", "rules": "a"})), "data.rules must be a registry, a comma"),
            (
                json!({SERVER: "none"}),
                None,
                "annotations.goharbor.io/harbor names HarborServerConfiguration none",
            ),
            (json!({SERVER: "db"}), None, "db is not for namespace shop"),
        ] {
            let (rules, errors) = chosen(annotations, map, servers());
            assert!(rules.is_empty(), "{said}: {rules:?}");
            assert!(errors.len() == 1 && errors[0].contains(said), "{said}: {errors:?}");
        }
    }

    #[test]
    fn a_wrong_default_leaves_the_rules_of_a_config_map() {
        for spec in [
            json!({"rules": ["("]}),
            json!({"serverURL": ""}),
            json!({"serverURL": "https://me@hub.example"}),
            json!({"namespaceSelector": {"matchLabels": 7}}),
        ] {
            let mut wrong = server("main", json!({"default": true}));
            wrong.data["spec"].as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
            let data = json!({"hsc": "own", "rules": "docker.io,first"});
            let found = chosen(mapped(), map(data), vec![wrong, server("own", json!({}))]);
            assert_eq!(found.0, ["own.example/first", "own.example/of-own"], "{spec}");
            assert!(found.1.len() == 1 && found.1[0].contains("spec."), "{spec}: {:?}", found.1);
        }
    }
}
