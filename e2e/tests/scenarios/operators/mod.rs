//! The operators beside `vela-core`: each runs as a program with the rights of its account, on the sandbox and on a real control plane.

mod certificates;
mod conversion;
mod harbor;
mod projects;
mod registry;
mod sidecars;

use serde_json::Value;
use vela_e2e::Result;
use vela_e2e::objects::{Cluster, until};

use crate::CONVERGE_DEADLINE;

/// Waits until an object is as it should be, and gives it.
async fn until_it_is(
    cluster: &Cluster,
    (api_version, kind, name): (&str, &str, &str),
    is: impl Fn(&Value) -> bool,
) -> Result<Value> {
    until(&format!("{kind} {name} is as it should be"), CONVERGE_DEADLINE, async || {
        let found = cluster.get(api_version, kind, name).await.map_err(|error| error.to_string())?;
        let found = found.ok_or("it is not there")?;
        if is(&found) { Ok(found) } else { Err(format!("{}", found["status"])) }
    })
    .await
}

/// Waits until an object is not there.
async fn until_gone(cluster: &Cluster, (api_version, kind, name): (&str, &str, &str)) -> Result<()> {
    until(&format!("{kind} {name} is gone"), crate::GONE_DEADLINE, async || {
        match cluster.get(api_version, kind, name).await.map_err(|error| error.to_string())? {
            None => Ok(()),
            Some(found) => Err(format!("{}", found["metadata"])),
        }
    })
    .await
}

/// A port that was free a moment ago.
fn free_port() -> Result<u16> {
    Ok(std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}
