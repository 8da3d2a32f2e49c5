//! Policy `env-binding`: what is wrong with one → findings with their places; the place of each environment.

use super::environments::title;
use super::override_check::check_changes;
use super::reader::{Fields, Reader};
use super::topology;
use crate::diagnostic::{Code, NotSupported};
use crate::parse::Policy;
use crate::placement::{LOCAL, Placement};

const ENV_FIELDS: &[&str] = &["name", "placement", "selector", "patch"];

/// One environment.
pub(super) struct Environment {
    /// The name by which steps go.
    pub(super) name: String,
    /// Field path of the name as it is written.
    pub(super) path: String,
    /// Where its components go.
    pub(super) placement: Placement,
}

/// Reads one policy: the place of each environment; what is wrong with it is found with its place.
pub(super) fn read(
    policy: &Policy,
    name: &str,
    not_supported: NotSupported,
    reader: &mut Reader<'_>,
) -> Vec<Environment> {
    let at = reader.properties(policy, &["envs"]);
    let mut read: Vec<Environment> = Vec::new();
    for env in reader.objects(&at, "envs", ENV_FIELDS) {
        let Some(env_name) = reader.text(&env, "name") else {
            let message = "an environment needs a name".to_owned();
            reader.error(Code::MissingField, env.path("name"), message, None);
            continue;
        };
        let name = title(name, env_name);
        if read.iter().any(|known| known.name == name) {
            let message = format!("environment {env_name:?} is there twice");
            reader.error(Code::DuplicateName, env.path("name"), message, None);
            continue;
        }
        let patch = reader.object(&env, "patch", &["components"]);
        let selector = reader.object(&env, "selector", &["components"]);
        check_changes((&patch, "components"), (&selector, "components"), reader);
        let placement = place(&env, policy, not_supported, reader);
        read.push(Environment { name, path: env.path("name"), placement });
    }
    if read.is_empty() && reader.found.is_empty() {
        let message = "the policy has no environment: no step can deploy to one".to_owned();
        reader.error(Code::MissingField, at.path("envs"), message, None);
    }
    read
}

fn place(
    env: &Fields<'_>,
    policy: &Policy,
    not_supported: NotSupported,
    reader: &mut Reader<'_>,
) -> Placement {
    let placement = reader.object(env, "placement", &["clusterSelector", "namespaceSelector"]);
    let cluster = reader.object(&placement, "clusterSelector", &["name", "labels"]);
    let namespace = reader.object(&placement, "namespaceSelector", &["name", "labels"]);
    let mut places = topology::Reader { app: reader.app, policy, not_supported, found: &mut *reader.found };
    if let Some(name) = cluster.get("name") {
        places.cluster(&cluster.path("name"), name);
    }
    if let Some(labels) = cluster.get("labels") {
        places.selector(&cluster.path("labels"), labels);
    }
    if namespace.get("labels").is_some() {
        let message = "a namespace that is chosen by labels is not supported yet";
        places.unsupported(&namespace.path("labels"), message, "write its name under namespaceSelector.name");
    }
    let name = places.namespace(&namespace.path("name"), namespace.get("name"));
    Placement::new(LOCAL, name)
}
