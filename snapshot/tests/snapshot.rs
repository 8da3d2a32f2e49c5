//! One cluster, read through every source: the snapshots are equal.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "snapshot/cluster.rs"]
mod cluster;
#[path = "snapshot/equal.rs"]
mod equal;
#[path = "snapshot/policies.rs"]
mod policies;
#[path = "snapshot/referenced.rs"]
mod referenced;
