//! The console on a loopback port.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use vela_listen::{Config, Limits};

use crate::serve::Door;

/// Connections at once: each page has one stream of events beside its requests.
const CONNECTIONS: usize = 512;

/// A console that serves.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    door: Door,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Server {
    /// Binds a loopback port (0 takes a free one) and serves in the background what `door` makes for its address.
    ///
    /// # Errors
    /// The error of the system, for instance that the port is taken.
    pub async fn start<D: Into<Door>>(
        port: u16,
        door: impl FnOnce(SocketAddr) -> D,
    ) -> std::io::Result<Self> {
        let listener = vela_listen::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await?;
        let address = listener.local_addr()?;
        let (door, stop): (Door, _) = (door(address).into(), CancellationToken::new());
        // Streams never end by themselves, so a stop waits for none.
        let limits = Limits { connections: CONNECTIONS, grace: Duration::ZERO, ..Limits::default() };
        let config = Config { limits, ..Config::new("console") };
        let task = tokio::spawn(vela_listen::serve(listener, config, door.clone(), stop.clone()));
        Ok(Self { address, door, stop, task })
    }

    /// Where it serves.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends it: connections first, then the watch.
    pub async fn stop(self) {
        self.stop.cancel();
        // A task that broke has ended, too.
        let _ = self.task.await;
        self.door.close().await;
    }
}
