//! The current environment: a namespace with a name, which a user chose and which commands work in where no namespace is given.
//!
//! An environment is a namespace with the labels of KubeVela, so that both commands know the same ones. The choice is kept in
//! the file `curenv` of this program's folder, in the form of KubeVela's command.

use std::io::{ErrorKind, Read as _};
use std::path::PathBuf;

use kube::ResourceExt as _;
use kube::api::DynamicObject;
use serde_json::{Value, json};
use vela_engine::names;

use crate::args::Global;
use crate::cluster::Cluster;
use crate::error::{Error, Failure, Result};
use crate::sandbox;

/// The label that makes a namespace an environment, with its value.
pub(crate) const USAGE: (&str, &str) = ("usage.oam.dev/control-plane", "env");
/// The label with the name of the environment.
pub(crate) const NAME: &str = "namespace.oam.dev/env";
/// The annotation of namespaces that `vela env init` created: only these are deleted with their environment.
pub(crate) const CREATED: &str = "env.oam.dev/created-by";
/// The environment that every cluster has in KubeVela: the namespace of the same name, also where it has no label.
const DEFAULT: &str = "default";
/// Bytes of `curenv` that are read; two names are shorter.
const LARGEST_CHOICE: u64 = 4096;
/// What to do about a choice that cannot be followed.
const CHOOSE: &str = "`vela env ls` lists environments and `vela env set NAME` chooses one; `vela env set --none` chooses none, and \
                      --namespace (-n) goes without one";

/// An environment, wherever it is known from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Environment {
    pub(crate) name: String,
    pub(crate) namespace: String,
}

impl Environment {
    /// The environment that a namespace is, if it is one.
    pub(crate) fn of(namespace: &DynamicObject) -> Option<Self> {
        let name = namespace.labels().get(NAME).filter(|name| !name.is_empty())?;
        Some(Self { name: name.clone(), namespace: namespace.name_any() })
    }

    /// What a command says that works in it.
    pub(crate) fn title(&self) -> String {
        format!("Environment {}: namespace {}", self.name, self.namespace)
    }
}

/// The current environment, where no namespace was given.
pub(crate) fn chosen(global: &Global) -> Result<Option<Environment>> {
    if global.namespace.is_some() { Ok(None) } else { current() }
}

/// The environment that a user chose on this machine.
pub(crate) fn current() -> Result<Option<Environment>> {
    let path = file()?;
    let cannot = |error: std::io::Error| Error::config(format!("{} cannot be read: {error}", path.display()));
    let mut bytes = Vec::new();
    match std::fs::File::open(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(cannot(error).into()),
        Ok(file) => file.take(LARGEST_CHOICE).read_to_end(&mut bytes).map_err(cannot)?,
    };
    if bytes.trim_ascii().is_empty() {
        return Ok(None);
    }
    let written: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let text = |field: &str| written[field].as_str().filter(|text| names::is_label(text)).map(str::to_owned);
    match (text("name"), text("namespace")) {
        (Some(name), Some(namespace)) => Ok(Some(Environment { name, namespace })),
        _ => Err(Error::config(format!("{} names no environment and its namespace", path.display()))
            .hint(CHOOSE)
            .into()),
    }
}

/// Keeps the choice for the commands to come; `None` is none.
pub(crate) fn choose(environment: Option<&Environment>) -> Result<()> {
    let path = file()?;
    let cannot = |error: std::io::Error| {
        Failure::from(Error::config(format!("{} cannot be written: {error}", path.display())))
    };
    let Some(Environment { name, namespace }) = environment else {
        return match std::fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(cannot(error)),
            _ => Ok(()),
        };
    };
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(cannot)?;
    }
    // A command that reads in the same moment sees the one choice or the other.
    let new = path.with_extension(format!("new-{}", std::process::id()));
    let text = json!({"name": name, "namespace": namespace}).to_string();
    std::fs::write(&new, text).and_then(|()| std::fs::rename(&new, &path)).map_err(cannot)
}

fn file() -> Result<PathBuf> {
    Ok(sandbox::base()?.join("curenv"))
}

/// Is the current environment still what it was when it was chosen?
pub(crate) async fn verify(cluster: &Cluster, current: &Environment) -> Result<()> {
    let Environment { name, namespace } = current;
    let gone = |why: &str| {
        let message = format!("the current environment {name:?} is not in {}: {why}", cluster.title());
        Failure::from(Error::user(message).hint(CHOOSE))
    };
    let found = match cluster.api("v1", "Namespace", None).await?.get_opt(namespace).await {
        Ok(found) => found,
        // Who may only work inside a namespace cannot look at it from outside.
        Err(kube::Error::Api(status)) if status.code == 403 => return Ok(()),
        Err(error) => return Err(cluster.failure(&format!("give Namespace {namespace}"), &error)),
    };
    match found {
        None => Err(gone(&format!("there is no namespace {namespace}"))),
        Some(found) if found.metadata.deletion_timestamp.is_some() => {
            Err(gone(&format!("its namespace {namespace} is being deleted")))
        }
        Some(found) if Environment::of(&found).is_some_and(|one| one == *current) => Ok(()),
        Some(_) if name == DEFAULT && namespace == DEFAULT => Ok(()),
        Some(_) => Err(gone(&format!("the namespace {namespace} does not belong to it"))),
    }
}

/// The environments of a cluster, with their namespaces as they are.
pub(crate) async fn all(cluster: &Cluster) -> Result<Vec<(Environment, DynamicObject)>> {
    let namespaces = cluster.list("v1", "Namespace", None).await?;
    let mut found: Vec<_> =
        namespaces.into_iter().filter_map(|one| Some((Environment::of(&one)?, one))).collect();
    found.sort_by_cached_key(|(one, _)| (one.name.clone(), one.namespace.clone()));
    Ok(found)
}

/// The environment of this name among `all`.
pub(crate) fn find(all: &[(Environment, DynamicObject)], name: &str) -> Result<Environment> {
    let named: Vec<&Environment> = all.iter().map(|(one, _)| one).filter(|one| one.name == name).collect();
    match named[..] {
        [one] => Ok(one.clone()),
        [] if name == DEFAULT => Ok(Environment { name: DEFAULT.to_owned(), namespace: DEFAULT.to_owned() }),
        [] => {
            let hint = vela_engine::nearest::advice(
                name,
                "environment",
                all.iter().map(|(one, _)| one.name.as_str()),
            );
            let error = Error::user(format!("there is no environment {name:?}"));
            Err(error.hint(hint.unwrap_or_else(|| format!("`vela env init {name}` makes it"))).into())
        }
        _ => {
            let places: Vec<&str> = named.iter().map(|one| one.namespace.as_str()).collect();
            Err(Error::user(format!(
                "several namespaces are the environment {name:?}: {}",
                places.join(", ")
            ))
            .hint("take the label namespace.oam.dev/env off all but one, or give --namespace")
            .into())
        }
    }
}
