//! `vela/op` and `vela/terraform`: the environments of `env-binding` policies, on the local cluster, and the components that
//! Terraform makes.

use serde_json::{Value, json};
use vela_engine::{LOCAL, policy};

use super::provider::{Asked, Called, Provider, Reach};

/// Answers `op.#MakePlacementDecisions`, `op.#PatchApplication` and `terraform.#LoadTerraformComponents`.
pub(super) struct Environment;

impl Provider for Environment {
    const NAMES: &'static [&'static str] = &["op", "terraform"];

    async fn call<R: Reach>(reach: &mut R, asked: &mut Asked<'_>) -> Result<Option<Called>, R::Error> {
        Ok(Some(match asked.question.function.as_str() {
            "make-placement-decisions" => decisions(asked),
            "patch-application" => {
                let inputs = &asked.params()["inputs"];
                let (patch, selector) = (&inputs["patch"]["components"], &inputs["selector"]["components"]);
                let components = policy::changed_components(reach.components(), patch, selector);
                asked.named("outputs", "outputs", json!({"spec": {"components": components}}))
            }
            "load-terraform-components" => {
                asked.named("outputs", "outputs", json!({"components": reach.terraform_components()}))
            }
            _ => return Ok(None),
        }))
    }
}

/// Where an environment is. Labels choose neither clusters nor namespaces.
fn decisions(asked: &Asked<'_>) -> Called {
    let placement = &asked.params()["inputs"]["placement"];
    for (field, what) in [("clusterSelector", "clusters"), ("namespaceSelector", "a namespace")] {
        if placement[field]["labels"].as_object().is_some_and(|labels| !labels.is_empty()) {
            return asked
                .broken(format!("placement.{field}.labels: choosing {what} by labels is not supported yet"));
        }
    }
    let named = |field: &str| placement[field]["name"].as_str().unwrap_or_default();
    let cluster = named("clusterSelector");
    if !["", LOCAL].contains(&cluster) {
        return asked
            .broken(format!("cluster {cluster:?}: other clusters are not supported yet; write {LOCAL:?}"));
    }
    let decision: Value = json!({"cluster": LOCAL, "namespace": named("namespaceSelector")});
    asked.named("outputs", "outputs", json!({"decisions": [decision]}))
}

#[cfg(test)]
mod tests {
    use super::super::test_double::{Double, asked, question};
    use super::*;

    #[tokio::test]
    async fn an_environment_is_a_namespace_of_this_cluster() {
        let mut double = Double::default();
        for (placement, expected) in [
            (json!({}), Ok("")),
            (
                json!({"clusterSelector": {"name": "local"}, "namespaceSelector": {"name": "test"}}),
                Ok("test"),
            ),
            (json!({"clusterSelector": {"name": "far"}}), Err("other clusters are not supported yet")),
            (json!({"clusterSelector": {"labels": {"a": "b"}}}), Err("by labels")),
            (json!({"namespaceSelector": {"labels": {"a": "b"}}}), Err("by labels")),
        ] {
            let ask = question("op", "make-placement-decisions", json!({"inputs": {"placement": placement}}));
            let called = asked(&mut double, ask).await;
            match expected {
                Ok(namespace) => {
                    let decisions = json!([{"cluster": "local", "namespace": namespace}]);
                    assert_eq!(called, Called::Answer(json!({"outputs": {"decisions": decisions}})));
                }
                Err(why) => assert!(format!("{called:?}").contains(why), "{called:?}"),
            }
        }
    }

    #[tokio::test]
    async fn the_components_of_an_environment_are_patched() {
        let component =
            |image: &str| json!({"name": "web", "type": "webservice", "properties": {"image": image}});
        let mut double = Double {
            components: vec![component("a"), json!({"name": "db", "type": "rds"})],
            ..Double::default()
        };
        let inputs = json!({"envName": "test", "selector": {"components": ["web"]},
            "patch": {"components": [{"name": "web", "properties": {"image": "b"}}]}});
        let called = asked(&mut double, question("op", "patch-application", json!({"inputs": inputs}))).await;
        let expected = json!({"outputs": {"spec": {"components": [component("b")]}}});
        assert_eq!(called, Called::Answer(expected));
        let called = asked(&mut double, question("terraform", "load-terraform-components", json!({}))).await;
        assert_eq!(called, Called::Answer(json!({"outputs": {"components": []}})));
    }
}
