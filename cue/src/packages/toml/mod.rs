//! Package `encoding/toml`: data in, TOML text out, and back.
//!
//! Not by toml or toml_edit: the reference reads what no reader of the specification does (`1.`, `.5`, `_1`, tables joined
//! from several places), and refuses `inf`, `nan` and times with a blank; its writer has a layout of its own.

mod reader;
mod scanner;
mod writer;

pub use reader::{Field, Node, Value, read_tree};

use super::arguments::{any, text};
use super::{ANY, BYTES, Data, Failure, Kinds, Package, function};

pub(super) static PACKAGE: Package = Package {
    path: "encoding/toml",
    constants: &[],
    declarations: "",
    functions: &[
        function("Marshal", &[ANY], Kinds::STRING, |a| writer::marshal(any(a, 0)?).map(Data::String)),
        function("Unmarshal", &[BYTES], Kinds::TOP, |a| read(text(a, 0)?)),
    ],
};

/// The data of a TOML text.
///
/// # Errors
/// Where and why it is no TOML.
pub fn read(source: &str) -> Result<Data, Failure> {
    let tree = read_tree(source).map_err(|(at, message)| {
        let before = &source.as_bytes()[..at.min(source.len())];
        let line = before.iter().filter(|b| **b == b'\n').count() + 1;
        let column = before.iter().rev().take_while(|b| **b != b'\n').count() + 1;
        Failure::error(format!("invalid TOML at {line}:{column}: {message}"))
    })?;
    Ok(tree.into_data())
}
