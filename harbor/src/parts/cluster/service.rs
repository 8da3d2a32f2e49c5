//! A HarborCluster as its services see it, and what each of them gives.

use serde_json::Value;

use super::super::node::{Id, Node};
use super::super::secrets::Found;
use super::super::settings::Settings;
use crate::error::Error;
use crate::field::Field;
use crate::owner::Owner;

/// The label of everything that belongs to a HarborCluster.
pub(super) const LABEL: &str = "goharbor.io/harbor-cluster";

/// A HarborCluster with what its children are built of.
pub(super) struct Cluster<'a> {
    pub(super) owner: &'a Owner,
    pub(super) found: &'a Found,
    pub(super) settings: &'a Settings,
}

/// One service.
pub(super) struct Service {
    /// What other operators are asked for; none where the service is outside of the cluster.
    pub(super) nodes: Vec<Node>,
    /// What the Harbor has to wait for.
    pub(super) needs: Vec<Id>,
    /// How the Harbor reaches it.
    pub(super) connection: Value,
}

impl Service {
    pub(super) fn outside(connection: Value) -> Self {
        Self { nodes: Vec::new(), needs: Vec::new(), connection }
    }
}

impl<'a> Cluster<'a> {
    pub(super) fn spec(&self, path: &str) -> Field<'a> {
        self.owner.spec(path)
    }

    /// The settings of the chosen kind of a service.
    pub(super) fn chosen(&self, service: &str, member: &str) -> Result<Field<'a>, Error> {
        let settings = self.spec(service).get("spec").get(member);
        settings.clone().set().ok_or_else(|| settings.wrong("must be given: spec names this kind"))
    }
}
