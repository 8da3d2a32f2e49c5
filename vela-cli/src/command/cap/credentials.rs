//! What the user's programs for artefacts stored when they logged in to a registry → what the registry is shown.

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// Where credentials of docker.io are stored.
const DOCKER: [&str; 2] = ["docker.io", "https://index.docker.io/v1/"];

/// What is known of the credentials of a registry.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Stored {
    Nothing,
    /// `Basic …`, ready for the header.
    Basic(String),
    /// Another program keeps them, and is not asked.
    Helper(String),
}

/// The credentials of a registry in the files of docker, oras and podman; the first that has any counts.
pub(super) fn of(host: &str) -> Stored {
    let mut found = Stored::Nothing;
    for file in files() {
        // A file that is not there or is broken has no credentials; the registry says whether it wants any.
        let Ok(text) = std::fs::read_to_string(&file) else { continue };
        let Ok(config) = serde_json::from_str::<Value>(&text) else { continue };
        match read(&config, host) {
            Stored::Nothing => {}
            Stored::Helper(name) => found = Stored::Helper(name),
            basic @ Stored::Basic(_) => return basic,
        }
    }
    found
}

fn files() -> Vec<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let docker = folder("DOCKER_CONFIG").or_else(|| folder("HOME").map(|home| home.join(".docker")));
    let podman = folder("XDG_RUNTIME_DIR").map(|run| run.join("containers/auth.json"));
    [folder("REGISTRY_AUTH_FILE"), docker.map(|docker| docker.join("config.json")), podman]
        .into_iter()
        .flatten()
        .collect()
}

fn read(config: &Value, host: &str) -> Stored {
    let names = if host == DOCKER[0] { DOCKER.to_vec() } else { vec![host] };
    for name in &names {
        let entry = &config["auths"][name];
        if let Some(auth) =
            entry["auth"].as_str().filter(|auth| STANDARD.decode(auth).is_ok_and(|all| all.contains(&b':')))
        {
            return Stored::Basic(format!("Basic {auth}"));
        }
        if let (Some(user), Some(password)) = (entry["username"].as_str(), entry["password"].as_str()) {
            return Stored::Basic(format!("Basic {}", STANDARD.encode(format!("{user}:{password}"))));
        }
    }
    let helper = names.iter().find_map(|name| config["credHelpers"][name].as_str());
    match helper.or_else(|| config["credsStore"].as_str()) {
        Some(helper) => Stored::Helper(helper.to_owned()),
        None => Stored::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn credentials_are_read_as_other_programs_store_them() {
        let config = json!({
            "auths": {"ghcr.io": {"auth": "YTpi"}, "https://index.docker.io/v1/": {"username": "a", "password": "b"}, "odd.io": {"auth": "?"}},
            "credHelpers": {"gcr.io": "gcloud"},
        });
        assert_eq!(read(&config, "ghcr.io"), Stored::Basic("Basic YTpi".to_owned()));
        assert_eq!(read(&config, "docker.io"), Stored::Basic("Basic YTpi".to_owned()));
        assert_eq!(read(&config, "gcr.io"), Stored::Helper("gcloud".to_owned()));
        assert_eq!((read(&config, "odd.io"), read(&config, "quay.io")), (Stored::Nothing, Stored::Nothing));
        assert_eq!(read(&json!({"credsStore": "pass"}), "quay.io"), Stored::Helper("pass".to_owned()));
        assert_eq!(read(&json!([]), "quay.io"), Stored::Nothing);
    }
}
