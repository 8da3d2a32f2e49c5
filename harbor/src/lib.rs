//! Harbor operator on the shared runtime: not furnished yet.
//!
//! What it waits for is the dependency graph runner of `runtime`; its kinds (goharbor.io) and the one controller for
//! all of them follow. Nothing here claims to run Harbor.
