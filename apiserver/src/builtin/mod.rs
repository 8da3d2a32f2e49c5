//! The built-in kinds: names, types, defaults, rules and columns, all as plain functions on JSON objects.
mod kinds;
mod prune;
pub mod types;

pub use kinds::{Column, Kind, columns, find, kinds};
pub use prune::prune;
