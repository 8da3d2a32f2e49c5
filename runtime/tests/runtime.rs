//! What controllers may rely on: queue, watches, reconciles, apply, lease and the order of start and stop.

// A failed unwrap in a test is the failure we want to see, in helpers too.
#![allow(clippy::unwrap_used, clippy::panic)]

mod suites {
    pub(crate) mod apply;
    pub(crate) mod cluster;
    pub(crate) mod controller;
    pub(crate) mod dynamic_watch;
    pub(crate) mod events;
    mod figures;
    pub(crate) mod graph;
    mod greeter;
    pub(crate) mod lease;
    pub(crate) mod manager;
    pub(crate) mod queue;
    mod refused;
    mod restored;
    pub(crate) mod terms;
    pub(crate) mod tls;
    pub(crate) mod webhook;
    pub(crate) mod webhook_authority;
    pub(crate) mod webhook_certificates;
}
