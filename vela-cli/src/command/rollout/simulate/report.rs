//! Reports simulated rollouts: timeline, what was seen, what a person would have to do, and the verdict.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};
use vela_engine::rollout::rest::Rest;

use super::timeline::{Timeline, time};
use crate::error::{Error, Result};
use crate::screen::{BAD, BOLD, BUSY, DIM, GOOD, styled};

/// How a rollout ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Succeeded,
    Failed {
        why: String,
    },
    /// It waits for a person: for what, and how to go on.
    Waits {
        why: String,
    },
    /// It did not end in the time given.
    Unfinished {
        why: String,
        after: Duration,
    },
}

/// One rollout's end.
pub(super) struct RolloutReport {
    pub(super) rollout: String,
    pub(super) outcome: Outcome,
    pub(super) after: Duration,
    /// Least pods that were ready, and most that were there.
    pub(super) least: usize,
    pub(super) most: usize,
    /// What the plan promises of both.
    pub(super) promised: (i64, i64),
    /// Where the number of pods before comes from.
    pub(super) size: String,
}

/// All of it.
pub(super) struct Report {
    pub(super) timeline: Timeline,
    pub(super) ended: Vec<RolloutReport>,
    pub(super) settings: Value,
}

impl From<Rest> for Outcome {
    fn from(rest: Rest) -> Self {
        match rest {
            Rest::Succeeded => Self::Succeeded,
            Rest::Waits(why) => Self::Waits { why },
            Rest::Failed(why) => Self::Failed { why },
        }
    }
}

impl Outcome {
    fn word(&self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed { .. } => "failed",
            Self::Waits { .. } => "waits",
            Self::Unfinished { .. } => "unfinished",
        }
    }

    fn words(&self) -> String {
        let because = |why: &str| if why.is_empty() { String::new() } else { format!(": {why}") };
        match self {
            Self::Succeeded => "succeeded".to_owned(),
            Self::Failed { why } => format!("failed{}", because(why)),
            Self::Waits { why } => format!("waits for a person: {why}"),
            Self::Unfinished { why, after } => {
                format!("has not ended after {} (--until){}", time(*after), because(why))
            }
        }
    }

    /// The account above says why.
    fn brief(&self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed { .. } => "failed",
            Self::Waits { .. } => "waits for a person",
            Self::Unfinished { .. } => "has not ended",
        }
    }

    fn to_do(&self, rollout: &str) -> Option<String> {
        match self {
            Self::Succeeded => None,
            Self::Failed { .. } => Some(format!(
                "its pods stay as they are: `vela rollout undo {rollout}` goes back to the source; or mend the cause and give it a \
                 new target"
            )),
            Self::Waits { .. } => Some(format!(
                "look at the new pods and let it go on; or `vela rollout undo {rollout}` goes back to the source"
            )),
            Self::Unfinished { .. } => Some(format!(
                "mend what it waits for, or `vela rollout undo {rollout}` goes back to the source"
            )),
        }
    }
}

impl Report {
    /// For people.
    pub(super) fn text(&self) -> String {
        let legend = format!(
            "{} old  {} new  {} on its way  {} failing    (latency {}, seed {}; nothing outside this process is touched)",
            styled(DIM, "░"),
            styled(GOOD, "█"),
            styled(BUSY, "▁"),
            styled(BAD, "✗"),
            self.settings["latency"].as_str().unwrap_or_default(),
            self.settings["seed"],
        );
        let mut text = format!("{legend}\n{}\n", self.timeline.text());
        for ended in &self.ended {
            let style = match ended.outcome {
                Outcome::Succeeded => GOOD,
                Outcome::Waits { .. } => BUSY,
                _ => BAD,
            };
            let words = format!("{} {}", ended.rollout, ended.outcome.words());
            let _ = writeln!(text, "{} ({})", styled(style, &words), time(ended.after));
            let (least, most) = ended.promised;
            let _ = writeln!(
                text,
                "  at least {} pods were ready (the plan promises {least}), at most {} were there (it promises {most})",
                ended.least, ended.most
            );
            if let Some(to_do) = ended.outcome.to_do(&ended.rollout) {
                let _ = writeln!(text, "  {} {to_do}", styled(BOLD, "to do:"));
            }
        }
        if let Some(first) = self.ended.first() {
            let _ = writeln!(text, "{}", styled(DIM, &format!("  pods before: {}", first.size)));
        }
        text
    }

    /// For programs.
    pub(super) fn json(&self) -> Value {
        let rollouts: Vec<Value> = self
            .ended
            .iter()
            .map(|ended| {
                json!({
                    "rollout": ended.rollout,
                    "outcome": ended.outcome.word(),
                    "message": ended.outcome.words(),
                    "toDo": ended.outcome.to_do(&ended.rollout),
                    "milliseconds": u64::try_from(ended.after.as_millis()).unwrap_or(u64::MAX),
                    "leastReady": ended.least,
                    "mostPods": ended.most,
                    "promised": {"leastReady": ended.promised.0, "mostPods": ended.promised.1},
                })
            })
            .collect();
        json!({"settings": self.settings, "events": self.timeline.json(), "rollouts": rollouts})
    }

    /// Did the last rollout succeed?
    pub(super) fn verdict(&self) -> Result<()> {
        let Some(last) = self.ended.last() else {
            return Err(Error::internal("nothing was simulated").into());
        };
        match &last.outcome {
            Outcome::Succeeded => Ok(()),
            other => Err(Error::user(format!("rollout {} {}", last.rollout, other.brief())).into()),
        }
    }
}
