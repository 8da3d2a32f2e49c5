//! Why an object was not applied → the type of failure it is for a graph: when another try is worth while.

use std::time::Duration;

use super::Cause;
use crate::{apply, discovery};

/// After a write that lost against another writer, the store needs a moment to catch up.
const CONFLICT_WAIT: Duration = Duration::from_secs(1);

impl From<apply::Error> for Cause<apply::Error> {
    fn from(error: apply::Error) -> Self {
        let status = match &error {
            apply::Error::Client { source: kube::Error::Api(status), .. } => status,
            apply::Error::Kind { source: discovery::Error::Unknown { .. }, .. }
            | apply::Error::Foreign { .. }
            | apply::Error::Malformed { .. } => return Self::Unrecoverable(error),
            apply::Error::Kind { .. } | apply::Error::Client { .. } => return Self::later(error),
        };
        let asked = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
        match status.code {
            _ if asked > 0 => Self::Later { after: Some(Duration::from_secs(asked.into())), error },
            409 => Self::Later { after: Some(CONFLICT_WAIT), error },
            // A role may be granted, a namespace made, any moment, and nobody tells.
            401 | 403 | 404 | 408 | 429 | 500.. => Self::later(error),
            // The object is wrong.
            _ => Self::Unrecoverable(error),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use kube::core::Status;
    use serde_json::json;

    use super::*;

    fn refused(code: u16, retry_after_seconds: u32) -> Cause<apply::Error> {
        let details = json!({"retryAfterSeconds": retry_after_seconds});
        let status = json!({"status": "Failure", "code": code, "message": "no", "details": details});
        let status: Status = serde_json::from_value(status).unwrap();
        let source = kube::Error::Api(Box::new(status));
        apply::Error::Client { object: "Web shop/a".to_owned(), source }.into()
    }

    #[test]
    fn the_answer_of_the_server_says_when_to_come_again() {
        let after = |cause: &Cause<apply::Error>| match cause {
            Cause::Later { after, .. } => Some(after.map(|time| time.as_secs())),
            _ => None,
        };
        for (code, asked, expected) in [
            (409, 0, Some(Some(1))),
            (429, 7, Some(Some(7))),
            (503, 3, Some(Some(3))),
            (403, 0, Some(None)),
            (404, 0, Some(None)),
            (500, 0, Some(None)),
            (422, 0, None),
            (400, 0, None),
            (413, 0, None),
        ] {
            assert_eq!(after(&refused(code, asked)), expected, "{code}");
        }
        assert!(matches!(refused(422, 0), Cause::Unrecoverable(_)));
    }

    #[test]
    fn what_belongs_to_somebody_else_is_not_tried_again() {
        let foreign = apply::Error::Foreign { object: "Web a".to_owned(), reason: "it is b's".to_owned() };
        assert!(matches!(Cause::from(foreign), Cause::Unrecoverable(_)));
    }
}
