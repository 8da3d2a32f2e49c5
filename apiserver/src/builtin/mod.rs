//! The built-in kinds: names, types, defaults, rules and columns, all as plain functions on JSON objects.
mod defaults;
mod kinds;
mod prune;
pub mod types;

pub use defaults::apply_defaults;
pub use kinds::{Column, Kind, columns, find, kinds};
pub use prune::prune;

pub(crate) use prune::walk as prune_type;
