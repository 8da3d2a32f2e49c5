//! Classifies why an object was not applied: whether and when another try is worth while.

use super::Cause;
use crate::apply;
use crate::retry::{CONFLICT_WAIT, Retry};

impl From<apply::Error> for Cause<apply::Error> {
    fn from(error: apply::Error) -> Self {
        match error.retry() {
            Retry::Conflict => Self::Later { after: Some(CONFLICT_WAIT), error },
            Retry::BackOff(after) => Self::Later { after, error },
            Retry::Forbidden => Self::later(error),
            Retry::Never => Self::Unrecoverable(error),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    fn refused(code: u16) -> Cause<apply::Error> {
        let status = json!({"status": "Failure", "code": code, "message": "no"});
        let source = kube::Error::Api(serde_json::from_value(status).unwrap());
        apply::Error::Client { object: "Web shop/a".to_owned(), source }.into()
    }

    #[test]
    fn only_what_another_object_mends_is_unrecoverable() {
        assert!(matches!(refused(409), Cause::Later { after: Some(CONFLICT_WAIT), .. }));
        assert!(matches!(refused(403), Cause::Later { after: None, .. }));
        assert!(matches!(refused(500), Cause::Later { after: None, .. }));
        assert!(matches!(refused(422), Cause::Unrecoverable(_)));
    }

    #[test]
    fn an_object_of_another_owner_is_not_tried_again() {
        let foreign = apply::Error::Foreign { object: "Web a".to_owned(), reason: "it is b's".to_owned() };
        assert!(matches!(Cause::from(foreign), Cause::Unrecoverable(_)));
    }
}
