//! Waits on conditions, with a deadline that only a failure meets.

use std::time::Duration;

/// A wait that ends in failure, far beyond what a busy machine needs.
pub(super) const DEADLINE: Duration = Duration::from_secs(120);

/// Wait for a condition; the failure names it.
pub(crate) async fn until<F: Future<Output = bool>>(what: &str, condition: impl Fn() -> F) {
    until_or(what, condition, |met| *met).await;
}

/// Wait until a value is as wanted; the failure names the wish and shows the value.
pub(crate) async fn until_or<T: std::fmt::Debug, F: Future<Output = T>>(
    what: &str,
    value: impl Fn() -> F,
    wanted: impl Fn(&T) -> bool,
) -> T {
    let end = tokio::time::Instant::now() + DEADLINE;
    loop {
        let now = value().await;
        if wanted(&now) {
            return now;
        }
        assert!(tokio::time::Instant::now() < end, "never: {what}; last seen: {now:#?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
