//! The syntax of a metric: intervals, actions, placeholders and bounds.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

/// Time between two measurements by default.
pub const DEFAULT_INTERVAL: &str = "1m";
/// The default reaction to a failed metric: the rollout waits for people.
pub const PAUSE: &str = "Pause";
/// The rollout goes back to where it came from.
pub const REVERT: &str = "Revert";
/// The names that placeholders in a query may have.
pub(super) const WORDS: [&str; 6] = ["batch", "interval", "name", "namespace", "source", "target"];

/// A bound as a number: `3`, `"0.05"`, or `"5%"`, which is 0.05.
///
/// # Errors
/// It is no number.
pub fn bound(written: &IntOrString) -> Result<f64, String> {
    let text = match written {
        IntOrString::Int(number) => return Ok(f64::from(*number)),
        IntOrString::String(text) => text.trim(),
    };
    let (number, scale) = text.strip_suffix('%').map_or((text, 1.0), |number| (number.trim_end(), 100.0));
    let number = number.parse::<f64>().ok().filter(|number| number.is_finite());
    number.map(|number| number / scale).ok_or_else(|| {
        format!("{text:?} is no number; write for example 3, \"0.05\" or \"5%\" (which is 0.05)")
    })
}
