//! A small Kubernetes API for one person or one test.
pub mod builtin;
pub mod cause;
pub mod patch;
