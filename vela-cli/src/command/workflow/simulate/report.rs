//! What a simulated workflow came to: for people, for programs, and as an exit code.

use std::time::Duration;

use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::screen::{BAD, BUSY, DIM, GOOD, styled};
use crate::table::Table;

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Event {
    /// Since the beginning.
    pub(super) at: Duration,
    /// Empty where it is about the whole.
    pub(super) step: String,
    pub(super) what: String,
}

/// How an application ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    Succeeded,
    Failed(String),
    /// It waits for a person.
    Waits(String),
    /// It is still under way when the time is up.
    Unfinished(String),
}

/// How an application ended, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ended {
    pub(super) application: String,
    pub(super) outcome: Outcome,
    /// Since it was applied.
    pub(super) after: Duration,
}

/// The whole.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Report {
    pub(super) events: Vec<Event>,
    pub(super) ended: Vec<Ended>,
}

impl Outcome {
    fn word(&self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed(_) => "failed",
            Self::Waits(_) => "waits",
            Self::Unfinished(_) => "unfinished",
        }
    }

    fn why(&self) -> &str {
        match self {
            Self::Succeeded => "",
            Self::Failed(why) | Self::Waits(why) | Self::Unfinished(why) => why,
        }
    }
}

impl Report {
    /// For people.
    pub(super) fn text(&self) -> String {
        let mut table = Table::new(&["TIME", "STEP", "WHAT"]);
        for Event { at, step, what } in &self.events {
            table.row(vec![seconds(*at), step.clone(), what.clone()]);
        }
        let mut text = format!("{}\n", styled(DIM, "nothing outside this process is touched"));
        text.push_str(&table.render());
        for Ended { application, outcome, after } in &self.ended {
            let style = match outcome {
                Outcome::Succeeded => GOOD,
                Outcome::Failed(_) => BAD,
                Outcome::Waits(_) | Outcome::Unfinished(_) => BUSY,
            };
            let mut line = format!("{application} {} after {}", outcome.word(), seconds(*after));
            if !outcome.why().is_empty() {
                line.push_str(&format!(": {}", outcome.why()));
            }
            text.push_str(&format!("{}\n", styled(style, &line)));
        }
        text
    }

    /// For programs.
    pub(super) fn json(&self) -> Value {
        let event =
            |event: &Event| json!({"at": event.at.as_secs_f64(), "step": event.step, "what": event.what});
        let ended = |ended: &Ended| {
            json!({
                "application": ended.application,
                "outcome": ended.outcome.word(),
                "why": ended.outcome.why(),
                "after": ended.after.as_secs_f64(),
            })
        };
        json!({
            "events": self.events.iter().map(event).collect::<Vec<_>>(),
            "ended": self.ended.iter().map(ended).collect::<Vec<_>>(),
        })
    }

    /// Only what succeeded in the end is good.
    pub(super) fn verdict(&self) -> Result<()> {
        let Some(Ended { application, outcome, .. }) = self.ended.last() else { return Ok(()) };
        let why = outcome.why();
        match outcome {
            Outcome::Succeeded => Ok(()),
            Outcome::Failed(_) => Err(Error::user(format!("{application} failed: {why}")).into()),
            Outcome::Waits(_) => Err(Error::user(format!("{application} waits for a person: {why}"))
                .hint("--resume-after TIME lets people resume it after that time")
                .into()),
            Outcome::Unfinished(_) => Err(Error::user(format!("{application} is not done in time: {why}"))
                .hint("--until TIME gives it more time")
                .into()),
        }
    }
}

fn seconds(time: Duration) -> String {
    format!("{:.1}s", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_application_decides() {
        let ended =
            |outcome| Ended { application: "shop".into(), outcome, after: Duration::from_millis(1200) };
        let of = |outcomes: Vec<Outcome>| Report {
            events: vec![Event { at: Duration::from_secs(1), step: "hold".into(), what: "running".into() }],
            ended: outcomes.into_iter().map(ended).collect(),
        };
        let good = of(vec![Outcome::Failed("no".into()), Outcome::Succeeded]);
        assert!(good.verdict().is_ok() && of(Vec::new()).verdict().is_ok());
        let text = anstream::adapter::strip_str(&good.text()).to_string();
        assert!(text.contains("1.0s   hold   running\n"), "{text}");
        assert!(text.ends_with("shop failed after 1.2s: no\nshop succeeded after 1.2s\n"), "{text}");
        assert_eq!(good.json()["ended"][0]["why"], "no");
        for outcome in
            [Outcome::Failed("x".into()), Outcome::Waits("x".into()), Outcome::Unfinished("x".into())]
        {
            assert!(of(vec![outcome]).verdict().is_err());
        }
    }
}
