//! The built-in kinds as this API serves them: names, columns and what a kind does by itself. Their types, defaults and
//! rules are data of the room `kinds`.
mod cells;
mod kinds;
mod strategy;

pub(crate) use cells::cells;
#[cfg(test)]
pub(crate) use kinds::find;
pub(crate) use kinds::{Kind, columns, kinds};
pub(crate) use strategy::{prepare_create, prepare_update};
pub(crate) use vela_kinds::{apply_defaults, check_types, prune, prune_type, types, validate};

#[cfg(test)]
mod tests;
