//! How long a run waits before it looks again: after each look that changed nothing, longer.

use jiff::SignedDuration;

/// The wait after the first failure, unless the step says another.
const FIRST_FAILURE: SignedDuration = SignedDuration::from_millis(50);
/// Failures after which the wait does not grow any more: 0.05 s doubled so often is longer than a day, and so than any wait.
const DOUBLED_AT_MOST: u32 = 22;
/// No wait is shorter.
const SHORTEST: SignedDuration = SignedDuration::from_secs(1);

/// The wait for a step that is not done and has said the same for so long. As each wait doubles, all before it took about
/// as long as the next takes: nothing need be counted, nor kept for the next process.
pub(super) fn wait(unchanged: SignedDuration, at_most: SignedDuration) -> SignedDuration {
    SignedDuration::from_secs(unchanged.as_secs().clamp(1, at_most.as_secs().max(1)))
}

/// The wait after the `failures`-th failure of a step: 0.05 s or what the step says, doubled after each but the first, in
/// whole seconds and at least one.
pub(super) fn failure(
    failures: u32,
    first: Option<SignedDuration>,
    at_most: SignedDuration,
) -> SignedDuration {
    let times = 1_i32 << failures.clamp(1, DOUBLED_AT_MOST).saturating_sub(1);
    let doubled = first.unwrap_or(FIRST_FAILURE).checked_mul(times).unwrap_or(SignedDuration::MAX);
    // An author who writes a longer first wait means it.
    let at_most = first.map_or(at_most, |first| first.max(at_most));
    SignedDuration::from_secs(doubled.min(at_most).as_secs()).max(SHORTEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_after_failures_are_those_of_upstream() {
        let failure = |times, at_most| failure(times, None, SignedDuration::from_secs(at_most)).as_secs();
        let failures: Vec<i64> = (1..=10).map(|times| failure(times, 300)).collect();
        assert_eq!(failures, [1, 1, 1, 1, 1, 1, 3, 6, 12, 25]);
        assert_eq!((failure(14, 300), failure(0, 300), failure(u32::MAX, 300)), (300, 1, 300));
        assert_eq!((failure(10, 5), failure(u32::MAX, 86_400), failure(3, 0)), (5, 86_400, 1));
    }

    #[test]
    fn a_step_may_say_how_long_it_waits_first() {
        let of = |times, first| {
            failure(times, Some(SignedDuration::from_secs(first)), SignedDuration::from_secs(300)).as_secs()
        };
        assert_eq!((of(1, 10), of(2, 10), of(3, 10), of(9, 10)), (10, 20, 40, 300));
        assert_eq!((of(1, 0), of(1, 3600), of(5, 3600)), (1, 3600, 3600));
    }

    #[test]
    fn waits_for_what_does_not_change_grow_to_a_minute() {
        let seconds = SignedDuration::from_secs;
        let waits = [0, 1, 2, 30, 600, -5].map(|unchanged| wait(seconds(unchanged), seconds(60)).as_secs());
        assert_eq!(waits, [1, 1, 2, 30, 60, 1]);
        assert_eq!(wait(seconds(30), seconds(5)).as_secs(), 5);
    }
}
