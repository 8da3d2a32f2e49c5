//! HarborCluster → its Harbor, and what the Harbor needs: a database, a cache and a storage that are named, or that other operators run
//! in the cluster.
//!
//! | file | in → out |
//! |---|---|
//! | `cache`, `database`, `storage` | a service of the spec → what to ask other operators for, and the connection for the Harbor |
//! | `harbor` | the spec and the connections → the Harbor |
//! | `service` | what the services have in common |
//! | `image` | a service in the cluster → its image |

mod cache;
mod database;
mod harbor;
mod image;
mod service;
mod storage;

use super::node::{Id, Node};
use super::secrets::Found;
use super::settings::Settings;
use crate::error::Error;
use crate::owner::Owner;
use service::Cluster;

/// The conditions of a HarborCluster that tell of its services, and the fields that describe them.
pub const CONDITIONS: [(&str, &str); 4] = [
    (cache::CONDITION, "spec.cache"),
    (database::CONDITION, "spec.database"),
    (storage::CONDITION, "spec.storage"),
    (harbor::CONDITION, "spec"),
];

/// The objects of other operators of which the children are built.
pub(super) fn reads(owner: &Owner) -> Result<Vec<Id>, Error> {
    match owner.kind() {
        "HarborCluster" => database::reads(owner),
        _ => Ok(Vec::new()),
    }
}

pub(super) fn children(owner: &Owner, found: &Found, settings: &Settings) -> Result<Vec<Node>, Error> {
    // The longest name of all: a mistake is said before anything is written.
    owner.child("harbor-harbor-notarysigner-authentication")?;
    let cluster = Cluster { owner, found, settings };
    let services = [cache::service(&cluster)?, database::service(&cluster)?, storage::service(&cluster)?];
    let harbor = harbor::node(&cluster, &services)?;
    let mut nodes = Vec::new();
    for service in services {
        nodes.extend(service.nodes);
    }
    nodes.push(harbor);
    Ok(nodes)
}
