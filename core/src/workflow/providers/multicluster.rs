//! `vela/multicluster`: where policies say that something goes. Only the local cluster can be meant yet.

use serde_json::{Value, json};

use super::provider::{Asked, Called, Provider, Reach};

/// Answers `multicluster.#ListClusters` and `multicluster.#GetPlacementsFromTopologyPolicies`.
pub(super) struct Multicluster;

impl Provider for Multicluster {
    const NAMES: &'static [&'static str] = &["multicluster", "op"];

    async fn call<R: Reach>(reach: &mut R, asked: &mut Asked<'_>) -> Result<Option<Called>, R::Error> {
        Ok(Some(match asked.question.function.as_str() {
            // As upstream: the clusters that joined, and not the local one.
            "list-clusters" => asked.named("outputs", "outputs", json!({"clusters": []})),
            "get-placements-from-topology-policies" => {
                let policies = asked.params()["policies"].as_array().into_iter().flatten();
                let policies: Vec<String> =
                    policies.filter_map(|name| name.as_str().map(str::to_owned)).collect();
                match reach.placements(&policies) {
                    Ok(places) => asked.named("placements", "placements", written(places)),
                    Err(why) => asked.broken(why),
                }
            }
            _ => return Ok(None),
        }))
    }
}

fn written(places: Vec<(String, String)>) -> Value {
    let places = places.into_iter();
    places.map(|(cluster, namespace)| json!({"cluster": cluster, "namespace": namespace})).collect()
}

#[cfg(test)]
mod tests {
    use super::super::test_double::{Double, asked, question};
    use super::*;

    #[tokio::test]
    async fn places_are_those_of_policies() {
        let mut double = Double::default();
        for provider in ["multicluster", "op"] {
            let ask = question(provider, "get-placements-from-topology-policies", json!({"policies": []}));
            let called = asked(&mut double, ask).await;
            let local = json!({"placements": [{"cluster": "local", "namespace": ""}]});
            assert_eq!(called, Called::Answer(local));
        }
        let ask = question("op", "get-placements-from-topology-policies", json!({"policies": ["far"]}));
        assert_eq!(asked(&mut double, ask).await, Called::broken("ask: policy far not found"));
        let called = asked(&mut double, question("multicluster", "list-clusters", json!({}))).await;
        assert_eq!(called, Called::Answer(json!({"outputs": {"clusters": []}})));
    }
}
