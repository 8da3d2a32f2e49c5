//! Prints lists of rows in the form that is asked for.

use serde_json::{Value, json};

use crate::args::ListFormat;
use crate::error::Result;
use crate::screen::Screen;
use crate::table::Table;

/// Prints rows for programs, or only their names; says whether that is what is asked for.
pub(crate) fn print_plain(
    rows: &[Value],
    name: impl Fn(&Value) -> String,
    format: ListFormat,
    screen: &mut Screen,
) -> Result<bool> {
    if let Some(format) = format.data() {
        return screen.data(format, &json!(rows)).map(|()| true);
    }
    if format != ListFormat::Name {
        return Ok(false);
    }
    if !rows.is_empty() {
        screen.print(&rows.iter().map(name).collect::<Vec<_>>().join("\n"))?;
    }
    Ok(true)
}

/// Prints rows in the form that is asked for; says whether a table would have been empty.
pub(crate) fn print_list(
    rows: &[Value],
    fields: &[&str],
    all_namespaces: bool,
    format: ListFormat,
    screen: &mut Screen,
) -> Result<bool> {
    let cell = |row: &Value, field: &str| row[field].as_str().unwrap_or_default().to_owned();
    if print_plain(rows, |row| cell(row, "name"), format, screen)? {
        return Ok(true);
    }
    if rows.is_empty() {
        return Ok(false);
    }
    let namespace = all_namespaces.then_some("namespace");
    let fields: Vec<&str> = namespace.into_iter().chain(fields.iter().copied()).collect();
    let heading: Vec<String> = fields.iter().map(|field| field.to_uppercase()).collect();
    let mut table = Table::new(&heading.iter().map(String::as_str).collect::<Vec<_>>());
    rows.iter().for_each(|row| table.row(fields.iter().map(|field| cell(row, field)).collect()));
    screen.print(&table.render())?;
    Ok(true)
}
