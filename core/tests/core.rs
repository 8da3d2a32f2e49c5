//! Scenarios of the hands, in process: controllers, API server and simulated workloads talk without a socket.
//!
//! `CORE_TEST_KUBECONFIG=FILE` runs the same scenarios on a real control plane where the CRDs are installed.

mod scenarios {
    pub(crate) mod broken;
    pub(crate) mod counts;
    pub(crate) mod examples;
    pub(crate) mod faults;
    pub(crate) mod lifecycle;
    pub(crate) mod world;
}
