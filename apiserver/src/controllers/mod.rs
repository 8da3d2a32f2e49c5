//! The controllers of a cluster: simulated workloads, garbage collection, namespaces, the end of old Events.

mod act;
mod delay_queue;
mod events;
mod manager;
mod namespaces;
mod view;

pub(crate) use manager::{ControllerManager, start};
