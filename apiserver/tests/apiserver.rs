//! The API server from outside: kube's client in process, and what it promises of conflicts, watches and pages.

mod transcripts;
mod verbs;
