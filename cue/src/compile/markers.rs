//! The notes of a field in; its markers (`// +name=value`) out.

use crate::ir::FieldNotes;

/// Notes of a field, for use by values.
pub(crate) fn markers(notes: &FieldNotes) -> impl Iterator<Item = (&str, &str)> {
    notes.lines.iter().filter_map(|line| {
        let text = line.trim_start_matches('/').trim().strip_prefix('+')?;
        Some(text.split_once('=').map_or((text.trim(), ""), |(k, v)| (k.trim(), v.trim())))
    })
}
