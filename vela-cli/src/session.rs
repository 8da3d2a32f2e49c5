//! A target chosen and opened: a connection to work with, and what must be closed behind it.

use std::future::Future;

use kube::client::ClientBuilder;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tower::timeout::TimeoutLayer;

use crate::args::Global;
use crate::cluster::Cluster;
use crate::environment;
use crate::error::{Error, Result};
pub(crate) use crate::purpose::Purpose;
use crate::requests::RequestLog;
use crate::sandbox::{Home, Local, LockAttempt};
use crate::screen::Screen;
use crate::system_namespace::{self, USUAL};
use crate::target::{self, Target};

/// An open target.
pub(crate) struct Session {
    pub(crate) cluster: Cluster,
    local: Option<Local>,
    is_sandbox: bool,
}

impl Session {
    /// Opens the target in the namespace that was given, else in that of the current environment, which must be there.
    pub(crate) async fn open(global: &Global, purpose: Purpose, screen: &mut Screen) -> Result<Self> {
        let Some(current) = environment::chosen(global)? else {
            return Self::open_anywhere(global, purpose, screen).await;
        };
        let there = Global { namespace: Some(current.namespace.clone()), ..global.clone() };
        let session = Self::open_anywhere(&there, purpose, screen).await?;
        match environment::verify(&session.cluster, &current).await {
            Ok(()) => {
                screen.say(&current.title());
                Ok(session)
            }
            Err(failure) => {
                session.close().await?;
                Err(failure)
            }
        }
    }

    /// Chooses the target, opens it, and says which it is; for what works in no namespace, whatever the environment.
    pub(crate) async fn open_anywhere(
        global: &Global,
        purpose: Purpose,
        screen: &mut Screen,
    ) -> Result<Self> {
        match target::choose(global).await? {
            Target::Cluster(chosen) => {
                let title = chosen.to_string();
                let target::Cluster { config, namespace, .. } = *chosen;
                screen.target(&format!("{title}, namespace {namespace}"));
                let system = system_namespace::named(global)?;
                let cluster = Cluster::new(client(config, global)?, title, namespace).with_system(system);
                cluster.reach().await?;
                Ok(Self { cluster, local: None, is_sandbox: false })
            }
            Target::Sandbox { asked, namespace } => {
                if let Some(other) = global.system_namespace.as_ref().filter(|name| *name != USUAL) {
                    return Err(Error::user(format!(
                        "the sandbox has its definitions in {USUAL}, not in {other}"
                    ))
                    .hint("leave out --system-namespace, or name a cluster with --kubeconfig")
                    .into());
                }
                Self::open_sandbox(asked, namespace, global, purpose, screen).await
            }
        }
    }

    /// Opens the target in the namespace that was given, else in the system namespace.
    pub(crate) async fn open_for_all(global: &Global, purpose: Purpose, screen: &mut Screen) -> Result<Self> {
        if global.namespace.is_some() {
            return Self::open(global, purpose, screen).await;
        }
        let system = match target::choose(global).await? {
            Target::Sandbox { .. } => USUAL.to_owned(),
            Target::Cluster(chosen) => {
                let title = chosen.to_string();
                let target::Cluster { config, namespace, .. } = *chosen;
                let cluster = Cluster::new(client(config, global)?, title, namespace);
                cluster.with_system(system_namespace::named(global)?).system_namespace().await?.to_owned()
            }
        };
        let there =
            Global { namespace: Some(system.clone()), system_namespace: Some(system), ..global.clone() };
        Self::open_anywhere(&there, purpose, screen).await
    }

    async fn open_sandbox(
        asked: bool,
        namespace: String,
        global: &Global,
        purpose: Purpose,
        screen: &mut Screen,
    ) -> Result<Self> {
        let home = Home::find()?;
        let why = if asked { "" } else { " (no cluster)" };
        let title = "the local sandbox".to_owned();
        match home.take(screen).await? {
            LockAttempt::Ours(lock) => {
                screen.target(&format!("{title}{why}, pods are simulated, namespace {namespace}"));
                let local = Local::open(home, lock, purpose).await?;
                local.notes().iter().for_each(|note| screen.say(note));
                let cluster =
                    Cluster::new(local.client(&namespace, RequestLog::new(global.verbose)), title, namespace)
                        .with_system(Some(USUAL.to_owned()));
                Ok(Self { cluster, local: Some(local), is_sandbox: true })
            }
            LockAttempt::Serving(path) => {
                let broken = |error: &(dyn std::error::Error + 'static)| {
                    Error::config(format!(
                        "the kubeconfig of the serving sandbox is broken: {}",
                        target::causes(error)
                    ))
                    .hint("stop it with `vela sandbox stop` and try again")
                };
                let kubeconfig = Kubeconfig::read_from(&path).map_err(|error| broken(&error))?;
                let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
                    .await
                    .map_err(|error| broken(&error))?;
                let title = format!("{title} at {}", config.cluster_url);
                screen.target(&format!("{title}{why}, pods are simulated, namespace {namespace}"));
                let cluster = Cluster::new(client(config, global)?, title, namespace)
                    .with_system(Some(USUAL.to_owned()));
                cluster.reach().await?;
                Ok(Self { cluster, local: None, is_sandbox: true })
            }
        }
    }

    /// Is it the sandbox, which runs its controllers itself?
    pub(crate) fn is_sandbox(&self) -> bool {
        self.is_sandbox
    }

    /// Lets other commands use the sandbox while this one has it; where it is not ours alone they can anyway.
    pub(crate) async fn share(&self) -> Result<()> {
        match &self.local {
            Some(local) => local.serve(0).await.map(drop),
            None => Ok(()),
        }
    }

    /// Closes what was opened, so that everything written is on the disk.
    pub(crate) async fn close(self) -> Result<()> {
        match self.local {
            Some(local) => local.close().await,
            None => Ok(()),
        }
    }
}

/// A client that waits for the beginning of an answer as long as is asked for; what streams may go on.
fn client(config: Config, global: &Global) -> Result<Client> {
    let builder = ClientBuilder::try_from(config).map_err(|error| {
        Error::config(format!("the cluster's access is broken: {}", target::causes(&error)))
    })?;
    let log = RequestLog::new(global.verbose);
    Ok(match global.request_timeout.filter(|patience| !patience.is_zero()) {
        Some(patience) => builder.with_layer(&TimeoutLayer::new(patience)).with_layer(&log).build(),
        None => builder.with_layer(&log).build(),
    })
}

/// Runs a command's future on this thread; the threads of a larger runtime are paid for only by what serves or controls.
pub(crate) fn block_on<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::internal(format!("the event loop cannot start: {error}")))?
        .block_on(work)
}

/// The same with the threads of a larger runtime, for what serves or controls.
pub(crate) fn block_on_threads<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::runtime::Runtime::new()
        .map_err(|error| Error::internal(format!("the event loop cannot start: {error}")))?
        .block_on(work)
}
