//! A syntax tree in, formatted CUE text out.
//!
//! Line breaks of the source are kept where they carry meaning for the reader; indentation, blanks, columns of values and
//! comments are made new. Nodes without a place in the source get the canonical layout.

mod columns;
mod declarations;
mod expressions;
mod spacing;

use crate::ast::{Expr, File};
use spacing::Printer;

/// The text of a file. `source` is what the file was parsed from (its line breaks guide the layout).
pub fn format_file(file: &File, source: &str) -> String {
    let mut printer = Printer::new(source);
    printer.file(file);
    finish(printer)
}

/// The text of an expression without a source, one declaration a line.
pub fn format_expr(expr: &Expr) -> String {
    let mut printer = Printer::new("");
    printer.expr(expr);
    finish(printer).trim_end().to_string()
}

/// The text of the declarations of a struct without a source, as a file shows them.
pub fn format_struct_as_file(literal: &crate::ast::StructLit) -> String {
    let file = File { decls: literal.decls.clone(), ..File::default() };
    format_file(&file, "")
}

fn finish(printer: Printer<'_>) -> String {
    columns::aligned(&printer.output)
}
