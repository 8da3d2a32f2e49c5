//! How long a run waits before it looks again: after each look that changed nothing, longer.

use jiff::SignedDuration;

/// The longest wait for a step that is not done.
const WAIT_SECONDS_AT_MOST: i64 = 60;
/// The longest wait after a failure.
const FAILURE_SECONDS_AT_MOST: i64 = 300;
/// Failures after which the wait does not grow any more: 0.05 s doubled so often is more than the longest wait.
const DOUBLED_AT_MOST: u32 = 14;

/// The wait for a step that is not done and has said the same for so long. As each wait doubles, all before it took about
/// as long as the next takes: nothing need be counted, nor kept for the next process.
pub(super) fn wait(unchanged: SignedDuration) -> SignedDuration {
    SignedDuration::from_secs(unchanged.as_secs().clamp(1, WAIT_SECONDS_AT_MOST))
}

/// The wait after the `failures`-th failure of a step: 0.05 s, doubled after each but the first, in whole seconds and at
/// least one.
pub(super) fn failure(failures: u32) -> SignedDuration {
    let doubled = 1_i64 << failures.clamp(1, DOUBLED_AT_MOST).saturating_sub(1);
    SignedDuration::from_secs((doubled / 20).clamp(1, FAILURE_SECONDS_AT_MOST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_after_failures_are_those_of_upstream() {
        let failures: Vec<i64> = (1..=10).map(|times| failure(times).as_secs()).collect();
        assert_eq!(failures, [1, 1, 1, 1, 1, 1, 3, 6, 12, 25]);
        assert_eq!(failure(14).as_secs(), 300);
        assert_eq!((failure(0).as_secs(), failure(u32::MAX).as_secs()), (1, 300));
    }

    #[test]
    fn waits_for_what_does_not_change_grow_to_a_minute() {
        let waits = [0, 1, 2, 30, 600, -5].map(|seconds| wait(SignedDuration::from_secs(seconds)).as_secs());
        assert_eq!(waits, [1, 1, 2, 30, 60, 1]);
    }
}
