//! The built-in kinds as this API serves them: names, columns and what a kind does by itself. Their types, defaults and
//! rules are data of the room `kinds`.
mod columns;
mod kinds;
mod strategy;

pub use columns::cells;
pub use kinds::{Column, Kind, columns, find, kinds};
pub use strategy::{prepare_create, prepare_update};
pub use vela_kinds::{apply_defaults, check_types, prune, types, validate};

pub(crate) use vela_kinds::prune_type;

#[cfg(test)]
mod tests;
