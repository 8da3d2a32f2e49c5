//! Streams to pods over WebSockets: a command in a container, and connections to a port. No use for controllers, so they are
//! built only with the feature `streams`.

use k8s_openapi::api::core::v1::Pod;
use kube::api::{AttachParams, AttachedProcess, Portforwarder};

use crate::Api;

impl Api<Pod> {
    /// Begins a command in a container; the streams of the answer are its own.
    ///
    /// # Errors
    /// What the server or the way to it said; a name that no path can have is refused before anything is asked.
    pub async fn exec(
        &self,
        name: &str,
        command: &[String],
        params: &AttachParams,
    ) -> Result<AttachedProcess, kube::Error> {
        self.to(name)?.exec(name, command, params).await
    }

    /// Opens one connection to a port of a pod.
    ///
    /// # Errors
    /// What the server or the way to it said; a name that no path can have is refused before anything is asked.
    pub async fn portforward(&self, name: &str, port: u16) -> Result<Portforwarder, kube::Error> {
        self.to(name)?.portforward(name, &[port]).await
    }
}
