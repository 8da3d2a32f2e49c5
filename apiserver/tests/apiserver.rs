//! The API server from outside: kube's client in process, kubectl over TLS, answers of a real server, a restart.

// A failed expectation in a test is the failure we want to see.
#![allow(clippy::expect_used, clippy::panic)]

mod clone_sets;
mod custom;
mod fork;
mod kubectl;
mod latency;
mod network;
mod storage;
mod transcripts;
mod verbs;
