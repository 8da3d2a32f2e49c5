//! The flags of KubeVela 1.11 that act here, beside those that have had their names before.

use std::time::Duration;

use clap::ArgAction;
use jiff::SignedDuration;
use vela_core::options::{CONCURRENT_WRITES, PolicyScopes, RunLimits, Strictness};

use super::gates::{self, Gates};
use super::values::{boolean, duration, workers};

/// Longest wait of a workflow in seconds: beyond it a number was mistyped.
const SECONDS_AT_MOST: i64 = 24 * 60 * 60;

/// The names that KubeVela 1.11 gives its flags.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "As in KubeVela 1.11")]
pub(super) struct UpstreamArgs {
    /// Feature gates, Name=true or Name=false with commas between; may be written several times.
    #[arg(long, action = ArgAction::Append, value_name = "GATES")]
    feature_gates: Vec<String>,
    /// Seconds that a workflow waits at most before it looks at a step again.
    #[arg(long, default_value_t = 60, value_parser = seconds, value_name = "SECONDS")]
    max_workflow_wait_backoff_time: i64,
    /// Seconds that a workflow waits at most after a step failed.
    #[arg(long, default_value_t = 300, value_parser = seconds, value_name = "SECONDS")]
    max_workflow_failed_backoff_time: i64,
    /// Failures of one step that are followed by another try.
    #[arg(long, default_value_t = 10, value_name = "N")]
    max_workflow_step_error_retry_times: u32,
    /// Components of one application written at the same time.
    #[arg(long, default_value_t = CONCURRENT_WRITES, value_parser = workers, value_name = "N")]
    max_dispatch_concurrent: usize,
    /// Time between two looks at every object, where it is shorter than --informer-re-sync-interval; 0 looks only at what
    /// changes.
    #[arg(long, value_parser = duration, value_name = "DURATION")]
    application_re_sync_period: Option<Duration>,
    /// The same.
    #[arg(long, value_parser = duration, value_name = "DURATION")]
    informer_sync_period: Option<Duration>,
    /// The same as --allow-cross-namespace.
    #[arg(long, value_parser = boolean, action = ArgAction::Set, num_args = 0..=1, require_equals = true,
          default_value = "false", default_missing_value = "true", value_name = "BOOL")]
    pub(super) allow_cross_namespace_resource: bool,
}

fn seconds(text: &str) -> Result<i64, String> {
    match text.parse() {
        Ok(seconds) if (1..=SECONDS_AT_MOST).contains(&seconds) => Ok(seconds),
        _ => Err(format!("write a number of seconds from 1 to {SECONDS_AT_MOST}")),
    }
}

impl UpstreamArgs {
    /// The switches of the gates, and the remarks on the others.
    pub(super) fn gates(&self) -> Result<(Gates, Vec<String>), String> {
        gates::read(&self.feature_gates)
    }

    /// How workflows wait and try again.
    pub(super) fn workflow(&self, gates: Gates) -> RunLimits {
        RunLimits {
            retries: self.max_workflow_step_error_retry_times,
            suspend_on_failure: gates.suspend_on_failure,
            longest_wait: SignedDuration::from_secs(self.max_workflow_wait_backoff_time),
            longest_failure_wait: SignedDuration::from_secs(self.max_workflow_failed_backoff_time),
            ..RunLimits::default()
        }
    }

    /// Optional refusals of the webhooks, beyond objects that cannot be deployed.
    pub(super) fn strictness(gates: Gates) -> Strictness {
        Strictness { undeclared_parameters: gates.undeclared_parameters, absent_kinds: gates.absent_kinds }
    }

    /// Which PolicyDefinitions change applications.
    pub(super) fn policies(gates: Gates) -> PolicyScopes {
        PolicyScopes { application: gates.application_policies, global: gates.global_policies }
    }

    /// Components of one application written at the same time.
    pub(super) fn concurrent_writes(&self) -> usize {
        self.max_dispatch_concurrent
    }

    /// Time between two looks at every object: the shortest that is asked for.
    pub(super) fn resync(&self, own: Duration) -> Option<Duration> {
        let asked = [Some(own), self.application_re_sync_period, self.informer_sync_period];
        asked.into_iter().flatten().filter(|time| !time.is_zero()).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_seconds_within_a_day() {
        assert_eq!((seconds("1"), seconds("86400")), (Ok(1), Ok(86400)));
        for text in ["0", "-1", "86401", "1m", ""] {
            assert!(seconds(text).unwrap_err().contains("from 1 to 86400"), "{text}");
        }
    }
}
