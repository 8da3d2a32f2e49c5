//! CUE text in; values, JSON, diagnostics or formatted text out.

pub mod literal;
pub mod number;
