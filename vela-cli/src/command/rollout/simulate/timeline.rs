//! The timeline of a simulation, as lines that people read at a glance or as data.

use std::time::Duration;

use anstyle::Style;
use serde_json::{Value, json};

use super::pod_counts::PodCounts;
use crate::screen::{BAD, BOLD, BUSY, DIM, GOOD, styled};

/// More rows than this are not kept: no reader looks at them, and the sums are counted without them.
const ROWS_AT_MOST: usize = 10_000;
/// Rows that only show pods getting ready are at most so many for all pods once.
const STEPS_SHOWN: usize = 20;

/// What a row tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Pods came, went or got ready.
    Pods,
    /// Where the rollout stands.
    State,
    /// An event that the controller wrote.
    Event,
    /// What holds the rollout up.
    Waits,
    /// A call of a hook.
    Hook,
    /// A measurement of a metric.
    Metric,
    /// What was asked for on the command line.
    Asked,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::Pods => "pods",
            Self::State => "state",
            Self::Event => "event",
            Self::Waits => "waits",
            Self::Hook => "hook",
            Self::Metric => "metric",
            Self::Asked => "asked",
        }
    }
}

/// One thing that happened.
#[derive(Clone, Debug)]
pub(super) struct Occurrence {
    pub(super) kind: Kind,
    /// Is it bad?
    pub(super) is_bad: bool,
    pub(super) words: String,
}

impl Occurrence {
    pub(super) fn new(kind: Kind, is_bad: bool, words: impl Into<String>) -> Self {
        Self { kind, is_bad, words: words.into() }
    }

    fn style(&self) -> Style {
        match (self.kind, self.is_bad) {
            (_, true) => BAD,
            (Kind::State, false) => BOLD,
            (Kind::Waits | Kind::Asked, false) => BUSY,
            (Kind::Hook | Kind::Metric, false) => GOOD,
            (Kind::Pods | Kind::Event, false) => DIM,
        }
    }
}

/// Where and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    pub(super) at: Duration,
    /// Batch and number of batches, while it rolls in batches.
    pub(super) batch: Option<(usize, usize)>,
    pub(super) counts: PodCounts,
}

struct Row {
    moment: Moment,
    occurrence: Occurrence,
}

/// Everything that happened.
#[derive(Default)]
pub(super) struct Timeline {
    rows: Vec<Row>,
    dropped: usize,
    shown: Option<PodCounts>,
    most: usize,
}

impl Timeline {
    /// Something is told.
    pub(super) fn record(&mut self, moment: Moment, occurrence: Occurrence) {
        self.most = self.most.max(moment.counts.all());
        self.shown = Some(moment.counts);
        match self.rows.len() < ROWS_AT_MOST {
            true => self.rows.push(Row { moment, occurrence }),
            false => self.dropped += 1,
        }
    }

    /// Pods are as they are now, which is told where it differs.
    pub(super) fn sample(&mut self, moment: Moment) {
        if self.shown != Some(moment.counts) {
            self.record(moment, Occurrence::new(Kind::Pods, false, ""));
        }
    }

    /// For people.
    pub(super) fn text(&self) -> String {
        let mut text = styled(BOLD, "    TIME  BATCH  OLD  NEW  READY  PODS");
        text.push('\n');
        let step = (self.most / STEPS_SHOWN).max(1);
        let mut before: Option<&Row> = None;
        for (at, row) in self.rows.iter().enumerate() {
            let next = self.rows.get(at + 1);
            if row.occurrence.kind == Kind::Pods && next.is_some() && !is_worth_a_line(before, row, step) {
                continue;
            }
            let Moment { at, batch, counts } = row.moment;
            let is_same = before.is_some_and(|before| before.moment == row.moment);
            // What is as in the line above is not said again.
            let mut line = match is_same {
                true => " ".repeat(35),
                false => format!(
                    "{:>8}  {:>5}  {:>3}  {:>3}  {:>5}  ",
                    time(at),
                    batch.map_or_else(|| "–".to_owned(), |(batch, all)| format!("{batch}/{all}")),
                    counts.old,
                    counts.new,
                    counts.ready(),
                ),
            };
            line.push_str(&match is_same {
                true => " ".repeat(PodCounts::default().bar(self.most).len()),
                false => counts.bar(self.most),
            });
            line.push_str("  ");
            if !row.occurrence.words.is_empty() {
                line.push_str(&styled(row.occurrence.style(), &row.occurrence.words));
            }
            text.push_str(line.trim_end());
            text.push('\n');
            before = Some(row);
        }
        if self.dropped > 0 {
            text.push_str(&format!("… and {} lines more\n", self.dropped));
        }
        text
    }

    /// For programs.
    pub(super) fn json(&self) -> Value {
        let row = |row: &Row| {
            json!({
                "milliseconds": u64::try_from(row.moment.at.as_millis()).unwrap_or(u64::MAX),
                "batch": row.moment.batch.map(|(batch, _)| batch),
                "kind": row.occurrence.kind.word(),
                "bad": row.occurrence.is_bad,
                "message": row.occurrence.words,
                "pods": row.moment.counts.json(),
            })
        };
        self.rows.iter().map(row).collect()
    }
}

/// Does the row show more than the line above it?
fn is_worth_a_line(before: Option<&Row>, row: &Row, step: usize) -> bool {
    let Some(before) = before.map(|before| before.moment.counts) else { return true };
    let now = row.moment.counts;
    let moved = |one: usize, other: usize| one.abs_diff(other) >= step;
    moved(before.old, now.old)
        || moved(before.new, now.new)
        || moved(before.ready(), now.ready())
        || before.failing != now.failing
}

/// A time as people say it, to the tenth of a second.
pub(super) fn time(at: Duration) -> String {
    let tenths = at.as_millis() / 100;
    let (minutes, seconds, tenth) = (tenths / 600, tenths % 600 / 10, tenths % 10);
    match minutes {
        0 => format!("{seconds}.{tenth}s"),
        _ => format!("{minutes}m{seconds:02}.{tenth}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(seconds: u64, old: usize, new: usize) -> Moment {
        let counts = PodCounts { old, new, old_ready: old, new_ready: new, failing: 0 };
        Moment { at: Duration::from_secs(seconds), batch: None, counts }
    }

    #[test]
    fn times_are_told_to_the_tenth() {
        assert_eq!(time(Duration::from_millis(5049)), "5.0s");
        assert_eq!(time(Duration::from_millis(65_150)), "1m05.1s");
    }

    #[test]
    fn pods_that_get_ready_one_by_one_take_few_lines() {
        let mut timeline = Timeline::default();
        for pods in 0..=100 {
            timeline.sample(moment(pods as u64, 0, pods));
        }
        timeline.sample(moment(101, 0, 100));
        assert_eq!(timeline.json().as_array().map(Vec::len), Some(101));
        let lines = timeline.text().lines().count();
        assert!((20..=23).contains(&lines), "{lines} lines");
        assert!(timeline.text().contains("100"), "the last one is shown");
    }
}
