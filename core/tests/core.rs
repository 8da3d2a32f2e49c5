//! Scenarios of the hands, in process: controllers, API server and simulated workloads talk without a socket.
//!
//! `CORE_TEST_KUBECONFIG=FILE` runs the same scenarios on a real control plane where the CRDs are installed.

mod scenarios {
    pub mod broken;
    pub mod counts;
    pub mod faults;
    pub mod lifecycle;
    pub mod world;
}
