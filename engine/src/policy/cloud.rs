//! The components of an environment → those of them that write a connection secret, under names of the environment: two
//! environments have two cloud resources. Which of them Terraform makes is seen when their types are resolved.

use serde_json::{Value as Json, json};

/// Where a component says which Secret its outputs go to.
const SECRET: &str = "writeConnectionSecretToRef";

/// What is behind the names of components and Secrets in an environment.
pub(super) fn suffix(env: &str) -> String {
    format!("-{env}")
}

/// The components under their names in an environment.
pub(super) fn in_environment(components: Vec<Json>, env: &str) -> Vec<Json> {
    let suffix = suffix(env);
    let renamed = |mut component: Json| {
        let name = component["name"].as_str()?.to_owned();
        let secret = component.get_mut("properties")?.get_mut(SECRET)?.as_object_mut()?;
        let named = secret.get("name").and_then(Json::as_str).filter(|name| !name.is_empty());
        let named = format!("{}{suffix}", named.unwrap_or(&name));
        secret.insert("name".to_owned(), json!(named));
        component["name"] = json!(format!("{name}{suffix}"));
        Some(component)
    };
    components.into_iter().filter_map(renamed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_and_secrets_have_names_of_the_environment() {
        let components = vec![
            json!({"name": "db", "properties": {"size": 1, SECRET: {"name": "conn", "namespace": "ns"}}}),
            json!({"name": "bucket", "properties": {SECRET: {}}}),
            json!({"name": "web", "properties": {"image": "nginx"}}),
        ];
        let expected = vec![
            json!({"name": "db-prod", "properties": {"size": 1, SECRET: {"name": "conn-prod", "namespace": "ns"}}}),
            json!({"name": "bucket-prod", "properties": {SECRET: {"name": "bucket-prod"}}}),
        ];
        assert_eq!(in_environment(components, "prod"), expected);
    }
}
