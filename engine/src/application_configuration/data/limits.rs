//! How much may flow: names, lists, paths and values.

use serde_json::Value as Json;

/// Inputs and outputs of one configuration, together; more are refused, since each is looked at in every reconcile.
pub const FLOW_LIMIT: usize = 10_000;
/// Operations of one store, conditions of one list, paths of one input: far beyond what anybody writes by hand.
pub const LIST_LIMIT: usize = 256;
/// Longer paths, in bytes, are refused.
pub const PATH_LIMIT: usize = 1024;
/// Values of more bytes, as JSON text, are not passed on: the API server stores no object of twice that size.
pub const VALUE_LIMIT: usize = 1 << 20;
/// JSON texts of more bytes in a store are not patched, for the same reason.
pub const DOCUMENT_LIMIT: usize = 1 << 20;
/// The limit of all values that one reconcile writes into the objects of a configuration: a value may go to many
/// places.
pub const FILLED_LIMIT: usize = 64 << 20;
/// Comparisons of elements of two lists that are merged by keys.
pub const MERGE_LIMIT: usize = 1_000_000;

/// About how many bytes a value takes as JSON text.
pub(super) fn size(value: &Json) -> usize {
    match value {
        Json::Null | Json::Bool(_) => 4,
        Json::Number(_) => 8,
        Json::String(text) => text.len() + 2,
        Json::Array(items) => items.iter().map(|item| size(item) + 1).sum::<usize>() + 2,
        Json::Object(fields) => {
            fields.iter().map(|(name, field)| name.len() + size(field) + 4).sum::<usize>() + 2
        }
    }
}
