//! When a workflow runs again without anybody asking for it by hand: annotation and status of its application → what is to be
//! done about it now.
//!
//! The annotation `app.oam.dev/restart-workflow` is `true`, a time (RFC 3339) or an interval (`24h`). The first two are noted
//! in `status.workflowRestartScheduledAt` and taken away; an interval stays, and counts from the end of each run. A run that
//! is under way is never cut off: what was asked for meanwhile begins when it is over.

use jiff::Timestamp;
use serde_json::Value as Json;

use super::duration::duration;
use super::run_status::{after, seconds};

/// Where the time is noted.
pub const SCHEDULED_AT: &str = "workflowRestartScheduledAt";
/// The annotation asks for a run as soon as may be.
const NOW: &str = "true";
/// The shortest interval: a workflow that always runs is a mistake.
const SHORTEST_SECONDS: i64 = 1;

/// The next action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Restart {
    /// Note this time, then take the annotation away.
    Note(Timestamp),
    /// The former run is forgotten, and with it the noted time: a new one begins.
    Begin,
    /// No restart before this time.
    Wait(Timestamp),
}

/// The restart that an annotation asks for.
enum Asked {
    Once(Timestamp),
    Every(jiff::SignedDuration),
}

impl Restart {
    /// Of an application with this annotation and status; nothing where nothing is asked for, or a run is under way.
    pub fn of(annotation: Option<&str>, status: &Json, now: Timestamp) -> Option<Self> {
        let noted = status[SCHEDULED_AT].as_str().and_then(|text| text.parse::<Timestamp>().ok());
        let every = match annotation.and_then(|text| asked(text, now).ok()) {
            // Noted before, by a process that was ended before it took the annotation away.
            Some(Asked::Once(_)) if annotation == Some(NOW) && noted.is_some() => {
                return noted.map(Self::Note);
            }
            Some(Asked::Once(at)) => return Some(Self::Note(seconds(at))),
            Some(Asked::Every(interval)) => Some(interval),
            None => None,
        };
        let run = &status["workflow"];
        let is_over = run.is_null() || run["finished"] == true;
        let end = run["endTime"].as_str().and_then(|text| text.parse::<Timestamp>().ok());
        let next = every.zip(end).map(|(interval, end)| after(end, interval));
        let at = [noted, next].into_iter().flatten().min().filter(|_| is_over)?;
        Some(if at <= now { Self::Begin } else { Self::Wait(at) })
    }
}

/// Why the annotation asks for nothing, where it does.
///
/// # Errors
/// It is neither `true` nor a time nor an interval.
pub(crate) fn check(annotation: &str) -> Result<(), String> {
    asked(annotation, Timestamp::UNIX_EPOCH).map(|_| ())
}

fn asked(annotation: &str, now: Timestamp) -> Result<Asked, String> {
    if annotation == NOW {
        return Ok(Asked::Once(now));
    }
    if let Ok(at) = annotation.parse::<Timestamp>() {
        return Ok(Asked::Once(at));
    }
    match duration(annotation).filter(|interval| interval.as_secs() >= SHORTEST_SECONDS) {
        Some(interval) => Ok(Asked::Every(interval)),
        None => Err(format!(
            "{annotation:?} says nothing about when the workflow runs again; write \"true\", a time such as \
             \"2030-01-31T06:00:00Z\", or an interval from one second such as \"24h\""
        )),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn ended(second: i64) -> Json {
        json!({"workflow": {"finished": true, "endTime": at(second).to_string()}})
    }

    #[test]
    fn what_is_asked_for_once_is_noted_first() {
        let of = |annotation: &str, status: &Json| Restart::of(Some(annotation), status, at(100));
        assert_eq!(of("true", &ended(50)), Some(Restart::Note(at(100))));
        let later = at(500).to_string();
        assert_eq!(of(&later, &ended(50)), Some(Restart::Note(at(500))));
        // A process ended between the note and the annotation: the time stays what it was.
        let mut noted = ended(50);
        noted[SCHEDULED_AT] = json!(at(90).to_string());
        assert_eq!(of("true", &noted), Some(Restart::Note(at(90))));
    }

    #[test]
    fn a_noted_time_is_waited_for_and_a_run_is_not_cut_off() {
        let of = |status: &Json, now: i64| Restart::of(None, status, at(now));
        let mut status = ended(50);
        assert_eq!(of(&status, 100), None);
        status[SCHEDULED_AT] = json!(at(90).to_string());
        assert_eq!(of(&status, 80), Some(Restart::Wait(at(90))));
        assert_eq!(of(&status, 90), Some(Restart::Begin));
        status["workflow"]["finished"] = json!(false);
        assert_eq!(of(&status, 100), None);
        // A user restarted it meanwhile: the note goes with the run that begins.
        status["workflow"] = Json::Null;
        assert_eq!(of(&status, 100), Some(Restart::Begin));
    }

    #[test]
    fn an_interval_counts_from_the_end_of_each_run() {
        let of = |status: &Json, now: i64| Restart::of(Some("1m"), status, at(now));
        assert_eq!(of(&ended(50), 100), Some(Restart::Wait(at(110))));
        assert_eq!(of(&ended(50), 110), Some(Restart::Begin));
        assert_eq!(of(&json!({"workflow": {"finished": false}}), 500), None);
        assert_eq!(of(&json!({}), 500), None);
    }

    #[test]
    fn what_means_nothing_is_told() {
        for good in ["true", "24h", "90s", "2030-01-31T06:00:00Z", "2030-01-31T06:00:00+02:00"] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for bad in ["false", "", "0s", "soon", "-1h", "1d", "0 6 * * *"] {
            assert!(check(bad).is_err_and(|why| why.contains("such as \"24h\"")), "{bad}");
            assert_eq!(Restart::of(Some(bad), &ended(50), at(100)), None, "{bad}");
        }
    }
}
