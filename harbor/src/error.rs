//! Why the children of an object cannot be built.

use crate::names::{LONGEST_NAME, VERSION};

/// Why the children of an object cannot be built; nothing is written then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A field is missing or wrong.
    #[error("{object}: {field} {expected}")]
    Field {
        /// Kind, namespace and name.
        object: String,
        /// The path of the field.
        field: String,
        /// The expected form and the remedy.
        expected: String,
    },
    /// Which image to run cannot be known.
    #[error(
        "{object}: missing harbor version: set spec.image, or the annotation {VERSION} to a release such as 2.5.1"
    )]
    NoVersion {
        /// Kind, namespace and name.
        object: String,
    },
    /// An object that is named is not there.
    #[error(
        "{object}: {field} names {kind} {name}, which does not exist: create it in this namespace, or name another"
    )]
    Missing {
        /// Kind, namespace and name.
        object: String,
        /// The path of the field that names it.
        field: String,
        /// The kind of what is missing.
        kind: String,
        /// Its name.
        name: String,
    },
    /// A secret lacks a key.
    #[error("{object}: {field} names Secret {name}, which has no key {key}: add it")]
    NoKey {
        /// Kind, namespace and name.
        object: String,
        /// The path of the field that names the secret.
        field: String,
        /// The secret.
        name: String,
        /// The missing field.
        key: String,
    },
    /// A child cannot have the name it would get.
    #[error(
        "{object}: the name {child} of a child is longer than {LONGEST_NAME} characters: choose a shorter name"
    )]
    NameTooLong {
        /// Kind, namespace and name.
        object: String,
        /// The name of the child.
        child: String,
    },
    /// The kind has no parts.
    #[error("{object}: no kind of goharbor.io that has parts")]
    UnknownKind {
        /// Kind, namespace and name.
        object: String,
    },
    /// The nodes do not make a graph: a mistake in this crate.
    #[error("{object}: {message}")]
    Graph {
        /// Kind, namespace and name.
        object: String,
        /// The error.
        message: String,
    },
}
