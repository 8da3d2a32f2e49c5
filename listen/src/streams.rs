//! Accepts connections of a bound socket for work that speaks no HTTP, such as forwarding bytes, until it is stopped.

use std::future::Future;
use std::pin::pin;

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use tokio::net::{TcpListener, TcpStream};

use crate::ACCEPT_PAUSE;

/// Has `each` work on every connection, on at most `most` at once; one more is closed as soon as it is accepted. When `stop`
/// is done, all connections end where they are.
pub async fn streams<W: Future<Output = ()>>(
    listener: TcpListener,
    most: usize,
    each: impl Fn(TcpStream) -> W,
    stop: impl Future<Output = ()>,
) {
    let mut stop = pin!(stop);
    let mut at_work = FuturesUnordered::new();
    loop {
        tokio::select! {
            () = &mut stop => return,
            Some(()) = at_work.next(), if !at_work.is_empty() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) if at_work.len() < most => at_work.push(each(stream)),
                Ok((_, peer)) => tracing::warn!(%peer, connections = most, "all connections are at work; one was refused"),
                // Out of file descriptors, or a client that left: the next one may fare better.
                Err(error) => {
                    tracing::warn!(%error, "a connection was not accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn each_connection_is_served_up_to_the_limit() {
        let listener = crate::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let address = listener.local_addr().unwrap();
        let echo = |mut stream: TcpStream| async move {
            let (mut from, mut to) = stream.split();
            let _ = tokio::io::copy(&mut from, &mut to).await;
        };
        let (stop, stopped) = oneshot::channel::<()>();
        let served = tokio::spawn(streams(listener, 1, echo, async move { drop(stopped.await) }));
        let mut first = TcpStream::connect(address).await.unwrap();
        first.write_all(b"a").await.unwrap();
        assert_eq!(first.read_u8().await.unwrap(), b'a');
        let mut second = TcpStream::connect(address).await.unwrap();
        assert_eq!(second.read(&mut [0]).await.unwrap_or(0), 0, "there is room for one");
        drop(first);
        stop.send(()).unwrap();
        served.await.unwrap();
        assert!(TcpStream::connect(address).await.is_err());
    }
}
