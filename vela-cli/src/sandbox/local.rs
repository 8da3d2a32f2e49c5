//! The sandbox inside this process: store opened, API server and controllers running, closed in order.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use kube::Client;
use tokio::task::JoinHandle;
use vela_apiserver::store::Store;
use vela_apiserver::{ApiServer, Served};
use vela_core::options::Reach;
use vela_core::{Controllers, Options, Process, Stop};

use crate::cluster::Cluster;
use crate::error::{Error, Failure, Result};
use crate::installation;
use crate::sandbox::{Home, Lock};
use crate::session::Purpose;
use crate::target::causes;

/// The store of an ended process is free within this time.
const HELD_FOR: Duration = Duration::from_millis(500);
/// How often a held store is tried.
const TRY_EVERY: Duration = Duration::from_millis(10);

/// A running sandbox.
pub(crate) struct Local {
    server: ApiServer,
    home: Home,
    stop: Stop,
    controllers: Option<JoinHandle<std::result::Result<(), vela_core::Error>>>,
    served: Mutex<Option<Served>>,
    /// Held until everything is closed.
    lock: Lock,
}

impl Local {
    /// Opens the store and starts what `purpose` needs; on a new store the kinds and built-in types are installed.
    pub(crate) async fn open(home: Home, lock: Lock, purpose: Purpose) -> Result<Self> {
        let store = open_store(&home).await?;
        let server = ApiServer::builder().store(store).build().map_err(|error| broken(&home, &error))?;
        let stop = Stop::new();
        let mut local =
            Self { server, home, stop: stop.clone(), controllers: None, served: Mutex::new(None), lock };
        if purpose == Purpose::Change {
            local.server.run_controllers().detach();
        }
        local.install().await?;
        if purpose == Purpose::Change {
            // Who types here is at home on this machine.
            let options = Options { reach: Reach::ServicesAndLoopback, ..Options::default() };
            let process = Process { options, stop, ..Process::default() };
            local.controllers = Some(tokio::spawn(Controllers::run(local.client("default"), process)));
        }
        Ok(local)
    }

    /// A client that speaks to the API server without a socket.
    pub(crate) fn client(&self, namespace: &str) -> Client {
        Client::new(self.server.service(), namespace)
    }

    /// Installs once per version of what is installed; a mark beside the store remembers which.
    async fn install(&self) -> Result<()> {
        let objects = installation::objects()?;
        let mark = installation::identity(&objects);
        let path = self.home.path().join("installed");
        if std::fs::read_to_string(&path).is_ok_and(|found| found == mark) {
            return Ok(());
        }
        let cluster =
            Cluster::new(self.client("default"), "the local sandbox".to_owned(), "default".to_owned());
        installation::apply(&cluster, &objects, |_| ()).await?;
        std::fs::write(&path, mark).map_err(|error| self.home.trouble("written", &error).into())
    }

    /// Opens the loopback port, leaves the kubeconfig in the folder and tells others that they can use it.
    pub(crate) async fn serve(&self, port: u16) -> Result<SocketAddr> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let served = self.server.serve(address).await.map_err(|error| {
            Error::config(format!("port {port} of this machine cannot be served: {}", causes(&error)))
                .hint("choose another with --port, or leave it to vela")
        })?;
        let address = served.address();
        write_private(&self.home.kubeconfig(), &served.kubeconfig())
            .and_then(|()| self.lock.sign(true))
            .map_err(|error| self.home.trouble("written", &error))?;
        if let Ok(mut slot) = self.served.lock() {
            *slot = Some(served);
        }
        Ok(address)
    }

    /// Stops the controllers, then the server, then gives the folder free.
    pub(crate) async fn close(self) -> Result<()> {
        let Self { server, home, stop, controllers, served, lock } = self;
        stop.cancel();
        let ended = match controllers {
            Some(task) => match task.await {
                Ok(Ok(())) => Ok(()),
                Ok(Err(error)) => Err(Failure::from(Error::internal(format!(
                    "the controllers stopped: {}",
                    causes(&error)
                )))),
                Err(error) => Err(Error::internal(format!("the controllers broke: {error}")).into()),
            },
            None => Ok(()),
        };
        if served.lock().is_ok_and(|mut slot| slot.take().is_some()) {
            // Nobody serves any more; a file that cannot be removed only leads to "connection refused".
            let _ = std::fs::remove_file(home.kubeconfig());
        }
        server.shutdown().await;
        drop(server);
        // Tasks that are still being torn down may hold the store until the process ends, so the lock must last as
        // long: it is never given back by us, but by the kernel at exit.
        std::mem::forget(lock);
        ended
    }
}

/// Opens the store. A process that has just ended gives the folder's lock and the store's own back one after the
/// other, so a store that is still held is tried again for a moment.
async fn open_store(home: &Home) -> Result<Store> {
    let deadline = Instant::now() + HELD_FOR;
    loop {
        match Store::file(&home.store()) {
            Ok(store) => return Ok(store),
            Err(error) if Instant::now() > deadline => return Err(broken(home, &error)),
            Err(_) => tokio::time::sleep(TRY_EVERY).await,
        }
    }
}

fn broken(home: &Home, error: &dyn std::error::Error) -> Failure {
    Error::config(format!("the sandbox in {} cannot be opened: {}", home.path().display(), causes(error)))
        .hint("free some space on that disk; `vela sandbox reset` deletes what is in it and starts anew")
        .into()
}

/// Writes a file that only its owner may read: it holds a token.
fn write_private(path: &std::path::Path, text: &str) -> std::io::Result<()> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let mut file = std::fs::File::options().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())
}
