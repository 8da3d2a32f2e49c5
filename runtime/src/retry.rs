//! An answer of the API server → when another try is worth while; the one rule of all reconcilers.

use std::future::Future;
use std::time::Duration;

/// After a write that lost against another writer the stores need a moment to catch up.
pub const CONFLICT_WAIT: Duration = Duration::from_millis(50);

/// How often what a user orders is tried again while other writers are faster.
const TRIES_AT_MOST: usize = 20;

/// Reads, decides and writes as long as `attempt` gives nothing because another writer changed the object since it was read
/// (409). Gives nothing where the other writers were faster each time.
///
/// # Errors
/// The error of an attempt, at once.
pub async fn over_conflicts<T, E, F>(mut attempt: impl FnMut() -> F) -> Result<Option<T>, E>
where
    F: Future<Output = Result<Option<T>, E>>,
{
    for _ in 0..TRIES_AT_MOST {
        if let Some(written) = attempt().await? {
            return Ok(Some(written));
        }
    }
    Ok(None)
}

/// When a request that failed may succeed, though the object that it is about stays as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// Another writer was faster: after [`CONFLICT_WAIT`].
    Conflict,
    /// The obstacle may go by itself: after a back-off, or after the time that the server asks for.
    BackOff(Option<Duration>),
    /// A right is missing: after a back-off, for an administrator may grant it at any time, and no watch tells of that. Users
    /// are not to wait for it.
    Forbidden,
    /// Only another object helps.
    Never,
}

impl Retry {
    /// Of an answer, or of none.
    #[must_use]
    pub fn of(error: &kube::Error) -> Self {
        let kube::Error::Api(status) = error else { return Self::BackOff(None) };
        let asked = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
        match status.code {
            _ if asked > 0 => Self::BackOff(Some(Duration::from_secs(asked.into()))),
            409 => Self::Conflict,
            401 | 403 => Self::Forbidden,
            // A namespace may be made at any moment.
            404 | 408 | 429 | 500.. => Self::BackOff(None),
            _ => Self::Never,
        }
    }

    /// Is it worth waiting for, although no user acts?
    #[must_use]
    pub fn is_transient(self) -> bool {
        matches!(self, Self::Conflict | Self::BackOff(_))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    fn answered(code: u16, retry_after_seconds: u32) -> Retry {
        let details = json!({"retryAfterSeconds": retry_after_seconds});
        let status = json!({"status": "Failure", "code": code, "message": "no", "details": details});
        Retry::of(&kube::Error::Api(serde_json::from_value(status).unwrap()))
    }

    #[test]
    fn the_answer_says_when_to_come_again() {
        let seconds = |seconds| Retry::BackOff(Some(Duration::from_secs(seconds)));
        for (code, asked, expected) in [
            (409, 0, Retry::Conflict),
            (429, 7, seconds(7)),
            (503, 3, seconds(3)),
            (401, 0, Retry::Forbidden),
            (403, 0, Retry::Forbidden),
            (404, 0, Retry::BackOff(None)),
            (408, 0, Retry::BackOff(None)),
            (500, 0, Retry::BackOff(None)),
            (422, 0, Retry::Never),
            (400, 0, Retry::Never),
            (413, 0, Retry::Never),
        ] {
            assert_eq!(answered(code, asked), expected, "{code}");
        }
    }

    #[tokio::test]
    async fn a_change_is_tried_again_until_it_is_written() {
        let mut tries = 0;
        let mut third = || {
            tries += 1;
            std::future::ready(Ok::<_, ()>((tries == 3).then_some("written")))
        };
        assert_eq!(over_conflicts(&mut third).await, Ok(Some("written")));
        let mut tries = 0;
        let never = || {
            tries += 1;
            std::future::ready(Ok::<Option<()>, ()>(None))
        };
        assert_eq!(over_conflicts(never).await, Ok(None));
        assert_eq!(tries, TRIES_AT_MOST);
        let failing = || std::future::ready(Err::<Option<()>, _>("forbidden"));
        assert_eq!(over_conflicts(failing).await, Err("forbidden"));
    }

    #[test]
    fn a_missing_right_is_tried_again_and_not_waited_for() {
        assert!(!Retry::Forbidden.is_transient());
        assert!(!Retry::Never.is_transient());
        assert!(Retry::Conflict.is_transient());
        assert!(Retry::BackOff(None).is_transient());
    }
}
