//! The identities that this process acts in: one client for each author.

use vela_runtime::impersonation::{CLIENTS_AT_MOST, ImpersonatingClients};
use vela_webhooks::identity::OwnName;

/// The identities that this process acts in.
#[derive(Debug)]
pub(crate) struct Authors {
    pub(crate) clients: ImpersonatingClients,
    /// The name the API server knows this process by.
    pub(crate) own: OwnName,
}

impl Authors {
    pub(crate) fn new(client: kube::Client) -> Self {
        Self { clients: ImpersonatingClients::new(client, CLIENTS_AT_MOST), own: OwnName::default() }
    }
}
