//! CUE text in; values, JSON, diagnostics or formatted text out.
