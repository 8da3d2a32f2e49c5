//! The flags of the watchdog, by the names of Dapr's own, and what they mean.

use std::num::NonZeroU32;
use std::str::FromStr;
use std::time::Duration;

use clap::Args;
use vela_dapr::{RESTARTS_PER_MINUTE, Watchdog};

use crate::span::Span;

#[derive(Debug, Args)]
#[command(next_help_heading = "Watchdog")]
pub(crate) struct WatchdogArgs {
    /// Restart annotated pods that run without a sidecar, looking for them this often, such as 2m; `once` looks once after the start,
    /// 0 never.
    #[arg(long, default_value = "0", value_name = "DURATION")]
    watch_interval: Rounds,
    /// Pods restarted in a minute at most; 0 sets no limit.
    #[arg(long, default_value_t = RESTARTS_PER_MINUTE, value_name = "N")]
    max_pod_restarts_per_minute: u32,
    /// Label pods whose sidecar the watchdog found (dapr.io/watchdog-patched), so that it looks at them once.
    #[arg(long)]
    watchdog_can_patch_pod_labels: bool,
    /// Work only in this namespace: its workloads, Services and pods; by default in all.
    #[arg(long, default_value = "", value_name = "NAMESPACE")]
    watch_namespace: String,
}

impl WatchdogArgs {
    /// The watchdog that the flags mean, if they mean one.
    pub(crate) fn watchdog(&self, control_plane: String) -> Option<Watchdog> {
        let every = match self.watch_interval {
            Rounds::Never => return None,
            Rounds::Once => None,
            Rounds::Every(every) => Some(every),
        };
        Some(Watchdog {
            every,
            restarts_per_minute: NonZeroU32::new(self.max_pod_restarts_per_minute),
            label_pods: self.watchdog_can_patch_pod_labels,
            control_plane,
        })
    }

    /// The namespace to work in, where that is one.
    pub(crate) fn namespace(&self) -> Option<String> {
        Some(self.watch_namespace.clone()).filter(|name| !name.is_empty())
    }
}

/// How often pods are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rounds {
    Never,
    Once,
    Every(Duration),
}

impl FromStr for Rounds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.to_lowercase().as_str() {
            "0" | "false" | "f" | "no" | "off" | "" => Ok(Self::Never),
            "once" => Ok(Self::Once),
            _ => match text.parse::<Span>() {
                Ok(Span(every)) if every >= Duration::from_secs(1) => Ok(Self::Every(every)),
                _ => Err("write a duration from 1s such as 2m, once, or 0 for never".to_owned()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        args: WatchdogArgs,
    }

    fn args(flags: &[&str]) -> Result<WatchdogArgs, clap::Error> {
        Program::try_parse_from(std::iter::once("p").chain(flags.iter().copied())).map(|program| program.args)
    }

    fn watchdog(flags: &[&str]) -> Option<Watchdog> {
        args(flags).unwrap().watchdog("dapr-system".to_owned())
    }

    #[test]
    fn the_watchdog_is_off_until_it_is_said_how_often() {
        for off in ["0", "false", "F", "no", "Off", ""] {
            assert_eq!(watchdog(&[&format!("--watch-interval={off}")]), None, "{off}");
        }
        assert_eq!(watchdog(&[]), None);
        assert_eq!(watchdog(&["--watch-interval=ONCE"]).unwrap().every, None);
        let minutes = watchdog(&["--watch-interval=1m30s"]).unwrap();
        assert_eq!(minutes.every, Some(Duration::from_secs(90)));
        assert_eq!(minutes.restarts_per_minute, NonZeroU32::new(20));
        assert!(!minutes.label_pods && args(&[]).unwrap().namespace().is_none());
        let flags = [
            "--watch-interval=1s",
            "--max-pod-restarts-per-minute=0",
            "--watchdog-can-patch-pod-labels",
            "--watch-namespace=shop",
        ];
        let free = watchdog(&flags).unwrap();
        assert!(free.label_pods && free.restarts_per_minute.is_none());
        assert_eq!(args(&flags).unwrap().namespace().as_deref(), Some("shop"));
    }

    #[test]
    fn an_interval_that_is_none_names_the_way_out() {
        for wrong in ["500ms", "2", "soon", "-2m", "1s2"] {
            let error = args(&[&format!("--watch-interval={wrong}")]).err().unwrap().to_string();
            assert!(error.contains("such as 2m"), "{wrong}: {error}");
        }
        assert!(args(&["--max-pod-restarts-per-minute=-1"]).is_err());
    }
}
