//! One address in front of several servers, which connects to the first that listens: a Service without a cluster.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::Result;

/// A server of this machine that listens accepts at once.
const CONNECT_AT_MOST: Duration = Duration::from_secs(1);

/// Servers in the order in which they are tried, and how often connections were cut.
#[derive(Clone, Debug, Default)]
struct Servers {
    addresses: Vec<SocketAddr>,
    cuts: usize,
}

/// A listening address; it closes when this is dropped, and so does what went through it.
pub struct Balancer {
    address: SocketAddr,
    servers: watch::Sender<Servers>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Balancer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Balancer {
    /// An address that leads nowhere yet.
    pub async fn open() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let servers = watch::Sender::default();
        let task = tokio::spawn(listen(listener, servers.clone()));
        Ok(Self { address, servers, task })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// From now on also to this server, when those before it do not listen.
    pub fn add(&self, server: SocketAddr) {
        self.servers.send_modify(|servers| servers.addresses.push(server));
    }

    /// From now on to this server first; connections that stand are cut.
    pub fn prefer(&self, server: SocketAddr) {
        self.servers.send_modify(|servers| {
            servers.addresses.retain(|address| *address != server);
            servers.addresses.insert(0, server);
            servers.cuts += 1;
        });
    }
}

async fn listen(listener: TcpListener, servers: watch::Sender<Servers>) {
    let mut connections = tokio::task::JoinSet::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        connections.spawn(connection(stream, servers.subscribe()));
        while connections.try_join_next().is_some() {}
    }
}

/// Bytes both ways, until one side ends or the connection is cut.
async fn connection(mut stream: TcpStream, mut servers: watch::Receiver<Servers>) {
    let Servers { addresses, cuts } = servers.borrow_and_update().clone();
    for address in addresses {
        let connecting = tokio::time::timeout(CONNECT_AT_MOST, TcpStream::connect(address));
        let Ok(Ok(mut server)) = connecting.await else { continue };
        tokio::select! {
            // How it ended is seen by both sides.
            _ = tokio::io::copy_bidirectional(&mut stream, &mut server) => {}
            _ = servers.wait_for(|servers| servers.cuts != cuts) => {}
        }
        return;
    }
}
