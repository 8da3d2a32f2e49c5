//! Where a command works: a configured cluster, or the local sandbox when no cluster is configured at all.
//!
//! A configured cluster that cannot be reached is an error, never a silent switch to the sandbox.

use std::fmt;
use std::path::{Path, PathBuf};

use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig};

use crate::args::Global;
use crate::error::{Error, Result};

/// The token every pod finds in its file system; with the service address in the environment it says that this
/// process runs in a cluster.
const POD_TOKEN: &str = "/var/run/secrets/kubernetes.io/serviceaccount/token";

/// What was chosen, before anything is contacted.
#[derive(Debug)]
pub(crate) enum Target {
    /// A configured cluster.
    Cluster(Box<Cluster>),
    /// The sandbox, and why.
    Sandbox {
        /// Asked for by `--sandbox`, as opposed to being all there is.
        asked: bool,
        /// Namespace to work in.
        namespace: String,
    },
}

/// A configured cluster.
#[derive(Debug)]
pub(crate) struct Cluster {
    /// How to reach it.
    pub(crate) config: Config,
    /// Context of the kubeconfig, or "the pod's own".
    pub(crate) context: String,
    /// Namespace to work in.
    pub(crate) namespace: String,
    /// The user in whose name it is asked, where that is another one.
    pub(crate) acts_as: Option<String>,
}

impl fmt::Display for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cluster {} at {}", self.context, self.config.cluster_url)?;
        self.acts_as.as_ref().map_or(Ok(()), |user| write!(f, " as {user}"))
    }
}

/// Chooses by the flags, then by what is configured on this machine.
pub(crate) async fn choose(global: &Global) -> Result<Target> {
    let is_other = global.as_user.is_some() || !global.as_group.is_empty();
    match found(global).await? {
        Target::Cluster(mut cluster) => {
            if is_other {
                act_as(&mut cluster, global)?;
            }
            Ok(Target::Cluster(cluster))
        }
        Target::Sandbox { .. } if is_other => {
            Err(Error::config("--as needs a cluster: the sandbox belongs to one person and knows no others")
                .hint("name a cluster with --kubeconfig or --context, or leave --as out")
                .into())
        }
        sandbox @ Target::Sandbox { .. } => Ok(sandbox),
    }
}

/// Every request is made in the name of the given user; for whom the kubeconfig acts otherwise does not count then.
fn act_as(cluster: &mut Cluster, global: &Global) -> Result<()> {
    let Some(user) = &global.as_user else {
        return Err(Error::user("--as-group names groups of a user, and no user is named")
            .hint("name the user with --as")
            .into());
    };
    let account = &mut cluster.config.auth_info;
    account.impersonate = Some(user.clone());
    account.impersonate_groups = Some(global.as_group.clone()).filter(|groups| !groups.is_empty());
    account.impersonate_uid = None;
    account.impersonate_user_extra = None;
    cluster.acts_as = Some(user.clone());
    Ok(())
}

async fn found(global: &Global) -> Result<Target> {
    if global.sandbox {
        return Ok(sandbox(global, true));
    }
    if let Some((kubeconfig, source)) = kubeconfig(global)? {
        return from_kubeconfig(kubeconfig, &source, global).await;
    }
    if std::env::var_os("KUBERNETES_SERVICE_HOST").is_some() && Path::new(POD_TOKEN).exists() {
        let config = Config::incluster()
            .map_err(|error| Error::config(format!("this pod's access to its cluster is broken: {error}")))?;
        let namespace = global.namespace.clone().unwrap_or_else(|| config.default_namespace.clone());
        let context = "of this pod".to_owned();
        return Ok(Target::Cluster(Box::new(Cluster { config, context, namespace, acts_as: None })));
    }
    Ok(sandbox(global, false))
}

fn sandbox(global: &Global, asked: bool) -> Target {
    Target::Sandbox { asked, namespace: global.namespace.clone().unwrap_or_else(|| "default".to_owned()) }
}

/// The kubeconfig of this machine and where it came from; `None` when there is none at all. A file that is named
/// (by flag or `KUBECONFIG`) must exist; the usual one may be absent or empty.
fn kubeconfig(global: &Global) -> Result<Option<(Kubeconfig, String)>> {
    let named: Vec<PathBuf> = match (&global.kubeconfig, std::env::var_os("KUBECONFIG")) {
        (Some(path), _) => vec![path.clone()],
        (None, Some(paths)) => {
            std::env::split_paths(&paths).filter(|path| !path.as_os_str().is_empty()).collect()
        }
        (None, None) => Vec::new(),
    };
    if named.is_empty() {
        let usual = std::env::home_dir().map(|home| home.join(".kube/config")).filter(|path| path.exists());
        return match usual {
            Some(path) => {
                let kubeconfig = read(&path)?;
                let says_nothing = kubeconfig.clusters.is_empty() && kubeconfig.contexts.is_empty();
                Ok((!says_nothing).then(|| (kubeconfig, path.display().to_string())))
            }
            None if global.context.is_some() => {
                Err(Error::config("--context is given, but there is no kubeconfig")
                    .hint("name one with --kubeconfig or KUBECONFIG")
                    .into())
            }
            None => Ok(None),
        };
    }
    // As kubectl does: of several files the missing ones are passed over, as long as one is there.
    let present: Vec<&PathBuf> = named.iter().filter(|path| path.exists()).collect();
    if present.is_empty() {
        let names = named.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
        return Err(Error::config(format!("kubeconfig {names} does not exist"))
            .hint("correct --kubeconfig or KUBECONFIG, or use --sandbox to work without a cluster")
            .into());
    }
    let mut merged = Kubeconfig::default();
    for path in &present {
        merged = merged.merge(read(path)?).map_err(|error| Error::config(causes(&error)))?;
    }
    let names = present.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
    Ok(Some((merged, names)))
}

fn read(path: &Path) -> Result<Kubeconfig> {
    Kubeconfig::read_from(path).map_err(|error| {
        Error::config(format!("kubeconfig {} cannot be read: {}", path.display(), causes(&error)))
            .hint("correct the file, or use --sandbox to work without a cluster")
            .into()
    })
}

async fn from_kubeconfig(kubeconfig: Kubeconfig, source: &str, global: &Global) -> Result<Target> {
    let context = global.context.clone().or_else(|| kubeconfig.current_context.clone());
    let Some(context) = context.filter(|name| !name.is_empty()) else {
        let names: Vec<&str> = kubeconfig.contexts.iter().map(|named| named.name.as_str()).collect();
        return Err(Error::config(format!("{source} has no current context"))
            .hint(format!("choose one with --context ({}), or use --sandbox", names.join(", ")))
            .into());
    };
    let options = KubeConfigOptions { context: Some(context.clone()), ..KubeConfigOptions::default() };
    let config = Config::from_custom_kubeconfig(kubeconfig, &options).await.map_err(|error| {
        Error::config(format!("context {context:?} of {source} cannot be used: {}", causes(&error)))
            .hint("correct the kubeconfig, or use --sandbox to work without a cluster")
    })?;
    let namespace = global.namespace.clone().unwrap_or_else(|| config.default_namespace.clone());
    if !vela_engine::names::is_label(&namespace) {
        return Err(Error::config(format!(
            "context {context:?} of {source} names the namespace {namespace:?}, which cannot be one"
        ))
        .hint("correct the kubeconfig, or give another with --namespace")
        .into());
    }
    Ok(Target::Cluster(Box::new(Cluster { config, context, namespace, acts_as: None })))
}

/// An error with the causes below it, which many libraries leave out of their first sentence.
pub(crate) fn causes(error: &(dyn std::error::Error + 'static)) -> String {
    if let Some(message) = vela_runtime::kubeconfig::guarded(error) {
        return message;
    }
    /// Deeper chains say nothing new.
    const DEEPEST: usize = 8;
    let mut text = error.to_string();
    let mut cause = error.source();
    for _ in 0..DEEPEST {
        let Some(inner) = cause else { break };
        let words = inner.to_string();
        if !text.contains(&words) {
            text = format!("{text}: {words}");
        }
        cause = inner.source();
    }
    text
}

/// What the server at a target says of a request that it refuses. A server that is none of Kubernetes says nothing that is meant for people.
pub(crate) fn reason(title: &str, status: &kube::core::Status) -> String {
    match status.message.trim() {
        "" => format!(
            "{title} answers HTTP {} and no reason: it may be no API server of Kubernetes",
            status.code
        ),
        said => said.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_without_a_reason_is_told_with_its_code() {
        let status = |message: &str| kube::core::Status {
            code: 404,
            message: message.to_owned(),
            ..kube::core::Status::default()
        };
        assert_eq!(reason("cluster a", &status("gone")), "gone");
        let said = reason("cluster a", &status(" "));
        assert!(said.starts_with("cluster a answers HTTP 404"), "{said}");
    }
}
