//! Values and declarations of CUE in, other notations out.

mod choice;
pub mod definition;
mod label;
pub mod openapi;
mod schema;
mod shape;
