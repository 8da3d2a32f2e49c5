//! The flags of the sentry, and what they mean.

use std::time::Duration;

use clap::Args;
use vela_dapr::Sentry;

use crate::listen_address::Listen;
use crate::span::Span;

/// A sidecar asks for its next certificate when two thirds of the former are over.
const LIFE_AT_LEAST: Duration = Duration::from_secs(60);

/// Another replica may have renewed the bundle.
const LOOK_EVERY: Duration = Duration::from_secs(15);

#[derive(Debug, Args)]
#[command(next_help_heading = "Sentry")]
pub(crate) struct SentryArgs {
    /// Issue the certificates of sidecars at this address, for the Service dapr-sentry, and that of the operator's own API; 0, and
    /// nothing, issues none.
    #[arg(long, default_value = "0", value_name = "ADDRESS")]
    sentry_addr: Listen,
    /// How long certificates are valid.
    #[arg(long, default_value = "24h", value_parser = life, value_name = "DURATION")]
    workload_cert_ttl: Duration,
    /// How far clocks of the cluster may differ.
    #[arg(long, default_value = "15m", value_parser = skew, value_name = "DURATION")]
    allowed_clock_skew: Duration,
}

impl SentryArgs {
    /// The sentry that the flags mean, if they mean one.
    pub(crate) fn sentry(&self, namespace: String, trust_domain: String) -> Option<Sentry> {
        let address = self.sentry_addr.0?;
        let (life, skew) = (self.workload_cert_ttl, self.allowed_clock_skew);
        Some(Sentry { address, namespace, trust_domain, life, skew, look_every: LOOK_EVERY })
    }

    pub(crate) fn issues(&self) -> bool {
        self.sentry_addr.0.is_some()
    }
}

fn life(text: &str) -> Result<Duration, String> {
    const AT_MOST: Duration = Duration::from_secs(365 * 24 * 60 * 60);
    let Span(life) = text.parse()?;
    let is_one = (LIFE_AT_LEAST..=AT_MOST).contains(&life);
    if is_one { Ok(life) } else { Err("write a duration from 1m to 8760h such as 24h".to_owned()) }
}

fn skew(text: &str) -> Result<Duration, String> {
    const AT_MOST: Duration = Duration::from_secs(24 * 60 * 60);
    let Span(skew) = text.parse()?;
    if skew <= AT_MOST { Ok(skew) } else { Err("write a duration up to 24h such as 15m".to_owned()) }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        args: SentryArgs,
    }

    fn sentry(flags: &[&str]) -> Result<Option<Sentry>, clap::Error> {
        let program = Program::try_parse_from(std::iter::once("p").chain(flags.iter().copied()))?;
        Ok(program.args.sentry("dapr-system".to_owned(), "cluster.local".to_owned()))
    }

    #[test]
    fn certificates_are_issued_only_where_it_is_said() {
        assert_eq!(sentry(&[]).unwrap(), None);
        let found = sentry(&["--sentry-addr=:50001"]).unwrap().unwrap();
        assert_eq!(found.address.port(), 50001);
        assert_eq!((found.life.as_secs(), found.skew.as_secs()), (86_400, 900));
        let flags = ["--sentry-addr=:1", "--workload-cert-ttl=1h30m", "--allowed-clock-skew=0s"];
        assert_eq!(sentry(&flags).unwrap().unwrap().life.as_secs(), 5400);
        for (wrong, expected) in [
            ("--workload-cert-ttl=1s", "from 1m to 8760h"),
            ("--workload-cert-ttl=9000h", "from 1m to 8760h"),
            ("--workload-cert-ttl=soon", "1h30m"),
            ("--allowed-clock-skew=25h", "up to 24h"),
        ] {
            let error = sentry(&[wrong]).unwrap_err().to_string();
            assert!(error.contains(expected), "{wrong}: {error}");
        }
    }
}
