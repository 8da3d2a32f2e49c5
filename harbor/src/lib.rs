//! The Harbor operator on the shared runtime: an object of goharbor.io in, its children out.
//!
//! [`parts`] is the pure middle: what an object of goharbor.io asks for, as nodes that wait for each other. [`mutation`]
//! completes a child with what all children have. [`controller`] reconciles every kind by one graph of children. [`validation`] says what is
//! wrong with an object, to an API server through [`admission`] and [`webhooks`], or in the object's status. [`conversion`] gives an object in its other version.

#![warn(missing_docs, clippy::missing_errors_doc)]

pub mod admission;
mod applied;
mod bcrypt;
mod child;
pub mod controller;
pub mod conversion;
mod defaults;
mod duration;
mod error;
mod field;
pub mod mutation;
mod names;
pub mod owner;
pub mod parts;
pub mod passwords;
mod readiness;
mod services;
mod settings;
mod status;
mod status_write;
pub mod validation;
pub mod webhooks;

pub use field::Field;
pub use settings::EgressOverride;
