//! What `vela dashboard` does for its console by the functions of other commands: `vela env`, `vela up` of an Appfile, and
//! `vela cap`.

use std::future::Future;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::Client;
use tokio::runtime::Handle;
use tokio::task::JoinError;
use vela_console::{Commands, Fault, FromAppfile, NewCenter, Offer};
use vela_engine::manifest;

use crate::appfile::{self, Resolved};
use crate::cluster::Cluster;
use crate::command::cap::{self, Center};
use crate::environment::{self, Deletable, Environment};
use crate::error::{Failure, Kind, Result};
use crate::offline;
use crate::screen::{Recorded, Screen};

/// What a console waits for.
type Answer<T> = BoxFuture<'static, std::result::Result<T, Fault>>;

/// How a text is called that came by a request.
const APPFILE: &str = "appfile";
/// Whose machine it is decides which environment is current on it.
const SHARED: &str = "several users share the machine of this console, where an environment is current for all of them; name the \
                      environment in the path, or choose one with `vela env set` on your own machine";

/// Centres lie on a machine, and what they have is read with its rights.
const CENTERS: &str = "several users share the machine of this console, where capability centers would be those of all; install with \
                       `vela cap` on your own machine";

/// The machine that a console runs on.
#[derive(Debug)]
pub(super) struct Machine {
    /// How messages call the cluster.
    pub(super) cluster: String,
    /// The system namespace of the cluster.
    pub(super) system: String,
    /// Where definitions are installed: the namespace that was given, else the system namespace.
    pub(super) types: String,
    /// Users with rights of their own are served, whose machine it is not.
    pub(super) is_shared: bool,
}

impl Machine {
    fn open(&self, client: &Client, namespace: &str) -> Cluster {
        let cluster = Cluster::new(client.clone(), self.cluster.clone(), namespace.to_owned());
        cluster.with_system(Some(self.system.clone()))
    }
}

impl Machine {
    /// The answer to a user whose machine it is not.
    fn refuses_centers<T: Send + 'static>(&self) -> Option<Answer<T>> {
        self.is_shared.then(|| std::future::ready(Err(Fault::Forbidden(CENTERS.to_owned()))).boxed())
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

    fn is_shared(&self) -> bool {
        self.is_shared
    }

    fn centers(&self) -> Answer<Vec<vela_console::Center>> {
        let is_shared = self.is_shared;
        alone(move || {
            let all = if is_shared { Vec::new() } else { cap::centers()? };
            let center = |center: Center| vela_console::Center { name: center.name, address: center.address };
            Ok(all.into_iter().map(center).collect())
        })
    }

    fn capabilities(&self) -> Answer<Vec<Offer>> {
        let is_shared = self.is_shared;
        alone(move || {
            let all = if is_shared { Vec::new() } else { cap::centers()? };
            let offers = all.into_iter().flat_map(|Center { name, definitions, .. }| {
                definitions.into_iter().map(move |definition| Offer { center: name.clone(), definition })
            });
            Ok(offers.collect())
        })
    }

    fn configure_center(&self, wanted: NewCenter) -> Answer<String> {
        match self.refuses_centers() {
            Some(refused) => refused,
            None => alone(move || {
                let NewCenter { name, address, token } = wanted;
                messages(|screen| cap::config(&name, &address, token.as_deref(), screen))
            }),
        }
    }

    fn sync_center(&self, name: String) -> Answer<String> {
        match self.refuses_centers() {
            Some(refused) => refused,
            None => alone(move || messages(|screen| cap::sync(Some(&name), screen))),
        }
    }

    fn remove_center(&self, name: String) -> Answer<String> {
        match self.refuses_centers() {
            Some(refused) => refused,
            None => alone(move || messages(|screen| cap::forget(&name, screen))),
        }
    }

    fn install(&self, client: &Client, center: String, name: String) -> Answer<String> {
        if let Some(refused) = self.refuses_centers() {
            return refused;
        }
        let cluster = self.open(client, &self.types);
        apart(refused, move || async move {
            let recorded = Recorded::default();
            cap::install_of(&cluster, &center, &name, &mut Screen::recorded(&recorded)).await?;
            Ok(recorded.text())
        })
    }

    fn uninstall(&self, client: &Client, name: String) -> Answer<()> {
        let cluster = self.open(client, &self.types);
        apart(refused, move || async move {
            cap::uninstall_of(&cluster, &name, &mut Screen::recorded(&Recorded::default())).await
        })
    }
}

/// What a command says and prints.
fn messages(work: impl FnOnce(&mut Screen) -> Result<()>) -> Result<String> {
    let recorded = Recorded::default();
    work(&mut Screen::recorded(&recorded)).map(|()| recorded.text())
}

fn no_appfile() -> Failure {
    let error =
        crate::error::Error::user("the body is no Appfile, which has `name` and `services`, and no `kind`");
    error.hint("PUT /api/v1/namespaces/NAMESPACE/applications/NAME takes an Application").into()
}

/// Works on a thread of its own without any event loop: files and servers of centres are waited for.
fn alone<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Answer<T> {
    let done = tokio::task::spawn_blocking(work);
    async move { answered(done.await, refused) }.boxed()
}

fn answered<T>(
    done: std::result::Result<Result<T>, JoinError>,
    fault: fn(Failure) -> Fault,
) -> std::result::Result<T, Fault> {
    match done {
        Ok(done) => done.map_err(fault),
        Err(error) => Err(Fault::Machine(format!("the work broke off: {error}"))),
    }
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
    async move { answered(done.await, fault) }.boxed()
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

#[cfg(test)]
mod tests {
    use vela_apiserver::ApiServer;

    use super::*;

    #[test]
    fn a_shared_machine_keeps_nothing_of_its_users() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let server = ApiServer::builder().build().unwrap();
            let client = Client::new(server.service(), "default");
            let text = str::to_owned;
            let (system, types) = (text("vela-system"), text("vela-system"));
            let machine = Machine { cluster: text("kind"), system, types, is_shared: true };
            assert_eq!(machine.current(), Ok(None));
            assert_eq!(machine.centers().await, Ok(Vec::new()));
            assert_eq!(machine.capabilities().await, Ok(Vec::new()));
            let center = NewCenter { name: text("team"), address: text("/types"), token: None };
            for answer in [
                machine.choose(&client, text("default")).await,
                machine.configure_center(center).await,
                machine.sync_center(text("team")).await,
                machine.remove_center(text("team")).await,
                machine.install(&client, text("team"), text("page")).await,
            ] {
                assert!(
                    matches!(&answer, Err(Fault::Forbidden(why)) if why.contains("several users")),
                    "{answer:?}"
                );
            }
            // What only the cluster is asked for goes on, with the rights of the client.
            let new = vela_console::Environment { name: text("shop"), namespace: text("shop-ns") };
            let made = machine.init(&client, new).await.unwrap();
            assert!(made.contains("Namespace: shop-ns (created)"), "{made}");
            assert!(machine.delete(&client, text("shop")).await.unwrap().contains("is being deleted"));
        });
    }
}
