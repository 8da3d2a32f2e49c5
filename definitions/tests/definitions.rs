//! Built-in definitions: every text is embedded, every manifest has its parts.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "definitions/evaluation.rs"]
mod evaluation;
#[path = "definitions/manifests.rs"]
mod manifests;
#[path = "definitions/operators.rs"]
mod operators;
