//! The built-in kinds: names, types, defaults, rules and columns, all as plain functions on JSON objects.
mod check;
mod columns;
mod defaults;
mod kinds;
mod prune;
mod strategy;
pub mod types;
mod validate;

pub use check::check_types;
pub use columns::cells;
pub use defaults::apply_defaults;
pub use kinds::{Column, Kind, columns, find, kinds};
pub use prune::prune;
pub use strategy::{prepare_create, prepare_update};
pub use validate::validate;

pub(crate) use prune::walk as prune_type;

#[cfg(test)]
mod tests;
