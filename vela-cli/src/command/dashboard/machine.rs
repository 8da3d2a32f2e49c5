//! What `vela dashboard` does for its console by the functions of other commands: `vela env`, and `vela up` of an Appfile.

use std::future::Future;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::Client;
use tokio::runtime::Handle;
use vela_console::{Commands, Fault, FromAppfile};
use vela_engine::manifest;

use crate::appfile::{self, Resolved};
use crate::cluster::Cluster;
use crate::environment::{self, Deletable, Environment};
use crate::error::{Failure, Kind, Result};
use crate::offline;

/// What a console waits for.
type Answer<T> = BoxFuture<'static, std::result::Result<T, Fault>>;

/// How a text is called that came by a request.
const APPFILE: &str = "appfile";
/// Whose machine it is decides which environment is current on it.
const SHARED: &str = "several users share the machine of this console, where an environment is current for all of them; name the \
                      environment in the path, or choose one with `vela env set` on your own machine";

/// The machine that a console runs on.
#[derive(Debug)]
pub(super) struct Machine {
    /// How messages call the cluster.
    pub(super) cluster: String,
    /// The system namespace of the cluster.
    pub(super) system: String,
    /// Users with rights of their own are served, whose machine it is not.
    pub(super) is_shared: bool,
}

impl Machine {
    fn open(&self, client: &Client, namespace: &str) -> Cluster {
        let cluster = Cluster::new(client.clone(), self.cluster.clone(), namespace.to_owned());
        cluster.with_system(Some(self.system.clone()))
    }
}

/// The environment that is current on this machine.
fn current(is_shared: bool) -> Result<Option<Environment>> {
    if is_shared { Ok(None) } else { environment::current() }
}

impl Commands for Machine {
    fn current(&self) -> std::result::Result<Option<vela_console::Environment>, Fault> {
        let found = current(self.is_shared).map_err(refused)?;
        Ok(found.map(|Environment { name, namespace }| vela_console::Environment { name, namespace }))
    }

    fn init(&self, client: &Client, wanted: vela_console::Environment) -> Answer<String> {
        let cluster = self.open(client, &wanted.namespace);
        apart(refused, move || async move {
            let (made, word) = environment::init(&cluster, &wanted.name, Some(&wanted.namespace)).await?;
            Ok(format!("environment {} created, Namespace: {} ({word})", made.name, made.namespace))
        })
    }

    fn relocate(&self, client: &Client, wanted: vela_console::Environment) -> Answer<()> {
        let (cluster, is_shared) = (self.open(client, &wanted.namespace), self.is_shared);
        apart(refused, move || async move {
            let chosen = current(is_shared)?;
            let (before, after) = environment::relocate(&cluster, &wanted.name, &wanted.namespace).await?;
            match chosen == Some(before) {
                true => environment::choose(Some(&after)),
                false => Ok(()),
            }
        })
    }

    fn choose(&self, client: &Client, name: String) -> Answer<String> {
        if self.is_shared {
            return std::future::ready(Err(Fault::Forbidden(SHARED.to_owned()))).boxed();
        }
        let cluster = self.open(client, "");
        apart(refused, move || async move {
            let found = environment::find(&environment::all(&cluster).await?, &name)?;
            environment::choose(Some(&found))?;
            Ok(format!("{}. It is current now.", found.title()))
        })
    }

    fn delete(&self, client: &Client, name: String) -> Answer<String> {
        let (cluster, is_shared) = (self.open(client, ""), self.is_shared);
        apart(refused, move || async move {
            let (all, current) = (environment::all(&cluster).await?, current(is_shared)?);
            Deletable::find(&cluster, &all, &name, current.as_ref()).await?.delete(&cluster).await
        })
    }

    fn application(&self, client: &Client, namespace: String, text: String) -> Answer<FromAppfile> {
        let cluster = self.open(client, &namespace);
        apart(invalid, move || async move {
            let documents: Vec<_> = manifest::read(APPFILE, &text)?.iter().cloned().collect();
            let [document] = &documents[..] else { return Err(no_appfile()) };
            if !appfile::is_appfile(document) {
                return Err(no_appfile());
            }
            let resolved = offline::without_appfiles(&cluster, documents).await?;
            let Resolved { documents, origins, mut warnings } = resolved;
            let [application] = &documents[..] else { return Err(no_appfile()) };
            warnings.extend(offline::check(&cluster, &documents, &origins, false).await?);
            Ok(FromAppfile { application: application.value().clone(), warnings })
        })
    }
}

fn no_appfile() -> Failure {
    let error =
        crate::error::Error::user("the body is no Appfile, which has `name` and `services`, and no `kind`");
    error.hint("PUT /api/v1/namespaces/NAMESPACE/applications/NAME takes an Application").into()
}

/// Works on a thread of its own: rendering takes a processor, and a write that has begun is not broken off where a browser
/// leaves.
fn apart<T, W>(fault: fn(Failure) -> Fault, work: impl FnOnce() -> W + Send + 'static) -> Answer<T>
where
    T: Send + 'static,
    W: Future<Output = Result<T>>,
{
    let runtime = Handle::current();
    let done = tokio::task::spawn_blocking(move || runtime.block_on(work()));
    async move {
        match done.await {
            Ok(done) => done.map_err(fault),
            Err(error) => Err(Fault::Machine(format!("the work broke off: {error}"))),
        }
    }
    .boxed()
}

/// Why a command that was well written was not carried out.
fn refused(failure: Failure) -> Fault {
    let said = failure.sentences();
    match failure.kind() {
        Kind::User => Fault::Refused(said),
        Kind::Denied => Fault::Forbidden(said),
        Kind::Cluster => Fault::Cluster(said),
        Kind::NotSupported => Fault::NotSupported(said),
        Kind::Config | Kind::Internal | Kind::Interrupted | Kind::Command(_) => Fault::Machine(said),
    }
}

/// The same where the user's mistakes are in what was sent.
fn invalid(failure: Failure) -> Fault {
    match refused(failure) {
        Fault::Refused(said) => Fault::Invalid(said),
        fault => fault,
    }
}
