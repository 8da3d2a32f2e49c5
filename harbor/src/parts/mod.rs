//! An object of goharbor.io in → its children out, and what each waits for. Pure: what is read beside the object is given.
//!
//! | file | in → out |
//! |---|---|
//! | `KIND.rs` | an object of the kind → its children |
//! | `harbor` | a Harbor → its parts, secrets, certificates and Ingresses |
//! | `cluster` | a HarborCluster → its Harbor, and the database, cache and storage that other operators run |
//! | `workload` | what the children of all parts have in common |
//! | `node` | a child, and what it waits for |
//!
//! [`reads`] says which objects have to be read before [`children`] is called.

mod address;
mod chartmuseum;
mod cluster;
mod core;
mod env;
mod exporter;
mod harbor;
mod ingress;
mod jobservice;
mod node;
mod notary;
mod portal;
mod registry;
mod registry_file;
mod secrets;
mod settings;
mod trivy;
mod workload;

pub use crate::error::Error;
pub use cluster::CONDITIONS as CLUSTER_CONDITIONS;
pub use node::{Content, Copied, Generated, Id, Node, Password, kinds};
pub use secrets::Found;
pub(crate) use secrets::SINGLE;
pub use settings::Settings;

use crate::owner::Owner;
use workload::Part;

/// Fields that name secrets of which children are built, by kind of the owner.
const PASSWORDS: [(&str, &[&str]); 7] = [
    ("Core", &["redis.passwordRef", "components.registry.redis.passwordRef"]),
    ("JobService", &["workerPool.redisPool.passwordRef"]),
    ("Exporter", &["jobservice.redisPool.passwordRef"]),
    ("Trivy", &["redis.passwordRef"]),
    ("NotaryServer", &["storage.postgres.passwordRef"]),
    ("NotarySigner", &["storage.postgres.passwordRef"]),
    ("HarborCluster", &["storage.spec.minIO.secretRef"]),
];

/// The objects of which the children are built, beside the owner. Which of them are missing is said by [`children`].
///
/// # Errors
/// A field that should name one does not.
pub fn reads(owner: &Owner) -> Result<Vec<Id>, Error> {
    let mut reads = Vec::new();
    if owner.kind() == "Registry" {
        reads.push(Id::new(kinds::goharbor("RegistryController"), owner.name()));
    }
    reads.extend(cluster::reads(owner)?);
    let fields = PASSWORDS.iter().filter(|(kind, _)| *kind == owner.kind()).flat_map(|(_, fields)| *fields);
    for field in fields {
        if let Some(name) = owner.spec(field).text_or_none()?.filter(|name| !name.is_empty()) {
            let id = Id::new(kinds::SECRET, name);
            if !reads.contains(&id) {
                reads.push(id);
            }
        }
    }
    Ok(reads)
}

/// The children of an object. Each one stands behind those it waits for.
///
/// # Errors
/// The first thing that is missing or wrong; no children are wanted then, and none is unwanted.
pub fn children(owner: &Owner, found: &Found, settings: &Settings) -> Result<Vec<Node>, Error> {
    let part = |name| Part { owner, found, settings, name };
    match owner.kind() {
        "Harbor" => harbor::children(owner, settings),
        "HarborCluster" => cluster::children(owner, found, settings),
        "Core" => core::children(&part("core")),
        "JobService" => jobservice::children(&part("jobservice")),
        "Portal" => portal::children(&part("portal")),
        "Registry" => registry::children(&part("registry")),
        // The code that builds its Registry reads this field.
        "RegistryController" => Ok(Vec::new()),
        "Exporter" => exporter::children(&part("exporter")),
        "Trivy" => trivy::children(&part("trivy")),
        "ChartMuseum" => chartmuseum::children(&part("chartmuseum")),
        "NotaryServer" => notary::server(&part("notaryserver")),
        "NotarySigner" => notary::signer(&part("notarysigner")),
        _ => Err(Error::UnknownKind { object: owner.described().to_owned() }),
    }
}
