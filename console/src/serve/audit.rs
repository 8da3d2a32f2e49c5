//! One line for each write that a user ordered: who, what, of which object, and the result. Changes nothing.

use std::fmt;

use crate::error::Error;

/// Characters of a name that are repeated.
const NAME_AT_MOST: usize = 253;

/// A write that was ordered, carried out or refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Audit {
    /// With whose rights.
    pub user: String,
    /// What was ordered.
    pub order: String,
    /// Kind, namespace and name of the object.
    pub object: String,
    /// `done`, or why not.
    pub outcome: String,
}

impl Audit {
    pub(super) fn of<T>(user: &str, order: &str, object: String, result: &Result<T, Error>) -> Self {
        let outcome = match result {
            Ok(_) => "done".to_owned(),
            Err(error) => format!("{}: {error}", error.status().as_u16()),
        };
        let order = order.chars().take(NAME_AT_MOST).collect();
        Self { user: user.to_owned(), order, object, outcome }
    }
}

impl fmt::Display for Audit {
    /// One line, whatever a browser sent.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { user, order, object, outcome } = self;
        write!(f, "audit: user={user:?} order={order:?} object={object:?} outcome={outcome:?}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_audit_is_one_line_whatever_was_sent() {
        let refused: Result<(), Error> = Err(Error::Refused("a\nb".to_owned()));
        let audit = Audit::of("admin", &"x\n".repeat(400), "AppRollout default/canary".to_owned(), &refused);
        let line = audit.to_string();
        assert!(!line.contains('\n') && line.len() < 1_000, "{line}");
        assert!(
            line.starts_with("audit: user=\"admin\" order=\"x\\nx")
                && line.ends_with("outcome=\"409: a\\nb\"")
        );
    }
}
