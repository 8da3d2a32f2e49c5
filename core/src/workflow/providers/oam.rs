//! `vela/oam`: the components and policies of the application as they are written.

use serde_json::{Map, Value};

use super::provider::{Asked, Called, Provider, Reach};

/// The fields of a component that a step may not take over: values go to it and from it by the step that applies it.
const VALUES: [&str; 2] = ["inputs", "outputs"];

/// Answers `oam.#LoadComponets`, `oam.#LoadComponetsInOrder` and `oam.#LoadPolicies`.
pub(super) struct Oam;

impl Provider for Oam {
    const NAMES: &'static [&'static str] = &["oam", "op"];

    async fn call<R: Reach>(reach: &mut R, asked: &mut Asked<'_>) -> Result<Option<Called>, R::Error> {
        let loaded = match asked.question.function.as_str() {
            "load" => by_name(reach.components().into_iter().map(without_values)),
            "load-comps-in-order" => reach.components().into_iter().map(without_values).collect(),
            "load-policies" => by_name(reach.policies().into_iter()),
            _ => return Ok(None),
        };
        Ok(Some(asked.named("value", "value", loaded)))
    }
}

fn by_name(items: impl Iterator<Item = Value>) -> Value {
    let named = items.filter_map(|item| Some((item["name"].as_str()?.to_owned(), item.clone())));
    Value::Object(named.collect::<Map<_, _>>())
}

fn without_values(mut component: Value) -> Value {
    if let Some(fields) = component.as_object_mut() {
        fields.retain(|field, _| !VALUES.contains(&field.as_str()));
    }
    component
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::test_double::{Double, asked, question};
    use super::*;

    #[tokio::test]
    async fn components_and_policies_are_loaded() {
        let web = json!({"name": "web", "type": "webservice"});
        let mut double = Double {
            components: vec![json!({"name": "web", "type": "webservice", "inputs": [], "outputs": []})],
            policies: vec![json!({"name": "here", "type": "topology"})],
            ..Double::default()
        };
        for (provider, function, expected) in [
            ("oam", "load", json!({"web": web})),
            ("op", "load-comps-in-order", json!([web])),
            ("op", "load-policies", json!({"here": {"name": "here", "type": "topology"}})),
        ] {
            let called = asked(&mut double, question(provider, function, json!({}))).await;
            assert_eq!(called, Called::Answer(json!({"value": expected})), "{provider} {function}");
        }
    }
}
