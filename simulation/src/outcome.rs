//! How a schedule ended.

use std::time::Duration;

use crate::violation::Violation;

/// How a schedule ended.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) violation: Option<Violation>,
    pub(crate) steps: usize,
    pub(crate) requests: u64,
    pub(crate) decisions: usize,
    /// Real time of making the cluster, of the steps and of the end.
    pub(crate) times: [Duration; 3],
    /// A hash of everything that happened: equal for equal seeds.
    pub(crate) fingerprint: u64,
    pub(crate) trace: Vec<String>,
}

impl Outcome {
    /// That of a schedule which could not run to an end.
    pub(crate) fn broken(error: impl ToString) -> Self {
        Self { violation: Some(Violation::new("runtime", error.to_string())), ..Self::default() }
    }

    /// The fingerprint with what happened next.
    pub(crate) fn fingerprint(mut of: u64, words: &str) -> u64 {
        for byte in words.bytes() {
            of = (of ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        of
    }
}
