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

use crate::applications::{APPLICATIONS, enumerated};
use crate::args::Global;
use crate::cluster::Cluster;
use crate::error::{Error, Failure, Result};
use crate::ownership::FIELD_MANAGER;
use crate::sandbox;

/// The label that makes a namespace an environment, with its value.
pub(crate) const USAGE: (&str, &str) = ("usage.oam.dev/control-plane", "env");
/// The label with the name of the environment.
pub(crate) const NAME: &str = "namespace.oam.dev/env";
/// The annotation of namespaces that `vela env init` created: only these are deleted with their environment.
pub(crate) const CREATED: &str = "env.oam.dev/created-by";
/// The environment that every cluster has in KubeVela: the namespace of the same name, also where it has no label.
const DEFAULT: &str = "default";
const NAMESPACE: (&str, &str) = ("v1", "Namespace");
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
    let found = match cluster.api(NAMESPACE.0, NAMESPACE.1, None).await?.get_opt(namespace).await {
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
    let namespaces = cluster.list(NAMESPACE.0, NAMESPACE.1, None).await?;
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

/// Makes an environment: of the namespace that is given, else of the one that it has, else of the one of its name. Gives it, and
/// what became of the namespace.
pub(crate) async fn init(
    cluster: &Cluster,
    name: &str,
    namespace: Option<&str>,
) -> Result<(Environment, &'static str)> {
    let all = all(cluster).await?;
    let there = all.iter().map(|(one, _)| one).find(|one| one.name == name);
    let namespace = namespace.or(there.map(|one| one.namespace.as_str())).unwrap_or(name);
    if let Some(other) = there.filter(|one| one.namespace != namespace) {
        return Err(Error::user(format!(
            "the environment {name:?} is the namespace {} already",
            other.namespace
        ))
        .hint(format!("`vela env set {name}` chooses it; or take another name"))
        .into());
    }
    let new = Environment { name: name.to_owned(), namespace: namespace.to_owned() };
    let word = mark(cluster, &new).await?;
    Ok((new, word))
}

/// Gives an environment without applications another namespace; the former one stays, with what is in it. Gives the environment
/// as it was and as it is.
pub(crate) async fn relocate(
    cluster: &Cluster,
    name: &str,
    namespace: &str,
) -> Result<(Environment, Environment)> {
    let all = all(cluster).await?;
    let before = find(&all, name)?;
    let after = Environment { name: name.to_owned(), namespace: namespace.to_owned() };
    if before != after {
        has_no_application(cluster, &before).await?;
        mark(cluster, &after).await?;
        if all.iter().any(|(one, _)| *one == before) {
            unmark(cluster, &before).await?;
        }
    }
    Ok((before, after))
}

/// Makes a namespace the environment; creates it where there is none.
async fn mark(cluster: &Cluster, new: &Environment) -> Result<&'static str> {
    let Environment { name, namespace } = new;
    let Some(found) = cluster.get(NAMESPACE.0, NAMESPACE.1, None, namespace).await? else {
        let object = json!({
            "apiVersion": NAMESPACE.0,
            "kind": NAMESPACE.1,
            "metadata": {
                "name": namespace,
                "labels": {NAME: name, USAGE.0: USAGE.1},
                "annotations": {CREATED: FIELD_MANAGER},
            },
        });
        cluster.apply(&object, false, false).await?;
        return Ok("created");
    };
    if found.metadata.deletion_timestamp.is_some() {
        return Err(Error::user(format!("the namespace {namespace} is being deleted"))
            .hint("try again when it is gone, or give another by --namespace")
            .into());
    }
    match Environment::of(&found) {
        Some(same) if same == *new => Ok("unchanged"),
        Some(other) => {
            Err(Error::user(format!("the namespace {namespace} is the environment {:?} already", other.name))
                .hint(format!(
                    "`vela env set {}` chooses it; or give another namespace by --namespace",
                    other.name
                ))
                .into())
        }
        None => {
            let labels = [
                (&["metadata", "labels", NAME][..], Some(json!(name))),
                (&["metadata", "labels", USAGE.0][..], Some(json!(USAGE.1))),
            ];
            cluster.change(NAMESPACE, namespace, &labels).await?;
            Ok("which was there")
        }
    }
}

/// Makes the namespace of an environment a plain one.
async fn unmark(cluster: &Cluster, environment: &Environment) -> Result<()> {
    let labels = [(&["metadata", "labels", NAME][..], None), (&["metadata", "labels", USAGE.0][..], None)];
    cluster.change(NAMESPACE, &environment.namespace, &labels).await
}

/// An environment that may be deleted.
pub(crate) struct Deletable {
    environment: Environment,
    /// `vela env init` created its namespace, which is deleted with it.
    pub(crate) with_namespace: bool,
}

impl Deletable {
    /// Looks whether an environment among `all` may be deleted, while another is current.
    pub(crate) async fn find(
        cluster: &Cluster,
        all: &[(Environment, DynamicObject)],
        name: &str,
        current: Option<&Environment>,
    ) -> Result<Self> {
        let environment = find(all, name)?;
        let Some((_, object)) = all.iter().find(|(there, _)| *there == environment) else {
            return Err(Error::user(format!(
                "the environment {name:?} is there in every cluster and is not deleted"
            ))
            .into());
        };
        if current == Some(&environment) {
            return Err(Error::user(format!("the environment {name:?} is current"))
                .hint("choose another first: `vela env set NAME`, or `vela env set --none`")
                .into());
        }
        has_no_application(cluster, &environment).await?;
        Ok(Self { with_namespace: object.annotations().contains_key(CREATED), environment })
    }

    /// Its namespace.
    pub(crate) fn namespace(&self) -> &str {
        &self.environment.namespace
    }

    /// Deletes it, and its namespace where that was made for it; gives a sentence.
    pub(crate) async fn delete(self, cluster: &Cluster) -> Result<String> {
        let Environment { name, namespace } = &self.environment;
        if !self.with_namespace {
            unmark(cluster, &self.environment).await?;
            return Ok(format!(
                "{name} is no environment any more. Its namespace {namespace} stays: `vela env init` did not create it."
            ));
        }
        cluster.delete(NAMESPACE.0, NAMESPACE.1, None, namespace).await?;
        Ok(format!("{name} is no environment any more, and its namespace {namespace} is being deleted."))
    }
}

/// Applications are deleted one by one, by a user who names them.
async fn has_no_application(cluster: &Cluster, environment: &Environment) -> Result<()> {
    let Environment { name, namespace } = environment;
    let mut found = Vec::new();
    for (api_version, kind) in APPLICATIONS {
        if cluster.knows(api_version, kind).await? {
            let applications = cluster.list(api_version, kind, Some(namespace)).await?;
            found.extend(applications.iter().map(|application| application.name_any()));
        }
    }
    if found.is_empty() {
        return Ok(());
    }
    let named = enumerated(&found);
    Err(Error::user(format!("the environment {name:?} still has applications: {named}"))
        .hint(format!("`vela delete -n {namespace} NAME` deletes one, and `vela delete -n {namespace} --all` all of them"))
        .into())
}
