//! CUE text in; values, JSON, diagnostics or formatted text out.

pub mod ast;
pub mod diagnostic;
pub mod format;
mod lexer;
pub mod literal;
pub mod number;
pub mod packages;
pub mod parser;
pub mod regexp;
pub mod source;

pub use diagnostic::{Code, Diagnostic, Diagnostics};
pub use source::{FileId, Source, Sources, Span};
