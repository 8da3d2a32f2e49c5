//! One line for each write that a user ordered: who, what, of which object, and the result. Changes nothing.

use std::fmt;

use tokio::sync::mpsc;

use crate::error::Error;

/// Characters of a name that are repeated.
const NAME_AT_MOST: usize = 253;

/// A write that was ordered, carried out or refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Audit {
    /// With whose rights, as the API server names the user.
    pub user: String,
    /// In which cluster.
    pub cluster: String,
    /// What was ordered.
    pub order: String,
    /// Kind, namespace and name of the object.
    pub object: String,
    /// `done`, or why not.
    pub outcome: String,
}

impl Audit {
    pub(super) fn of<T>(
        (user, cluster): (&str, &str),
        order: &str,
        object: String,
        result: &Result<T, Error>,
    ) -> Self {
        let outcome = match result {
            Ok(_) => "done".to_owned(),
            Err(error) => format!("{}: {error}", error.status().as_u16()),
        };
        let order = order.chars().take(NAME_AT_MOST).collect();
        Self { user: user.to_owned(), cluster: cluster.to_owned(), order, object, outcome }
    }
}

/// An order under way. A request that ends before its answer, because the browser left or the time is up, may have changed
/// the object all the same, and the audit says so.
pub(super) struct Pending {
    audits: mpsc::Sender<Audit>,
    audit: Option<Audit>,
}

impl Pending {
    pub(super) fn new(audits: mpsc::Sender<Audit>, who: (&str, &str), order: &str, object: &str) -> Self {
        let unknown: Result<(), Error> = Err(Error::Abandoned);
        Self { audits, audit: Some(Audit::of(who, order, object.to_owned(), &unknown)) }
    }

    /// The outcome is known.
    pub(super) fn disarm(mut self) {
        self.audit = None;
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let Some(audit) = self.audit.take() {
            // Nothing can wait here; a full queue drops it.
            let _ = self.audits.try_send(audit);
        }
    }
}

impl fmt::Display for Audit {
    /// One line, whatever a browser sent.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { user, cluster, order, object, outcome } = self;
        write!(
            f,
            "audit: user={user:?} cluster={cluster:?} order={order:?} object={object:?} outcome={outcome:?}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_audit_is_one_line_whatever_was_sent() {
        let refused: Result<(), Error> = Err(Error::Refused("a\nb".to_owned()));
        let audit = Audit::of(
            ("admin", "kind"),
            &"x\n".repeat(400),
            "AppRollout default/canary".to_owned(),
            &refused,
        );
        let line = audit.to_string();
        assert!(!line.contains('\n') && line.len() < 1_000, "{line}");
        assert!(
            line.starts_with("audit: user=\"admin\" cluster=\"kind\" order=\"x\\nx")
                && line.ends_with("outcome=\"409: a\\nb\"")
        );
    }
}
