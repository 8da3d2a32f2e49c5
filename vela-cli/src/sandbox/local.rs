//! The sandbox inside this process: store opened, API server and controllers running, closed in order.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use kube::Client;
use tokio::task::JoinHandle;
use tower::Layer as _;
use vela_apiserver::store::{self, Store};
use vela_apiserver::{ApiServer, Served};
use vela_core::options::{Bounds, EgressPolicy};
use vela_core::{Controllers, Options, Process, Stop};

use crate::cluster::Cluster;
use crate::error::{Error, Failure, Result};
use crate::installation;
use crate::purpose::Purpose;
use crate::requests::RequestLog;
use crate::sandbox::home::advice;
use crate::sandbox::{Home, Lock};
use crate::system_namespace::USUAL;
use crate::target::causes;

/// The store of an ended process is free within this time.
const HELD_FOR: Duration = Duration::from_millis(500);
/// How often a held store is tried.
const TRY_EVERY: Duration = Duration::from_millis(10);

/// Begins the mark of a store whose installation has a record; older ones get it once.
const RECORDED: &str = "recorded-";

/// A running sandbox.
pub(crate) struct Local {
    server: ApiServer,
    home: Home,
    stop: Stop,
    controllers: Option<JoinHandle<std::result::Result<(), vela_core::Error>>>,
    served: Mutex<Option<Served>>,
    /// What a user may want to know about its renewal for this release.
    notes: Vec<String>,
    /// Held until everything is closed.
    lock: Lock,
}

impl Local {
    /// Opens the store and starts what `purpose` needs; on a new store the kinds and built-in types are installed.
    pub(crate) async fn open(home: Home, lock: Lock, purpose: Purpose) -> Result<Self> {
        let record = StoreRecord::read(&home);
        let store = open_store(&home, record.as_ref()).await?;
        let server = ApiServer::builder().store(store).build().map_err(|error| broken(&home, &error))?;
        let stop = Stop::new();
        let mut local = Self {
            server,
            home,
            stop: stop.clone(),
            controllers: None,
            served: Mutex::new(None),
            notes: Vec::new(),
            lock,
        };
        if purpose == Purpose::Change {
            local.server.run_controllers().detach();
        }
        local.notes = local.install(record).await?;
        if purpose == Purpose::Change {
            // Who types here is at home on this machine, and the whole cluster is theirs.
            let (egress_policy, bounds) = (EgressPolicy::ServicesAndLoopback, Bounds::NONE);
            let options = Options { egress_policy, bounds, ..Options::default() };
            let process = Process { options, stop, ..Process::default() };
            local.controllers =
                Some(tokio::spawn(Controllers::run(local.client("default", RequestLog::default()), process)));
        }
        Ok(local)
    }

    /// A client that speaks to the API server without a socket.
    pub(crate) fn client(&self, namespace: &str, log: RequestLog) -> Client {
        Client::new(log.layer(self.server.service()), namespace)
    }

    /// What a user may want to know about its renewal for this release; mostly nothing.
    pub(crate) fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Installs once per version of what is installed; a mark beside the store remembers which.
    async fn install(&self, record: Option<StoreRecord>) -> Result<Vec<String>> {
        let objects = installation::objects(USUAL)?;
        let identity = format!("{RECORDED}{}", installation::identity(&objects));
        if record.as_ref().is_some_and(|found| found.identity == identity) {
            return Ok(Vec::new());
        }
        let cluster = Cluster::new(
            self.client("default", RequestLog::default()),
            "the local sandbox".to_owned(),
            "default".to_owned(),
        )
        .with_system(Some(USUAL.to_owned()));
        let notes = installation::renew(&cluster, &objects, record.is_none()).await?;
        StoreRecord { identity, revision: self.server.store().revision() }.write(&self.home)?;
        Ok(notes)
    }

    /// Opens the loopback port, leaves the kubeconfig in the folder and tells others that they can use it.
    pub(crate) async fn serve(&self, port: u16) -> Result<SocketAddr> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let served = self.server.serve(address).await.map_err(|error| {
            Error::config(format!("port {port} of this machine cannot be served: {}", causes(&error)))
                .hint("choose another with --port, or leave it to vela")
        })?;
        let address = served.address();
        self.home.write_private(&self.home.kubeconfig(), &served.kubeconfig())?;
        self.lock.sign(true).map_err(|error| self.home.io_error("written", &error))?;
        if let Ok(mut slot) = self.served.lock() {
            *slot = Some(served);
        }
        Ok(address)
    }

    /// Stops the controllers, then the server, then gives the folder free.
    pub(crate) async fn close(self) -> Result<()> {
        let Self { server, home, stop, controllers, served, notes: _, lock } = self;
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
            // No process serves any more; a file that cannot be removed only leads to "connection refused".
            let _ = std::fs::remove_file(home.kubeconfig());
        }
        server.shutdown().await;
        let recorded = StoreRecord::advance(&home, server.store().revision());
        drop(server);
        // Tasks that are still being torn down may hold the store until the process ends, so the lock must last as
        // long: it is never given back by us, but by the kernel at exit.
        std::mem::forget(lock);
        ended.and(recorded)
    }
}

/// Opens the store. A process that has just ended gives the folder's lock and the store's own back one after the
/// other, so a store that is still held is tried again for a moment. What is less than the mark remembers is told, not
/// taken for a new beginning.
async fn open_store(home: &Home, record: Option<&StoreRecord>) -> Result<Store> {
    let reached = record.map_or(0, |record| record.revision);
    if record.is_some() && std::fs::symlink_metadata(home.store()).map_or(0, |found| found.len()) == 0 {
        return Err(lost(home, "the sandbox's data are missing, although it has been used"));
    }
    let deadline = Instant::now() + HELD_FOR;
    loop {
        match Store::file(&home.store()) {
            Ok(store) if store.revision() < reached => {
                return Err(lost(home, "the sandbox's data are older than when it was closed"));
            }
            Ok(store) => return Ok(store),
            Err(store::Error::File(store::file::Error::Held)) if Instant::now() < deadline => {
                tokio::time::sleep(TRY_EVERY).await;
            }
            Err(store::Error::File(store::file::Error::Damaged(why))) => return Err(damaged(home, &why)),
            Err(error) => return Err(broken(home, &error)),
        }
    }
}

fn lost(home: &Home, what: &str) -> Failure {
    Error::config(format!("{what}: {}", home.store().display()))
        .hint("put the file back from a copy, or start anew with `vela sandbox reset`")
        .into()
}

fn damaged(home: &Home, why: &str) -> Failure {
    let store = home.store();
    let message = format!("the sandbox's data in {} are damaged: {why}", store.display());
    let aside = match home.quarantine() {
        Some(place) => format!("they were put aside as {}; ", place.display()),
        None => String::new(),
    };
    Error::config(message).hint(format!("{aside}start anew with `vela sandbox reset`")).into()
}

fn broken(home: &Home, error: &(dyn std::error::Error + 'static)) -> Failure {
    let hint = match io_kind(error) {
        Some(kind) => advice(kind),
        None => "wait until the other command has ended; `vela sandbox status` tells who works there",
    };
    Error::config(format!("the sandbox in {} cannot be opened: {}", home.path().display(), causes(error)))
        .hint(hint)
        .into()
}

/// The kind of the first error of the file system in a chain of causes.
fn io_kind(error: &(dyn std::error::Error + 'static)) -> Option<std::io::ErrorKind> {
    /// Deeper chains say nothing new.
    const DEEPEST: usize = 8;
    std::iter::successors(Some(error), |error| error.source())
        .take(DEEPEST)
        .find_map(|error| error.downcast_ref::<std::io::Error>())
        .map(std::io::Error::kind)
}

/// What the folder remembers beside its store.
#[derive(Debug)]
struct StoreRecord {
    /// Which kinds and built-in types are installed.
    identity: String,
    /// The store's revision when it was last closed; a store never goes back.
    revision: u64,
}

impl StoreRecord {
    /// The mark as it was left. One without a revision was written before revisions were remembered.
    fn read(home: &Home) -> Option<Self> {
        let text = std::fs::read_to_string(home.record()).ok()?;
        let mut words = text.split_whitespace();
        let identity = words.next()?.to_owned();
        Some(Self { identity, revision: words.next().and_then(|word| word.parse().ok()).unwrap_or_default() })
    }

    fn write(&self, home: &Home) -> Result<()> {
        home.write_private(&home.record(), &format!("{} {}\n", self.identity, self.revision))
    }

    /// Remembers how far the store came.
    fn advance(home: &Home, revision: u64) -> Result<()> {
        match Self::read(home) {
            Some(record) if record.revision < revision => Self { revision, ..record }.write(home),
            _ => Ok(()),
        }
    }
}
