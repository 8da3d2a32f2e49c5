//! The API server from outside: kube's client in process, kubectl over TLS, answers of a real server, a restart.

mod kubectl;
mod latency;
mod storage;
mod transcripts;
mod verbs;
