//! How large and how deep a manifest may be.

/// Texts of more bytes are refused: an object larger than this cannot be stored in etcd by far.
pub const TEXT_LIMIT: usize = 16 << 20;
/// More documents in one text are refused.
pub const DOCUMENT_LIMIT: usize = 10_000;
/// More values (after aliases are written out) in one text are refused: small texts can name very many.
pub const VALUE_LIMIT: usize = 1_000_000;
/// Deeper nesting (after aliases are written out) is refused, so that no later walk runs out of stack.
pub const DEPTH_LIMIT: usize = 200;
