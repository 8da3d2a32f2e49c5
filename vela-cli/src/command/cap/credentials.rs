//! What the user's programs for artefacts stored when they logged in to a registry → what the registry is shown.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::program::{Stopped, run_with};

/// How long a program that keeps credentials may take; some ask the user.
const PATIENCE: Duration = Duration::from_secs(60);
/// Bytes of what such a program answers.
const LARGEST_ANSWER: usize = 64 * 1024;
/// The user name beside a token that is no password.
const TOKEN: &str = "<token>";

/// Where credentials of docker.io are stored.
const DOCKER: [&str; 2] = ["docker.io", "https://index.docker.io/v1/"];

/// What is known of the credentials of a registry.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Stored {
    Nothing,
    /// `Basic …`, ready for the header.
    Basic(String),
    /// They are there, and cannot be used for this reason.
    Unusable(String),
}

/// What a file says of a registry.
#[derive(Debug, PartialEq, Eq)]
enum Entry {
    Here(Stored),
    /// The program `docker-credential-NAME` has them, by the name of this server.
    Helper {
        name: String,
        server: String,
    },
}

/// The credentials of a registry in the files of docker, oras and podman; the first that has any counts.
pub(super) fn of(host: &str) -> Stored {
    let mut found = Stored::Nothing;
    for file in files() {
        // A file that is not there or is broken has no credentials; the registry says whether it wants any.
        let Ok(text) = std::fs::read_to_string(&file) else { continue };
        let Ok(config) = serde_json::from_str::<Value>(&text) else { continue };
        let stored = match read(&config, host) {
            Entry::Here(stored) => stored,
            Entry::Helper { name, server } => ask(&name, &server),
        };
        match stored {
            Stored::Nothing => {}
            unusable @ Stored::Unusable(_) => found = unusable,
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

fn read(config: &Value, host: &str) -> Entry {
    let names = if host == DOCKER[0] { DOCKER.to_vec() } else { vec![host] };
    for name in &names {
        let entry = &config["auths"][name];
        if let Some(auth) =
            entry["auth"].as_str().filter(|auth| STANDARD.decode(auth).is_ok_and(|all| all.contains(&b':')))
        {
            return Entry::Here(Stored::Basic(format!("Basic {auth}")));
        }
        if let (Some(user), Some(password)) = (entry["username"].as_str(), entry["password"].as_str()) {
            return Entry::Here(basic(user, password));
        }
    }
    let own = names.iter().find_map(|name| Some((config["credHelpers"][name].as_str()?, *name)));
    // The store of all registries knows docker.io by its old address.
    let last = names.last().copied().unwrap_or(host);
    match own.or_else(|| Some((config["credsStore"].as_str()?, last))) {
        Some((name, server)) => Entry::Helper { name: name.to_owned(), server: server.to_owned() },
        None => Entry::Here(Stored::Nothing),
    }
}

fn basic(user: &str, password: &str) -> Stored {
    Stored::Basic(format!("Basic {}", STANDARD.encode(format!("{user}:{password}"))))
}

/// What the program that keeps credentials has for a server.
fn ask(name: &str, server: &str) -> Stored {
    let program = format!("docker-credential-{name}");
    let unusable = |why: &str| Stored::Unusable(format!("{program}, which keeps them, {why}"));
    if name.is_empty() || name.contains(['/', '\\']) {
        return unusable("is no name of a program");
    }
    let mut command = Command::new(&program);
    command.arg("get");
    match run_with(command, server, LARGEST_ANSWER, PATIENCE) {
        Ok(answer) => answered(&answer).unwrap_or_else(|| unusable("answers what is no credentials")),
        Err(Stopped::NotThere) => unusable("is not installed"),
        // As every such program says it.
        Err(Stopped::Failed(why)) if why.contains("credentials not found") => Stored::Nothing,
        Err(Stopped::Failed(why)) => unusable(&format!("fails: {why}")),
    }
}

fn answered(answer: &[u8]) -> Option<Stored> {
    let answer: Value = serde_json::from_slice(answer).ok()?;
    let (user, secret) = (answer["Username"].as_str()?, answer["Secret"].as_str()?);
    Some(match user {
        TOKEN => Stored::Unusable("they are an identity token, which vela does not use".to_owned()),
        _ => basic(user, secret),
    })
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
        let stored = Entry::Here(Stored::Basic("Basic YTpi".to_owned()));
        let nothing = Entry::Here(Stored::Nothing);
        let helper =
            |name: &str, server: &str| Entry::Helper { name: name.to_owned(), server: server.to_owned() };
        assert_eq!(read(&config, "ghcr.io"), stored);
        assert_eq!(read(&config, "docker.io"), stored);
        assert_eq!(read(&config, "gcr.io"), helper("gcloud", "gcr.io"));
        assert_eq!(
            (read(&config, "odd.io"), read(&config, "quay.io")),
            (nothing, Entry::Here(Stored::Nothing))
        );
        let desktop = json!({"auths": {"quay.io": {}}, "credsStore": "desktop"});
        assert_eq!(read(&desktop, "quay.io"), helper("desktop", "quay.io"));
        assert_eq!(read(&desktop, "docker.io"), helper("desktop", "https://index.docker.io/v1/"));
        assert_eq!(read(&json!([]), "quay.io"), Entry::Here(Stored::Nothing));
    }

    #[test]
    fn a_program_that_keeps_credentials_answers_or_says_why() {
        let given = answered(br#"{"ServerURL":"quay.io","Username":"a","Secret":"b"}"#);
        assert_eq!(given, Some(Stored::Basic("Basic YTpi".to_owned())));
        let token = answered(br#"{"Username":"<token>","Secret":"b"}"#);
        assert!(matches!(&token, Some(Stored::Unusable(why)) if why.contains("identity token")), "{token:?}");
        assert_eq!((answered(b"{}"), answered(b"no JSON")), (None, None));
        for name in ["", "../../bin/true", "vela-has-no-such"] {
            assert!(matches!(ask(name, "quay.io"), Stored::Unusable(_)), "{name}");
        }
    }
}
