//! Values and declarations of CUE in, other notations out.

pub mod openapi;
mod schema;
