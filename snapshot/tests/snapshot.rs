//! One world, read through every source: the snapshots are equal.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "snapshot/equal.rs"]
mod equal;
#[path = "snapshot/world.rs"]
mod world;
