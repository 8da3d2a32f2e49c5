//! Parses what a simulated cluster is told to do: `2s..10s`, `pod=3@batch2:image`, `smoke-test=fail`.

use std::str::FromStr;
use std::time::Duration;

use super::duration;

/// A pod that takes longer than this to start is taken for a typing error.
const LONGEST_START: Duration = Duration::from_secs(60 * 60);
/// Batches and pods beyond this are typing errors: plans have fewer.
const LARGEST_NUMBER: usize = 1000;

/// How long pods take to get ready: between these two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Latency {
    pub(crate) least: Duration,
    pub(crate) most: Duration,
}

impl FromStr for Latency {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (least, most) = text.split_once("..").unwrap_or((text, text));
        let (least, most) = (duration(least)?, duration(most)?);
        if least > most {
            return Err(format!("{text:?} ends before it begins: write the shorter time first"));
        }
        if most > LONGEST_START {
            return Err(format!(
                "{text:?} is too long: a pod gets ready within {} s",
                LONGEST_START.as_secs()
            ));
        }
        Ok(Self { least, most })
    }
}

impl std::fmt::Display for Latency {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.least == self.most {
            true => write!(f, "{}s", self.least.as_secs()),
            false => write!(f, "{}s..{}s", self.least.as_secs(), self.most.as_secs()),
        }
    }
}

/// Why a pod never gets ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    /// Its container ends again and again.
    Crash,
    /// Its image cannot be pulled.
    Image,
    /// No node takes it.
    Unschedulable,
}

impl Reason {
    const ALL: [(&'static str, Self); 3] =
        [("crash", Self::Crash), ("image", Self::Image), ("unschedulable", Self::Unschedulable)];

    /// What the simulated pod is told.
    pub(crate) fn annotation(self) -> &'static str {
        match self {
            Self::Crash => "crash",
            Self::Image => "image-pull",
            Self::Unschedulable => "unschedulable",
        }
    }
}

/// One pod that fails; both numbers begin at 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fail {
    pub(crate) pod: usize,
    pub(crate) batch: usize,
    pub(crate) reason: Reason,
}

impl std::fmt::Display for Fail {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "pod={}@batch{}", self.pod, self.batch)
    }
}

fn number(text: &str) -> Option<usize> {
    text.parse().ok().filter(|number| (1..=LARGEST_NUMBER).contains(number))
}

impl FromStr for Fail {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = || {
            format!(
                "expected pod=N@batchM or pod=N@batchM:REASON with numbers from 1 to {LARGEST_NUMBER}, such as \
                 pod=3@batch2:image"
            )
        };
        let (place, reason) = text.split_once(':').map_or((text, None), |(place, why)| (place, Some(why)));
        let (pod, batch) =
            place.strip_prefix("pod=").and_then(|rest| rest.split_once("@batch")).ok_or_else(form)?;
        let (pod, batch) = number(pod).zip(number(batch)).ok_or_else(form)?;
        let reason = match reason {
            None => Reason::Crash,
            Some(why) => {
                let known = Reason::ALL.iter().find(|(word, _)| *word == why).map(|(_, reason)| *reason);
                known
                    .ok_or_else(|| format!("{why:?} is no reason: expected crash, image or unschedulable"))?
            }
        };
        Ok(Self { pod, batch, reason })
    }
}

/// What a hook or a metric of a name says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) name: String,
    pub(crate) fails: bool,
}

impl FromStr for Verdict {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.rsplit_once('=') {
            Some((name, word @ ("fail" | "pass"))) if !name.is_empty() => {
                Ok(Self { name: name.to_owned(), fails: word == "fail" })
            }
            _ => Err("expected NAME=fail or NAME=pass".to_owned()),
        }
    }
}

/// A batch, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AtBatch(pub(crate) usize);

impl FromStr for AtBatch {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let rest = text.strip_prefix('@').unwrap_or(text).strip_prefix("batch");
        rest.and_then(number).map(Self).ok_or_else(|| "expected @batchM, such as @batch2".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_and_wrong_ones_say_what_was_expected() {
        let seconds = Duration::from_secs;
        assert_eq!("5s".parse(), Ok(Latency { least: seconds(5), most: seconds(5) }));
        assert_eq!("2s..1m".parse(), Ok(Latency { least: seconds(2), most: seconds(60) }));
        assert_eq!("pod=3@batch2".parse(), Ok(Fail { pod: 3, batch: 2, reason: Reason::Crash }));
        assert_eq!("pod=1@batch1:image".parse(), Ok(Fail { pod: 1, batch: 1, reason: Reason::Image }));
        assert_eq!("a=b=fail".parse(), Ok(Verdict { name: "a=b".to_owned(), fails: true }));
        assert_eq!("@batch4".parse(), Ok(AtBatch(4)));
        for wrong in ["9s..2s", "2h", "..", "x"] {
            assert!(wrong.parse::<Latency>().is_err(), "{wrong}");
        }
        for wrong in ["pod=0@batch1", "pod=1@batch1001", "pod=1", "3@batch2", "pod=1@batch1:rust"] {
            let error = wrong.parse::<Fail>().unwrap_err();
            assert!(error.contains("expected"), "{wrong}: {error}");
        }
        assert!("smoke".parse::<Verdict>().is_err() && "=fail".parse::<Verdict>().is_err());
        assert!("@batch0".parse::<AtBatch>().is_err() && "@2".parse::<AtBatch>().is_err());
    }
}
