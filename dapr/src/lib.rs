//! The Dapr operator: keeps the headless Services by which the sidecars of annotated Deployments are reached.
//!
//! Flow: a Deployment's pod-template annotations → [`annotations`] → [`service`] → [`controller`] applies it through
//! the shared runtime. Component, Configuration and Subscription kinds, the gRPC API and the sidecar injector are not
//! furnished yet.

pub mod annotations;
pub mod controller;
pub mod service;

#[cfg(test)]
mod tests;
